// The AI SDK: a request as `streamText` takes it, and what comes back.

import { isObject } from "../check.js";
import type { Message, MessageInput } from "../message.js";
import type { ModelRequest } from "./model.js";
import { textOf, type Assembly } from "./assembly.js";

const FINISH: Readonly<Record<string, string>> = { "content-filter": "filtered" };

/** The parts that say nothing of the answer, by their types. */
const OTHERS = /^(start|finish|text|reasoning|tool|source|file|raw)(-|$)/;

/** Reads the parts of one answer. */
export class AiSdk {
  readonly #calls: unknown[] = [];

  /** A part of `fullStream`; whether it was one. */
  read(part: Record<string, unknown>, answer: Assembly): boolean {
    // Google's answers have no type, and a getter `text` that warns.
    if (typeof part["type"] !== "string") return false;
    const text = part["text"] ?? part["delta"];
    switch (part["type"]) {
      case "text-delta":
        answer.say(text);
        return true;
      case "reasoning-delta":
        answer.think(text);
        return true;
      case "tool-input-start":
        answer.call(this.#place(part["id"]), { id: part["id"], name: part["toolName"] });
        return true;
      case "tool-input-delta":
        answer.call(this.#place(part["id"]), { arguments: part["delta"] });
        return true;
      case "tool-call": {
        // With its pieces or without: some providers give calls whole.
        const place = this.#place(part["toolCallId"]);
        const { input } = part;
        const whole = typeof input === "string" ? input : JSON.stringify(input ?? {});
        const more = answer.argumentsOf(place) === "" ? whole : "";
        answer.call(place, { id: part["toolCallId"], name: part["toolName"], arguments: more });
        return true;
      }
      case "finish": {
        const reason = String(part["finishReason"]);
        answer.finish = FINISH[reason] ?? reason;
        const usage = isObject(part["totalUsage"]) ? part["totalUsage"] : part["usage"];
        if (!isObject(usage)) return true;
        const details = usage["inputTokenDetails"];
        const cached = isObject(details) ? details["cacheReadTokens"] : usage["cachedInputTokens"];
        const written = isObject(details) ? details["cacheWriteTokens"] : undefined;
        const counts = { promptTokens: usage["inputTokens"], completionTokens: usage["outputTokens"] };
        Object.assign(answer.usage, { ...counts, cachedTokens: cached, cacheWriteTokens: written });
        return true;
      }
      case "error":
        // Providers' events have that type, too.
        if (part["error"] instanceof Error) throw part["error"];
        return false;
      case "abort":
        throw new DOMException("aborted", "AbortError");
      default:
        // Beginnings and ends of blocks, sources, steps: parts all the same.
        return OTHERS.test(part["type"]);
    }
  }

  #place(id: unknown): number {
    const at = this.#calls.indexOf(id);
    return at < 0 ? this.#calls.push(id) - 1 : at;
  }
}

/** A part of a message as the AI SDK takes it. */
export type AiSdkUserPart = { type: "text"; text: string } | { type: "image"; image: string } | { type: "file"; data: string; mediaType: string };

/** A message as the AI SDK takes it. */
export type AiSdkMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | AiSdkUserPart[] }
  | {
      role: "assistant";
      content: ({ type: "text"; text: string } | { type: "tool-call"; toolCallId: string; toolName: string; input: unknown })[];
    }
  | {
      role: "tool";
      content: { type: "tool-result"; toolCallId: string; toolName: string; output: { type: "text" | "error-text"; value: string } }[];
    };

/** A request as the AI SDK's `streamText` takes it; `S` is what its `jsonSchema` makes. */
export interface AiSdkRequest<S> {
  /** The instructions at the beginning. */
  system?: string;
  messages: AiSdkMessage[];
  tools: Record<string, { description?: string; inputSchema: S }>;
  abortSignal: AbortSignal;
}

/**
 * A model's request as the AI SDK's `streamText` takes it. What `streamText` gives is an answer as it is. Reasoning that providers
 * sign is not handed back to them this way.
 *
 * @param request what the model's function is called with
 * @param jsonSchema the AI SDK's function of that name
 *
 * @example
 * ```ts
 * import { jsonSchema, streamText } from "ai";
 * const model = (request) => streamText({ model: openai("gpt-4o-mini"), ...forAiSdk(request, jsonSchema) });
 * const agent = createAgent({ keep, model, modelName: "gpt-4o-mini" });
 * ```
 */
export function forAiSdk<S>(request: Pick<ModelRequest, "messages" | "tools" | "signal">, jsonSchema: (schema: object) => S): AiSdkRequest<S> {
  const { messages, tools, signal } = request;
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const begin = first < 0 ? messages.length : first;
  const system = messages.slice(0, begin).map(({ content }) => textOf(content));
  const names = new Map<string, string>();
  const made: AiSdkMessage[] = [];
  for (const message of messages.slice(begin)) add(message, made, names);
  const offered = tools.map(({ name, description, parameters }) => {
    return [name, { ...(description === undefined ? {} : { description }), inputSchema: jsonSchema(parameters) }] as const;
  });
  return { ...(system.length === 0 ? {} : { system: system.join("\n\n") }), messages: made, tools: Object.fromEntries(offered), abortSignal: signal };
}

function add(message: Message, made: AiSdkMessage[], names: Map<string, string>): void {
  switch (message.role) {
    case "user":
      made.push({ role: "user", content: typeof message.content === "string" ? message.content : message.content.map(part) });
      return;
    case "assistant": {
      const text = textOf(message.content);
      const content: (AiSdkMessage & { role: "assistant" })["content"] = text === "" ? [] : [{ type: "text", text }];
      for (const call of message.tool_calls ?? []) {
        const [name, written] = call.type === "custom" ? [call.custom.name, call.custom.input] : [call.function.name, call.function.arguments];
        names.set(call.id, name);
        content.push({ type: "tool-call", toolCallId: call.id, toolName: name, input: object(written) });
      }
      if (content.length > 0) made.push({ role: "assistant", content });
      return;
    }
    case "tool": {
      const { tool_call_id: id, name } = message;
      const output = { type: message.is_error === true ? ("error-text" as const) : ("text" as const), value: textOf(message.content) };
      const result = { type: "tool-result" as const, toolCallId: id, toolName: names.get(id) ?? name ?? "tool", output };
      const last = made.at(-1);
      if (last?.role === "tool") last.content.push(result);
      else made.push({ role: "tool", content: [result] });
      return;
    }
    default:
      made.push({ role: "system", content: textOf((message as MessageInput)["content" as never]) });
  }
}

function part(part: object): AiSdkUserPart {
  const given = part as { type: string; text?: string; image_url?: { url: string }; file?: { file_data?: string } };
  if (given.type === "image_url" && given.image_url !== undefined) return { type: "image", image: given.image_url.url };
  const data = given.file?.file_data;
  const mediaType = /^data:([^;,]+)/.exec(data ?? "")?.[1];
  if (data !== undefined && mediaType !== undefined) return { type: "file", data, mediaType };
  return { type: "text", text: given.text ?? `[${given.type}]` };
}

function object(json: string): unknown {
  try {
    const value = JSON.parse(json) as unknown;
    if (isObject(value)) return value;
  } catch {
    // What a model wrote is not always JSON; what it got back for that says so.
  }
  return {};
}
