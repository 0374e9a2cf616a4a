// Keys of records that keep an order: texts and numbers as parts of one text.

import * as check from "./check.js";

/** Between the parts of a key: below everything that a part can hold. */
const SEPARATOR = "!";
/** Above the separator, below everything else. */
const AFTER = '"';
/** How many digits the greatest safe integer has. */
const DIGITS = 16;

/**
 * A key of parts, in the order of the parts: texts by code point, a text before those that begin with it, numbers (whole, from 0) by size.
 * Letters, digits and most signs stand as they are.
 *
 * @throws ThreadkeepError `bad-request` for a number that is no whole number from 0 on
 *
 * @example
 * ```ts
 * recordKey("thread", 7); // "thread!0000000000000007"
 * ```
 */
export function recordKey(...parts: readonly (string | number)[]): string {
  return parts.map(part).join(SEPARATOR);
}

/**
 * The range of all keys that begin with these parts and have more.
 *
 * @throws ThreadkeepError `bad-request`, as {@link recordKey}
 *
 * @example
 * ```ts
 * const ofThread = await keep.records("notes").scan(recordRange("thread"));
 * ```
 */
export function recordRange(...parts: readonly (string | number)[]): { start: string; end: string } {
  const key = recordKey(...parts);
  return { start: key + SEPARATOR, end: key + AFTER };
}

/**
 * The parts of a key that {@link recordKey} made; numbers are texts of digits again.
 *
 * @example
 * ```ts
 * recordParts(recordKey("a!b", 7)); // ["a!b", "0000000000000007"]
 * ```
 */
export function recordParts(key: string): string[] {
  return key.split(SEPARATOR).map((part) => {
    const bytes: number[] = [];
    for (let at = 0; at < part.length; at++) {
      if (part[at] !== AFTER && part[at] !== "~") bytes.push(part.charCodeAt(at));
      else {
        bytes.push(Number.parseInt(part.slice(at + 1, at + 3), 16));
        at += 2;
      }
    }
    return new TextDecoder().decode(Uint8Array.from(bytes));
  });
}

function part(value: string | number): string {
  if (typeof value === "number") return String(check.count(value, "part", Number.MAX_SAFE_INTEGER)).padStart(DIGITS, "0");
  if (/^[#-}]*$/.test(check.exact(value, "part"))) return value;
  const hex = (byte: number) => byte.toString(16).padStart(2, "0");
  let escaped = "";
  // Escapes begin with a sign at the same end of the order as what they stand for.
  for (const byte of new TextEncoder().encode(value)) escaped += byte <= 0x22 ? AFTER + hex(byte) : byte >= 0x7e ? `~${hex(byte)}` : String.fromCharCode(byte);
  return escaped;
}
