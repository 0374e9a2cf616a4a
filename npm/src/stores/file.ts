/// <reference types="node" />
// The file store: conversations in one folder, under Node, Deno and Bun. It is what `Threadkeep.open` uses there by itself.

import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import * as check from "../check.js";
import { badArgument } from "../errors.js";
import type { StoreAdapter } from "./adapter.js";
import { Handle } from "./log/handle.js";
import { failure, nodeFolder } from "./log/node.js";
import { LogStore } from "./log/store.js";

/** How a file store works. */
export interface FileStoreOptions {
  /** The folder; it is made where there is none, for this user alone. Relative paths count from the working directory. */
  folder: string;
  /** How many bytes of what was written and read lately stay in memory; 8 MiB without it, 0 for none. */
  cacheBytes?: number;
  /**
   * The log is written anew (in the background) when this many of its bytes no longer count and more than do count; 4 MiB without it.
   */
  compactBytes?: number;
  /**
   * `true`: all of the log is read and checked, and a damaged one is opened all the same, without what is damaged;
   * {@link FileStore.damaged} and {@link Threadkeep.stats} tell what that is. The file as it was stays beside it, under a name that begins
   * with `damaged-`. Without it, damage is an error, and nothing is changed.
   */
  repair?: boolean;
}

const OPTIONS = {
  folder: check.exact,
  cacheBytes: bytes,
  compactBytes: bytes,
  repair: check.flag,
} as const;

/** A {@link StoreAdapter} that can say what it found, and clear up. */
export interface FileStore extends StoreAdapter {
  /**
   * Opens the folder, which otherwise happens when it is first used; says whether there was a log. `Threadkeep.open` calls it.
   *
   * @throws ThreadkeepError as {@link fileStore}
   */
  open(): Promise<"existing" | "created">;
  /**
   * What opening found damaged and passed over, in words, where `repair` was asked for.
   *
   * @throws ThreadkeepError as {@link fileStore}
   */
  damaged(): Promise<readonly string[]>;
  /**
   * Writes the log anew, without what no longer counts: nothing of what was deleted is in the files then. It happens by itself, too: when
   * half of the log is dead, and in smaller stores soon after whole conversations were deleted.
   *
   * @throws ThreadkeepError as {@link fileStore}
   */
  compact(): Promise<void>;
}

/**
 * A store in a folder: an append-only log that a text editor can read. What is acknowledged is on the disk; a process that is killed
 * loses nothing of it. One process at a time may have the folder open; in that process, all stores of the folder share it.
 *
 * Its methods reject with a ThreadkeepError: `blocked` (another process has the folder), `unavailable` (it cannot be made or written
 * to), `quota` (the disk is full; nothing of the commit was written), `corrupt` (damage, with its place), `newer-version`,
 * `storage-gone` (the file, or this process's lock, was deleted meanwhile), `storage`.
 *
 * @throws ThreadkeepError `bad-request` for a wrong option
 *
 * @example
 * ```ts
 * import { Threadkeep } from "threadkeep";
 * import { fileStore } from "threadkeep/file";
 *
 * const keep = await Threadkeep.open({ storage: fileStore({ folder: "data/conversations" }) });
 * ```
 */
export function fileStore(options: FileStoreOptions): FileStore {
  const { folder, cacheBytes = 8 << 20, compactBytes = 4 << 20, repair = false } = check.options(options, "options", OPTIONS) as unknown as FileStoreOptions;
  if (folder === undefined || folder === "") throw badArgument("options.folder", "is missing: name the folder in which the conversations are to be");
  const wanted = path.resolve(folder);
  return new Handle(() => {
    try {
      fs.mkdirSync(wanted, { recursive: true, mode: 0o700 });
      // Whichever way leads there, it is one place.
      const real = fs.realpathSync(wanted);
      return { key: `file:${real}`, open: async () => LogStore.open(await nodeFolder(real), { cacheBytes, compactBytes, repair }) };
    } catch (error) {
      throw failure(error, "making it", wanted);
    }
  });
}

/** What `Threadkeep.open` uses where no storage is named: a folder of that name in THREADKEEP_HOME, or else in `.threadkeep`. @internal */
export function defaultStore(name: string, repair = false): { store: FileStore; place: string } {
  const home = process.env["THREADKEEP_HOME"] || path.resolve(".threadkeep");
  const folder = path.resolve(home, folderName(name));
  keepOutOfGit(home);
  return { store: fileStore({ folder, repair }), place: folder };
}

/** Conversations do not belong into a repository only because somebody began a program in it. */
function keepOutOfGit(home: string): void {
  if (path.basename(home) !== ".threadkeep" || fs.existsSync(home)) return;
  try {
    fs.mkdirSync(home, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(home, ".gitignore"), "*\n");
  } catch {
    // If the folder cannot be made, opening the store says why.
  }
}

/** Names that Windows keeps for itself. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/;

/**
 * A name as that of a folder: letters other than small ones and all but `-`, `_` and inner dots are percent-escaped, so that no two names
 * become one where capitals do not count, and none leads elsewhere.
 */
function folderName(name: string): string {
  const percent = (text: string): string => Array.from(new TextEncoder().encode(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  let escaped = name.replace(/[^a-z0-9_.-]+|^\.|\.$/g, percent);
  if (RESERVED.test(escaped)) escaped = percent(escaped[0]!) + escaped.slice(1);
  if (escaped.length <= 180) return escaped;
  return `${escaped.slice(0, 140)}%${crypto.createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

function bytes(value: unknown, argument: string): number {
  return check.count(value, argument, Number.MAX_SAFE_INTEGER);
}
