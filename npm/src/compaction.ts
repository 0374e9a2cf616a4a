// Compactions: the options that are checked here, and the function that stands between the engine and a user's model. It holds
// the timer, hands out the signal, and turns whatever comes back into a message or words.

import type { Canceller, Engine } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { badArgument, ThreadkeepError, wordsOf } from "./errors.js";
import { now, run } from "./runtime.js";
import type { CompactParams, Compaction, CompactionPolicy } from "./generated/compaction.js";
import type { Encoding } from "./generated/context.js";
import type { MessageInput } from "./message.js";

/** What a model is asked. */
export interface SummaryRequest {
  /** The whole request: instructions, and the numbered material. Send it as it is; the answer should be the JSON that it asks for. */
  messages: { role: "system" | "user"; content: string }[];
  /** The material alone, for a model that knows by itself what summarising is. */
  text: string;
  /** About how many words the statements may have together. */
  words: number;
  /** Which of the requests for this summary it is, from 0. */
  part: number;
  /** How many there are; more than one where the material does not fit `inputTokens`. */
  parts: number;
  /** Aborted when the request takes too long, and when the compaction is cancelled. */
  signal: AbortSignal;
}

/**
 * A model that summarises: it is given a request, and answers with the model's text, or with its message. The JSON may
 * stand bare, in a fence, or among words.
 */
export interface Summarize {
  (request: SummaryRequest): string | MessageInput | Promise<string | MessageInput>;
  /** Its name, as checkpoints keep it; see {@link CompactOptions.summarizer}. */
  readonly summarizer?: string;
  /** See {@link CompactOptions.inputTokens}. */
  readonly inputTokens?: number;
}

/** How a chain is compacted. Zero means zero. */
export interface CompactOptions extends CompactParams {
  /** Who summarises; without it a built-in summariser that needs no model: it quotes what matters most. */
  summarize?: Summarize | undefined;
  /** After how many milliseconds a request to the model is given up; 120,000 without it. */
  timeout?: number;
  /** Cancels: nothing is stored then, and a request for the compaction stays pending. */
  signal?: AbortSignal;
}

/** What a provider counted for a response. */
export interface ResponseUsage {
  /** The tokens of the whole prompt, what came from the provider's cache included. */
  promptTokens?: number;
  /** The tokens of the answer, reasoning included. */
  completionTokens?: number;
  /** How many of the prompt's came from the provider's cache. */
  cachedTokens?: number;
  /** How many of the prompt's were written to the provider's cache, if that has a price of its own. */
  cacheWriteTokens?: number;
  /** How many of the answer's were spent on reasoning. */
  reasoningTokens?: number;
  /** The request that was answered: `request` of a {@link Context} that was made with `record: true`. The usage is kept with it. */
  request?: string;
}

/** What is read of a {@link ResponseUsage}. @internal */
export const USAGE = {
  promptTokens: check.count,
  completionTokens: check.count,
  cachedTokens: check.count,
  cacheWriteTokens: check.count,
  cacheHourTokens: check.count,
  reasoningTokens: check.count,
  request: check.text<string>,
};

const TIMEOUT = 120_000;

const COMPACT = {
  strategy: check.text,
  keepTurns: check.count,
  keepRecent: check.count,
  targetTokens: check.count,
  summaryTokens: check.count,
  summarize: check.callback,
  summarizer: check.text,
  inputTokens: check.count,
  timeout: check.millis,
  fallback: check.flag,
  provider: check.text,
  encoding: check.text,
  pins: check.unchecked,
  preview: check.flag,
  agent: check.id,
  rememberFrom: check.unchecked,
  signal: check.signal,
};

/** When to compact, but for the model whose context counts. @internal */
export const SIZES = {
  maxContextTokens: check.count,
  maxOutputTokens: check.count,
  safetyMargin: check.count,
  compactionRatio: ratio,
  compactionThreshold: check.count,
};

const POLICY = { model: check.text, ...SIZES };

function ratio(value: unknown, argument: string): number {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) throw badArgument(argument, "must be a number from 0 to 1");
  return value;
}

/** A policy as it is given. @internal */
export function policy(value: unknown, argument: string): CompactionPolicy {
  return check.options(value, argument, POLICY) as CompactionPolicy;
}

/** A compaction as it was asked for, written down. @internal */
export interface Prepared {
  json: string;
  encoding: Encoding;
  summarize: Summarize | undefined;
  timeout: number;
  signal: AbortSignal | undefined;
}

/** Checks and writes down what a compaction is asked to do. @internal */
export function prepare(at: string, options: unknown, encoding: Encoding): Prepared {
  const { summarize, timeout = TIMEOUT, signal, ...params } = check.options(options, "options", COMPACT) as CompactOptions;
  const own = { summarizer: summarize?.summarizer, inputTokens: summarize?.inputTokens };
  const how = params.encoding ?? encoding;
  return {
    json: check.toJson({ ...own, ...params, encoding: how, at }),
    encoding: how,
    summarize,
    timeout,
    signal,
  };
}

/** Has the engine compact. @internal */
export async function compact(engine: Engine, { json, summarize, timeout, signal }: Prepared): Promise<Compaction> {
  if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled");
  const ended = new AbortController();
  const model = summarize === undefined ? undefined : asked(summarize, timeout, ended.signal);
  const canceller: Canceller = now((wasm) => new wasm.Canceller());
  const cancel = (): void => {
    now(() => canceller.cancel());
    ended.abort(signal?.reason);
  };
  signal?.addEventListener("abort", cancel);
  try {
    const answer = await run(() => engine.compact(json, model, canceller) as Promise<string>);
    return (JSON.parse(answer) as { data: Compaction }).data;
  } finally {
    signal?.removeEventListener("abort", cancel);
    ended.abort();
    // After a trap this says so again, and does not call into the broken module.
    now(() => canceller.free());
  }
}

/** The user's function as the engine calls it: JSON text in, JSON text of a message out, words where it fails. */
function asked(summarize: Summarize, timeout: number, ended: AbortSignal): (json: string) => Promise<string> {
  return (json) =>
    new Promise((resolve, reject) => {
      const request = new AbortController();
      const timer = setTimeout(() => {
        reject(`the model took longer than ${timeout} ms`);
        request.abort(new DOMException("the model took too long", "TimeoutError"));
      }, timeout);
      const stop = (): void => {
        // A model that does not listen may never answer: the timer would keep Node running for as long.
        clearTimeout(timer);
        request.abort(ended.reason);
      };
      ended.addEventListener("abort", stop);
      const ask = async (): Promise<string> => {
        const asked = JSON.parse(json) as Omit<SummaryRequest, "signal">;
        return answered(await summarize({ ...asked, signal: request.signal }));
      };
      ask()
        .then(resolve, (error: unknown) => reject(words(error)))
        .finally(() => {
          clearTimeout(timer);
          ended.removeEventListener("abort", stop);
        });
    });
}

/** The message of what a function that summarises gave, as JSON text. @internal */
export function answered(answer: unknown): string {
  if (typeof answer === "string") return check.json({ role: "assistant", content: answer }, "summary");
  if (!check.isObject(answer)) throw new TypeError("summarize() answered neither a text nor a message");
  return check.json({ ...answer, role: "assistant" }, "summary");
}

function words(error: unknown): string {
  const said = wordsOf(error);
  return said === "" ? "the model failed without a word" : said;
}
