/** The page of a shared thread, with `THREADS` where its lines go. `npm/viewer/build.mjs` makes it. */
export declare const TEMPLATE: string;
