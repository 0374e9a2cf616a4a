// Where values are: in which file, from where to where. Files that a compaction has replaced stay until nobody reads them.

import { hex } from "./crc.js";
import { decodeBase64 } from "./format.js";
import { storeError, type LogFile, type LogFolder } from "./folder.js";
import type { MaybePromise } from "../adapter.js";

/** A log file in use. */
export class Source {
  #readers = 0;
  #retired: (() => void) | undefined;

  constructor(
    readonly file: LogFile,
    /** The number in its name. */
    readonly number: number,
  ) {}

  /** Reads some bytes; the file stays until they have come. */
  read(at: number, length: number): MaybePromise<Uint8Array> {
    const bytes = this.file.read(at, length);
    // What is there at once, as small pieces are, needs no promise: a list of conversations is thousands of them.
    if (!(bytes instanceof Promise)) return bytes;
    this.#readers += 1;
    return bytes.finally(() => {
      this.#readers -= 1;
      if (this.#readers === 0) this.#retired?.();
    });
  }

  /** Comes back when nobody reads the file any more. Nobody may begin to. */
  retire(): Promise<void> {
    return new Promise((resolve) => {
      this.#retired = resolve;
      if (this.#readers === 0) resolve();
    });
  }
}

/** Where a value is. */
export interface Entry {
  source: Source;
  at: number;
  length: number;
  crc: number;
  base64: boolean;
  /** The value was damaged and is lost: the key stays, so that what asks for it hears why. */
  lost?: boolean;
}

/** About how many bytes of a log a record takes beside its value. */
export function overhead(key: string): number {
  return key.length + 32;
}

/** The value that was read, if it is what was written. */
export function checked(folder: LogFolder, key: string, entry: Readonly<Entry>, bytes: Uint8Array): Uint8Array {
  if (entry.lost === true)
    throw storeError("corrupt", `the value of ${JSON.stringify(key)} was damaged, and lost when ${folder.words} was repaired`, { ...folder.details, key });
  if (bytes.length !== entry.length || folder.crc32(bytes) !== entry.crc) {
    const { name } = entry.source.file;
    const got =
      bytes.length !== entry.length
        ? `${bytes.length} of ${entry.length} bytes are there`
        : `its CRC-32 is ${hex(folder.crc32(bytes))} and was ${hex(entry.crc)}`;
    throw storeError(
      "corrupt",
      `the value of ${JSON.stringify(key)} at byte ${entry.at} of ${name} in ${folder.words} is not what was written (${got}): restore the file from a copy; what else is in it can be read and exported`,
      { ...folder.details, file: name, offset: entry.at, key },
    );
  }
  return entry.base64 ? decodeBase64(bytes) : bytes;
}

/** Values that lie in one file near each other are read together if what is between them is shorter than this. */
const GAP = 16 * 1024;
/** And as long as what is read at once is not longer. */
const TOGETHER = 4 << 20;

/** Reads the values of entries, of which each may be in another place by the time they have come. */
export async function readAll(folder: LogFolder, wanted: readonly (readonly [key: string, entry: Entry])[]): Promise<Uint8Array[]> {
  // Copies: a compaction moves entries while we wait. The reading itself must begin now, while the files are there.
  const places = wanted.map(([key, entry], index) => ({ key, entry: { ...entry }, index }));
  places.sort((a, b) => a.entry.source.number - b.entry.source.number || a.entry.at - b.entry.at);
  const values = new Array<Uint8Array>(wanted.length);
  const readings: Promise<void>[] = [];
  for (let from = 0; from < places.length; ) {
    const { source, at } = places[from]!.entry;
    let to = from;
    let end = at;
    while (to < places.length) {
      const { entry } = places[to]!;
      if (to > from && (entry.source !== source || entry.at - end > GAP || entry.at + entry.length - at > TOGETHER)) break;
      end = entry.at + entry.length;
      to += 1;
    }
    const group = places.slice(from, to);
    const take = (bytes: Uint8Array): void => {
      for (const { key, entry, index } of group) values[index] = checked(folder, key, entry, bytes.subarray(entry.at - at, entry.at - at + entry.length));
    };
    const failed = (error: unknown): never => {
      throw folder.failure(error, `reading ${source.file.name}`);
    };
    try {
      const bytes = source.read(at, end - at);
      if (bytes instanceof Promise) readings.push(bytes.catch(failed).then(take));
      else take(bytes);
    } catch (error) {
      // Not thrown: somebody has to wait for the other readings.
      readings.push(Promise.reject(folder.failure(error, `reading ${source.file.name}`)));
    }
    from = to;
  }
  await Promise.all(readings);
  return values;
}
