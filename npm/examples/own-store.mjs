// A template for a store of your own: copy it, and put your database's calls in the place of those marked HERE. As it stands it keeps
// everything in a sorted list in this process, and passes the contract suite (own-store.test.mjs), which yours must pass too.

/** What several handles share: with a database, this is the server. */
const places = new Map();

/**
 * Opens a handle onto a place. Two handles of one place see each other's commits.
 *
 * @param {string} name the place, such as a database's address
 * @returns {import("threadkeep").StoreAdapter}
 */
export function ownStore(name) {
  // HERE: connect. A place that cannot be reached is { code: "unavailable", message } (an Error with a `code` does as well).
  if (!places.has(name)) places.set(name, []);
  const records = places.get(name); // [key, value], in the order of the keys

  /** Where a key is, or would be. HERE: your database's index on the key; it must compare bytes, not words of a language. */
  const find = (key) => {
    let [low, high] = [0, records.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (records[middle][0] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const has = (key) => records[find(key)]?.[0] === key;
  const remove = (start, end) => records.splice(find(start), Math.max(0, find(end) - find(start)));

  return {
    /** HERE: SELECT value FROM records WHERE key = ? */
    async get(key) {
      return has(key) ? records[find(key)][1].slice() : undefined;
    },

    /** HERE: SELECT key, value FROM records WHERE key >= ? AND key < ? ORDER BY key [DESC] [LIMIT ?], in one statement or snapshot. */
    async scan({ start, end, limit, reverse }) {
      const found = records.slice(find(start), find(end));
      if (reverse) found.reverse();
      return found.slice(0, limit).map(([key, value]) => [key, value.slice()]);
    },

    /**
     * HERE: one transaction, isolated from all others: conditions, deletes, ranges, puts, and back only when it is on the disk
     * (`durability: "strict"`) or with the database (`"relaxed"`).
     *
     * If a connection can break before the answer comes, give each commit a random token, write it in the same transaction, and look
     * for it before you send the commit again: a commit that had happened would otherwise look like somebody else's conflict.
     */
    async commit({ absent, present, deletes, deleteRanges, puts, durability }) {
      for (const key of absent) if (has(key)) throw { code: "conflict", key };
      for (const key of present) if (!has(key)) throw { code: "conflict", key };
      // A sole `await` in this function would let another commit in between: here there is none; a database has transactions for it.
      for (const key of deletes) if (has(key)) records.splice(find(key), 1);
      for (const [start, end] of deleteRanges) remove(start, end);
      for (const [key, value] of puts) records.splice(find(key), has(key) ? 1 : 0, [key, value]);
      void durability; // nothing here outlives the process
    },

    /** HERE: give the connection back. */
    async close() {},
  };
}
