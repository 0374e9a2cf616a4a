// Contexts: options, what comes back, and the payloads by provider.

import type { CodeTurn, Message, MessageInput } from "./message.js";

/** Whose wire form a payload has. */
export type Provider = "openai-chat" | "openai-responses" | "anthropic" | "gemini" | "ollama";

/** How tokens are counted: exactly, by one of OpenAI's vocabularies, or estimated at four characters a token. */
export type Encoding = "o200k_base" | "cl100k_base" | "estimate";

/** What a prompt may hold. Each limit is a whole number from 0 on; zero is a limit of zero, and what is left out does not limit. */
export interface Budget {
  /** The input budget itself, in tokens. It takes precedence over the three fields that follow. */
  maxTokens?: number;
  /** The model's context window, in tokens. */
  maxContextTokens?: number;
  /** What of the window is reserved for the answer, in tokens. It is also the payload's limit of the answer. */
  maxOutputTokens?: number;
  /** What of the window is left free for miscounting, in tokens. */
  safetyMargin?: number;
  /** The most messages, the frame's included. */
  maxMessages?: number;
  /** The most characters (UTF-16 units, as `length` counts), the frame's included. */
  maxChars?: number;
}

/** A message of a chain: its place, from 0; or all messages of a node, by its id; or one message of a node. */
export type MessageRef = number | string | { node: string; index: number };

/** A tool that the model may call: bare, or in OpenAI's or Anthropic's form. */
export type ToolSchema =
  | { name: string; description?: string; parameters?: object; strict?: boolean }
  | { name: string; description?: string; input_schema?: object }
  | { type: "function"; function: { name: string; description?: string; parameters?: object; strict?: boolean } };

/** What a workflow tells the model about its step. */
export interface RunDirectives {
  /** What is to be done. */
  directive: string;
  /** What the workflow's node is for. */
  nodeBrief?: string;
  /** Where the workflow is: text, or anything that JSON can say. */
  step?: unknown;
}

/** When tool results become previews; lengths in UTF-16 units. */
export interface ToolPreview {
  /** Results longer than this; 4,000 without it. */
  over?: number;
  /** How much of the beginning is shown; 500 without it. */
  keep?: number;
}

/** How a payload is written. */
export interface RenderForm {
  /** Whether the answer shall come as a stream; without it the payload does not say. */
  stream?: boolean;
  /** Whether reasoning and the provider's own items go along; they do by default. */
  reasoning?: boolean;
  /** Whether a prompt for Anthropic or Gemini may end with the assistant; by default a user message follows then. */
  prefill?: boolean;
  /** For Gemini: the arguments of the SDK's `generateContent` instead of the request's body. */
  sdk?: boolean;
}

/** Options of {@link render}. */
export interface RenderOptions extends RenderForm {
  /** The model's name. */
  model?: string;
  /** How many tokens the answer may take; Anthropic wants it, and gets 4,096 without it. */
  maxOutputTokens?: number;
  /** The tools that the model may call. */
  tools?: readonly ToolSchema[];
}

/** Options of {@link trimMessages}. */
export interface TrimOptions {
  /** Whose messages are counted, and what they must begin with; `openai-chat` without it. */
  provider?: Provider;
  /** How tokens are counted; `o200k_base` without it. */
  encoding?: Encoding;
  /** How much is kept; everything without it. */
  budget?: Budget;
  /**
   * Which messages go first. `newest`, the default: as many of the newest as fit. `stable`: cuts in large steps, so that
   * requests begin alike and the provider's prompt cache keeps hitting. A step is `√(2 · 1000 · maxTokens)` tokens, or a third
   * of what the frame leaves of the budget where that is less; half of one stays unused on average (a sixth of up to 18,000
   * tokens, a sixteenth of 100,000). It needs no memory of earlier requests.
   */
  policy?: "newest" | "stable";
  /** Places in the list, from 0, of messages to keep. */
  pins?: readonly number[];
  /** `false`: system messages are left out. They are always kept otherwise. */
  includeSystem?: boolean;
}

/** Options of {@link Thread.context}. */
export interface ContextOptions<P extends Provider = Provider> {
  /** Whose payload it is, and whose messages are counted; `openai-chat` without it. */
  provider?: P;
  /** How tokens are counted; as the keep was opened without it. */
  encoding?: Encoding;
  /** How much the prompt may hold; everything without it. */
  budget?: Budget;
  /** The model's name, for the payload. */
  model?: string;
  /** See {@link TrimOptions.policy}. */
  policy?: "newest" | "stable";
  /** Messages to keep, beside those that are marked as `pinned`. One that is not on the chain is a warning. */
  pins?: readonly MessageRef[];
  /** The mode; without one there is no banner, and neither `persona` nor `run` are used. */
  mode?: "chat" | "agent" | "run";
  /** The system prompt. It stands in the place of the instructions with which the chain begins. */
  systemPrompt?: string;
  /** Who the model is to be, in the modes agent and run. */
  persona?: string;
  /** The run, in the mode run. */
  run?: RunDirectives;
  /** Whether old code turns become what they defined and printed; they do not by default. */
  compressHistory?: boolean;
  /** How many printed texts compressed turns show at most, the newest ones; 15 without it. */
  printlnHistoryLimit?: number;
  /** How many turns before a failed one stay whole; none without it. */
  errorWindow?: number;
  /**
   * When large tool results become previews, which {@link Thread.toolResult} reads back; `false` for never. Without it, results of more
   * than 4,000 characters that the budget has no room for; the newest stay whole first. A warning and the ledger say so.
   */
  toolPreview?: ToolPreview | false;
  /**
   * What of the memory comes along, by relevance to `query`: 3 episodes and 20 facts at most; nothing without it. `text` is what a
   * memory service of yours remembers: it stands after the keep's own. A user message before the newest one quotes all of it. It takes a
   * quarter of the budget at most, or `maxTokens`; whole records that do not fit are left out, and a warning says how many.
   */
  memory?: { episodes?: number; facts?: number; query?: string; text?: string; maxTokens?: number } | false;
  /** Whose prompt it is: an {@link Epoch}'s name; that of the checkpoint that the chain uses without it. */
  epoch?: string;
  /** The tools that the model may call. They cost tokens. */
  tools?: readonly ToolSchema[];
  /** Whether calls at the end without a result are still running; otherwise they count as aborted. */
  live?: boolean;
  /** How the payload is written. */
  render?: RenderForm;
}

/** What was done to a message. */
export type Action = "kept" | "pinned" | "compressed" | "previewed" | "summarised" | "dropped" | "injected" | "repaired";

/** What became of one message, and why. */
export interface LedgerLine {
  /** The message's node, where it has one. */
  node?: string;
  /** The message's place in the chain or list, from 0; what is put in has the place of what it precedes. */
  index: number;
  /** What was done. */
  action: Action;
  /** The rule that decided: a short stable word, such as `newest-user` or `over-max-tokens`. */
  rule: string;
  /** What it costs as it is, in tokens; 0 for what the history does not have. */
  tokensBefore: number;
  /** What it costs in the prompt, in tokens; 0 for what is dropped. The sum over all lines is the prompt's count. */
  tokensAfter: number;
}

/** The limits that a budget comes to; `null` for none. */
export interface Limits {
  tokens: number | null;
  messages: number | null;
  chars: number | null;
}

/** Tokens by what they are for. Their sum is the prompt's count. */
export interface TokenKinds {
  system: number;
  user: number;
  assistant: number;
  reasoning: number;
  calls: number;
  results: number;
  /** What the history does not have: the frame beyond the system prompt, repairs, and what the reply begins with. */
  injected: number;
  /** The tools' schemas. */
  tools: number;
}

/** Something that whoever builds a prompt should know. */
export interface ContextWarning {
  /**
   * `option`: an option has no effect. `changed`: the payload says something otherwise than the messages do. `invalid`: the
   * provider will probably refuse the payload.
   */
  kind: "option" | "changed" | "invalid";
  /** A short stable word. */
  rule: string;
  /** It in words. */
  message: string;
  /** The first place that it is about, in `messages` (for `invalid`, in the payload's list); `null` for the whole. */
  index: number | null;
  /** At how many places it is so. */
  count: number;
}

/** What {@link trimMessages} gives. */
export interface Trimmed<M = Message> {
  /** Copies of the messages that stay, in the order of the prompt. */
  messages: (M | Message)[];
  /** One line for each message of the list, and for each that was put in. Made when it is first looked at. */
  readonly ledger: LedgerLine[];
  /** What the messages hold, in tokens: the sum of the ledger's. */
  tokens: number;
  /** What they hold in characters. */
  chars: number;
  /** The limits that held. */
  budget: Limits;
  /** Whether what must stay is over them: then call no model. */
  overBudget: boolean;
  /** The tokens by what they are for. */
  kinds: TokenKinds;
  /** What you should know: that U+FFFD stands for a lost character of the messages that stay (`lost-character`). `index` is a place in them. */
  warnings: ContextWarning[];
}

/** What {@link Thread.context} gives. */
export interface Context<P extends Provider = Provider> {
  /** The messages of the prompt, in order. */
  messages: Message[];
  /** The request's body. */
  payload: Payload<P>;
  /**
   * One line for each message of the chain and of the frame, one for the tools, one for what the reply begins with. Made when it is
   * first looked at.
   */
  readonly ledger: LedgerLine[];
  /** What the prompt holds, in tokens: the sum of the ledger's. */
  tokens: number;
  /** What it holds in characters. */
  chars: number;
  /** The limits that held. */
  budget: Limits;
  /** Whether what must stay is over them: then call no model. */
  overBudget: boolean;
  /** The tokens by what they are for. */
  kinds: TokenKinds;
  /** What you should know. */
  warnings: ContextWarning[];
  /** The checkpoint that stands in for the old part; the ledger's lines with the rule `checkpoint` are about it. */
  checkpoint: string | null;
}

/** What rendering had to change. */
export interface RenderNote {
  /** The message's place in the list, from 0. */
  index: number;
  /** A short stable word. */
  rule: string;
  /** It in words. */
  message: string;
}

/** What {@link render} gives. */
export interface Rendered<P extends Provider = Provider> {
  /** The request's body. */
  payload: Payload<P>;
  /** What is not as it was in the messages. */
  notes: RenderNote[];
}

/** Something that a provider would refuse. */
export interface ValidationError {
  /** The place in the list of messages, from 0; `null` where the whole is meant. */
  index: number | null;
  /** The rule that is broken: a short stable word. */
  rule: string;
  /** What is wrong, and what to do about it. */
  message: string;
}

/** What {@link validate} says. */
export interface Validation {
  /** Whether nothing was found. */
  ok: boolean;
  /** What was found. */
  errors: ValidationError[];
}

/** A turn of code, as a trace holds it: no message yet. */
export interface TraceTurn extends CodeTurn {
  /** The program's text. */
  program: string;
  /** What the model wrote; the program in a fenced block without it. */
  content?: string;
  [field: string]: unknown;
}

/** Options of {@link compressHistory}. */
export interface CompressOptions {
  /** How many printed texts the summaries show at most, the newest ones; 15 without it. */
  printlnHistoryLimit?: number;
  /** How many turns before a failed one stay whole; none without it. */
  errorWindow?: number;
}

/** What {@link compressHistory} gives; both lists are as long as the turns. */
export interface Compressed {
  /** What a prompt shows. */
  messages: Message[];
  /** The rule for each: `compressed-turn`, `latest-turn`, `error-turn`, …; `null` for what is no code turn. */
  rules: (string | null)[];
}

/**
 * An object of a provider's own form, such as a message or a part of one. The provider's SDK has its exact type, and takes it: there is one
 * for each version of each SDK, so none stands here.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type ProviderObject = any;

/** A body for OpenAI Chat Completions. */
export interface OpenAiChatPayload {
  model?: string;
  messages: ProviderObject[];
  tools?: ProviderObject[];
  stream?: boolean;
  [field: string]: unknown;
}

/** A body for OpenAI Responses. */
export interface OpenAiResponsesPayload {
  model?: string;
  instructions?: string;
  input: ProviderObject[];
  tools?: ProviderObject[];
  stream?: boolean;
  [field: string]: unknown;
}

/** A body for Anthropic Messages. */
export interface AnthropicPayload {
  model?: string;
  max_tokens: number;
  system?: string | { type: "text"; text: string }[];
  messages: { role: "user" | "assistant"; content: string | ProviderObject[] }[];
  tools?: ProviderObject[];
  stream?: boolean;
  [field: string]: unknown;
}

/** A body (or, with `sdk`, the SDK's arguments) for Gemini's `generateContent`. */
export interface GeminiPayload {
  contents: { role: string; parts: ProviderObject[] }[];
  systemInstruction?: { parts: { text?: string }[] };
  tools?: ProviderObject[];
  [field: string]: unknown;
}

/** A body for Ollama's `/api/chat`. */
export interface OllamaPayload {
  model?: string;
  messages: ProviderObject[];
  tools?: ProviderObject[];
  stream?: boolean;
  [field: string]: unknown;
}

/** The payloads by provider. */
export interface Payloads {
  "openai-chat": OpenAiChatPayload;
  "openai-responses": OpenAiResponsesPayload;
  anthropic: AnthropicPayload;
  gemini: GeminiPayload;
  ollama: OllamaPayload;
}

/** The payloads of requests by provider: the model is named, but for Gemini, whose requests have it in their address. */
export interface RequestPayloads {
  "openai-chat": OpenAiChatPayload & { model: string };
  "openai-responses": OpenAiResponsesPayload & { model: string };
  anthropic: AnthropicPayload & { model: string };
  gemini: GeminiPayload;
  ollama: OllamaPayload & { model: string };
}

/** A provider's payload. */
export type Payload<P extends Provider = Provider> = Payloads[P];

/** What can be counted, trimmed and rendered. */
export type Messages = readonly MessageInput[];
