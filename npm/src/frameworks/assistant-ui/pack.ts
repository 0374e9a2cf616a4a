// A message of a framework beside ours without saying its texts twice: what stands in our messages already becomes a pointer to it.

import { isObject } from "../../check.js";
import type { MessageInput } from "../../message.js";

/** Texts below this length are not worth a pointer. */
const LEAST = 32;
/** A pointer: to a text, or to a text that is the JSON of the value. */
const TEXT = "$text";
const JSON_OF = "$json";
/** What looks like a pointer and is none. */
const RAW = "$raw";

/** The texts of messages, in order. */
function texts(messages: readonly MessageInput[]): string[] {
  return messages.flatMap((message) => {
    const { content, reasoning, tool_calls: calls } = message as Record<string, unknown>;
    const said = Array.isArray(content)
      ? (content as Record<string, Record<string, unknown>>[]).map((part) => part["text"] ?? part["image_url"]?.["url"] ?? part["file"]?.["file_data"])
      : [content];
    const called = Array.isArray(calls) ? (calls as { function?: { arguments?: unknown } }[]).map((call) => call.function?.arguments) : [];
    return [...said, reasoning, ...called].filter((text): text is string => typeof text === "string");
  });
}

/** A value with pointers to the texts of `messages`. The value must be plain. */
export function pack(value: unknown, messages: readonly MessageInput[]): unknown {
  const places = new Map<string, number>();
  texts(messages).forEach((text, at) => {
    if (text.length >= LEAST && !places.has(text)) places.set(text, at);
  });
  const walk = (item: unknown): unknown => {
    if (typeof item === "string") {
      const at = places.get(item);
      return at === undefined ? item : { [TEXT]: at };
    }
    if (typeof item !== "object" || item === null) return item;
    const at = places.size === 0 ? undefined : places.get(JSON.stringify(item));
    if (at !== undefined) return { [JSON_OF]: at };
    if (Array.isArray(item)) return item.map(walk);
    const packed = Object.fromEntries(Object.entries(item).map(([name, field]) => [name, walk(field)]));
    return TEXT in item || JSON_OF in item || RAW in item ? { [RAW]: packed } : packed;
  };
  return walk(value);
}

/** The value that {@link pack} packed. */
export function unpack(value: unknown, messages: readonly MessageInput[]): unknown {
  const all = texts(messages);
  const fields = (item: Record<string, unknown>): unknown => Object.fromEntries(Object.entries(item).map(([name, field]) => [name, walk(field)]));
  const walk = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(walk);
    if (!isObject(item)) return item;
    if (RAW in item) return fields(item[RAW] as Record<string, unknown>);
    if (TEXT in item) return all[item[TEXT] as number];
    if (JSON_OF in item) return JSON.parse(all[item[JSON_OF] as number] ?? "null") as unknown;
    return fields(item);
  };
  return walk(value);
}
