// A branch as sessions of coding agents have it: what people say, what the model says and calls, and what tools answer, in this order.

import type { ContentPart, Message, ToolCall } from "../message.js";
import type { NodeInfo } from "../lost.js";

/** A text, or a picture. */
export type Piece = { text: string } | { media: string; data: string };

/** A call of a tool, and what came of it. */
export interface Call {
  id: string;
  name: string;
  input: Record<string, unknown>;
  /** The arguments as the model wrote them. */
  written: string;
}

/** One step of a branch. */
export type Step = { at: Date } & (
  | { who: "user"; pieces: Piece[] }
  | { who: "model"; model: string; text: string; calls: Call[] }
  | { who: "tool"; call: Call; pieces: Piece[]; isError: boolean }
);

/** A branch, and what no session has a place for. */
export interface Branch {
  steps: Step[];
  /** Messages that are left out: instructions, which each program has of its own, and results of calls that nobody made. */
  left: number;
}

/** A session of a program: its lines, its file below the program's folder of sessions, and the command that goes on with it. */
export interface Written {
  lines: object[];
  file: string;
  resume: string;
}

/** Says in a result's place that there is none: no provider takes a call without one. */
const NO_RESULT = "There is no result of this call.";

/** The steps of the chain of these nodes. */
export function branchOf(nodes: readonly NodeInfo[]): Branch {
  const steps: Step[] = [];
  let left = 0;
  let open = new Map<string, Call>();
  const answer = (at: Date): void => {
    for (const call of open.values()) steps.push({ at, who: "tool", call, pieces: [{ text: NO_RESULT }], isError: true });
    open = new Map();
  };
  let at = new Date(nodes[0]?.createdAt ?? 0);
  for (const node of nodes) {
    // No step is before the one above it.
    if (node.createdAt !== null && node.createdAt !== undefined) at = new Date(Math.max(at.getTime(), node.createdAt));
    for (const message of node.messages) {
      if (message.role === "tool") {
        const call = open.get(message.tool_call_id);
        open.delete(message.tool_call_id);
        if (call === undefined) left += 1;
        else steps.push({ at, who: "tool", call, pieces: pieces(message.content), isError: message.is_error === true });
        continue;
      }
      answer(at);
      if (message.role === "user") steps.push({ at, who: "user", pieces: pieces(message.content) });
      else if (message.role === "assistant") {
        const [text, calls] = [textOf(message), (message.tool_calls ?? []).map(callOf)];
        // Reasoning alone has no place.
        if (text === "" && calls.length === 0) continue;
        steps.push({ at, who: "model", model: node.origin.model ?? "unknown", text, calls });
        open = new Map(calls.map((call) => [call.id, call]));
      } else left += 1;
    }
  }
  answer(at);
  return { steps, left };
}

function callOf(call: ToolCall): Call {
  const { id } = call;
  // A custom tool takes a text.
  if (call.type === "custom") return { id, name: call.custom.name, input: { input: call.custom.input }, written: call.custom.input };
  const { name, arguments: written } = call.function;
  let input: unknown;
  try {
    input = JSON.parse(written);
  } catch {
    input = { arguments: written };
  }
  return { id, name, written, input: (typeof input === "object" && input !== null && !Array.isArray(input) ? input : { arguments: input }) as Call["input"] };
}

function textOf(message: Message): string {
  return pieces(message.content)
    .map((piece) => ("text" in piece ? piece.text : ""))
    .join("");
}

function pieces(content: string | readonly ContentPart[] | null | undefined): Piece[] {
  if (typeof content === "string") return [{ text: content }];
  return (content ?? []).map((part): Piece => {
    if (part.type === "text") return { text: (part as { text: string }).text };
    const url = (part as { image_url?: { url?: string } }).image_url?.url ?? "";
    const [, media, data] = /^data:(image\/[a-z+.-]+);base64,(.*)$/s.exec(url) ?? [];
    if (media !== undefined && data !== undefined) return { media, data };
    return { text: url === "" ? `[${part.type}]` : `[image: ${url}]` };
  });
}
