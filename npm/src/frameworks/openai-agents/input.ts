// What of a session's history is sent: as much as a budget allows, tool calls with their results and the thoughts before them.

// Whoever imports nothing else of this package needs the module, too.
import "../../places.js";
import type { AgentInputItem, SessionInputCallback } from "@openai/agents-core";
import * as check from "../../check.js";
import { badArgument, ThreadkeepError } from "../../errors.js";
import { trimMessages, type Trimmed } from "../../trim.js";
import type { Budget, Encoding, TrimOptions } from "../../generated/context.js";
import type { MessageInput } from "../../message.js";
import { counts, toMessages } from "./messages.js";

/** Options of {@link budgetInput}. */
export interface BudgetInputOptions {
  /** How much is sent. */
  budget: Budget;
  /** Tokens that the agent's instructions and tools take, which the SDK adds; 0 without it. */
  reserve?: number;
  /** Which messages go first; see {@link TrimOptions.policy}. */
  policy?: "newest" | "stable";
  /** How tokens are counted; `o200k_base` without it. */
  encoding?: Encoding;
  /** Told what was kept and what was dropped, before each run: one line of the ledger a message. */
  onTrimmed?: (trimmed: Trimmed) => void;
}

const any = (value: unknown): unknown => value;
const OPTIONS = { budget: limits, reserve: check.count, policy: any, encoding: any, onTrimmed: check.callback } as const;

/**
 * A `sessionInputCallback` that sends of a session's history what fits a budget: the newest, whole tool groups, and always
 * the new input. The session itself is not changed. It works with every session of the SDK.
 *
 * @throws ThreadkeepError `bad-request`. The callback throws `over-budget`, with the figures and before a model is called, where the new input alone is over the budget
 *
 * @example
 * ```ts
 * const sessionInputCallback = budgetInput({ budget: { maxContextTokens: 128_000, maxOutputTokens: 8_000 }, reserve: 2_000 });
 * await run(agent, "And then?", { session, sessionInputCallback });
 * ```
 */
export function budgetInput(options: BudgetInputOptions): SessionInputCallback {
  const { budget, reserve = 0, policy, encoding, onTrimmed } = check.options(options, "options", OPTIONS) as unknown as BudgetInputOptions;
  limits(budget, "options.budget");
  const how: TrimOptions = { provider: "openai-responses", budget: reserved(budget, reserve), ...(policy && { policy }), ...(encoding && { encoding }) };
  return async (history, added) => {
    const [old, fresh] = [toMessages(history), toMessages(added)];
    const pins = [...old, ...fresh].flatMap((message, index) => (index >= old.length || isCompaction(message) ? [index] : []));
    const trimmed = await trimMessages([...old, ...fresh].map(visible), { ...how, pins });
    onTrimmed?.(trimmed as Trimmed);
    if (trimmed.overBudget)
      throw new ThreadkeepError("over-budget", "what must be sent does not fit the budget", { tokens: trimmed.tokens, budget: trimmed.budget });
    const kept = new Set(trimmed.ledger.filter(({ action, tokensAfter }) => action !== "injected" && tokensAfter > 0).map(({ index }) => index));
    return [...chosen(history, old, kept), ...added];
  };
}

/** The items of those messages that are kept: the same objects, since the SDK knows history by them. */
function chosen(items: readonly AgentInputItem[], messages: readonly MessageInput[], kept: ReadonlySet<number>): AgentInputItem[] {
  let at = 0;
  return counts(messages).flatMap((of, index) => {
    const own = items.slice(at, (at += of));
    return kept.has(index) ? own : [];
  });
}

/** What only OpenAI can read is sent with the rest, so it is counted with the rest. */
function visible(message: MessageInput): MessageInput {
  const { include_in_context: _, ...rest } = message as MessageInput & { include_in_context?: boolean };
  return rest as MessageInput;
}

/** A compaction of OpenAI's stands for all that was before it. */
function isCompaction({ content }: MessageInput): boolean {
  return content === "[compaction]";
}

/** A budget that is left out, or a mere number, would be none at all. */
function limits(budget: unknown, argument: string): unknown {
  if (!check.isObject(budget)) throw badArgument(argument, "must be a budget such as { maxTokens: 100_000 }");
  return budget;
}

function reserved(budget: Budget, reserve: number): Budget {
  const { maxTokens, safetyMargin } = budget;
  const own = maxTokens === undefined ? {} : { maxTokens: Math.max(0, maxTokens - reserve) };
  return { ...budget, ...own, ...(budget.maxContextTokens === undefined ? {} : { safetyMargin: (safetyMargin ?? 0) + reserve }) };
}
