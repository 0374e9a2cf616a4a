// A map that keeps what was put into it last.

/** Puts a value in; of more than `most`, those go that were put in first. */
export function putRecent<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.set(key, value);
  for (const first of map.keys()) {
    if (map.size <= most) return;
    map.delete(first);
  }
}
