// The entries of each transcript as lines of JSON, in pages that are numbered from 1. A write puts its pages and a new mark, on
// the condition that the mark which it knows is there and its first page is not: so writers in several processes collide, and the
// second one reads what the first one wrote. An entry whose `uuid` is there already is not stored again.

import type { SessionKey, SessionStoreEntry, SessionSummaryEntry } from "@anthropic-ai/claude-agent-sdk";
import * as check from "../../check.js";
import { badArgument, ThreadkeepError } from "../../errors.js";
import type { Records } from "../../records.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { keysOf, marksOf, ofSession, summariesOf, type Keys, type Range } from "./keys.js";

/** Makes a session's summary of the one before and new entries: the SDK's `foldSessionSummary`. */
export type FoldSummary = (
  before: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

/** What a mark says. */
interface Mark {
  /** Its own name, another one after each write. */
  name: string;
  /** The life of the transcript: another one when it was deleted and made anew. */
  life: string;
  /** The last page. */
  page: number;
  /** When it was written, in milliseconds since 1970. */
  mtime: number;
  subpath?: string;
}

/** What is known of a transcript: its mark, and the ids that are in it. */
interface Known {
  mark: Mark | undefined;
  /** The mark's key, as it was read. */
  key: string | undefined;
  uuids: Set<string>;
}

/** So many transcripts are known at a time. */
const MOST = 64;
/** About how many characters a page holds, unless one entry alone is longer. */
const PAGE = 500_000;
const TRIES = 1000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** All transcripts of a keep. */
export class Streams {
  readonly #records: Records;
  readonly #fold: () => Promise<FoldSummary>;
  /** By the summary's key and subpath, the last used last. */
  readonly #known = new Map<string, Known>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(records: Records, fold: () => Promise<FoldSummary>) {
    this.#records = records;
    this.#fold = fold;
  }

  /** Stores entries behind those that are there, all or none; `false` where all were there already. */
  async append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<boolean> {
    // Written down before anything is waited for.
    const lines = entries.map((entry, index) => [uuidOf(entry, index), lineOf(entry, index)] as const);
    const keys = await keysOf(key);
    const fold = key.subpath === undefined ? await this.#fold() : undefined;
    return this.#alone(keys, () => this.#append(key, keys, lines, fold));
  }

  async #append(key: SessionKey, keys: Keys, lines: readonly (readonly [string | undefined, string])[], fold: FoldSummary | undefined): Promise<boolean> {
    for (let tried = 0; tried < TRIES; tried += 1) {
      if (tried > 1) await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(50, 2 ** tried)));
      const known = await this.#read(keys);
      const seen = new Set<string>();
      const fresh = lines.filter(([uuid]) => uuid === undefined || !(known.uuids.has(uuid) || seen.has(uuid) || !seen.add(uuid)));
      if (fresh.length === 0) return false;
      const pages = paged(fresh.map(([, line]) => line));
      const { mark: before } = known;
      const first = (before?.page ?? 0) + 1;
      const mtime = Math.max(Date.now(), (before?.mtime ?? 0) + 1);
      const mark: Mark = { name: crypto.randomUUID(), life: before?.life ?? crypto.randomUUID(), page: first + pages.length - 1, mtime };
      if (key.subpath !== undefined) mark.subpath = key.subpath;
      const puts: StoreRecord[] = pages.map((page, index) => [keys.page(first + index), encoder.encode(page)]);
      puts.push([keys.mark(mark.name), json(mark)]);
      if (fold !== undefined) {
        const summary = await this.#records.get(keys.summary);
        const entries = fresh.map(([, line]) => JSON.parse(line) as SessionStoreEntry);
        puts.push([keys.summary, json(fold(summary && parsed(summary), key, entries, { mtime }))]);
      }
      const old = known.key === undefined ? [] : [known.key];
      try {
        await this.#records.commit({ absent: [keys.page(first)], present: old, deletes: old, puts });
      } catch (error) {
        if (error instanceof ThreadkeepError && error.code === "conflict") continue;
        this.#known.delete(nameOf(keys));
        throw error;
      }
      known.mark = mark;
      known.key = keys.mark(mark.name);
      for (const uuid of seen) known.uuids.add(uuid);
      return true;
    }
    throw new ThreadkeepError("conflict", "others wrote to the session again and again", { session: key.sessionId });
  }

  /** The lines of a transcript, oldest first; `null` where it was never written. */
  async lines(key: SessionKey): Promise<string[] | null> {
    const lines = await this.#lines((await keysOf(key)).pages());
    return lines.length === 0 ? null : lines;
  }

  /** Deletes a transcript; a main one with all below its session. */
  async delete(key: SessionKey): Promise<void> {
    const keys = await keysOf(key);
    await this.#alone(keys, async () => {
      const deleteRanges = key.subpath === undefined ? await ofSession(key) : [keys.pages(), keys.marks];
      await this.#records.commit({ deletes: key.subpath === undefined ? [keys.summary] : [], deleteRanges });
      this.#known.clear();
    });
  }

  /** The summaries of a project's sessions. */
  async summaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const [start, end] = await summariesOf(projectKey);
    return (await this.#records.scan({ start, end })).map(([, value]) => parsed<SessionSummaryEntry>(value));
  }

  /** The subpaths below a session. */
  async subpaths(key: SessionKey): Promise<string[]> {
    const [start, end] = await marksOf(key);
    const marks = (await this.#records.scan({ start, end })).map(([, value]) => parsed<Mark>(value));
    return marks.flatMap(({ subpath }) => (subpath === undefined ? [] : [subpath]));
  }

  /** What is known of a transcript, as it is now: only what is new is read. */
  async #read(keys: Keys): Promise<Known> {
    const name = nameOf(keys);
    const [start, end] = keys.marks;
    const [found] = await this.#records.scan({ start, end, limit: 1 });
    const mark = found && parsed<Mark>(found[1]);
    let known = this.#known.get(name);
    if (known?.mark?.life !== mark?.life) known = undefined;
    if (known === undefined || mark === undefined) known = { mark: undefined, key: undefined, uuids: new Set() };
    if (mark !== undefined && mark.name !== known.mark?.name) {
      const read = await this.#lines(keys.pages((known.mark?.page ?? 0) + 1));
      for (const [index, line] of read.entries()) {
        const uuid = uuidOf(JSON.parse(line) as SessionStoreEntry, index);
        if (uuid !== undefined) known.uuids.add(uuid);
      }
    }
    known.mark = mark;
    known.key = found?.[0];
    this.#known.delete(name);
    this.#known.set(name, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  async #lines([start, end]: Range): Promise<string[]> {
    const pages = await this.#records.scan({ start, end });
    return pages.flatMap(([, page]) => decoder.decode(page).split("\n"));
  }

  #alone<T>(keys: Keys, run: () => Promise<T>): Promise<T> {
    const name = nameOf(keys);
    const turn = (this.#running.get(name) ?? Promise.resolve()).then(run, run);
    const done = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(name, done);
    void done.then(() => this.#running.get(name) === done && this.#running.delete(name));
    return turn;
  }
}

function nameOf(keys: Keys): string {
  return keys.marks[0];
}

function uuidOf(entry: unknown, index: number): string | undefined {
  if (!check.isObject(entry)) throw badArgument(`entries[${index}]`, "must be an object");
  const { uuid } = entry;
  return typeof uuid === "string" && uuid !== "" ? uuid : undefined;
}

function lineOf(entry: SessionStoreEntry, index: number): string {
  try {
    return JSON.stringify(entry);
  } catch (error) {
    throw badArgument(`entries[${index}]`, `cannot be written as JSON: ${(error as Error).message.split("\n")[0]}`, error);
  }
}

/** Lines, joined to pages. JSON has no line break in it. */
function paged(lines: readonly string[]): string[] {
  const pages: string[][] = [];
  let size = 0;
  for (const line of lines) {
    if (pages.length === 0 || size + line.length > PAGE) {
      pages.push([]);
      size = 0;
    }
    pages.at(-1)?.push(line);
    size += line.length;
  }
  return pages.map((page) => page.join("\n"));
}

function json(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function parsed<T>(value: Uint8Array): T {
  return JSON.parse(decoder.decode(value)) as T;
}
