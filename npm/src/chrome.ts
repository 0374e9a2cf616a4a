// The browser's own summariser, where it has one (Chrome's built-in Summarizer API), as a function that compactions take.

import * as check from "./check.js";
import { ThreadkeepError } from "./errors.js";
import type { Summarize, SummaryRequest } from "./types/compaction.js";

/** What of the documented interface is used. */
interface Summarizer {
  readonly inputQuota: number;
  measureInputUsage(input: string, options?: { context?: string; signal?: AbortSignal }): Promise<number>;
  summarize(input: string, options?: { context?: string; signal?: AbortSignal }): Promise<string>;
  destroy(): void;
}

interface Monitor {
  addEventListener(type: "downloadprogress", listener: (event: { loaded: number }) => void): void;
}

interface SummarizerStatic {
  availability(options?: object): Promise<"unavailable" | "downloadable" | "downloading" | "available">;
  create(options?: object): Promise<Summarizer>;
}

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
/** What is said with each text. */
const CONTEXT = "The older part of a conversation, which will go on. Keep names, numbers, paths, decisions, and what the user asked for.";
/** Texts below this are not cut further, in characters. */
const SHORTEST = 200;

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
 * await keep.compact("main", { summarize });
 * summarize?.destroy();
 * ```
 */
export async function chromeSummarizer(options?: ChromeSummarizerOptions): Promise<ChromeSummarizer | undefined> {
  const { download, onProgress, signal, ...given } = check.options(options, "options", OPTIONS) as ChromeSummarizerOptions;
  const api = (globalThis as { Summarizer?: SummarizerStatic }).Summarizer;
  if (api === undefined) return undefined;
  const { sharedContext = CONTEXT, ...languages } = given;
  const core = { type: "key-points", format: "plain-text", length: "long", ...languages };
  const monitor = (model: Monitor): void =>
    model.addEventListener("downloadprogress", ({ loaded }) => onProgress?.(loaded));
  let model: Summarizer;
  try {
    const availability = await api.availability(core);
    if (availability === "unavailable" || (availability !== "available" && download !== true)) return undefined;
    model = await api.create({ ...core, sharedContext, monitor, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "cancelled", {}, error);
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new ThreadkeepError("summariser-failed", `the browser's summariser cannot be made (${why})`, {}, error);
  }
  const summarize = async ({ text, signal }: SummaryRequest): Promise<string> => {
    const points: string[] = [];
    // The numbers before messages are for models that answer with them.
    for (const piece of await pieces(model, text.replace(/^\[c?\d+\] /gm, ""), signal))
      points.push(...lines(await model.summarize(piece, { context: CONTEXT, signal })));
    return JSON.stringify({ episodic_summary: points.slice(0, 3).join(" "), statements: points });
  };
  return Object.assign(summarize, {
    summarizer: "chrome",
    // Its tokens are not ours, and it is spared our instructions: what does not fit is cut when it is measured.
    ...(Number.isFinite(model.inputQuota) ? { inputTokens: Math.max(1_000, Math.floor(model.inputQuota * 0.8) + 500) } : {}),
    destroy: () => model.destroy(),
  });
}

/** The text in pieces that the browser takes, each as it measures them. */
async function pieces(model: Summarizer, text: string, signal: AbortSignal): Promise<string[]> {
  if (text.length <= SHORTEST || (await model.measureInputUsage(text, { context: CONTEXT, signal })) <= model.inputQuota) return [text];
  const half = text.length >> 1;
  const line = text.lastIndexOf("\n", half) + 1;
  // A line that is longer than half of it all is cut between two words, or else between two characters.
  const word = line > 0 ? line : text.lastIndexOf(" ", half) + 1;
  const cut = word > 0 ? word : half + (/[\uDC00-\uDFFF]/.test(text.charAt(half)) ? 1 : 0);
  return [...(await pieces(model, text.slice(0, cut), signal)), ...(await pieces(model, text.slice(cut), signal))];
}

/** The points of a summary, without what lists are marked with. */
function lines(summary: string): string[] {
  return summary.split("\n").map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim()).filter((line) => line !== "");
}
