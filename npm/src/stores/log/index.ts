// Index files: where the values of a log are, so that opening does not read all of it. An index can be lost or wrong at any time, and
// then the log is read instead. Two files take turns, so that one is whole whenever a crash comes.
//
// A line for each leaf of the keys: lists of keys (how many characters are those of the key before, and the rest), places,
// lengths, sums, and which are base64. The last line says of which log it is the index, and has the sum of all before.

import { hex } from "./crc.js";
import type { Entry, Source } from "./entry.js";
import { FORMAT, readLine, writeLine } from "./format.js";
import type { Keys, Part } from "./keys.js";
import { join, pause, type LogFolder } from "./folder.js";

const NAME = /^index-(\d{6,15})$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The last line of an index file. */
interface Ending {
  threadkeep: number;
  store: string;
  /** The log's number. */
  log: number;
  /** The last commit that is in it. */
  n: number;
  /** Up to which byte of the log it goes; the log was on the disk so far. */
  end: number;
  live: number;
  keys: number;
  /** The sum of the lines before. */
  crc: string;
}

interface LeafLine {
  keys: (number | string)[];
  at: number[];
  length: number[];
  crc: number[];
  base64?: number[];
  lost?: number[];
}

/** An index that was found whole. */
export interface Index extends Ending {
  /** The number in its file's name. */
  number: number;
  /** Puts its keys into an empty order; says whether that could be done. */
  load(source: Source, keys: Keys<Entry>): boolean;
}

function indexName(number: number): string {
  return `index-${String(number).padStart(6, "0")}`;
}

/** The indexes of a folder, the newest last. What is not whole is left out. */
export async function readIndexes(folder: LogFolder, names: readonly string[]): Promise<Index[]> {
  const found: Index[] = [];
  for (const name of names) {
    const number = NAME.exec(name)?.[1];
    if (number === undefined) continue;
    const bytes = await readWhole(folder, name);
    const lastLine = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    const ending = bytes.at(-1) === 10 ? (readLine(folder, bytes.subarray(lastLine, -1), 0) as Ending | undefined) : undefined;
    const body = bytes.subarray(0, lastLine);
    if (ending?.threadkeep !== FORMAT || ending.crc !== hex(folder.crc32(body))) {
      // It can be made again, and must not be taken for the newest by its number.
      await folder.remove(name);
      continue;
    }
    found.push({ ...ending, number: Number(number), load: (source, keys) => load(body, ending, source, keys) });
  }
  return found.sort((a, b) => a.number - b.number);
}

async function readWhole(folder: LogFolder, name: string): Promise<Uint8Array> {
  try {
    const file = await folder.open(name);
    try {
      return await file.read(0, await file.size());
    } finally {
      await file.close();
    }
  } catch (error) {
    throw folder.failure(error, `reading ${name}`);
  }
}

function load(body: Uint8Array, ending: Ending, source: Source, keys: Keys<Entry>): boolean {
  let from = 0;
  while (from < body.length) {
    const to = body.indexOf(10, from);
    const line = JSON.parse(decoder.decode(body.subarray(from, to))) as LeafLine;
    const [base64, lost] = [new Set(line.base64), new Set(line.lost)];
    let key = "";
    for (let place = 0; place < line.at.length; place += 1) {
      key = key.slice(0, line.keys[2 * place] as number) + (line.keys[2 * place + 1] as string);
      keys.set(key, {
        source,
        at: line.at[place]!,
        length: line.length[place]!,
        crc: line.crc[place]!,
        base64: base64.has(place),
        ...(lost.has(place) ? { lost: true } : {}),
      });
    }
    from = to + 1;
  }
  return keys.size === ending.keys;
}

/** Writes an index; gives its length. The log must be on the disk up to `end`. */
export async function writeIndex(
  folder: LogFolder,
  number: number,
  parts: readonly Part<Entry>[],
  ending: Omit<Ending, "crc" | "threadkeep" | "keys">,
): Promise<number> {
  const name = indexName(number);
  try {
    const file = await folder.open(name);
    try {
      await file.truncate(0);
      let at = 0;
      let crc = 0;
      let count = 0;
      let pieces: Uint8Array[] = [];
      const flush = async (): Promise<void> => {
        const bytes = join(pieces);
        pieces = [];
        crc = folder.crc32(bytes, crc);
        await file.write(at, bytes);
        at += bytes.length;
        await pause();
      };
      for (const part of parts) {
        pieces.push(encoder.encode(`${JSON.stringify(leafLine(part))}\n`));
        count += part.keys.length;
        if (pieces.length === 32) await flush();
      }
      if (pieces.length > 0) await flush();
      const last = writeLine(folder, { threadkeep: FORMAT, ...ending, keys: count, crc: hex(crc) } satisfies Ending, 0);
      await file.write(at, last);
      await file.sync();
      return at + last.length;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw folder.failure(error, `writing ${name}`);
  }
}

/** Deletes an index file. */
export async function removeIndex(folder: LogFolder, number: number): Promise<void> {
  await folder.remove(indexName(number));
}

function leafLine({ keys, entries }: Part<Entry>): LeafLine {
  const line: LeafLine = { keys: [], at: [], length: [], crc: [] };
  let before = "";
  for (let place = 0; place < keys.length; place += 1) {
    const key = keys[place]!;
    const entry = entries[place]!;
    let shared = 0;
    while (shared < before.length && before.charCodeAt(shared) === key.charCodeAt(shared)) shared += 1;
    line.keys.push(shared, key.slice(shared));
    line.at.push(entry.at);
    line.length.push(entry.length);
    line.crc.push(entry.crc);
    if (entry.base64) (line.base64 ??= []).push(place);
    if (entry.lost === true) (line.lost ??= []).push(place);
    before = key;
  }
  return line;
}
