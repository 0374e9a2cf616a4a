// The mark of clean closing: how long the log was when it was closed last. A log that is shorter, or gone, has lost something, which the
// log itself cannot tell: its end looks like any other. A crash leaves the mark before it, which is as true; one that is damaged is none.

import { readLine, writeLine } from "./format.js";
import type { LogFolder } from "./folder.js";

const NAME = "closed";

/** What the mark says. */
export interface Mark {
  /** The store's id. */
  store: string;
  /** The log's number. */
  log: number;
  /** How many bytes it had. */
  end: number;
  /** The number of its last commit. */
  n: number;
}

/** The mark of a folder, whose files are `names`. */
export async function readMark(folder: LogFolder, names: readonly string[]): Promise<Mark | undefined> {
  if (!names.includes(NAME)) return undefined;
  try {
    const file = await folder.open(NAME);
    try {
      const bytes = await file.read(0, Math.min(await file.size(), 4096));
      const mark = bytes.at(-1) === 10 ? (readLine(folder, bytes.subarray(0, -1), 0) as Partial<Mark> | undefined) : undefined;
      const { store, log, end, n } = mark ?? {};
      return typeof store === "string" && [log, end, n].every(Number.isSafeInteger) ? (mark as Mark) : undefined;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw folder.failure(error, `reading ${NAME}`);
  }
}

/** Writes the mark. The log must be on the disk so far. */
export async function writeMark(folder: LogFolder, mark: Mark): Promise<void> {
  const file = await folder.open(NAME);
  try {
    await file.truncate(0);
    await file.write(0, writeLine(folder, mark, 0));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Deletes the mark. */
export async function removeMark(folder: LogFolder): Promise<void> {
  await folder.remove(NAME);
}
