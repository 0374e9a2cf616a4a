// Messages as events of AgentCore, and back. An event's payload is what was said, by role; what that leaves out of a message
// (calls, names, pictures, fields of one's own) follows as a blob of JSON text, so that the message comes back as it was.

import type { Branch, CreateEventInput, Event, MetadataValue, PayloadType, Role } from "@aws-sdk/client-bedrock-agentcore";
import { digest } from "../../digest.js";
import type { Message, MessageInput } from "../../message.js";
import { textOf } from "../text.js";

/** The most characters of one text of an event. */
const MAX_TEXT = 100_000;
/** The most items of an event's payload. @internal */
export const MAX_PAYLOAD = 100;
/** What we call our metadata. */
const NODE = "threadkeep-node";
const PART = "threadkeep-part";
const CONTEXT = "threadkeep-context";
/** What metadata may hold. */
const METADATA = /^[a-zA-Z0-9\s._:/=+@-]{0,256}$/;

const ROLES: Readonly<Record<string, Role>> = { user: "USER", assistant: "ASSISTANT", tool: "TOOL" };
const NAMES: Readonly<Record<string, string>> = { USER: "user", ASSISTANT: "assistant", TOOL: "tool", OTHER: "system" };

/** What a blob of ours holds. */
interface Rest {
  threadkeep: 1;
  /** How many texts before it belong to the message. */
  texts: number;
  /** The message, where the texts do not say all of it. */
  message?: MessageInput;
}

/** A message as items of a payload. @internal */
export function payload(message: MessageInput): PayloadType[] {
  const role = ROLES[message.role] ?? "OTHER";
  const texts = pieces(textOf(message));
  const items: PayloadType[] = texts.map((text) => ({ conversational: { content: { text }, role } }));
  if (texts.length === 1 && isPlain(message)) return items;
  const rest: Rest = { threadkeep: 1, texts: texts.length, message };
  return [...items, { blob: JSON.stringify(rest) }];
}

/** Whether role and text are all that there is to a message. */
function isPlain(message: MessageInput): boolean {
  const fields = Object.keys(message).filter((name) => (message as Record<string, unknown>)[name] !== undefined);
  return fields.length === 2 && typeof message.content === "string" && ["user", "assistant", "system"].includes(message.role);
}

/** A text in pieces that an event takes; none where there is no text. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + MAX_TEXT, text.length);
    // Not between the halves of a pair.
    if (to < text.length && /[\ud800-\udbff]/.test(text[to - 1] as string)) to -= 1;
    found.push(text.slice(from, to));
    from = to;
  }
  return found;
}

/** The messages of an event. Blobs of others are passed over. @internal */
export function messagesOf(event: Event): Message[] {
  const found: Message[] = [];
  for (const item of event.payload ?? []) {
    if (item.conversational !== undefined) {
      const { content, role } = item.conversational;
      found.push({ role: NAMES[String(role)] ?? "user", content: content?.text ?? "" } as Message);
    } else if (item.blob !== undefined) {
      const rest = restOf(item.blob);
      if (rest === undefined || rest.texts > found.length) continue;
      found.splice(found.length - rest.texts, rest.texts, rest.message as Message);
    }
  }
  return found;
}

function restOf(blob: unknown): Rest | undefined {
  if (typeof blob !== "string" || !blob.startsWith('{"threadkeep":1,')) return undefined;
  try {
    const rest = JSON.parse(blob) as Rest;
    return Number.isInteger(rest.texts) && rest.texts >= 0 && typeof rest.message?.role === "string" ? rest : undefined;
  } catch {
    return undefined;
  }
}

/** Where a message came from. @internal */
export interface Source {
  context: string;
  node: string;
  part: number;
}

/** What an event remembers of where its last message came from. @internal */
export function metadata({ context, node, part }: Source): Record<string, MetadataValue> {
  const found: Record<string, MetadataValue> = {};
  for (const [name, value] of [
    [CONTEXT, context],
    [NODE, node],
    [PART, String(part)],
  ] as const) {
    const stringValue = written(value);
    // An id longer than metadata can be is left out: the event is then known by its session alone.
    if (METADATA.test(stringValue)) found[name] = { stringValue };
  }
  return found;
}

/** The node of an event's last message; `undefined` where it did not come from here. @internal */
export function nodeOf(event: Event): string | undefined {
  const value = event.metadata?.[NODE]?.stringValue;
  return value === undefined ? undefined : read(value);
}

/** The part of the node that an event's last message is. @internal */
export function partOf(event: Event): number {
  return Number(event.metadata?.[PART]?.stringValue ?? 0);
}

/** The condition by which the events of a node are listed. @internal */
export function ofNode(node: string): { left: { metadataKey: string }; operator: "EQUALS_TO"; right: { metadataValue: { stringValue: string } } } {
  return { left: { metadataKey: NODE }, operator: "EQUALS_TO", right: { metadataValue: { stringValue: written(node) } } };
}

/** A text in the letters of metadata: any other byte as `=` and two hex digits. */
function written(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => {
      const letter = String.fromCharCode(byte);
      return /[a-zA-Z0-9._:/+@-]/.test(letter) ? letter : `=${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
}

function read(text: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "=") {
      bytes.push(Number.parseInt(text.slice(at + 1, at + 3), 16));
      at += 2;
    } else bytes.push(text.charCodeAt(at));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** Events in the order in which they happened: by time, then by the number that the service gave them. @internal */
export function inOrder(events: Event[]): Event[] {
  const key = ({ eventTimestamp, eventId }: Event): [number, string] => [eventTimestamp?.getTime() ?? 0, eventId ?? ""];
  return events
    .map((event) => ({ event, key: key(event) }))
    .sort((a, b) => a.key[0] - b.key[0] || (a.key[1] < b.key[1] ? -1 : a.key[1] > b.key[1] ? 1 : 0))
    .map(({ event }) => event);
}

/** A name in the letters of sessions and branches: itself where it is one, otherwise what is left of it and a digest. @internal */
export async function nameOf(text: string): Promise<string> {
  if (/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}$/.test(text)) return text;
  const left = text
    .replaceAll(/[^a-zA-Z0-9_-]+/g, "-")
    .slice(0, 60)
    .replace(/^[-_]+|[-_]+$/g, "");
  return `${left === "" ? "tk" : left}-${(await digest(text)).slice(0, 32)}`;
}

export type { Branch, CreateEventInput, Event };
