// The class that users hold: it opens a keep, routes messages to their chains, and hands out the handles, which do the rest. Each
// method checks its arguments, sends one request to the engine and hands on the answer; the engine decides what a request means.

/// <reference lib="esnext.disposable" preserve="true" />

import { exported, imported } from "./archives.js";
import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { Events, type ChangeListener } from "./events.js";
import type { Export } from "./export.js";
import { Mailbox, askMail } from "./handles/mailbox.js";
import { Memory } from "./handles/memory.js";
import { MessageStore } from "./handles/message-store.js";
import { Place } from "./handles/place.js";
import { SearchIndex } from "./handles/search-index.js";
import { Requests } from "./handles/requests.js";
import { Settings } from "./handles/settings.js";
import { Thread } from "./handles/thread.js";
import { Transcript } from "./handles/transcript.js";
import { Link } from "./link.js";
import { cutIn, told, type NodeInfo } from "./lost.js";
import { INBOUND, OPEN, type OpenOptions, type SearchOptions, type ExportOptions, type ImportOptions, type StorageOptions } from "./options.js";
import type { InboundMessage } from "./generated/request.js";
import { recordsOf, type Records } from "./records.js";
import { now } from "./runtime.js";
import { search, type SearchHits } from "./search.js";
import { deleteScope, openEngine, scopesIn, type Opened } from "./scopes.js";
import type { ImportReport } from "./generated/archive.js";
import type { LintFinding, Stats, ThreadInfo, TranscriptInfo } from "./generated/node.js";
import type { MessageInput } from "./message.js";
import type { ImportData } from "./sources.js";
import type { StoreAdapter } from "./stores/adapter.js";

/** The link of a keep; throws `closed` after the keep was closed. @internal */
export let inside: (keep: Threadkeep) => Link;

/**
 * Conversation memory. A keep holds conversations as trees of messages, and what was remembered of them. Its handles do the work:
 * {@link thread} for a conversation under a name, {@link memory} for episodes and facts, {@link mailbox} for the messages of a user or an
 * agent, {@link at} for any node of a tree.
 *
 * Every method that returns a promise rejects with a {@link ThreadkeepError}; when it resolves, the change is durable. A handle costs nothing
 * and reads nothing before one of its methods is called; only a name or id that cannot be one throws at once.
 * Calls may overlap and take effect in the order in which they were made. Answers are copies.
 *
 * @example
 * ```ts
 * await using keep = await Threadkeep.open();
 * const thread = keep.thread("ann-42");
 * await thread.append([{ role: "user", content: "What is a monad?" }]);
 * const { payload } = await thread.context({ systemPrompt: "Be brief.", budget: { maxTokens: 8_000 } });
 * ```
 */
export class Threadkeep {
  /** Where the data is stored. */
  readonly storage: "indexeddb" | "file" | "memory" | "adapter";
  /**
   * What opening found: data that was there (`existing`), none (`created`), or a damaged database that the browser had
   * wiped (`wiped`: say so, and offer the last export). It is `unknown` if the store could not be read at that moment.
   */
  readonly beginning: "existing" | "created" | "wiped" | "unknown";
  /** The only part of the storage that this keep sees; `undefined` if it sees the data that belongs to no scope. */
  readonly scope: string | undefined;
  /** Episodes and facts: what is remembered. */
  readonly memory: Memory;
  /** The threads through the interface of a message store. */
  readonly messageStore: MessageStore;
  /** How far the search index is, and its vectors. */
  readonly searchIndex: SearchIndex;
  /** How prompts are built and histories compacted if a call does not say. */
  readonly settings: Settings;
  /** What was sent to models, and what that took. */
  readonly requests: Requests;
  readonly #damaged: StoreAdapter["damaged"];
  readonly #link: Link;

  static {
    inside = (keep) => {
      void keep.#link.engine;
      return keep.#link;
    };
  }

  private constructor({ engine, kind, shared, damaged }: Opened, options: OpenOptions) {
    this.#damaged = damaged;
    this.#link = new Link(engine, new Events(shared, (take) => now(() => engine.onEvent(take))), shared, options);
    this.scope = options.scope;
    this.storage = kind;
    this.beginning = engine.beginning as Threadkeep["beginning"];
    this.memory = new Memory(this.#link);
    this.messageStore = new MessageStore(this.#link);
    this.searchIndex = new SearchIndex(this.#link);
    this.settings = new Settings(this.#link);
    this.requests = new Requests(this.#link);
  }

  /**
   * Opens a keep, and loads the WebAssembly module if need be.
   *
   * @throws ThreadkeepError `bad-request`, `init-failed`; `unavailable` if there is no such storage (private
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
    return new Threadkeep(await openEngine(given), given);
  }

  /**
   * The names of all scopes that have data, in pieces: a storage may have millions. It reads one record of each scope and leaves an adapter
   * of yours open.
   *
   * @throws ThreadkeepError `bad-request`, also for a `storage` that is a function; as {@link open}
   *
   * @example
   * ```ts
   * for await (const scope of Threadkeep.scopes({ storage })) console.log(scope);
   * ```
   */
  static scopes(options?: StorageOptions): AsyncIterable<string> {
    return scopesIn(options);
  }

  /**
   * Deletes everything of a scope for good, its mailboxes' numbers too. An adapter of yours stays open. One that a function gave is closed, unless a
   * keep has it open. A keep that has the scope open finds it empty: what it writes from then on is new, and what it was about to add to a deleted
   * conversation fails. With an adapter, it hears `cleared` only if it was opened with the same `name`.
   *
   * @throws ThreadkeepError `bad-request`; as {@link open}
   *
   * @example
   * ```ts
   * await Threadkeep.deleteScope("ann", { storage });
   * ```
   */
  static deleteScope(scope: string, options?: StorageOptions): Promise<void> {
    return deleteScope(scope, options);
  }

  /**
   * Closes the storage, after the calls that are under way. Later calls reject with `closed`; closing twice is no
   * error. Data in memory is gone.
   */
  close(): Promise<void> {
    return this.#link.close();
  }

  /** Closes the keep at the end of the block that began with `await using keep = await Threadkeep.open()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Handles

  /**
   * A conversation under a name of yours: append to it, read it, make prompts of it, compact it, fork it, search it. The first
   * {@link Thread.append} makes it.
   *
   * @throws ThreadkeepError `bad-request` for an empty name, or one of more than 512 bytes
   *
   * @example
   * ```ts
   * await keep.thread("ann-42").append([{ role: "user", content: "hi" }]);
   * ```
   */
  thread(name: string): Thread {
    return new Thread(this.#link, check.id(name, "name"));
  }

  /**
   * A node by its id or an alias, and the chain that ends there: its children, its depth, its prompts. If a thread has this name, its prompts
   * are meant.
   *
   * @throws ThreadkeepError `bad-request` for an empty id, or one of more than 512 bytes
   *
   * @example
   * ```ts
   * const { payload } = await keep.at(node.id).context({ provider: "anthropic" });
   * ```
   */
  at(nodeId: string): Place {
    return new Place(this.#link, check.id(nodeId, "nodeId"));
  }

  /**
   * One tree of nodes: its outline, its title.
   *
   * @throws ThreadkeepError `bad-request` for an empty id, or one of more than 512 bytes
   */
  transcript(id: string): Transcript {
    return new Transcript(this.#link, check.id(id, "id"));
  }

  /**
   * The mailbox of a user or an agent.
   *
   * @throws ThreadkeepError `bad-request` for an empty name, or one of more than 512 bytes
   *
   * @example
   * ```ts
   * await keep.mailbox("ann").send({ to: "lal", content: "What colour is the sky?" });
   * ```
   */
  mailbox(party: string): Mailbox {
    return new Mailbox(this.#link, check.id(party, "party"));
  }

  /**
   * Records of your own in this keep's storage, under the name `namespace`: data that belongs to conversations and is none, such as the
   * state of a framework. They are as durable as everything else here, and {@link deleteAll} deletes them; exports leave them out.
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
    return recordsOf(() => this.#link.engine, check.id(namespace, "namespace"));
  }

  // Reply chains

  /**
   * Routes an inbound message. A known `replyTo` makes it a child of that node. With an unknown one, or none, it is the first
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
    return told(await this.#link.answer<NodeInfo>("receive", json), cut);
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
    return told(await this.#link.answer<NodeInfo>("extend", json), cut);
  }

  /** One node, by its id or an alias; `null` if there is none. */
  async node(id: string): Promise<NodeInfo | null> {
    return this.#link.call("node", { id: check.id(id, "id") });
  }

  /**
   * The nodes from the root to `leafId`, both in: what the model is to see, in order.
   *
   * @throws ThreadkeepError `missing-node`; `missing-parent` or `cycle` with the place, if the data is damaged
   *
   * @example
   * ```ts
   * const messages = (await keep.chain(leaf)).flatMap((node) => node.messages);
   * ```
   */
  async chain(leafId: string): Promise<NodeInfo[]> {
    return this.#link.call("chain", { leaf: check.id(leafId, "leafId") });
  }

  // Lists

  /** All threads, by name. */
  async threads(): Promise<ThreadInfo[]> {
    return this.#link.call("heads");
  }

  /** All transcripts, newest first, without their messages. */
  async transcripts(): Promise<TranscriptInfo[]> {
    return this.#link.call("transcripts");
  }

  /** The roots of all transcripts, newest first. */
  async roots(): Promise<NodeInfo[]> {
    return this.#link.call("roots");
  }

  /** Everybody who has a mailbox. */
  async parties(): Promise<string[]> {
    return askMail(this.#link, "parties", {});
  }

  // The whole keep

  /**
   * Finds messages in all transcripts and branches, and summaries, episodes and facts beside them, the best first: words in any of their forms and in several languages,
   * `"phrases"`, `begin*`, `-without`. Short messages are found by what they answer, too. What is not indexed yet (after
   * an import, say) is indexed first; the index stays in the storage. With an `embed` (see {@link OpenOptions}) it also finds texts of
   * the same meaning, and joins both rankings. A query may be of any length. Each word of it is looked for once, and of more than
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
    return search(this.#link, query, options);
  }

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
    return imported(this.#link, data, options);
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
    return exported(this.#link, options);
  }

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
    return this.#link.events.add(check.callback(listener, "listener"));
  }

  /**
   * What is wrong with one chain, or (without a leaf) with everything: unanswered calls, results without a call, and
   * the like. An empty list is good news.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async lint(leafId?: string): Promise<LintFinding[]> {
    return this.#link.call("lint", leafId === undefined ? {} : { leaf: check.id(leafId, "leafId") });
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
    const stats = await this.#link.call<Stats>("stats");
    const passedOver = (await this.#damaged?.()) ?? [];
    return { ...stats, damaged: [...passedOver.map((what) => ({ transcript: null, what })), ...stats.damaged] };
  }

  /** Deletes everything, for good. */
  async deleteAll(): Promise<void> {
    await this.#link.manage("deleteAll");
  }
}
