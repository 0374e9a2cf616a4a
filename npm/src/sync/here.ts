// What a keep has right now, as lines and registers, and what became of it since the last look.

import type { SyncKeep } from "./keep.js";
import type { Known } from "./known.js";
import { type Said, read } from "./lines.js";
import { type End, NOTHING, canonical, isDeletion, keyOf, partsOf } from "./registers.js";

/** What one look found. */
export interface Look {
  /** What the listing says of each transcript: something else tells of a change. */
  marks: ReadonlyMap<string, string>;
  /** Transcripts that changed since they were published, with what they say. */
  changed: ReadonlyMap<string, Said>;
  /** What each register has here. */
  here: Map<string, string>;
}

/** Looks at a keep, again and again in the course of one sync. */
export class Looker {
  /** Whether deletions were left untold, since the keep has damage that may look like them. */
  isDamaged = false;
  readonly #keep: SyncKeep;
  readonly #known: Known;
  readonly #onRead: (done: number, total: number) => void;
  readonly #read = new Map<string, { mark: string; said: Said }>();

  constructor(keep: SyncKeep, known: Known, onRead: (done: number, total: number) => void) {
    this.#keep = keep;
    this.#known = known;
    this.#onRead = onRead;
  }

  /** Reads what changed since it was published or last looked at, and each transcript of `again`. */
  async look(again: ReadonlySet<string>): Promise<Look> {
    const marks = new Map((await this.#keep.transcripts()).map((info) => [info.id, canonical(info)]));
    const toRead = [...marks].filter(([id, mark]) => again.has(id) || this.#known.transcripts.get(id)?.mark !== mark);
    const changed = new Map<string, Said>();
    for (const [done, [id, mark]] of toRead.entries()) {
      this.#onRead(done, toRead.length);
      const said = await this.#saidOf(id, mark);
      if (said !== undefined) changed.set(id, said);
    }
    const here = new Map<string, string>();
    for (const id of marks.keys()) {
      for (const [key, value] of changed.get(id)?.registers ?? this.#known.transcripts.get(id)?.registers ?? []) here.set(key, value);
    }
    await this.#deletions(marks, changed, here);
    await this.#rest(here);
    return { marks, changed, here };
  }

  async #saidOf(id: string, mark: string): Promise<Said | undefined> {
    const before = this.#read.get(id);
    if (before?.mark === mark) return before.said;
    try {
      const said = read(id, await this.#keep.exported(id));
      this.#read.set(id, { mark, said });
      return said;
    } catch (error) {
      // Deleted in this moment.
      if ((error as { code?: unknown }).code === "missing-transcript") return undefined;
      throw error;
    }
  }

  /** What was deleted since it was published, or came back. */
  async #deletions(marks: Look["marks"], changed: Look["changed"], here: Look["here"]): Promise<void> {
    const known = this.#known;
    for (const [key, value] of known.here) if (isDeletion(key)) here.set(key, value);
    for (const [id, { nodes }] of changed) {
      here.delete(keyOf("deleted", id));
      for (const node of nodes) here.delete(keyOf("gone", node));
    }
    const lost = [...known.removed.keys()].filter((id) => !marks.has(id)).map((id) => keyOf("deleted", id));
    for (const [id, said] of changed) {
      const before = known.removed.get(id);
      // What is missing without a word of it in the log was not deleted.
      if (before === undefined || said.removed <= before) continue;
      const now = new Set(said.nodes);
      lost.push(...(await known.nodes(id)).filter((node) => !now.has(node)).map((node) => keyOf("gone", node)));
    }
    if (lost.length === 0) return;
    this.isDamaged = await this.#keep.isDamaged();
    if (!this.isDamaged) for (const key of lost) here.set(key, "true");
  }

  /** Heads, strategies, settings and memory. */
  async #rest(here: Look["here"]): Promise<void> {
    const keep = this.#keep;
    const threads = await keep.threads();
    for (const { name, node, transcript } of threads) here.set(keyOf("head", name), canonical({ node, transcript } satisfies End));
    for (const { name } of threads) {
      const strategy = await keep.strategy(name);
      if (strategy !== null) here.set(keyOf("strategy", name), canonical(strategy));
    }
    for (const at of [null, ...threads.map(({ name }) => name)]) {
      const settings = await keep.settings(at);
      if (Object.keys(settings).length > 0) here.set(keyOf("settings", at ?? ""), canonical(settings));
    }
    for (const episode of await keep.episodes()) here.set(keyOf("memory", episode.id), canonical({ episode }));
    for (const fact of await keep.facts()) here.set(keyOf("memory", fact.id), canonical({ fact }));
  }
}

/** Writes registers for what changed here since the last look, and notes what is here. `untold` names what changed without anybody's wish. */
export function note(known: Known, { marks, changed, here }: Look, untold: ReadonlySet<string> = new Set()): void {
  const before = known.here;
  known.here = new Map(here);
  for (const key of new Set([...here.keys(), ...before.keys()])) {
    const [now, then] = [here.get(key) ?? NOTHING, before.get(key) ?? NOTHING];
    if (now === then || untold.has(key) || known.registers.value(key) === now) continue;
    // The title of a new transcript comes with its log.
    const [kind, of] = partsOf(key);
    if (kind === "title" && !known.removed.has(of)) continue;
    known.registers.write(key, now, known.device, known.isNew);
  }
  for (const [id, { removed, nodes }] of changed) known.setNodes(id, removed, nodes);
  for (const id of [...known.removed.keys()]) if (!marks.has(id) && here.has(keyOf("deleted", id))) known.dropNodes(id);
}
