// The interface of a message store, whole, for programs that are written against one: each method takes a thread's name. A thread's
// own methods do the work.

import * as check from "../check.js";
import type { Link } from "../link.js";
import type { AppendOptions, RecentOptions } from "../generated/request.js";
import type { CompactOptions } from "../compaction.js";
import type { Compaction } from "../generated/compaction.js";
import type { NodeInfo } from "../lost.js";
import type { Message, MessageInput } from "../message.js";
import { Thread } from "./thread.js";

/**
 * The threads of a keep as a message store: `keep.messageStore`. In new code, {@link Threadkeep.thread} is shorter.
 *
 * @example
 * ```ts
 * const store = keep.messageStore;
 * await store.append("ann-42", [{ role: "user", content: "hi" }]);
 * const recent = await store.getRecent("ann-42", { maxTokens: 4_000 });
 * ```
 */
export class MessageStore {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /** Appends messages: {@link Thread.append}. */
  async append(name: string, messages: readonly MessageInput[], options?: AppendOptions): Promise<NodeInfo[]> {
    return this.#thread(name).append(messages, options);
  }

  /** The newest messages that fit, oldest of them first: {@link Thread.recent}. */
  async getRecent(name: string, options?: RecentOptions): Promise<Message[]> {
    return this.#thread(name).recent(options);
  }

  /** All messages, oldest first; none of a thread that does not exist. */
  async getAll(name: string): Promise<Message[]> {
    return this.#thread(name).messages();
  }

  /** The messages at the indices from `start` to `end`, `end` not among them. Indices after the last are left out. */
  async getRange(name: string, start: number, end: number): Promise<Message[]> {
    return this.#thread(name).messages({ start: check.count(start, "start"), end: check.count(end, "end") });
  }

  /** How many messages there are; 0 of a thread that does not exist. */
  async getCount(name: string): Promise<number> {
    return this.#thread(name).count();
  }

  /** Compacts the old part: {@link Chain.compact | compact} of the thread. */
  async compact(name: string, options?: CompactOptions): Promise<Compaction> {
    return this.#thread(name).compact(options);
  }

  /**
   * Removes a thread and the messages that only it leads to, for good: {@link Thread.clear}.
   *
   * @returns how many messages were removed
   */
  async clear(name: string): Promise<number> {
    return this.#thread(name).clear();
  }

  #thread(name: string): Thread {
    return new Thread(this.#link, check.id(name, "name"));
  }
}
