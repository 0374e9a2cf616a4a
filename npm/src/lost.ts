// What is said of characters that were lost: tools that cut strings leave half a character, and U+FFFD is stored and counted for it.

import { wholeJson } from "./check.js";
import type { ContextWarning } from "./generated/context.js";
import type { NodeRecord } from "./generated/node.js";

/** A node, as calls give it. */
export interface NodeInfo extends NodeRecord {
  /**
   * Set in the answer of {@link Thread.append}, {@link Threadkeep.receive} or {@link Threadkeep.extend} where a text was cut inside a
   * character: U+FFFD is stored for the half (`lost-character`). `index` is the message's place in the call, or in its node for `append`.
   */
  warnings?: ContextWarning[];
}

/** U+FFFD. Nothing is looked at twice where JSON does not have it. */
const MARK = "\ufffd";

/** A warning that counts the places in a list at which characters were lost; none where there are none. */
function warningOf(message: string, places: readonly number[]): ContextWarning[] {
  const [index] = places;
  return index === undefined ? [] : [{ kind: "changed", rule: "lost-character", message, index, count: places.length }];
}

/** Which of `values`, which were written as `json`, hold a text that was cut inside a character. */
export function cutIn(values: readonly unknown[], json: string): number[] {
  if (!json.includes(MARK)) return [];
  return values.flatMap((value, index) => {
    const own = JSON.stringify(value) as string | undefined;
    return own !== undefined && wholeJson(own) !== own ? [index] : [];
  });
}

/** In which messages characters were lost, now or before they came here. */
export function lostIn(messages: readonly unknown[]): ContextWarning[] {
  const places = messages.flatMap((message, index) => (JSON.stringify(message).includes(MARK) ? [index] : []));
  return warningOf("a character was cut or could not be read: U+FFFD stands in its place", places);
}

/** A node that was stored, with a warning of the places at which its messages were cut, if any. */
export function told(node: NodeInfo, places: readonly number[]): NodeInfo {
  const warnings = warningOf("a text was cut inside a character: U+FFFD stands for the half", places);
  return warnings.length === 0 ? node : { ...node, warnings };
}
