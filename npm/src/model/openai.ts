// OpenAI's chat form, as its client and many others give it: chunks of a stream, or a whole completion.

import { isObject } from "../check.js";
import type { Assembly } from "./assembly.js";
import { ModelError, reported } from "./failure.js";

const FINISH: Readonly<Record<string, string>> = { tool_calls: "tool-calls", function_call: "tool-calls", content_filter: "filtered" };

/** A chunk of a stream or a whole completion; whether it was one. */
export function openai(item: Record<string, unknown>, answer: Assembly): boolean {
  if (!Array.isArray(item["choices"])) return false;
  if (item["error"] !== undefined && item["error"] !== null) throw reported(item);
  const choice: unknown = item["choices"][0];
  // The last chunk has no choices and the usage.
  if (answer.finish === undefined) answer.open = true;
  if (isObject(choice)) {
    const whole = isObject(choice["message"]);
    const said = whole ? choice["message"] : choice["delta"];
    if (isObject(said)) message(said, answer);
    if (typeof choice["finish_reason"] === "string") answer.finish = FINISH[choice["finish_reason"]] ?? choice["finish_reason"];
    if (whole || answer.finish !== undefined) answer.open = false;
  } else if (item["object"] === "chat.completion") throw new ModelError("bad-answer", "the completion has no choices");
  usage(item["usage"], answer);
  return true;
}

function message(said: Record<string, unknown>, answer: Assembly): void {
  answer.think(said["reasoning_content"] ?? said["reasoning"]);
  answer.say(said["content"] ?? said["refusal"]);
  const calls: unknown = said["tool_calls"];
  if (!Array.isArray(calls)) return;
  calls.forEach((call: unknown, at) => {
    if (!isObject(call)) return;
    const { name, arguments: more } = isObject(call["function"]) ? call["function"] : {};
    answer.call(typeof call["index"] === "number" ? call["index"] : at, { id: call["id"], name, arguments: more });
  });
}

function usage(given: unknown, answer: Assembly): void {
  if (!isObject(given)) return;
  const cached = isObject(given["prompt_tokens_details"]) ? given["prompt_tokens_details"]["cached_tokens"] : undefined;
  Object.assign(answer.usage, {
    promptTokens: given["prompt_tokens"],
    completionTokens: given["completion_tokens"],
    ...(typeof cached === "number" ? { cachedTokens: cached } : {}),
  });
}
