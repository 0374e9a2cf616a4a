// Argument checks: every wrong argument is a ThreadkeepError that names it, before anything happens.

import { badArgument } from "./errors.js";

const MAX_U32 = 0xffff_ffff;
const MAX_ID_BYTES = 512;

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return value === undefined ? "missing" : `a ${typeof value}`;
}

/** An object that is not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A string without halves of character pairs, which no UTF-8 can carry. */
export function text(value: unknown, argument: string): string {
  if (typeof value !== "string") throw badArgument(argument, `must be a string, it is ${kindOf(value)}`);
  if (/\p{Surrogate}/u.test(value))
    throw badArgument(argument, "contains a lone surrogate (half of a character pair), which cannot be stored");
  return value;
}

/** An id or a name: a non-empty string of at most 512 bytes. */
export function id(value: unknown, argument: string): string {
  const checked = text(value, argument);
  if (checked === "") throw badArgument(argument, "must not be empty");
  if (checked.length * 3 > MAX_ID_BYTES && new TextEncoder().encode(checked).length > MAX_ID_BYTES)
    throw badArgument(argument, `must be at most ${MAX_ID_BYTES} bytes long`);
  return checked;
}

/** A whole number from 0 on. */
export function count(value: unknown, argument: string, max = MAX_U32): number {
  if (typeof value !== "number") throw badArgument(argument, `must be a number, it is ${kindOf(value)}`);
  if (!Number.isInteger(value) || value < 0 || value > max)
    throw badArgument(argument, `must be a whole number from 0 to ${max}, it is ${value}`);
  return value;
}

/** `true` or `false`. */
export function flag(value: unknown, argument: string): boolean {
  if (typeof value !== "boolean") throw badArgument(argument, `must be true or false, it is ${kindOf(value)}`);
  return value;
}

/** A function. */
export function callback<F>(value: F, argument: string): F {
  if (typeof value !== "function") throw badArgument(argument, `must be a function, it is ${kindOf(value)}`);
  return value;
}

/** An `AbortSignal`, of this realm or another. */
export function signal(value: unknown, argument: string): unknown {
  if (!isObject(value) || typeof value["aborted"] !== "boolean") throw badArgument(argument, `must be an AbortSignal, it is ${kindOf(value)}`);
  return value;
}

/** One of a few words. */
export function oneOf<T extends string>(value: unknown, words: readonly T[], argument: string): T {
  const found = words.find((word) => word === value);
  if (found === undefined) {
    const given = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    throw badArgument(argument, `must be one of ${words.map((word) => `"${word}"`).join(", ")}; it is ${given}`);
  }
  return found;
}

/**
 * Options: an object whose names are all in `checks`; each value is checked and copied unless it is `undefined`.
 * Left out altogether, it is an empty object.
 */
export function options(
  value: unknown,
  argument: string,
  checks: Readonly<Record<string, (value: unknown, argument: string) => unknown>>,
): Record<string, unknown> {
  if (value === undefined) return {};
  if (!isObject(value)) throw badArgument(argument, `must be an object, it is ${kindOf(value)}`);
  const checked: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      const known = Object.keys(checks).join(", ");
      throw badArgument(`${argument}.${name}`, `is not known here; there are: ${known}`);
    }
    if (value[name] !== undefined) checked[name] = check(value[name], `${argument}.${name}`);
  }
  return checked;
}

/** Text, or a list of content parts. */
export function content(value: unknown, argument: string): unknown {
  if (Array.isArray(value)) {
    for (const [index, part] of value.entries())
      if (!isObject(part)) throw badArgument(`${argument}[${index}]`, `must be an object, it is ${kindOf(part)}`);
    return value;
  }
  if (typeof value !== "string")
    throw badArgument(argument, `must be a string or a list of content parts, it is ${kindOf(value)}`);
  return value;
}

/** A list of messages. What the chat form knows is checked here, so that the error can name the place. */
export function messages(value: unknown, argument: string, first = 0): readonly unknown[] {
  if (!Array.isArray(value)) throw badArgument(argument, `must be an array of messages, it is ${kindOf(value)}`);
  for (let index = 0; index < value.length; index += 1) message(value[index], `${argument}[${first + index}]`);
  return value;
}

function message(value: unknown, argument: string): void {
  if (!isObject(value)) throw badArgument(argument, `must be a message object, it is ${kindOf(value)}`);
  if (typeof value["role"] !== "string")
    throw badArgument(`${argument}.role`, `must be a string, it is ${kindOf(value["role"])}`);
  if (value["content"] !== undefined && value["content"] !== null) content(value["content"], `${argument}.content`);
  for (const name of ["name", "tool_call_id"]) {
    const given = value[name];
    if (given !== undefined && given !== null && typeof given !== "string")
      throw badArgument(`${argument}.${name}`, `must be a string or null, it is ${kindOf(given)}`);
  }
  const calls = value["tool_calls"];
  if (calls !== undefined && calls !== null && !(Array.isArray(calls) && calls.every(isObject)))
    throw badArgument(`${argument}.tool_calls`, "must be a list of objects or null");
}

/** A request's parameters as JSON text. What JSON cannot carry is an error that names the place. */
export function toJson(params: Record<string, unknown>): string {
  let json: string;
  try {
    json = JSON.stringify(params);
  } catch (error) {
    throw badArgument(argumentOf(params), `cannot be written as JSON: ${(error as Error).message}`, error);
  }
  // `JSON.stringify` escapes lone surrogates and nothing else beyond U+001F, so this is a cheap first look.
  if (/\\ud[89a-f]/.test(json)) refuseSurrogates(params, "");
  return json;
}

/** Options as JSON text. JSON would make `null` of a number that is none, which counts as left out: here it is an error. */
export function optionsJson(value: unknown): string {
  return json(value, "options", (_, item) => {
    if (typeof item === "number" && !Number.isFinite(item)) throw new RangeError(`${item} is no number that JSON can carry`);
    return item;
  });
}

/** Something of the user's as JSON text. What JSON cannot carry is an error. */
export function json(value: unknown, argument: string, replacer?: (name: string, item: unknown) => unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value, replacer);
  } catch (error) {
    throw badArgument(argument, `cannot be written as JSON: ${(error as Error).message}`, error);
  }
  if (json === undefined) throw badArgument(argument, `cannot be written as JSON, it is ${kindOf(value)}`);
  if (/\\ud[89a-f]/.test(json)) refuseSurrogates(value, argument);
  return json;
}

function argumentOf(params: Record<string, unknown>): string {
  if (params["messages"] !== undefined) return "messages";
  return params["content"] === undefined ? "options" : "message.content";
}

function refuseSurrogates(value: unknown, path: string): void {
  if (typeof value === "string") text(value, path);
  else if (Array.isArray(value)) value.forEach((item, index) => refuseSurrogates(item, `${path}[${index}]`));
  else if (isObject(value))
    for (const [name, item] of Object.entries(value)) {
      text(name, path === "" ? name : `a field name of ${path}`);
      refuseSurrogates(item, path === "" ? name : `${path}.${name}`);
    }
}
