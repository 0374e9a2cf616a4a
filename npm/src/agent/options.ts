// An agent's options: what is checked of them here, and how the engine takes them. Ranges of what it knows itself are its own.

import * as check from "../check.js";
import { SIZES } from "../compaction.js";
import { badArgument } from "../errors.js";
import { limited } from "../model/limits.js";
import { Threadkeep } from "../threadkeep.js";
import type { AgentModel, AgentOptions, AgentTool, BuiltInTool } from "../types/agent.js";
import type { CompactionPolicy } from "../types/compaction.js";
import type { Budget, Encoding, Provider } from "../types/context.js";

/** What an agent is called where nobody says, and who talks to it. @internal */
export const [NAME, USER] = ["agent", "user"];
/** The names of the built-in tools. @internal */
export const BUILT_IN: readonly BuiltInTool[] = ["reply", "send", "listMessages", "dismiss", "searchMemory", "readToolResult", "remember"];
const PROVIDERS: readonly Provider[] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

const object = (value: unknown, argument: string): unknown => {
  if (!check.isObject(value)) throw badArgument(argument, "must be an object");
  return value;
};
const TOOL = { description: check.text, parameters: object, execute: check.callback, repeatable: check.flag };
const COMPACTION = { keepTurns: check.count, targetTokens: check.count, strategy: check.text, ...SIZES };
const LIMITS = {
  steps: check.count,
  tokens: check.count,
  calls: check.count,
  argumentBytes: check.count,
  millis: check.millis,
};
/** Options of `createAgent()`. @internal */
export const OPTIONS = {
  keep: (value: unknown, argument: string) => {
    if (!(value instanceof Threadkeep)) throw badArgument(argument, "must be an open Threadkeep");
    return value;
  },
  model: (value: unknown, argument: string) => {
    const model = check.callback(value, argument) as AgentModel;
    limited(model.limits);
    return model;
  },
  modelName: check.text,
  provider: (value: unknown, argument: string) => check.oneOf(value, PROVIDERS, argument),
  name: check.id,
  user: check.id,
  systemPrompt: check.text,
  tools: (value: unknown, argument: string) => {
    const all = object(value, argument) as Record<string, unknown>;
    return Object.entries(all).map(([name, tool]) => {
      if (!/^[\w-]{1,64}$/.test(name)) throw badArgument(`${argument}.${name}`, "must be called by 1 to 64 letters, digits, _ and -");
      const checked = check.options(tool, `${argument}.${name}`, TOOL);
      if (checked["execute"] === undefined) throw badArgument(`${argument}.${name}.execute`, "is missing");
      // As it was given: `execute` may be a method.
      return [name, tool as AgentTool] as const;
    });
  },
  builtIn: (value: unknown, argument: string) => {
    if (!Array.isArray(value)) throw badArgument(argument, "must be a list of names");
    return value.map((name, at) => check.oneOf(name, BUILT_IN, `${argument}[${at}]`));
  },
  context: object,
  compaction: (value: unknown, argument: string) => {
    if (value === false) return false;
    return check.options(object(value, argument), argument, COMPACTION);
  },
  limits: (value: unknown, argument: string) => check.options(value, argument, LIMITS),
  resume: check.flag,
};
/** Options of `send()`. @internal */
export const SEND = { replyTo: replyTo, from: check.id, messageId: check.id, signal: check.signal };

/** The options as they were checked. @internal */
export type Checked = Omit<AgentOptions, "tools"> & { tools?: (readonly [string, AgentTool])[] };

/** The options as the engine takes them: `encoding` and `ofKeep` (when to compact) count where they do not say. @internal */
export function params(options: Checked, encoding: Encoding, ofKeep: CompactionPolicy): string {
  const { model, tools = [], systemPrompt, builtIn, compaction, limits, resume } = options;
  const provider = options.provider ?? model.provider ?? "openai-chat";
  const name = options.modelName ?? model.modelName ?? "model";
  const { model: _, ...kept } = ofKeep as Record<string, unknown>;
  const figures = { ...kept, ...model.tokens, ...(compaction === false ? {} : compaction) };
  const { maxContextTokens, maxOutputTokens, safetyMargin } = figures as CompactionPolicy;
  const context = { encoding, ...options.context };
  // Who never compacts has the sizes for prompts alone.
  if (compaction === false && maxContextTokens !== undefined) context.budget ??= { maxContextTokens, maxOutputTokens, safetyMargin } as Budget;
  return check.optionsJson({
    name: options.name ?? NAME,
    user: options.user ?? USER,
    systemPrompt,
    builtIn,
    model: { name, provider },
    tools: tools.map(([name, { description, parameters, repeatable }]) => ({ name, description, parameters, repeatable })),
    context,
    compaction: compaction === false ? false : figures,
    limits,
    resume,
  });
}

function replyTo(value: unknown, argument: string): string | undefined {
  if (value === null) return undefined;
  if (check.isObject(value)) return check.id(value["messageId"], `${argument}.messageId`);
  return check.id(value, argument);
}
