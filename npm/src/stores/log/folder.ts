// What the log store asks of the place where its files are: a folder of files that can be read anywhere, written at the end and
// brought to the disk. Node's file system and the browser's private one each are one. What fails comes out as an error with a
// stable code and words.

import { ThreadkeepError, type ErrorDetails, type ThreadkeepErrorCode } from "../../errors.js";
import type { MaybePromise } from "../adapter.js";

/** An open file. Offsets and lengths are bytes. */
export interface LogFile {
  /** Its name in the folder. */
  readonly name: string;
  /** How long it is now. */
  size(): MaybePromise<number>;
  /** The bytes from `at` on, `length` of them, or fewer where the file ends before. */
  read(at: number, length: number): MaybePromise<Uint8Array>;
  /** Writes all of `bytes` at `at`, which is in the file or at its end. */
  write(at: number, bytes: Uint8Array): MaybePromise<void>;
  /** Comes back when everything written is on the disk. */
  sync(): MaybePromise<void>;
  /** Cuts the file off. */
  truncate(size: number): MaybePromise<void>;
  /** Lets go of the file. */
  close(): MaybePromise<void>;
}

/** A folder that this process alone writes to, until it is closed. */
export interface LogFolder {
  /** What it is called in errors, such as `the folder /data/.threadkeep/notes`. */
  readonly words: string;
  /** What belongs to errors as details. */
  readonly details: ErrorDetails;
  /** Whether people look at the files with an editor, so that what is no text is better written as base64. */
  readonly readable: boolean;
  /** The names of the files that are there. */
  list(): MaybePromise<string[]>;
  /** Opens a file for reading and writing, made where there is none. */
  open(name: string): MaybePromise<LogFile>;
  /** Deletes a file that nobody has open. One that is not there is no error. */
  remove(name: string): MaybePromise<void>;
  /** Throws if the folder is no longer this process's alone, as when somebody has deleted its lock. */
  check(): void;
  /** Comes back when files that were made and deleted are so on the disk. */
  sync(): MaybePromise<void>;
  /** Lets go of the folder, so that others may open it. */
  close(): MaybePromise<void>;
  /** CRC-32, see {@link "./crc".crc32}. */
  crc32(bytes: Uint8Array, before?: number): number;
  /** Whether bytes are text that an editor shows. */
  isText(bytes: Uint8Array): boolean;
  /** Turns an error of the platform into one of ours; `doing` says what was tried, such as `writing to log-1`. */
  failure(error: unknown, doing: string): ThreadkeepError;
}

/** An error of a store. `key` says which record, for the codes `conflict` and `corrupt`. */
export function storeError(code: ThreadkeepErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown): ThreadkeepError & { key?: string } {
  const error = new ThreadkeepError(code, message, details, cause);
  // The engine looks for it there.
  if (typeof details["key"] === "string") Object.assign(error, { key: details["key"] });
  return error;
}

/** Lets other work of this thread have its turn. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    const immediate = (globalThis as { setImmediate?: (callback: () => void) => void }).setImmediate;
    if (immediate !== undefined) return immediate(resolve);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Pieces in one. */
export function join(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0]!;
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
