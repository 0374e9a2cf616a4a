// The store over a log: its keys are in memory, its values in the file, and every commit is one piece at the file's end. Commits that
// come while the disk is busy are written together and share one wait for it. Meanwhile a compaction may write the log anew.

import { ThreadkeepError } from "../../errors.js";
import type { ScanRequest, StoreCommit, StoreRecord } from "../adapter.js";
import { encodePuts, makeBatch, type Placed, type Waiting } from "./batch.js";
import { Cache } from "./cache.js";
import { Compaction } from "./compact.js";
import { overhead, readAll, type Entry, type Source } from "./entry.js";
import { removeIndex, writeIndex } from "./index.js";
import type { Keys } from "./keys.js";
import { join, pause, storeError, type LogFolder } from "./folder.js";
import { writeMark } from "./mark.js";
import { recover, type Skipped, type State } from "./recover.js";
import { RESERVED, Reserve } from "./reserve.js";

/** How a log store works. */
export interface LogOptions {
  /** How many bytes of values stay in memory. */
  cacheBytes: number;
  /** A log of which this many bytes no longer count, and more than do count, is written anew. */
  compactBytes: number;
  /** Whether damage is passed over instead of refused. */
  repair: boolean;
}

/** After so many milliseconds of commits others have their turn. */
const TURN = 8;
/** So much is written at once, at most (one commit may be larger). */
const BATCH = 8 << 20;
/** What was deleted is to be gone from the file, too: so many milliseconds after the last deletion of a range the log is written anew, */
const ERASE_AFTER = 2_000;
/** unless so many bytes and more would have to be copied for that. */
const ERASE_UP_TO = 64 << 20;
/** After so much more log an index is written, at least. */
const INDEX_STEP = 16 << 20;
/** A log that has grown by so much since its last index gets one when it is closed. */
const INDEX_AT_END = 1 << 20;

/** An open store. Nobody else has the folder; several handles may share this. */
export class LogStore {
  /** Whether there was any data. */
  readonly beginning: "existing" | "created";
  /** What was passed over, in words, where `repair` was asked for. */
  readonly damaged: readonly string[];
  readonly #cache: Cache<Entry>;
  readonly #keys: Keys<Entry>;
  readonly #seed: number;
  #source: Source;
  #n: number;
  #end: number;
  #live: number;
  #indexed: number;
  #indexStep = INDEX_STEP;
  #indexes: number[];
  #compactAbove: number;
  #queue: Waiting[] = [];
  /** What is to be done between two batches. */
  #between: (() => Promise<void>)[] = [];
  readonly #reserve: Reserve;
  #writing: Promise<void> | undefined;
  #tending: Promise<void> | undefined;
  #compaction: Compaction | undefined;
  #broken: Error | undefined;
  #closing = false;
  /** A range was deleted, and its values are still in the file. */
  #erase = false;
  #erasing: ReturnType<typeof setTimeout> | undefined;
  /** When others last had their turn. */
  #turn = 0;

  private constructor(
    readonly folder: LogFolder,
    readonly options: LogOptions,
    private readonly state: State,
  ) {
    // A folder that was made and never written to has none.
    this.beginning = state.keys.size > 0 || state.skipped.length > 0 ? "existing" : "created";
    this.damaged = state.skipped.map((one) => inWords(folder, one));
    this.#reserve = new Reserve(folder);
    this.#cache = new Cache(options.cacheBytes);
    this.#keys = state.keys;
    this.#seed = state.seed;
    this.#source = state.source;
    this.#n = state.n;
    this.#end = state.end;
    this.#live = state.live;
    this.#indexed = state.indexed;
    this.#indexes = state.indexes;
    this.#compactAbove = options.compactBytes;
  }

  /**
   * Opens what is in a folder, which it closes with the store, and when it cannot be opened.
   *
   * @throws ThreadkeepError `corrupt`, `newer-version`, `unavailable`, `quota`, `storage`
   */
  static async open(folder: LogFolder, options: LogOptions): Promise<LogStore> {
    try {
      const store = new LogStore(folder, options, await recover(folder, options.repair));
      // Written anew, a log has no gap where the damage was.
      if (store.damaged.length > 0) await store.compact();
      await store.#reserve.fill();
      return store;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** The value under a key. */
  get(key: string): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const entry = this.#keys.get(key);
    if (entry === undefined) return undefined;
    return this.#cache.get(entry)?.slice() ?? this.#read([[key, entry]]).then(([record]) => record?.[1]);
  }

  /** The records of a range, as they are at this moment. */
  scan({ start, end, limit, reverse }: ScanRequest): Promise<StoreRecord[]> {
    return this.#read(this.#keys.range(start, end, limit ?? Infinity, reverse));
  }

  async #read(found: readonly [string, Entry][]): Promise<StoreRecord[]> {
    const missing: [string, Entry][] = [];
    const values = found.map(([key, entry]) => {
      const value = this.#cache.get(entry)?.slice();
      if (value === undefined) missing.push([key, entry]);
      return value;
    });
    const read = missing.length === 0 ? [] : await readAll(this.folder, missing);
    let next = 0;
    return found.map(([key, entry], index): StoreRecord => {
      const known = values[index];
      if (known !== undefined) return [key, known];
      const value = read[next++]!;
      // Only what is still there, so that nothing of what was deleted stays in memory.
      if (this.#keys.get(key) === entry && value.length <= this.options.cacheBytes / 8) this.#cache.set(entry, value.slice());
      return [key, value];
    });
  }

  /** Carries out a commit: all of it or nothing. */
  commit(commit: StoreCommit): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#broken !== undefined) throw this.#broken;
      const puts = encodePuts(this.folder, commit.puts);
      const size = puts.reduce((sum, { key, bytes }) => sum + bytes.length + overhead(key), 0);
      this.#queue.push({ commit, puts, size, resolve, reject });
      this.#write();
    });
  }

  /** Sees to it that what waits is written. */
  #write(): void {
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Whatever is committed in the same moment is written together.
    await undefined;
    while (this.#queue.length > 0 || this.#between.length > 0) {
      for (const work of this.#between.splice(0)) await work();
      let size = 0;
      const end = this.#queue.findIndex((waiting, index) => (size += waiting.size) > BATCH && index > 0);
      const all = this.#queue.splice(0, end < 0 ? this.#queue.length : end);
      if (all.length > 0) await this.#writeBatch(all);
      this.#tend();
      // Where files answer at once, those who commit one after the other would never let anybody else have a turn, nor a compaction.
      if (performance.now() - this.#turn > TURN) {
        await pause();
        this.#turn = performance.now();
      }
    }
    this.#writing = undefined;
  }

  async #writeBatch(all: readonly Waiting[]): Promise<void> {
    const { pieces, size, placed, empty, refused } = makeBatch(this.folder, all, this.#n, this.#seed, (key) => this.#keys.get(key) !== undefined);
    const at = this.#end;
    try {
      if (this.#broken !== undefined) throw this.#broken;
      if (size > 0)
        await this.#put(
          at,
          join(pieces),
          all.some(({ commit }) => commit.durability === "strict"),
        );
    } catch (error) {
      await this.#refused(all, error);
      return;
    }
    for (const one of placed) this.#apply(one, at);
    this.#end = at + size;
    if (this.#erase) this.#eraseSoon();
    for (const { waiting, key } of refused)
      waiting.reject(storeError("conflict", `another writer was first: the condition on ${JSON.stringify(key)} does not hold`, { key }));
    for (const { waiting } of placed) waiting.resolve();
    for (const waiting of empty) waiting.resolve();
  }

  /** Commits could not be written. Where the disk is full, those that make room are written with the bytes that are kept for that. */
  async #refused(all: readonly Waiting[], error: unknown): Promise<void> {
    const full = this.#isFull(error);
    if (full && all.length > 1) {
      for (const one of all) await this.#writeBatch([one]);
      return;
    }
    if (full && all.every((one) => this.#makesRoom(one)) && (await this.#reserve.release())) {
      await this.#writeBatch(all);
      // What was deleted is in the file until that is written anew.
      this.#tend(true);
      return;
    }
    for (const { reject } of all) reject(error);
  }

  /** Whether a commit frees more than it takes. */
  #makesRoom({ commit: { deletes, deleteRanges, puts }, size }: Waiting): boolean {
    let freed = 0;
    const count = (entry: Entry | undefined): void => void (freed += entry?.length ?? 0);
    for (const key of deletes) count(this.#keys.get(key));
    for (const [key] of puts) count(this.#keys.get(key));
    for (const [start, end] of deleteRanges) for (const [, entry] of this.#keys.range(start, end, Infinity, false)) count(entry);
    return freed > size;
  }

  /** Writes to the log's end; if that fails, nothing of it is there afterwards. */
  async #put(at: number, bytes: Uint8Array, strict: boolean): Promise<void> {
    const { file } = this.#source;
    try {
      this.folder.check();
    } catch (error) {
      throw this.#breakDown(error, "looking for the lock");
    }
    try {
      await file.write(at, bytes);
    } catch (error) {
      try {
        await file.truncate(at);
      } catch (second) {
        // The next opening cuts it off.
        this.#breakDown(second, `cutting off what could not be written to ${file.name}`);
      }
      throw this.folder.failure(error, `writing to ${file.name}`);
    }
    if (!strict) return;
    try {
      await file.sync();
    } catch (error) {
      // Nobody knows what is on the disk now; only reading it anew tells.
      throw this.#breakDown(error, `bringing ${file.name} to the disk`);
    }
  }

  #breakDown(error: unknown, doing: string): Error {
    this.#broken ??= this.folder.failure(error, `${doing} (the store must be closed and opened again)`);
    return this.#broken;
  }

  #apply({ waiting: { commit, puts }, values }: Placed, from: number): void {
    this.#n += 1;
    for (const key of commit.deletes) this.#forget(key, this.#keys.delete(key));
    for (const [start, end] of commit.deleteRanges)
      this.#keys.deleteRange(start, end, (entry, key) => {
        this.#forget(key, entry);
        this.#erase = true;
      });
    let at = from + values;
    for (const { key, value, bytes, base64, crc } of puts) {
      const entry: Entry = { source: this.#source, at, length: bytes.length, crc, base64 };
      this.#forget(key, this.#keys.set(key, entry));
      this.#live += bytes.length + overhead(key);
      this.#cache.set(entry, value);
      at += bytes.length + 1;
    }
  }

  #forget(key: string, entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#live -= entry.length + overhead(key);
    this.#cache.delete(entry);
  }

  /** Has the log written anew when nothing more was deleted for a while. */
  #eraseSoon(): void {
    clearTimeout(this.#erasing);
    if (this.#live > ERASE_UP_TO || this.#closing) return;
    this.#erasing = setTimeout(() => this.#tend(this.#erase), ERASE_AFTER);
    (this.#erasing as { unref?: () => void }).unref?.();
  }

  /** Begins a compaction or an index, where one is due; a compaction in any case where there is something to `erase`. */
  #tend(erase = false): void {
    if (this.#tending !== undefined) {
      if (erase) this.#eraseSoon();
      return;
    }
    if (this.#closing || this.#broken !== undefined) return;
    const dead = this.#end - this.#live;
    const work =
      erase || (dead > this.#compactAbove && dead > this.#live) ? this.#compact() : this.#end - this.#indexed > this.#indexStep ? this.#index() : undefined;
    // Neither is needed for anything that was promised, so that a failure only puts it off.
    this.#tending = work
      ?.catch(() => {
        this.#compactAbove = Math.max(this.#compactAbove, 2 * dead);
        this.#indexStep *= 2;
      })
      .finally(() => {
        this.#tending = undefined;
        this.#tend();
      });
  }

  /** Writes the log anew, without what no longer counts. Commits go on meanwhile. */
  async compact(): Promise<void> {
    while (this.#tending !== undefined) await this.#tending;
    if (this.#broken !== undefined) throw this.#broken;
    const work = this.#compact();
    this.#tending = work.catch(() => {}).finally(() => (this.#tending = undefined));
    await work;
  }

  /** Writes the log anew; on a full disk with the bytes that are kept for making room, if what is left fits into them. */
  async #compact(): Promise<void> {
    try {
      await this.#writeAnew();
    } catch (error) {
      if (!this.#isFull(error) || this.#live > RESERVED || !(await this.#reserve.release())) throw error;
      try {
        await this.#writeAnew();
      } catch (second) {
        await this.#reserve.fill();
        throw second;
      }
    }
  }

  /** Whether an error says that the disk is full, and commits can go on. */
  #isFull(error: unknown): boolean {
    return error instanceof ThreadkeepError && error.code === "quota" && this.#broken === undefined;
  }

  async #writeAnew(): Promise<void> {
    const { store } = this.state;
    const erase = this.#erase;
    this.#erase = false;
    const compaction = new Compaction(this.folder, this.#source, { store, seed: this.#seed, n: this.#n, end: this.#end }, this.#keys.snapshot());
    this.#compaction = compaction;
    try {
      await compaction.copy(() => this.#end);
      await this.#inTurn(async () => {
        const { source, end, live } = await compaction.finish(this.#keys, this.#end, this.#n);
        this.#source = source;
        [this.#end, this.#live, this.#indexed] = [end, live, 0];
        this.#compactAbove = this.options.compactBytes;
      });
      await compaction.removeOld();
      await this.#reserve.fill();
    } catch (error) {
      this.#erase ||= erase;
      await compaction.abandon().catch((second: unknown) => this.#breakDown(second, "giving up a compaction"));
      throw error;
    } finally {
      this.#compaction = undefined;
    }
  }

  /** Does something while no batch is being written. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#between.push(() => work().then(resolve, reject));
      this.#write();
    });
  }

  async #index(): Promise<void> {
    const [end, n, live, source] = [this.#end, this.#n, this.#live, this.#source];
    const parts = this.#keys.snapshot();
    const number = (this.#indexes.at(-1) ?? 0) + 1;
    await source.file.sync();
    const size = await writeIndex(this.folder, number, parts, { store: this.state.store, log: source.number, n, end, live });
    for (const old of this.#indexes) await removeIndex(this.folder, old);
    this.#indexes = [number];
    this.#indexed = end;
    // What indexes cost stays a fraction of what the log costs.
    this.#indexStep = Math.max(INDEX_STEP, 8 * size);
  }

  /** Waits for what is under way and lets go of the folder. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#erasing);
    this.#compaction?.cancel();
    while (this.#writing !== undefined || this.#tending !== undefined) await (this.#writing ?? this.#tending);
    try {
      if (this.#broken === undefined) {
        if (this.#erase && this.#live <= ERASE_UP_TO) await this.#compact();
        this.folder.check();
        await this.#source.file.sync();
        if (this.#end - this.#indexed > INDEX_AT_END) await this.#index();
        await writeMark(this.folder, { store: this.state.store, log: this.#source.number, end: this.#end, n: this.#n });
      }
    } catch {
      // What was promised is on the disk; without the index, the next opening takes longer.
    } finally {
      await this.#source.retire();
      await this.#source.file.close();
      await this.folder.close();
    }
  }
}

/** Damage that was passed over, in words. */
function inWords(folder: LogFolder, { file, from, to, which, why }: Skipped): string {
  const place = from === to ? "" : `, bytes ${from} to ${to}`;
  return `${file} in ${folder.words}${place}: ${why}${which === "" ? "" : ` (${which} could not be read)`}`;
}
