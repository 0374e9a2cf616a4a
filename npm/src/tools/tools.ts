// `threadkeep/tools`: a keep as tools for any model. One list of plain tools; MCP, Anthropic's memory tool and WebMCP are faces of it.

import * as check from "../check.js";
import { badArgument } from "../errors.js";
import type { Threadkeep } from "../threadkeep.js";
import type { Encoding } from "../generated/context.js";
import { Measure } from "./bound.js";
import { conversationTools } from "./conversations.js";
import { FILES_OPTIONS, MemoryFiles, type MemoryFilesOptions } from "./files.js";
import { fileTools } from "./filetools.js";
import { episodeTool, factTools } from "./remembered.js";
import { searchTool } from "./search.js";
import { tool, type MemoryTool, type ToolGroup } from "./tool.js";

export type { MemoryFile, MemoryFiles, MemoryFilesOptions } from "./files.js";
export type { JsonSchema, ObjectSchema } from "./schema.js";
export type { MemoryTool, ToolAnswer, ToolCallOptions, ToolGroup } from "./tool.js";

/** The names of the tools, without a prefix. */
export type MemoryToolName =
  | "search_memory"
  | "list_conversations"
  | "read_conversation"
  | "read_message"
  | "recall_facts"
  | "remember_fact"
  | "forget_fact"
  | "list_episodes"
  | "memory_view"
  | "memory_create"
  | "memory_str_replace"
  | "memory_insert"
  | "memory_delete"
  | "memory_rename";

/** Which tools, under which names, and how much each may answer. */
export interface MemoryToolsOptions {
  /** Only these: names of tools or groups. Everything without it. */
  include?: readonly (MemoryToolName | ToolGroup)[];
  /** All but these: names of tools or groups. */
  exclude?: readonly (MemoryToolName | ToolGroup)[];
  /** `true`: only tools that change nothing. */
  readOnly?: boolean;
  /** What all names begin with, such as `threadkeep_`: letters, digits, `_` and `-`, at most 40. */
  prefix?: string;
  /** The most tokens of one answer, from 200 on; 4,000 without it. */
  maxTokens?: number;
  /**
   * How these are counted: `estimate` (the default; by weighing characters, which needs no vocabulary and rather counts too much),
   * `o200k_base` or `cl100k_base`.
   */
  encoding?: Encoding;
  /** Where the memory files lie, and how much they may hold. */
  files?: MemoryFilesOptions;
}

/** What is checked of {@link MemoryToolsOptions}. @internal */
export const TOOLS_OPTIONS = {
  include: names,
  exclude: names,
  readOnly: check.flag,
  prefix: (value: unknown, argument: string) => {
    const prefix = check.text(value, argument);
    if (!/^[A-Za-z0-9_-]{0,40}$/.test(prefix)) throw badArgument(argument, "must be at most 40 letters, digits, _ and -");
    return prefix;
  },
  maxTokens: (value: unknown, argument: string) => {
    const most = check.count(value, argument);
    if (most < 200) throw badArgument(argument, `must be 200 or more, it is ${most}`);
    return most;
  },
  encoding: (value: unknown, argument: string) => check.oneOf(value, ["o200k_base", "cl100k_base", "estimate"] as const, argument),
  files: (value: unknown, argument: string) => check.options(value, argument, FILES_OPTIONS),
} as const;

/**
 * A keep as tools for a model: it can search all conversations, read them within a token budget, recall and remember facts, and
 * keep notes in files. No tool changes or deletes a conversation. Calls never reject: what is wrong is an answer that a model can
 * act on.
 *
 * @param keep the open keep
 * @param options which tools, and how much they answer
 * @returns the tools, those that read before those that write
 * @throws ThreadkeepError `bad-request` for an option that is not known, or a name that is none
 *
 * @example
 * ```ts
 * const tools = memoryTools(keep, { exclude: ["files"], maxTokens: 2000 });
 * const byName = new Map(tools.map((tool) => [tool.name, tool]));
 * const schemas = tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
 * // … the model calls a tool:
 * const content = await byName.get(call.name)!.execute(call.input, { signal });
 * ```
 */
export function memoryTools(keep: Threadkeep, options?: MemoryToolsOptions): MemoryTool[] {
  const given = check.options(options, "options", TOOLS_OPTIONS) as MemoryToolsOptions;
  const { include, exclude = [], readOnly = false, prefix = "", maxTokens = 4000, encoding = "estimate", files = {} } = given;
  const measure = new Measure(maxTokens, encoding);
  const specs = [
    searchTool(keep, measure),
    ...conversationTools(keep, measure),
    ...factTools(keep, measure),
    episodeTool(keep, measure),
    ...fileTools(new MemoryFiles(keep, files), measure),
  ];
  const known = new Set(specs.flatMap(({ name, group }) => [name, group]));
  for (const [list, argument] of [
    [include ?? [], "include"],
    [exclude, "exclude"],
  ] as const) {
    const unknown = list.find((name) => !known.has(name));
    if (unknown !== undefined) throw badArgument(`options.${argument}`, `names ${JSON.stringify(unknown)}; there are: ${[...known].join(", ")}`);
  }
  const wanted = specs.filter(({ name, group, readOnly: reads }) => {
    const among = (list: readonly string[]): boolean => list.includes(name) || list.includes(group);
    return (include === undefined || among(include)) && !among(exclude) && (reads || !readOnly);
  });
  return [...wanted.filter(({ readOnly: reads }) => reads), ...wanted.filter(({ readOnly: reads }) => !reads)].map((spec) => tool(spec, prefix));
}

/**
 * The files of a model's memory, to list and read them: what `memory_view` and Anthropic's memory tool show the model.
 *
 * @throws ThreadkeepError `bad-request`; from its methods also the storage's codes
 *
 * @example
 * ```ts
 * for (const { path } of await memoryFiles(keep).list()) console.log(path, await memoryFiles(keep).read(path));
 * ```
 */
export function memoryFiles(keep: Threadkeep, options?: MemoryFilesOptions): Pick<MemoryFiles, "list" | "read"> {
  return new MemoryFiles(keep, check.options(options, "options", FILES_OPTIONS) as MemoryFilesOptions);
}

function names(value: unknown, argument: string): string[] {
  if (!Array.isArray(value)) throw badArgument(argument, "must be a list of names");
  return value.map((name, index) => check.text(name, `${argument}[${index}]`));
}
