// Where this runs, as far as it matters.

/** Whether Node's own modules are there. @internal */
export function inNode(): boolean {
  return (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
}

/** A module of Node's own, found so that no bundler follows. @internal */
export async function nodeModule<T>(name: string): Promise<T> {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  // Old versions of Node have no such function; the comments are for bundlers, which leave the line alone.
  return (process?.getBuiltinModule?.(name) ?? import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as T;
}
