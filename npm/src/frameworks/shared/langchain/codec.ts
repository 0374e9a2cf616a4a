// Values as JSON can carry them, and back: bytes and dates, which JSON has no word for, become objects under a name of their own.

import { badArgument } from "../../../errors.js";
import { base64, bytesOf } from "../../../bytes.js";

const NAME = "$threadkeep";

/**
 * A copy that JSON can carry. What JSON would leave out of an object (functions, `undefined`) is left out.
 *
 * @throws ThreadkeepError `bad-request` for a value within itself, and for big integers
 */
export function toPlain(value: unknown, argument: string): unknown {
  return copy(value, argument, []);
}

function copy(value: unknown, argument: string, within: readonly object[]): unknown {
  if (typeof value === "bigint") throw badArgument(argument, "holds a big integer, which JSON cannot carry");
  if (typeof value !== "object" || value === null) {
    if (typeof value === "number" && !Number.isFinite(value)) return null;
    return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  }
  if (within.includes(value)) throw badArgument(argument, "holds a value within itself, which JSON cannot carry");
  const path = [...within, value];
  if (value instanceof Uint8Array) return { [NAME]: "bytes", base64: base64(value) };
  if (value instanceof Date) return { [NAME]: "date", iso: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (Array.isArray(value)) return value.map((item) => copy(item, argument, path) ?? null);
  const toJson = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJson === "function") return copy(toJson.call(value), argument, path);
  const made: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    const copied = copy(item, argument, path);
    if (copied !== undefined) set(made, name, copied);
  }
  return Object.hasOwn(made, NAME) ? { [NAME]: "object", object: made } : made;
}

/** What {@link toPlain} made a copy of. */
export function fromPlain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(fromPlain);
  const fields = value as Record<string, unknown>;
  switch (fields[NAME]) {
    case "bytes":
      return bytesOf(String(fields["base64"]));
    case "date":
      return new Date(fields["iso"] === null ? Number.NaN : String(fields["iso"]));
    case "object":
      return inside(fields["object"] as Record<string, unknown>);
    default:
      return inside(fields);
  }
}

/** Shorter texts are not worth a reference. */
const LONG = 64;

/** The long texts in a value, in a fixed order. */
export function longTexts(value: unknown): string[] {
  if (typeof value === "string") return value.length < LONG ? [] : [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(longTexts) : [];
}

/** A copy of what {@link toPlain} gave, in which long texts that others end with are references to those. */
export function share(value: unknown, texts: readonly string[]): unknown {
  if (typeof value === "string") {
    const of = value.length < LONG ? -1 : texts.findIndex((text) => text.endsWith(value));
    return of < 0 ? value : { [NAME]: "tail", of, length: value.length };
  }
  return each(value, (item) => share(item, texts));
}

/** What {@link share} made a copy of, given the same texts. */
export function unshare(value: unknown, texts: readonly string[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return each(value, (item) => unshare(item, texts));
  const fields = value as Record<string, unknown>;
  if (fields[NAME] === "tail") return (texts[Number(fields["of"])] ?? "").slice(-Number(fields["length"]));
  // What only looks like one of ours.
  if (fields[NAME] === "object") return { [NAME]: "object", object: each(fields["object"], (item) => unshare(item, texts)) };
  return each(value, (item) => unshare(item, texts));
}

function each(value: unknown, change: (item: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(change);
  const made: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) set(made, name, change(item));
  return made;
}

function inside(fields: Record<string, unknown>): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(fields)) set(made, name, fromPlain(item));
  return made;
}

/** Sets a field, whatever its name: `__proto__` is one, too. */
function set(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
