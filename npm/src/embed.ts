// Vectors: the user's callback makes them of texts, here they become signed bytes, the engine keeps them and ranks by them.

import { ThreadkeepError, wordsOf } from "./errors.js";

/**
 * Makes vectors of texts, one for each, all of the same length (16,384 numbers at most): a model in the page, or a service.
 * Their lengths do not count, only their directions. Texts come with at most 8,000 bytes. `signal` ends when nobody waits any longer:
 * hand it on to whatever sends a request.
 */
export type Embed = (texts: string[], options: { signal: AbortSignal }) => Promise<readonly (Float32Array | readonly number[])[]>;

/** How far making vectors is. */
export interface EmbedProgress {
  /** Texts that got a vector in this call. */
  embedded: number;
  /** Texts that have none yet. */
  left: number;
}

/** How vectors are made of what has none. */
export interface EmbedOptions {
  /** At most so many texts; all without it. */
  limit?: number;
  /** Called after each batch. */
  onProgress?: (progress: EmbedProgress) => void;
  /** Ends it after the batch that is under way; what was stored until then stays. */
  signal?: AbortSignal;
}

/** What the engine says of texts without a vector. @internal */
export interface ToEmbed {
  texts: string[];
  places: [string, number, number][];
  left: number;
}

/** So many texts are given to the callback at once. @internal */
export const BATCH = 64;

const LONGEST = 16_384;

/** How long the callback may take for one batch where nobody says, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** Asks the callback for vectors, as signed bytes. @internal */
export async function vectors(embed: Embed, texts: string[], timeoutMs = TIMEOUT_MS): Promise<number[][]> {
  const ended = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = failed(`gave no vectors within ${timeoutMs} ms (\`embedTimeoutMs\`)`);
      reject(error);
      ended.abort(error);
    }, timeoutMs);
  });
  let made: readonly (Float32Array | readonly number[])[];
  try {
    made = await Promise.race([embed([...texts], { signal: ended.signal }), late]);
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason;
    throw failed(`failed: ${wordsOf(error)}`, error);
  } finally {
    clearTimeout(timer);
  }
  if (!Array.isArray(made) || made.length !== texts.length) throw failed(`must give a list of ${texts.length} vectors`);
  return made.map((vector, index) => bytes(vector, index));
}

/** Each vector with a scale of its own: its greatest number becomes 127. */
function bytes(vector: unknown, index: number): number[] {
  const list = ArrayBuffer.isView(vector) || Array.isArray(vector) ? (vector as ArrayLike<number>) : [];
  if (list.length === 0 || list.length > LONGEST) throw failed(`must give vectors of 1 to ${LONGEST} numbers; vector ${index} is none`);
  let greatest = 0;
  for (let at = 0; at < list.length; at += 1) {
    const number = list[at];
    if (typeof number !== "number" || !Number.isFinite(number)) throw failed(`must give numbers; number ${at} of vector ${index} is none`);
    greatest = Math.max(greatest, Math.abs(number));
  }
  // Of a vector of zeros nothing can be said: it is near nothing.
  const scale = greatest === 0 ? 0 : 127 / greatest;
  return Array.from(list, (number) => Math.round(number * scale));
}

function failed(why: string, cause?: unknown): ThreadkeepError {
  return new ThreadkeepError("embedding-failed", `the callback \`embed\` ${why}`, {}, cause);
}
