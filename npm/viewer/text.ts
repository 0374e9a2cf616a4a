// What a message says, as text: for the search, and as Markdown for the page.

import type { ContentPart, Message, ToolCall } from "../src/message.js";

/** A part of a message that is drawn by itself. */
export type Piece = { kind: "markdown"; text: string } | { kind: "picture"; url: string } | { kind: "card"; title: string; text: string };

/** Roles whose messages are folded, with their titles. */
const CARDS: Readonly<Record<string, string>> = { tool: "Result", system: "Instructions", developer: "Instructions" };

/** The pieces of a message, in order. */
export function pieces(message: Message): Piece[] {
  const all: Piece[] = [];
  if (message.reasoning) all.push({ kind: "card", title: "Reasoning", text: message.reasoning });
  const said = content(message.content);
  const title = CARDS[message.role];
  if (title === undefined) all.push(...said);
  else if (words(said).trim() !== "") all.push({ kind: "card", title, text: words(said) });
  if (message.kind?.type === "error") all.push({ kind: "card", title: "The model failed", text: message.kind.reason });
  if ("tool_calls" in message) for (const call of message.tool_calls ?? []) all.push(card(call));
  return all;
}

/** All words of a message. */
export function words(all: readonly Piece[]): string {
  return all.map((piece) => (piece.kind === "picture" ? "" : piece.text)).join("\n");
}

function content(said: string | readonly ContentPart[] | null | undefined): Piece[] {
  if (typeof said === "string") return said.trim() === "" ? [] : [{ kind: "markdown", text: said }];
  return (said ?? []).map(part);
}

function part(part: ContentPart): Piece {
  switch (part.type) {
    case "text":
      return { kind: "markdown", text: part.text };
    case "refusal":
      return { kind: "markdown", text: part.refusal };
    case "image_url":
      // Only what the file holds itself can be shown: it asks no server.
      if (part.image_url.url.startsWith("data:image/")) return { kind: "picture", url: part.image_url.url };
      return { kind: "card", title: "Picture", text: part.image_url.url };
    default:
      return { kind: "card", title: String((part as { type: unknown }).type), text: JSON.stringify(part, null, 2).slice(0, 2_000) };
  }
}

function card(call: ToolCall): Piece {
  if (call.type === "custom") return { kind: "card", title: call.custom.name, text: call.custom.input };
  const { name, arguments: given } = call.function;
  try {
    return { kind: "card", title: name, text: JSON.stringify(JSON.parse(given), null, 2) };
  } catch {
    return { kind: "card", title: name, text: given };
  }
}
