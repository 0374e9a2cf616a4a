// The journal of a keep: what was sent to models.

import * as check from "../check.js";
import type { Link } from "../link.js";
import type { Context, ContextOptions } from "../generated/context.js";
import type { CaseRedaction, Costs, RequestRecord } from "../generated/journal.js";
import type { Price, Provider } from "../generated/provider.js";
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
 * `record`. Requests of compactions are not. Imported sessions of Claude Code, Codex, Gemini CLI and pi tell of theirs: these are listed with
 * their usage, and have a `program`. Of each request a record of less than a kilobyte is kept. The body is made again from the thread,
 * which is stored anyway. Requests are deleted with their nodes.
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
   * `unpriced`. A request that several imported sessions repeat counts once. Requests of compactions are not in it.
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
    return this.#link.callWith("prompts", "costs", { ...(at === null ? {} : { at: check.id(at, "at") }), ...how });
  }

  /**
   * A request as it was sent, with its ledger.
   *
   * @param id its id, of {@link list} or of an agent's event `asked`
   * @throws ThreadkeepError `bad-request` for an id of no request, and for a request of another program; `corrupt`; the storage's codes
   *
   * @example
   * ```ts
   * const [last] = await keep.requests.list("ann-42", { limit: 1 });
   * const { body, context } = await keep.requests.get(last.id);
   * ```
   */
  async get(id: string): Promise<SentRequest> {
    return this.#link.callWith("prompts", "request", { id: check.text(id, "id") });
  }

  /**
   * A request with everything that it was made of, as the text of one JSON file: the chain, its checkpoints, pins and remembered records, all
   * options, the ledger and the body. {@link replayCase} makes its prompt again, on any machine.
   *
   * API keys and tokens are always replaced. With `texts: "replaced"`, other words stand for all texts. Each has the length of the original in
   * UTF-16, and about as many tokens. Roles, names of tools, field names, numbers and ids stay.
   *
   * @param which a request's id; or a chain (`at`) with options of {@link Chain.context}, for a prompt that was not sent
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
  async caseFile(which: string | { at: string; options?: ContextOptions }, options?: { redact?: CaseRedaction }): Promise<string> {
    const how = check.options(options, "options", { redact: check.unchecked<CaseRedaction> });
    const { encoding: usual } = this.#link;
    if (typeof which === "string") {
      const id = check.text(which, "id");
      await needEncoding(usual);
      return this.#link.callWith("prompts", "caseFile", { id, ...how });
    }
    const chain = check.options(which, "which", { at: check.id, options: check.unchecked<ContextOptions> });
    const request = { at: check.id(chain.at, "at"), options: { ...chain.options, encoding: chain.options?.encoding ?? usual }, ...how };
    await needEncoding(request.options.encoding);
    return this.#link.callWith("prompts", "caseOf", request);
  }
}
