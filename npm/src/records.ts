// Records of others in a keep's storage: what is checked of a call before it goes to the engine.

import type { Engine } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { run } from "./runtime.js";
import type { StoreCommit, StoreRecord } from "./stores/adapter.js";

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

const LONGEST = 1000;

const SCAN = { start: check.exact, end: check.exact, limit: check.count, reverse: check.flag } as const;
const COMMIT = {
  absent: keys,
  present: keys,
  deletes: keys,
  deleteRanges: ranges,
  puts,
  durability: (value: unknown, argument: string) => check.oneOf(value, ["strict", "relaxed"] as const, argument),
} as const;

/** The records of `name` of an open engine. @internal */
export function recordsOf(engine: () => Engine, name: string): Records {
  return {
    async get(key) {
      const checked = recordText(key, "key");
      const open = engine();
      return run(() => open.record(name, checked) as Promise<Uint8Array | undefined>);
    },
    async scan(range?: RecordScan) {
      const checked = check.options(range, "range", SCAN);
      const open = engine();
      return run(() => open.scanRecords(name, checked) as Promise<StoreRecord[]>);
    },
    async commit(commit: Partial<StoreCommit>) {
      const checked = check.options(commit, "commit", COMMIT);
      const open = engine();
      return run(() => open.commitRecords(name, checked) as Promise<void>);
    },
  };
}

function recordText(value: unknown, argument: string): string {
  const key = check.exact(value, argument);
  if (key.length > LONGEST || !/^[ -~]+$/.test(key))
    throw badArgument(argument, `must be 1 to ${LONGEST} printable ASCII characters (recordKey makes such a key), it is ${JSON.stringify(key)}`);
  return key;
}

function list(value: unknown, argument: string): unknown[] {
  if (!Array.isArray(value)) throw badArgument(argument, "must be a list");
  return value;
}

function keys(value: unknown, argument: string): string[] {
  return list(value, argument).map((key, at) => recordText(key, `${argument}[${at}]`));
}

function ranges(value: unknown, argument: string): [string, string][] {
  return list(value, argument).map((range, at) => {
    const [start, end] = list(range, `${argument}[${at}]`);
    return [check.exact(start, `${argument}[${at}][0]`), recordText(end, `${argument}[${at}][1]`)];
  });
}

function puts(value: unknown, argument: string): StoreRecord[] {
  return list(value, argument).map((put, at) => {
    const [key, bytes] = list(put, `${argument}[${at}]`);
    if (!check.isBytes(bytes)) throw badArgument(`${argument}[${at}][1]`, "must be a Uint8Array");
    return [recordText(key, `${argument}[${at}][0]`), bytes];
  });
}
