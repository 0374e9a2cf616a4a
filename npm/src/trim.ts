// Trimming a list of messages. The wasm side holds what was read and counted of the last few lists; a list that begins like
// one of them sends only what is new. That it begins alike is seen by comparing with a copy that shares its strings, message
// by message and field by field, so that a changed message is noticed wherever it was changed.

import type { Trimmer } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { need, now } from "./runtime.js";
import type { Action, LedgerLine, Trimmed, TrimOptions } from "./types/context.js";
import type { Message, MessageInput } from "./types/message.js";
import { isLoaded, needEncoding } from "./vocabulary.js";

/** How many lists are remembered. */
const LISTS = 4;

const ACTIONS: readonly Action[] = ["kept", "pinned", "compressed", "previewed", "summarised", "dropped", "injected", "repaired"];

/** A list that was read: a copy of it, and its counts in wasm. */
interface Known {
  key: string;
  copies: unknown[];
  trimmer: Trimmer;
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
  const how = check.optionsJson(options);
  const encoding = options?.encoding ?? "o200k_base";
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
  const { made, rules, ...said } = JSON.parse(json) as Omit<Trimmed<M>, "messages" | "ledger"> & { made: Message[]; rules: string[] };
  const kept = Array.from(order, (place) => (place < 0 ? made[-1 - place] : (copy(messages[place]) as M)) as M | Message);
  let lines: LedgerLine[] | undefined;
  return {
    messages: kept,
    get ledger() {
      return (lines ??= linesOf(ledger, rules));
    },
    ...said,
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
    const common = commonLength(candidate.copies, messages);
    if (best === undefined || common >= shared) [best, shared] = [candidate, common];
  }
  // Where little is the same it is another conversation, and the old one may be asked for again.
  if (best === undefined || shared * 2 < best.copies.length) {
    if (known.length >= LISTS) known.shift()?.trimmer.free();
    best = { key, copies: [], trimmer: now((wasm) => new wasm.Trimmer(how)) };
    shared = 0;
  } else known.splice(known.indexOf(best), 1);
  const { copies, trimmer } = best;
  try {
    if (shared < copies.length) {
      copies.length = shared;
      now(() => trimmer.truncate(shared));
    }
    if (shared < messages.length) {
      const fresh = messages.slice(shared);
      const json = check.json(check.messages(fresh, "messages", shared), "messages");
      now(() => trimmer.push(json));
      for (const message of fresh) copies.push(copy(message));
    }
  } catch (error) {
    trimmer.free();
    throw error;
  }
  known.push(best);
  return trimmer;
}

function commonLength(copies: readonly unknown[], messages: readonly unknown[]): number {
  const length = Math.min(copies.length, messages.length);
  for (let index = 0; index < length; index += 1) if (!same(copies[index], messages[index])) return index;
  return length;
}

/** Whether `value` is still what `kept` was copied from. Strings that are one are told by where they are. */
function same(kept: unknown, value: unknown): boolean {
  if (kept === value) return true;
  if (typeof kept !== "object" || typeof value !== "object" || kept === null || value === null) return false;
  if (Array.isArray(kept)) {
    if (!Array.isArray(value) || kept.length !== value.length) return false;
    for (let index = 0; index < kept.length; index += 1) if (!same(kept[index], value[index])) return false;
    return true;
  }
  if (!isPlain(value)) return false;
  let fields = 0;
  for (const name in kept) {
    if (!same((kept as Record<string, unknown>)[name], value[name])) return false;
    fields += 1;
  }
  for (const name in value) if (name !== undefined) fields -= 1;
  return fields === 0;
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
  const made: Record<string, unknown> = {};
  for (const name in value) made[name] = copy(value[name]);
  return made;
}
