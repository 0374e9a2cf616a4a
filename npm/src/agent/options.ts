// An agent's options: what is checked of them here, and how the engine takes them. Ranges of what it knows itself are its own.

import * as check from "../check.js";
import { SIZES } from "../compaction.js";
import { badArgument } from "../errors.js";
import { limited } from "../model/limits.js";
import { Threadkeep } from "../threadkeep.js";
import { isStandard, parametersOf, type StandardSchema } from "./schema.js";
import type { Summarize } from "../compaction.js";
import type { AgentCompaction, AgentLimits, BuiltInTool, SpendingLimit } from "../generated/agent.js";
import type { CompactionPolicy } from "../generated/compaction.js";
import type { Budget, ContextOptions, Encoding } from "../generated/context.js";
import type { MemoryOrigin } from "../generated/memory.js";
import type { Provider } from "../generated/provider.js";
import type { Mail } from "../generated/mail.js";
import type { AgentModel } from "../model/model.js";

/** Where and for whom a tool is called. */
export interface ToolCallInfo {
  /** The call's id. */
  id: string;
  /** The tool's name. */
  name: string;
  /** The node in whose turn it is called: `keep.node(node)` has the question. */
  node: string;
  /** Ends when the turn is stopped: the result is not waited for any more. */
  signal: AbortSignal;
}

/** A tool of yours. */
// biome-ignore lint/suspicious/noExplicitAny: the tool says what its arguments are
export interface AgentTool<A = any> {
  /** What it does, for the model. */
  description?: string;
  /**
   * Its arguments, as a JSON schema of an object; any object without it. Arguments that do not fit (one is missing, or of another type)
   * are not handed to the tool: the model is told what is wrong. Numbers and truth values may come as text, and are read.
   */
  parameters?: object;
  /**
   * Its arguments, as a schema of Zod, Valibot, ArkType or another library of Standard Schema. `execute` gets what the schema makes of
   * them; {@link tool} gives it their type. The model is told the schema's JSON Schema, or `parameters`, if they are given too.
   */
  schema?: StandardSchema<unknown, A>;
  /**
   * Does it. What comes back is the result, as text or JSON. What is thrown goes to the model as an error, which it can react to.
   * Calls of one answer run side by side. It must not wait for a turn of its
   * own agent, or for another agent's turn in the same conversation: that turn waits for this one.
   */
  execute(args: A, call: ToolCallInfo): unknown;
  /**
   * Whether calling it twice does no harm. Where a crash leaves it open whether a call was carried out, such a tool is called
   * again; of any other the model is told that it was interrupted.
   */
  repeatable?: boolean;
}

/**
 * A tool whose schema gives `execute` the type of its arguments.
 *
 * @example
 * ```ts
 * const weather = tool({
 *   description: "The weather in a town.",
 *   schema: z.object({ town: z.string() }),
 *   execute: ({ town }) => forecast(town),
 * });
 * const agent = createAgent({ keep, model, tools: { weather } });
 * ```
 */
export function tool<A>(definition: AgentTool<A> & { schema: StandardSchema<unknown, A> }): AgentTool<A> {
  return definition;
}

/** How an agent's histories are compacted, and by whom. */
export interface AgentCompactionOptions extends AgentCompaction {
  /**
   * Who summarises: a function, or, with `false`, the built-in rules, which ask no model. Without it the agent's own model does. Rules
   * take over where a model fails.
   */
  summarize?: Summarize | false;
}

/** A keep with a memory service beside it, as `hybrid()` of `threadkeep/hybrid` makes it. */
export interface HybridKeep {
  /** The keep. */
  readonly keep: Threadkeep;
  /** What the service remembers for a thread that answers `query`, as a text for a prompt; empty if there is nothing. */
  recall(thread: string, query: string): Promise<string>;
  /** A thread has got so many messages. */
  appended(thread: string, count: number): Promise<void>;
}

/** What an agent is made of. */
export interface AgentOptions<P extends Provider = Provider, Sdk extends boolean = boolean> {
  /**
   * Where its transcripts and its mailbox are stored. With a hybrid ({@link https://github.com/threadkeep/threadkeep/blob/main/docs/stores/hybrid.md threadkeep/hybrid}), the prompts of a `conversation` have what the
   * memory service remembers, and the service is told of its turns.
   */
  keep: Threadkeep | HybridKeep;
  /** Who answers. */
  model: AgentModel<P, Sdk>;
  /** The model's name, for the payload, and for its context's size where it is a known one. */
  modelName?: string;
  /** The form of the payload; `openai-chat` without it. */
  provider?: P;
  /** Its own name, under which it has a mailbox; `agent` without it. Several agents of different names go side by side. */
  name?: string;
  /** Who talks to it where nobody says; `user` without it. Messages of others begin with a line that says who writes. */
  user?: string;
  /** What stands at the beginning of each of its transcripts; nothing without it. With the tool `reply` it is told of its mailbox below. */
  systemPrompt?: string;
  /** Tools, by the names that the model calls: 1 to 64 letters, digits, `_` and `-`. */
  tools?: Readonly<Record<string, AgentTool>>;
  /**
   * Which of the built-in tools it has; none without it. A turn gets two of them where it needs them: `reply` to answer another agent,
   * and `readToolResult` where its prompt shows only the beginning of a result.
   */
  builtIn?: readonly BuiltInTool[];
  /**
   * How its prompts are made. Without a budget it is the model's; without a policy it is `stable`. Each prompt quotes what this agent and
   * all agents remember of the newest user message; `memory: false` switches that off.
   */
  context?: Omit<ContextOptions<P>, "provider" | "model" | "tools" | "epoch" | "live"> & { render?: { sdk?: Sdk } };
  /** When and how its histories are compacted; `false` for never. Without it, when that is due, by the agent's own model. */
  compaction?: AgentCompactionOptions | false;
  /** When a turn is ended. */
  limits?: AgentLimits;
  /**
   * How much it may spend on its model, per turn or per day. A request that would exceed it is not sent: the turn ends with the code
   * `spending-limit`. A model that has no price in the table needs one in `prices`.
   */
  spendingLimit?: SpendingLimit;
  /**
   * Whether turns that a crash or a closed tab has interrupted go on by themselves, as soon as the agent is used; false without it. They
   * are sent to the model that the agent has now. Without it they wait for {@link Agent.resume}.
   */
  resume?: boolean;
  /**
   * How long after their dismissal messages are deleted for good, with the branches in which they were answered, in milliseconds; never
   * without it. {@link Mailbox.collectDismissed} says what stays. The agent looks when it catches up, and while {@link Agent.run} goes on.
   */
  collectAfter?: number;
  /**
   * Whose statements it remembers, by compactions and by its tool `remember`; `["user", "model"]` without it. What tools and imported
   * conversations say is remembered only if `"tool"` and `"import"` are named.
   */
  rememberFrom?: readonly MemoryOrigin[];
}

/** How a message is sent to an agent. */
export interface SendOptions {
  /**
   * The conversation that it continues: the name of a thread, such as `ann-42`. It begins with its first message, is found again after a
   * restart, and `keep.thread("ann-42")` reads it. Messages of one conversation are answered in order.
   */
  conversation?: string;
  /**
   * The message that it answers: a message of the mailbox, a `messageId`, or a node. It decides the place, and a `conversation` moves
   * there. Without both, or with the `null` of a turn without a reply, a transcript begins. So it does if nobody knows the message, unless
   * there is a `conversation` to continue; `unknownReply` says so.
   */
  replyTo?: string | Pick<Mail, "messageId"> | null;
  /** Who sends it; the agent's `user` without it. */
  from?: string;
  /** Its id; one is minted without it. One that was sent before is not sent again. */
  messageId?: string;
  /** Stops the turn: what was said until then stays. */
  signal?: AbortSignal;
}

/** What an agent is called where nobody says, and who talks to it. @internal */
export const [NAME, USER] = ["agent", "user"];
/** The names of the built-in tools. @internal */
export const BUILT_IN: readonly BuiltInTool[] = ["reply", "send", "listMessages", "dismiss", "searchMemory", "readToolResult", "remember"];
const PROVIDERS: readonly Provider[] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

const object = (value: unknown, argument: string): unknown => {
  if (!check.isObject(value)) throw badArgument(argument, "must be an object");
  return value;
};
const standard = (value: unknown, argument: string): unknown => {
  if (!isStandard(value)) throw badArgument(argument, "must be a Standard Schema, such as one of Zod");
  return value;
};
const TOOL = { description: check.text, parameters: object, schema: standard, execute: check.callback, repeatable: check.flag };
const summarize = (value: unknown, argument: string): unknown => (value === false ? false : check.callback(value, argument));
const COMPACTION = { summarize, keepTurns: check.count, targetTokens: check.count, strategy: check.text, ...SIZES };
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
    const hybrid = value as Partial<HybridKeep> | null | undefined;
    const beside = hybrid?.keep instanceof Threadkeep && typeof hybrid.recall === "function" && typeof hybrid.appended === "function";
    if (!(value instanceof Threadkeep) && !beside) throw badArgument(argument, "must be an open Threadkeep, or a hybrid over one");
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
      const { schema, parameters } = checked as Pick<AgentTool, "schema" | "parameters">;
      parametersOf(schema, parameters, `${argument}.${name}`);
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
  spendingLimit: object,
  resume: check.flag,
  collectAfter: (value: unknown, argument: string) => check.count(value, argument, Number.MAX_SAFE_INTEGER),
  rememberFrom: check.unchecked<readonly MemoryOrigin[]>,
};
/** Options of `send()`. @internal */
export const SEND = { conversation: check.id, replyTo: replyTo, from: check.id, messageId: check.id, signal: check.signal };

/** The options as they were checked. @internal */
export type Checked = Omit<AgentOptions, "tools"> & { tools?: (readonly [string, AgentTool])[] };

/** The options as the engine takes them: `encoding` and `ofKeep` (when to compact) count where they do not say. @internal */
export function params(options: Checked, encoding: Encoding, ofKeep: CompactionPolicy): string {
  const { model, tools = [], systemPrompt, builtIn, compaction, limits, spendingLimit, resume, collectAfter, rememberFrom } = options;
  const provider = options.provider ?? model.provider ?? "openai-chat";
  const name = options.modelName ?? model.modelName ?? "model";
  const { model: _, ...kept } = ofKeep as Record<string, unknown>;
  const { summarize, ...own } = compaction === false ? ({} as AgentCompactionOptions) : (compaction ?? {});
  const figures = { ...kept, ...model.tokens, ...own };
  const { maxContextTokens, maxOutputTokens, safetyMargin } = figures as CompactionPolicy;
  const context = { encoding, ...options.context };
  // Who never compacts has the sizes for prompts alone.
  if (compaction === false && maxContextTokens !== undefined) context.budget ??= { maxContextTokens, maxOutputTokens, safetyMargin } as Budget;
  return check.optionsJson({
    name: options.name ?? NAME,
    user: options.user ?? USER,
    systemPrompt,
    builtIn,
    model: { name, provider, endpoint: model.endpoint },
    tools: tools.map(([name, { description, parameters, schema, repeatable }]) => {
      return { name, description, parameters: parametersOf(schema, parameters, `options.tools.${name}`), repeatable };
    }),
    context,
    compaction: compaction === false ? false : figures,
    limits,
    spendingLimit,
    resume,
    collectAfter,
    rememberFrom,
    service: options.keep instanceof Threadkeep ? undefined : true,
    summarizer: summarize === false ? "rules" : summarize && { function: { name: summarize.summarizer ?? "model", inputTokens: summarize.inputTokens } },
  });
}

function replyTo(value: unknown, argument: string): string | undefined {
  if (value === null) return undefined;
  if (check.isObject(value)) return check.id(value["messageId"], `${argument}.messageId`);
  return check.id(value, argument);
}
