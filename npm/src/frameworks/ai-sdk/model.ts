// Messages of the AI SDK's models (`ModelMessage`) as ours and back. What both can say is said once; a message of theirs that ours
// would not give back as it was rides along whole.

import type { ModelMessage } from "ai";
import { base64 } from "../../bytes.js";
import * as check from "../../check.js";
import { badArgument } from "../../errors.js";
import { textOf } from "../../model/assembly.js";
import type { Message, MessageInput } from "../../message.js";
import { plain, same } from "../shared/json.js";

/** The field with a message that rides along, and of how many of ours it is. */
const WHOLE = "ai_sdk_model";
/** The field that says that a result is JSON. */
const OUTPUT = "ai_sdk_output";

type Fields = Record<string, unknown>;

/** One of our messages and the part of theirs that it is; without a part it is all that is not a result. */
export interface Lowered {
  message: Fields & { role: string };
  part?: number;
}

/** A message of the AI SDK as ours, one for each result in it. */
export function lower(message: ModelMessage): Lowered[] {
  const content = message.content as unknown;
  if (message.role === "system") return [{ message: { role: "system", content } }];
  if (typeof content === "string") return [{ message: { role: message.role, content } }];
  const parts = content as Fields[];
  if (message.role === "user") return [{ message: { role: "user", content: parts.map(said) } }];
  const results = parts.flatMap((part, at) => (part["type"] === "tool-result" ? [{ message: result(part), part: at }] : []));
  if (message.role === "tool") return results;
  const texts = parts.filter(({ type }) => type !== "tool-result" && type !== "tool-call" && type !== "reasoning" && type !== "tool-approval-request");
  const reasoning = parts.filter(({ type }) => type === "reasoning").map(({ text }) => String(text));
  const calls = parts.filter(({ type }) => type === "tool-call");
  if (texts.length + reasoning.length + calls.length === 0) return results;
  const made = {
    role: "assistant",
    content: texts.length === 0 ? (calls.length === 0 ? "" : null) : texts.map(said),
    ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join("\n\n") }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call["toolCallId"],
            type: "function",
            function: { name: call["toolName"], arguments: JSON.stringify(call["input"] ?? {}) },
          })),
        }),
  };
  return [{ message: made }, ...results];
}

function said(part: Fields): Fields {
  if (part["type"] === "text") return { type: "text", text: part["text"] };
  const data = part["type"] === "image" ? part["image"] : part["data"];
  const mediaType = String(part["mediaType"] ?? "");
  const url = address(data, mediaType);
  if (part["type"] === "image" || /^image(\/|$)/.test(mediaType)) return { type: "image_url", image_url: { url } };
  const name = part["filename"];
  return { type: "file", file: { file_data: url, ...(typeof name === "string" ? { filename: name } : {}) } };
}

/** Where data is, or the data itself as an address. */
function address(data: unknown, mediaType: string): string {
  if (data instanceof URL) return data.href;
  const tagged = data as { type?: unknown; url?: unknown; data?: unknown; text?: unknown } | null;
  if (check.isObject(tagged) && typeof tagged.type === "string" && !isBytes(data)) {
    if (tagged.type === "url") return String(tagged.url);
    if (tagged.type === "data") return address(tagged.data, mediaType);
    return tagged.type === "text" ? `data:text/plain,${encodeURIComponent(String(tagged.text))}` : `reference:${tagged.type}`;
  }
  const text = isBytes(data) ? base64(view(data)) : String(data);
  return /^(https?|data|blob|file):/.test(text) ? text : `data:${mediaType === "" ? "application/octet-stream" : mediaType};base64,${text}`;
}

function result(part: Fields): Fields & { role: string } {
  const output = part["output"] as { type: string; value?: unknown; reason?: string };
  const failed = output.type.startsWith("error") || output.type === "execution-denied";
  const denied = output.reason === undefined ? "Tool execution denied." : `Tool execution denied: ${output.reason}`;
  const texts =
    output.type === "content"
      ? (output.value as Fields[]).map((item) => (item["type"] === "text" ? item["text"] : `[${String(item["type"])}]`)).join("\n")
      : undefined;
  const isText = output.type === "text" || output.type === "error-text";
  const isJson = output.type === "json" || output.type === "error-json";
  return {
    role: "tool",
    tool_call_id: part["toolCallId"],
    name: part["toolName"],
    content: isText ? output.value : (texts ?? (output.type === "execution-denied" ? denied : (JSON.stringify(output.value) ?? ""))),
    ...(failed ? { is_error: true } : {}),
    ...(isJson ? { [OUTPUT]: "json" } : {}),
  };
}

/**
 * Messages of the AI SDK's models as messages of a keep: what `generateText` answers (`result.response.messages`) can be appended so.
 * {@link toModelMessages} gives them back as they were; bytes come back as base64, addresses as text.
 *
 * @throws ThreadkeepError `bad-request` for what is no list of such messages
 *
 * @example
 * ```ts
 * const { responseMessages } = await generateText({ model, messages: toModelMessages(await keep.thread("main").messages()) });
 * await keep.thread("main").append(fromModelMessages(responseMessages));
 * ```
 */
export function fromModelMessages(messages: readonly ModelMessage[]): MessageInput[] {
  if (!Array.isArray(messages)) throw badArgument("messages", "must be a list of messages of the AI SDK");
  const made: MessageInput[] = [];
  messages.forEach((given: ModelMessage, at) => {
    if (!check.isObject(given) || typeof (given as Fields)["role"] !== "string") throw badArgument(`messages[${at}]`, "must be a message of the AI SDK");
    const message = portable(given) as ModelMessage;
    const ours = lower(message).map((lowered) => lowered.message as MessageInput);
    // Results that stand side by side would be put together.
    const apart = message.role !== "tool" || messages[at - 1]?.role !== "tool";
    if (ours.length === 0 || !apart || !same(toModelMessages(ours as Message[]), [message])) {
      if (ours.length === 0) ours.push({ role: "note", content: "", include_in_context: false });
      (ours[0] as Fields)[WHOLE] = { message, covers: ours.length };
    }
    made.push(...ours);
  });
  return made;
}

/**
 * Messages of a keep, whoever wrote them, as the AI SDK's models take them. What prompts may not contain is left out.
 *
 * @throws ThreadkeepError `bad-request` for what is no list of messages
 *
 * @example
 * ```ts
 * const { messages, overBudget } = await keep.thread("main").context({ budget: { maxTokens: 8000 } });
 * if (!overBudget) await generateText({ model, messages: toModelMessages(messages) });
 * ```
 */
export function toModelMessages(messages: readonly MessageInput[]): ModelMessage[] {
  check.messages(messages, "messages");
  const made: Fields[] = [];
  const names = new Map<unknown, string>();
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] as unknown as Fields;
    const whole = message[WHOLE] as { message: ModelMessage; covers: number } | undefined;
    if (check.isObject(whole)) {
      made.push(structuredClone(whole.message) as unknown as Fields);
      at += whole.covers - 1;
    } else if (message["include_in_context"] !== false) raise(message, made, names);
  }
  return made as unknown as ModelMessage[];
}

function raise(message: Fields, made: Fields[], names: Map<unknown, string>): void {
  const { content } = message;
  switch (message["role"]) {
    case "system":
    case "developer":
      made.push({ role: "system", content: textOf(content) });
      return;
    case "user":
      made.push({ role: "user", content: Array.isArray(content) ? content.map(heard) : content });
      return;
    case "assistant": {
      const calls = (message["tool_calls"] ?? []) as { id: string; function?: { name: string; arguments: string }; custom?: { name: string; input: string } }[];
      const reasoning = message["reasoning"];
      if (typeof content === "string" && calls.length === 0 && reasoning === undefined) {
        made.push({ role: "assistant", content });
        return;
      }
      const parts: Fields[] = typeof reasoning === "string" ? [{ type: "reasoning", text: reasoning }] : [];
      if (Array.isArray(content)) parts.push(...content.map(heard));
      else if (typeof content === "string" && content !== "") parts.push({ type: "text", text: content });
      for (const { id, custom, function: called } of calls) {
        const toolName = custom?.name ?? called?.name ?? "tool";
        names.set(id, toolName);
        parts.push({ type: "tool-call", toolCallId: id, toolName, input: custom?.input ?? json(called?.arguments ?? "{}") });
      }
      made.push({ role: "assistant", content: parts });
      return;
    }
    case "tool": {
      const id = message["tool_call_id"];
      const [text, failed] = [textOf(content), message["is_error"] === true];
      const isJson = message[OUTPUT] === "json";
      const output = isJson ? { type: failed ? "error-json" : "json", value: json(text) } : { type: failed ? "error-text" : "text", value: text };
      const part = { type: "tool-result", toolCallId: id, toolName: message["name"] ?? names.get(id) ?? "tool", output };
      const last = made.at(-1);
      if (last?.["role"] === "tool") (last["content"] as Fields[]).push(part);
      else made.push({ role: "tool", content: [part] });
      return;
    }
    default:
  }
}

function heard(part: Fields): Fields {
  const [image, file] = [part["image_url"], part["file"]] as ({ url?: string; file_data?: string; filename?: string } | undefined)[];
  const url = image?.url ?? file?.file_data;
  if (url === undefined) return { type: "text", text: typeof part["text"] === "string" ? part["text"] : `[${String(part["type"])}]` };
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  const mediaType = inline?.[1] ?? (image === undefined ? "application/octet-stream" : "image/*");
  return { type: "file", data: inline?.[2] ?? url, mediaType, ...(file?.filename === undefined ? {} : { filename: file.filename }) };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function view(bytes: Uint8Array | ArrayBuffer): Uint8Array {
  return bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
}

function isBytes(value: unknown): value is Uint8Array | ArrayBuffer {
  return value instanceof Uint8Array || value instanceof ArrayBuffer;
}

/** As JSON carries it, bytes as base64. */
function portable(value: unknown): unknown {
  const walk = (item: unknown): unknown => {
    if (isBytes(item)) return base64(view(item));
    if (Array.isArray(item)) return item.map(walk);
    if (!check.isObject(item) || item instanceof URL || item instanceof Date) return item;
    return Object.fromEntries(Object.entries(item).map(([name, field]) => [name, walk(field)]));
  };
  try {
    return plain(walk(value));
  } catch (error) {
    throw badArgument("messages", `cannot be written as JSON: ${(error as Error).message}`, error);
  }
}
