// Whether one version of a UI message comes after another: an answer that grew, a tool's output that arrived, an approval. Anything
// else that bears the same id is another message, and a branch.

import { same } from "../json.js";
import { wellFormed } from "../../../check.js";
import type { Part, Ui } from "./types.js";

/** How far a tool call is; a call never goes back. */
const RANK: Readonly<Record<string, number>> = {
  "input-streaming": 0,
  "input-available": 1,
  "approval-requested": 2,
  "approval-responded": 3,
  "output-available": 4,
  "output-error": 4,
  "output-denied": 4,
};

/** Whether a part is a call of a tool. */
export function isTool(part: Part): boolean {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/** Whether the model has written a call to its end. */
export function isCalled(part: Part): boolean {
  return (RANK[String(part["state"])] ?? 0) > 0;
}

/** Whether a call has its last output. */
export function isDone(part: Part): boolean {
  return RANK[String(part["state"])] === 4 && part["preliminary"] !== true;
}

/**
 * How `next` follows from `last`: with the same parts (whatever else is said of it), with more, or not at all.
 */
export function follows(last: Ui, next: Ui): "same" | "grown" | undefined {
  if (last === next) return "same";
  if (last.role !== next.role || next.parts.length < last.parts.length) return undefined;
  let grown = next.parts.length > last.parts.length;
  for (const [at, part] of last.parts.entries()) {
    const after = next.parts[at] as Part;
    if (same(part, after)) continue;
    if (next.role !== "assistant" || !grows(part, after)) return undefined;
    grown = true;
  }
  return grown && next.role !== "assistant" ? undefined : grown ? "grown" : "same";
}

function grows(part: Part, after: Part): boolean {
  if (isTool(part)) return isTool(after) && toolGrows(part, after);
  if (part.type !== after.type) return false;
  if (part.type === "text" || part.type === "reasoning") {
    const [text, more] = [wellFormed(String(part["text"])), wellFormed(String(after["text"]))];
    return text === more || (part["state"] === "streaming" && more.startsWith(text));
  }
  return part.type.startsWith("data-") && part["id"] === after["id"];
}

function toolGrows(part: Part, after: Part): boolean {
  if (part["toolCallId"] !== after["toolCallId"]) return false;
  const [rank, next] = [RANK[String(part["state"])] ?? 0, RANK[String(after["state"])] ?? 0];
  if (next < rank) return false;
  if (isCalled(part) && !same(part["input"], after["input"])) return false;
  const [given, then] = [part["approval"], after["approval"]] as ({ id?: string; approved?: boolean } | undefined)[];
  if (given?.approved !== undefined && then !== undefined && given.approved !== then.approved) return false;
  if (!isDone(part)) return true;
  return part["state"] === after["state"] && isDone(after) && same(part["output"], after["output"]) && part["errorText"] === after["errorText"];
}
