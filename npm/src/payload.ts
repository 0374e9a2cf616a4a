// The payloads of requests by provider. They fit the parameters of the official clients: `openai`, `@anthropic-ai/sdk`, `@google/genai`
// and `ollama`. A provider's own items go back to it as they came, so at run time other parts and items can occur than these types name.

import type { Provider } from "./generated/provider.js";
import type { FilePart, ImagePart, TextPart, ToolCall } from "./message.js";

/** A tool that the model may call: bare, or in OpenAI's or Anthropic's form. */
export type ToolSchema =
  | { name: string; description?: string; parameters?: object; strict?: boolean }
  | { name: string; description?: string; input_schema?: object }
  | { type: "function"; function: { name: string; description?: string; parameters?: object; strict?: boolean } };

/** An object that only the provider understands. Its exact type is in the provider's client; that of any version fits. */
// biome-ignore lint/suspicious/noExplicitAny: the clients' own types go here
export type ProviderObject = any;

/** The JSON schema of a tool's arguments. */
export interface ToolParameters {
  type: "object";
  [keyword: string]: ProviderObject;
}

/** A function in a payload. */
export interface PayloadFunction {
  name: string;
  description?: string;
  parameters: ToolParameters;
}

/** Sound in a payload for OpenAI Chat Completions. */
export interface OpenAiAudioPart {
  type: "input_audio";
  input_audio: { data: string; format: "wav" | "mp3" };
}

/** A message in a payload for OpenAI Chat Completions. */
export type OpenAiChatMessage =
  | { role: "system"; content: string; name?: string }
  | { role: "developer"; content: string; name?: string }
  | { role: "user"; content: string | (TextPart | ImagePart | OpenAiAudioPart | FilePart)[]; name?: string }
  | { role: "assistant"; content: string | null; name?: string; tool_calls?: ToolCall[] }
  | { role: "tool"; content: string; tool_call_id: string };

/** A body for OpenAI Chat Completions, and the argument of `openai.chat.completions.create`. */
export interface OpenAiChatPayload {
  model?: string;
  max_completion_tokens?: number;
  stream?: boolean;
  /** In an agent's requests. */
  stream_options?: { include_usage: boolean };
  tools?: { type: "function"; function: PayloadFunction & { strict?: boolean } }[];
  messages: OpenAiChatMessage[];
}

/** A part of a content in a payload for OpenAI Responses. */
export type OpenAiResponsesPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; file_data?: string; file_id?: string; file_url?: string; filename?: string };

/** An item in a payload for OpenAI Responses. */
export type OpenAiResponsesItem =
  | { type?: never; role: "user" | "assistant" | "system" | "developer"; content: string | OpenAiResponsesPart[] }
  | { type: "function_call"; call_id: string; name: string; arguments: string; id?: string; status?: "in_progress" | "completed" | "incomplete" }
  | { type: "function_call_output"; call_id: string; output: string | OpenAiResponsesPart[] }
  | { type: "custom_tool_call"; call_id: string; name: string; input: string; id?: string }
  | { type: "custom_tool_call_output"; call_id: string; output: string | OpenAiResponsesPart[] }
  | {
      type: "reasoning";
      id: string;
      summary: { type: "summary_text"; text: string }[];
      content?: { type: "reasoning_text"; text: string }[];
      encrypted_content?: string | null;
    }
  | {
      type: "message";
      role: "assistant";
      id: string;
      status: "in_progress" | "completed" | "incomplete";
      content: ({ type: "output_text"; text: string; annotations: ProviderObject[] } | { type: "refusal"; refusal: string })[];
    };

/** A body for OpenAI Responses, and the argument of `openai.responses.create`. */
export interface OpenAiResponsesPayload {
  model?: string;
  max_output_tokens?: number;
  stream?: boolean;
  instructions?: string;
  tools?: ({ type: "function"; strict: boolean } & PayloadFunction)[];
  input: OpenAiResponsesItem[];
}

/** What a user says, or a tool gives, in a payload for Anthropic Messages. */
export type AnthropicPart =
  | { type: "text"; text: string; citations?: ProviderObject[] | null }
  | {
      type: "image";
      source: { type: "base64"; media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"; data: string } | { type: "url"; url: string };
    }
  | { type: "document"; source: ProviderObject; title?: string | null; context?: string | null };

/** A block in a payload for Anthropic Messages. */
export type AnthropicBlock =
  | AnthropicPart
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: Record<string, unknown> }
  | { type: "tool_result"; tool_use_id: string; content?: string | AnthropicPart[]; is_error?: boolean }
  | { type: "server_tool_use"; id: string; name: ProviderObject; input: Record<string, unknown> }
  | { type: "web_search_tool_result"; tool_use_id: string; content: ProviderObject };

/** A body for Anthropic Messages, and the argument of `anthropic.messages.create`. */
export interface AnthropicPayload {
  model?: string;
  max_tokens: number;
  stream?: boolean;
  system?: string | { type: "text"; text: string }[];
  tools?: { name: string; description?: string; input_schema: ToolParameters; strict?: boolean }[];
  messages: { role: "user" | "assistant"; content: AnthropicBlock[] }[];
}

/** A part of a content in a payload for Gemini. */
export interface GeminiPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { mimeType?: string; fileUri: string };
  functionCall?: { id?: string; name: string; args?: Record<string, unknown> };
  functionResponse?: { id?: string; name: string; response: Record<string, unknown> };
  executableCode?: ProviderObject;
  codeExecutionResult?: ProviderObject;
}

/** The fields that a body for Gemini and the client's argument share. */
export interface GeminiFrame {
  systemInstruction?: { parts: { text: string }[] };
  /** `parameters` is a schema of Gemini's own. The client types its words by enums, which no JSON fits. */
  tools?: { functionDeclarations: { name: string; description?: string; parameters?: ProviderObject }[] }[];
}

/** A body for Gemini's `generateContent`. */
export interface GeminiPayload extends GeminiFrame {
  generationConfig?: { maxOutputTokens: number };
  contents: { role: "user" | "model"; parts: GeminiPart[] }[];
}

/** With `sdk: true`: the argument of `ai.models.generateContent` and `generateContentStream`. */
export interface GeminiSdkPayload {
  model?: string;
  contents: GeminiPayload["contents"];
  config?: GeminiFrame & { maxOutputTokens?: number };
}

/** A message in a payload for Ollama. */
export interface OllamaMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  thinking?: string;
  /** Base64. */
  images?: string[];
  tool_calls?: { function: { name: string; arguments: Record<string, unknown> } }[];
  tool_name?: string;
}

/** A body for Ollama's `/api/chat`, and the argument of `ollama.chat`. */
export interface OllamaPayload {
  model?: string;
  stream?: boolean;
  options?: { num_predict: number };
  tools?: { type: "function"; function: PayloadFunction }[];
  messages: OllamaMessage[];
}

/** The options that a payload's type depends on. */
export interface PayloadForm {
  /** The model's name: a payload names the model if the options do. */
  model?: string;
  /** Whether the answer shall come as a stream. */
  stream?: boolean;
  /** For Gemini: whether it is the client's argument. */
  sdk?: boolean;
}

/** The form of a payload by the types of its options. `M` is `never` if they name no model. */
export type FormOf<M extends string, Stream extends boolean, Sdk extends boolean> = {
  sdk: Sdk;
} & ([M] extends [never] ? { model?: string } : { model: string }) &
  ([Stream] extends [true] ? { stream: true } : [Stream] extends [false] ? { stream?: false } : { stream?: boolean });

/** The options of {@link Thread.context} that the payload's type depends on. */
export interface FormOptions<M extends string, Stream extends boolean, Sdk extends boolean> {
  model?: M;
  render?: { stream?: Stream; sdk?: Sdk };
}

/**
 * The payloads by provider. Each is the argument of a call of the official client, if it names the model:
 * `openai.chat.completions.create`, `openai.responses.create`, `anthropic.messages.create`, `ai.models.generateContent` (Gemini with
 * `sdk: true`) and `ollama.chat`.
 */
export interface Payloads<F extends PayloadForm = PayloadForm> {
  "openai-chat": OpenAiChatPayload & Omit<F, "sdk">;
  "openai-responses": OpenAiResponsesPayload & Omit<F, "sdk">;
  anthropic: AnthropicPayload & Omit<F, "sdk">;
  gemini: F extends { sdk?: infer Sdk } ? (Sdk extends true ? GeminiSdkPayload & Omit<F, "sdk" | "stream"> : GeminiPayload) : never;
  ollama: OllamaPayload & Omit<F, "sdk">;
}

/** A provider's payload. */
export type Payload<P extends Provider = Provider, F extends PayloadForm = PayloadForm> = Payloads<F>[P];

/** The payload of an agent's request: it names the model and wants a stream. */
export type RequestPayload<P extends Provider = Provider, Sdk extends boolean = boolean> = Payload<P, { model: string; stream: true; sdk: Sdk }>;
