// Reads a log line by line, and checks every sum. Out come lines with the places of their values, or the reason why what is there
// is no line. It decides nothing about damage; `recover` does.

import { hex } from "./crc.js";
import { LINE_END, looksLikeLine, readLine, type Beginning, type Change, type Copied, type Line, type Put, type Whole } from "./format.js";
import { storeError, type LogFile, type LogFolder } from "./folder.js";

/** So much is read at once, at least. */
const WINDOW = 1 << 20;

/** So many bytes are in front of a line's JSON: its sum and a space. */
const BEFORE = 9;

/** A line that is whole. */
export interface Found {
  line: Line;
  /** Where it begins. */
  at: number;
  /** Where its first value begins; the others follow, each with a line's end behind it. */
  values: number;
  /** Where what comes behind it begins. */
  next: number;
  /** Values that do not have their sums, by their places among the puts, and the key of the first. */
  lost?: { places: Set<number>; key: string };
}

/** What is wrong in a place. */
export interface Broken {
  why: string;
  /** The key of the value that is damaged, if the line is whole. */
  key?: string;
}

/** A file that is read from its beginning to its end, with steps back now and then. */
export class Reader {
  #bytes: Uint8Array = new Uint8Array(0);
  #from = 0;

  constructor(
    readonly folder: LogFolder,
    readonly file: LogFile,
    readonly size: number,
    /** Whether damaged values are lost by themselves, instead of making their line broken. */
    readonly lenient: boolean,
    /** The sum of the store's id; known once the first line is read. */
    public seed = 0,
  ) {}

  /** The first line of the file; `undefined` where there is none. */
  async beginning(): Promise<{ line: Beginning; next: number } | undefined> {
    const end = await this.#lineEnd(0);
    if (end === undefined) return undefined;
    const line = readLine(this.folder, await this.#take(0, end), 0) as Beginning | undefined;
    if (typeof line?.threadkeep !== "number") return undefined;
    return { line, next: end + 1 };
  }

  /** The line at `at`, with its values. */
  async line(at: number): Promise<Found | Broken> {
    const end = await this.#lineEnd(at);
    if (end === undefined) return { why: "a line has no end" };
    const line = readLine(this.folder, await this.#take(at, end - at), this.seed);
    if (!isLine(line)) return { why: "a line does not have the sum that stands in front of it" };
    const found: Found = { line, at, values: end + 1, next: end + 1 };
    for (const [place, [key, length, crc, how]] of putsOf(line).entries()) {
      const bytes = await this.#take(found.next, length + 1);
      if (bytes.length <= length) return { why: `the value of ${JSON.stringify(key)} ends too early`, key };
      const value = bytes.subarray(0, length);
      const ended = bytes[length] === LINE_END[0];
      if (!ended || (how !== "lost" && hex(this.folder.crc32(value)) !== crc)) {
        // Where the next line is in its place, nothing but this value is damaged.
        if (!this.lenient || !ended) return noSum(key);
        found.lost ??= { places: new Set(), key };
        found.lost.places.add(place);
      }
      found.next += length + 1;
    }
    if (found.lost === undefined || found.next === this.size) return found;
    const after = await this.#lineEnd(found.next);
    return after !== undefined && isLine(readLine(this.folder, await this.#take(found.next, after - found.next), this.seed)) ? found : noSum(found.lost.key);
  }

  /** Whether a value is what was written. */
  async holds({ at, length, crc }: { at: number; length: number; crc: number }): Promise<boolean> {
    const bytes = await this.#take(at, length);
    return bytes.length === length && this.folder.crc32(bytes) === crc;
  }

  /** The first whole line that begins behind `at`, of a commit later than `n`; also where the end of the line before it is damaged. */
  async next(at: number, n: number): Promise<Found | undefined> {
    for (let from = at + 1; from < this.size; ) {
      const bytes = await this.#take(from, WINDOW);
      for (let brace = bytes.indexOf(123, BEFORE); brace >= 0; brace = bytes.indexOf(123, brace + 1)) {
        const begin = brace - BEFORE;
        if (!looksLikeLine(bytes.subarray(begin))) continue;
        const found = await this.line(from + begin);
        if ("line" in found && (!("n" in found.line) || found.line.n > n)) return found;
      }
      if (bytes.length < WINDOW) return undefined;
      // A line may begin in this window and show that only in the next.
      from += bytes.length - 2 * BEFORE;
    }
    return undefined;
  }

  /** Where the line that begins at `at` ends. */
  async #lineEnd(at: number): Promise<number | undefined> {
    for (let length = 4096; ; length *= 4) {
      const bytes = await this.#take(at, length);
      const end = bytes.indexOf(10);
      if (end >= 0) return at + end;
      if (bytes.length < length) return undefined;
    }
  }

  /** Some bytes of the file; fewer where it ends. */
  async #take(at: number, length: number): Promise<Uint8Array> {
    length = Math.min(length, this.size - at);
    if (length <= 0) return new Uint8Array(0);
    if (at < this.#from || at + length > this.#from + this.#bytes.length) {
      try {
        this.#bytes = await this.file.read(at, Math.min(Math.max(length, WINDOW), this.size - at));
      } catch (error) {
        throw this.folder.failure(error, `reading ${this.file.name}`);
      }
      this.#from = at;
      if (this.#bytes.length < length)
        throw storeError("storage", `${this.file.name} in ${this.folder.words} became shorter while it was read: does another program write to it?`);
    }
    return this.#bytes.subarray(at - this.#from, at - this.#from + length);
  }
}

function noSum(key: string): Broken {
  return { why: `the value of ${JSON.stringify(key)} does not have its sum`, key };
}

/** What a line puts. */
export function putsOf(line: Line): Put[] {
  return ("put" in line ? line.put : undefined) ?? [];
}

/** Whether JSON with the right sum is a line that this version writes. */
function isLine(line: unknown): line is Line {
  if (typeof line !== "object" || line === null) return false;
  const { n, part, whole, put = [] } = line as Partial<Change & Copied & Whole>;
  const figures = [n, part, whole].every((figure) => figure === undefined || Number.isSafeInteger(figure));
  return typeof (n ?? part) === "number" && figures && Array.isArray(put) && put.every(isPut);
}

/** A sum is no proof that we wrote a line: a length that is none would lead the reader back, or past the end. */
function isPut(put: unknown): boolean {
  return Array.isArray(put) && typeof put[0] === "string" && Number.isSafeInteger(put[1]) && put[1] >= 0 && typeof put[2] === "string";
}
