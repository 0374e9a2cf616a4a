// Messages that something else wrote (an archive, an agent, `append`), as UI messages: what the AI SDK would have made of them.

import type { NodeInfo } from "../../../lost.js";
import { textOf } from "../../../model/assembly.js";
import type { Entry, Part } from "./types.js";

/**
 * Adds what a message says to the UI messages of its chain. Instructions are none of them: the AI SDK gives those to the model
 * apart. All that is said between two user messages is one message of the assistant, as the AI SDK has it. The last entry is changed in
 * place, its parts, too.
 *
 * @returns whether an entry was added
 */
export function lift(entries: Entry[], node: NodeInfo, index: number, place: number): boolean {
  const message = node.messages[index] as unknown as Record<string, unknown>;
  const last = entries.at(-1);
  const begin = (role: "user" | "assistant", parts: Part[]): Entry => {
    const entry: Entry = {
      ui: { id: node.messages.length === 1 ? node.id : `${node.id}:${index}`, role, parts },
      start: place,
      end: place,
      inside: index > 0,
      foreign: true,
    };
    entries.push(entry);
    return entry;
  };
  switch (message["role"]) {
    case "user":
      begin("user", content(message["content"]));
      return true;
    case "assistant": {
      const going = last?.foreign === true && last.ui.role === "assistant" ? last : undefined;
      const entry = going ?? begin("assistant", []);
      entry.end = place;
      const { parts } = entry.ui;
      parts.push({ type: "step-start" });
      if (typeof message["reasoning"] === "string") parts.push({ type: "reasoning", text: message["reasoning"], state: "done" });
      for (const part of content(message["content"])) parts.push(part["type"] === "text" ? { ...part, state: "done" } : part);
      for (const call of (message["tool_calls"] ?? []) as Record<string, Record<string, string>>[]) {
        const [toolName, input] = call["custom"]
          ? [call["custom"]["name"], call["custom"]["input"]]
          : [call["function"]?.["name"], json(call["function"]?.["arguments"])];
        parts.push({ type: "dynamic-tool", toolName, toolCallId: call["id"], state: "input-available", input });
      }
      return going === undefined;
    }
    case "tool": {
      const parts = last?.ui.role === "assistant" ? last.ui.parts : [];
      const at = parts.findIndex(
        (part) => part["toolCallId"] === message["tool_call_id"] && (part["state"] === "input-available" || part["state"] === "approval-responded"),
      );
      if (last === undefined || at < 0) return false;
      const text = textOf(message["content"] as never);
      const result = message["is_error"] === true ? { state: "output-error", errorText: text } : { state: "output-available", output: json(text) };
      // A part of its own, not a change to the one that others may hold.
      parts[at] = { ...(parts[at] as Part), ...result };
      last.end = place;
      return false;
    }
    default:
      return false;
  }
}

function content(value: unknown): Part[] {
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  if (!Array.isArray(value)) return [];
  return (value as Record<string, unknown>[]).map((part): Part => {
    const [image, file] = [part["image_url"], part["file"]] as ({ url?: string; file_data?: string; filename?: string } | undefined)[];
    const url = image?.url ?? file?.file_data;
    if (url !== undefined) {
      const mediaType = /^data:([^;,]+)/.exec(url)?.[1] ?? (image === undefined ? "application/octet-stream" : "image/*");
      return { type: "file", mediaType, ...(file?.filename === undefined ? {} : { filename: file.filename }), url };
    }
    const text = part["text"] ?? part["refusal"] ?? file?.filename;
    return { type: "text", text: typeof text === "string" ? text : `[${String(part["type"])}]` };
  });
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "{}") as unknown;
  } catch {
    return text;
  }
}
