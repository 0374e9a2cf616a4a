// Items of the Agents SDK as messages of ours, and back. What goes in comes out exactly: an item that its message does not say
// by itself rides along as text, in the field `openai_agents` of the message. A response's reasoning, words and calls are one
// assistant message, and each result is a tool message, so that budgets and compaction keep calls, results and reasoning together.

import type { AgentInputItem } from "@openai/agents-core";
import type { Message, MessageInput, ToolCall } from "../../message.js";
import { canonical, decode, encode } from "./codec.js";
import { callOf, isReply, replyOf, type Call, type Loose } from "./calls.js";
import { partsOf, textOf, userContent } from "./content.js";
import { wellFormed } from "../../check.js";

/** The field of a message that says which items it stands for; its presence says that a session wrote the message. */
export const FIELD = "openai_agents";

/**
 * `of`: how many items; `json`: the items, where the message does not say them by itself; `begins`: the head of the session that
 * begins with it, and the version of the session's place that it followed.
 */
interface Mark {
  of: number;
  json?: string;
  begins?: [context: string, version: number];
}

/** Items as they belong into one or more messages: the first has them all, the others (results of hosted tools) none. */
interface Group {
  items: AgentInputItem[];
  messages: Record<string, unknown>[];
}

/**
 * Items as messages.
 *
 * @throws ThreadkeepError `bad-request` for an item that is no plain data
 */
export function toMessages(items: readonly AgentInputItem[], argument = "items"): MessageInput[] {
  return groups(items).flatMap(({ items: own, messages: [first, ...more] }) => {
    const mark: Mark = { of: own.length };
    const json = encode(own, argument);
    if (first === undefined || more.length > 0 || !says(first, own)) mark.json = json;
    const rest = more.map((message) => ({ ...message, [FIELD]: { of: 0 } }));
    return [{ ...first, [FIELD]: mark }, ...rest] as unknown as MessageInput[];
  });
}

/** The items for which a message stands; those that say the same, where no session wrote it. */
export function toItems(message: Message, names: ReadonlyMap<string, string> = new Map()): AgentInputItem[] {
  const mark = markOf(message);
  if (mark?.of === 0) return [];
  return mark?.json === undefined ? said(message, names) : (decode(mark.json) as AgentInputItem[]);
}

/** The items of each of a chain's messages. */
export function itemsByMessage(messages: readonly Message[]): AgentInputItem[][] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === "assistant") for (const call of message.tool_calls ?? []) names.set(call.id, nameOf(call));
    return toItems(message, names);
  });
}

/** Whether a session wrote the message. */
export function isOurs(message: Message | undefined): boolean {
  return message !== undefined && markOf(message) !== undefined;
}

/** The first message that a session writes at a head. */
export function begun(message: MessageInput, context: string, version: number): MessageInput {
  const mark: Mark = { of: 0, ...markOf(message as Message), begins: [context, version] };
  return { ...message, [FIELD]: mark } as MessageInput;
}

/** Whether a session begins at a head with a message that does not count as long as its place has this version. */
export function begins(message: Message | undefined, context: string, version: number): boolean {
  const said = message === undefined ? undefined : markOf(message)?.begins;
  return said?.[0] === context && said[1] === version;
}

/** How many items each of the messages that {@link toMessages} gave stands for. */
export function counts(messages: readonly MessageInput[]): number[] {
  return messages.map((message) => markOf(message as Message)?.of ?? 0);
}

function markOf(message: Message): Mark | undefined {
  const mark = (message as unknown as Record<string, unknown>)[FIELD];
  return typeof mark === "object" && mark !== null ? (mark as Mark) : undefined;
}

/** Whether a message says these items by itself. */
function says(message: Record<string, unknown>, items: readonly AgentInputItem[]): boolean {
  // Of thoughts no item can be made: providers know theirs by ids and signatures.
  if (message["reasoning"] !== undefined || message["include_in_context"] === false) return false;
  return canonical(said(message as unknown as Message, new Map())) === canonical(items);
}

function groups(items: readonly AgentInputItem[]): Group[] {
  const found: Group[] = [];
  /** Calls without a result yet, by id; one of a hosted tool is answered at once. */
  const open = new Map<string, Call>();
  let answer: { group: Group; message: Record<string, unknown>; calls: Call[] } | undefined;
  const close = (): void => {
    for (const { id, name, result } of answer?.calls ?? [])
      if (result !== undefined) answer?.group.messages.push({ role: "tool", tool_call_id: id, name, content: wellFormed(result) });
    answer = undefined;
  };
  const alone = (item: AgentInputItem, message: Record<string, unknown>): void => {
    close();
    found.push({ items: [item], messages: [message] });
  };
  for (const item of items) {
    const loose = item as unknown as Loose;
    const call = callOf(loose);
    if (isReply(loose)) {
      const { id, name, content } = replyOf(loose, [...open.values()]);
      open.delete(id);
      alone(item, { role: "tool", tool_call_id: id, ...(name === undefined ? {} : { name }), content });
    } else if (call !== undefined || loose.type === "reasoning" || loose.role === "assistant") {
      // Words after words are another response, unless a call between them still waits.
      if (loose.role === "assistant" && answer !== undefined && answer.message["content"] !== null && answer.calls.length === 0) close();
      if (answer === undefined) {
        const message: Record<string, unknown> = { role: "assistant", content: null };
        answer = { group: { items: [], messages: [message] }, message, calls: [] };
        found.push(answer.group);
      }
      answer.group.items.push(item);
      if (call !== undefined) {
        answer.calls.push(call);
        if (call.result === undefined) open.set(call.id, call);
        answer.message["tool_calls"] = answer.calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } }));
      } else if (loose.type === "reasoning") add(answer.message, "reasoning", thought(loose));
      else add(answer.message, "content", partsOf(loose["content"]));
    } else if (loose.role === "user" || loose.role === "system") alone(item, { role: loose.role, content: userContent(loose["content"]) });
    // What only its provider can read: kept for it, and no part of prompts that we make.
    else alone(item, { role: "assistant", content: `[${wellFormed(loose.type ?? "unknown")}]`, include_in_context: false });
  }
  close();
  return found;
}

/** Adds to a field what there is already of its kind: text to text, parts to parts. */
function add(message: Record<string, unknown>, field: string, value: string | object[]): void {
  const before = message[field] as string | object[] | null | undefined;
  if (before === null || before === undefined) message[field] = value;
  else if (typeof before === "string" && typeof value === "string") message[field] = before === "" ? value : `${before}\n\n${value}`;
  else message[field] = [...list(before), ...list(value)];
}

function list(value: string | object[]): object[] {
  return typeof value === "string" ? [{ type: "text", text: value }] : value;
}

/** What an item says of its thoughts: the summary, else the raw text. */
function thought({ content, rawContent }: Loose): string {
  const summary = textOf(content);
  return summary === "" ? textOf(rawContent) : summary;
}

/** The items that say what a message says. */
function said(message: Message, names: ReadonlyMap<string, string>): AgentInputItem[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: inputContent(message.content) }] as AgentInputItem[];
    case "system":
    case "developer":
      return [{ type: "message", role: "system", content: text(message.content) }] as AgentInputItem[];
    case "tool":
      return [
        {
          type: "function_call_result",
          name: message.name ?? names.get(message.tool_call_id) ?? "tool",
          callId: message.tool_call_id,
          status: "completed",
          output: { type: "text", text: text(message.content) },
        },
      ];
    case "assistant": {
      const words = text(message.content ?? "");
      const calls = (message.tool_calls ?? []).map((call) => ({
        type: "function_call",
        callId: call.id,
        name: nameOf(call),
        status: "completed",
        arguments: call.type === "custom" ? call.custom.input : call.function.arguments,
      }));
      const output = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: words }] };
      return [...(words === "" ? [] : [output]), ...calls] as AgentInputItem[];
    }
    default:
      return [];
  }
}

function nameOf(call: ToolCall): string {
  return call.type === "custom" ? call.custom.name : call.function.name;
}

function text(content: unknown): string {
  return typeof content === "string" ? content : textOf(content);
}

/** A user's content as input parts; text as it is. */
function inputContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return (content as Record<string, unknown>[]).map((part) => {
    const image = part["image_url"] as { url?: string; detail?: string } | undefined;
    const file = part["file"] as { file_data?: string; file_id?: string; filename?: string } | undefined;
    const audio = part["input_audio"] as { data?: string; format?: string } | undefined;
    if (image?.url !== undefined) return { type: "input_image", image: image.url, ...(image.detail === undefined ? {} : { detail: image.detail }) };
    if (file !== undefined) {
      const data = file.file_data ?? { id: file.file_id ?? "" };
      return { type: "input_file", file: data, ...(file.filename === undefined ? {} : { filename: file.filename }) };
    }
    if (audio !== undefined) return { type: "audio", audio: audio.data ?? "", format: audio.format ?? null };
    return { type: "input_text", text: textOf([part]) };
  });
}
