// Writes a log anew, without what no longer counts, while commits go on in the old one: first the values as they were at the
// beginning, in parts; then the commits since, as they are; and, while for a moment nobody commits, the last of these and a line that
// says that all is there. Until that line is on the disk the old file counts, so a crash at any time loses nothing.

import { checked, overhead, type Entry, Source } from "./entry.js";
import { FORMAT, LINE_END, writeLine, type Beginning, type Put, type Whole } from "./format.js";
import { hex } from "./crc.js";
import type { Keys, Part } from "./keys.js";
import { join, pause, storeError, type LogFile, type LogFolder } from "./folder.js";
import { logName } from "./recover.js";

/** So much is read and written at once. */
const STEP = 1 << 20;

const NOTHING = new Uint8Array(0);

/** What the old log was when the compaction began. */
interface From {
  store: string;
  seed: number;
  n: number;
  end: number;
}

/** One compaction, from its beginning to its end. */
export class Compaction {
  #file: LogFile | undefined;
  #end = 0;
  #parts = 0;
  /** Up to where the old log's commits have been copied, and where the first of them is now. */
  #copied: number;
  #commits = 0;
  readonly #moved: { entry: Entry; at: number; length: number }[] = [];
  #cancelled = false;
  #done = false;

  constructor(
    readonly folder: LogFolder,
    readonly old: Source,
    readonly from: From,
    readonly snapshot: readonly Part<Entry>[],
  ) {
    this.#copied = from.end;
  }

  /** Ends it at the next step, without a trace. */
  cancel(): void {
    this.#cancelled = true;
  }

  /** Copies values, and then commits, until little is left; `end` says where the old log ends by then. */
  async copy(end: () => number): Promise<void> {
    const { store, seed, n } = this.from;
    const number = this.old.number + 1;
    this.#file = await this.#try(() => this.folder.open(logName(number)), "making");
    await this.#try(() => this.#file!.truncate(0), "emptying");
    await this.#write([writeLine(this.folder, { threadkeep: FORMAT, store, log: number, n, replaces: this.old.number } satisfies Beginning, 0)]);
    let group: [string, Entry][] = [];
    let size = 0;
    for (const { keys, entries } of this.snapshot) {
      for (let at = 0; at < keys.length; at += 1) {
        group.push([keys[at]!, entries[at]!]);
        size += entries[at]!.length;
        if (size < STEP) continue;
        await this.#copyPart(group, seed);
        [group, size] = [[], 0];
      }
    }
    if (group.length > 0) await this.#copyPart(group, seed);
    this.#commits = this.#end;
    while (end() - this.#copied > STEP) {
      await this.#copyCommits(end());
      await this.#sync();
    }
    await this.#sync();
  }

  /** Copies what is left, and moves all entries; the old log counts no longer. Nobody may commit meanwhile. */
  async finish(keys: Keys<Entry>, end: number, n: number): Promise<{ source: Source; end: number; live: number }> {
    await this.#copyCommits(end);
    await this.#sync();
    this.folder.check();
    await this.#write([writeLine(this.folder, { whole: this.#parts, n } satisfies Whole, this.from.seed)]);
    await this.#sync();
    await this.#try(() => this.folder.sync(), "making");
    this.#done = true;
    const source = new Source(this.#file!, this.old.number + 1);
    for (const { entry, at, length } of this.#moved) Object.assign(entry, { source, at, length });
    const shift = this.#commits - this.from.end;
    let live = 0;
    keys.each((entry, key) => {
      if (entry.source === this.old) Object.assign(entry, { source, at: entry.at + shift });
      live += entry.length + overhead(key);
    });
    return { source, end: this.#end, live };
  }

  /** Deletes the old log, once nobody reads it. */
  async removeOld(): Promise<void> {
    await this.old.retire();
    await this.old.file.close();
    await this.folder.remove(this.old.file.name);
  }

  /** Leaves everything as it was. If that fails, nobody may write to the old log: the new one might be taken for whole. */
  async abandon(): Promise<void> {
    const file = this.#file;
    if (this.#done || file === undefined) return;
    await this.#try(async () => {
      await file.truncate(0);
      await file.sync();
    }, "giving up");
    await file.close();
    await this.folder.remove(file.name);
  }

  async #copyPart(group: readonly [string, Entry][], seed: number): Promise<void> {
    const values = await Promise.all(
      group.map(async ([key, entry]) =>
        entry.lost === true
          ? NOTHING
          : checked(this.folder, key, { ...entry, base64: false }, await this.#try(() => this.old.read(entry.at, entry.length), "reading for")),
      ),
    );
    this.#parts += 1;
    const put = group.map(([key, { crc, base64, lost }], index): Put => {
      const { length } = values[index]!;
      return lost === true ? [key, length, hex(0), "lost"] : base64 ? [key, length, hex(crc), "base64"] : [key, length, hex(crc)];
    });
    const line = writeLine(this.folder, { part: this.#parts, put }, seed);
    let at = this.#end + line.length;
    for (const [index, [, entry]] of group.entries()) {
      const { length } = values[index]!;
      this.#moved.push({ entry, at, length });
      at += length + 1;
    }
    await this.#write([line, ...values.flatMap((value) => [value, LINE_END])]);
    await pause();
  }

  async #copyCommits(end: number): Promise<void> {
    while (this.#copied < end) {
      const bytes = await this.#try(() => this.old.read(this.#copied, Math.min(STEP, end - this.#copied)), "reading for");
      if (bytes.length === 0) throw storeError("corrupt", `${this.old.file.name} in ${this.folder.words} has become shorter`, this.folder.details);
      await this.#write([bytes]);
      this.#copied += bytes.length;
    }
  }

  async #write(pieces: readonly Uint8Array[]): Promise<void> {
    if (this.#cancelled) throw storeError("cancelled", "the store is being closed");
    const bytes = join(pieces);
    await this.#try(() => this.#file!.write(this.#end, bytes), "writing");
    this.#end += bytes.length;
  }

  #sync(): Promise<void> {
    return this.#try(() => this.#file!.sync(), "writing");
  }

  async #try<T>(work: () => T | Promise<T>, doing: string): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.folder.failure(error, `${doing} ${logName(this.old.number + 1)}`);
    }
  }
}
