// LangChain's chat history on a head of a keep. Its messages are the conversation's: what the page shows, search finds and compaction covers.

import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import type { BaseMessage } from "@langchain/core/messages";
import * as check from "../../check.js";
import { ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { ContextOptions } from "../../generated/context.js";
import { allFromLangChain, toLangChain } from "../shared/langchain/messages.js";

/** Options of {@link ThreadkeepChatMessageHistory}: those of a prompt. Without any, the history is all there is. */
export type HistoryOptions = Pick<ContextOptions, "budget" | "policy" | "provider" | "encoding" | "pins" | "toolPreview" | "memory">;

/**
 * A chat message history that is a conversation of a keep.
 *
 * With options, {@link ThreadkeepChatMessageHistory.getMessages | getMessages} gives what `thread.context` makes of it: what fits the budget, tool calls together with their
 * results, and summaries for what a compaction has covered.
 *
 * @example
 * ```ts
 * const withHistory = new RunnableWithMessageHistory({
 *   runnable: prompt.pipe(model),
 *   getMessageHistory: (sessionId) => new ThreadkeepChatMessageHistory(keep, sessionId, { budget: { maxTokens: 8000 } }),
 *   inputMessagesKey: "input",
 *   historyMessagesKey: "history",
 * });
 * ```
 */
export class ThreadkeepChatMessageHistory extends BaseListChatMessageHistory {
  /** What LangChain calls the place of this class. */
  override lc_namespace = ["threadkeep", "langchain"];
  readonly #keep: Threadkeep;
  readonly #options: HistoryOptions | undefined;
  /** The name of the thread whose conversation it is. */
  readonly thread: string;

  /**
   * @param keep an open keep; closing it is the caller's
   * @param thread the thread's name, often LangChain's session id; a new one begins a conversation
   * @throws ThreadkeepError `bad-request`
   */
  constructor(keep: Threadkeep, thread: string, options?: HistoryOptions) {
    super();
    this.#keep = keep;
    this.thread = check.id(thread, "thread");
    const given = check.options(options, "options", HISTORY);
    this.#options = Object.keys(given).length === 0 ? undefined : (given as HistoryOptions);
  }

  /**
   * The messages, the oldest first: all of them, or what the options let through.
   *
   * @throws ThreadkeepError `over-budget` where what must stay does not fit, with the figures in `details`; the storage's codes
   */
  override async getMessages(): Promise<BaseMessage[]> {
    if (this.#options === undefined || (await this.#keep.thread(this.thread).head()) === null)
      return (await this.#keep.thread(this.thread).messages()).map(toLangChain);
    const { messages, overBudget, tokens, budget } = await this.#keep.thread(this.thread).context(this.#options);
    if (overBudget) throw new ThreadkeepError("over-budget", "what must stay of the history does not fit the budget", { thread: this.thread, tokens, budget });
    return messages.map(toLangChain);
  }

  /** Adds a message at the end. It is durable when this resolves. */
  override async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /** Adds messages at the end, all of them or none. They are durable when this resolves. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    await this.#keep.thread(this.thread).append(allFromLangChain(messages));
  }

  /** Deletes the conversation, for good, but for what other threads and branches share with it. */
  override async clear(): Promise<void> {
    await this.#keep.thread(this.thread).clear();
  }
}

const asIs = (value: unknown): unknown => value;

const HISTORY = { budget: asIs, policy: asIs, provider: asIs, encoding: asIs, pins: asIs, toolPreview: asIs, memory: asIs } satisfies Record<
  keyof HistoryOptions,
  unknown
>;
