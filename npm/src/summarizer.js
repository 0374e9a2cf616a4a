// Chrome's built-in Summarizer, asked for the points of a conversation. The one file that knows it: npm's `chromeSummarizer` is
// made of it, and the page loads it as it is, which is why it is plain JavaScript. Nothing leaves the machine.

/**
 * What of the documented interface is used.
 *
 * @typedef {{ context?: string, signal?: AbortSignal }} With
 * @typedef {{ inputQuota: number, measureInputUsage(input: string, options?: With): Promise<number>,
 *   summarize(input: string, options?: With): Promise<string>, destroy?(): void }} Model
 * @typedef {{ addEventListener(type: "downloadprogress", listener: (event: { loaded: number }) => void): void }} Monitor
 * @typedef {{ availability(options?: object): Promise<string>, create(options?: object): Promise<Model> }} Api
 */

/**
 * A summariser that was made. `tokens` is how many of our tokens it takes at once, where the browser says.
 *
 * @typedef {{ tokens: number | undefined, summarize(text: string, signal?: AbortSignal): Promise<string>, destroy(): void }} Opened
 */

const CORE = { type: "key-points", format: "plain-text", length: "long" };
/** What is said with each text. */
const CONTEXT = "The older part of a conversation, which will go on. Keep names, numbers, paths, decisions, and what the user asked for.";
/** Texts below this are not cut further, in characters. */
const SHORTEST = 200;

/** @returns {Api | undefined} */
function api() {
  return /** @type {{ Summarizer?: Api }} */ (globalThis).Summarizer;
}

/**
 * `available`, `downloadable` or `downloading`; an empty text where the browser has none.
 *
 * @param {object} [languages] of the texts, as the browser's own options
 * @returns {Promise<string>}
 */
export async function availability(languages) {
  const found = await api()?.availability({ ...CORE, ...languages });
  return found === undefined || found === "unavailable" ? "" : found;
}

/**
 * Makes one; rejects with the browser's reason where it does not let it be made.
 *
 * @param {((loaded: number) => void) | undefined} [tell] hears how much of it is loaded, from 0 to 1, where it must be loaded first
 * @param {object} [given] options of the browser's own
 * @returns {Promise<Opened | undefined>} `undefined` where the browser has none
 */
export async function open(tell, given) {
  /** @param {Monitor} model */
  const monitor = (model) => model.addEventListener("downloadprogress", ({ loaded }) => tell?.(loaded));
  const model = await api()?.create({ ...CORE, sharedContext: CONTEXT, monitor, ...given });
  if (model === undefined) return undefined;
  return {
    // Its tokens are not ours, and it is spared our instructions: what does not fit is cut when it is measured.
    tokens: Number.isFinite(model.inputQuota) ? Math.max(1_000, Math.floor(model.inputQuota * 0.8) + 500) : undefined,
    summarize: async (text, signal) => {
      const options = signal === undefined ? { context: CONTEXT } : { context: CONTEXT, signal };
      const points = [];
      // The numbers before messages are for models that answer with them.
      for (const piece of await cut(model, text.replace(/^\[c?\d+\] /gm, ""), options)) points.push(...lines(await model.summarize(piece, options)));
      return JSON.stringify({ episodic_summary: points.slice(0, 3).join(" "), statements: points });
    },
    destroy: () => model.destroy?.(),
  };
}

/**
 * The text in pieces that the model takes, each as it measures them.
 *
 * @param {Model} model
 * @param {string} text
 * @param {With} options
 * @returns {Promise<string[]>}
 */
async function cut(model, text, options) {
  if (text.length <= SHORTEST || (await model.measureInputUsage(text, options)) <= model.inputQuota) return [text];
  const half = text.length >> 1;
  // At a line; one that is longer than half of it all is cut between two words, or else between two characters.
  const place = text.lastIndexOf("\n", half) + 1 || text.lastIndexOf(" ", half) + 1;
  const at = place > 0 ? place : half + (/[\uDC00-\uDFFF]/.test(text.charAt(half)) ? 1 : 0);
  return [...(await cut(model, text.slice(0, at), options)), ...(await cut(model, text.slice(at), options))];
}

/**
 * The points of a summary, without what lists are marked with.
 *
 * @param {string} summary
 */
function lines(summary) {
  return summary
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim())
    .filter((line) => line !== "");
}
