// A node before the model: what of a graph's messages fits the budget. The state keeps all of them; the model sees `llmInputMessages`.

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as check from "../../check.js";
import { badArgument } from "../../errors.js";
import type { ToolSchema } from "../../payload.js";
import { toLangChain } from "../shared/langchain/messages.js";
import { PROMPT, checkPrompt, promptOf, type PromptOptions } from "../shared/langchain/prompt.js";

/** Options of {@link contextHook}. */
export interface ContextHookOptions extends PromptOptions {
  /** The instructions, inside the budget; they come first. */
  systemPrompt?: string;
  /** Tools whose schemas count against the budget. */
  tools?: readonly ToolSchema[];
  /** The state's list of messages; `messages` without it. */
  channel?: string;
}

const HOOK = { ...PROMPT, systemPrompt: check.text, tools: (value: unknown) => value, channel: check.text };

/**
 * A `preModelHook` for `createReactAgent`, or a node of your own before the model: what of the messages fits the budget, tool calls together with
 * their results, as `llmInputMessages`. What `createReactAgent`'s own `prompt` adds comes on top of the budget; `systemPrompt` is inside it.
 *
 * The hook throws a ThreadkeepError `over-budget`, with the figures, where what must stay does not fit: then no model is called.
 *
 * @throws ThreadkeepError `bad-request` for options that are not known, or need a keep
 *
 * @example
 * ```ts
 * const agent = createReactAgent({ llm, tools, preModelHook: contextHook({ budget: { maxTokens: 8000 } }) });
 * ```
 */
export function contextHook(
  options?: ContextHookOptions,
): (state: Record<string, unknown>, config?: RunnableConfig) => Promise<{ llmInputMessages: BaseMessage[] }> {
  const { channel = "messages", systemPrompt, tools = [], ...how } = check.options(options, "options", HOOK) as ContextHookOptions;
  checkPrompt(how);
  return async (state, config) => {
    const messages = state[channel];
    if (!Array.isArray(messages)) throw badArgument(`state.${channel}`, "must be a list of messages");
    const system = systemPrompt === undefined ? undefined : toLangChain({ role: "system", content: systemPrompt });
    const thread: unknown = config?.configurable?.["thread_id"];
    return { llmInputMessages: await promptOf(how, { messages: messages as BaseMessage[], thread, system, tools }) };
  };
}
