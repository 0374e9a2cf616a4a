// What messages of assistant-ui say, in whatever format they are stored, as messages of ours; and what others wrote, as messages of
// assistant-ui.

import type { ThreadMessage } from "@assistant-ui/core";
import { isObject } from "../../check.js";
import type { MessageInput } from "../../message.js";
import { FIELD, type Part, type Ui } from "../shared/ui/types.js";
import { Writer, type Ended } from "../shared/ui/write.js";

type Fields = Record<string, unknown>;

/** Messages of ours that say what a stored message says; one that no prompt shows where nothing can be read of it. */
export function say(stored: unknown): MessageInput[] {
  const ui = toUi(stored);
  if (ui === undefined) return [{ role: "note", content: "", include_in_context: false }];
  const writer = new Writer();
  writer.add(ui, 0);
  return writer.end(ended(stored)).map((message) => {
    const { [FIELD]: _, ...said } = message as unknown as Fields;
    return said as MessageInput;
  });
}

/** A message of assistant-ui or of the AI SDK as the latter has it; `undefined` for what is neither. */
export function toUi(stored: unknown): Ui | undefined {
  if (!isObject(stored)) return undefined;
  const { role, parts, content, id } = stored;
  if (role !== "user" && role !== "assistant" && role !== "system") return toUi(stored["message"]);
  const head = { id: typeof id === "string" ? id : "", role } as const;
  const { metadata } = stored;
  if (Array.isArray(parts))
    return {
      ...head,
      ...(metadata === undefined ? {} : { metadata }),
      parts: parts.filter((part): part is Part => isObject(part) && typeof part["type"] === "string"),
    };
  const list = Array.isArray(content) ? (content as unknown[]).filter(isObject) : typeof content === "string" ? [{ type: "text", text: content }] : undefined;
  if (list === undefined) return undefined;
  const attached = (Array.isArray(stored["attachments"]) ? (stored["attachments"] as unknown[]) : []).flatMap((file) => {
    const inside = isObject(file) ? file["content"] : undefined;
    return Array.isArray(inside) ? (inside as unknown[]).filter(isObject) : [];
  });
  const made: Part[] = [];
  for (const part of [...list, ...attached]) {
    // What is said behind a result was said in another step of the model.
    const answered = made.at(-1)?.["state"];
    if (part["type"] !== "tool-call" && (answered === "output-available" || answered === "output-error")) made.push({ type: "step-start" });
    made.push(toPart(part));
  }
  return { ...head, parts: made };
}

function toPart(part: Fields): Part {
  switch (part["type"]) {
    case "text":
    case "reasoning":
      return { type: part["type"], text: String(part["text"] ?? "") };
    case "image":
      return { type: "file", mediaType: mediaOf(String(part["image"])) ?? "image/*", url: String(part["image"]), ...named(part) };
    case "file": {
      const data = String(part["data"]);
      const mediaType = String(part["mimeType"] ?? "application/octet-stream");
      const isAddress = part["sourceType"] !== undefined || /^(https?|data|blob):/.test(data);
      return { type: "file", mediaType, url: isAddress ? data : `data:${mediaType};base64,${data}`, ...named(part) };
    }
    case "tool-call": {
      const { toolCallId, toolName, args, argsText, result, isError } = part;
      const input = args ?? argsText ?? {};
      const head = { type: "dynamic-tool", toolCallId, toolName, input };
      if (result === undefined) return { ...head, state: "input-available" };
      if (isError !== true) return { ...head, state: "output-available", output: result };
      return { ...head, state: "output-error", errorText: typeof result === "string" ? result : JSON.stringify(result) };
    }
    default:
      return { type: `data-${String(part["type"])}`, data: part };
  }
}

function named(part: Fields): Fields {
  return typeof part["filename"] === "string" ? { filename: part["filename"] } : {};
}

function mediaOf(url: string): string | undefined {
  return /^data:([^;,]+)/.exec(url)?.[1];
}

function ended(stored: unknown): Ended | undefined {
  const status = isObject(stored) ? stored["status"] : undefined;
  if (!isObject(status) || status["type"] !== "incomplete") return undefined;
  const { reason, error } = status;
  if (reason === "cancelled") return { code: "cancelled", reason: "the answer was stopped" };
  if (reason !== "error") return undefined;
  return { code: "failed", reason: typeof error === "string" ? error : (JSON.stringify(error) ?? "the answer failed") };
}

/** What others wrote, as assistant-ui's own message. */
export function fromUi(ui: Ui, id: string, createdAt: Date): ThreadMessage {
  const custom = isObject(ui.metadata) ? ui.metadata : {};
  const content = ui.parts.flatMap((part): Fields[] => {
    if (part.type === "text" || part.type === "reasoning") return part["text"] === "" ? [] : [{ type: part.type, text: part["text"] }];
    if (part.type === "file") {
      const isImage = String(part["mediaType"]).startsWith("image");
      return [
        isImage ? { type: "image", image: part["url"], ...named(part) } : { type: "file", data: part["url"], mimeType: part["mediaType"], ...named(part) },
      ];
    }
    if (part.type === "source-url")
      return [
        { type: "source", sourceType: "url", id: part["sourceId"], url: part["url"], ...(typeof part["title"] === "string" ? { title: part["title"] } : {}) },
      ];
    if (part.type.startsWith("data-")) return [{ type: "data", name: part.type.slice("data-".length), data: part["data"] }];
    if (part["toolCallId"] === undefined) return [];
    const toolName = part.type === "dynamic-tool" ? part["toolName"] : part.type.slice("tool-".length);
    const input = part["input"] ?? {};
    const result =
      part["state"] === "output-error" ? { result: part["errorText"], isError: true } : part["state"] === "output-available" ? { result: part["output"] } : {};
    return [{ type: "tool-call", toolCallId: part["toolCallId"], toolName, args: input, argsText: JSON.stringify(input), ...result }];
  });
  const head = { id, createdAt };
  if (ui.role === "assistant") {
    const metadata = { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], custom };
    return { ...head, role: "assistant", content, status: { type: "complete", reason: "unknown" }, metadata } as unknown as ThreadMessage;
  }
  if (ui.role === "system") return { ...head, role: "system", content: content.slice(0, 1), metadata: { custom } } as unknown as ThreadMessage;
  return { ...head, role: "user", content, attachments: [], metadata: { custom } } as unknown as ThreadMessage;
}

/** A message that came out of JSON, with its times as times again, and those of messages inside. */
export function revive(stored: unknown): unknown {
  if (!isObject(stored)) return stored;
  const { createdAt, content } = stored;
  return {
    ...stored,
    ...(typeof createdAt === "string" ? { createdAt: new Date(createdAt) } : {}),
    ...(Array.isArray(content)
      ? {
          content: content.map((part: unknown) =>
            isObject(part) && Array.isArray(part["messages"]) ? { ...part, messages: part["messages"].map(revive) } : part,
          ),
        }
      : {}),
  };
}
