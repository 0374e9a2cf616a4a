/// <reference types="node" />
// Node's file system as a place for log stores: a folder with a lock. What the system calls failures becomes codes and words.

import buffer from "node:buffer";
import fs from "node:fs";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { ThreadkeepError, type ErrorDetails, type ThreadkeepErrorCode } from "../../errors.js";
import { crc32 } from "./crc.js";
import { lock, type Lock } from "./lock.js";
import { storeError, type LogFile, type LogFolder } from "./folder.js";

const read = promisify(fs.read);
const write = promisify(fs.write);

/** Up to so many bytes the way to another thread takes longer than reading or writing what the system holds in memory. */
const AT_ONCE = 128 * 1024;

/** Codes of the system, by ours. */
const CODES: Readonly<Record<string, readonly [ThreadkeepErrorCode, string]>> = {
  ENOSPC: ["quota", "the disk is full: free space and try again"],
  EDQUOT: ["quota", "your share of the disk is used up: free space and try again"],
  EFBIG: ["quota", "files may not become larger here: raise the limit (ulimit -f), or begin another folder"],
  EACCES: ["unavailable", "this user may not: change the owner or the rights of the folder, or name another"],
  EPERM: ["unavailable", "this user may not: change the owner or the rights of the folder, or name another"],
  EROFS: ["unavailable", "the disk can only be read: name a folder on another"],
  ENOTDIR: ["unavailable", "a part of the path is a file: name another folder"],
  EEXIST: ["unavailable", "a file is in the way: name another folder"],
  ENOENT: ["unavailable", "it is not there: has the folder been deleted or moved?"],
  ENAMETOOLONG: ["unavailable", "the path is too long: name a shorter one"],
  EMFILE: ["transient", "too many files are open: close some, or raise the limit (ulimit -n)"],
  ENFILE: ["transient", "too many files are open on this machine: close some"],
};

/** Opens a folder, made where there is none, for this process alone. */
export async function nodeFolder(path: string): Promise<LogFolder> {
  const folder = new NodeFolder(path);
  try {
    folder.lock = await lock(path);
  } catch (error) {
    throw folder.failure(error, "taking it");
  }
  return folder;
}

/** Whether bytes are UTF-8; not every platform that has Node's modules has all of them. */
function isUtf8(bytes: Uint8Array): boolean {
  if (typeof buffer.isUtf8 === "function") return buffer.isUtf8(bytes);
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** An error of the file system, in our words. */
export function failure(error: unknown, doing: string, path: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const system = (error as NodeJS.ErrnoException).code;
  const [code, words] = CODES[system ?? ""] ?? (["storage", "see what the system says"] as const);
  const message = error instanceof Error ? error.message : String(error);
  return storeError(code, `the folder ${path} cannot be used (${doing}): ${words} (${message})`, { folder: path, ...(system && { system }) }, error);
}

class NodeFolder implements LogFolder {
  readonly words: string;
  readonly details: ErrorDetails;
  readonly readable = true;
  lock: Lock | undefined;

  constructor(readonly path: string) {
    this.words = `the folder ${path}`;
    this.details = { folder: path };
  }

  list(): string[] {
    return fs.readdirSync(this.path);
  }

  open(name: string): NodeFile {
    return new NodeFile(this.path, name, fs.openSync(`${this.path}/${name}`, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600));
  }

  remove(name: string): void {
    fs.rmSync(`${this.path}/${name}`, { force: true });
  }

  sync(): void {
    // Windows has no such thing, and needs none.
    if (process.platform === "win32") return;
    const folder = fs.openSync(this.path, "r");
    try {
      fs.fsyncSync(folder);
    } finally {
      fs.closeSync(folder);
    }
  }

  check(): void {
    this.lock?.check();
  }

  close(): void {
    this.lock?.release();
  }

  readonly crc32: LogFolder["crc32"] = (zlib as { crc32?: LogFolder["crc32"] }).crc32 ?? crc32;

  isText(bytes: Uint8Array): boolean {
    return !bytes.includes(0) && isUtf8(bytes);
  }

  failure(error: unknown, doing: string): ThreadkeepError {
    return failure(error, doing, this.path);
  }
}

class NodeFile implements LogFile {
  constructor(
    readonly folder: string,
    readonly name: string,
    readonly descriptor: number,
  ) {}

  size(): number {
    return fs.fstatSync(this.descriptor).size;
  }

  read(at: number, length: number): Uint8Array | Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    if (length > AT_ONCE) return this.#readElsewhere(bytes, at);
    let done = 0;
    while (done < length) {
      const got = fs.readSync(this.descriptor, bytes, done, length - done, at + done);
      if (got === 0) break;
      done += got;
    }
    return bytes.subarray(0, done);
  }

  async #readElsewhere(bytes: Uint8Array, at: number): Promise<Uint8Array> {
    let done = 0;
    while (done < bytes.length) {
      const { bytesRead } = await read(this.descriptor, bytes, done, bytes.length - done, at + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  }

  async write(at: number, bytes: Uint8Array): Promise<void> {
    // A full disk takes a part of it, and says so only at the next piece.
    for (let done = 0; done < bytes.length; )
      done +=
        bytes.length <= AT_ONCE
          ? fs.writeSync(this.descriptor, bytes, done, bytes.length - done, at + done)
          : (await write(this.descriptor, bytes, done, bytes.length - done, at + done)).bytesWritten;
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.descriptor, (error) => {
        if (error !== null) return reject(error);
        // A deleted file takes everything that is written to it, and nobody ever finds it again.
        if (fs.fstatSync(this.descriptor).nlink === 0)
          return reject(
            storeError("storage-gone", `${this.name} in the folder ${this.folder} was deleted while it was open: what was written since is lost`, {
              folder: this.folder,
            }),
          );
        resolve();
      });
    });
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.descriptor, size);
  }

  close(): void {
    fs.closeSync(this.descriptor);
  }
}
