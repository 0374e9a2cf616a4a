// Items as text and back, exactly. Items are plain data, but a little more than JSON: bytes of pictures and files, fields that
// are `undefined`, numbers that JSON has no words for. What JSON cannot say becomes an object with one field, `$threadkeep`;
// an item's own field of that name is wrapped the same way. Text is kept with every code unit, halves of pairs too.

import { badArgument } from "../../errors.js";
import { base64, bytesOf } from "../../bytes.js";

const TAG = "$threadkeep";

/** Plain data as JSON text, for {@link decode}. Throws `bad-request` with the place of what is no data (a function, a cycle). */
export function encode(value: unknown, argument: string): string {
  return JSON.stringify(plain(value, argument, []));
}

/** The same text for all data that is the same, in whatever order its fields are. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(plain(value, "items", [])));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, item]) => [name, sorted(item)]));
}

/** What {@link encode} wrote. */
export function decode(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(`"${TAG}"`) ? revived(value) : value;
}

/** Not by a reviver of `JSON.parse`, which removes what becomes `undefined`. */
function revived(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(revived);
  const fields = value as Record<string, unknown>;
  if (Object.hasOwn(fields, TAG)) return revive(fields[TAG] as [string, unknown]);
  return Object.fromEntries(Object.entries(fields).map(([name, item]) => [name, revived(item)]));
}

function tag(kind: string, value?: unknown): Record<string, unknown> {
  return { [TAG]: value === undefined ? [kind] : [kind, value] };
}

function plain(value: unknown, place: string, above: readonly object[]): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "undefined":
      return tag("undefined");
    case "bigint":
      return tag("bigint", String(value));
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : tag("number", Object.is(value, -0) ? "-0" : String(value));
    case "object":
      return value === null ? null : inside(value, place, above);
    default:
      throw badArgument(place, `is a ${typeof value}, which cannot be stored`);
  }
}

function inside(value: object, place: string, above: readonly object[]): unknown {
  if (above.includes(value)) throw badArgument(place, "contains itself, which cannot be stored");
  if (value instanceof Uint8Array) return tag("bytes", base64(value));
  if (value instanceof Date) return tag("date", value.getTime());
  const path = [...above, value];
  if (Array.isArray(value)) return Array.from(value, (item, index) => plain(item, `${place}[${index}]`, path));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype as object) !== null)
    throw badArgument(place, `is a ${value.constructor.name}, which cannot be stored`);
  const fields = Object.entries(value).map(([name, item]) => [name, plain(item, `${place}.${name}`, path)] as const);
  const object = Object.fromEntries(fields);
  return Object.hasOwn(object, TAG) ? tag("object", Object.entries(object)) : object;
}

function revive([kind, value]: [string, unknown]): unknown {
  switch (kind) {
    case "bytes":
      return bytesOf(value as string);
    case "date":
      return new Date(value as number);
    case "bigint":
      return BigInt(value as string);
    case "number":
      return Number(value);
    case "object":
      return Object.fromEntries((value as [string, unknown][]).map(([name, item]) => [name, revived(item)]));
    default:
      return undefined;
  }
}
