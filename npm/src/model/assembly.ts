// An answer that is being put together from its pieces, whichever client they come from.

import { isObject, wellFormed, wholeJson } from "../check.js";
import type { AnswerLimits, ModelUsage } from "../generated/provider.js";
import type { ModelCompletion, ModelFinish, ModelNotice, ModelPiece } from "./model.js";
import { ModelError } from "./failure.js";

const utf8 = new TextEncoder();

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
  #text = "";
  #reasoning = "";
  readonly #calls = new Map<number, Call>();
  #given: Record<string, unknown> | undefined;
  readonly #hear: Hear;
  readonly #limits: Required<AnswerLimits>;
  #bytes = 0;
  readonly #halves = new Map<"text" | "reasoning" | number, string>();
  #argumentBytes = 0;

  constructor(hear: Hear, limits: Required<AnswerLimits>) {
    this.#hear = hear;
    this.#limits = limits;
  }

  /** More text. */
  say(given: unknown): void {
    const text = this.#joined("text", given);
    if (text === "") return;
    this.#size(text);
    this.#text += text;
    this.#hear({ text });
  }

  /** More reasoning. */
  think(given: unknown): void {
    const reasoning = this.#joined("reasoning", given);
    if (reasoning === "") return;
    this.#size(reasoning);
    this.#reasoning += reasoning;
    this.#hear({ reasoning });
  }

  /** More of a call. */
  call(index: number, { id, name, arguments: more }: { id?: unknown; name?: unknown; arguments?: unknown }): void {
    const call = this.#calls.get(index) ?? { id: "", name: "", arguments: "" };
    this.#calls.set(index, call);
    if (this.#calls.size > this.#limits.calls) throw tooLarge(`${this.#limits.calls} tool calls (\`limits.calls\`)`);
    if (typeof id === "string" && id !== "") call.id = id;
    if (typeof name === "string" && name !== "") call.name = name;
    const piece = this.#joined(index, more);
    this.#argumentBytes += this.#size(piece);
    if (this.#argumentBytes > this.#limits.argumentBytes) throw tooLarge(`${this.#limits.argumentBytes} bytes of arguments (\`limits.argumentBytes\`)`);
    call.arguments += piece;
    this.#hear({ index, name: call.name, arguments: piece });
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
    this.#finish();
    const message = this.#given === undefined ? this.#made() : { ...this.#given, role: "assistant" };
    const calls = (message as { tool_calls?: unknown }).tool_calls;
    const finish = this.finish ?? (Array.isArray(calls) && calls.length > 0 ? "tool-calls" : "stop");
    const usage = counted(this.usage);
    return wholeJson(JSON.stringify({ message, ...(usage === undefined ? {} : { usage }), finish }));
  }

  #made(): Record<string, unknown> {
    const calls = [...this.#calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
    return {
      role: "assistant",
      content: this.#text === "" && calls.length > 0 ? null : this.#text,
      ...(this.#reasoning === "" ? {} : { reasoning: this.#reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ id, ...call }) => ({ id, type: "function", function: call })) }),
    };
  }

  /** A piece with whole characters: half of one waits for the next piece of the same text. */
  #joined(of: "text" | "reasoning" | number, given: unknown): string {
    if (typeof given !== "string" || given === "") return "";
    const text = (this.#halves.get(of) ?? "") + given;
    const half = /[\ud800-\udbff]$/.test(text);
    if (half) this.#halves.set(of, text.slice(-1));
    else this.#halves.delete(of);
    return wellFormed(half ? text.slice(0, -1) : text);
  }

  /** Nothing follows: U+FFFD stands for each half that waits. */
  #finish(): void {
    for (const of of [...this.#halves.keys()]) {
      this.#halves.delete(of);
      if (of === "text") this.say("\ufffd");
      else if (of === "reasoning") this.think("\ufffd");
      else this.call(of, { arguments: "\ufffd" });
    }
  }

  /** Counts bytes of the answer. */
  #size(text: string): number {
    const bytes = utf8.encode(text).length;
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytes) throw tooLarge(`${this.#limits.bytes} bytes (\`limits.bytes\`)`);
    return bytes;
  }
}

function tooLarge(most: string): ModelError {
  return new ModelError("bad-answer", `The model sent more than ${most}. The answer was ended there.`);
}

/** The text of a content list. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** A usage that can be one; providers err, and an agent's budget would with them. */
function counted({ promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens }: Partial<ModelUsage>): ModelUsage | undefined {
  const good = (count: unknown): count is number => Number.isSafeInteger(count) && (count as number) >= 0;
  if (!good(promptTokens)) return undefined;
  return {
    promptTokens,
    completionTokens: good(completionTokens) ? completionTokens : 0,
    ...(good(cachedTokens) ? { cachedTokens } : {}),
    ...(good(cacheWriteTokens) ? { cacheWriteTokens } : {}),
    ...(good(reasoningTokens) ? { reasoningTokens } : {}),
  };
}
