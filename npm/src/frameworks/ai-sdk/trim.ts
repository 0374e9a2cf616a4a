// Steps inside a budget: before each step of `generateText`, `streamText` or an agent, the messages are trimmed as `trimMessages`
// does, a call and its results together.

// Whoever imports nothing else of this package needs the module, too.
import "../../places.js";
import type { ModelMessage } from "ai";
import * as check from "../../check.js";
import { ThreadkeepError } from "../../errors.js";
import { textOf } from "../../model/assembly.js";
import { trimMessages } from "../../trim.js";
import type { Limits, TrimOptions } from "../../generated/context.js";
import type { MessageInput } from "../../message.js";
import { lower, type Lowered } from "./model.js";

/** What a step's messages were trimmed to. */
export interface TrimmedStep {
  /** Which step, from 0. */
  stepNumber: number;
  /** How many messages there were, the instructions not among them. */
  before: number;
  /** How many are left. */
  after: number;
  /** What they hold with the instructions, in tokens. */
  tokens: number;
  /** The limits that held. */
  budget: Limits;
  /** Whether what must stay is over them. */
  overBudget: boolean;
}

/** Options of {@link trimSteps}: those of `trimMessages` but pins. */
export interface TrimStepsOptions extends Omit<TrimOptions, "pins" | "includeSystem"> {
  /** What happens when what must stay does not fit: the step fails with `over-budget` (the default), or the model is asked all the same. */
  overBudget?: "fail" | "send";
  /** Called for each step with what was done. */
  onTrim?: (step: TrimmedStep) => void;
}

/** What a step is prepared from: what `prepareStep` is called with. */
export interface StepToTrim {
  messages: ModelMessage[];
  stepNumber: number;
  /** The instructions of the step; version 6 does not tell them. */
  instructions?: unknown;
}

const same = (value: unknown): unknown => value;
const OPTIONS = {
  // What they must be is checked with the first step, as `trimMessages` does.
  provider: same,
  encoding: same,
  budget: same,
  policy: same,
  overBudget: (value: unknown, argument: string) => check.oneOf(value, ["fail", "send"], argument),
  onTrim: check.callback,
} as const;
const AT = Symbol("place");
type Fields = Record<string, unknown>;
type Placed = MessageInput & { [AT]?: readonly [message: number, part?: number] };

/**
 * A `prepareStep` for `generateText`, `streamText` and `ToolLoopAgent` that trims each step's messages to a budget. Instructions are
 * counted and stay; the newest user message and open calls stay; of the rest the newest that fit. A call goes with all its results
 * or stays with them, so that no provider refuses the step; what stays are the messages themselves, untouched.
 *
 * The tools' schemas are not counted: leave room for them.
 *
 * @throws ThreadkeepError `bad-request`; from the step `over-budget` where what must stay is over the budget
 *
 * @example
 * ```ts
 * const { text } = await generateText({ model, tools, prompt, stopWhen: isLoopFinished(), prepareStep: trimSteps({ budget: { maxTokens: 60_000 } }) });
 * ```
 */
export function trimSteps(options: TrimStepsOptions = {}): (step: StepToTrim) => Promise<{ messages?: ModelMessage[] }> {
  const { overBudget = "fail", onTrim, ...how } = check.options(options, "options", OPTIONS) as TrimStepsOptions;
  // A message that a step hands on to the next is read once.
  const read = new WeakMap<ModelMessage, Lowered[]>();
  return async ({ messages, stepNumber, instructions }) => {
    const list: Placed[] = instructed(instructions).map((content) => ({ role: "system", content }));
    messages.forEach((message, at) => {
      let lowered = read.get(message);
      if (lowered === undefined) read.set(message, (lowered = lower(message)));
      for (const { message: ours, part } of lowered) list.push({ ...ours, [AT]: part === undefined ? [at] : [at, part] } as Placed);
    });
    const trimmed = await trimMessages(list, how);
    if (trimmed.overBudget && overBudget === "fail") {
      const { tokens, budget } = trimmed;
      throw new ThreadkeepError("over-budget", "what must stay of this step's messages is over the budget", { tokens, budget, stepNumber });
    }
    const kept = raised(messages, trimmed.messages as Placed[]);
    onTrim?.({ stepNumber, before: messages.length, after: kept.length, tokens: trimmed.tokens, budget: trimmed.budget, overBudget: trimmed.overBudget });
    const untouched = kept.length === messages.length && kept.every((message, at) => message === messages[at]);
    return untouched ? {} : { messages: kept };
  };
}

/** The texts of instructions, in whatever form they are given. */
function instructed(instructions: unknown): string[] {
  if (instructions === undefined || instructions === null) return [];
  if (typeof instructions === "string") return [instructions];
  const list = Array.isArray(instructions) ? (instructions as unknown[]) : [instructions];
  return list.map((item) => (typeof item === "string" ? item : textOf((item as Fields)["content"])));
}

/** A message of the AI SDK that stays: the one at a place, with the results that stay, or one that was made. */
type Stays = Stay | { made: Fields };

interface Stay {
  at: number;
  /** The places of the results that stay. */
  results: Set<number>;
  /** The ids of the calls that stay, where the message says something. */
  calls?: Set<string>;
}

/** The messages of the AI SDK that are left. */
function raised(messages: readonly ModelMessage[], kept: readonly Placed[]): ModelMessage[] {
  const stays: Stays[] = [];
  const places = new Map<number, Stay>();
  const parts = (at: number): Fields[] => {
    const content = messages[at]?.content as unknown;
    return Array.isArray(content) ? (content as Fields[]) : [];
  };
  const own = new Set(
    messages.flatMap((_, at) => parts(at).flatMap((part) => (part["type"] === "tool-call" && part["providerExecuted"] === true ? [part["toolCallId"]] : []))),
  );
  const names = new Map(
    messages.flatMap((_, at) => parts(at).flatMap((part) => (part["type"] === "tool-call" ? [[part["toolCallId"], part["toolName"]] as const] : []))),
  );
  for (const ours of kept) {
    const [at, part] = ours[AT] ?? [];
    const fields = ours as unknown as Fields;
    if (at === undefined) {
      const id = fields["tool_call_id"];
      // A provider answers for its own tools when it likes.
      if (fields["role"] === "tool" && !own.has(id)) {
        const output = { type: "error-text", value: textOf(fields["content"]) };
        stays.push({ made: { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: names.get(id) ?? "tool", output }] } });
      } else if (fields["role"] === "user") stays.push({ made: { role: "user", content: textOf(fields["content"]) } });
      continue;
    }
    const role = messages[at]?.role;
    const last = stays.at(-1);
    const known = role === "tool" ? (last !== undefined && "at" in last && last.at === at ? last : undefined) : places.get(at);
    const stay: Stay = known ?? { at, results: new Set<number>() };
    if (known === undefined) stays.push(stay);
    places.set(at, stay);
    if (part !== undefined) stay.results.add(part);
    else stay.calls = new Set(((fields["tool_calls"] ?? []) as { id: string }[]).map(({ id }) => id));
  }
  const made = stays.map((stay): ModelMessage => {
    if ("made" in stay) return stay.made as unknown as ModelMessage;
    const message = messages[stay.at] as ModelMessage;
    const all = parts(stay.at);
    const left = all.filter((part, at) => {
      if (part["type"] === "tool-result") return stay.results.has(at);
      return part["type"] !== "tool-call" || stay.calls === undefined || stay.calls.has(String(part["toolCallId"]));
    });
    return left.length === all.length ? message : ({ ...message, content: left } as ModelMessage);
  });
  return approved(messages, made);
}

/** Puts back the answers to approvals that stand alone, behind the calls that they are about. */
function approved(messages: readonly ModelMessage[], kept: ModelMessage[]): ModelMessage[] {
  const alone = messages.filter(
    ({ role, content }) =>
      role === "tool" && Array.isArray(content) && content.length > 0 && content.every((part) => (part as Fields)["type"] !== "tool-result"),
  );
  if (alone.length === 0) return kept;
  const places = new Map<ModelMessage, number>();
  for (const [at, message] of messages.entries()) if (!places.has(message)) places.set(message, at);
  const asked = new Map<unknown, number>();
  for (const [at, { content }] of kept.entries())
    for (const part of Array.isArray(content) ? (content as unknown as Fields[]) : [])
      if (part["type"] === "tool-approval-request" && !asked.has(part["approvalId"])) asked.set(part["approvalId"], at);
  // What comes before the kept message of each place.
  const back = new Map<number, ModelMessage[]>();
  for (const message of alone) {
    const ids = (message.content as unknown as Fields[]).map((part) => part["approvalId"]);
    const first = Math.min(...ids.map((id) => asked.get(id) ?? Infinity));
    if (first === Infinity) continue;
    const place = places.get(message) as number;
    let at = first + 1;
    while (at < kept.length && (places.get(kept[at] as ModelMessage) ?? Infinity) < place) at += 1;
    const there = back.get(at);
    if (there === undefined) back.set(at, [message]);
    else there.push(message);
  }
  return [...kept, undefined].flatMap((message, at) => [...(back.get(at) ?? []), ...(message === undefined ? [] : [message])]);
}
