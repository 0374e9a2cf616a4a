// The files of a model's memory: texts below `/memories`, in the keep's own storage. Each change is made on what is really there, or
// made again: two tabs that edit one file at once lose nothing. What the answers say is not decided here.

import * as check from "../check.js";
import { unique } from "../digest.js";
import { ThreadkeepError } from "../errors.js";
import type { Records } from "../records.js";
import { recordKey, recordRange } from "../record-keys.js";
import type { Threadkeep } from "../threadkeep.js";
import type { StoreCommit } from "../stores/adapter.js";
import { above, below, FileFailure, ROOT } from "./path.js";

/** How much a memory may hold, and where it lies. */
export interface MemoryFilesOptions {
  /** The name under which the files lie in the keep's records; `memories` without it. Each name has a tree of its own. */
  namespace?: string;
  /** The most bytes of one file; 256 KiB without it, at most 4 MiB. */
  maxFileBytes?: number;
  /** The most files; 1,000 without it. */
  maxFiles?: number;
  /** The most bytes of all files together; 16 MiB without it. */
  maxTotalBytes?: number;
}

/** A file of the memory. */
export interface MemoryFile {
  /** Its path, such as `/memories/notes.md`. */
  path: string;
  /** Its size in bytes of UTF-8. */
  bytes: number;
  /** When it was last changed, in milliseconds since 1970 (UTC). */
  modified: number;
}

const FILES = {
  namespace: check.id,
  maxFileBytes: (value: unknown, argument: string) => check.count(value, argument, 4 << 20),
  maxFiles: check.count,
  maxTotalBytes: (value: unknown, argument: string) => check.count(value, argument, Number.MAX_SAFE_INTEGER),
} as const;

/** What is checked of {@link MemoryFilesOptions}. @internal */
export const FILES_OPTIONS = FILES;

/** So often a change is made again that others were faster than. */
const TRIES = 200;

/** All files as they were at one moment, and the mark of that moment. */
interface Tree {
  files: MemoryFile[];
  /** The key that every change removes and puts anew; none before the first change. */
  token: string | undefined;
}

/** What a change does: texts to write (`null` deletes). */
type Change = Map<string, string | null>;

const BEGUN = recordKey("tree", "begun");
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Changes of one keep and namespace follow each other; only those of others can come between. */
const queues = new WeakMap<Threadkeep, Map<string, Promise<unknown>>>();
/** Who hears of changes through a keep. */
const listeners = new WeakMap<Threadkeep, Set<(namespace: string, paths: string[]) => void>>();

/** Calls `listener` after each change of files that was made through `keep`; gives what ends it. @internal */
export function onFiles(keep: Threadkeep, listener: (namespace: string, paths: string[]) => void): () => void {
  const all = listeners.get(keep) ?? new Set();
  listeners.set(keep, all.add(listener));
  return () => void all.delete(listener);
}

/**
 * The files of a model's memory, for a page that shows them or a program of your own. Models use them through
 * {@link memoryTools} or `memoryTool` of `threadkeep/anthropic-memory`. Directories are there as long as a file lies in them.
 */
export class MemoryFiles {
  readonly #keep: Threadkeep;
  readonly #records: Records;
  readonly #name: string;
  readonly #limits: Required<Omit<MemoryFilesOptions, "namespace">>;

  /** @internal */
  constructor(keep: Threadkeep, options: MemoryFilesOptions) {
    const { namespace = "memories", maxFileBytes = 256 << 10, maxFiles = 1000, maxTotalBytes = 16 << 20 } = options;
    this.#keep = keep;
    this.#name = namespace;
    this.#records = keep.records(namespace);
    this.#limits = { maxFileBytes, maxFiles, maxTotalBytes };
  }

  /** All files, by path. */
  async list(): Promise<MemoryFile[]> {
    return (await this.#tree()).files;
  }

  /**
   * The text of a file; `undefined` where there is none.
   *
   * @param path in its one form, as {@link list} gives it
   */
  async read(path: string): Promise<string | undefined> {
    const found = await this.#records.get(textKey(path));
    return found === undefined ? undefined : decoder.decode(found);
  }

  /** Writes a file that is not there yet. @internal */
  async create(path: string, text: string): Promise<void> {
    await this.#change(async ({ files }) => {
      if (path === ROOT || files.some((file) => file.path === path || below(file.path, path))) throw new FileFailure(`Error: File ${path} already exists`);
      this.#parents(files, path);
      if (files.length >= this.#limits.maxFiles)
        throw new FileFailure(
          `Error: The memory holds ${files.length} files, and no more are allowed. Delete some that are no longer needed, or add to one that is there.`,
        );
      return new Map([[path, text]]);
    });
  }

  /** Changes a file's text; `missing` is what to say where there is none. `edit` may be called again, on a newer text. @internal */
  async edit(path: string, missing: string, edit: (text: string) => string): Promise<string> {
    let written = "";
    await this.#change(async () => {
      const text = await this.read(path);
      if (text === undefined) throw new FileFailure(missing);
      written = edit(text);
      return new Map([[path, written]]);
    });
    return written;
  }

  /** Deletes a file, or a directory with all that is in it. @internal */
  async delete(path: string): Promise<void> {
    await this.#change(async ({ files }) => {
      const gone = files.filter((file) => file.path === path || below(file.path, path));
      if (gone.length === 0) throw new FileFailure(`Error: The path ${path} does not exist`);
      return new Map(gone.map((file) => [file.path, null]));
    });
  }

  /** Gives a file or a directory another path. @internal */
  async rename(from: string, to: string): Promise<void> {
    await this.#change(async ({ files }) => {
      const moved = files.filter((file) => file.path === from || below(file.path, from));
      if (to === ROOT || files.some((file) => file.path === to || below(file.path, to))) throw new FileFailure(`Error: The destination ${to} already exists`);
      if (moved.length === 0) throw new FileFailure(`Error: The path ${from} does not exist`);
      if (below(to, from)) throw new FileFailure(`Error: The path ${from} cannot be moved into itself`);
      this.#parents(files, to);
      const change: Change = new Map();
      for (const { path } of moved) {
        const text = await this.read(path);
        // Somebody else was faster; what is decided on that is thrown away, since the mark has changed too.
        if (text === undefined) throw new ThreadkeepError("conflict", `${path} was changed meanwhile`, { key: path });
        change.set(path, null);
        change.set(to + path.slice(from.length), text);
      }
      for (const path of change.keys()) checkKey(path);
      return change;
    });
  }

  /** No directory above may be a file. */
  #parents(files: readonly MemoryFile[], path: string): void {
    const folders = new Set(above(path));
    const file = files.find((file) => folders.has(file.path));
    if (file !== undefined) throw new FileFailure(`Error: ${file.path} is a file, so ${path} cannot lie in it`);
  }

  async #tree(): Promise<Tree> {
    const tree: Tree = { files: [], token: undefined };
    for (const [key, value] of await this.#records.scan(recordRange("tree"))) {
      if (key.startsWith(recordKey("tree", "file"))) tree.files.push(JSON.parse(decoder.decode(value)) as MemoryFile);
      else if (key !== BEGUN) tree.token = key;
    }
    tree.files.sort((a, b) => (a.path < b.path ? -1 : 1));
    return tree;
  }

  /** Makes a change in one piece, on the tree as it is when it is written. */
  async #change(plan: (tree: Tree) => Promise<Change>): Promise<void> {
    const all = queues.get(this.#keep) ?? new Map<string, Promise<unknown>>();
    queues.set(this.#keep, all);
    const before = all.get(this.#name) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(() => this.#commit(plan));
    all.set(this.#name, mine);
    await mine;
  }

  async #commit(plan: (tree: Tree) => Promise<Change>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const tree = await this.#tree();
        const change = await plan(tree);
        await this.#records.commit(this.#write(tree, change));
        for (const listener of listeners.get(this.#keep) ?? []) listener(this.#name, [...change.keys()]);
        return;
      } catch (error) {
        if (!(error instanceof ThreadkeepError) || error.code !== "conflict" || tries === TRIES) throw error;
        // In each round somebody gets on. Whoever waits between them is overtaken, so that is not done before it seems to be in step.
        if (tries % 8 === 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      }
    }
  }

  #write({ files, token }: Tree, change: Change): Partial<StoreCommit> {
    const after = new Map(files.map((file) => [file.path, file.bytes]));
    const puts: StoreCommit["puts"] = [[recordKey("tree", "mark", unique()), new Uint8Array()]];
    const deletes: string[] = token === undefined ? [] : [token];
    if (token === undefined) puts.push([BEGUN, new Uint8Array()]);
    let grows = false;
    // What only moves is as large as it was.
    const moves = [...change.values()].includes(null);
    for (const [path, text] of change) {
      if (text === null) {
        after.delete(path);
        deletes.push(fileKey(path), textKey(path));
        continue;
      }
      const encoded = encoder.encode(text);
      const { maxFileBytes } = this.#limits;
      const had = moves ? encoded.length : (after.get(path) ?? 0);
      if (encoded.length > maxFileBytes && encoded.length > had)
        throw new FileFailure(
          `Error: The file ${path} would have ${encoded.length} bytes, at most ${maxFileBytes} are allowed. Split it into several files, or keep less of it.`,
        );
      grows ||= encoded.length > had;
      after.set(path, encoded.length);
      const file: MemoryFile = { path, bytes: encoded.length, modified: Date.now() };
      puts.push([fileKey(path), encoder.encode(JSON.stringify(file))], [textKey(path), encoded]);
    }
    const total = [...after.values()].reduce((sum, bytes) => sum + bytes, 0);
    const was = files.reduce((sum, file) => sum + file.bytes, 0);
    if (grows && total > was && total > this.#limits.maxTotalBytes)
      throw new FileFailure(`Error: The memory would have ${total} bytes, at most ${this.#limits.maxTotalBytes} are allowed. Delete what is no longer needed.`);
    return { absent: token === undefined ? [BEGUN] : [], present: token === undefined ? [] : [token], deletes, puts };
  }
}

function fileKey(path: string): string {
  return recordKey("tree", "file", path);
}

function textKey(path: string): string {
  return recordKey("text", path);
}

function checkKey(path: string): void {
  if (encoder.encode(path).length > 256) throw new FileFailure(`Error: The path ${path} would have more than 256 bytes`);
}
