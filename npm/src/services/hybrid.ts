// A keep with a memory service beside it: the keep has every message, the service remembers what matters in them. What the service
// fails at, is slow at or refuses is made up for later and said; it never loses, delays or doubles a message of the keep.

import * as check from "../check.js";
import { badArgument, reportUncaught, ThreadkeepError } from "../errors.js";
import { countTokens } from "../prompts.js";
import type { Threadkeep } from "../threadkeep.js";
import type { CompactOptions } from "../compaction.js";
import type { Compaction } from "../generated/compaction.js";
import type { Context, ContextOptions, ContextWarning, Encoding } from "../generated/context.js";
import type { Provider } from "../generated/provider.js";
import type { NodeInfo } from "../lost.js";
import type { Message, MessageInput } from "../message.js";
import type { FormOf, FormOptions, PayloadForm } from "../payload.js";
import { asServiceError, limited, serviceError } from "./failure.js";
import { Sync, type MemoryFailure, type OnMemoryError, type SyncStrategy } from "./hybrid/sync.js";
import { estimated, fitMemories, formatMemories, quoted, textOf, withMemories } from "./text.js";
import type { FindOptions, MemoryItem, MemoryService, MessageStore, RecentLimits } from "./types.js";

export type * from "./types.js";
export type { ServiceReason } from "./failure.js";
export type { MemoryFailure, OnMemoryError, SyncStrategy } from "./hybrid/sync.js";
export { formatMemories } from "./text.js";

/** Options of {@link hybrid}. */
export interface HybridOptions {
  /** Where every message lies. It stays yours: {@link Hybrid.close} does not close it. */
  keep: Threadkeep;
  /** The memory service. */
  memory: MemoryService;
  /**
   * When the service is told: `immediate`, in the background after each append; `batch`, after `batchSize` messages or
   * `batchDelay`; `end-of-session`, at {@link Hybrid.endSession} and {@link Hybrid.close}. `immediate` without it.
   */
  syncStrategy?: SyncStrategy;
  /** How many messages make a batch, and the most that are sent at a time; 20 without it. */
  batchSize?: number;
  /** After how many milliseconds a batch that is not full is sent all the same; 30,000 without it. */
  batchDelay?: number;
  /** After how many milliseconds a call to the service is given up; 10,000 without it. */
  timeout?: number;
  /** How many milliseconds a prompt waits for memories; 1,500 without it. */
  searchTimeout?: number;
  /** How many milliseconds after a failure it is tried again, twice as many after each further one; 1,000 without it. */
  retryDelay?: number;
  /** How many milliseconds that grows to at most; 300,000 without it. */
  maxRetryDelay?: number;
  /** How many memories go into a prompt at most; 10 without it. */
  memories?: number;
  /** How many tokens they may take at most, and never more than a quarter of the budget; 2,000 without it. */
  memoryTokens?: number;
  /** How the tokens of memories are counted; `o200k_base` without it. */
  encoding?: Encoding;
  /** Memories as a text for a prompt; a heading and a list without it ({@link formatMemories}). */
  format?: (memories: readonly MemoryItem[]) => string;
  /** Is told what the service could not do. Nothing is thrown for that. */
  onMemoryError?: OnMemoryError;
}

/** Options of {@link Hybrid.context}. */
export interface HybridContextOptions<P extends Provider = Provider> extends ContextOptions<P> {
  /** How many memories at most, in place of the configured number. */
  memories?: number;
  /** How long to wait for them, in milliseconds, in place of the configured time. */
  searchTimeout?: number;
  /** Ends the search: the prompt is made without memories. */
  signal?: AbortSignal;
}

/** What {@link Hybrid.context} gives. */
export interface HybridContext<P extends Provider = Provider, F extends PayloadForm = PayloadForm> extends Context<P, F> {
  /** The memories that are in the prompt. */
  memories: MemoryItem[];
}

/** What came of sending. */
export interface SyncReport {
  /** How many messages were sent. */
  sent: number;
  /** What went wrong; what is left is tried again in the background. */
  error?: ThreadkeepError;
}

/** What came of clearing. */
export interface ClearReport {
  /** How many messages were removed from the keep. */
  messages: number;
  /** `cleared`: the service has forgotten them too. `pending`: it could not, and is asked again until it does. */
  memory: "cleared" | "pending";
  /** Why it could not. */
  error?: ThreadkeepError;
}

const OPTIONS = {
  keep: (value: unknown, argument: string) => methods(value, argument, ["thread", "node", "chain", "records"], "a Threadkeep"),
  memory: (value: unknown, argument: string) => methods(value, argument, ["add", "search", "list", "remove"], "a memory service"),
  syncStrategy: (value: unknown, argument: string) => check.oneOf(value, ["immediate", "batch", "end-of-session"] as const, argument),
  batchSize: (value: unknown, argument: string) => positive(value, argument),
  batchDelay: check.millis,
  timeout: check.millis,
  searchTimeout: check.millis,
  retryDelay: check.millis,
  maxRetryDelay: check.millis,
  memories: check.count,
  memoryTokens: check.count,
  encoding: (value: unknown, argument: string) => check.oneOf(value, ["o200k_base", "cl100k_base", "estimate"] as const, argument),
  format: check.callback,
  onMemoryError: check.callback,
};
const RECENT = { maxMessages: check.count, maxTokens: check.count, includeSystem: check.flag, includeSummary: check.flag };
const FIND = { limit: check.count, signal: check.signal, timeout: check.millis };

/**
 * Puts a memory service beside a keep.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known or not what it must be
 *
 * @example
 * ```ts
 * const store = hybrid({ keep, memory: mem0Memory({ apiKey }), syncStrategy: "batch", onMemoryError: (error) => log(error.code) });
 * await store.append("ann_1", [{ role: "user", content: "What shall I cook?" }]);
 * const { payload, warnings } = await store.context("ann_1", { budget: { maxTokens: 8_000 } });
 * ```
 */
export function hybrid(options: HybridOptions): Hybrid {
  const given = check.options(options, "options", OPTIONS);
  for (const name of ["keep", "memory"] as const) if (given[name] === undefined) throw badArgument(`options.${name}`, "is missing");
  const { name } = given["memory"] as MemoryService;
  if (check.id(name, "options.memory.name").length > 60) throw badArgument("options.memory.name", "must be at most 60 characters long");
  return new Hybrid(given as unknown as HybridOptions);
}

/** A keep with a memory service beside it; {@link hybrid} makes one. It has all of a {@link MessageStore}. */
export class Hybrid implements MessageStore {
  /** The keep, for everything else: what is appended to it directly is sent with the next append here, or by {@link sync}. */
  readonly keep: Threadkeep;
  readonly #memory: MemoryService;
  readonly #sync: Sync;
  readonly #options: HybridOptions;
  #closing: Promise<SyncReport> | undefined;

  /** @internal */
  constructor(options: HybridOptions) {
    this.keep = options.keep;
    this.#memory = options.memory;
    this.#options = options;
    this.#sync = new Sync(options.keep, options.memory, {
      strategy: options.syncStrategy ?? "immediate",
      batchSize: options.batchSize ?? 20,
      batchDelay: options.batchDelay ?? 30_000,
      timeout: options.timeout ?? 10_000,
      retryDelay: options.retryDelay ?? 1_000,
      maxRetryDelay: options.maxRetryDelay ?? 300_000,
      onError: options.onMemoryError,
    });
    this.#sync.resume().catch((error: unknown) => {
      if (!(error instanceof ThreadkeepError && error.code === "closed")) this.#report(error, { operation: "resume", thread: "" });
    });
  }

  /**
   * Appends messages to a thread of the keep. It resolves when they are durable there; the service is told when the strategy says
   * so, and what it does shows nowhere here.
   *
   * @throws ThreadkeepError what {@link Thread.append} throws
   */
  async append(thread: string, messages: readonly MessageInput[]): Promise<NodeInfo[]> {
    this.#open();
    check.id(thread, "thread");
    // Written down before anything is waited for, as the keep does.
    const given = JSON.parse(check.json(check.messages(messages, "messages"), "messages")) as MessageInput[];
    await this.#sync.register(thread);
    const nodes = await this.keep.thread(thread).append(given);
    this.#sync.appended(thread, nodes.length);
    return nodes;
  }

  /**
   * The newest messages of a thread. One user message before the newest one quotes the memories that answer it. It counts
   * towards both limits, and takes a quarter of `maxTokens` at most. With `includeSystem: false`, and when the service does not
   * answer in time, there are no memories.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   */
  async getRecent(thread: string, options?: RecentLimits & { includeSummary?: boolean }): Promise<Message[]> {
    this.#open();
    const limits = check.options(options, "options", RECENT) as RecentLimits & { includeSummary?: boolean };
    const { maxMessages, maxTokens, includeSystem } = limits;
    const wanted = includeSystem !== false && (maxMessages ?? 50) > 1 && maxTokens !== 0;
    const query = wanted ? await this.#newestUser(thread) : "";
    const { memories } = await this.#find(thread, query, {});
    const room = Math.min(this.#options.memoryTokens ?? 2_000, maxTokens === undefined ? Number.POSITIVE_INFINITY : Math.floor(maxTokens / 4));
    const { text } = await fitMemories(memories, room, this.#format, (text) => estimated(quoted(text)));
    if (text === "") return this.keep.thread(thread).recent(limits);
    const newest = await this.keep.thread(thread).recent({
      ...limits,
      // What `getRecent` takes where nothing is said, less the one.
      ...(maxMessages === undefined && maxTokens !== undefined ? {} : { maxMessages: (maxMessages ?? 50) - 1 }),
      ...(maxTokens === undefined ? {} : { maxTokens: maxTokens - estimated(quoted(text)) }),
    });
    return withMemories(text, newest);
  }

  /** All messages of a thread, from the keep. */
  getAll(thread: string): Promise<Message[]> {
    return this.keep.messageStore.getAll(thread);
  }

  /** The messages at the indices `start` to `end`, `end` not among them, from the keep. */
  getRange(thread: string, start: number, end: number): Promise<Message[]> {
    return this.keep.messageStore.getRange(thread, start, end);
  }

  /** How many messages a thread has. */
  getCount(thread: string): Promise<number> {
    return this.keep.messageStore.getCount(thread);
  }

  /** Compacts in the keep; see {@link MessageStore.compact}. Services see to their memories themselves. */
  compact(thread: string, options?: CompactOptions): Promise<Compaction> {
    return this.keep.messageStore.compact(thread, options);
  }

  /**
   * Removes a thread and the nodes that only it leads to, and has the service forget what came from them. What the service cannot do
   * now it is asked again later, also after a restart.
   *
   * @throws ThreadkeepError what {@link Thread.clear} throws
   */
  async clear(thread: string): Promise<ClearReport> {
    this.#open();
    const { messages, error } = await this.#sync.clear(check.id(thread, "thread"));
    return error === undefined ? { messages, memory: "cleared" } : { messages, memory: "pending", error };
  }

  /**
   * The prompt of a thread for a budget, as {@link Thread.context} makes it, with the memories that answer its newest user
   * message (or `memory.query`) inside the budget. Without the service, or without room for them, it is the prompt without
   * memories, and `warnings` says why (`memory-unavailable`, `memory-left-out`).
   *
   * @throws ThreadkeepError what {@link Thread.context} throws
   */
  async context<P extends Provider = "openai-chat", M extends string = never, Stream extends boolean = false, Sdk extends boolean = false>(
    thread: string,
    options?: HybridContextOptions<P> & FormOptions<M, Stream, Sdk>,
  ): Promise<HybridContext<P, FormOf<M, Stream, Sdk>>> {
    this.#open();
    const { memories: limit, searchTimeout, signal, ...rest } = options ?? {};
    const own = rest.memory;
    const query = own === false ? "" : (own?.query ?? (await this.#newestUser(thread)));
    const { memories, error } = await this.#find(thread, query, { limit, searchTimeout, signal });
    const encoding = rest.encoding ?? this.#options.encoding ?? "o200k_base";
    const room = Math.min(this.#options.memoryTokens ?? 2_000, quarter(rest.budget));
    // With the marks around its message.
    const count = async (text: string): Promise<number> => (await countTokens(quoted(text), encoding)) + 4;
    let { text, used } = await fitMemories(memories, room, this.#format, count);
    for (;;) {
      const texts = [own === false ? undefined : own?.text, text].filter((one) => one !== undefined && one !== "");
      const memory = own === false ? false : texts.length === 0 ? own : { ...(own ?? { episodes: 0, facts: 0 }), text: texts.join("\n\n") };
      const how = { ...rest, ...(memory === undefined ? {} : { memory }) } as ContextOptions<P> & FormOptions<M, Stream, Sdk>;
      const made = await this.keep.thread(thread).context<P, M, Stream, Sdk>(how);
      if ((made.overBudget || made.warnings.some(({ rule }) => rule === "memory")) && used.length > 0) {
        // Memories are never what a prompt fails at, and what has no room is not among them.
        ({ text, used } = await fitMemories(used.slice(0, Math.floor(used.length / 2)), room, this.#format, count));
        continue;
      }
      const warnings = [...made.warnings];
      if (error !== undefined) warnings.push(warning("memory-unavailable", `the memory service gave nothing: ${error.message}`));
      const left = memories.length - used.length;
      if (left > 0) warnings.push(warning("memory-left-out", `${left} of ${memories.length} memories did not fit`, left));
      // The same object: a copy of its fields would make the ledger.
      return Object.assign(made, { warnings, memories: used });
    }
  }

  /**
   * What the service remembers that answers `query`.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async search(thread: string, query: string, options?: FindOptions): Promise<MemoryItem[]> {
    this.#open();
    const how = check.options(options, "options", FIND) as FindOptions;
    const scope = await this.#sync.scope(check.id(thread, "thread"));
    return this.#call("search", how, (inner) => this.#memory.search(scope, check.text(query, "query"), { ...how, ...inner }));
  }

  /**
   * What the service remembers for a conversation's owner.
   *
   * @throws ThreadkeepError `bad-request`, `cancelled`, `memory-service`
   */
  async list(thread: string, options?: FindOptions): Promise<MemoryItem[]> {
    this.#open();
    const how = check.options(options, "options", FIND) as FindOptions;
    const scope = await this.#sync.scope(check.id(thread, "thread"));
    return this.#call("list", how, (inner) => this.#memory.list(scope, { ...how, ...inner }));
  }

  /**
   * Asks the service for memories that answer `query`. Gives them as text for a prompt, with at most `memoryTokens`. The text is empty
   * if nothing answers. If the service fails, the text is empty too, and `onMemoryError` gets the error. It also registers the thread, as
   * {@link append} does: what an agent adds next is sent even after a crash.
   */
  async recall(thread: string, query: string): Promise<string> {
    this.#open();
    await this.#sync.register(check.id(thread, "thread"));
    const { memories } = await this.#find(thread, check.text(query, "query"), {});
    const count = async (text: string): Promise<number> => (await countTokens(quoted(text), this.#options.encoding ?? "o200k_base")) + 4;
    return (await fitMemories(memories, this.#options.memoryTokens ?? 2_000, this.#format, count)).text;
  }

  /** A thread has got so many messages in another way than {@link append}: the service is told when the strategy says so. */
  async appended(thread: string, count: number): Promise<void> {
    this.#open();
    await this.#sync.register(check.id(thread, "thread"));
    this.#sync.appended(thread, check.count(count, "count"));
  }

  /**
   * Sends what was not sent, whatever the strategy: of one conversation, or of all that this hybrid was ever told of. It does not
   * throw for the service: the report says what went wrong.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   */
  async sync(thread?: string, options?: { signal?: AbortSignal }): Promise<SyncReport> {
    this.#open();
    const { signal } = check.options(options, "options", { signal: check.signal }) as { signal?: AbortSignal };
    if (thread !== undefined) await this.#sync.register(check.id(thread, "thread"));
    return this.#sync.all(thread, signal);
  }

  /** Ends a conversation for now: what was not sent is sent. Going on later is no error. */
  endSession(thread: string, options?: { signal?: AbortSignal }): Promise<SyncReport> {
    return this.sync(check.id(thread, "thread"), options);
  }

  /** How many messages of a conversation were not sent. */
  async pending(thread: string): Promise<number> {
    this.#open();
    return this.#sync.pending(check.id(thread, "thread"));
  }

  /**
   * Sends what was not sent, within the time limit of a call, and ends the background. What could not be sent is sent by the next
   * hybrid on this keep. The keep stays open.
   */
  close(): Promise<SyncReport> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<SyncReport> {
    const { timeout = 10_000 } = this.#options;
    try {
      return await limited(this.#memory.name, "close", { timeout }, (signal) => this.#sync.all(undefined, signal));
    } catch (error) {
      return { sent: 0, error: asServiceError(error, this.#memory.name, "close") };
    } finally {
      await this.#sync.close();
    }
  }

  /** The text of the newest user message of a thread; where there is none, what is asked in its place. */
  async #newestUser(thread: string): Promise<string> {
    for (let node = await this.keep.thread(thread).head(); node !== null; node = node.parent === null ? null : await this.keep.node(node.parent)) {
      const message = [...node.messages].reverse().find(({ role }) => role === "user");
      if (message !== undefined) return textOf(message);
    }
    return "relevant context";
  }

  /** Memories for a prompt, within its time limit; none and the error when there is one. */
  async #find(
    thread: string,
    query: string,
    how: { limit?: number | undefined; searchTimeout?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<{ memories: MemoryItem[]; error?: ThreadkeepError }> {
    const limit = how.limit ?? this.#options.memories ?? 10;
    if (query.trim() === "" || limit === 0) return { memories: [] };
    const timeout = how.searchTimeout ?? this.#options.searchTimeout ?? 1_500;
    try {
      const scope = await this.#sync.scope(thread);
      const found: unknown = await this.#call("search", { timeout, ...(how.signal === undefined ? {} : { signal: how.signal }) }, (inner) =>
        this.#memory.search(scope, query, { limit, ...inner }),
      );
      if (!Array.isArray(found)) throw serviceError(this.#memory.name, "search", "unavailable", "what it gave is no list of memories");
      const memories = (found as (MemoryItem | null)[]).filter((one): one is MemoryItem => typeof one?.text === "string");
      // A service that was told the question, and infers nothing, answers with the question.
      return { memories: memories.filter(({ text }) => text.trim() !== query.trim()).slice(0, limit) };
    } catch (thrown) {
      const error = asServiceError(thrown, this.#memory.name, "search");
      this.#report(error, { operation: "search", thread });
      return { memories: [], error };
    }
  }

  #call<T>(
    operation: string,
    { signal, timeout = this.#options.timeout ?? 10_000 }: FindOptions,
    call: (inner: { signal: AbortSignal; timeout: number }) => Promise<T>,
  ): Promise<T> {
    return limited(this.#memory.name, operation, { signal, timeout }, (inner) => call({ signal: inner, timeout }));
  }

  get #format(): (memories: readonly MemoryItem[]) => string {
    return this.#options.format ?? formatMemories;
  }

  #report(error: unknown, failure: MemoryFailure): void {
    try {
      this.#options.onMemoryError?.(asServiceError(error, this.#memory.name, failure.operation), failure);
    } catch (thrown) {
      reportUncaught(thrown);
    }
  }

  #open(): void {
    if (this.#closing !== undefined) throw new ThreadkeepError("closed", "this hybrid is closed: make another one");
  }
}

/** A quarter of what a prompt may hold. */
function quarter(budget: ContextOptions["budget"]): number {
  const { maxTokens, maxContextTokens, maxOutputTokens = 0, safetyMargin = 0 } = budget ?? {};
  const most = maxTokens ?? (maxContextTokens === undefined ? Number.POSITIVE_INFINITY : maxContextTokens - maxOutputTokens - safetyMargin);
  return Math.max(0, Math.floor(most / 4));
}

function warning(rule: string, message: string, count = 1): ContextWarning {
  return { kind: "option", rule, message, index: null, count };
}

function methods(value: unknown, argument: string, names: readonly string[], what: string): unknown {
  if (typeof value !== "object" || value === null) throw badArgument(argument, `must be ${what}`);
  for (const name of names)
    if (typeof (value as Record<string, unknown>)[name] !== "function") throw badArgument(argument, `must be ${what}: it has no ${name}()`);
  return value;
}

function positive(value: unknown, argument: string): number {
  if (check.count(value, argument) === 0) throw badArgument(argument, "must not be 0");
  return value as number;
}
