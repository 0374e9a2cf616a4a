// Some bytes on the disk that are given back when it is full, so that something can be deleted then: a deletion is a commit, too, and
// needs room at the log's end.

import type { LogFolder } from "./folder.js";

const NAME = "reserve";
/** So many bytes. */
export const RESERVED = 256 * 1024;

/** The reserve of a folder. */
export class Reserve {
  constructor(readonly folder: LogFolder) {}

  /** Takes the bytes, if there is room. */
  async fill(): Promise<void> {
    try {
      const file = await this.folder.open(NAME);
      try {
        const size = await file.size();
        // Not zeros, which some file systems store nowhere.
        if (size < RESERVED) await file.write(size, new Uint8Array(RESERVED - size).fill(0x2e));
      } finally {
        await file.close();
      }
    } catch {
      // The disk is full. What was promised does not hang on it.
    }
  }

  /** Gives the bytes back; says whether there were any. */
  async release(): Promise<boolean> {
    try {
      const file = await this.folder.open(NAME);
      try {
        const size = await file.size();
        if (size > 0) await file.truncate(0);
        return size > 0;
      } finally {
        await file.close();
      }
    } catch {
      return false;
    }
  }
}
