// What a keep remembers: episodes and facts. Names and types of options are checked here; the engine checks ranges and words.

import * as check from "../check.js";
import type { Link } from "../link.js";
import type {
  Episode,
  EpisodeEdit,
  EpisodeFilter,
  Fact,
  FactEdit,
  FactFilter,
  FactKind,
  MemoryBundle,
  MemoryOrigin,
  MemorySource,
  NewFact,
  RetrieveOptions,
} from "../generated/memory.js";

/** Which records to give; all of them without it. */
export type MemoryFilter = Omit<EpisodeFilter, "limit">;

const FILTER = { transcript: check.id, source: check.id, tag: check.text, agent: check.text };
const EPISODES = { ...FILTER, limit: check.count };
const FACTS = { ...EPISODES, superseded: check.flag };
const RETRIEVE = { ...FILTER, query: check.text, episodes: check.count, facts: check.count };
const FACT_EDIT = {
  fact: check.text,
  kind: check.text<FactKind>,
  tags: check.unchecked<readonly string[]>,
  confidence: check.unchecked<number>,
  salience: check.unchecked<number>,
};
const NEW_FACT = {
  ...FACT_EDIT,
  transcript: check.id,
  sources: check.unchecked<readonly MemorySource[]>,
  pinned: check.flag,
  agent: check.id,
  origin: check.text<MemoryOrigin>,
};
const EPISODE_EDIT = { summary: check.text, tags: check.unchecked<readonly string[]>, salience: check.unchecked<number> };

/**
 * Episodes (what happened) and facts (what holds): `keep.memory`. Compactions find them; you can add, change and forget them.
 *
 * @example
 * ```ts
 * await keep.memory.remember({ fact: "The user prefers short answers.", kind: "preference" });
 * const { facts } = await keep.memory.retrieve({ query: "How long should the answer be?" });
 * ```
 */
export class Memory {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /** What happened, oldest first. */
  async episodes(filter?: EpisodeFilter): Promise<Episode[]> {
    return this.#link.call("episodes", check.options(filter, "filter", EPISODES));
  }

  /** What holds, oldest first; with `superseded: true` also what held until a newer fact contradicted it. */
  async facts(filter?: FactFilter): Promise<Fact[]> {
    return this.#link.call("facts", check.options(filter, "filter", FACTS));
  }

  /**
   * Remembers a fact. A fact that says the same gains sources and confidence instead. A fact that it contradicts stays,
   * marked as superseded. Gives the fact as it is now.
   *
   * With `agent` the fact is that agent's alone; without it, all agents of the keep share it. `origin` says who said it, `user` without
   * it. A fact of a weaker origin (`import`, `tool`, `model`, `user`) supersedes none of a stronger one: it is superseded itself.
   *
   * @throws ThreadkeepError `bad-request`
   *
   * @example
   * ```ts
   * await keep.memory.remember({ fact: "The user prefers short answers.", kind: "preference" });
   * ```
   */
  async remember(fact: NewFact): Promise<Fact> {
    return this.#link.call("remember", check.options(fact, "fact", NEW_FACT) as NewFact);
  }

  /**
   * Changes a fact. Gives it as it is now.
   *
   * @throws ThreadkeepError `missing-memory`, `bad-request`
   */
  async editFact(id: string, edit: FactEdit): Promise<Fact> {
    return this.#link.call("editFact", { id: check.text(id, "id"), ...check.options(edit, "edit", FACT_EDIT) });
  }

  /**
   * Changes an episode. Gives it as it is now.
   *
   * @throws ThreadkeepError `missing-memory`, `bad-request`
   */
  async editEpisode(id: string, edit: EpisodeEdit): Promise<Episode> {
    return this.#link.call("editEpisode", { id: check.text(id, "id"), ...check.options(edit, "edit", EPISODE_EDIT) });
  }

  /**
   * Pins an episode or a fact, so that it comes first in every bundle, or (`false`) removes the pin. A pinned fact counts as the user's
   * word, whatever its origin.
   *
   * @throws ThreadkeepError `missing-memory`
   */
  async pin(id: string, pinned = true): Promise<void> {
    await this.#link.call("pin", { id: check.text(id, "id"), pinned: check.flag(pinned, "pinned") });
  }

  /** Deletes an episode or a fact, for good. Whether it was there. */
  async forget(id: string): Promise<boolean> {
    return this.#link.call("forget", { id: check.text(id, "id") });
  }

  /** The best episodes and facts, by relevance to `query`, weight and age: what goes into a prompt. With `agent`, that agent's own too. */
  async retrieve(options?: RetrieveOptions): Promise<MemoryBundle> {
    return this.#link.call("retrieve", check.options(options, "options", RETRIEVE));
  }
}
