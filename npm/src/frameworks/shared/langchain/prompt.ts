// What of a list of messages a model is to see: trimmed to a budget, or, with a keep, what its conversation comes to. The hook for graphs and the
// middleware for agents are two ways to get here.

import type { BaseMessage } from "@langchain/core/messages";
import * as check from "../../../check.js";
import { ThreadkeepError, badArgument } from "../../../errors.js";
import { countTokens } from "../../../prompts.js";
import type { Thread } from "../../../handles/thread.js";
import type { Threadkeep } from "../../../threadkeep.js";
import type { CompactOptions } from "../../../compaction.js";
import type { CompactionPolicy } from "../../../generated/compaction.js";
import type { Budget, ContextOptions, LedgerLine, Limits } from "../../../generated/context.js";
import type { ToolSchema } from "../../../payload.js";
import { toLangChain } from "./messages.js";
import { mirrored } from "./mirror.js";
import { trimLangChain } from "./trim.js";

/** What was done for a prompt, for whoever wants to know. */
export interface TrimReport {
  /** One line for each message. */
  ledger: LedgerLine[];
  /** What the model's messages hold, in tokens. */
  tokens: number;
  /** The limits that held. */
  budget: Limits;
}

/** Options of {@link contextMiddleware}, and most of those of the hook for graphs. */
export interface PromptOptions extends Pick<ContextOptions, "budget" | "provider" | "encoding" | "policy"> {
  /**
   * Where the messages become a conversation, under the thread's id. The model then sees what its `context` makes of it: summaries
   * for what a compaction has covered, previews of large tool results, memory. Without it, the messages are trimmed.
   */
  keep?: Threadkeep;
  /** Only with a keep: when large tool results become previews, as for `thread.context`. */
  toolPreview?: ContextOptions["toolPreview"];
  /** Only with a keep: what of the memory comes along, as for `thread.context`. */
  memory?: ContextOptions["memory"];
  /**
   * Only with a keep: old turns are compacted before the model is called, when `compactWhen` says so or it was asked for. The
   * originals stay. `{}` for the built-in summariser; without the option, nothing is compacted here.
   */
  compact?: CompactOptions;
  /**
   * Only with `compact`: when it is due, by what the provider counted for the last answer. Without it, as the keep was opened, or by the defaults,
   * and as soon as old turns no longer fit the budget.
   */
  compactWhen?: CompactionPolicy;
  /** Told after each trimming. */
  onTrim?: (report: TrimReport) => void;
}

/** What a prompt is made of, beside the options. */
export interface PromptInput {
  messages: readonly BaseMessage[];
  /** The thread's id, which is the name of a thread of the keep. */
  thread: unknown;
  /** The instructions; they come back as the first message. */
  system: BaseMessage | undefined;
  /** Tools whose schemas count against the budget. */
  tools: readonly ToolSchema[];
}

const asIs = (value: unknown): unknown => value;
const TRIM = ["budget", "provider", "encoding", "policy"] as const;
/** Options of `context` that only a keep has. */
const CONTEXT = ["toolPreview", "memory"] as const satisfies (keyof PromptOptions & keyof ContextOptions)[];
const KEEP = [...CONTEXT, "compact", "compactWhen"] as const;

/** The options that there are, for `check.options`. */
export const PROMPT = {
  ...Object.fromEntries([...TRIM, ...KEEP, "keep"].map((name) => [name, asIs])),
  onTrim: check.callback,
} as Readonly<Record<string, (value: unknown, argument: string) => unknown>>;

/** Refuses options that have no meaning without others. */
export function checkPrompt(options: PromptOptions): void {
  if (options.keep === undefined)
    for (const name of KEEP) if (options[name] !== undefined) throw badArgument(`options.${name}`, "needs a keep: give one as options.keep");
  if (options.compact === undefined && options.compactWhen !== undefined) throw badArgument("options.compactWhen", "needs options.compact");
}

/** The messages of a prompt; all system messages at its beginning are one. */
export async function promptOf(options: PromptOptions, { messages, thread, system, tools }: PromptInput): Promise<BaseMessage[]> {
  const { keep, compact, compactWhen, onTrim } = options;
  if (keep === undefined || messages.length === 0) {
    const how = pick(options, TRIM);
    if (tools.length > 0) how["budget"] = less(options.budget, await countTokens(JSON.stringify(tools), options.encoding));
    const trimmed = await trimLangChain(system === undefined ? messages : [system, ...messages], how);
    return done(trimmed, onTrim, trimmed.messages);
  }
  if (typeof thread !== "string" || thread === "")
    throw badArgument("config.configurable.thread_id", "must name the thread, whose conversation the keep holds");
  const conversation = keep.thread(thread);
  return mirrored(keep, thread, messages, async () => {
    const how = { ...pick(options, ["provider", "encoding"]), ...compact };
    const make = () =>
      conversation.context({
        ...pick(options, [...TRIM, ...CONTEXT]),
        ...(system === undefined ? {} : { systemPrompt: system.text }),
        ...(tools.length === 0 ? {} : { tools }),
      });
    if (compact !== undefined) await compactIfDue(conversation, countedOf(messages), how, compactWhen);
    let context = await make();
    const { tokens: limit } = context.budget;
    if (compact !== undefined && compactWhen === undefined && limit !== null) {
      // The provider never counts what a budget leaves out.
      const out = context.ledger
        .filter(({ action, rule }) => action === "dropped" && rule.startsWith("over-"))
        .reduce((sum, { tokensBefore }) => sum + tokensBefore, 0);
      const policy = { maxContextTokens: limit, maxOutputTokens: 0, safetyMargin: 0, compactionRatio: 1 };
      if (out > 0 && (await compactIfDue(conversation, context.tokens + out, how, policy))) context = await make();
    }
    // Some providers take one message with instructions, at the beginning.
    const first = context.messages.findIndex(({ role }) => role !== "system");
    const instructions = context.messages.slice(0, first < 0 ? undefined : first);
    const rest = first < 0 ? [] : context.messages.slice(first);
    const joined =
      instructions.length < 2
        ? instructions.map(toLangChain)
        : [toLangChain({ role: "system", content: instructions.map((message) => toLangChain(message).text).join("\n\n") })];
    return done(context, onTrim, [...joined, ...rest.map(toLangChain)]);
  });
}

/** A budget with so many tokens less. */
function less(budget: Budget | undefined, tokens: number): Budget {
  const { maxTokens, maxContextTokens, safetyMargin = 0 } = budget ?? {};
  if (maxTokens !== undefined) return { ...budget, maxTokens: Math.max(0, maxTokens - tokens) };
  return maxContextTokens === undefined ? { ...budget } : { ...budget, safetyMargin: safetyMargin + tokens };
}

/** What the provider counted for the last answer's prompt. */
function countedOf(messages: readonly BaseMessage[]): number | undefined {
  const last = messages.filter((message) => message.getType() === "ai").at(-1) as { usage_metadata?: { input_tokens?: number } } | undefined;
  return last?.usage_metadata?.input_tokens;
}

/** Compacts a conversation whose prompt was counted above the policy's mark, or for which somebody asked; gives whether it did. */
async function compactIfDue(thread: Thread, counted: number | undefined, options: CompactOptions, policy: CompactionPolicy | undefined): Promise<boolean> {
  if ((await thread.afterResponse(counted === undefined ? {} : { promptTokens: counted }, policy)) === null) return false;
  try {
    await thread.compact(options);
    return true;
  } catch (error) {
    // Nothing was gained, nothing is lost: the budget is kept by trimming, as without a compaction.
    if (!check.isObject(error) || error["code"] !== "summary-refused") throw error;
    await thread.clearCompactionRequest();
    return false;
  }
}

/** The options of these names that are given. */
function pick(options: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined));
}

function done(made: TrimReport & { overBudget: boolean }, onTrim: PromptOptions["onTrim"], messages: BaseMessage[]): BaseMessage[] {
  const { ledger, tokens, budget } = made;
  onTrim?.({ ledger, tokens, budget });
  if (made.overBudget) throw new ThreadkeepError("over-budget", "what the model must see does not fit the budget", { tokens, budget });
  return messages;
}
