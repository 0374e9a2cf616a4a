// The SDK's store on a keep: the entries as they are, in records, and what they say as a transcript, so that search, budgets,
// compaction and the page have it.

import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from "@anthropic-ai/claude-agent-sdk";
import * as check from "../../check.js";
import { badArgument, reportUncaught } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import { checked, NAMESPACE } from "./keys.js";
import { Mirror, type SessionTranscript } from "./mirror.js";
import { Streams, type FoldSummary } from "./streams.js";

/** Options of {@link sessionStore}. */
export interface SessionStoreOptions {
  /** `auto`, the default: what is appended comes into the transcript by itself, a moment later. `manual`: when {@link KeepSessionStore.transcript} is called. */
  mirror?: "auto" | "manual";
  /** How many milliseconds after the last append; 1,000 without it. */
  mirrorDelay?: number;
  /** Told when that failed; such errors are reported as uncaught without it. The entries are stored all the same. */
  onMirrorError?: (error: unknown) => void;
}

const OPTIONS = {
  mirror: (value: unknown, argument: string) => check.oneOf(value, ["auto", "manual"] as const, argument),
  mirrorDelay: check.millis,
  onMirrorError: check.callback,
} as const;

/**
 * A keep as the `sessionStore` of the Claude Agent SDK: sessions are resumed from it on any machine that reaches its storage, and can be searched,
 * read, budgeted and compacted as transcripts.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const store = sessionStore(keep);
 * for await (const message of query({ prompt, options: { sessionStore: store } })) console.log(message);
 * const hits = await keep.search("flaky test", { source: "claude-code" });
 * ```
 */
export function sessionStore(keep: Threadkeep, options?: SessionStoreOptions): KeepSessionStore {
  return new KeepSessionStore(keep, options);
}

/** What {@link sessionStore} gives. */
export class KeepSessionStore implements Required<SessionStore> {
  readonly #streams: Streams;
  readonly #mirror: Mirror;
  readonly #auto: boolean;

  /** @internal */
  constructor(keep: Threadkeep, options?: SessionStoreOptions) {
    const { mirror, mirrorDelay = 1000, onMirrorError = reportUncaught } = check.options(options, "options", OPTIONS) as SessionStoreOptions;
    this.#streams = new Streams(keep.records(NAMESPACE), foldSummary);
    this.#mirror = new Mirror(keep, this.#streams, mirrorDelay, onMirrorError);
    this.#auto = mirror !== "manual";
  }

  /**
   * Stores entries behind those that are there, all of them or none; one whose `uuid` is there already is not stored again.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const own = { ...checked(key) };
    if (!Array.isArray(entries)) throw badArgument("entries", "must be a list");
    if (entries.length === 0) return;
    const stored = await this.#streams.append(own, entries);
    if (stored && this.#auto) this.#mirror.later(own);
  }

  /** The entries of a transcript as they were appended, or `null` where there is none. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const lines = await this.#streams.lines(checked(key));
    return lines === null ? null : lines.map((line) => JSON.parse(line) as SessionStoreEntry);
  }

  /** The sessions of a project, each with when it was last written, in milliseconds since 1970. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return (await this.#streams.summaries(projectKey)).map(({ sessionId, mtime }) => ({ sessionId, mtime }));
  }

  /** The summaries of a project's sessions, as the SDK folds them. */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    return this.#streams.summaries(projectKey);
  }

  /** Deletes a session with its subagents and its transcript in the keep; with a `subpath`, that subagent's alone. */
  async delete(key: SessionKey): Promise<void> {
    const own = checked(key);
    await this.#mirror.delete(own, () => this.#streams.delete(own));
  }

  /** The subpaths below a session: its subagents' transcripts. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const { projectKey, sessionId } = checked(key);
    return this.#streams.subpaths({ projectKey, sessionId });
  }

  /**
   * Brings a session with its subagents into its transcript, as far as it is not there yet. Branches (rewinds, subagents) are branches of it.
   *
   * @returns the transcript and the thread of the main conversation, for `keep.thread(thread)`;
   * `null` where there is no such session, or nothing was said in it
   * @throws ThreadkeepError `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const { thread } = await store.transcript({ projectKey, sessionId });
   * const { payload } = await keep.thread(thread).context({ provider: "anthropic", budget: { maxTokens: 20_000 } });
   * ```
   */
  async transcript(key: { projectKey: string; sessionId: string }): Promise<SessionTranscript | null> {
    const { projectKey, sessionId } = checked(key);
    return this.#mirror.bring({ projectKey, sessionId });
  }

  /** Waits until all that was appended here is in its transcript. Call it before the keep is closed. */
  async flush(): Promise<void> {
    await this.#mirror.flush();
  }
}

/** The SDK's own, loaded when a session is first written. */
async function foldSummary(): Promise<FoldSummary> {
  return (await import("@anthropic-ai/claude-agent-sdk")).foldSessionSummary;
}
