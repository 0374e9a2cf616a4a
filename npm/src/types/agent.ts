// Agents: what one is made of, what it tells, and what its model is asked and answers.

import type { CompactionPolicy, CompactionStrategy } from "./compaction.js";
import type { ContextOptions, Payload, Provider } from "./context.js";
import type { Mail } from "./mail.js";
import type { AssistantMessage, Message } from "./message.js";
import type { Threadkeep } from "../threadkeep.js";

/** The tools that every agent can have: of its mailbox, its memory, and for what its prompts had no room for. */
export type BuiltInTool = "reply" | "send" | "listMessages" | "dismiss" | "searchMemory" | "readToolResult" | "remember";

/** A tool as a model is told of it. */
export interface OfferedTool {
  name: string;
  description?: string;
  /** The arguments, as a JSON schema. */
  parameters: object;
}

/** One request to a model. */
export interface ModelRequest<P extends Provider = Provider> {
  /** The model's name, as the agent was given it. */
  model: string;
  /** Whose form `payload` has. */
  provider: P;
  /** The prompt in OpenAI's chat form. */
  messages: Message[];
  /** The same as the whole body of a request in the provider's form: with model, tools, and `stream: true`. */
  payload: Payload<P>;
  /** The tools that may be called. */
  tools: OfferedTool[];
  /** Ends when nobody waits for the answer any more: hand it on to whatever sends the request. */
  signal: AbortSignal;
  /** Tells of a piece of the answer, for those who watch. What the function returns is the answer all the same. */
  onDelta(piece: string | ModelPiece): void;
}

/** Something to know of an answer that is under way: it is asked for again, all its text so far was reasoning, or something is odd. */
export type ModelNotice =
  | {
      /** Why, in words. */
      retry: string;
      /** Which try comes next, from 2. */
      attempt: number;
      /** How long is waited before, in milliseconds. */
      wait: number;
    }
  | { wasReasoning: true }
  | { warning: string };

/** A piece of an answer: more text, more of what the model thinks, more of a tool call, or a notice. */
export type ModelPiece =
  | ModelNotice
  | { text: string }
  | { reasoning: string }
  | {
      /** Which of the answer's calls, from 0. */
      index: number;
      /** The call's id; made up where none is given. */
      id?: string;
      /** The tool's name, with the call's first piece. */
      name?: string;
      /** More of the arguments' JSON text. */
      arguments?: string;
    };

/** What a provider counted for one request, in tokens. */
export interface ModelUsage {
  /** The prompt, cached tokens with it. */
  promptTokens: number;
  /** The answer, reasoning with it. */
  completionTokens: number;
  /** How many of the prompt's came from the provider's cache. */
  cachedTokens?: number;
}

/** Why an answer ended: all was said, tools are to be called, its limit was reached, the provider held it back, or another word. */
export type ModelFinish = "stop" | "tool-calls" | "length" | "filtered" | (string & {});

/** The end of an answer. In a stream it is the last piece, and its message may be left out. */
export interface ModelCompletion {
  /** What was said, with its tool calls. */
  message?: Omit<AssistantMessage, "role"> & { role?: "assistant" };
  /** What the provider counted. */
  usage?: ModelUsage;
  /** Why it ended; without it, by whether there are tool calls. */
  finish?: ModelFinish;
}

/** How large a model's answer may become, and how long it may take. Each is a whole number from 1 on. */
export interface AnswerLimits {
  /** The most bytes of an answer; 33,554,432 (32 MiB) without it. */
  bytes?: number;
  /** The most bytes of the arguments of all its tool calls together; 4,194,304 (4 MiB) without it. */
  argumentBytes?: number;
  /** The most tool calls; 256 without it. */
  calls?: number;
  /** The longest time from the request to the end of the answer, in milliseconds, at most 2^31 - 1; 1,800,000 (30 minutes) without it. */
  millis?: number;
}

/** A whole answer in OpenAI's chat form (`chat.completion`), of which only what is named here is looked at. */
export interface ChatCompletionLike {
  choices: readonly object[];
}

/** A whole answer of Anthropic's Messages, likewise. */
export interface AnthropicMessageLike {
  type: "message";
  content: readonly object[];
}

/** What the AI SDK's `streamText` gives, likewise. */
export interface StreamTextLike {
  fullStream: AsyncIterable<object>;
}

/**
 * What a model's function may answer:
 * - a text, or a message of the role assistant;
 * - `{ message, usage, finish }`;
 * - a stream (anything that can be iterated asynchronously) of texts, {@link ModelPiece}s and at last a {@link ModelCompletion};
 * - what a provider's client gives, whole or as its stream: OpenAI's (Chat Completions and Responses), Anthropic's, Google's, Ollama's,
 *   and other clients of these forms;
 * - what the AI SDK's `streamText` gives;
 * - the `Response` of `fetch`, in any of the providers' forms, streamed or whole. Give `fetch` the option `redirect: "manual"`: a
 *   server that redirects would take the prompt and the key elsewhere, and is an error here.
 */
export type ModelAnswer =
  | string
  | AssistantMessage
  | ModelCompletion
  | ChatCompletionLike
  | AnthropicMessageLike
  | StreamTextLike
  | Response
  | AsyncIterable<string | object>;

/**
 * A model: any function that sends a prompt and gives the answer, once or as a stream. What it throws ends the turn with a message
 * that says why, and the sender is told; {@link ModelFailureCode} says how it is read.
 */
export interface AgentModel<P extends Provider = Provider> {
  (request: ModelRequest<P>): ModelAnswer | PromiseLike<ModelAnswer>;
  /** Its name, where the agent's options give none. */
  modelName?: string;
  /** The form that it wants, where the agent's options give none. */
  provider?: P;
  /** What it takes, in tokens, where the agent's options do not say. */
  tokens?: Pick<CompactionPolicy, "maxContextTokens" | "maxOutputTokens" | "safetyMargin">;
  /** How large its answers may become, and how long they may take. What goes beyond ends the turn with a failure. */
  limits?: AnswerLimits;
}

/**
 * Why a model did not answer. It is read from the `code` of what was thrown, if it is one of these, else from its HTTP status
 * (`status`, `statusCode`) and kind: 401, 403 `unauthorized`; 404 `not-found`; 413, and 400 with words about the context's length,
 * `too-long`; 429 `rate-limited`; 408 and timeouts `stalled`; 5xx `overloaded`; other 4xx `refused`; no connection `unreachable`;
 * an answer that cannot be read `bad-answer`; a stream that breaks off `cut-off`; anything else `failed`.
 */
export type ModelFailureCode =
  | "unreachable"
  | "blocked"
  | "unauthorized"
  | "not-found"
  | "rate-limited"
  | "overloaded"
  | "too-long"
  | "refused"
  | "bad-answer"
  | "cut-off"
  | "stalled"
  | "failed";

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
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface AgentTool<A = any> {
  /** What it does, for the model. */
  description?: string;
  /**
   * Its arguments, as a JSON schema of an object; any object without it. Arguments that do not fit (one is missing, or of another type)
   * are not handed to the tool: the model is told what is wrong. Numbers and truth values may come as text, and are read.
   */
  parameters?: object;
  /**
   * Does it. What comes back is the result, as text or JSON. What is thrown goes to the model as an error, which it can react to.
   * Calls of one answer run side by side. It must not wait for a turn of its own agent.
   */
  execute(args: A, call: ToolCallInfo): unknown;
  /**
   * Whether calling it twice does no harm. Where a crash leaves it open whether a call was carried out, such a tool is called
   * again; of any other the model is told that it was interrupted.
   */
  repeatable?: boolean;
}

/** When an agent's histories are compacted (`CompactionPolicy`, over what the keep was opened with), and how. */
export interface AgentCompaction extends Omit<CompactionPolicy, "model"> {
  /** How many turns at the end stay raw; four without it. */
  keepTurns?: number;
  /** What the history shall come to, in tokens. */
  targetTokens?: number;
  /** How. */
  strategy?: CompactionStrategy;
}

/** When a turn is ended though the model would go on. */
export interface AgentLimits {
  /** The most answers of the model; 50 without it. */
  steps?: number;
  /** The most tokens, prompts and answers together, as the provider counts them. */
  tokens?: number;
  /** The longest time, in milliseconds, at most 2^31 - 1. What is being said then is cut off. */
  millis?: number;
  /** The most tool calls in one answer; 256 without it. An answer with more is a failure, and none of its tools is called. */
  calls?: number;
  /** The most bytes of one call's arguments; 4 MiB without it. */
  argumentBytes?: number;
}

/** What an agent is made of. */
export interface AgentOptions<P extends Provider = Provider> {
  /** Where its transcripts and its mailbox lie. */
  keep: Threadkeep;
  /** Who answers. */
  model: AgentModel<P>;
  /** The model's name, for the payload, and for its context's size where it is a known one. */
  modelName?: string;
  /** The form of the payload; `openai-chat` without it. */
  provider?: P;
  /** Its own name, under which it has a mailbox; `agent` without it. Several agents of different names go side by side. */
  name?: string;
  /** Who talks to it where nobody says; `user` without it. Messages of others begin with a line that says who writes. */
  user?: string;
  /** What stands at the beginning of each of its transcripts. Below it, it is told of its mailbox, unless it has no tool `reply`. */
  systemPrompt?: string;
  /** Tools, by the names that the model calls: 1 to 64 letters, digits, `_` and `-`. */
  tools?: Readonly<Record<string, AgentTool>>;
  /** Which of the built-in tools it has; all without it. */
  builtIn?: readonly BuiltInTool[];
  /** How its prompts are made. Without a budget it is the model's; without a policy it is `stable`. */
  context?: Omit<ContextOptions<P>, "provider" | "model" | "tools" | "epoch" | "live">;
  /** When and how its histories are compacted; `false` for never. Without it, when that is due, by the built-in summariser. */
  compaction?: AgentCompaction | false;
  /** When a turn is ended. */
  limits?: AgentLimits;
  /**
   * Whether turns that a crash or a closed tab has interrupted go on by themselves, as soon as the agent is used; false without it. They
   * are sent to the model that the agent has now. Without it they wait for {@link Agent.resume}.
   */
  resume?: boolean;
}

/** How a message is sent to an agent. */
export interface SendOptions {
  /** The message that it answers: a message of the mailbox, a `messageId`, or a node. Without it, or with the `null` of a turn without a reply, a transcript begins. */
  replyTo?: string | Pick<Mail, "messageId"> | null;
  /** Who sends it; the agent's `user` without it. */
  from?: string;
  /** Its id; one is minted without it. One that was sent before is not sent again. */
  messageId?: string;
  /** Stops the turn: what was said until then stays. */
  signal?: AbortSignal;
}

/** How a turn ended: with an answer, with a failure, stopped by somebody, or by a limit. */
export type Outcome = "answered" | "failed" | "cancelled" | "limited";

/** What a turn came to. */
export interface TurnResult {
  /** Its node; `null` only where the message was dismissed before it was answered. */
  node: string | null;
  /** How it ended; `null` likewise, and where the turn was interrupted and something follows it. */
  outcome: Outcome | null;
  /** Why, in words, where it was not answered. */
  reason?: string;
  /** What was replied last to the message that it answers, in the agent's mailbox; `null` where nothing was. */
  reply: Mail | null;
  /** The reply's text without its `[depth:N] `, or else what the model said last; empty where there is neither. */
  text: string;
}

/** What happens in a turn. All but `delta` and `calling` come when it is stored. `node` is the turn's. */
export type AgentEvent =
  /** A turn begins, or (`resumed`) goes on that a crash or a closed tab has interrupted. */
  | { type: "began"; node: string; resumed: boolean }
  /** The model is asked; `tokens` is the prompt, as we count it. */
  | { type: "asked"; node: string; tokens: number }
  /** More text of the answer that is under way. */
  | { type: "delta"; node: string; text: string }
  /** More of what the model thinks. */
  | { type: "delta"; node: string; reasoning: string }
  /** More of its tool call number `call`, from 0. */
  | { type: "delta"; node: string; call: number; name: string; arguments: string }
  /** The request is sent again after `wait` milliseconds; `attempt` is which try comes next, from 2. */
  | { type: "delta"; node: string; retry: string; attempt: number; wait: number }
  /** All text heard so far was reasoning. */
  | { type: "delta"; node: string; wasReasoning: true }
  /** Something is wrong with the answer that does not end it. */
  | { type: "delta"; node: string; warning: string }
  /** The answer is stored, with its tool calls; the figures are the provider's, where it gave some. */
  | { type: "said"; node: string; promptTokens?: number; completionTokens?: number; cachedTokens?: number }
  /** A tool is called; `arguments` as the model wrote them. */
  | { type: "calling"; node: string; call: string; name: string; arguments: string }
  /** Its result is stored. */
  | { type: "called"; node: string; call: string; name: string; result: string; isError: boolean }
  /** The history is being compacted. */
  | { type: "compacting"; node: string }
  /** It was, or (without a checkpoint) nothing was to be compacted, or it failed (`error`). Tokens of the history before and after. */
  | { type: "compacted"; node: string; checkpoint: string | null; tokensBefore: number; tokensAfter: number; error?: string }
  /** A message was sent; `mail` as the agent has it. */
  | { type: "sent"; mail: Mail }
  /** The turn is over. */
  | { type: "ended"; node: string; outcome: Outcome; reason?: string };
