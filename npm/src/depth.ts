// The depth prefix of outgoing replies. Pure functions, usable without a store, after `init()`.

import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { now } from "./runtime.js";

/** A text without its depth prefix. */
export interface DepthText {
  /** The depth that stood before it; `null` without a prefix. */
  depth: number | null;
  /** The text without the prefix. */
  text: string;
}

/**
 * Puts `[depth:N] ` before the first of a reply's strings; an empty list becomes `["[depth:N]"]`. The list that is
 * given stays as it is.
 *
 * @param strings the reply
 * @param depth a whole number from 0 to 4294967295, as `depth(id)` gives it
 * @throws ThreadkeepError `bad-request`, `not-initialised`
 *
 * @example
 * ```ts
 * await init();
 * writeDepth(["hello", "world"], 4); // ["[depth:4] hello", "world"]
 * ```
 */
export function writeDepth(strings: readonly string[], depth: number): string[] {
  if (!Array.isArray(strings)) throw badArgument("strings", "must be an array of strings");
  const texts = strings.map((string, index) => check.text(string, `strings[${index}]`));
  check.count(depth, "depth");
  return now((wasm) => wasm.writeDepth(texts, depth));
}

/**
 * Reads the prefix that {@link writeDepth} writes. Anything else (no prefix, a sign, a number too great) is text.
 *
 * @throws ThreadkeepError `bad-request`, `not-initialised`
 *
 * @example
 * ```ts
 * await init();
 * readDepth("[depth:4] hello"); // { depth: 4, text: "hello" }
 * readDepth("hello"); // { depth: null, text: "hello" }
 * ```
 */
export function readDepth(text: string): DepthText {
  const whole = check.text(text, "text");
  const [depth, length] = now((wasm) => wasm.readDepth(whole));
  return { depth: depth ?? null, text: whole.slice(length ?? 0) };
}
