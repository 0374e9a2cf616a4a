// The class that users hold. Each method checks its arguments, sends one request to the engine and hands on the answer;
// what a request means is decided there.

import type {
  Episode,
  EpisodeEdit,
  EpisodeFilter,
  Fact,
  FactEdit,
  FactFilter,
  MemoryBundle,
  NewFact,
  RetrieveOptions,
  RawTrace,
  SnapshotOptions,
  ToolInteraction,
  TraceOptions,
} from "./types/memory.js";
import type { Engine, LedgerLines } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { cutIn, told } from "./lost.js";
import * as compaction from "./compaction.js";
import * as mail from "./mail.js";
import * as memory from "./memory.js";
import { BATCH, vectors, type EmbedOptions, type EmbedProgress, type ToEmbed } from "./embed.js";
import { ThreadkeepError, badArgument, reportUncaught, type ErrorDetails } from "./errors.js";
import { Events, type ChangeListener } from "./events.js";
import { Export } from "./export.js";
import {
  APPEND,
  EMBED,
  EXPORT,
  IMPORT,
  INBOUND,
  OPEN,
  RECENT,
  SEARCH,
  WRITTEN,
  type AppendOptions,
  type InboundMessage,
  type OpenOptions,
  type RecentOptions,
  type SearchOptions,
} from "./options.js";
import { opened, storagePlace } from "./storage.js";
import { recordsOf } from "./records.js";
import { init, isThere, need, now, run } from "./runtime.js";
import { needEncoding } from "./vocabulary.js";
import { searchTool, type SearchTool } from "./tool.js";
import { sources } from "./sources.js";
import type { ExportOptions, ImportData, ImportOptions, ImportProgress, ImportReport } from "./types/archive.js";
import type {
  Checkpoint,
  Compaction,
  CompactionPolicy,
  CompactionReason,
  CompactionStrategy,
  CompactOptions,
  Epoch,
  ResponseUsage,
  StoredMessage,
} from "./types/compaction.js";
import type { Context, ContextOptions, Encoding, LedgerLine, Provider } from "./types/context.js";
import type { FollowOptions, Mail, MailFilter, MailText, OutgoingMail } from "./types/mail.js";
import type { Message, MessageInput } from "./types/message.js";
import type { HeadInfo, LintFinding, NodeInfo, Outline, Stats, TranscriptInfo, TreeNode } from "./types/node.js";
import type { Records } from "./types/records.js";
import type { IndexProgress, SearchHit, SearchHits } from "./types/search.js";
import type { StoreAdapter } from "./types/store.js";

/** So many texts get a vector in the course of a search, which waits for them. */
const EMBEDDED = 256;

const UTF8 = new TextEncoder();
/** For UTF-8 that the module copies at once. An array for each request would keep the garbage collector busy. */
let buffer: Uint8Array | undefined;

/** The bytes of a request, until the next one. */
function utf8(json: string): Uint8Array {
  buffer ??= new Uint8Array(256 * 1024);
  // A UTF-16 unit takes three bytes at most.
  return json.length * 3 > buffer.length ? UTF8.encode(json) : buffer.subarray(0, UTF8.encodeInto(json, buffer).written);
}

/** What the engine says of nodes that it appended: `Appended` of the protocol. */
interface Appended {
  transcript: string;
  parent: string;
  createdAt: number;
  ids: string[];
  seqs: number[];
  depths: number[];
  turns: number[];
}

/** The nodes of an append, each the parent of the next. */
function appended({ transcript, parent, createdAt, ids, seqs, depths, turns }: Appended, messages: Message[]): NodeInfo[] {
  return ids.map((id, index) => ({
    id,
    transcript,
    parent: ids[index - 1] ?? parent,
    seq: seqs[index]!,
    createdAt,
    depth: depths[index]!,
    turn: turns[index] ? `turn_${String(turns[index]).padStart(4, "0")}` : null,
    sealed: true,
    origin: {},
    labels: {},
    messages: messages.slice(index, index + 1),
  }));
}

/** What an agent needs of its keep. @internal */
export interface Inside {
  engine: Engine;
  events: Events;
  encoding: Encoding;
  policy: CompactionPolicy;
  /** The name under which others may have the same data open; `undefined` where nobody can. */
  shared: string | undefined;
}

/** The inside of a keep; throws where it is closed. @internal */
export let inside: (keep: Threadkeep) => Inside;

/**
 * Conversation memory: transcripts as trees of nodes, heads that point into them, and a message store on top.
 *
 * Every method that returns a promise rejects with a {@link ThreadkeepError}; when it resolves, the change is durable.
 * Calls may overlap and take effect in the order in which they were made. What comes back is a copy.
 *
 * @example
 * ```ts
 * const keep = await Threadkeep.open();
 * const question = await keep.receive({ content: "What is a monad?", systemPrompt: "Be brief." });
 * await keep.extend(question.id, [{ role: "assistant", content: "A monoid in a category you know." }]);
 * const chain = await keep.chain(question.id);
 * const prompt = chain.flatMap((node) => node.messages); // system, user, assistant
 * ```
 */
export class Threadkeep {
  /** Where the data lies. */
  readonly storage: "indexeddb" | "file" | "memory" | "adapter";
  /**
   * What opening found: data that was there (`existing`), none (`created`), or a damaged database that the browser had
   * wiped (`wiped`: say so, and offer the last export). It is `unknown` if the store could not be read at that moment.
   */
  readonly beginning: "existing" | "created" | "wiped" | "unknown";
  readonly #events: Events;
  readonly #encoding: Encoding;
  readonly #policy: CompactionPolicy;
  readonly #embedding: Pick<OpenOptions, "embed" | "embedModel" | "embedTimeoutMs" | "onEmbedError">;
  readonly #adapter: StoreAdapter | undefined;
  readonly #shared: string | undefined;
  #engine: Engine | undefined;
  #closing: Promise<void> | undefined;
  /** What every question waits for: a part of the module that an earlier one needs. */
  #before: Promise<void> | undefined;

  static {
    inside = (keep) => ({ engine: keep.#open(), events: keep.#events, encoding: keep.#encoding, policy: keep.#policy, shared: keep.#shared });
  }

  private constructor(storage: Threadkeep["storage"], engine: Engine, adapter: StoreAdapter | undefined, shared: string | undefined, options: OpenOptions) {
    this.#adapter = adapter;
    this.#shared = shared;
    this.#encoding = options.encoding ?? "o200k_base";
    this.#policy = options.compaction ?? {};
    this.#embedding = options;
    this.storage = storage;
    this.beginning = engine.beginning as Threadkeep["beginning"];
    this.#engine = engine;
    this.#events = new Events(shared, (take) => now(() => engine.onEvent(take)));
  }

  /**
   * Opens a keep, and loads the WebAssembly module if need be.
   *
   * @throws ThreadkeepError `bad-request`, `init-failed`; `unavailable` where there is no such storage (private
   * browsing, a folder that cannot be written to), `blocked` when another tab holds an older version open, or another process the
   * folder; `corrupt` for a damaged folder, `newer-version`, `storage`
   *
   * @example
   * ```ts
   * const keep = await Threadkeep.open({ name: "my-agent" });
   * ```
   */
  static async open(options?: OpenOptions): Promise<Threadkeep> {
    const given = check.options(options, "options", OPEN) as OpenOptions;
    const { name = "threadkeep", cacheBytes } = given;
    const { kind, adapter, shared } = await storagePlace(given, name);
    await init();
    await opened(adapter);
    try {
      const engine = await run((wasm) => wasm.Engine.open(kind === "file" ? "adapter" : kind, name, adapter, cacheBytes) as Promise<Engine>);
      return new Threadkeep(kind, engine, adapter, shared, given);
    } catch (error) {
      // Nobody else lets go of what was opened here.
      if (typeof adapter?.open === "function") await adapter.close();
      throw error;
    }
  }

  // Reply chains

  /**
   * Routes an inbound message. A known `replyTo` makes it a child of that node; an unknown one, or none, the first
   * message of a new transcript; of an unknown one `unknownReply` says so. The node that comes back can grow: {@link extend} it with
   * what the agent does.
   *
   * A message that was received before gives the node that it made then. That counts if content, sender, number and place are the
   * same: an imported file can hold any id.
   *
   * @throws ThreadkeepError `bad-request`; `id-taken` if another message has the `messageId` (nothing is stored: receive it under
   * another id); the storage's codes
   *
   * @example
   * ```ts
   * const node = await keep.receive({ messageId: "m2", replyTo: "m1", from: "ann", content: "And then?" });
   * ```
   */
  async receive(message: InboundMessage): Promise<NodeInfo> {
    const params = check.options(message, "message", INBOUND);
    if (message === undefined) throw badArgument("message", "is missing");
    if (params["content"] === undefined) throw badArgument("message.content", "is missing");
    const json = check.toJson(params);
    const cut = cutIn([message], json);
    return told(await this.#answer<NodeInfo>("receive", json), cut);
  }

  /**
   * Lets an unsealed node grow: what the agent says, the tools it calls and what they answer. Each call is durable
   * before it resolves, so that a crash leaves a readable turn. The answer is the node as it is now with the messages that this call
   * added; {@link node} gives all of them.
   *
   * @throws ThreadkeepError `missing-node`, `sealed` (sealed, or it has children), `bad-request`
   *
   * @example
   * ```ts
   * await keep.extend(node.id, [{ role: "assistant", content: "Then they lived." }]);
   * ```
   */
  async extend(nodeId: string, messages: readonly MessageInput[]): Promise<NodeInfo> {
    const params = { node: check.id(nodeId, "nodeId"), messages: check.messages(messages, "messages") };
    const json = check.toJson(params);
    const cut = cutIn(params.messages, json);
    return told(await this.#answer<NodeInfo>("extend", json), cut);
  }

  /**
   * Completes a node: it will not grow again. Sealing twice is no error.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async seal(nodeId: string): Promise<NodeInfo> {
    return this.#call("seal", { node: check.id(nodeId, "nodeId") });
  }

  /**
   * Lets the outbound message `outboundId` stand for a node, so that replies to it find the chain. An alias is a
   * pointer: it works wherever a node's id does.
   *
   * @throws ThreadkeepError `missing-node`, `id-taken`
   *
   * @example
   * ```ts
   * await keep.alias("sent-1", node.id);
   * await keep.receive({ replyTo: "sent-1", content: "Thanks!" }); // a child of `node`
   * ```
   */
  async alias(outboundId: string, nodeId: string): Promise<NodeInfo> {
    return this.#call("alias", { id: check.id(outboundId, "outboundId"), node: check.id(nodeId, "nodeId") });
  }

  /** One node, by its id or an alias; `null` where there is none. */
  async node(id: string): Promise<NodeInfo | null> {
    return this.#call("node", { id: check.id(id, "id") });
  }

  /**
   * A node's children, oldest first: more than one is a fork.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async children(id: string): Promise<NodeInfo[]> {
    return this.#call("children", { id: check.id(id, "id") });
  }

  /** The roots of all transcripts, newest first. */
  async roots(): Promise<NodeInfo[]> {
    return this.#call("roots");
  }

  /**
   * The nodes from the root to `leafId`, both in: what the model is to see, in order.
   *
   * @throws ThreadkeepError `missing-node`; `missing-parent` or `cycle` with the place, where the data is damaged
   *
   * @example
   * ```ts
   * const messages = (await keep.chain(leaf)).flatMap((node) => node.messages);
   * ```
   */
  async chain(leafId: string): Promise<NodeInfo[]> {
    return this.#call("chain", { leaf: check.id(leafId, "leafId") });
  }

  /**
   * How many user and assistant messages there are in the chain that ends here.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async depth(id: string): Promise<number> {
    return this.#call("depth", { id: check.id(id, "id") });
  }

  // Heads

  /** The node at which a head points; `null` where there is no such head. */
  async head(contextId: string): Promise<NodeInfo | null> {
    return this.#call("head", { context: check.id(contextId, "contextId") });
  }

  /**
   * Points a head at a node, making the head if it is new.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async setHead(contextId: string, nodeId: string): Promise<NodeInfo> {
    return this.#call("setHead", { context: check.id(contextId, "contextId"), node: check.id(nodeId, "nodeId") });
  }

  /** All heads, by name. */
  async heads(): Promise<HeadInfo[]> {
    return this.#call("heads");
  }

  /**
   * Makes a second head at the first one's node, or further up. What lies before the fork is stored once.
   *
   * @param atIndex how many of the messages the fork keeps, from 0; all of them without it
   * @throws ThreadkeepError `missing-head`, `head-taken`; `bad-request` for a place inside a node of several messages
   *
   * @example
   * ```ts
   * await keep.fork("main", "what-if", 4); // the first four messages, and from there its own way
   * ```
   */
  async fork(contextId: string, newContextId: string, atIndex?: number): Promise<NodeInfo> {
    return this.#call("fork", {
      context: check.id(contextId, "contextId"),
      newContext: check.id(newContextId, "newContextId"),
      ...(atIndex === undefined ? {} : { atIndex: check.count(atIndex, "atIndex") }),
    });
  }

  // Message store

  /**
   * Appends messages at a head, one node each; an unknown head begins a transcript. An empty list does nothing.
   *
   * With `after` the messages begin a branch behind that node, and the head moves to their end in the same commit.
   *
   * @throws ThreadkeepError `bad-request`; with options `missing-head`, `missing-node`, and `conflict` when the head is not where it is
   * expected; the storage's codes
   *
   * @example
   * ```ts
   * await keep.append("main", [{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }]);
   * ```
   */
  async append(contextId: string, messages: readonly MessageInput[], options?: AppendOptions): Promise<NodeInfo[]> {
    const where = check.options(options, "options", APPEND);
    const given = check.copies(check.messages(messages, "messages"));
    const json = check.toJson({ context: check.id(contextId, "contextId"), messages: given.messages, ...where });
    const cut = new Set(cutIn(given.messages, json));
    const answer = await this.#ask((engine) => engine.append(utf8(json)));
    // What was said is known here: it need not travel back. It is a copy, as of any other answer.
    // U+FFFD may stand in the JSON for half a character of the caller's.
    const whole = given.whole && !json.includes("\ufffd");
    const said = whole ? (given.messages as Message[]) : (JSON.parse(json) as { messages: Message[] }).messages;
    const nodes = appended(JSON.parse(answer) as Appended, said);
    return cut.size === 0 ? nodes : nodes.map((node, index) => told(node, cut.has(index) ? [0] : []));
  }

  /**
   * The newest messages at a head, oldest of them first; none where there is no such head.
   *
   * @example
   * ```ts
   * await keep.getRecent("main", { maxMessages: 20, includeSystem: true });
   * ```
   */
  async getRecent(contextId: string, options?: RecentOptions): Promise<Message[]> {
    const params = { context: check.id(contextId, "contextId"), options: check.options(options, "options", RECENT) };
    return this.#prompt("getRecent", params);
  }

  /** All messages at a head, oldest first; none where there is no such head. */
  async getAll(contextId: string): Promise<Message[]> {
    return this.#call("getAll", { context: check.id(contextId, "contextId") });
  }

  /** The messages at the indices `start` to `end`, `end` not among them. What lies beyond the last is left out. */
  async getRange(contextId: string, start: number, end: number): Promise<Message[]> {
    return this.#call("getRange", {
      context: check.id(contextId, "contextId"),
      start: check.count(start, "start"),
      end: check.count(end, "end"),
    });
  }

  /**
   * The messages at the indices `start` (0 without it) to `end` (the last without it), each with what is known of it: its node,
   * place, time, about what it costs, and whether a checkpoint stands in for it.
   *
   * @example
   * ```ts
   * const hidden = (await keep.getStored("main")).filter(({ compacted }) => compacted);
   * ```
   */
  async getStored(contextId: string, start?: number, end?: number): Promise<StoredMessage[]> {
    const all = await this.#prompt<(Omit<StoredMessage, "timestamp"> & { createdAt: number | null })[]>("getStored", {
      context: check.id(contextId, "contextId"),
      ...(start === undefined ? {} : { start: check.count(start, "start") }),
      ...(end === undefined ? {} : { end: check.count(end, "end") }),
    });
    return all.map(({ createdAt, ...known }) => ({ ...known, timestamp: time(createdAt) }));
  }

  /** How many messages there are at a head; 0 where there is no such head. */
  async getCount(contextId: string): Promise<number> {
    return this.#call("getCount", { context: check.id(contextId, "contextId") });
  }

  /**
   * Removes a head and the nodes that only it leads to, for good. What other heads or branches need stays.
   *
   * @returns how many messages were removed
   */
  async clear(contextId: string): Promise<number> {
    return this.#manage("clear", { context: check.id(contextId, "contextId") });
  }

  // Prompts

  /**
   * The exact prompt of a chain for a budget, ready to be sent, with an account of every message. The same chain and options
   * give the same prompt; nothing is stored. A chain is read and counted once: another budget, policy or pin reads no
   * text, and a chain that grew is read from where it had ended.
   *
   * A prompt that is over its budget is no error: `overBudget` says so, and no model should be called.
   *
   * @param leafOrContextId a head's name, or the end of the chain: a node's id or an alias. A head comes first.
   * @throws ThreadkeepError `missing-node`; `bad-request` for an option that is not known or not what it must be;
   * `init-failed` when the vocabulary cannot be had; `missing-parent`, `cycle`, the storage's codes
   *
   * @example
   * ```ts
   * const { payload, overBudget } = await keep.context("main", {
   *   provider: "anthropic",
   *   model: "claude-sonnet-4-5",
   *   budget: { maxContextTokens: 200_000, maxOutputTokens: 8_000 },
   * });
   * ```
   */
  async context<P extends Provider = "openai-chat">(leafOrContextId: string, options?: ContextOptions<P>): Promise<Context<P>> {
    const at = check.id(leafOrContextId, "leafOrContextId");
    this.#open();
    // Written down before anything is waited for.
    const given: unknown = check.reading("options", () =>
      check.isObject(options) ? { ...options, encoding: options.encoding ?? this.#encoding } : (options ?? { encoding: this.#encoding }),
    );
    const how = check.optionsJson(given);
    const { encoding } = given as ContextOptions;
    await needEncoding(encoding);
    const engine = this.#open();
    const params = UTF8.encode(`{"at":${JSON.stringify(at)},"options":${how}}`);
    const [answer, lines] = (await run(() => engine.call("context", params))) as [string, LedgerLines];
    return withLedger<P>((JSON.parse(answer) as { data: Omit<Context<P>, "ledger"> }).data, lines);
  }

  /**
   * The message with the full output of a tool, by the path that its preview in a prompt names; `null` for any other path.
   *
   * @param leafOrContextId as for {@link context}
   * @param path `@state/logs/tool-results/<call id>.json`
   * @throws ThreadkeepError `missing-node`
   *
   * @example
   * ```ts
   * const whole = await keep.toolResult("main", "@state/logs/tool-results/call_1.json");
   * ```
   */
  async toolResult(leafOrContextId: string, path: string): Promise<Message | null> {
    const params = { at: check.id(leafOrContextId, "leafOrContextId"), path: check.text(path, "path") };
    return (await this.#prompt<Message[]>("toolResult", params))[0] ?? null;
  }

  // Compaction

  /**
   * Compacts the old part of a chain: a summary stands in for it in prompts from now on. The originals stay where they are, and
   * {@link context} still gives the prompt of each earlier epoch. Whole turns are covered, oldest first; the last
   * four stay raw, as do instructions and pinned messages. Branches that fork behind the covered part share the summary, others do
   * not see it. It is stored in one piece with the episodes and facts that were found, or not at all.
   *
   * @param leafOrContextId as for {@link context}
   * @throws ThreadkeepError `missing-node`; `bad-request`; `cancelled` by its signal; `summary-refused` where the summary is
   * empty, calls tools or is not smaller than what it replaces; `summariser-failed` with `fallback: false`; the storage's codes.
   * The history is as it was then.
   *
   * @example
   * ```ts
   * const { tokensSaved, warnings } = await keep.compact("main", {
   *   summarize: async ({ messages, signal }) => (await myModel(messages, signal)).text,
   *   summarizer: "gpt-4o-mini",
   * });
   * ```
   */
  async compact(leafOrContextId: string, options?: CompactOptions): Promise<Compaction> {
    const at = check.id(leafOrContextId, "leafOrContextId");
    this.#open();
    const prepared = compaction.prepare(at, options, this.#encoding);
    await needEncoding(prepared.encoding);
    return compaction.compact(this.#open(), prepared);
  }

  /**
   * The checkpoints of a chain, the one that covers least first; the last is the one that its prompts use.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async checkpoints(leafOrContextId: string): Promise<Checkpoint[]> {
    return this.#prompt("checkpoints", { at: check.id(leafOrContextId, "leafOrContextId") });
  }

  /**
   * The stretches of a chain's life, each with the checkpoint that it used; the original one comes first.
   * `context(epoch.leaf, { epoch: epoch.name })` gives the prompt as it was then.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async epochs(leafOrContextId: string): Promise<Epoch[]> {
    return this.#prompt("epochs", { at: check.id(leafOrContextId, "leafOrContextId") });
  }

  /**
   * Tell it what the provider counted, after each response: where the policy wants a compaction, one is pending from then
   * on, in the storage, until {@link compact} carried it out or found it unnecessary. The same content is not asked about twice.
   *
   * @returns why one is pending, or `null`
   * @throws ThreadkeepError `missing-node`, `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const due = await keep.afterResponse("main", { promptTokens: usage.prompt_tokens }, { model: "gpt-4o" });
   * if (due !== null) await keep.compact("main"); // before the next call
   * ```
   */
  async afterResponse(leafOrContextId: string, usage?: ResponseUsage, policy?: CompactionPolicy): Promise<CompactionReason | null> {
    return this.#prompt("afterResponse", {
      at: check.id(leafOrContextId, "leafOrContextId"),
      ...check.options(usage, "usage", { promptTokens: check.count }),
      policy: { ...this.#policy, ...compaction.policy(policy, "policy") },
    });
  }

  /**
   * Why a compaction is pending; `null` where none is.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async compactionRequired(leafOrContextId: string): Promise<CompactionReason | null> {
    return this.#prompt("compactionRequired", { at: check.id(leafOrContextId, "leafOrContextId") });
  }

  /**
   * Asks for a compaction by hand: it is pending until it is carried out.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async requestCompaction(leafOrContextId: string): Promise<void> {
    await this.#prompt("requestCompaction", { at: check.id(leafOrContextId, "leafOrContextId") });
  }

  /**
   * Takes a request back, as if it had been carried out on what the chain is now.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async clearCompactionRequest(leafOrContextId: string): Promise<void> {
    await this.#prompt("clearCompactionRequest", { at: check.id(leafOrContextId, "leafOrContextId") });
  }

  /**
   * Chooses how a head is compacted where {@link compact} is not told; `null` leaves it open again. It is stored with the head.
   *
   * @throws ThreadkeepError `missing-head`, `bad-request`
   */
  async setStrategy(contextId: string, strategy: CompactionStrategy | null): Promise<void> {
    const params = strategy === null ? {} : { strategy: check.text(strategy, "strategy") };
    await this.#prompt("setStrategy", { context: check.id(contextId, "contextId"), ...params });
  }

  /**
   * How a head is compacted; `null` where that was not chosen.
   *
   * @throws ThreadkeepError `missing-head`
   */
  async strategy(contextId: string): Promise<CompactionStrategy | null> {
    return this.#prompt("strategy", { context: check.id(contextId, "contextId") });
  }

  // Transcripts

  /** All transcripts, newest first, without their messages. */
  async transcripts(): Promise<TranscriptInfo[]> {
    return this.#call("transcripts");
  }

  /**
   * One branch of a transcript as a list of rows without texts: what a page needs to lay it out.
   *
   * @param leafId the end of the branch; a node in the middle is followed to its newest leaf; the chosen branch without it
   * @throws ThreadkeepError `missing-transcript`, `missing-node`
   */
  async outline(transcriptId: string, leafId?: string): Promise<Outline> {
    return this.#manage("outline", {
      transcript: check.id(transcriptId, "transcriptId"),
      ...(leafId === undefined ? {} : { leaf: check.id(leafId, "leafId") }),
    });
  }

  /**
   * The whole tree of a transcript; parents come before their children.
   *
   * @throws ThreadkeepError `missing-transcript`
   */
  async tree(transcriptId: string): Promise<TreeNode[]> {
    return this.#manage("tree", { transcript: check.id(transcriptId, "transcriptId") });
  }

  /**
   * Gives a transcript another title; an empty one brings back its first words.
   *
   * @throws ThreadkeepError `missing-transcript`
   */
  async rename(transcriptId: string, title: string): Promise<void> {
    const params = { transcript: check.id(transcriptId, "transcriptId"), title: check.text(title, "title") };
    await this.#call("rename", params);
  }

  /**
   * Keeps `leafId` as the chosen branch of its transcript.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async choose(leafId: string): Promise<void> {
    await this.#call("choose", { leaf: check.id(leafId, "leafId") });
  }

  /**
   * Deletes a node and all that follows it, for good.
   *
   * @returns how many messages were removed
   * @throws ThreadkeepError `missing-node`
   */
  async deleteBranch(nodeId: string): Promise<number> {
    return this.#manage("deleteBranch", { node: check.id(nodeId, "nodeId") });
  }

  /**
   * Deletes a transcript, for good.
   *
   * @returns how many messages were removed
   * @throws ThreadkeepError `missing-transcript`
   */
  async deleteTranscript(transcriptId: string): Promise<number> {
    return this.#manage("deleteTranscript", { transcript: check.id(transcriptId, "transcriptId") });
  }

  // Records of others

  /**
   * Records of your own in this keep's storage, under the name `namespace`: what belongs to conversations and is none, such as the
   * state of a framework. They are as durable as everything else here and go with {@link deleteAll}; exports leave them out.
   *
   * @throws ThreadkeepError `bad-request`; from its methods also `closed`
   *
   * @example
   * ```ts
   * const settings = keep.records("settings");
   * await settings.commit({ puts: [["theme", new TextEncoder().encode("dark")]] });
   * const theme = await settings.get("theme");
   * ```
   */
  records(namespace: string): Records {
    return recordsOf(() => this.#open(), check.id(namespace, "namespace"));
  }

  /** Deletes everything, for good. */
  async deleteAll(): Promise<void> {
    await this.#manage("deleteAll");
  }

  /**
   * What is wrong with one chain, or (without a leaf) with everything: unanswered calls, results without a call, and
   * the like. An empty list is good news.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async lint(leafId?: string): Promise<LintFinding[]> {
    return this.#manage("lint", leafId === undefined ? {} : { leaf: check.id(leafId, "leafId") });
  }

  // Search

  /**
   * Finds messages in all transcripts and branches, and summaries, episodes and facts beside them, the best first: words in any of their forms and in several languages,
   * `"phrases"`, `begin*`, `-without`. Short messages are found by what they answer, too. What is not indexed yet (after
   * an import, say) is indexed first; the index stays in the storage. With an `embed` (see {@link OpenOptions}) what means the
   * same is found too, and both rankings are joined. A query may be of any length. Each word of it is looked for once, and of more than
   * 256 different words the first are used: `warnings` of the answer says so.
   *
   * @throws ThreadkeepError `bad-request`; `missing-node` for a branch that is not there; the storage's codes
   *
   * @example
   * ```ts
   * for (const { snippet, leaf } of await keep.search('"lost luggage" oslo', { role: "user" })) console.log(snippet, leaf);
   * ```
   */
  async search(query: string, options?: SearchOptions): Promise<SearchHits> {
    const text = check.text(query, "query");
    const { vectors: wanted, ...rest } = check.options(options, "options", SEARCH) as SearchOptions;
    // Written down at once, so that what the caller does to its objects later changes nothing.
    const how = JSON.parse(check.toJson(rest as Record<string, unknown>)) as Record<string, unknown>;
    const vector = wanted === false ? undefined : await this.#vector(text, rest.wait !== false);
    const { hits, warnings } = await this.#search<{ hits: SearchHit[]; warnings: string[] }>("search", { query: text, options: { ...how, ...vector } });
    return Object.defineProperty(hits, "warnings", { value: warnings }) as SearchHits;
  }

  /** The query as a vector; `undefined` where there is no `embed`, or it fails, which is told. */
  async #vector(query: string, wait: boolean): Promise<object | undefined> {
    const { embed, embedModel: model = "", embedTimeoutMs, onEmbedError = reportUncaught } = this.#embedding;
    this.#open();
    if (embed === undefined) return undefined;
    try {
      if (wait) await this.embedMissing({ limit: EMBEDDED });
      const [vector] = await vectors(embed, [query], embedTimeoutMs);
      return { vector, model };
    } catch (error) {
      // Closed meanwhile, or broken: then the search says so itself.
      if (error instanceof ThreadkeepError && this.#engine !== undefined) {
        try {
          onEmbedError(error);
        } catch (thrown) {
          reportUncaught(thrown);
        }
      }
      return undefined;
    }
  }

  /**
   * Makes vectors of messages and summaries that have none, the newest first. A search makes some itself; call this after an
   * import, or where `embed` is slow, with a limit and in quiet moments. What has a vector gets no second one, across tabs and restarts.
   *
   * @throws ThreadkeepError `bad-request` without an `embed` or for vectors of another length than before;
   * `embedding-failed`, `cancelled`; the storage's codes
   *
   * @example
   * ```ts
   * const { left } = await keep.embedMissing({ limit: 1000, onProgress: ({ left }) => (label.textContent = `${left} to go`) });
   * ```
   */
  async embedMissing(options?: EmbedOptions): Promise<EmbedProgress> {
    const { limit = Infinity, onProgress, signal } = check.options(options, "options", EMBED) as EmbedOptions;
    const { embed, embedModel: model = "", embedTimeoutMs } = this.#embedding;
    this.#open();
    if (embed === undefined) throw badArgument("options.embed", "was not given when this keep was opened");
    const progress: EmbedProgress = { embedded: 0, left: 0 };
    for (;;) {
      if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "making vectors was cancelled", { ...progress });
      const most = Math.min(BATCH, limit - progress.embedded);
      const { texts, places, left } = await this.#search<ToEmbed>("toEmbed", { model, most });
      progress.left = texts.length + left;
      if (texts.length === 0) return progress;
      await this.#search("putVectors", { model, places, vectors: await vectors(embed, texts, embedTimeoutMs) });
      progress.embedded += texts.length;
      progress.left = left;
      try {
        onProgress?.({ ...progress });
      } catch (error) {
        reportUncaught(error);
      }
    }
  }

  /**
   * The search as a tool for an agent: its schema, and what answers a model's calls. `options` are fixed, such as the
   * transcript to look in; the model chooses the rest.
   *
   * @throws ThreadkeepError `bad-request`
   *
   * @example
   * ```ts
   * const tool = keep.searchTool();
   * const { payload } = await keep.context("main", { tools: [tool.schema] });
   * // … the model calls `search_memory`:
   * const content = await tool.call(call.function.arguments);
   * await keep.append("main", [{ role: "tool", tool_call_id: call.id, content }]);
   * ```
   */
  searchTool(options?: SearchOptions): SearchTool {
    const fixed = check.options(options, "options", SEARCH) as SearchOptions;
    return searchTool((query, asked) => this.search(query, asked), { ...fixed });
  }

  /** How far the search index is. Indexes nothing. */
  async indexProgress(): Promise<IndexProgress> {
    return this.#search("indexProgress", {});
  }

  // Archives

  /**
   * Imports conversations: ChatGPT (JSON, folder or zip), Claude.ai, Claude Code, OpenAI messages, Threadkeep's own.
   * Whole trees come across, with their branches. Importing the same again adds nothing. What cannot be taken is in the
   * report, and the rest goes on.
   *
   * @throws ThreadkeepError `bad-request`, `bad-import`; `cancelled` by its signal; the storage's codes
   *
   * @example
   * ```ts
   * const report = await keep.import(file, { onProgress: ({ bytes, totalBytes }) => (bar.value = bytes / totalBytes) });
   * for (const { place, reason } of report.skipped) console.warn(place, reason);
   * ```
   */
  async import(data: ImportData, options?: ImportOptions): Promise<ImportReport> {
    const { format, onProgress, signal } = check.options(options, "options", IMPORT) as ImportOptions;
    this.#open();
    const [files] = await Promise.all([sources(data), need("archives")]);
    const progress = (json: string): boolean => {
      try {
        onProgress?.(JSON.parse(json) as ImportProgress);
      } catch (error) {
        reportUncaught(error);
      }
      return signal?.aborted === true;
    };
    const engine = this.#open();
    if (signal?.aborted === true) throw cancelled({});
    const listener = onProgress === undefined && signal === undefined ? undefined : progress;
    const report = JSON.parse(await run(() => engine.importArchives(files, format, listener) as Promise<string>)) as ImportReport;
    if (report.stopped) throw cancelled({ report });
    return report;
  }

  /**
   * Writes everything, or one transcript, as JSON Lines that {@link import} restores exactly, or in a format of others
   * (`openai-messages`, `sharegpt`, `markdown`, `memory`). Nothing is read before one of the methods of {@link Export} is
   * called; errors come out there.
   *
   * @throws ThreadkeepError `bad-request`, `missing-transcript`; the storage's codes
   *
   * @example
   * ```ts
   * const everything = await keep.export().text();
   * const toRead = await keep.export({ format: "markdown", transcript }).text();
   * const memory = await keep.export({ format: "memory" }).files();
   * ```
   */
  export(options?: ExportOptions): Export {
    const wanted = options?.format;
    const [name, type] = WRITTEN[wanted !== undefined && Object.hasOwn(WRITTEN, wanted) ? wanted : "threadkeep"];
    return new Export(name, type, async (sink) => {
      const { format = "threadkeep", transcript, branches } = check.options(options, "options", EXPORT) as ExportOptions;
      if (branches !== undefined && (format === "threadkeep" || format === "memory"))
        throw badArgument("options.branches", `has no meaning for the format ${format}`);
      const own = format === "threadkeep";
      if (own) await this.#managing((engine) => engine.exportArchive(transcript, sink) as Promise<void>);
      else {
        this.#open();
        await need("archives");
        const engine = this.#open();
        await run(() => engine.exportAs(format, transcript, branches === true, sink) as Promise<void>);
      }
    });
  }

  // Memory

  /** What happened, oldest first. */
  async episodes(filter?: EpisodeFilter): Promise<Episode[]> {
    return this.#call("episodes", check.options(filter, "filter", memory.EPISODES));
  }

  /** What holds, oldest first; with `superseded: true` also what held until a newer fact contradicted it. */
  async facts(filter?: FactFilter): Promise<Fact[]> {
    return this.#call("facts", check.options(filter, "filter", memory.FACTS));
  }

  /**
   * Remembers a fact. One that says the same gains sources and confidence instead; one that it contradicts stays,
   * marked as superseded. Gives the fact as it is now.
   *
   * @throws ThreadkeepError `bad-request`
   *
   * @example
   * ```ts
   * await keep.remember({ fact: "The user prefers short answers.", kind: "preference" });
   * ```
   */
  async remember(fact: NewFact): Promise<Fact> {
    return this.#call("remember", check.options(fact, "fact", memory.NEW_FACT));
  }

  /**
   * Changes a fact. Gives it as it is now.
   *
   * @throws ThreadkeepError `missing-memory`, `bad-request`
   */
  async editFact(id: string, edit: FactEdit): Promise<Fact> {
    return this.#call("editFact", { id: check.text(id, "id"), ...check.options(edit, "edit", memory.FACT_EDIT) });
  }

  /**
   * Changes an episode. Gives it as it is now.
   *
   * @throws ThreadkeepError `missing-memory`, `bad-request`
   */
  async editEpisode(id: string, edit: EpisodeEdit): Promise<Episode> {
    return this.#call("editEpisode", { id: check.text(id, "id"), ...check.options(edit, "edit", memory.EPISODE_EDIT) });
  }

  /**
   * Pins an episode or a fact, so that it comes first in every bundle, or (`false`) lets go of it.
   *
   * @throws ThreadkeepError `missing-memory`
   */
  async pin(id: string, pinned = true): Promise<void> {
    await this.#call("pin", { id: check.text(id, "id"), pinned: check.flag(pinned, "pinned") });
  }

  /** Deletes an episode or a fact, for good. Whether it was there. */
  async forget(id: string): Promise<boolean> {
    return this.#call("forget", { id: check.text(id, "id") });
  }

  /** The best of what is remembered, by relevance to `query`, weight and age: what goes into a prompt. */
  async retrieve(options?: RetrieveOptions): Promise<MemoryBundle> {
    return this.#call("retrieve", check.options(options, "options", memory.RETRIEVE));
  }

  /**
   * The tool calls of a chain with their results. `at` is a head's name, or the end of the chain.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async toolInteractions(at: string, options?: { turn?: number }): Promise<ToolInteraction[]> {
    return this.#call("toolInteractions", {
      at: check.id(at, "at"),
      ...check.options(options, "options", { turn: check.count }),
    });
  }

  /** The name that the next turn at a head gets, such as `turn_0001`: that of the user message that is appended next. */
  async nextTurn(contextId: string): Promise<string> {
    return this.#call("nextTurn", { context: check.id(contextId, "contextId") });
  }

  /**
   * What was recorded at a head in some turns, in order. A compaction takes nothing from it.
   *
   * @throws ThreadkeepError `bad-request` for what is no turn's name
   */
  async rawTraces(contextId: string, options?: TraceOptions): Promise<RawTrace[]> {
    const turns = check.options(options, "options", memory.TRACES);
    return this.#call("rawTraces", { context: check.id(contextId, "contextId"), ...turns });
  }

  /**
   * The turns at a head that a compaction would cover now, by name: whole turns, oldest first, without the last ones, the one
   * that is going on, and those that a checkpoint covers already.
   */
  async compactionTurns(contextId: string, options?: { keepTurns?: number }): Promise<string[]> {
    const keep = check.options(options, "options", { keepTurns: check.count });
    return this.#call("compactionTurns", { context: check.id(contextId, "contextId"), ...keep });
  }

  /**
   * The compaction snapshot of a head as messages: the system prompt, then what is remembered with the last turns as one message, in
   * a form that is the same for the same input. Nothing is stored: {@link Kernel.resetWorkingContextSnapshot} goes on from it.
   *
   * @throws ThreadkeepError `bad-request`; `init-failed` when the vocabulary for `maxTokens` cannot be had
   */
  async buildSnapshot(contextId: string, options?: SnapshotOptions): Promise<Message[]> {
    const context = check.id(contextId, "contextId");
    const { bundle, tailTurns: tail, excludeTurnId: exclude, maxTokens: budget, ...rest } = check.options(options, "options", memory.SNAPSHOT);
    const encoding = (rest["encoding"] ?? this.#encoding) as Encoding;
    this.#open();
    const json = check.toJson({ context, ...(bundle as object | undefined), tail, exclude, budget, ...rest, encoding });
    if (budget !== undefined) await needEncoding(encoding);
    return this.#answer("buildSnapshot", json);
  }

  // Mailbox

  /**
   * Sends a message: it is in the mailboxes of both, under a number of each one's own, or in none. Gives it as the sender has it.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const asked = await keep.send({ from: "ann", to: "lal", content: "What colour is the sky?" });
   * ```
   */
  async send(message: OutgoingMail): Promise<Mail> {
    return this.#mail("send", mail.outgoing(message));
  }

  /**
   * Answers the message `number` of `party`'s mailbox: to whoever sent it (of one's own, to whom it went), with `replyTo` set to it.
   *
   * @throws ThreadkeepError `missing-mail`, `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const [first] = await keep.listMessages("ann");
   * await keep.reply("ann", first.number, "And at night?");
   * ```
   */
  async reply(party: string, number: number, text: string | MailText): Promise<Mail> {
    return this.#mail("reply", { ...mailbox(party, number), ...mail.spoken(text, "text") });
  }

  /** The messages of `party`'s mailbox, sent and received, oldest first; without the dismissed ones, unless they are asked for. */
  async listMessages(party: string, filter?: MailFilter): Promise<Mail[]> {
    return this.#mail("listMessages", { party: check.id(party, "party"), ...check.options(filter, "filter", mail.FILTER) });
  }

  /** One message of `party`'s mailbox; `null` where there is none of that number. */
  async mail(party: string, number: number): Promise<Mail | null> {
    return this.#mail("mail", mailbox(party, number));
  }

  /**
   * Marks a message as done with. It stays, and {@link MailFilter.dismissed} shows it. What is dismissed before it was answered
   * needs no answer.
   *
   * @throws ThreadkeepError `missing-mail`
   */
  async dismiss(party: string, number: number): Promise<Mail> {
    return this.#mail("dismiss", mailbox(party, number));
  }

  /**
   * The messages of `party`'s mailbox, one's own and dismissed ones too: those that are there, then each as it comes, also from
   * other tabs and workers; each once, in the order of their numbers. It ends with its signal, and when the keep is closed.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes, from the iterator
   *
   * @example
   * ```ts
   * for await (const mail of keep.followMessages("ann", { after: seen })) console.log(mail.from, mailText(mail));
   * ```
   */
  followMessages(party: string, options?: FollowOptions): AsyncIterableIterator<Mail> {
    const whose = check.id(party, "party");
    const { after = 0, signal, poll } = check.options(options, "options", mail.FOLLOW) as FollowOptions;
    this.#open();
    const source = {
      list: (after: number) => this.listMessages(whose, { after, dismissed: true }),
      hear: (ring: (cleared?: boolean) => void) => {
        const changed: ChangeListener = (event) => {
          if (event.type === "cleared" || (event.type === "mail" && event.party === whose)) ring(event.type === "cleared");
        };
        const ends = [this.#events.add(changed), this.#events.atEnd(() => ring())];
        return () => ends.forEach((end) => end());
      },
      closed: () => this.#engine === undefined,
    };
    return mail.follow(source, after, signal, poll);
  }

  /** Everybody who has a mailbox. */
  async parties(): Promise<string[]> {
    return this.#mail("parties", {});
  }

  /**
   * Deletes, for good, the transcripts that came about through `party`'s mailbox and of which all its messages are dismissed. A
   * transcript in which anything else lies (an import, say) stays.
   *
   * @returns how many transcripts were deleted
   */
  async collectDismissed(party: string): Promise<number> {
    return this.#mail("collectDismissed", { party: check.id(party, "party") });
  }

  // Housekeeping

  /**
   * Calls `listener` after each change: of this instance, and of other tabs, workers and instances with the same name.
   * What it throws is reported as an uncaught error and disturbs nobody.
   *
   * @returns a function that ends it
   *
   * @example
   * ```ts
   * const stop = keep.on("change", (event) => {
   *   if (event.type === "changed") redraw(event.transcript);
   * });
   * ```
   */
  on(event: "change", listener: ChangeListener): () => void {
    check.oneOf(event, ["change"], "event");
    return this.#events.add(check.callback(listener, "listener"));
  }

  /**
   * Counts and sizes, and what was found damaged.
   *
   * @example
   * ```ts
   * for (const { what } of (await keep.stats()).damaged) console.warn(what);
   * ```
   */
  async stats(): Promise<Stats> {
    const stats = await this.#call<Stats>("stats");
    const passedOver = (await this.#adapter?.damaged?.()) ?? [];
    return { ...stats, damaged: [...passedOver.map((what) => ({ transcript: null, what })), ...stats.damaged] };
  }

  /**
   * Lets go of the storage, after the calls that are under way. Later calls reject with `closed`; closing twice is no
   * error. Data in memory is gone.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const engine = this.#open();
    this.#engine = undefined;
    try {
      await run(() => engine.close() as Promise<void>);
    } finally {
      this.#events.close();
    }
    engine.free();
  }

  #open(): Engine {
    if (this.#engine === undefined) throw new ThreadkeepError("closed", "this keep is closed: open it again");
    return this.#engine;
  }

  /** A request that needs the part of the module for prompts. */
  async #prompt<T>(method: string, params: Record<string, unknown>): Promise<T> {
    this.#open();
    const json = check.toJson(params);
    await need("prompts");
    return this.#answer(method, json);
  }

  /** A request that needs the part of the module that deletes, checks and draws trees. */
  async #manage<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
    const json = check.toJson(params);
    return answerOf(await this.#managing((engine) => engine.call(method, utf8(json))));
  }

  /** Asks what that part answers. While it is loaded, all other questions wait: what was asked after a deletion must not come before it. */
  #managing<T>(question: (engine: Engine) => Promise<T>): Promise<T> {
    this.#open();
    if (!isThere("manage")) {
      const done = () => {
        this.#before = undefined;
      };
      this.#before ??= need("manage").then(done, done);
    }
    // Where it failed to load, the second try says why.
    return this.#ask(async (engine) => {
      if (!isThere("manage")) await need("manage");
      return question(engine);
    });
  }

  /** A request that needs the part of the module for search. */
  async #search<T>(method: string, params: Record<string, unknown>): Promise<T> {
    this.#open();
    const json = check.toJson(params);
    await need("search");
    return this.#answer(method, json);
  }

  /** A request that needs the part of the module for mailboxes. */
  async #mail<T>(method: string, params: Record<string, unknown>): Promise<T> {
    this.#open();
    const json = check.toJson(params);
    await need("agent");
    return mail.read(await this.#answer<T>(method, json));
  }

  /** One request. It is written down at once, so that what the caller does to its objects later changes nothing. */
  async #call<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
    return this.#answer(method, check.toJson(params));
  }

  async #answer<T>(method: string, json: string): Promise<T> {
    return answerOf(await this.#ask((engine) => engine.call(method, utf8(json))));
  }

  async #ask<T>(question: (engine: Engine) => Promise<T>): Promise<T> {
    if (this.#before !== undefined) await this.#before;
    // Not before: who waited may have been closed meanwhile.
    const engine = this.#open();
    return run(() => question(engine));
  }
}

function answerOf<T>(json: string): T {
  return (JSON.parse(json) as { data: T }).data;
}

/** A prompt whose ledger is made when it is first looked at: it has a line for each message of the chain. */
function withLedger<P extends Provider>(context: Omit<Context<P>, "ledger">, lines: LedgerLines): Context<P> {
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
  } as Context<P>;
}

function mailbox(party: string, number: number): { party: string; number: number } {
  return { party: check.id(party, "party"), number: check.count(number, "number") };
}

function cancelled(details: ErrorDetails): ThreadkeepError {
  return new ThreadkeepError("cancelled", "the import was cancelled; what was stored until then stays", details);
}

function time(millis: number | null): string | null {
  const date = new Date(millis ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
