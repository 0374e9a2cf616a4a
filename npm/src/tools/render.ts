// A message as text for a model: what was said, the calls that were made, and a word for what is no text.

import type { NodeInfo } from "../lost.js";
import type { Message } from "../message.js";

/** A message of a chain, and where it is. */
export interface Entry {
  /** Its place in the chain, from 0. */
  position: number;
  /** Its node. */
  node: NodeInfo;
  /** Its place in the node, from 0. */
  index: number;
  message: Message;
}

/** The messages of a chain, in order. */
export function entries(chain: readonly NodeInfo[]): Entry[] {
  const all: Entry[] = [];
  for (const node of chain) for (const [index, message] of node.messages.entries()) all.push({ position: all.length, node, index, message });
  return all;
}

/** When something was, as text; nothing where that is not known. */
export function date(millis: number | null | undefined): string | undefined {
  const time = new Date(millis ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : `${time.toISOString().slice(0, 19)}Z`;
}

/** The beginning of a text that may be longer than is good. */
export function short(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = /[\ud800-\udbff]$/.test(text.slice(0, most - 1)) ? 1 : 0;
  return `${text.slice(0, most - 1 - half)}…`;
}

/** How much of a title is shown. */
export const TITLE = 120;

/** Where a message is and who said it, without its text. */
export function head({ position, node, message }: Entry): { position: number; role: string; date?: string } {
  const when = date(node.createdAt);
  return { position, role: short(message.role, 40), ...(when === undefined ? {} : { date: when }) };
}

/** All that a message says: reasoning (if it is wanted), text, calls, and what failed. */
export function wording(message: Message, reasoning: boolean): string {
  const given = message as unknown as Record<string, unknown>;
  const parts: string[] = [];
  if (reasoning && typeof given["reasoning"] === "string" && given["reasoning"] !== "") parts.push(`[reasoning] ${given["reasoning"]}`);
  const said = content(given["content"]);
  if (said !== "") parts.push(said);
  if (Array.isArray(given["tool_calls"])) for (const call of given["tool_calls"]) parts.push(called(call));
  const kind = given["kind"] as { type?: unknown; code?: unknown; reason?: unknown } | null | undefined;
  if (kind?.type === "error") parts.push(`[failed: ${String(kind.code)}: ${String(kind.reason)}]`);
  return parts.join("\n");
}

function content(given: unknown): string {
  if (typeof given === "string") return given;
  if (!Array.isArray(given)) return "";
  return given.map(part).join("\n");
}

function part(given: unknown): string {
  if (typeof given === "string") return given;
  if (typeof given !== "object" || given === null) return "";
  const { type, text, refusal, file } = given as { type?: unknown; text?: unknown; refusal?: unknown; file?: { filename?: unknown } };
  if (typeof text === "string") return text;
  if (typeof refusal === "string") return refusal;
  const name = typeof file?.filename === "string" ? ` ${short(file.filename, TITLE)}` : "";
  return `[${typeof type === "string" ? short(type, 40) : "something that is no text"}${name}]`;
}

function called(given: unknown): string {
  const call = given as { id?: unknown; function?: { name?: unknown; arguments?: unknown }; custom?: { name?: unknown; input?: unknown } } | null;
  const { name, arguments: args, input } = { ...call?.custom, ...call?.function } as { name?: unknown; arguments?: unknown; input?: unknown };
  const words = args ?? input ?? "";
  return `[calls ${String(name)}] ${typeof words === "string" ? words : JSON.stringify(words)}`;
}
