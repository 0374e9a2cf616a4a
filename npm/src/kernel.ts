// The memory kernel of an agent: its operations under the names that readers of such systems know, over a thread of a keep. Its
// working context is the chain of that thread with its newest checkpoint. Only settings are stored here.

import * as check from "./check.js";
import { badArgument, reportUncaught, wordsOf } from "./errors.js";
import { render } from "./prompts.js";
import type { Thread } from "./handles/thread.js";
import { inside, Threadkeep } from "./threadkeep.js";
import type { CompactOptions, ResponseUsage } from "./compaction.js";
import type { Compaction, CompactionPolicy, CompactionReason } from "./generated/compaction.js";
import type { ContextOptions, Encoding } from "./generated/context.js";
import type { Provider } from "./generated/provider.js";
import type { MemoryBundle, ToolInteraction } from "./generated/memory.js";
import type { Message, MessageInput, ToolCall } from "./message.js";
import type { Payload } from "./payload.js";
import { needEncoding } from "./vocabulary.js";

/** One line of an agent's raw trace: what was recorded in a turn, in the order in which it happened. */
export interface RawTrace {
  id: string;
  /** When, in seconds since 1970 with a fraction. */
  ts: number;
  /** Such as `turn_0001`. */
  turn_id: string;
  /** Its place in the turn, from 1. */
  seq: number;
  trace_type: "user" | "assistant" | "tool_call" | "tool_result";
  /** The text; may be empty for tools. */
  content: string;
  /** The event that it came from. */
  source_event: string;
  tool_name?: string;
  tool_call_id?: string;
  tool_args?: unknown;
  tool_result?: unknown;
  tool_error?: string;
  tags?: string[];
  [field: string]: unknown;
}

/** How {@link Kernel.buildSnapshot} is kept small. */
export interface SnapshotOptions {
  /** The most tokens of all but the system prompt: what ranks least goes first. Any number without it. */
  maxTokens?: number;
  /** How these are counted; as {@link Threadkeep.open} was told without it. */
  encoding?: Encoding;
}

/** How a {@link Kernel} works. */
export interface KernelOptions<P extends Provider = Provider> {
  /** Budget, provider, counting and frame of the prompts. */
  context?: ContextOptions<P>;
  /** When to compact; fields that are left out are as `open` was told. */
  policy?: CompactionPolicy;
  /** How to compact. */
  compact?: CompactOptions;
  /** How much is retrieved for a prompt once there is a checkpoint; 3 episodes and 20 facts without it. */
  memory?: { episodes?: number; facts?: number };
  /**
   * What is stored as the user's input once the last pending call of a turn has its result, such as `"All tools finished. Continue."`. It opens the next
   * turn. Nothing without it: providers take results without more words.
   */
  continuation?: string;
}

/** What stands before and behind each call of a model. What it throws is reported as an uncaught error and disturbs nobody. */
export interface Extension {
  /** Before the call: the messages and the payload that will be sent. */
  beforeInvoke?(messages: Message[], payload: unknown): void;
  /** After the call: what was sent, what came back, and what the provider counted. */
  afterInvoke?(messages: Message[], response: MessageInput, usage?: ResponseUsage): void;
}

/**
 * What changes a message on its way into memory: cleans it up, formats it. What comes out is what is stored and sent; its role and its
 * call must stay. Memory takes it at the order 900 ({@link INGEST_ORDER}), after all processors.
 */
export interface Processor {
  /** Its place: a smaller one comes first, of equal ones that which was added first. Below 900. */
  order: number;
  /** A user's input. */
  input?(message: MessageInput): MessageInput | Promise<MessageInput>;
  /** A tool's result, or why it failed. */
  toolResult?(message: MessageInput): MessageInput | Promise<MessageInput>;
}

/** The place of memory among the {@link Processor}s: what reaches it is what the model will see. */
export const INGEST_ORDER = 900;

/** A request, ready to be sent. */
export interface RequestPackage<P extends Provider = Provider> {
  messages: Message[];
  /** The same for the provider. */
  payload: Payload<P>;
  /** The turn that it belongs to; `null` before the first. */
  turnId: string | null;
  /** Whether the history was compacted on the way. */
  didCompact: boolean;
  /** Whether it is over its budget; then do not send it. */
  overBudget: boolean;
}

/**
 * An agent's memory: everything that happens to it goes in, requests for its model come out. Calling the model is yours.
 *
 * @example
 * ```ts
 * const kernel = new Kernel(keep, "agent", { context: { provider: "anthropic", budget: { maxTokens: 100_000 } } });
 * const request = await kernel.prepareRequest({ role: "user", content: "Book a table." });
 * kernel.beforeInvoke(request);
 * const { message, usage } = await callModel(request.payload);
 * await kernel.afterInvoke(request, message, usage);
 * ```
 */
export class Kernel<P extends Provider = "openai-chat"> {
  readonly #keep: Threadkeep;
  readonly #thread: Thread;
  readonly #options: KernelOptions<P>;
  readonly #extensions: Extension[] = [];
  #processors: Processor[] = [];

  /** The memory of the agent whose thread is called `agent`; it need not exist yet. */
  constructor(keep: Threadkeep, agent: string, options: KernelOptions<P> = {}) {
    if (!(keep instanceof Threadkeep)) throw badArgument("keep", "must be an open Threadkeep");
    this.#keep = keep;
    this.#thread = keep.thread(check.id(agent, "agent"));
    const known = { context: object, policy: object, compact: object, memory: object, continuation: check.text };
    this.#options = check.options(options, "options", known) as KernelOptions<P>;
  }

  /** Adds an extension; those that were added first are called first. */
  addExtension(extension: Extension): void {
    this.#extensions.push(extension);
  }

  /**
   * Adds a processor. Where it throws, the call that brought the message fails with `bad-request`, and the message is not stored.
   *
   * @throws ThreadkeepError `bad-request` for an order from 900 on: memory would not have what it makes
   */
  addProcessor(processor: Processor): void {
    const order = check.isObject(processor) ? processor.order : undefined;
    if (typeof order !== "number" || !(order < INGEST_ORDER)) throw badArgument("processor.order", `must be a number below ${INGEST_ORDER}`);
    this.#processors = [...this.#processors, processor].sort((a, b) => a.order - b.order);
  }

  /** The name that the next turn gets: that of the user message that is ingested next, if nobody else is first. */
  async startTurn(): Promise<string> {
    return inside(this.#keep).call("nextTurn", { head: this.#thread.name });
  }

  /** Stores a user's input, which opens a turn, as the processors leave it. Gives the turn's name. */
  async ingestUserMessage(message: MessageInput): Promise<string> {
    return this.#ingest(await this.#processed(ofRole(message, "user", "message")));
  }

  /**
   * Stores that the model calls tools: one message with all calls of one response. Calls that the chain has already are left
   * out, so that an answer that was ingested with its calls may be told of again. Gives the turn's name.
   */
  async ingestToolIntent(calls: readonly ToolCall[]): Promise<string> {
    const given: unknown = calls;
    if (!Array.isArray(given) || !given.every(check.isObject)) throw badArgument("calls", "must be a list of tool calls");
    const known = new Set((await this.getToolInteractions()).map(({ toolCallId }) => toolCallId));
    const fresh = calls.filter(({ id }) => !known.has(id));
    if (fresh.length === 0) return (await this.currentTurn()) ?? "";
    return this.#ingest({ role: "assistant", content: null, tool_calls: fresh });
  }

  /**
   * Stores what a tool gave back, or why it failed, as the processors leave it. It belongs to the turn of its call, even if it
   * comes late; gives that turn's name. Where it was the last that its turn waited for, the option `continuation` is stored behind it.
   */
  async ingestToolResult(toolCallId: string, toolName: string, outcome: { result: unknown } | { error: string }): Promise<string> {
    const given: unknown = outcome;
    if (!check.isObject(given) || !("result" in given || "error" in given)) throw badArgument("outcome", "must be { result } or { error }");
    const failed = "error" in outcome;
    const said: unknown = failed ? outcome.error : outcome.result;
    const message = {
      role: "tool",
      tool_call_id: check.text(toolCallId, "toolCallId"),
      ...(toolName === "" ? {} : { name: check.text(toolName, "toolName") }),
      content: typeof said === "string" ? said : check.json(said ?? null, "result"),
      ...(failed ? { is_error: true } : {}),
    };
    const { continuation } = this.#options;
    const waits = ({ status }: ToolInteraction): boolean => status === "PENDING";
    const processed = await this.#processed(message);
    const waited = continuation !== undefined && (await this.getToolInteractions()).some((one) => one.toolCallId === toolCallId && waits(one));
    await this.#ingest(processed);
    const all = await this.getToolInteractions();
    const own = all.filter((one) => one.toolCallId === toolCallId).at(-1);
    // Calls of an earlier turn may never be answered.
    if (waited && !all.some((one) => one.turnId === own?.turnId && waits(one))) await this.#ingest({ role: "user", content: continuation });
    return own?.turnId ?? "";
  }

  /** Stores a model's answer, with its calls if it has some. Gives the turn's name. */
  async ingestAssistantResponse(response: MessageInput): Promise<string> {
    return this.#ingest(ofRole(response, "assistant", "response"));
  }

  /** A message as the processors leave it. */
  async #processed(message: MessageInput): Promise<MessageInput> {
    const step = message.role === "user" ? "input" : "toolResult";
    if (message.role !== "user" && message.role !== "tool") return message;
    let made: MessageInput = message;
    for (const processor of this.#processors) {
      try {
        made = (await processor[step]?.(made)) ?? made;
      } catch (error) {
        throw badArgument("message", `was not stored: a processor failed: ${wordsOf(error)}`, error);
      }
      if (!check.isObject(made) || made.role !== message.role || call(made) !== call(message)) throw badArgument("message", "must keep its role and its call");
    }
    return made;
  }

  async #ingest(message: MessageInput): Promise<string> {
    const nodes = await this.#thread.append([message]);
    return nodes.at(-1)?.turn ?? "";
  }

  /** The turn at the end of the chain; `null` before the first. */
  async currentTurn(): Promise<string | null> {
    return (await this.#thread.head())?.turn ?? null;
  }

  /** Asks for a compaction before the next request. */
  async requestCompaction(): Promise<void> {
    await this.#thread.requestCompaction();
  }

  /** Takes that back. */
  async clearCompactionRequest(): Promise<void> {
    await this.#thread.clearCompactionRequest();
  }

  /** Why a compaction is pending; `null` where none is. */
  async compactionRequired(): Promise<CompactionReason | null> {
    return (await this.#hasHead()) ? this.#thread.compactionRequired() : null;
  }

  /** The traces of the last `tailTurns` turns, oldest first, without those of the turn `excludeTurnId` (the current one). */
  async getRawTail(tailTurns: number, excludeTurnId?: string): Promise<RawTrace[]> {
    const exclude = excludeTurnId === undefined ? {} : { exclude: check.text(excludeTurnId, "excludeTurnId") };
    return this.#traces({ tail: check.count(tailTurns, "tailTurns"), ...exclude });
  }

  /** The traces of these turns, in order. Compacted turns have theirs still. */
  async getTracesForTurns(turnIds: readonly string[]): Promise<RawTrace[]> {
    return this.#traces({ turns: turnIds });
  }

  /** What the model would be sent now, in the generic form. */
  async getWorkingContextMessages(): Promise<Message[]> {
    if (!(await this.#hasHead())) return [];
    return (await this.#thread.context(this.#options.context)).messages;
  }

  /** Goes on from these messages instead of the history: a branch of its own, beside which the history stays. */
  async resetWorkingContextSnapshot(messages: readonly MessageInput[]): Promise<void> {
    const head = await this.#thread.head();
    const root = head === null ? undefined : (await this.#keep.chain(head.id))[0];
    if (root !== undefined) await this.#thread.moveTo(root.id);
    await this.#thread.append(messages);
  }

  /** The agent's tool calls with their results; those of one turn where it is given. */
  async getToolInteractions(turnId?: string): Promise<ToolInteraction[]> {
    const turn = turnId === undefined ? {} : { turn: turnNumber(turnId) };
    return (await this.#hasHead()) ? this.#thread.toolInteractions(turn) : [];
  }

  /**
   * The turns that a compaction would cover now, by name: whole turns, oldest first, without the last ones, the one that is going
   * on, and those that a checkpoint covers already. `keepTurns` of the last stay raw; without it as the options say.
   */
  async selectCompactionWindow(keepTurns: number | undefined = this.#options.compact?.keepTurns): Promise<string[]> {
    const keep = keepTurns === undefined ? {} : { keepTurns: check.count(keepTurns, "keepTurns") };
    return inside(this.#keep).call("compactionTurns", { head: this.#thread.name, ...keep });
  }

  /**
   * Compacts now: as the options say, or these turns. Since a summary stands in for the beginning of a history, they must be the
   * oldest that no checkpoint covers, and not the newest turn; one into which a tool group of a later turn reaches stays raw.
   *
   * @throws ThreadkeepError `bad-request` for other turns; as {@link Thread.compact}
   */
  async compact(turnIds?: readonly string[]): Promise<Compaction> {
    const agent = this.#thread.name;
    if (turnIds === undefined) return this.#thread.compact({ ...this.#options.compact, agent });
    const all = await this.selectCompactionWindow(0);
    if (!Array.isArray(turnIds) || turnIds.length === 0 || turnIds.some((turn, at) => turn !== all[at]))
      throw badArgument("turnIds", "must be the oldest turns that are not covered: selectCompactionWindow() gives them");
    // One more where the newest turn is answered, so that it counts among the tail.
    let keepTurns = all.length - turnIds.length;
    if ((await this.selectCompactionWindow(keepTurns)).length > turnIds.length) keepTurns += 1;
    const { keepRecent: _, targetTokens: __, ...rest } = this.#options.compact ?? {};
    return this.#thread.compact({ ...rest, keepTurns, agent });
  }

  /**
   * The compaction snapshot as messages: the system prompt, then what is remembered with the last turns as one message, in
   * a form that is the same for the same input. Nothing is stored; {@link resetWorkingContextSnapshot} goes on from it.
   *
   * @throws ThreadkeepError `bad-request`; `init-failed` when the vocabulary for `maxTokens` cannot be had
   */
  async buildSnapshot(
    systemPrompt: string | undefined,
    bundle: MemoryBundle,
    tailTurns?: number,
    excludeTurnId?: string,
    options?: SnapshotOptions,
  ): Promise<Message[]> {
    const link = inside(this.#keep);
    const how = check.options(options, "options", { maxTokens: check.count, encoding: check.text }) as SnapshotOptions;
    const encoding: Encoding = how.encoding ?? link.encoding;
    const json = check.toJson({
      head: this.#thread.name,
      ...check.options(bundle, "bundle", { episodes: any, facts: any }),
      ...(systemPrompt === undefined ? {} : { systemPrompt: check.text(systemPrompt, "systemPrompt") }),
      ...(tailTurns === undefined ? {} : { tail: check.count(tailTurns, "tailTurns") }),
      ...(excludeTurnId === undefined ? {} : { exclude: check.text(excludeTurnId, "excludeTurnId") }),
      ...(how.maxTokens === undefined ? {} : { budget: how.maxTokens }),
      encoding,
    });
    if (how.maxTokens !== undefined) await needEncoding(encoding);
    return link.answer("buildSnapshot", json);
  }

  /** The best of what is remembered for the input, if there is one. */
  async retrieve(maxEpisodic: number, maxSemantic: number, input?: string): Promise<MemoryBundle> {
    const query = input === undefined ? {} : { query: input };
    return this.#keep.memory.retrieve({ episodes: maxEpisodic, facts: maxSemantic, agent: this.#thread.name, ...query });
  }

  /**
   * Prepares the next request: compacts if that was asked for, then stores the input, then renders. `systemPrompt` stands in the
   * place of the instructions with which the history begins. An input that was stored stays stored, whatever fails after.
   */
  async prepareRequest(input?: MessageInput, systemPrompt?: string): Promise<RequestPackage<P>> {
    if (input !== undefined && !check.isObject(input)) throw badArgument("input", "must be a message object");
    const didCompact = (await this.compactionRequired()) !== null && (await this.compact()).checkpoint !== null;
    if (input !== undefined) await this.#ingest((input = await this.#processed(input)));
    const how: ContextOptions<P> = { ...this.#options.context };
    if (systemPrompt !== undefined) how.systemPrompt = systemPrompt;
    if (how.memory === undefined && (await this.#thread.checkpoints()).length > 0)
      how.memory = { ...this.#options.memory, agent: this.#thread.name, ...(typeof input?.content === "string" ? { query: input.content } : {}) };
    const { messages, payload, overBudget } = await this.#thread.context(how);
    return { messages, payload, turnId: await this.currentTurn(), didCompact, overBudget };
  }

  /** The payload of messages for the provider. */
  async renderPayload(messages: readonly MessageInput[]): Promise<Payload<P>> {
    const { provider = "openai-chat" as P, render: form } = this.#options.context ?? {};
    return (await render(messages, provider, form)).payload;
  }

  /** Calls the extensions before a model is called with `request`. */
  beforeInvoke(request: RequestPackage<P>): void {
    this.#tell((extension) => extension.beforeInvoke?.(request.messages, request.payload));
  }

  /**
   * After the model has answered: stores the answer, asks for a compaction where the usage says so, calls the extensions. Gives
   * why a compaction is pending.
   */
  async afterInvoke(request: RequestPackage<P>, response: MessageInput, usage?: ResponseUsage): Promise<CompactionReason | null> {
    await this.ingestAssistantResponse(response);
    const reason = await this.#thread.afterResponse(usage ?? {}, this.#options.policy);
    this.#tell((extension) => extension.afterInvoke?.(request.messages, response, usage));
    return reason;
  }

  #tell(call: (extension: Extension) => void): void {
    for (const extension of this.#extensions) {
      try {
        call(extension);
      } catch (error) {
        reportUncaught(error);
      }
    }
  }

  #traces(which: Record<string, unknown>): Promise<RawTrace[]> {
    return inside(this.#keep).call("rawTraces", { head: this.#thread.name, ...which });
  }

  async #hasHead(): Promise<boolean> {
    return (await this.#thread.head()) !== null;
  }
}

function any(value: unknown): unknown {
  return value;
}

function object(value: unknown, argument: string): unknown {
  if (!check.isObject(value)) throw badArgument(argument, "must be an object");
  return value;
}

/** The call that a message answers. */
function call(message: MessageInput): unknown {
  return (message as { tool_call_id?: unknown }).tool_call_id;
}

function turnNumber(name: string): number {
  const number = Number(/^turn_(\d{4,10})$/.exec(check.text(name, "turnId"))?.[1]);
  if (`turn_${String(number).padStart(4, "0")}` !== name) throw badArgument("turnId", "must be a turn's name such as turn_0001");
  return number;
}

function ofRole(message: MessageInput, role: string, argument: string): MessageInput {
  if (!check.isObject(message) || message.role !== role) throw badArgument(argument, `must be a message of the role "${role}"`);
  return message;
}
