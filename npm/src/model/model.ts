// What a model is asked, and what it answers.

import type { CompactionPolicy } from "../generated/compaction.js";
import type { AnswerLimits, ModelUsage, Provider } from "../generated/provider.js";
import type { AssistantMessage, Message } from "../message.js";
import type { RequestPayload } from "../payload.js";

/** A tool as a model is told of it. */
export interface OfferedTool {
  name: string;
  description?: string;
  /** The arguments, as a JSON schema. */
  parameters: object;
}

/** One request to a model. `Sdk` says whether a payload for Gemini is the client's argument (`context: { render: { sdk: true } }`). */
export interface ModelRequest<P extends Provider = Provider, Sdk extends boolean = false> {
  /** The model's name, as the agent was given it. */
  model: string;
  /** Whose form `payload` has. */
  provider: P;
  /** The prompt in OpenAI's chat form. */
  messages: Message[];
  /**
   * The same as the whole body of a request in the provider's form, with model, tools, and `stream: true`. A body for Gemini has neither
   * model nor `stream`: they are in its address. It fits the official clients' calls, see {@link Payloads}.
   */
  payload: RequestPayload<P, Sdk>;
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

/** A whole answer in OpenAI's chat form (`chat.completion`): its client's type fits. */
export interface ChatCompletionLike {
  choices: readonly object[];
}

/** A whole answer of OpenAI's Responses, likewise. */
export interface OpenAiResponseLike {
  output: readonly object[];
}

/** A whole answer of Anthropic's Messages, likewise. */
export interface AnthropicMessageLike {
  type: "message";
  content: readonly object[];
}

/** A whole answer of Gemini's, likewise. */
export interface GeminiResponseLike {
  candidates?: readonly object[];
}

/** A whole answer of Ollama's chat, likewise. */
export interface OllamaResponseLike {
  message: { role: string; content: string };
  done: boolean;
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
  | OpenAiResponseLike
  | AnthropicMessageLike
  | GeminiResponseLike
  | OllamaResponseLike
  | StreamTextLike
  | Response
  | AsyncIterable<string | object>;

/**
 * A model: any function that sends a prompt and gives the answer, once or as a stream. What it throws ends the turn with a message
 * that says why, and the sender is told; {@link ModelFailureCode} says how it is read.
 */
export interface AgentModel<P extends Provider = Provider, Sdk extends boolean = false> {
  (request: ModelRequest<P, Sdk>): ModelAnswer | PromiseLike<ModelAnswer>;
  /** Its name, where the agent's options give none. */
  modelName?: string;
  /** The form that it wants, where the agent's options give none. */
  provider?: P;
  /** What it takes, in tokens, where the agent's options do not say. */
  tokens?: Pick<CompactionPolicy, "maxContextTokens" | "maxOutputTokens" | "safetyMargin">;
  /** How large its answers may become, and how long they may take. What goes beyond ends the turn with a failure. */
  limits?: AnswerLimits;
  /** Where it is asked, if {@link connect} made it: the bodies of its requests depend on that. */
  readonly endpoint?: { baseUrl: string; model: string; maxContextTokens?: number };
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
