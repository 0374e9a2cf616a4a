// A middleware for LangChain's `createAgent`: before each call of the model, what of the messages fits. It is a plain object, so the package
// `langchain` itself is not needed here.

import type { BaseMessage, SystemMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import * as check from "../../check.js";
import type { ToolSchema } from "../../payload.js";
import { PROMPT, checkPrompt, promptOf, type PromptOptions } from "../shared/langchain/prompt.js";

/** What of a request to the model the middleware reads and changes. */
export interface ModelCall {
  /** The conversation. */
  messages: BaseMessage[];
  /** The instructions. */
  systemMessage: SystemMessage;
  /** The tools that the model may call. */
  tools: readonly unknown[];
  /** Where LangGraph says which thread it is. */
  runtime: unknown;
}

/** What {@link contextMiddleware} gives: an agent middleware of LangChain's. */
export interface ContextMiddleware {
  /** What LangChain calls it. */
  name: string;
  /** Changes the request, and hands it on. */
  wrapModelCall: <R extends ModelCall, A>(request: R, handler: (request: R) => A | Promise<A>) => Promise<A>;
}

/** By this LangChain knows its middleware. */
const BRAND = Symbol.for("AgentMiddleware");

/**
 * A middleware for `createAgent` of `langchain`: the model sees what fits the budget, tool calls together with their results, and the state keeps
 * everything. Instructions and tools are inside the budget.
 *
 * It throws a ThreadkeepError `over-budget` (as the cause of LangChain's own error) where what must stay does not fit: then no model is called.
 *
 * @throws ThreadkeepError `bad-request` for options that are not known, or need a keep
 *
 * @example
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [contextMiddleware({ budget: { maxTokens: 8000 } })] });
 * ```
 */
export function contextMiddleware(options?: PromptOptions): ContextMiddleware {
  const given = check.options(options, "options", PROMPT) as PromptOptions;
  checkPrompt(given);
  const middleware: ContextMiddleware = {
    name: "ThreadkeepContext",
    async wrapModelCall(request, handler) {
      const { messages, systemMessage, tools, runtime } = request;
      const system = systemMessage === undefined || systemMessage.text === "" ? undefined : systemMessage;
      const thread = (runtime as { configurable?: Record<string, unknown> } | undefined)?.configurable?.["thread_id"];
      const [first, ...rest] = await promptOf(given, { messages, thread, system, tools: schemasOf(tools ?? []) });
      const isSystem = first?.getType() === "system";
      if (first === undefined || !isSystem || (system === undefined && first === messages[0]))
        return handler({ ...request, messages: first === undefined ? [] : [first, ...rest] });
      const same = first === system || first.text === system?.text;
      return handler({ ...request, messages: rest, ...(same ? {} : { systemMessage: first as SystemMessage }) });
    },
  };
  return Object.assign(middleware, { [BRAND]: true });
}

/** The schemas of tools, as the model is told them; what has none of LangChain's forms is the provider's own, and is taken as it is. */
function schemasOf(tools: readonly unknown[]): ToolSchema[] {
  return tools.flatMap((tool): ToolSchema[] => {
    if (!check.isObject(tool)) return [];
    if (typeof tool["invoke"] === "function") return [convertToOpenAITool(tool as unknown as Parameters<typeof convertToOpenAITool>[0]) as ToolSchema];
    return check.isObject(tool["function"]) || typeof tool["name"] === "string" ? [tool as unknown as ToolSchema] : [];
  });
}
