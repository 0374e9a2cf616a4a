// Searching: the request, and the vectors of the query and of what is not embedded yet, if the keep has an `embed`.

import * as check from "./check.js";
import { BATCH, vectors, type EmbedOptions, type EmbedProgress, type ToEmbed } from "./embed.js";
import { ThreadkeepError, badArgument, reportUncaught } from "./errors.js";
import type { Link } from "./link.js";
import { EMBED, SEARCH, type SearchOptions } from "./options.js";
import type { SearchHit } from "./generated/search.js";

/** What a search found, the best first. */
export interface SearchHits extends Array<SearchHit> {
  /**
   * What you should know of the search, in words: that the query was longer than 256 different words, of which the first were used,
   * for one. Not enumerable, so that the list compares and prints as a list of hits.
   */
  readonly warnings: readonly string[];
}

/** So many texts get a vector in the course of a search, which waits for them. */
const EMBEDDED = 256;

/** Finds things in a keep. @internal */
export async function search(link: Link, query: string, options: SearchOptions | undefined): Promise<SearchHits> {
  const text = check.text(query, "query");
  const { vectors: wanted, ...rest } = check.options(options, "options", SEARCH) as SearchOptions;
  // Written down at once, so that what the caller does to its objects later changes nothing.
  const how = JSON.parse(check.toJson(rest as Record<string, unknown>)) as Record<string, unknown>;
  const vector = wanted === false ? undefined : await vectorOf(link, text, rest.wait !== false);
  const found = await link.callWith<{ hits: SearchHit[]; warnings: string[] }>("search", "search", { query: text, options: { ...how, ...vector } });
  return hitsOf(found.hits, found.warnings);
}

/** Hits as they are handed out. @internal */
export function hitsOf(hits: SearchHit[], warnings: readonly string[]): SearchHits {
  return Object.defineProperty(hits, "warnings", { value: warnings }) as SearchHits;
}

/** The query as a vector; `undefined` without an `embed`. If `embed` fails, its error is reported, and the search goes by words. */
async function vectorOf(link: Link, query: string, wait: boolean): Promise<object | undefined> {
  const { embed, embedModel: model = "", embedTimeoutMs, onEmbedError = reportUncaught } = link.embedding;
  void link.engine;
  if (embed === undefined) return undefined;
  try {
    if (wait) await embedMissing(link, { limit: EMBEDDED });
    const [vector] = await vectors(embed, [query], embedTimeoutMs);
    return { vector, model };
  } catch (error) {
    // If the keep was closed meanwhile, or the module is broken, the search itself fails.
    if (error instanceof ThreadkeepError && !link.closed) {
      try {
        onEmbedError(error);
      } catch (thrown) {
        reportUncaught(thrown);
      }
    }
    return undefined;
  }
}

/** Makes vectors of texts that have none. @internal */
export async function embedMissing(link: Link, options: EmbedOptions | undefined): Promise<EmbedProgress> {
  const { limit = Infinity, onProgress, signal } = check.options(options, "options", EMBED) as EmbedOptions;
  const { embed, embedModel: model = "", embedTimeoutMs } = link.embedding;
  void link.engine;
  if (embed === undefined) throw badArgument("options.embed", "was not given when this keep was opened");
  const progress: EmbedProgress = { embedded: 0, left: 0 };
  for (;;) {
    if (signal?.aborted === true) throw new ThreadkeepError("cancelled", "making vectors was cancelled", { ...progress });
    const most = Math.min(BATCH, limit - progress.embedded);
    const { texts, places, left } = await link.callWith<ToEmbed>("search", "toEmbed", { model, most });
    progress.left = texts.length + left;
    if (texts.length === 0) return progress;
    await link.callWith("search", "putVectors", { model, places, vectors: await vectors(embed, texts, embedTimeoutMs) });
    progress.embedded += texts.length;
    progress.left = left;
    try {
      onProgress?.({ ...progress });
    } catch (error) {
      reportUncaught(error);
    }
  }
}
