// Anthropic's Messages, as its client gives them: the events of a stream, or a whole message. Thinking is signed, and wanted back
// as it came: where there is some, all blocks stay with the message under `anthropic`, which prompts for Anthropic are made of.

import { isObject } from "../check.js";
import type { Assembly } from "./assembly.js";
import { reported } from "./failure.js";

const FINISH: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool-calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "filtered",
};

interface Block {
  block: Record<string, unknown>;
  /** Which of the calls it is. */
  call?: number;
}

/** Reads the events of one answer. */
export class Anthropic {
  readonly #blocks = new Map<unknown, Block>();

  /** An event or a whole message; whether it was one. */
  read(item: Record<string, unknown>, answer: Assembly): boolean {
    const { delta } = item;
    switch (item["type"]) {
      case "message_start":
        answer.open = true;
        if (isObject(item["message"])) usage(item["message"]["usage"], answer);
        return true;
      case "content_block_start":
        if (isObject(item["content_block"])) this.#begin(item["index"], { ...item["content_block"] }, answer);
        return true;
      case "content_block_delta":
        if (isObject(delta)) this.#grow(this.#blocks.get(item["index"]), delta, answer);
        return true;
      case "message_delta":
        if (isObject(delta)) stop(delta, answer);
        usage(item["usage"], answer);
        return true;
      case "message_stop":
        this.#settle(answer);
        return true;
      case "message":
        if (!Array.isArray(item["content"])) return false;
        item["content"].forEach((block: unknown, at) => isObject(block) && this.#begin(at, { ...block }, answer));
        stop(item, answer);
        usage(item["usage"], answer);
        this.#settle(answer);
        return true;
      case "error":
        // The AI SDK's parts of that type have the error itself.
        if (item["error"] instanceof Error) return false;
        throw reported(item);
      case "content_block_stop":
      case "ping":
        return true;
      default:
        return false;
    }
  }

  #begin(index: unknown, block: Record<string, unknown>, answer: Assembly): void {
    const held: Block = { block };
    this.#blocks.set(index, held);
    if (block["type"] === "text") answer.say(block["text"]);
    else if (block["type"] === "thinking") answer.think(block["thinking"]);
    else if (block["type"] === "tool_use") {
      held.call = answer.calls;
      const { input } = block;
      const more = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : "";
      answer.call(held.call, { id: block["id"], name: block["name"], arguments: more });
    }
  }

  #grow(held: Block | undefined, delta: Record<string, unknown>, answer: Assembly): void {
    if (held === undefined) return;
    const { block, call } = held;
    const more = (field: string, text: unknown): void => {
      block[field] = `${typeof block[field] === "string" ? block[field] : ""}${typeof text === "string" ? text : ""}`;
    };
    if (delta["type"] === "text_delta") {
      more("text", delta["text"]);
      answer.say(delta["text"]);
    } else if (delta["type"] === "thinking_delta") {
      more("thinking", delta["thinking"]);
      answer.think(delta["thinking"]);
    } else if (delta["type"] === "signature_delta") more("signature", delta["signature"]);
    else if (delta["type"] === "input_json_delta" && call !== undefined) answer.call(call, { arguments: delta["partial_json"] });
  }

  /** All is there: the blocks stay where they say more than the message does. */
  #settle(answer: Assembly): void {
    answer.open = false;
    const all = [...this.#blocks.values()];
    if (!all.some(({ block }) => block["type"] === "thinking" || block["type"] === "redacted_thinking")) return;
    const kept = all.filter(({ block }) => ["text", "thinking", "redacted_thinking", "tool_use"].includes(String(block["type"])));
    try {
      answer.extra["anthropic"] = kept.map(({ block, call }) =>
        call === undefined ? block : { ...block, input: JSON.parse(answer.argumentsOf(call) || "{}") as unknown },
      );
    } catch {
      // Arguments that are no JSON: the model hears of it, and what it thought goes back without them.
      answer.extra["anthropic"] = kept.filter(({ block }) => String(block["type"]).endsWith("thinking")).map(({ block }) => block);
    }
  }
}

function stop(holder: Record<string, unknown>, answer: Assembly): void {
  const reason = holder["stop_reason"];
  if (typeof reason === "string") answer.finish = FINISH[reason] ?? reason;
}

/** Counts come at the beginning and at the end; later ones count. What is cached is not in `input_tokens`. */
function usage(given: unknown, answer: Assembly): void {
  if (!isObject(given)) return;
  const count = (name: string): number => (typeof given[name] === "number" ? given[name] : 0);
  if (typeof given["input_tokens"] === "number") {
    answer.usage.promptTokens = count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
    answer.usage.cachedTokens = count("cache_read_input_tokens");
  }
  if (typeof given["output_tokens"] === "number") answer.usage.completionTokens = given["output_tokens"];
}
