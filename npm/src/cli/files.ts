/// <reference types="node" />
// Files of the disk as an import takes them: found under the paths of a command line, read piece by piece.

import { open, readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { BlobLike, NamedData } from "../sources.js";
import { Trouble } from "./place.js";

/** What of a folder is looked at, by names. A file or folder that is named itself may have any. */
export interface Which {
  file(name: string): boolean;
  folder(name: string): boolean;
}

/** What an import looks at. */
const ENDINGS = new Set([".json", ".jsonl", ".ndjson", ".zip"]);
export const IMPORTED: Which = { file: (name) => ENDINGS.has(extname(name)), folder: () => true };

/** A file that was found, and what tells whether it has changed since. */
export interface Found {
  path: string;
  size: number;
  /** When it was changed, in milliseconds since 1970. */
  changed: number;
}

/**
 * The files at and below the paths, each once, in the order of their paths.
 *
 * @throws Trouble for a path at which there is nothing
 */
export async function find(paths: readonly string[], which: Which): Promise<Found[]> {
  const found = new Map<string, Found>();
  for (const path of paths) {
    const at = await stat(path).catch(() => undefined);
    if (at === undefined) throw new Trouble(`there is no file or folder ${path}`);
    if (at.isDirectory()) await below(path, which, found);
    else found.set(path, { path, size: at.size, changed: at.mtimeMs });
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function below(folder: string, which: Which, found: Map<string, Found>): Promise<void> {
  // What is removed or closed to us meanwhile is passed over.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && which.folder(entry.name)) await below(path, which, found);
    else if (entry.isFile() && which.file(entry.name)) {
      const at = await stat(path).catch(() => undefined);
      if (at !== undefined) found.set(path, { path, size: at.size, changed: at.mtimeMs });
    }
  }
}

/** The file as an import takes it: as long as it was when it was found, whatever is written to it meanwhile. */
export function data({ path, size }: Found): NamedData {
  return { name: path, data: new Part(path, 0, size) };
}

/** The bytes `start..end` of a file. */
class Part implements BlobLike {
  readonly #path: string;
  readonly #start: number;
  readonly size: number;

  constructor(path: string, start: number, end: number) {
    this.#path = path;
    this.#start = start;
    this.size = end - start;
  }

  slice(start = 0, end = this.size): Part {
    return new Part(this.#path, this.#start + Math.min(start, this.size), this.#start + Math.min(end, this.size));
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const file = await open(this.#path);
    try {
      const bytes = new Uint8Array(this.size);
      const { bytesRead } = await file.read(bytes, 0, this.size, this.#start);
      return bytes.buffer.slice(0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
