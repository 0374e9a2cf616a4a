// Which items are calls of tools and which are their results, of all the kinds that the Agents SDK knows.

import { outputContent } from "./content.js";
import { wellFormed } from "../../check.js";

/** Any item, seen without its type. */
export type Loose = Readonly<Record<string, unknown>> & { type?: string; role?: string };

/** A call, as a message says it. */
export interface Call {
  id: string;
  name: string;
  /** JSON text. */
  args: string;
  /** What came back, of a tool that the provider itself ran. */
  result?: string;
  /** The type of the item that answers it. */
  reply?: string;
}

/** Calls by the type of the item: the tool's name, where its arguments are, and the type of its result. */
const CALLS: Readonly<Record<string, readonly [name: string, args: readonly string[], reply: string]>> = {
  program: ["program", ["code"], "program_output"],
  computer_call: ["computer", ["action", "actions"], "computer_call_result"],
  shell_call: ["shell", ["action"], "shell_call_output"],
  apply_patch_call: ["apply_patch", ["operation"], "apply_patch_call_output"],
  tool_search_call: ["tool_search", ["arguments"], "tool_search_output"],
};

const REPLIES = new Map([...Object.entries(CALLS).map(([, [name, , reply]]) => [reply, name] as const), ["function_call_result", undefined] as const]);

/** The call that an item is; `undefined` where it is none. */
export function callOf(item: Loose): Call | undefined {
  const { type } = item;
  if (type === "function_call")
    return { id: idOf(item, "call"), name: word(item["name"], "tool"), args: word(item["arguments"], ""), reply: "function_call_result" };
  if (type === "hosted_tool_call") {
    const result = item["output"] ?? item["status"];
    return { id: idOf(item, "hosted"), name: word(item["name"], "tool"), args: word(item["arguments"], "{}"), result: word(result, "done") };
  }
  const known = type !== undefined && Object.hasOwn(CALLS, type) ? CALLS[type] : undefined;
  if (known === undefined) return undefined;
  const [name, fields, reply] = known;
  const given = Object.fromEntries(fields.filter((field) => item[field] !== undefined).map((field) => [field, item[field]]));
  const args = fields.length === 1 && typeof item[fields[0] as string] === "object" ? item[fields[0] as string] : given;
  return { id: idOf(item, name), name, args: wellFormed(json(args)), reply };
}

/** Whether an item is the result of a call. */
export function isReply({ type }: Loose): boolean {
  return type !== undefined && REPLIES.has(type);
}

/** A result, as a message says it. One without an id answers the oldest call of its kind that is `open`. */
export function replyOf(item: Loose, open: readonly Call[]): { id: string; name?: string; content: string | object[] } {
  const type = item.type as string;
  const waiting = open.find(({ reply }) => reply === type);
  const name = wordOf(item["name"]) ?? REPLIES.get(type);
  const id = idOf(item, waiting?.id ?? name ?? "call", ["callId", "call_id"]);
  return { id, ...(name === undefined ? {} : { name }), content: contentOf(item) };
}

function contentOf(item: Loose): string | object[] {
  const output = item["output"];
  switch (item.type) {
    case "shell_call_output":
      return wellFormed(((output ?? []) as Record<string, unknown>[]).map(shellText).join("\n"));
    case "apply_patch_call_output":
    case "program_output":
      return word(output ?? item["status"], "");
    case "tool_search_output":
      return wellFormed(json(item["tools"]));
    default:
      return outputContent(output);
  }
}

function shellText({ stdout, stderr, outcome }: Record<string, unknown>): string {
  const { type, exitCode } = (outcome ?? {}) as Record<string, unknown>;
  const ended = type === "timeout" ? "timed out" : exitCode === 0 ? "" : `exit code ${String(exitCode)}`;
  return [stdout, stderr, ended].filter((text) => typeof text === "string" && text !== "").join("\n");
}

function idOf(item: Loose, otherwise: string, fields: readonly string[] = ["callId", "call_id", "id"]): string {
  for (const field of fields) {
    const id = wordOf(item[field]);
    if (id !== undefined && id !== "") return id;
  }
  return otherwise;
}

function word(value: unknown, otherwise: string): string {
  return wordOf(value) ?? otherwise;
}

function wordOf(value: unknown): string | undefined {
  return typeof value === "string" ? wellFormed(value) : undefined;
}

/** As JSON, or in words where it cannot be. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "{}";
  } catch {
    return String(value);
  }
}
