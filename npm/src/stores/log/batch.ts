// Commits that are written together: conditions are checked one commit after the other, each as if those before it had been carried
// out already; what comes out is one piece of bytes for the end of the log.

import type { StoreCommit, StoreRecord } from "../adapter.js";
import { hex } from "./crc.js";
import { LINE_END, encodeValue, writeLine, type Change, type Put } from "./format.js";
import type { LogFolder } from "./folder.js";

/** A commit that waits for its turn. Its values are in the form in which they are written. */
export interface Waiting {
  commit: StoreCommit;
  puts: { key: string; value: Uint8Array; bytes: Uint8Array; base64: boolean; crc: number }[];
  /** About how many bytes it will take. */
  size: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The values of a commit, as they are written. */
export function encodePuts(folder: LogFolder, puts: readonly StoreRecord[]): Waiting["puts"] {
  // The last put of a key wins.
  const last = puts.length > 1 ? new Map(puts) : puts;
  return Array.from(last, ([key, value]) => {
    const { bytes, base64 } = encodeValue(folder, value);
    return { key, value, bytes, base64, crc: folder.crc32(bytes) };
  });
}

/** A commit that has been given its place. */
export interface Placed {
  waiting: Waiting;
  /** Where its first value is, from the beginning of the batch; the others follow, each with a line's end behind it. */
  values: number;
}

/** What came of the commits of a batch. */
export interface Batch {
  pieces: Uint8Array[];
  size: number;
  placed: Placed[];
  /** Commits whose conditions hold and which change nothing. */
  empty: Waiting[];
  /** Commits of which a condition does not hold, and its key. */
  refused: { waiting: Waiting; key: string }[];
}

/** Puts commits in line behind commit `n`. */
export function makeBatch(folder: LogFolder, all: readonly Waiting[], n: number, seed: number, has: (key: string) => boolean): Batch {
  const batch: Batch = { pieces: [], size: 0, placed: [], empty: [], refused: [] };
  const staged = new Staged(has);
  for (const waiting of all) {
    const { absent, present, deletes, deleteRanges } = waiting.commit;
    const broken = absent.find((key) => staged.has(key)) ?? present.find((key) => !staged.has(key));
    if (broken !== undefined) {
      batch.refused.push({ waiting, key: broken });
      continue;
    }
    if (deletes.length === 0 && deleteRanges.length === 0 && waiting.puts.length === 0) {
      batch.empty.push(waiting);
      continue;
    }
    staged.add(waiting);
    const change: Change = { n: n + batch.placed.length + 1 };
    if (deletes.length > 0) change.delete = deletes;
    if (deleteRanges.length > 0) change.deleteRange = deleteRanges;
    if (waiting.puts.length > 0)
      change.put = waiting.puts.map(({ key, bytes, base64, crc }): Put => (base64 ? [key, bytes.length, hex(crc), "base64"] : [key, bytes.length, hex(crc)]));
    const line = writeLine(folder, change, seed);
    batch.pieces.push(line);
    batch.size += line.length;
    batch.placed.push({ waiting, values: batch.size });
    for (const { bytes } of waiting.puts) {
      batch.pieces.push(bytes, LINE_END);
      batch.size += bytes.length + 1;
    }
  }
  return batch;
}

/** Which keys there are once the commits before have been carried out. */
class Staged {
  readonly #keys = new Map<string, { there: boolean; step: number }>();
  readonly #ranges: { start: string; end: string; step: number }[] = [];
  #step = 0;

  constructor(readonly before: (key: string) => boolean) {}

  has(key: string): boolean {
    const own = this.#keys.get(key);
    let ranged = 0;
    for (const { start, end, step } of this.#ranges) if (key >= start && key < end) ranged = step;
    if (own !== undefined && own.step >= ranged) return own.there;
    return ranged === 0 && this.before(key);
  }

  add({ commit: { deletes, deleteRanges }, puts }: Waiting): void {
    this.#step += 1;
    for (const key of deletes) this.#keys.set(key, { there: false, step: this.#step });
    for (const [start, end] of deleteRanges) this.#ranges.push({ start, end, step: this.#step });
    for (const { key } of puts) this.#keys.set(key, { there: true, step: this.#step });
  }
}
