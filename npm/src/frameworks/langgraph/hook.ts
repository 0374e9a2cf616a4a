// A node before the model: what of a graph's messages fits the budget. The state keeps all of them; the model sees `llmInputMessages`.

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import * as check from "../../check.js";
import { ThreadkeepError, badArgument } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { CompactionPolicy, CompactOptions } from "../../types/compaction.js";
import type { ContextOptions, LedgerLine, Limits } from "../../types/context.js";
import { toLangChain } from "../langchain/messages.js";
import { trimLangChain } from "../langchain/trim.js";
import { mirror } from "./mirror.js";

/** What a hook did, for whoever wants to know. */
export interface HookReport {
  /** One line for each message. */
  ledger: LedgerLine[];
  /** What the model's messages hold, in tokens. */
  tokens: number;
  /** The limits that held. */
  budget: Limits;
}

/** Options of {@link contextHook}. */
export interface ContextHookOptions extends Pick<ContextOptions, "budget" | "provider" | "encoding" | "policy" | "systemPrompt"> {
  /**
   * Where the messages become a conversation, under the thread's id as head. The model then sees what `keep.context` makes of it: summaries
   * for what a compaction has covered, previews of large tool results, memory. Without it, the messages are trimmed.
   */
  keep?: Threadkeep;
  /** Only with a keep: see {@link ContextOptions.toolPreview}. */
  toolPreview?: ContextOptions["toolPreview"];
  /** Only with a keep: see {@link ContextOptions.memory}. */
  memory?: ContextOptions["memory"];
  /**
   * Only with a keep: old turns are compacted before the model is called, when {@link ContextHookOptions.compactWhen | compactWhen} says so or it was asked for. The
   * originals stay. `{}` for the built-in summariser; without the option, nothing is compacted here.
   */
  compact?: CompactOptions;
  /** Only with `compact`: when it is due, by what the provider counted for the last answer; what the keep was opened with goes before the defaults. */
  compactWhen?: CompactionPolicy;
  /** Only with a keep: tools whose schemas count against the budget. */
  tools?: ContextOptions["tools"];
  /** The state's list of messages; `messages` without it. */
  channel?: string;
  /** Told after each trimming. */
  onTrim?: (report: HookReport) => void;
}

const asIs = (value: unknown): unknown => value;
const TRIM = { budget: asIs, provider: asIs, encoding: asIs, policy: asIs } as const;
const KEEP = { toolPreview: asIs, memory: asIs, tools: asIs, compact: asIs, compactWhen: asIs } as const;
const HOOK = { ...TRIM, ...KEEP, systemPrompt: check.text, keep: asIs, channel: check.text, onTrim: check.callback } as const;

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
  const { keep, channel = "messages", onTrim, systemPrompt, compact, compactWhen, ...how } = check.options(options, "options", HOOK) as ContextHookOptions;
  if (keep === undefined)
    for (const name of Object.keys(KEEP))
      if (options !== undefined && options[name as keyof typeof KEEP] !== undefined) throw badArgument(`options.${name}`, "needs a keep: give one as options.keep");
  if (compact === undefined && compactWhen !== undefined) throw badArgument("options.compactWhen", "needs options.compact");
  return async (state, config) => {
    const messages = state[channel];
    if (!Array.isArray(messages)) throw badArgument(`state.${channel}`, "must be a list of messages");
    const list = messages as BaseMessage[];
    if (list.length === 0 && systemPrompt === undefined) return { llmInputMessages: [] };
    if (keep === undefined || list.length === 0) {
      const instructions = systemPrompt === undefined ? [] : [toLangChain({ role: "system", content: systemPrompt })];
      const trimmed = await trimLangChain([...instructions, ...list], pick(how, Object.keys(TRIM)));
      return { llmInputMessages: done(trimmed, onTrim, trimmed.messages) };
    }
    const thread: unknown = config?.configurable?.["thread_id"];
    if (typeof thread !== "string" || thread === "") throw badArgument("config.configurable.thread_id", "must name the thread, whose conversation the keep holds");
    await mirror(keep, thread, list);
    if (compact !== undefined) await compactIfDue(keep, thread, list, { ...pick(how, ["provider", "encoding"]), ...compact }, compactWhen);
    const context = await keep.context(thread, { ...how, ...(systemPrompt === undefined ? {} : { systemPrompt }) } as ContextOptions);
    return { llmInputMessages: done(context, onTrim, context.messages.map(toLangChain)) };
  };
}

/** Compacts a conversation whose last answer was counted above the policy's mark, or for which somebody asked. */
async function compactIfDue(keep: Threadkeep, thread: string, messages: readonly BaseMessage[], options: CompactOptions, policy: CompactionPolicy | undefined): Promise<void> {
  const last = messages.filter((message) => message.getType() === "ai").at(-1) as { usage_metadata?: { input_tokens?: number } } | undefined;
  const counted = last?.usage_metadata?.input_tokens;
  if ((await keep.afterResponse(thread, counted === undefined ? {} : { promptTokens: counted }, policy)) === null) return;
  try {
    await keep.compact(thread, options);
  } catch (error) {
    // Nothing was gained, nothing is lost: the budget is kept by trimming, as without a compaction.
    if (!check.isObject(error) || error["code"] !== "summary-refused") throw error;
    await keep.clearCompactionRequest(thread);
  }
}

/** The options of these names that are given. */
function pick(options: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}

function done(made: HookReport & { overBudget: boolean }, onTrim: ContextHookOptions["onTrim"], messages: BaseMessage[]): BaseMessage[] {
  const { ledger, tokens, budget } = made;
  onTrim?.({ ledger, tokens, budget });
  if (made.overBudget) throw new ThreadkeepError("over-budget", "what the model must see does not fit the budget", { tokens, budget });
  return messages;
}
