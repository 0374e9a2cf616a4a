// A thread: a name, and the chain that ends where its head points. The name is given once, to `keep.thread(name)`.

import * as check from "../check.js";
import type { Link } from "../link.js";
import { cutIn, told, type NodeInfo } from "../lost.js";
import { APPEND, FORK, RANGE, RECENT, type ForkOptions, type MessageRange } from "../options.js";
import type { AppendOptions, RecentOptions } from "../generated/request.js";
import type { Undone } from "../generated/node.js";
import type { CompactionStrategy, StoredMessage } from "../generated/compaction.js";
import type { Message, MessageInput } from "../message.js";
import { Chain } from "./chain.js";

/** More messages than a thread can have. */
const ALL = 0xffff_ffff;

/**
 * A conversation under a name of yours. Its head is the node at which it ends, like that of a branch in git. A thread that does
 * not exist yet has no messages; the first {@link append} makes it.
 *
 * @example
 * ```ts
 * const thread = keep.thread("ann-42");
 * await thread.append([{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }]);
 * const { payload } = await thread.context({ budget: { maxTokens: 8_000 } });
 * ```
 */
export class Thread extends Chain {
  /** Its name. */
  readonly name: string;
  readonly #link: Link;

  /** @internal */
  constructor(link: Link, name: string) {
    super(link, name);
    this.name = name;
    this.#link = link;
  }

  /** @internal */
  protected override async end(): Promise<string | null> {
    return (await this.head())?.id ?? null;
  }

  /** The node at which the thread ends; `null` if there is no such thread. */
  async head(): Promise<NodeInfo | null> {
    return this.#link.call("head", { head: this.name });
  }

  /**
   * Moves the head to another node, and makes the thread if it is new.
   *
   * @throws ThreadkeepError `missing-node`
   */
  async moveTo(nodeId: string): Promise<NodeInfo> {
    return this.#link.call("setHead", { head: this.name, node: check.id(nodeId, "nodeId") });
  }

  /**
   * Moves the head back to where it was before its last append, edit or move, and says what that change was. Another `undo` goes one change
   * further. `null` says that there is nothing to undo. Nothing is removed: {@link moveTo} `from` brings the messages back. A deletion is for good.
   *
   * @throws ThreadkeepError `missing-thread`
   *
   * @example
   * ```ts
   * const undone = await keep.thread("ann-42").undo();
   * if (undone) await keep.thread("ann-42").moveTo(undone.from); // redo
   * ```
   */
  async undo(): Promise<Undone | null> {
    return this.#link.manage("undo", { head: this.name });
  }

  /**
   * Makes a second thread that shares the messages of this one, or the first `atIndex` of them. Shared messages are stored once.
   *
   * @throws ThreadkeepError `missing-thread`, `thread-taken`; `bad-request` for a place inside a node of several messages
   *
   * @example
   * ```ts
   * const whatIf = await keep.thread("ann-42").fork("what-if", { atIndex: 4 }); // the first four messages
   * await whatIf.append([{ role: "user", content: "Something else." }]);
   * ```
   */
  async fork(newName: string, options?: ForkOptions): Promise<Thread> {
    const name = check.id(newName, "newName");
    await this.#link.call("fork", { head: this.name, newHead: name, ...check.options(options, "options", FORK) });
    return new Thread(this.#link, name);
  }

  /**
   * Appends messages, one node each. An empty list does nothing.
   *
   * With `after` the messages begin a branch after that node, and the head moves to their end in the same commit.
   *
   * @throws ThreadkeepError `bad-request`; with options `missing-thread`, `missing-node`, and `conflict` when the head is not where it is
   * expected; the storage's codes
   *
   * @example
   * ```ts
   * await keep.thread("ann-42").append([{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }]);
   * ```
   */
  async append(messages: readonly MessageInput[], options?: AppendOptions): Promise<NodeInfo[]> {
    const where = check.options(options, "options", APPEND);
    const given = check.copies(check.messages(messages, "messages"));
    const json = check.toJson({ head: this.name, messages: given.messages, ...where });
    const cut = new Set(cutIn(given.messages, json));
    const answer = await this.#link.ask(json, (engine, bytes) => engine.append(bytes) as Promise<string>);
    // The messages are known here and need not travel back. The answer has copies, like any other.
    // U+FFFD may stand in the JSON for half a character of the caller's.
    const whole = given.whole && !json.includes("\ufffd");
    const said = whole ? (given.messages as Message[]) : (JSON.parse(json) as { messages: Message[] }).messages;
    const nodes = appended(JSON.parse(answer) as Appended, said);
    return cut.size === 0 ? nodes : nodes.map((node, index) => told(node, cut.has(index) ? [0] : []));
  }

  /**
   * The messages, oldest first: all, or those at the indices from `start` (0 without it) to `end` (the last without it; `end` is
   * not among them). Indices after the last are left out.
   *
   * @example
   * ```ts
   * const firstTwo = await keep.thread("ann-42").messages({ end: 2 });
   * ```
   */
  async messages(range?: MessageRange): Promise<Message[]> {
    const { start = 0, end = ALL } = check.options(range, "range", RANGE) as MessageRange;
    return this.#link.call("getRange", { head: this.name, start, end });
  }

  /**
   * The newest messages that fit, oldest of them first.
   *
   * @example
   * ```ts
   * await keep.thread("ann-42").recent({ maxMessages: 20, includeSystem: true });
   * ```
   */
  async recent(options?: RecentOptions): Promise<Message[]> {
    return this.#link.callWith("prompts", "getRecent", { head: this.name, options: check.options(options, "options", RECENT) });
  }

  /**
   * As {@link messages}, each with what is known of it: its node, place, time, about what it costs, and whether a checkpoint
   * stands in for it.
   *
   * @example
   * ```ts
   * const hidden = (await keep.thread("ann-42").stored()).filter(({ compacted }) => compacted);
   * ```
   */
  async stored(range?: MessageRange): Promise<StoredMessage[]> {
    const given = check.options(range, "range", RANGE);
    const all = await this.#link.callWith<(Omit<StoredMessage, "timestamp"> & { createdAt: number | null })[]>("prompts", "getStored", {
      head: this.name,
      ...given,
    });
    return all.map(({ createdAt, ...known }) => ({ ...known, timestamp: time(createdAt) }));
  }

  /** How many messages it has. */
  async count(): Promise<number> {
    return this.#link.call("getCount", { head: this.name });
  }

  /**
   * Removes the thread and the nodes that only it leads to, for good. What other threads or branches need stays.
   *
   * @returns how many messages were removed
   */
  async clear(): Promise<number> {
    return this.#link.manage("clear", { head: this.name });
  }

  /**
   * How it is compacted; `null` if that was not chosen.
   *
   * @throws ThreadkeepError `missing-thread`
   */
  async strategy(): Promise<CompactionStrategy | null> {
    return this.#link.callWith("prompts", "strategy", { head: this.name });
  }

  /**
   * Chooses how it is compacted if {@link compact} does not say; `null` removes the choice. It is stored with the thread.
   *
   * @throws ThreadkeepError `missing-thread`, `bad-request`
   */
  async setStrategy(strategy: CompactionStrategy | null): Promise<void> {
    const chosen = strategy === null ? {} : { strategy: check.text<CompactionStrategy>(strategy, "strategy") };
    await this.#link.callWith("prompts", "setStrategy", { head: this.name, ...chosen });
  }
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

function time(millis: number | null): string | null {
  const date = new Date(millis ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
