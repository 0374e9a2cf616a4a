// What other devices have comes in: their logs as imports, their registers by the calls that a user would make.

import type { Skipped } from "../generated/archive.js";
import type { ContextSettings } from "../options.js";
import type { CompactionStrategy } from "../generated/compaction.js";
import type { Episode, Fact } from "../generated/memory.js";
import type { SyncKeep } from "./keep.js";
import type { Known } from "./known.js";
import { type End, NOTHING, keyOf, partsOf } from "./registers.js";

/** About how many characters are imported at once. */
const BATCH = 4_000_000;

/** What came in. */
export interface Received {
  conversations: number;
  messages: number;
  skipped: Skipped[];
}

/** Imports conversations of other devices, many at a time. */
export class Importer {
  readonly received: Received = { conversations: 0, messages: 0, skipped: [] };
  readonly #keep: SyncKeep;
  #texts: string[] = [];
  #length = 0;
  #whenDone: (() => void)[] = [];

  constructor(keep: SyncKeep) {
    this.#keep = keep;
  }

  /** Takes in a conversation, now or with the next ones; `done` is called once it is stored. */
  async add(text: string, done: () => void): Promise<void> {
    this.#texts.push(text);
    this.#length += text.length;
    this.#whenDone.push(done);
    if (this.#length >= BATCH) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#texts.length === 0) return;
    const { added, updated, messages, skipped } = await this.#keep.importOwn(HEADER + this.#texts.join(""));
    this.received.conversations += added + updated;
    this.received.messages += messages;
    this.received.skipped.push(...skipped);
    for (const done of this.#whenDone) done();
    [this.#texts, this.#length, this.#whenDone] = [[], 0, []];
  }
}

/** The first line of a file of our own format. */
const HEADER = '{"threadkeep":1}\n';

/** A register of what is not here yet, or is damaged here, waits. Everything else is the storage's own fault. */
const NOT_NOW: readonly string[] = ["missing-node", "missing-thread", "missing-transcript", "missing-parent", "cycle", "damaged", "corrupt", "bad-request"];

/** Brings the registers of this keep to what `known.registers` says, but for deletions. What cannot be done now is left for the next time. */
export async function apply(keep: SyncKeep, known: Known): Promise<void> {
  const records: string[] = [];
  for (const [key, [value]] of known.registers.all) {
    const here = known.here.get(key) ?? NOTHING;
    if (value === here) continue;
    const [kind, of] = partsOf(key);
    if (kind === "memory") records.push(key);
    else if (await isDone(keep, kind, of, JSON.parse(value), here)) known.here.set(key, value);
  }
  if (records.length > 0) await applyMemory(keep, known, records);
}

async function isDone(keep: SyncKeep, kind: ReturnType<typeof partsOf>[0], of: string, value: unknown, here: string): Promise<boolean> {
  try {
    switch (kind) {
      case "head": {
        // A thread goes with its messages only. One that was moved since it was looked at stays until the next sync.
        if (value === null || (await keep.end(of)) !== (JSON.parse(here) as End | null)?.node) return false;
        await keep.moveTo(of, (value as End).node);
        return true;
      }
      case "strategy":
        await keep.setStrategy(of, value as CompactionStrategy | null);
        return true;
      case "title":
        if (value === null) return false;
        await keep.rename(of, value as string);
        return true;
      case "pin":
        await keep.pin(of, value === true);
        return true;
      case "settings":
        await keep.setSettings(of === "" ? null : of, value as ContextSettings | null);
        return true;
      default:
        return false;
    }
  } catch (error) {
    if (NOT_NOW.includes((error as { code: string }).code)) return false;
    throw error;
  }
}

/** Records of the memory come in whole. What they supersede is written again, since forgetting brings it back. */
async function applyMemory(keep: SyncKeep, known: Known, keys: readonly string[]): Promise<void> {
  const all = new Set(keys);
  for (const [key, value] of known.here) {
    if (partsOf(key)[0] !== "memory" || value === NOTHING) continue;
    const { supersededBy } = (JSON.parse(value) as { fact?: Fact }).fact ?? {};
    if (supersededBy !== undefined && all.has(keyOf("memory", supersededBy))) all.add(key);
  }
  const lines: string[] = [];
  for (const key of all) {
    await keep.forget(partsOf(key)[1]);
    const value = JSON.parse(known.registers.value(key)) as { episode?: Episode; fact?: Fact } | null;
    if (value !== null) lines.push(`${JSON.stringify(value)}\n`);
  }
  if (lines.length > 0) await keep.importOwn(HEADER + lines.join(""));
  for (const key of all) known.here.set(key, known.registers.value(key));
}

/** Deletes what other devices deleted; gives how many nodes. */
export async function applyDeletions(keep: SyncKeep, known: Known, transcripts: { has(id: string): boolean }): Promise<number> {
  let nodes = 0;
  for (const [key, [value]] of known.registers.all) {
    const [kind, of] = partsOf(key);
    if ((kind !== "gone" && kind !== "deleted") || value === (known.here.get(key) ?? NOTHING)) continue;
    if (value === "true" && kind === "deleted" && transcripts.has(of)) nodes += await keep.deleteTranscript(of);
    if (value === "true" && kind === "gone" && (await keep.way(of)) !== undefined) nodes += await keep.deleteBranch(of);
    // What is alive again comes with the log of whoever has it.
    known.here.set(key, value);
  }
  return nodes;
}
