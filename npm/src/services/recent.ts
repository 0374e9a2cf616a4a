// What is remembered of many things, and not of all there ever were.

/** Notes what was used last, and of more than `most` lets go of what was not used for longest. @internal */
export function remember<V>(all: Map<string, V>, key: string, value: V, most: number): void {
  all.delete(key);
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > most && oldest !== undefined) all.delete(oldest);
}
