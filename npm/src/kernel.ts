// The memory kernel of an agent: its operations under the names that readers of such systems know, over a Threadkeep. The
// agent is a head; its working context is the chain there with its newest checkpoint. Nothing is kept here but settings.

import * as check from "./check.js";
import { badArgument, reportUncaught } from "./errors.js";
import { render } from "./prompts.js";
import type { Threadkeep } from "./threadkeep.js";
import type { CompactOptions, Compaction, CompactionPolicy, CompactionReason, ResponseUsage } from "./types/compaction.js";
import type { ContextOptions, Payload, Provider } from "./types/context.js";
import type { MemoryBundle, RawTrace, ToolInteraction } from "./types/memory.js";
import type { Message, MessageInput, ToolCall } from "./types/message.js";

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
  readonly #agent: string;
  readonly #options: KernelOptions<P>;
  readonly #extensions: Extension[] = [];
  #processors: Processor[] = [];

  /** The memory of the agent whose head is called `agent`; it need not be there yet. */
  constructor(keep: Threadkeep, agent: string, options: KernelOptions<P> = {}) {
    this.#keep = keep;
    this.#agent = check.id(agent, "agent");
    const known = { context: object, policy: object, compact: object, memory: object };
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
    if (typeof order !== "number" || !(order < INGEST_ORDER))
      throw badArgument("processor.order", `must be a number below ${INGEST_ORDER}, where memory takes what has come of the message`);
    this.#processors = [...this.#processors, processor].sort((a, b) => a.order - b.order);
  }

  /** The name that the next turn gets: that of the user message that is ingested next, if nobody else is first. */
  async startTurn(): Promise<string> {
    return this.#keep.nextTurn(this.#agent);
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
   * comes late; gives that turn's name.
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
    await this.#ingest(await this.#processed(message));
    const own = (await this.getToolInteractions()).filter((one) => one.toolCallId === toolCallId).at(-1);
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
        throw badArgument("message", `was not stored, for a processor failed: ${error instanceof Error ? error.message : String(error)}`, error);
      }
      if (!check.isObject(made) || made.role !== message.role || call(made) !== call(message))
        throw badArgument("message", "must keep its role and its call: a processor changed that");
    }
    return made;
  }

  async #ingest(message: MessageInput): Promise<string> {
    const nodes = await this.#keep.append(this.#agent, [message]);
    return nodes.at(-1)?.turn ?? "";
  }

  /** The turn at the end of the chain; `null` before the first. */
  async currentTurn(): Promise<string | null> {
    return (await this.#keep.head(this.#agent))?.turn ?? null;
  }

  /** Asks for a compaction before the next request. */
  async requestCompaction(): Promise<void> {
    await this.#keep.requestCompaction(this.#agent);
  }

  /** Takes that back. */
  async clearCompactionRequest(): Promise<void> {
    await this.#keep.clearCompactionRequest(this.#agent);
  }

  /** Why a compaction is pending; `null` where none is. */
  async compactionRequired(): Promise<CompactionReason | null> {
    return (await this.#hasHead()) ? this.#keep.compactionRequired(this.#agent) : null;
  }

  /** The traces of the last `tailTurns` turns, oldest first, without those of the turn `excludeTurnId` (the current one). */
  async getRawTail(tailTurns: number, excludeTurnId?: string): Promise<RawTrace[]> {
    const exclude = excludeTurnId === undefined ? {} : { exclude: excludeTurnId };
    return this.#keep.rawTraces(this.#agent, { tail: tailTurns, ...exclude });
  }

  /** The traces of these turns, in order. Compacted turns have theirs still. */
  async getTracesForTurns(turnIds: readonly string[]): Promise<RawTrace[]> {
    return this.#keep.rawTraces(this.#agent, { turns: turnIds });
  }

  /** What the model would be sent now, in the generic form. */
  async getWorkingContextMessages(): Promise<Message[]> {
    if (!(await this.#hasHead())) return [];
    return (await this.#keep.context(this.#agent, this.#options.context)).messages;
  }

  /** Goes on from these messages instead of the history: a branch of its own, beside which the history stays. */
  async resetWorkingContextSnapshot(messages: readonly MessageInput[]): Promise<void> {
    const head = await this.#keep.head(this.#agent);
    const root = head === null ? undefined : (await this.#keep.chain(head.id))[0];
    if (root !== undefined) await this.#keep.setHead(this.#agent, root.id);
    await this.#keep.append(this.#agent, messages);
  }

  /** The agent's tool calls with their results; those of one turn where it is given. */
  async getToolInteractions(turnId?: string): Promise<ToolInteraction[]> {
    const turn = turnId === undefined ? {} : { turn: turnNumber(turnId) };
    return (await this.#hasHead()) ? this.#keep.toolInteractions(this.#agent, turn) : [];
  }

  /** The turns that a compaction would cover now: see {@link Threadkeep.compactionTurns}. */
  async selectCompactionWindow(): Promise<string[]> {
    const { keepTurns } = this.#options.compact ?? {};
    return this.#keep.compactionTurns(this.#agent, keepTurns === undefined ? {} : { keepTurns });
  }

  /**
   * Compacts now: as the options say, or these turns. Since a summary stands in for the beginning of a history, they must be the
   * oldest that no checkpoint covers, and not the newest turn; one into which a tool group of a later turn reaches stays raw.
   *
   * @throws ThreadkeepError `bad-request` for other turns; as {@link Threadkeep.compact}
   */
  async compact(turnIds?: readonly string[]): Promise<Compaction> {
    if (turnIds === undefined) return this.#keep.compact(this.#agent, this.#options.compact);
    const all = await this.#keep.compactionTurns(this.#agent, { keepTurns: 0 });
    if (!Array.isArray(turnIds) || turnIds.length === 0 || turnIds.some((turn, at) => turn !== all[at]))
      throw badArgument("turnIds", "must be the oldest turns that are not covered, without the newest");
    // One more where the newest turn is answered, so that it counts among the tail.
    let keepTurns = all.length - turnIds.length;
    if ((await this.#keep.compactionTurns(this.#agent, { keepTurns })).length > turnIds.length) keepTurns += 1;
    const { keepRecent: _, targetTokens: __, ...rest } = this.#options.compact ?? {};
    return this.#keep.compact(this.#agent, { ...rest, keepTurns });
  }

  /**
   * The compaction snapshot as messages: the system prompt, then what is remembered with the last turns as one message. Nothing is
   * stored; {@link resetWorkingContextSnapshot} goes on from it.
   */
  async buildSnapshot(systemPrompt: string | undefined, bundle: MemoryBundle, tailTurns?: number, excludeTurnId?: string): Promise<Message[]> {
    return this.#keep.buildSnapshot(this.#agent, {
      bundle,
      ...(systemPrompt === undefined ? {} : { systemPrompt }),
      ...(tailTurns === undefined ? {} : { tailTurns }),
      ...(excludeTurnId === undefined ? {} : { excludeTurnId }),
    });
  }

  /** The best of what is remembered for the input, if there is one. */
  async retrieve(maxEpisodic: number, maxSemantic: number, input?: string): Promise<MemoryBundle> {
    const query = input === undefined ? {} : { query: input };
    return this.#keep.retrieve({ episodes: maxEpisodic, facts: maxSemantic, ...query });
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
    if (how.memory === undefined && (await this.#keep.checkpoints(this.#agent)).length > 0)
      how.memory = { ...this.#options.memory, ...(typeof input?.content === "string" ? { query: input.content } : {}) };
    const { messages, payload, overBudget } = await this.#keep.context(this.#agent, how);
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
    const reason = await this.#keep.afterResponse(this.#agent, usage ?? {}, this.#options.policy);
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

  async #hasHead(): Promise<boolean> {
    return (await this.#keep.head(this.#agent)) !== null;
  }
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
