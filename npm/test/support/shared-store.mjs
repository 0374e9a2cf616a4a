// A store that several keeps open at once, as processes share a database: each gets a handle of its own, and every answer
// comes a little later, so that their calls interleave.

/** Gives a function that opens another handle onto the same records. */
export function sharedStore() {
  const records = new Map();
  const later = () => new Promise((resolve) => setImmediate(resolve));
  return () => ({
    async get(key) {
      await later();
      return records.get(key);
    },
    async scan({ start, end, limit, reverse }) {
      await later();
      const keys = [...records.keys()].filter((key) => key >= start && key < end).sort();
      if (reverse) keys.reverse();
      return keys.slice(0, limit).map((key) => [key, records.get(key)]);
    },
    async commit({ absent, present, deletes, deleteRanges, puts }) {
      await later();
      const broken = absent.find((key) => records.has(key)) ?? present.find((key) => !records.has(key));
      if (broken !== undefined) throw { code: "conflict", key: broken };
      for (const key of deletes) records.delete(key);
      for (const [start, end] of deleteRanges) for (const key of [...records.keys()]) if (key >= start && key < end) records.delete(key);
      for (const [key, value] of puts) records.set(key, value);
    },
    async close() {},
  });
}
