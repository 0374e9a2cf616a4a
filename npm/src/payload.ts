// The payloads of requests by provider, and what goes into them in the providers' own forms.

import type { Provider } from "./generated/provider.js";

/** A tool that the model may call: bare, or in OpenAI's or Anthropic's form. */
export type ToolSchema =
  | { name: string; description?: string; parameters?: object; strict?: boolean }
  | { name: string; description?: string; input_schema?: object }
  | { type: "function"; function: { name: string; description?: string; parameters?: object; strict?: boolean } };

/**
 * An object of a provider's own form, such as a message or a part of one. The provider's SDK has its exact type, and takes it: there is one
 * for each version of each SDK, so none stands here.
 */
// biome-ignore lint/suspicious/noExplicitAny: the SDKs' own types go here
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
