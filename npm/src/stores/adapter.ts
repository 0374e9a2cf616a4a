// What a store of your own has to offer.

/**
 * A range of keys to read, `start` in and `end` out. Keys are ASCII text compared byte by byte, as `<` compares strings,
 * SQLite its text and Postgres under `COLLATE "C"`. They are up to 2,000 characters long, values 8 MB and more. A scope without a view
 * ({@link StoreScopes}) puts up to 386 characters more before each key. A bound may be a key and U+0000: right behind that key.
 */
export interface ScanRequest {
  /** The first key that may be returned. */
  start: string;
  /** The first key that may no longer be returned. */
  end: string;
  /** How many records at most; all without it. */
  limit?: number;
  /** From the greatest key down instead of from the least up. */
  reverse: boolean;
}

/** A value, or a promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** A key and its value. */
export type StoreRecord = [key: string, value: Uint8Array];

/** Changes that happen together or not at all: conditions first, then deletes and ranges, then puts. */
export interface StoreCommit {
  /** Keys that must not exist, or nothing happens and the commit rejects with {@link StoreConflict}. */
  absent: string[];
  /** Keys that must exist, or nothing happens and the commit rejects with {@link StoreConflict}. */
  present: string[];
  /** Keys to remove; one that is not there is no error. Deletes come before puts. */
  deletes: string[];
  /** Ranges to remove, the first key in, the second out. */
  deleteRanges: [start: string, end: string][];
  /** Records to write, over what may be there. */
  puts: StoreRecord[];
  /** `strict`: it counts as done when it is on the disk. `relaxed`: when the platform has taken it. */
  durability: "strict" | "relaxed";
}

/** What `commit` rejects with when a condition does not hold: an object or `Error` with these two fields. */
export interface StoreConflict {
  code: "conflict";
  /** The key whose condition failed. */
  key: string;
}

/**
 * A place that keeps bytes under ordered keys: a file, a table, a server of yours. Keys and values mean nothing to it.
 *
 * Calls may overlap. Each `commit` must be atomic and isolated from the others, with its conditions checked in the same
 * transaction, first. Methods are called on the object. What they throw or reject with, other than a
 * {@link StoreConflict}, reaches the caller as a `ThreadkeepError`: of the same code where its `code` is one of `quota`,
 * `unavailable`, `blocked`, `storage-gone`, `transient` and `closed`, else with the code `storage`. An answer that
 * cannot be (a key out of range, a value that is no `Uint8Array`) is `bad-adapter`.
 *
 * @example
 * ```ts
 * const records = new Map<string, Uint8Array>();
 * const adapter: StoreAdapter = {
 *   async get(key) { return records.get(key); },
 *   async scan({ start, end, limit, reverse }) {
 *     const keys = [...records.keys()].filter((key) => key >= start && key < end).sort();
 *     if (reverse) keys.reverse();
 *     return keys.slice(0, limit).map((key) => [key, records.get(key)!]);
 *   },
 *   async commit({ absent, present, deletes, deleteRanges, puts }) {
 *     const broken = absent.find((key) => records.has(key)) ?? present.find((key) => !records.has(key));
 *     if (broken !== undefined) throw { code: "conflict", key: broken };
 *     for (const key of deletes) records.delete(key);
 *     for (const [start, end] of deleteRanges)
 *       for (const key of [...records.keys()]) if (key >= start && key < end) records.delete(key);
 *     for (const [key, value] of puts) records.set(key, value);
 *   },
 *   async close() {},
 * };
 * ```
 */
export interface StoreAdapter {
  /**
   * Called once before all others, if it is there: opens the place. What it gives is not looked at. What it throws
   * reaches the caller with its own words: a `ThreadkeepError` as it is, and an error whose `code` is one of those above under that code.
   */
  open?(): MaybePromise<unknown>;
  /**
   * What opening found damaged and passed over, in words, if there was anything; {@link Threadkeep.stats} tells of it. May be left out.
   */
  damaged?(): MaybePromise<readonly string[]>;
  /** The value under `key`; `undefined` or `null` where there is none. An empty value is a value. */
  get(key: string): MaybePromise<Uint8Array | null | undefined>;
  /** The records of a range, in key order (or reversed), at most `limit` of them, as one consistent reading. */
  scan(range: ScanRequest): MaybePromise<StoreRecord[]>;
  /** Carries out all of it or nothing, in one transaction that checks the conditions first. */
  commit(commit: StoreCommit): MaybePromise<void>;
  /** Lets go of the place. Called once; no other method is called afterwards. Several keeps may use the object: the last one closes it. */
  close(): MaybePromise<void>;
  /** How this place stores scopes, if it does so itself. Without it, a scope is a prefix of keys, which works in every place. */
  readonly scopes?: StoreScopes;
}

/**
 * Scopes that a place stores in its own way, such as a hash tag in Redis or a column in PostgreSQL. `Threadkeep.open({ storage, scope })` uses
 * them after {@link StoreAdapter.open} and before {@link StoreAdapter.close}. A scope's name is well-formed text of 1 to 128 bytes in UTF-8.
 */
export interface StoreScopes {
  /**
   * A view of one scope, without reading anything. It is an adapter whose keys are the scope's, without any prefix. It never reaches another scope or the
   * records outside all scopes, and those never reach it. Each keep opens a view of its own and closes it; closing a view leaves the place open.
   * A scope need not be made: the first record makes it.
   */
  open(name: string): StoreAdapter;
  /** The names of all scopes that have a record, each once, in any order. It reads them in pieces and does not read their data. */
  list(): AsyncIterable<string> | Iterable<string>;
  /**
   * Removes all records of a scope; one that has none is no error. After it resolves, no record is left that was there when it was called.
   * A writer whose commit has a condition on such a record gets a {@link StoreConflict}.
   */
  delete(name: string): MaybePromise<void>;
}
