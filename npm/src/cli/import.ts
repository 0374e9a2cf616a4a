/// <reference types="node" />
// `threadkeep import`: what has changed since the last time comes in, once or for as long as the program runs.

import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { resolve } from "node:path";
import type { ImportReport } from "../generated/archive.js";
import type { Threadkeep } from "../index.js";
import { data, find, IMPORTED, type Found } from "./files.js";

/** What an import of nothing reports. */
const NOTHING: ImportReport = {
  formats: [],
  added: 0,
  updated: 0,
  unchanged: 0,
  messages: 0,
  memories: 0,
  requests: 0,
  settings: 0,
  transcripts: [],
  skipped: [],
  skippedCount: 0,
  stopped: false,
};

/** How long a watcher waits after a change before it reads, in milliseconds: writers often write several times. */
const SETTLE = 150;
/** How often a watcher looks by itself, in milliseconds: not every disk tells of changes. */
const LOOK = 5_000;

/** What is told while files come in. */
export interface Told {
  /** How far a long import is: bytes read, of how many. */
  progress(bytes: number, of: number): void;
  /** One import is done; `files` were read. */
  done(report: ImportReport, files: readonly Found[]): void;
}

/** Imports the files at and below the paths that are new or have changed since they were imported into this keep. */
export async function importOnce(keep: Threadkeep, paths: readonly string[], told: Told): Promise<void> {
  const seen = keep.records("cli-files");
  const known = new Map((await seen.scan()).map(([key, value]) => [key, new TextDecoder().decode(value)]));
  const fresh = (await find(paths, IMPORTED)).filter((file) => known.get(key(file)) !== stamp(file));
  if (fresh.length === 0) return told.done(NOTHING, []);
  const report = await keep.import(fresh.map(data), { onProgress: ({ bytes, totalBytes }) => told.progress(bytes, totalBytes) });
  await seen.commit({ puts: fresh.map((file) => [key(file), new TextEncoder().encode(stamp(file))]) });
  told.done(report, fresh);
}

/** Imports them, and then every change, until `signal` ends it. */
export async function importAlways(keep: Threadkeep, paths: readonly string[], told: Told, signal: AbortSignal): Promise<void> {
  let wake: () => void = () => {};
  let changed = true;
  const hear = (): void => {
    changed = true;
    wake();
  };
  signal.addEventListener("abort", hear);
  const watchers = paths.flatMap((path) => {
    try {
      return [watch(path, { recursive: true, signal }, hear).on("error", () => {})];
    } catch {
      // The looks from time to time do.
      return [];
    }
  });
  try {
    while (!signal.aborted) {
      if (changed) {
        changed = false;
        await new Promise((resolve) => setTimeout(resolve, SETTLE));
        await importOnce(keep, paths, told);
      }
      if (changed || signal.aborted) continue;
      const timer = setTimeout(hear, LOOK);
      await new Promise<void>((resolve) => (wake = resolve));
      clearTimeout(timer);
    }
  } finally {
    for (const watcher of watchers) watcher.close();
  }
}

/** What a file is known by: its path may be longer than a key. */
const key = ({ path }: Found): string => createHash("sha256").update(resolve(path)).digest("hex");
const stamp = ({ size, changed }: Found): string => `${size} ${changed}`;
