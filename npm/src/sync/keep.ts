// What a sync needs of a keep: few calls, so that the page's engine can give them as well as the package's.

import { sources } from "../sources.js";
import { need, run } from "../runtime.js";
import { type Threadkeep, inside } from "../threadkeep.js";
import type { ImportReport } from "../generated/archive.js";
import type { CompactionStrategy } from "../generated/compaction.js";
import type { Episode, Fact } from "../generated/memory.js";
import type { ThreadInfo, TranscriptInfo } from "../generated/node.js";
import type { ContextSettings } from "../options.js";
import type { Records } from "../records.js";

/** Where a keep notes what it knows of remotes. */
const RECORDS = "threadkeep.sync";

/** A keep, as a sync sees it. */
export interface SyncKeep {
  /** What the keep notes of remotes. */
  readonly records: Pick<Records, "get" | "commit">;
  transcripts(): Promise<TranscriptInfo[]>;
  threads(): Promise<ThreadInfo[]>;
  /** A transcript in our own format; fails with `missing-transcript`. */
  exported(transcript: string): Promise<string>;
  /** Imports what another device of the same owner exported. */
  importOwn(text: string): Promise<ImportReport>;
  isDamaged(): Promise<boolean>;
  /** The ids of the nodes from the root to this one; `undefined` where there is no such node. */
  way(node: string): Promise<string[] | undefined>;
  /** Where a thread ends. */
  end(thread: string): Promise<string | undefined>;
  moveTo(thread: string, node: string): Promise<unknown>;
  strategy(thread: string): Promise<CompactionStrategy | null>;
  setStrategy(thread: string, strategy: CompactionStrategy | null): Promise<unknown>;
  /** What is stored right at a thread, or for the whole keep. */
  settings(at: string | null): Promise<ContextSettings>;
  setSettings(at: string | null, settings: ContextSettings | null): Promise<unknown>;
  rename(transcript: string, title: string): Promise<unknown>;
  pin(node: string, pinned: boolean): Promise<unknown>;
  /** Gives how many nodes are gone. */
  deleteBranch(node: string): Promise<number>;
  deleteTranscript(transcript: string): Promise<number>;
  episodes(): Promise<Episode[]>;
  /** All, those that others superseded, too. */
  facts(): Promise<Fact[]>;
  forget(id: string): Promise<unknown>;
}

/** A keep of the package. */
export function syncKeep(keep: Threadkeep): SyncKeep {
  return {
    records: keep.records(RECORDS),
    transcripts: () => keep.transcripts(),
    threads: () => keep.threads(),
    exported: (transcript) => keep.export({ transcript }).text(),
    async importOwn(text) {
      const [[source]] = await Promise.all([sources(text), need("archives")]);
      const { engine } = inside(keep);
      return JSON.parse(await run(() => engine.importOwn(source as object as Parameters<typeof engine.importOwn>[0]) as Promise<string>)) as ImportReport;
    },
    isDamaged: async () => (await keep.stats()).damaged.length > 0,
    way: async (node) => ((await keep.node(node)) === null ? undefined : (await keep.chain(node)).map(({ id }) => id)),
    end: async (thread) => (await keep.thread(thread).head())?.id,
    moveTo: (thread, node) => keep.thread(thread).moveTo(node),
    strategy: (thread) => keep.thread(thread).strategy(),
    setStrategy: (thread, strategy) => keep.thread(thread).setStrategy(strategy),
    settings: (at) => keep.settings.get(at, { own: true }),
    setSettings: (at, settings) => keep.settings.set(at, settings),
    rename: (transcript, title) => keep.transcript(transcript).rename(title),
    pin: (node, pinned) => (pinned ? keep.at(node).pin() : keep.at(node).unpin()),
    deleteBranch: (node) => keep.at(node).deleteBranch(),
    deleteTranscript: (transcript) => keep.transcript(transcript).delete(),
    episodes: () => keep.memory.episodes(),
    facts: () => keep.memory.facts({ superseded: true }),
    forget: (id) => keep.memory.forget(id),
  };
}
