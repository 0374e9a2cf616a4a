// A keep's storage for records of somebody else: what an adapter of a framework keeps beside the conversations.

import type { StoreCommit, StoreRecord } from "./store.js";

/** A range of keys to read, `start` in and `end` out; everything without them. */
export interface RecordScan {
  /** The first key that may be returned. */
  start?: string;
  /** The first key that may no longer be returned. */
  end?: string;
  /** How many records at most; all without it. */
  limit?: number;
  /** From the greatest key down instead of from the least up. */
  reverse?: boolean;
}

/**
 * Records of your own in a keep's storage, under a name of their own: bytes under ordered keys, with the guarantees of the
 * keep's storage. Keys are made with {@link recordKey}, or any printable ASCII of up to 1,000 characters; they are ordered byte by byte.
 *
 * @example
 * ```ts
 * const notes = keep.records("notes");
 * await notes.commit({ puts: [[recordKey("thread", 1), new TextEncoder().encode("text")]] });
 * const all = await notes.scan(); // [["thread!0000000000000001", Uint8Array]]
 * ```
 */
export interface Records {
  /** The value under `key`; `undefined` where there is none. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** The records of a range, in key order (or reversed), as one consistent reading. */
  scan(range?: RecordScan): Promise<StoreRecord[]>;
  /**
   * Carries out all of it or nothing, conditions first, then deletes and ranges, then puts. It is durable when it resolves, unless
   * `durability` is `relaxed`.
   *
   * @throws ThreadkeepError `conflict` when a condition does not hold (`details.key` names it); the storage's codes
   */
  commit(commit: Partial<StoreCommit>): Promise<void>;
}
