// `threadkeep/anthropic-memory`: Anthropic's memory tool (`memory_20250818`) on a keep, for the tool runner of `@anthropic-ai/sdk` and for
// loops of one's own. Claude's files lie in the keep's own storage; what the commands answer is in commands.ts.

import { betaMemoryTool, type MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";
import type { BetaRunnableTool } from "@anthropic-ai/sdk/lib/tools/BetaRunnableTool";
import type { BetaMemoryTool20250818, BetaMemoryTool20250818Command } from "@anthropic-ai/sdk/resources/beta";
import * as check from "../check.js";
import type { Threadkeep } from "../threadkeep.js";
import type { Encoding } from "../generated/context.js";
import { Measure } from "./bound.js";
import { run } from "./commands.js";
import { FILES_OPTIONS, MemoryFiles, type MemoryFilesOptions } from "./files.js";
import { failure } from "./tool.js";
import { TOOLS_OPTIONS } from "./tools.js";

export type { MemoryFile, MemoryFilesOptions } from "./files.js";

/** Where the files lie, how much they may hold, and how much a view shows. */
export interface AnthropicMemoryOptions extends MemoryFilesOptions {
  /** The most tokens of one view, from 200 on; 10,000 without it. What is longer is shown in part, with how to go on. */
  maxTokens?: number;
  /** How these are counted, as for `memoryTools`. */
  encoding?: Encoding;
  /** Sent with the tool's definition. */
  cache_control?: BetaMemoryTool20250818["cache_control"];
}

/** What a command answers, as the content of a `tool_result`. */
export interface AnthropicMemoryAnswer {
  /** The documented words. */
  content: string;
  /** Whether the command failed. */
  is_error: boolean;
}

/** The memory tool: for `tools` of a tool runner or of a request, and to answer calls by hand. */
export type AnthropicMemoryTool = BetaRunnableTool<BetaMemoryTool20250818Command> & {
  type: "memory_20250818";
  name: "memory";
  /** Answers the `input` of a `tool_use`. It never rejects. */
  answer(input: unknown): Promise<AnthropicMemoryAnswer>;
};

const OPTIONS = { ...FILES_OPTIONS, maxTokens: TOOLS_OPTIONS.maxTokens, encoding: TOOLS_OPTIONS.encoding, cache_control: (value: unknown) => value } as const;

/**
 * Anthropic's memory tool on a keep. With the SDK's tool runner it needs nothing else; in a loop of your own, `answer` gives the
 * content of the `tool_result`.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known
 *
 * @example
 * ```ts
 * const final = await anthropic.beta.messages.toolRunner({
 *   model: "claude-sonnet-4-5",
 *   max_tokens: 2048,
 *   betas: ["context-management-2025-06-27"],
 *   tools: [memoryTool(keep)],
 *   messages: [{ role: "user", content: "What did we decide about the hotel?" }],
 * });
 * ```
 */
export function memoryTool(keep: Threadkeep, options?: AnthropicMemoryOptions): AnthropicMemoryTool {
  const { answer, cache_control } = answering(keep, options);
  const extra = cache_control === undefined ? {} : { cache_control };
  return Object.assign(betaMemoryTool(handlersOf(answer), extra), { answer }) as AnthropicMemoryTool;
}

/**
 * The handlers of the commands, for `betaMemoryTool` of `@anthropic-ai/sdk/helpers/beta/memory`. A failed command is thrown as the
 * SDK's `ToolError`, which its runners turn into an answer with the documented words.
 *
 * @throws ThreadkeepError `bad-request` for an option that is not known
 *
 * @example
 * ```ts
 * const memory = betaMemoryTool({ ...memoryHandlers(keep), delete: () => "Deleting is not allowed here." });
 * ```
 */
export function memoryHandlers(keep: Threadkeep, options?: Omit<AnthropicMemoryOptions, "cache_control">): MemoryToolHandlers {
  return handlersOf(answering(keep, options).answer);
}

function answering(
  keep: Threadkeep,
  options: AnthropicMemoryOptions | undefined,
): Pick<AnthropicMemoryTool, "answer"> & Pick<AnthropicMemoryOptions, "cache_control"> {
  const { maxTokens = 10_000, encoding = "estimate", cache_control, ...rest } = check.options(options, "options", OPTIONS) as AnthropicMemoryOptions;
  const files = new MemoryFiles(keep, rest);
  const measure = new Measure(maxTokens, encoding);
  const answer = async (input: unknown): Promise<AnthropicMemoryAnswer> => {
    try {
      const given = typeof input === "string" ? (JSON.parse(input) as unknown) : input;
      if (!check.isObject(given)) return { content: "Error: The input must be an object with a command", is_error: true };
      return { content: await run(files, measure, given), is_error: false };
    } catch (error) {
      const words = error instanceof SyntaxError ? "The input is not valid JSON" : failure(error);
      return { content: words, is_error: true };
    }
  };
  return cache_control === undefined ? { answer } : { answer, cache_control };
}

function handlersOf(answer: AnthropicMemoryTool["answer"]): MemoryToolHandlers {
  const handler = async (command: BetaMemoryTool20250818Command): Promise<string> => {
    const { content, is_error } = await answer(command);
    if (is_error) throw new ToolError(content);
    return content;
  };
  return { view: handler, create: handler, str_replace: handler, insert: handler, delete: handler, rename: handler };
}
