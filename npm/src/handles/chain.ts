// What can be done with a chain, wherever it ends: make prompts of it, compact it, search it. Threads and places are chains.

import type { Engine, LedgerLines } from "../../wasm/threadkeep.js";
import * as check from "../check.js";
import * as compaction from "../compaction.js";
import type { Link, Method } from "../link.js";
import { SEARCH_CHAIN, type ChainSearchOptions } from "../options.js";
import { now } from "../runtime.js";
import { hitsOf, search, type SearchHits } from "../search.js";
import type { CompactOptions, ResponseUsage } from "../compaction.js";
import type { Checkpoint, Compaction, CompactionPolicy, CompactionReason, Epoch } from "../generated/compaction.js";
import type { Context, ContextOptions, LedgerLine } from "../generated/context.js";
import type { Provider } from "../generated/provider.js";
import type { ToolInteraction } from "../generated/memory.js";
import type { BranchComparison, Forecast, PolicySide } from "../generated/what-if.js";
import type { Message } from "../message.js";
import type { FormOf, FormOptions, PayloadForm } from "../payload.js";
import { needEncoding } from "../vocabulary.js";

/** A chain of messages from a root to an end: what {@link Thread} and {@link Place} have in common. */
export abstract class Chain {
  readonly #link: Link;
  readonly #at: string;

  /** @internal */
  constructor(link: Link, at: string) {
    this.#link = link;
    this.#at = at;
  }

  /** The id of the node at its end; `null` if there is none yet. @internal */
  protected abstract end(): Promise<string | null>;

  /**
   * The exact prompt of the chain for a budget, ready to be sent, with an account of every message. The same chain and options
   * give the same prompt; nothing is stored. A chain is read and counted once: another budget, policy or pin reads no
   * text, and a chain that grew is read from where it had ended.
   *
   * A prompt that is over its budget is no error: `overBudget` says so, and no model should be called.
   *
   * @throws ThreadkeepError `missing-node`; `bad-request` for an option that is not known or not what it must be;
   * `init-failed` when the vocabulary cannot be had; `missing-parent`, `cycle`, the storage's codes
   *
   * @example
   * ```ts
   * const { payload, overBudget } = await keep.thread("ann-42").context({
   *   provider: "anthropic",
   *   model: "claude-sonnet-4-5",
   *   budget: { maxContextTokens: 200_000, maxOutputTokens: 8_000 },
   * });
   * ```
   */
  async context<P extends Provider = "openai-chat", M extends string = never, Stream extends boolean = false, Sdk extends boolean = false>(
    options?: ContextOptions<P> & FormOptions<M, Stream, Sdk>,
  ): Promise<Context<P, FormOf<M, Stream, Sdk>>> {
    // Written down before anything is waited for.
    const { json: how, encoding } = this.#link.counted(options);
    await needEncoding(encoding);
    const json = `{"at":${JSON.stringify(this.#at)},"options":${how}}`;
    const [answer, lines] = await this.#link.ask(json, (engine, bytes) => engine.call("context", bytes) as Promise<[string, LedgerLines]>);
    const { data } = JSON.parse(answer) as { data: Omit<Context<P, FormOf<M, Stream, Sdk>>, "ledger"> };
    return withLedger(data, lines);
  }

  /**
   * The smallest `budget.maxTokens` at which all messages of a node are in the prompt, and the prompt is not over its budget. `null` if no
   * budget in tokens brings them in: another limit is in the way, or a checkpoint covers them.
   *
   * @param nodeId a node of this chain, or an alias of it
   * @param options those of {@link context}
   * @throws ThreadkeepError `missing-node`, also if the node is not on the chain; as {@link context}
   *
   * @example
   * ```ts
   * const tokens = await keep.thread("ann-42").smallestBudget(node.id, { policy: "newest" });
   * ```
   */
  async smallestBudget(nodeId: string, options?: ContextOptions): Promise<number | null> {
    return this.#whatIf("smallestBudget", options, { node: check.id(nodeId, "nodeId") });
  }

  /**
   * How the chain goes on at its own pace, which is the median tokens of its turns. It tells which nodes lose messages with the next turn and
   * how many turns fit before that. It also tells after how many turns a compaction is due.
   *
   * @param options those of {@link context}
   * @throws ThreadkeepError as {@link context}
   *
   * @example
   * ```ts
   * const { turnsThatFit, nextOut } = await keep.thread("ann-42").forecast({ budget: { maxTokens: 50_000 } });
   * if (turnsThatFit === 0) console.log("The next turn pushes out", nextOut);
   * ```
   */
  async forecast(options?: ContextOptions): Promise<Forecast> {
    return this.#whatIf("forecast", options, {});
  }

  /**
   * What both policies keep under the same options: messages, tokens, and the beginning that a provider's cache can serve.
   *
   * @param options those of {@link context}; `policy` has no effect
   * @returns `stable`, then `newest`
   * @throws ThreadkeepError as {@link context}
   *
   * @example
   * ```ts
   * const [stable, newest] = await keep.thread("ann-42").comparePolicies({ budget: { maxTokens: 50_000 } });
   * console.log(newest.kept - stable.kept, "messages more, but", stable.sharedTokens, "tokens from the cache");
   * ```
   */
  async comparePolicies(options?: ContextOptions): Promise<[stable: PolicySide, newest: PolicySide]> {
    return this.#whatIf("comparePolicies", options, {});
  }

  /**
   * How this chain differs from another one, of the same transcript or not: their messages, and their prompts. A message that both have is
   * never listed. Both prompts have the settings of this chain.
   *
   * @param other a thread's name or a node's id
   * @param options those of {@link context}
   * @throws ThreadkeepError `missing-node`; as {@link context}
   *
   * @example
   * ```ts
   * const { messages, prompts } = await keep.thread("ann-42").compareBranches("ann-42-retry", { provider: "anthropic" });
   * console.log(messages.shared, messages.onlyHere, messages.onlyThere, prompts.beginAlike);
   * ```
   */
  async compareBranches(other: string, options?: ContextOptions): Promise<BranchComparison> {
    return this.#whatIf("compareBranches", options, { other: check.id(other, "other") });
  }

  /**
   * The ids of the pinned nodes of the chain, in its order. See {@link Place.pin}.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async pins(): Promise<string[]> {
    return this.#prompts("pins");
  }

  /**
   * The message with the full output of a tool, by the path that its preview in a prompt names; `null` for any other path.
   *
   * @param path `@state/logs/tool-results/<call id>.json`
   * @throws ThreadkeepError `missing-node`
   *
   * @example
   * ```ts
   * const whole = await keep.thread("ann-42").toolResult("@state/logs/tool-results/call_1.json");
   * ```
   */
  async toolResult(path: string): Promise<Message | null> {
    const found: Message[] = await this.#link.callWith("prompts", "toolResult", { at: this.#at, path: check.text(path, "path") });
    return found[0] ?? null;
  }

  /**
   * Compacts the old part of the chain: a summary stands in for it in prompts from now on. The originals stay where they are, and
   * {@link context} still gives the prompt of each earlier epoch. Whole turns are covered, oldest first. The last
   * four stay raw, as do instructions and pinned messages. Branches that fork after the covered part share the summary, others do
   * not see it. The summary is stored with the episodes and facts that were found, all or nothing.
   *
   * @throws ThreadkeepError `missing-node`; `bad-request`; `cancelled` by its signal; `summary-refused` if the summary is
   * empty, calls tools or is not smaller than what it replaces; `summariser-failed` with `fallback: false`; the storage's codes.
   * After an error the history is as it was.
   *
   * @example
   * ```ts
   * const { tokensSaved, warnings } = await keep.thread("ann-42").compact({
   *   summarize: async ({ messages, signal }) => (await myModel(messages, signal)).text,
   *   summarizer: "gpt-4o-mini",
   * });
   * ```
   */
  async compact(options?: CompactOptions): Promise<Compaction> {
    void this.#link.engine;
    const prepared = compaction.prepare(this.#at, options, this.#link.encoding);
    await needEncoding(prepared.encoding);
    const engine: Engine = this.#link.engine;
    return compaction.compact(engine, prepared);
  }

  /**
   * Undoes a compaction: prompts have the originals again, or the checkpoint before it. Episodes and facts that only this compaction gave are
   * deleted; those that were pinned, rewritten or said again since stay. A policy under which a compaction is due compacts again.
   *
   * @param checkpoint the checkpoint's id; without it, the one that prompts use
   * @returns the checkpoint, or `null` if the chain has no such one
   * @throws ThreadkeepError `bad-request`, `missing-node`; the storage's codes
   *
   * @example
   * ```ts
   * const { checkpoint } = await keep.thread("ann-42").compact();
   * if (checkpoint) await keep.thread("ann-42").undoCompaction(checkpoint.id);
   * ```
   */
  async undoCompaction(checkpoint?: string): Promise<Checkpoint | null> {
    const named = checkpoint === undefined ? {} : { checkpoint: check.text(checkpoint, "checkpoint") };
    return this.#link.callWith("prompts", "undoCompaction", { at: this.#at, ...named });
  }

  /**
   * The checkpoints of the chain, the one that covers least first; prompts use the last.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async checkpoints(): Promise<Checkpoint[]> {
    return this.#prompts("checkpoints");
  }

  /**
   * The stretches of the chain's life, each with the checkpoint that it used; the original one comes first.
   * `keep.at(epoch.leaf).context({ epoch: epoch.name })` gives the prompt as it was then.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async epochs(): Promise<Epoch[]> {
    return this.#prompts("epochs");
  }

  /**
   * Call it after each response, with what the provider counted. If the policy wants a compaction, one is pending from then
   * on, in the storage, until {@link compact} carried it out or found it unnecessary. The same content is not asked about twice.
   *
   * @returns why one is pending, or `null`
   * @throws ThreadkeepError `missing-node`, `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const thread = keep.thread("ann-42");
   * const { payload, request } = await thread.context({ record: true });
   * const { usage } = await openai.chat.completions.create(payload);
   * const due = await thread.afterResponse({ promptTokens: usage.prompt_tokens, request }, { model: "gpt-4o" });
   * if (due !== null) await thread.compact(); // before the next call
   * ```
   */
  async afterResponse(usage?: ResponseUsage, policy?: CompactionPolicy): Promise<CompactionReason | null> {
    const { request, ...counted } = check.options(usage, "usage", compaction.USAGE);
    const { promptTokens, completionTokens = 0 } = counted;
    return this.#link.callWith("prompts", "afterResponse", {
      at: this.#at,
      ...(promptTokens === undefined ? {} : { promptTokens }),
      ...(request === undefined ? {} : { request }),
      ...(request === undefined || promptTokens === undefined ? {} : { usage: { ...counted, promptTokens, completionTokens } }),
      policy: { ...this.#link.policy, ...compaction.policy(policy, "policy") },
    });
  }

  /**
   * Why a compaction is pending; `null` if none is.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async compactionRequired(): Promise<CompactionReason | null> {
    return this.#prompts("compactionRequired");
  }

  /**
   * Asks for a compaction by hand: it is pending until it is carried out.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async requestCompaction(): Promise<void> {
    await this.#prompts("requestCompaction");
  }

  /**
   * Takes a request back, as if it had been carried out on the chain of now.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async clearCompactionRequest(): Promise<void> {
    await this.#prompts("clearCompactionRequest");
  }

  /**
   * The tool calls of the chain with their results.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async toolInteractions(options?: { turn?: number }): Promise<ToolInteraction[]> {
    return this.#link.call("toolInteractions", { at: this.#at, ...check.options(options, "options", { turn: check.count }) });
  }

  /**
   * Finds messages of this chain, and the summaries that it can use: {@link Threadkeep.search} for one branch. Of a chain without
   * messages it finds nothing.
   *
   * @throws ThreadkeepError `bad-request`; `missing-node`; the storage's codes
   *
   * @example
   * ```ts
   * const [best] = await keep.thread("ann-42").search("lost luggage", { limit: 1 });
   * ```
   */
  async search(query: string, options?: ChainSearchOptions): Promise<SearchHits> {
    const how = check.options(options, "options", SEARCH_CHAIN) as ChainSearchOptions;
    check.text(query, "query");
    const branch = await this.end();
    return branch === null ? hitsOf([], []) : search(this.#link, query, { ...how, branch });
  }

  /** A what-if with the options of a prompt. */
  async #whatIf<T, M extends "smallestBudget" | "forecast" | "comparePolicies" | "compareBranches">(
    method: M,
    options: ContextOptions | undefined,
    more: Record<string, string>,
  ): Promise<T> {
    // Written down before anything is waited for.
    const { json, encoding } = this.#link.counted(options);
    await needEncoding(encoding);
    return this.#prompts(method, { ...more, options: JSON.parse(json) as ContextOptions });
  }

  /** A request about this chain that needs the part of the module for prompts. */
  #prompts<T>(method: Method, more?: object): Promise<T> {
    return this.#link.callWith("prompts", method, { at: this.#at, ...more } as never);
  }
}

/** A prompt whose ledger is made when it is first looked at: it has a line for each message of the chain. */
function withLedger<P extends Provider, F extends PayloadForm>(context: Omit<Context<P, F>, "ledger">, lines: LedgerLines): Context<P, F> {
  const { messages, payload, ...rest } = context;
  let unread: LedgerLines | undefined = lines;
  let ledger: LedgerLine[] = [];
  return {
    messages,
    payload,
    get ledger() {
      if (unread !== undefined) {
        const text = now(() => (unread as LedgerLines).read());
        ledger = JSON.parse(text) as LedgerLine[];
        unread.free();
        unread = undefined;
      }
      return ledger;
    },
    ...rest,
  } as Context<P, F>;
}
