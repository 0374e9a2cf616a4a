// An answer that is being put together from its pieces, whichever client they come from.

import { isObject } from "../check.js";
import type { ModelCompletion, ModelFinish, ModelNotice, ModelPiece, ModelUsage } from "../types/agent.js";
import { ModelError } from "./failure.js";

/** Hears pieces as the engine takes them. */
export type Hear = (piece: { text: string } | { reasoning: string } | { index: number; name: string; arguments: string } | ModelNotice) => void;

interface Call {
  id: string;
  name: string;
  arguments: string;
}

/** An answer under way. */
export class Assembly {
  /** What the provider counted, as far as it is known. */
  readonly usage: Partial<ModelUsage> = {};
  /** Why it ended; `undefined` while it has not. */
  finish: ModelFinish | undefined;
  /** Whether the provider's own form says when it is over, and it has not come to that. */
  open = false;
  /** Fields of the message beyond the usual ones. */
  readonly extra: Record<string, unknown> = {};
  #text = "";
  #reasoning = "";
  readonly #calls = new Map<number, Call>();
  #given: Record<string, unknown> | undefined;
  readonly #hear: Hear;

  constructor(hear: Hear) {
    this.#hear = hear;
  }

  /** More text. */
  say(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    this.#text += text;
    this.#hear({ text });
  }

  /** More reasoning. */
  think(reasoning: unknown): void {
    if (typeof reasoning !== "string" || reasoning === "") return;
    this.#reasoning += reasoning;
    this.#hear({ reasoning });
  }

  /** More of a call. */
  call(index: number, { id, name, arguments: more }: { id?: unknown; name?: unknown; arguments?: unknown }): void {
    const call = this.#calls.get(index) ?? { id: "", name: "", arguments: "" };
    this.#calls.set(index, call);
    if (typeof id === "string" && id !== "") call.id = id;
    if (typeof name === "string" && name !== "") call.name = name;
    const piece = typeof more === "string" ? more : "";
    call.arguments += piece;
    this.#hear({ index, name: call.name, arguments: piece });
  }

  /** The number of calls so far. */
  get calls(): number {
    return this.#calls.size;
  }

  /** The arguments of a call, as they came. */
  argumentsOf(index: number): string {
    return this.#calls.get(index)?.arguments ?? "";
  }

  /** A piece in our own form. */
  piece(piece: ModelPiece): void {
    if ("text" in piece) this.say(piece.text);
    else if ("reasoning" in piece) this.think(piece.reasoning);
    else if ("index" in piece) this.call(piece.index, piece);
    else this.#hear(piece);
  }

  /** The end in our own form. */
  complete({ message, usage, finish }: ModelCompletion): void {
    if (message !== undefined) this.message(message as Record<string, unknown>);
    if (isObject(usage)) Object.assign(this.usage, usage);
    if (finish !== undefined) this.finish = finish;
  }

  /** A whole message, which counts instead of what came before. Whoever watches hears it, if they have heard nothing. */
  message(message: Record<string, unknown>): void {
    if (message["role"] !== undefined && message["role"] !== "assistant")
      throw new ModelError("bad-answer", `the model's function answered a message of the role ${JSON.stringify(message["role"])}`);
    const text = textOf(message["content"]);
    if (this.#text === "" && text !== "") this.#hear({ text });
    this.#given = message;
  }

  /** The whole, as the engine takes it. */
  json(): string {
    if (this.open) throw new ModelError("cut-off", "the answer broke off before its end");
    const message = this.#given === undefined ? this.#made() : { ...this.#given, role: "assistant" };
    const calls = (message as { tool_calls?: unknown }).tool_calls;
    const finish = this.finish ?? (Array.isArray(calls) && calls.length > 0 ? "tool-calls" : "stop");
    const usage = counted(this.usage);
    return JSON.stringify({ message, ...(usage === undefined ? {} : { usage }), finish });
  }

  #made(): Record<string, unknown> {
    const calls = [...this.#calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
    return {
      role: "assistant",
      content: this.#text === "" && calls.length > 0 ? null : this.#text,
      ...(this.#reasoning === "" ? {} : { reasoning: this.#reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ id, ...call }) => ({ id, type: "function", function: call })) }),
      ...this.extra,
    };
  }
}

/** The text of a content list. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** A usage that can be one; providers err, and an agent's budget would with them. */
function counted({ promptTokens, completionTokens, cachedTokens }: Partial<ModelUsage>): ModelUsage | undefined {
  const good = (count: unknown): count is number => Number.isSafeInteger(count) && (count as number) >= 0;
  if (!good(promptTokens)) return undefined;
  return { promptTokens, completionTokens: good(completionTokens) ? completionTokens : 0, ...(good(cachedTokens) ? { cachedTokens } : {}) };
}
