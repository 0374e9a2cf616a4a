// Argument checks: every wrong argument is a ThreadkeepError that names it, before anything happens.

import { ThreadkeepError, badArgument, wordsOf } from "./errors.js";

const MAX_U32 = 0xffff_ffff;
const MAX_ID_BYTES = 512;
/**
 * Lists and objects inside one another in a message, the message among them: `DEEPEST` of the core, which refuses more, too, but
 * cannot say of which argument.
 */
const DEEPEST = 100;

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

/** A `Uint8Array`, of this realm or another: test runners give a program globals of their own, and Node reads files into those of its own. */
export function isBytes(value: unknown): value is Uint8Array<ArrayBuffer> {
  return ArrayBuffer.isView(value) && (value as Partial<Uint8Array>)[Symbol.toStringTag] === "Uint8Array";
}

/** An `ArrayBuffer`, likewise. */
export function isBuffer(value: unknown): value is ArrayBuffer {
  return Object.prototype.toString.call(value) === "[object ArrayBuffer]";
}

/**
 * A text as UTF-8 can carry it: U+FFFD stands for each lone surrogate, as `toWellFormed()` has it. Tools that cut strings leave half a
 * character at the end.
 */
export function wellFormed(text: string): string {
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, "\ufffd") : text;
}

/** A string, well-formed. If only some words are right, the engine says so. */
export function text<Words extends string = string>(value: unknown, argument: string): Words {
  if (typeof value !== "string") throw badArgument(argument, `must be a string, it is ${kindOf(value)}`);
  return wellFormed(value) as Words;
}

/** What the engine checks. */
export function unchecked<T>(value: unknown): T {
  return value as T;
}

/** A string that names something: one with half a character is refused, since another name would be stored. */
export function exact(value: unknown, argument: string): string {
  if (text(value, argument) !== value) throw badArgument(argument, "contains a lone surrogate, which is half of a character");
  return value;
}

/** An id or a name: a non-empty string of at most 512 bytes. */
export function id(value: unknown, argument: string): string {
  const checked = exact(value, argument);
  if (checked === "") throw badArgument(argument, "must not be empty");
  if (checked.length * 3 > MAX_ID_BYTES && new TextEncoder().encode(checked).length > MAX_ID_BYTES)
    throw badArgument(argument, `must be at most ${MAX_ID_BYTES} bytes long`);
  return checked;
}

/** The longest name of a scope, in bytes. */
const MAX_SCOPE_BYTES = 128;

/** The name of a scope. */
export function scope(value: unknown, argument: string): string {
  const name = exact(value, argument);
  const bytes = new TextEncoder().encode(name).length;
  if (bytes < 1 || bytes > MAX_SCOPE_BYTES) throw badArgument(argument, `must have 1 to ${MAX_SCOPE_BYTES} bytes, it has ${bytes}`);
  return name;
}

/** A whole number from 0 on. */
export function count(value: unknown, argument: string, max = MAX_U32): number {
  if (typeof value !== "number") throw badArgument(argument, `must be a number, it is ${kindOf(value)}`);
  if (!Number.isInteger(value) || value < 0 || value > max) throw badArgument(argument, `must be a whole number from 0 to ${max}, it is ${value}`);
  return value;
}

/** What `setTimeout` and `setInterval` take, in milliseconds: a longer wait would end at once. */
export const MAX_WAIT = 0x7fff_ffff;

/** How long something waits, in milliseconds. */
export function millis(value: unknown, argument: string): number {
  return count(value, argument, MAX_WAIT);
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

/** What is checked of options: a function for each name, which gives a copy. */
export type Checks = Readonly<Record<string, (value: unknown, argument: string) => unknown>>;

/** Options that were checked. */
export type Checked<C extends Checks> = { -readonly [K in keyof C]?: ReturnType<C[K]> };

/**
 * Options: an object whose names are all in `checks`; each value is checked and copied unless it is `undefined`.
 * Left out altogether, it is an empty object.
 */
export function options<C extends Checks>(value: unknown, argument: string, checks: C): Checked<C> {
  if (value === undefined) return {};
  return reading(argument, () => {
    if (!isObject(value)) throw badArgument(argument, `must be an object, it is ${kindOf(value)}`);
    const checked: Record<string, unknown> = {};
    for (const name of Object.keys(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined) {
        const known = Object.keys(checks).join(", ");
        throw badArgument(`${argument}.${name}`, `is not known here; there are: ${known}`);
      }
      const given = value[name];
      if (given !== undefined) checked[name] = check(given, `${argument}.${name}`);
    }
    return checked as Checked<C>;
  });
}

/** What `read` gives of an argument. What a getter or a proxy of the user's throws is an error that names the argument. */
export function reading<T>(argument: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    throw badArgument(argument, `cannot be read: ${wordsOf(error)}`, error);
  }
}

/** Text, or a list of content parts. */
export function content(value: unknown, argument: string): unknown {
  if (Array.isArray(value)) {
    for (const [index, part] of value.entries()) if (!isObject(part)) throw badArgument(`${argument}[${index}]`, `must be an object, it is ${kindOf(part)}`);
    return value;
  }
  if (typeof value !== "string") throw badArgument(argument, `must be a string or a list of content parts, it is ${kindOf(value)}`);
  return value;
}

/** A list of messages. What the chat form knows is checked here, so that the error can name the place. */
export function messages(value: unknown, argument: string, first = 0): readonly unknown[] {
  return reading(argument, () => {
    if (!Array.isArray(value)) throw badArgument(argument, `must be an array of messages, it is ${kindOf(value)}`);
    for (let index = 0; index < value.length; index += 1) message(value[index], `${argument}[${first + index}]`);
    return value;
  });
}

function message(value: unknown, argument: string): void {
  if (!isObject(value)) throw badArgument(argument, `must be a message object, it is ${kindOf(value)}`);
  if (typeof value["role"] !== "string") throw badArgument(`${argument}.role`, `must be a string, it is ${kindOf(value["role"])}`);
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

/**
 * Messages to be stored and given back: copies of those that hold nothing but texts and flags, as most do, so that they need not be
 * read from JSON again. `whole` says whether all are copies.
 */
export function copies(messages: readonly unknown[]): { messages: unknown[]; whole: boolean } {
  return reading("messages", () => {
    let whole = true;
    const copied = messages.map((message) => {
      const own = copy(message as Record<string, unknown>);
      whole &&= own !== undefined;
      return own ?? message;
    });
    return { messages: copied, whole };
  });
}

/** What JSON would bring back of a message; `undefined` for one that has more in it than texts and flags. */
function copy(message: Record<string, unknown>): Record<string, unknown> | undefined {
  if ("toJSON" in message) return undefined;
  const own: Record<string, unknown> = {};
  for (const name of Object.keys(message)) {
    const value = message[name];
    if (value === undefined) continue;
    const plain = typeof value === "string" || typeof value === "boolean" || value === null;
    if (!plain || name === "__proto__") return undefined;
    own[name] = value;
  }
  return own;
}

/** A request's parameters, and those among them that errors name. */
type Told = Record<string, unknown> | (object & { messages?: unknown; content?: unknown });

/** A request's parameters as JSON text. What JSON cannot carry is an error that names the place. */
export function toJson(params: Told = {}): string {
  let json: string;
  try {
    json = JSON.stringify(params);
  } catch (error) {
    throw badArgument(argumentOf(params), `cannot be written as JSON: ${wordsOf(error)}`, error);
  }
  json = wholeJson(json);
  // The parameters are a message's, or have a list of them.
  if (isDeep(json, DEEPEST + (Array.isArray(params.messages) ? 2 : 0))) throw badArgument(deepIn(params), TOO_DEEP);
  return json;
}

/**
 * JSON text of `JSON.stringify` with U+FFFD for lone surrogates. It escapes these and nothing else beyond U+001F; a backslash that is
 * itself escaped belongs to the text.
 */
export function wholeJson(json: string): string {
  return /\\ud[89a-f]/.test(json) ? json.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\ufffd")) : json;
}

const TOO_DEEP = `is nested too deeply: ${DEEPEST} levels are the most`;

function deepIn(params: Told): string {
  const { messages } = params;
  if (!Array.isArray(messages)) return argumentOf(params);
  const index = messages.findIndex((message) => isDeep(JSON.stringify(message) ?? "", DEEPEST));
  return index < 0 ? "messages" : `messages[${index}]`;
}

/** Whether in JSON text more than `most` lists and objects lie inside one another. */
function isDeep(json: string, most: number): boolean {
  if (json.length <= 2 * most) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === 0x22) {
      at = json.indexOf('"', at + 1);
      while (isEscaped(json, at)) at = json.indexOf('"', at + 1);
    } else if (sign === 0x7b || sign === 0x5b) {
      depth += 1;
      if (depth > most) return true;
    } else if (sign === 0x7d || sign === 0x5d) depth -= 1;
  }
  return false;
}

/** Whether an odd number of backslashes stands before a place. */
function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json.charCodeAt(before - 1) === 0x5c) before -= 1;
  return (at - before) % 2 === 1;
}

/**
 * Options as JSON text. JSON would make `null` of a number that is none, which counts as left out, and leave out an option that is a
 * function: here both are errors.
 */
export function optionsJson(value: unknown): string {
  const text = json(value, "options", function (this: unknown, name, item) {
    if (typeof item === "number" && !Number.isFinite(item)) throw new RangeError(`${item} is no number that JSON can carry`);
    if (this === value && (typeof item === "function" || typeof item === "symbol")) throw badArgument(`options.${name}`, `cannot be ${kindOf(item)}`);
    return item;
  });
  if (isDeep(text, DEEPEST)) throw badArgument("options", TOO_DEEP);
  return text;
}

/** Something of the user's as JSON text. What JSON cannot carry is an error. */
export function json(value: unknown, argument: string, replacer?: (this: unknown, name: string, item: unknown) => unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value, replacer);
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    throw badArgument(argument, `cannot be written as JSON: ${wordsOf(error)}`, error);
  }
  if (json === undefined) throw badArgument(argument, `cannot be written as JSON, it is ${kindOf(value)}`);
  return wholeJson(json);
}

function argumentOf(params: Told): string {
  if (params.messages !== undefined) return "messages";
  return params.content === undefined ? "options" : "message.content";
}
