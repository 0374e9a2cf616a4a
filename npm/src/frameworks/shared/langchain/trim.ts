// LangChain's messages trimmed to a budget by Threadkeep: the messages that stay are the caller's own objects.

// Whoever imports nothing else of this package needs the module, too.
import "../../../places.js";
import type { BaseMessage } from "@langchain/core/messages";
import { badArgument } from "../../../errors.js";
import { trimMessages, type Trimmed } from "../../../trim.js";
import type { TrimOptions } from "../../../generated/context.js";
import type { MessageInput } from "../../../message.js";
import { coreOf, fromLangChain, toLangChain } from "./messages.js";
import { same } from "../json.js";

/** What {@link trimLangChain} gives. */
export type TrimmedLangChain = Omit<Trimmed, "messages"> & {
  /** The messages that stay, the caller's own objects; what was put in or changed, to be valid for the provider, is new. */
  messages: BaseMessage[];
};

/**
 * Trims LangChain messages to a budget, as `trimMessages` does: exact counts, tool calls together with their results, instructions and the newest
 * question always kept, and a ledger that says why each message stayed or went.
 *
 * @throws ThreadkeepError `bad-request`, `init-failed`. A budget that cannot hold what must stay is no error: see `overBudget`.
 *
 * @example
 * ```ts
 * const { messages, ledger } = await trimLangChain(state.messages, { budget: { maxTokens: 8000 } });
 * ```
 */
export async function trimLangChain(messages: readonly BaseMessage[], options?: TrimOptions): Promise<TrimmedLangChain> {
  if (!Array.isArray(messages)) throw badArgument("messages", "must be a list of LangChain messages");
  // What rides along is not needed here: the messages themselves are at hand. Their places are.
  const ours = messages.map((message: BaseMessage, place): MessageInput => ({ ...coreOf(message, `messages[${place}]`), langchain: { place } }));
  const trimmed = await trimMessages(ours, options);
  const kept = trimmed.messages.map((message): BaseMessage => {
    const { langchain, ...rest } = message as MessageInput & { langchain?: { place?: number } };
    const place = langchain?.place;
    if (place === undefined) return toLangChain(rest as MessageInput);
    if (same(message, ours[place])) return messages[place] as BaseMessage;
    // It was changed to be valid: what it says now, with what it was beside that.
    const along = (fromLangChain(messages[place] as BaseMessage) as { langchain?: unknown }).langchain;
    return toLangChain({ ...rest, ...(along === undefined ? {} : { langchain: along }) } as MessageInput);
  });
  return {
    ...trimmed,
    messages: kept,
    get ledger() {
      return trimmed.ledger;
    },
  };
}
