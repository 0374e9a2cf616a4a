// The browser's own models, where it has some (Chrome's built-in AI): its summariser as a function that compactions take, and its
// language model as one that agents take.

import * as check from "./check.js";
import { ThreadkeepError } from "./errors.js";
import * as prompt from "./languagemodel.js";
import { availability, open } from "./summarizer.js";
import type { Summarize, SummaryRequest } from "./compaction.js";
import type { AgentModel } from "./model/model.js";

/** How the browser's summariser is made. */
export interface ChromeSummarizerOptions {
  /** What the conversations are about, in a sentence. */
  sharedContext?: string;
  /** The languages of the conversations, such as `["en"]`. */
  expectedInputLanguages?: readonly string[];
  /** The language of the summaries. */
  outputLanguage?: string;
  /**
   * `true`: where the browser would have to download its model first (gigabytes), it does; it asks for a click or a key shortly
   * before. Otherwise there is no summariser then.
   */
  download?: boolean;
  /** How much of the model is downloaded, from 0 to 1. */
  onProgress?: (loaded: number) => void;
  /** Ends the download. */
  signal?: AbortSignal;
}

/** The browser's summariser; let go of it when it is no longer needed. */
export interface ChromeSummarizer extends Summarize {
  /** Lets go of the browser's model. */
  destroy(): void;
}

const OPTIONS = {
  sharedContext: check.text,
  expectedInputLanguages: (value: unknown) => value,
  outputLanguage: check.text,
  download: check.flag,
  onProgress: check.callback,
  signal: check.signal,
};

/**
 * The browser's own summariser for {@link CompactOptions.summarize}; `undefined` where there is none (other browsers, workers,
 * Node), so that what it gives can be handed on as it is. Nothing leaves the machine. It makes statements and an episode, but
 * no facts.
 *
 * @throws ThreadkeepError `bad-request`; `summariser-failed` where the browser has one and does not let it be made; `cancelled`
 *
 * @example
 * ```ts
 * const summarize = await chromeSummarizer({ outputLanguage: "en" });
 * await keep.thread("main").compact({ summarize });
 * summarize?.destroy();
 * ```
 */
export async function chromeSummarizer(options?: ChromeSummarizerOptions): Promise<ChromeSummarizer | undefined> {
  const { download, onProgress, signal, ...given } = check.options(options, "options", OPTIONS) as ChromeSummarizerOptions;
  const { sharedContext, ...languages } = given;
  let model: Awaited<ReturnType<typeof open>>;
  try {
    const found = await availability(languages);
    if (found === "" || (found !== "available" && download !== true)) return undefined;
    const chosen = { ...languages, ...(sharedContext === undefined ? {} : { sharedContext }), ...(signal === undefined ? {} : { signal }) };
    model = await open(onProgress, chosen);
  } catch (error) {
    if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled", {}, error);
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new ThreadkeepError("summariser-failed", `the browser's summariser cannot be made (${why})`, {}, error);
  }
  if (model === undefined) return undefined;
  const { tokens, summarize, destroy } = model;
  return Object.assign(({ text, signal }: SummaryRequest) => summarize(text, signal), {
    summarizer: "chrome",
    ...(tokens === undefined ? {} : { inputTokens: tokens }),
    destroy,
  });
}

/** How the browser's language model is opened. */
export interface ChromeModelOptions {
  /** The languages of the conversations, such as `["en"]`. */
  languages?: readonly string[];
  /** As for {@link ChromeSummarizerOptions.download}. */
  download?: boolean;
  /** How much of the model is downloaded, from 0 to 1. */
  onProgress?: (loaded: number) => void;
  /** Ends the download. */
  signal?: AbortSignal;
}

/** The browser's language model; let go of it when it is no longer needed. */
export interface ChromeModel extends AgentModel<"openai-chat"> {
  /** Lets go of the browser's model. */
  destroy(): void;
}

const MODEL_OPTIONS = {
  languages: (value: unknown) => value,
  download: check.flag,
  onProgress: check.callback,
  signal: check.signal,
};

/**
 * The browser's own language model for {@link createAgent}; `undefined` where there is none (other browsers, workers, Node).
 * Nothing leaves the machine. It is small (some thousand tokens), so give the agent few tools: they are described to it in words.
 *
 * @throws ThreadkeepError `bad-request`; `unavailable` where the browser has one and does not let it be opened; `cancelled`
 *
 * @example
 * ```ts
 * const model = await chromeModel({ languages: ["en"], download: true });
 * if (model !== undefined) agent = createAgent({ keep, model, builtIn: [] });
 * ```
 */
export async function chromeModel(options?: ChromeModelOptions): Promise<ChromeModel | undefined> {
  const { download, onProgress, signal, languages } = check.options(options, "options", MODEL_OPTIONS) as ChromeModelOptions;
  const texts = [{ type: "text", ...(languages === undefined ? {} : { languages: [...languages] }) }];
  const expected = { expectedInputs: texts, expectedOutputs: texts };
  let model: Awaited<ReturnType<typeof prompt.open>>;
  try {
    const found = await prompt.availability(expected);
    if (found === "" || (found !== "available" && download !== true)) return undefined;
    model = await prompt.open(onProgress, signal === undefined ? expected : { ...expected, signal });
  } catch (error) {
    if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled", {}, error);
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new ThreadkeepError("unavailable", `the browser's model cannot be opened (${why})`, {}, error);
  }
  if (model === undefined) return undefined;
  const { window, ask, destroy } = model;
  // Its tokens are not ours, so that a fifth stays free.
  const tokens = (window: number) => ({
    maxContextTokens: Math.floor(window * 0.8),
    maxOutputTokens: Math.min(1_024, Math.floor(window / 5)),
    safetyMargin: Math.floor(window / 50),
  });
  const answer: AgentModel<"openai-chat"> = ({ messages, tools, signal }) => ask(messages, tools, signal);
  return Object.assign(answer, { modelName: "chrome", ...(window === undefined ? {} : { tokens: tokens(window) }), destroy });
}
