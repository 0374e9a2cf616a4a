// Trimming a list of messages. The wasm side holds what was read and counted of the last few lists; a list that begins like
// one of them sends only what is new. That it begins alike is seen by comparing every field of every message with a trace of
// what was read, so that a changed message is noticed wherever it was changed.

import type { Trimmer } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { lostIn } from "./lost.js";
import { need, now } from "./runtime.js";
import type { Action, ContextWarning, LedgerLine, Limits, TokenKinds, TrimOptions } from "./generated/context.js";
import type { Message, MessageInput } from "./message.js";
import { isLoaded, needEncoding } from "./vocabulary.js";

/** What {@link trimMessages} gives. */
export interface Trimmed<M = Message> {
  /** Copies of the messages that stay, in the order of the prompt. */
  messages: (M | Message)[];
  /** One line for each message of the list, and for each that was put in. Made when it is first looked at. */
  readonly ledger: LedgerLine[];
  /** What the messages hold, in tokens: the sum of the ledger's. */
  tokens: number;
  /** What they hold in characters. */
  chars: number;
  /** The limits that held. */
  budget: Limits;
  /** Whether what must stay is over them: then call no model. */
  overBudget: boolean;
  /** The tokens by what they are for. */
  kinds: TokenKinds;
  /** What you should know: that U+FFFD stands for a lost character of the messages that stay (`lost-character`). `index` is a place in them. */
  warnings: ContextWarning[];
}

/** How many lists are remembered. */
const LISTS = 4;

const ACTIONS: readonly Action[] = ["kept", "pinned", "compressed", "previewed", "summarised", "dropped", "injected", "repaired"];

/**
 * What was read of a list, in one flat array, names and values in the order in which they come: an object is {@link MAP}, its
 * names each with what is under it, {@link END}; an array is {@link LIST}, its length, its values; what is no plain data is
 * {@link OTHER}. The strings are the messages' own, so that comparing a list that did not change looks at no text.
 */
interface Trace {
  flat: unknown[];
  /** Where each message begins in it, and where the last one ends. */
  starts: number[];
}

const MAP = Symbol("map");
const LIST = Symbol("list");
const END = Symbol("end");
const OTHER = Symbol("other");

/** A list that was read: its trace, and its counts in wasm. */
interface Known {
  key: string;
  trace: Trace;
  trimmer: Trimmer;
  /** Whether U+FFFD is in the texts, maybe in place of half a character. */
  replaced: boolean;
}

/** Newest last. */
const known: Known[] = [];

/**
 * Trims messages to a budget: keeps system messages, pins, the newest user message and an open tool call with its results
 * always, then as many of the newest as fit. A tool call and its results stay or go together; what a provider would
 * refuse (a call without its result, a result without its call) is repaired, and the ledger says so.
 *
 * The list that is given stays as it is. The last four lists are remembered, so that trimming one again after it grew counts
 * only what is new, and another budget counts nothing.
 *
 * @throws ThreadkeepError `bad-request`, `init-failed`. A budget that cannot hold what must stay is no error: see `overBudget`.
 *
 * @example
 * ```ts
 * const { messages, overBudget } = await trimMessages(history, { budget: { maxTokens: 8000 } });
 * ```
 */
export async function trimMessages<M extends MessageInput>(messages: readonly M[], options: TrimOptions = {}): Promise<Trimmed<M>> {
  if (!Array.isArray(messages)) check.messages(messages, "messages");
  if (!check.isObject(options)) check.options(options, "options", {});
  const how = check.optionsJson(options);
  const encoding = options.encoding ?? "o200k_base";
  let list: readonly M[] = messages;
  if (!isLoaded(encoding)) {
    // The caller may change the list while the vocabulary is on its way.
    list = messages.map(copy) as M[];
    await needEncoding(encoding);
  } else await need("prompts");
  return trim(list, how, JSON.stringify([options.provider, encoding, options.includeSystem]));
}

function trim<M extends MessageInput>(messages: readonly M[], how: string, key: string): Trimmed<M> {
  const trimmer = read(messages, how, key);
  const [json, order, ledger] = now((wasm) => {
    void wasm;
    return trimmer.fit(how) as [string, Int32Array, Uint32Array];
  });
  const { made, rules, ...said } = JSON.parse(json) as Omit<Trimmed<M>, "messages" | "ledger" | "warnings"> & { made: Message[]; rules: string[] };
  // `read` puts the list that it takes at the end.
  const replaced = known.at(-1)?.replaced === true;
  const copied = replaced ? (message: unknown) => JSON.parse(check.json(message, "messages")) as unknown : copy;
  const kept = Array.from(order, (place) => (place < 0 ? made[-1 - place] : (copied(messages[place]) as M)) as M | Message);
  let lines: LedgerLine[] | undefined;
  return {
    messages: kept,
    get ledger() {
      return (lines ??= linesOf(ledger, rules));
    },
    ...said,
    warnings: replaced ? lostIn(kept) : [],
  };
}

function linesOf(numbers: Uint32Array, rules: readonly string[]): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (let at = 0; at < numbers.length; at += 5) {
    lines.push({
      index: numbers[at] as number,
      action: ACTIONS[numbers[at + 1] as number] as Action,
      rule: rules[numbers[at + 2] as number] as string,
      tokensBefore: numbers[at + 3] as number,
      tokensAfter: numbers[at + 4] as number,
    });
  }
  return lines;
}

/** The list in wasm: one that was read before and goes on, or a new one. */
function read(messages: readonly MessageInput[], how: string, key: string): Trimmer {
  let best: Known | undefined;
  let shared = 0;
  for (const candidate of known) {
    if (candidate.key !== key) continue;
    const common = commonLength(candidate.trace, messages);
    if (best === undefined || common >= shared) [best, shared] = [candidate, common];
  }
  // Where little is the same it is another conversation, and the old one may be asked for again.
  if (best === undefined || shared * 2 < best.trace.starts.length - 1) {
    if (known.length >= LISTS) known.shift()?.trimmer.free();
    best = { key, trace: { flat: [], starts: [0] }, trimmer: now((wasm) => new wasm.Trimmer(how)), replaced: false };
    shared = 0;
  } else known.splice(known.indexOf(best), 1);
  const { trace, trimmer } = best;
  try {
    if (shared < trace.starts.length - 1) {
      trace.flat.length = trace.starts[shared] as number;
      trace.starts.length = shared + 1;
      now(() => trimmer.truncate(shared));
    }
    if (shared < messages.length) {
      const fresh = messages.slice(shared);
      const json = check.json(check.messages(fresh, "messages", shared), "messages");
      best.replaced ||= json.includes("\ufffd");
      now(() => trimmer.push(json));
      for (const message of fresh) {
        record(trace.flat, message);
        trace.starts.push(trace.flat.length);
      }
    }
  } catch (error) {
    trimmer.free();
    throw error;
  }
  known.push(best);
  return trimmer;
}

/** How many messages at the beginning are as they were read. */
function commonLength(trace: Trace, messages: readonly unknown[]): number {
  const length = Math.min(trace.starts.length - 1, messages.length);
  let at = 0;
  for (let index = 0; index < length; index += 1) {
    at = follow(trace.flat, at, messages[index]);
    if (at < 0) return index;
  }
  return length;
}

/** Adds a value to a trace. */
function record(flat: unknown[], value: unknown): void {
  if (typeof value !== "object" || value === null) flat.push(value);
  else if (Array.isArray(value)) {
    flat.push(LIST, value.length);
    for (let index = 0; index < value.length; index += 1) record(flat, value[index]);
  } else if (isPlain(value)) {
    flat.push(MAP);
    for (const name in value) {
      flat.push(name);
      record(flat, value[name]);
    }
    flat.push(END);
  } else flat.push(OTHER);
}

/**
 * Where a trace goes on behind a value that it has at `at`, or -1 where the value is another. What is no plain data is always
 * another. Engines read the fields of an object in their own order without looking for them, which makes this quick.
 */
function follow(flat: readonly unknown[], at: number, value: unknown): number {
  if (typeof value !== "object" || value === null) return flat[at] === value ? at + 1 : -1;
  if (Array.isArray(value)) {
    if (flat[at] !== LIST || flat[at + 1] !== value.length) return -1;
    let next = at + 2;
    for (let index = 0; index < value.length && next >= 0; index += 1) next = follow(flat, next, value[index]);
    return next;
  }
  if (flat[at] !== MAP || !isPlain(value)) return -1;
  let next = at + 1;
  for (const name in value) {
    if (flat[next] !== name) return -1;
    const field = value[name];
    // `Object.is` says so of one string without looking into it, where even `===` looks at what kind of value it is. What is
    // there already is then in no cache: a transcript's texts are read by nobody else meanwhile.
    if (Object.is(flat[next + 1], field)) next += 2;
    else if (typeof field !== "object" || field === null) return -1;
    else {
      next = follow(flat, next + 1, field);
      if (next < 0) return -1;
    }
  }
  return flat[next] === END ? next + 1 : -1;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A copy all the way down, with the same strings. What is no plain data is copied as JSON would write it. */
function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if (!isPlain(value)) {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? undefined : JSON.parse(json);
  }
  const made = { ...value };
  for (const name in made) {
    const field = made[name];
    if (typeof field === "object" && field !== null) made[name] = copy(field);
  }
  return made;
}
