// The store in the browser's private file system (OPFS), for dedicated workers: the same log as under Node, over handles that read
// and write at once. One tab at a time has it open.

import * as check from "../check.js";
import { ThreadkeepError, badArgument, type ErrorDetails } from "../errors.js";
import type { StoreAdapter } from "./adapter.js";
import { crc32 } from "./log/crc.js";
import { Handle } from "./log/handle.js";
import { storeError, type LogFile, type LogFolder } from "./log/folder.js";
import { LogStore } from "./log/store.js";

/** How an OPFS store works. */
export interface OpfsStoreOptions {
  /** The name of the folder in the origin's private file system; `threadkeep` without it. */
  name?: string;
  /** How many bytes of what was written and read lately stay in memory; 8 MiB without it, 0 for none. */
  cacheBytes?: number;
  /** The log is written anew (in the background) when this many of its bytes no longer count and more than do count; 4 MiB without it. */
  compactBytes?: number;
  /**
   * `true`: all of the log is read and checked, and a damaged one is opened all the same, without what is damaged; {@link OpfsStore.damaged}
   * tells what that is. A copy of the file stays beside it.
   */
  repair?: boolean;
}

/** A {@link StoreAdapter} that can say what it found, and clear up. */
export interface OpfsStore extends StoreAdapter {
  /**
   * Opens the place, which otherwise happens when it is first used; says whether there was a log. `Threadkeep.open` calls it.
   *
   * @throws ThreadkeepError as {@link opfsStore}
   */
  open(): Promise<"existing" | "created">;
  /**
   * What opening found damaged and passed over, in words, where `repair` was asked for.
   *
   * @throws ThreadkeepError as {@link opfsStore}
   */
  damaged(): Promise<readonly string[]>;
  /**
   * Writes the log anew, without what no longer counts: nothing of what was deleted is in the files then. It happens by itself, too: when
   * half of the log is dead, and in smaller stores soon after whole conversations were deleted.
   *
   * @throws ThreadkeepError as {@link opfsStore}
   */
  compact(): Promise<void>;
}

/** The handle that only dedicated workers get. */
interface SyncHandle {
  read(buffer: Uint8Array, options: { at: number }): number;
  write(buffer: Uint8Array, options: { at: number }): number;
  flush(): void;
  truncate(size: number): void;
  getSize(): number;
  close(): void;
}

interface FileHandle {
  createSyncAccessHandle?: () => Promise<SyncHandle>;
}

interface Directory {
  getDirectoryHandle(name: string, options: { create: boolean }): Promise<Directory>;
  getFileHandle(name: string, options: { create: boolean }): Promise<FileHandle>;
  removeEntry(name: string): Promise<void>;
  keys(): AsyncIterable<string>;
}

const OPTIONS = {
  name: check.id,
  cacheBytes: bytes,
  compactBytes: bytes,
  repair: check.flag,
} as const;

/** A tab that has just been closed lets go of its files a little later. */
const TRIES = 20;
const WAIT = 50;

/**
 * A store in the origin's private file system. It works in dedicated workers only, and one at a time has it open; in that worker, all
 * stores of the name share it. What is acknowledged has been flushed to the disk.
 *
 * Its methods reject with a ThreadkeepError: `unavailable` (no dedicated worker, private browsing, an old browser), `blocked` (another
 * tab or worker has it), `quota`, `corrupt` (damage, with its place), `newer-version`, `storage`.
 *
 * @throws ThreadkeepError `bad-request` for a wrong option
 *
 * @example
 * ```ts
 * // In a worker:
 * import { Threadkeep } from "threadkeep";
 * import { opfsStore } from "threadkeep/opfs";
 *
 * const keep = await Threadkeep.open({ storage: opfsStore({ name: "my-agent" }) });
 * ```
 */
export function opfsStore(options?: OpfsStoreOptions): OpfsStore {
  const { name = "threadkeep", cacheBytes = 8 << 20, compactBytes = 4 << 20, repair = false } = check.options(options, "options", OPTIONS) as OpfsStoreOptions;
  // A folder below one of ours, so that the origin's other files are left alone; `.` and `..` are not allowed as names.
  const folder = `threadkeep-${encodeURIComponent(name)}`;
  if (folder.length > 250) throw badArgument("options.name", "is too long for the name of a folder");
  return new Handle(() => ({ key: `opfs:${folder}`, open: async () => LogStore.open(await opfsFolder(folder), { cacheBytes, compactBytes, repair }) }));
}

/** Opens a folder for this worker alone. */
async function opfsFolder(name: string): Promise<LogFolder> {
  const storage = (globalThis as { navigator?: { storage?: { getDirectory?: () => Promise<Directory> } } }).navigator?.storage;
  if (typeof storage?.getDirectory !== "function") throw unavailable("this browser or place has no private file system");
  let directory: Directory;
  try {
    directory = await (await storage.getDirectory()).getDirectoryHandle(name, { create: true });
  } catch (error) {
    throw failure(error, "opening it", name);
  }
  const file = await directory.getFileHandle("lock", { create: true });
  if (typeof file.createSyncAccessHandle !== "function")
    throw unavailable("only a dedicated worker gets access to its files at once: open the keep in a `new Worker(…)`, or use IndexedDB, the default");
  for (let tries = 1; ; tries += 1) {
    try {
      return new OpfsFolder(directory, name, await file.createSyncAccessHandle());
    } catch (error) {
      const { name: kind } = error as { name?: string };
      if (kind !== "NoModificationAllowedError" && kind !== "InvalidStateError") throw failure(error, "taking it", name);
      if (tries === TRIES)
        throw storeError(
          "blocked",
          `another tab or worker has the OPFS folder ${name} open, and only one can: close it there, or use IndexedDB, which several tabs may share`,
          { folder: name },
          error,
        );
      await new Promise((resolve) => setTimeout(resolve, WAIT));
    }
  }
}

function unavailable(why: string): ThreadkeepError {
  return storeError("unavailable", `OPFS cannot be used here: ${why}`);
}

function failure(error: unknown, doing: string, folder: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const { name, message } = error as { name?: string; message?: string };
  const words = `the OPFS folder ${folder} cannot be used (${doing}): ${message ?? String(error)}`;
  if (name === "QuotaExceededError")
    return storeError("quota", `${words}. The origin's share of the disk is used up: delete something, or free space`, { folder }, error);
  if (name === "SecurityError" || name === "NotAllowedError")
    return storeError("unavailable", `${words}. The browser refuses storage here (private browsing, or storage is switched off)`, { folder }, error);
  if (name === "NotFoundError") return storeError("storage-gone", `${words}. Has the site's data been deleted?`, { folder }, error);
  return storeError("storage", words, { folder }, error);
}

class OpfsFolder implements LogFolder {
  readonly words: string;
  readonly details: ErrorDetails;
  readonly readable = false;
  readonly crc32 = crc32;

  constructor(
    readonly directory: Directory,
    readonly name: string,
    readonly lock: SyncHandle,
  ) {
    this.words = `the OPFS folder ${name}`;
    this.details = { folder: name };
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.directory.keys()) names.push(name);
    return names;
  }

  async open(name: string): Promise<LogFile> {
    const file = await this.directory.getFileHandle(name, { create: true });
    return new OpfsFile(name, await file.createSyncAccessHandle!());
  }

  async remove(name: string): Promise<void> {
    try {
      await this.directory.removeEntry(name);
    } catch (error) {
      if ((error as { name?: string }).name !== "NotFoundError") throw this.failure(error, `deleting ${name}`);
    }
  }

  check(): void {
    // Nobody can take away the browser's own lock.
  }

  sync(): void {
    // The browser does it by itself.
  }

  close(): void {
    this.lock.close();
  }

  isText(): boolean {
    return true;
  }

  failure(error: unknown, doing: string): ThreadkeepError {
    return failure(error, doing, this.name);
  }
}

class OpfsFile implements LogFile {
  constructor(
    readonly name: string,
    readonly handle: SyncHandle,
  ) {}

  size(): number {
    return this.handle.getSize();
  }

  read(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, this.handle.read(bytes, { at }));
  }

  write(at: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const wrote = this.handle.write(done === 0 ? bytes : bytes.subarray(done), { at: at + done });
      // A full disk takes a part, and then nothing.
      if (wrote === 0) throw new DOMException("nothing more could be written", "QuotaExceededError");
      done += wrote;
    }
  }

  sync(): void {
    this.handle.flush();
  }

  truncate(size: number): void {
    this.handle.truncate(size);
  }

  close(): void {
    this.handle.close();
  }
}

function bytes(value: unknown, argument: string): number {
  return check.count(value, argument, Number.MAX_SAFE_INTEGER);
}
