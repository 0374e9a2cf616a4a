// The journal of a keep: what was sent to models.

import * as check from "../check.js";
import type { ThreadkeepError } from "../errors.js";
import type { Link, Method, Params } from "../link.js";
import type { Context, ContextOptions } from "../generated/context.js";
import type { CaseRedaction, Costs, RequestDiff, RequestRecord } from "../generated/journal.js";
import type { Price, Provider } from "../generated/provider.js";
import type { SimulateOptions, Simulation } from "../generated/what-if.js";
import { needEncoding } from "../vocabulary.js";

/** A request as it was sent, made again. */
export interface SentRequest {
  /** What is kept of it. */
  record: RequestRecord;
  /** All of its options, with nothing left to settings. */
  options: ContextOptions<Provider>;
  /** The nodes that were pinned then. */
  pins: string[];
  /** The prompt with its ledger. */
  context: Context;
  /** The body, as it is made now: what was sent, unless `differs` says otherwise. */
  body: Record<string, unknown>;
  /**
   * Why the body is another one: a remembered record was deleted (`memory`), another version of Threadkeep made it (`version`), or what is
   * stored of the thread has changed (`history`). `null` if it is the same, byte for byte.
   */
  differs: "memory" | "version" | "history" | null;
}

/**
 * What was sent to models: `keep.requests`. Agents' requests are noted by themselves, your own if {@link Chain.context} has the option
 * `record`. Of each a record of less than a kilobyte is kept. The body is made again from the thread, which is stored anyway. When a
 * compaction asks an agent's model, that request is listed too, with the `purpose` `summary`: its body is not kept. Imported sessions of Claude
 * Code, Codex, Gemini CLI and pi tell of their requests: these are listed with their usage, and have a `program`. Requests are deleted
 * with their nodes.
 */
export class Requests {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /**
   * The requests of a chain or a transcript, oldest first.
   *
   * @param at a thread's name or a node's id, for its chain; a transcript's id, for all of its branches
   * @param options `limit`: how many at most, the newest; `prices`: of models, before those of the table
   * @throws ThreadkeepError `bad-request`; `missing-node`; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * for (const { model, tokens, usage } of await keep.requests.list("ann-42")) console.log(model, tokens, usage?.cachedTokens);
   * ```
   */
  async list(at: string, options?: { limit?: number; prices?: readonly Price[] }): Promise<RequestRecord[]> {
    const how = check.options(options, "options", { limit: check.count, prices: check.unchecked<Price[]> });
    return this.#link.callWith("prompts", "requests", { at: check.id(at, "at"), ...how });
  }

  /**
   * What requests cost, in US dollars: all together, and by thread, day and model.
   *
   * The prices are those of a table, whose day is `pricesOf`. A request without usage, or of a model that has no price, counts as
   * `unpriced`. A request that several imported sessions repeat counts once.
   *
   * @param at a thread's name or a node's id, for its chain; a transcript's id, for all of its branches; `null` for the whole keep
   * @param options `prices`: of models, before those of the table
   * @throws ThreadkeepError `bad-request`; `missing-node`; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * const { total, models } = await keep.requests.costs(null, { prices: [{ model: "my-model", input: 0.5, output: 1.5 }] });
   * for (const [model, { dollars }] of models) console.log(model, dollars / total.dollars);
   * ```
   */
  async costs(at: string | null, options?: { prices?: readonly Price[] }): Promise<Costs> {
    const how = check.options(options, "options", { prices: check.unchecked<Price[]> });
    return this.#link.callWith("prompts", "costs", { ...(at !== null && { at: check.id(at, "at") }), ...how });
  }

  /**
   * Replays a chain: for each answer in it, the request that other policies, budgets, models and compactions would have sent. It compares
   * their tokens, cache reads and dollars. Nothing is stored or sent.
   *
   * A provider's cache has the beginning of the request before, if that is long enough and not too old. The rule is that of the variant's
   * provider for its model; the option `cache` overrides it. An answer is as long as it was. The built-in rules summarise the
   * history, so compactions ask no model. Each variant builds all prompts of the chain.
   *
   * @param at a thread's name or a node's id, for its chain
   * @param options what is tried: each combination of the lists is a variant
   * @returns the variants; `beyondFirst` of each is what it costs beyond the first one, in dollars and in tokens
   * @throws ThreadkeepError `bad-request`, also for an empty list and for more than 64 variants; `missing-node`; `init-failed` if the
   * vocabulary cannot be had; the storage's codes
   *
   * @example
   * ```ts
   * const { variants } = await keep.requests.simulate("ann-42", {
   *   policies: ["stable", "newest"],
   *   budgets: [{ maxTokens: 50_000 }, { maxTokens: 150_000 }],
   *   models: [{ provider: "anthropic", model: "claude-sonnet-4-6" }],
   *   compaction: [false, { aboveTokens: 40_000 }],
   * });
   * for (const { policy, budget, cost, beyondFirst } of variants) console.log(policy, budget.maxTokens, cost.dollars, beyondFirst.dollars);
   * ```
   */
  async simulate(at: string, options?: SimulateOptions): Promise<Simulation> {
    const { json } = this.#link.counted(options?.context);
    // Wrong options are left to the engine.
    const how = check.isObject(options ?? {}) ? { ...options, context: JSON.parse(json) as ContextOptions } : options;
    return this.#counted("simulate", { at: check.id(at, "at"), options: how as SimulateOptions });
  }

  /**
   * A request as it was sent, with its ledger.
   *
   * @param id its id, of {@link list} or of an agent's event `asked`
   * @throws ThreadkeepError `bad-request` for an id of no request, and for a request of another program or of a compaction; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * const [last] = await keep.requests.list("ann-42", { limit: 1 });
   * const { body, context } = await keep.requests.get(last.id);
   * ```
   */
  async get(id: string): Promise<SentRequest> {
    return this.#counted("request", { id: check.text(id, "id") });
  }

  /**
   * What changed from one request to another: which messages entered, left, moved and changed their form, what both begin with, and
   * which message or option ends that. A provider's cache can have the common beginning of a request and the one before it.
   *
   * @param first a request's id
   * @param second the id of another one, of any thread
   * @throws ThreadkeepError as {@link get}
   *
   * @example
   * ```ts
   * const [first, second] = await keep.requests.list("ann-42", { limit: 2 });
   * const { left, prefix } = await keep.requests.diff(first.id, second.id);
   * console.log(left.length, prefix.tokens, prefix.payload, prefix.end?.why, prefix.end?.option);
   * ```
   */
  async diff(first: string, second: string): Promise<RequestDiff> {
    return this.#counted("diffRequests", { first, second });
  }

  /** Asks what counts a request again, as it was counted then: the vocabulary for that may not be loaded yet. */
  #counted<T, M extends Method>(method: M, ...params: Params<M>): Promise<T> {
    return this.#link.callWith<T, M>("prompts", method, ...params).catch(async (error: ThreadkeepError) => {
      if (error.code !== "vocabulary-missing") throw error;
      await needEncoding(error.details["encoding"]);
      return this.#counted<T, M>(method, ...params);
    });
  }

  /**
   * A request with everything that it was made of, as the text of one JSON file. It has the chain, its checkpoints, pins and remembered
   * records, all options, the ledger and the body. {@link replayCase} makes its prompt again, on any machine.
   *
   * API keys and tokens are always replaced. With `texts: "replaced"`, other words stand for all texts. Each has the length of the original in
   * UTF-16, and about as many tokens. Roles, names of tools, field names, numbers and ids stay.
   *
   * @param id a request's id; {@link Chain.context} with `record` gives one for a prompt that was not sent
   * @param options `redact`: what the file hides
   * @returns the file's text
   * @throws ThreadkeepError `bad-request`; `missing-node`; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * const [last] = await keep.requests.list("ann-42", { limit: 1 });
   * const file = await keep.requests.caseFile(last.id, { redact: { texts: "replaced" } });
   * ```
   */
  async caseFile(id: string, options?: { redact?: CaseRedaction }): Promise<string> {
    return this.#counted("caseFile", { id: check.text(id, "id"), ...options });
  }
}
