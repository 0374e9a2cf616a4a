// The settings of a keep: how prompts are built and histories compacted where a call does not say.

import * as check from "../check.js";
import type { ThreadInfo } from "../generated/node.js";
import type { Link } from "../link.js";
import type { ContextSettings } from "../options.js";

/**
 * The settings: `keep.settings`. They are stored for the whole keep, a thread or a transcript. Of each option the narrowest place that has
 * it counts, and a call's own options win over all of them. Prompts, compactions, agents, the kernel and all adapters read them.
 */
export class Settings {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /**
   * The settings that hold at a place.
   *
   * @param at a thread's name, a transcript's or a node's id; `null` for the whole keep
   * @param options `own: true` gives only what is stored right there, without what wider places say
   * @throws ThreadkeepError `bad-request`; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * const { budget } = await keep.settings.get("ann-42");
   * ```
   */
  async get(at: string | null, options?: { own?: boolean }): Promise<ContextSettings> {
    const how = check.options(options, "options", { own: check.flag });
    return this.#link.callWith("prompts", "contextOptions", { ...place(at), ...how });
  }

  /**
   * Stores settings in the place of those that were there; `null` removes them. They are deleted with what they are for.
   *
   * @param at a thread's name (also of one that is still to come) or a transcript's id; `null` for the whole keep
   * @throws ThreadkeepError `bad-request` for an option that is not known or not what it must be, and for a node within a transcript; the
   * storage's codes
   *
   * @example
   * ```ts
   * await keep.settings.set(null, { policy: "stable", budget: { maxTokens: 8_000 } });
   * await keep.settings.set("ann-42", { systemPrompt: "Answer in French." });
   * ```
   */
  async set(at: string | null, options: ContextSettings | null): Promise<void> {
    const settings = options === null ? null : (JSON.parse(check.optionsJson(options)) as object);
    await this.#link.callWith("prompts", "setContextOptions", { ...place(at), options: settings });
  }

  /**
   * Removes the threads whose time to live is over, as {@link Thread.clear} does. The time is the setting `ttl`: a thread's own, else its
   * transcript's, else the keep's. It counts from the time of the thread's newest node. Nothing calls this by itself.
   *
   * @returns the threads that were removed
   * @throws ThreadkeepError the storage's codes; the threads that were removed until then stay removed
   *
   * @example
   * ```ts
   * await keep.settings.set(null, { ttl: 30 * 24 * 60 * 60 });
   * await keep.settings.set("ann-42", { ttl: 60 * 60 });
   * const gone = await keep.settings.expire(); // at the start of the program, or by a timer
   * ```
   */
  async expire(): Promise<ThreadInfo[]> {
    return this.#link.manage("expire");
  }
}

function place(at: string | null): { at?: string } {
  return at === null ? {} : { at: check.id(at, "at") };
}
