// What stands in for the file store where there are no files: bundles for browsers, by the `imports` of package.json.

/** There is none here. */
export const defaultStore = undefined;
