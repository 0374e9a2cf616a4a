// The search index of a keep: how far it is, and its vectors. Searching itself is `Threadkeep.search` and `Thread.search`.

import type { EmbedOptions, EmbedProgress } from "../embed.js";
import type { Link } from "../link.js";
import { embedMissing } from "../search.js";
import type { IndexProgress } from "../generated/search.js";

/** The search index: `keep.searchIndex`. */
export class SearchIndex {
  readonly #link: Link;

  /** @internal */
  constructor(link: Link) {
    this.#link = link;
  }

  /** How far the search index is. Indexes nothing. */
  async progress(): Promise<IndexProgress> {
    return this.#link.callWith("search", "indexProgress", {});
  }

  /**
   * Makes vectors of messages and summaries that have none, the newest first. A search makes some itself. Call this after an
   * import, or if `embed` is slow, with a limit and in quiet moments. No text gets a second vector, across tabs and restarts.
   *
   * @throws ThreadkeepError `bad-request` without an `embed` or for vectors of another length than before;
   * `embedding-failed`, `cancelled`; the storage's codes
   *
   * @example
   * ```ts
   * const { left } = await keep.searchIndex.embedMissing({ limit: 1000, onProgress: ({ left }) => (label.textContent = `${left} to go`) });
   * ```
   */
  async embedMissing(options?: EmbedOptions): Promise<EmbedProgress> {
    return embedMissing(this.#link, options);
  }
}
