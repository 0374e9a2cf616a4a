// Options of the methods: their types, and what is checked of them.

import * as check from "./check.js";
import { policy } from "./compaction.js";
import type { Embed } from "./embed.js";
import { badArgument, type ThreadkeepError } from "./errors.js";
import type { ExportRedaction, ImportFormat, ImportProgress, PersonalData } from "./generated/archive.js";
import type { CompactionPolicy } from "./generated/compaction.js";
import type { ContextOptions, Encoding, ModelSettings } from "./generated/context.js";
import type { AgentCompaction } from "./generated/agent.js";
import type { JournalOptions } from "./generated/journal.js";
import type { Provider } from "./generated/provider.js";
import type { SearchParams } from "./generated/search.js";
import type { MaybePromise, StoreAdapter } from "./stores/adapter.js";

/**
 * Settings of prompts and compactions, as {@link Settings.set} stores them: the options of {@link Chain.context} but those
 * that belong to one call, and when and how histories are compacted.
 */
export interface ContextSettings extends Omit<ContextOptions<Provider>, "pins" | "epoch" | "live" | "record" | "encoding"> {
  /** When and how histories are compacted; `false` for only when it is asked for. */
  compaction?: AgentCompaction | false;
  /** Who summarises if a call brings no function: the built-in rules, or the agent's own model, which it is without a word. */
  summarizer?: "rules" | "model";
  /** How long an agent's requests are kept for {@link Requests}: as long as their thread without a word; `false` for not at all. */
  journal?: JournalOptions | false;
  /** Models that the built-in table does not know, or knows otherwise. Budgets, agents and compactions go by them. */
  models?: readonly ModelSettings[];
  /** After how many seconds without a new message a thread expires, from 1; `false` for never. {@link Settings.expire} removes what expired. */
  ttl?: number | false;
}

/** How to import. */
export interface ImportOptions {
  /** The format; without it, it is found from the content. */
  format?: ImportFormat;
  /** Called while the import runs. What it throws is reported as an uncaught error and does not stop the import. */
  onProgress?: (progress: ImportProgress) => void;
  /**
   * Ends the import when it is aborted: it rejects with `cancelled`, and `details.report` says what was done. What was stored
   * until then stays, each conversation whole; importing the same again goes on from there.
   */
  signal?: AbortSignal;
}

/**
 * A format that is written: our own; OpenAI chat messages as JSON Lines; ShareGPT, a JSON array; Markdown to read; the files of
 * an agent's memory (raw traces, episodes, facts, working context), which {@link Export.files} gives one by one.
 */
export type ExportFormat = "markdown" | "memory" | "openai-messages" | "sharegpt" | "threadkeep";

/** What to export, and how. */
export interface ExportOptions {
  /** The format, `threadkeep` without it: the only one that restores everything exactly. */
  format?: ExportFormat;
  /** One transcript; all of them, with the threads, without it. */
  transcript?: string;
  /**
   * All branches, for `openai-messages`, `sharegpt` and `markdown`; without it the chosen branch of each transcript. Our own
   * format always has all of them, `memory` one.
   */
  branches?: boolean;
  /**
   * For others: what looks like a secret is masked, letter by letter. In our own format what is remembered, settings and requests are left out,
   * too. An object says what else is looked for, and which finds of {@link Export.secrets} stay. `memory` has no such form.
   */
  redact?: boolean | ExportRedaction;
}

/** Where data is stored. */
export interface StorageOptions {
  /**
   * The name of the database, `threadkeep` without it. Instances of one name share their data and hear of each other's
   * changes. With a {@link StoreAdapter} it only says who hears of whose changes; with memory it says nothing.
   */
  name?: string;
  /**
   * Where the data lies. `indexeddb`: in the browser, durable. `file`: under Node, Deno and Bun, durable, in the folder `.threadkeep/<name>` of
   * the working directory, or `<name>` of the folder that the environment variable THREADKEEP_HOME names; one process at a time. `memory`:
   * until the instance is closed. An adapter: where you say. Without it: `indexeddb` where the platform has one, else `file` where there are
   * files, else `memory`; {@link Threadkeep.storage} tells which it is. A place that cannot be opened is an error, never quietly replaced by memory.
   *
   * Several keeps may use one adapter object at once: the first opens it, the last one that is closed closes it. A function gets the scope and
   * gives the adapter that stores it, so scopes can be spread over several servers.
   */
  storage?: "indexeddb" | "file" | "memory" | StoreAdapter | ((scope: string | undefined) => MaybePromise<StoreAdapter>);
}

/** How to open. */
export interface OpenOptions extends StorageOptions {
  /**
   * The only part of the storage that the keep sees, such as a user's id: a name of 1 to 128 bytes. All that the keep stores belongs to the
   * scope, and nothing of another scope reaches it. Without it, the keep sees the data that belongs to no scope.
   */
  scope?: string;
  /**
   * How tokens are counted where a call does not say: `o200k_base` (the default), `cl100k_base`, or `estimate` at four
   * characters a token. A vocabulary is loaded when something is first counted by it.
   */
  encoding?: Encoding;
  /** How many bytes of transcripts stay in memory, about; 0 keeps none. What was read and counted of them for prompts may take half as many more. */
  cacheBytes?: number;
  /**
   * Makes vectors of texts, so that a search also finds what means the same in other words. Vectors are stored beside the
   * index, as one byte a number. A search makes some of what is missing, see {@link SearchIndex.embedMissing} for the rest.
   */
  embed?: Embed;
  /** The name of the model behind `embed`. Vectors of another name are not used, and are made anew. */
  embedModel?: string;
  /** How long `embed` may take for one batch of at most 64 texts, in milliseconds, at most 2^31 - 1; 60,000 without it. A search then goes by words alone. */
  embedTimeoutMs?: number;
  /**
   * Called with the `embedding-failed` (or the storage's) error when a search could not use `embed`, and went by words alone;
   * without it such errors are reported as uncaught.
   */
  onEmbedError?: (error: ThreadkeepError) => void;
  /** When histories are to be compacted, where a call does not say. */
  compaction?: CompactionPolicy;
}

/** How a thread is forked. */
export interface ForkOptions {
  /** How many of the messages the fork keeps, from 0; all of them without it. */
  atIndex?: number;
}

/** A stretch of a thread's messages, by their indices. */
export interface MessageRange {
  /** The first index; 0 without it. */
  start?: number;
  /** The index after the last; without it, to the end. */
  end?: number;
}

/** What a search looks at. What is left out does not limit. */
export interface SearchOptions extends SearchParams {
  /** `false`: by words alone, though there is an `embed`. */
  vectors?: boolean;
}

/** What a search in one chain looks at. */
export type ChainSearchOptions = Omit<SearchOptions, "transcript" | "branch">;

const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base", "estimate"];

export const STORAGE = { name: check.id, storage } as const;
export const OPEN = {
  ...STORAGE,
  scope: check.scope,
  encoding: (value: unknown, argument: string) => check.oneOf(value, ENCODINGS, argument),
  cacheBytes: bytes,
  embed: check.callback,
  embedModel: check.text,
  embedTimeoutMs: check.millis,
  onEmbedError: check.callback,
  compaction: (value: unknown, argument: string) => policy(value, argument),
} as const;
export const INBOUND = {
  messageId: check.id,
  replyTo: check.id,
  from: check.text,
  number: (value: unknown, argument: string) => check.count(value, argument, Number.MAX_SAFE_INTEGER),
  content: check.content,
  systemPrompt: check.text,
} as const;
export const APPEND = { after: check.id, expect: check.id } as const;
export const FORK = { atIndex: check.count } as const;
export const RANGE = { start: check.count, end: check.count } as const;
export const RECENT = { maxMessages: check.count, maxTokens: check.count, includeSystem: check.flag, includeSummary: check.flag } as const;
export const SEARCH_CHAIN = {
  limit: (value: unknown, argument: string) => check.count(value, argument, 1000),
  kind: names,
  role: names,
  source: check.text,
  agent: check.text,
  since: time,
  until: time,
  tool: check.text,
  vectors: check.flag,
  wait: check.flag,
} as const;
/** No agent has this name: whoever asks for it sees what all share, and nothing of any agent's own. @internal */
export const NOBODY = "";
export const SEARCH = { ...SEARCH_CHAIN, transcript: check.id, branch: check.id } as const;
export const EMBED = { limit: check.count, onProgress: check.callback, signal: check.signal } as const;
export const IMPORT = {
  // The engine knows the formats.
  format: check.text,
  onProgress: check.callback,
  signal: check.signal,
} as const;
/** The formats that are written: the file's name and its type. */
export const WRITTEN = {
  threadkeep: ["threadkeep.jsonl", "application/jsonl"],
  "openai-messages": ["messages.jsonl", "application/jsonl"],
  sharegpt: ["sharegpt.json", "application/json"],
  markdown: ["conversations.md", "text/markdown"],
  memory: ["memory.jsonl", "application/jsonl"],
} as const satisfies Record<ExportFormat, readonly [file: string, type: string]>;
const PERSONAL = ["emails", "phones", "cards"] as const satisfies PersonalData[];
const REDACT = {
  also: list((value, argument) => check.oneOf(value, PERSONAL, argument)),
  leave: list((value, argument) => check.count(value, argument)),
} as const;
export const EXPORT = {
  format: (value: unknown, argument: string) => check.oneOf(value, Object.keys(WRITTEN) as (keyof typeof WRITTEN)[], argument),
  transcript: check.id,
  branches: check.flag,
  redact: (value: unknown, argument: string) => (typeof value === "boolean" ? value : check.options(value, argument, REDACT)),
} as const;

function names(value: unknown, argument: string): unknown {
  return Array.isArray(value) ? list(check.text)(value, argument) : check.text(value, argument);
}

/** A list, of which each item is checked. */
function list<T>(each: (value: unknown, argument: string) => T): (value: unknown, argument: string) => T[] {
  return (value, argument) => {
    if (!Array.isArray(value)) throw badArgument(argument, "must be an array");
    return value.map((item, index) => each(item, `${argument}[${index}]`));
  };
}

function time(value: unknown, argument: string): number {
  const given = value instanceof Date ? value.getTime() : value;
  if (typeof given !== "number" || !Number.isSafeInteger(given)) throw badArgument(argument, "must be a date or a whole number of milliseconds since 1970");
  return given;
}

function bytes(value: unknown, argument: string): number {
  return check.count(value, argument, Number.MAX_SAFE_INTEGER);
}

function storage(value: unknown, argument: string): unknown {
  return value === "indexeddb" || value === "file" || value === "memory" || typeof value === "function" ? value : adapterOf(value, argument);
}

/** An adapter of the caller's. */
export function adapterOf(value: unknown, argument: string): StoreAdapter {
  if (!check.isObject(value)) throw badArgument(argument, 'must be "indexeddb", "file", "memory", a StoreAdapter or a function that gives one');
  for (const name of ["get", "scan", "commit", "close"])
    if (typeof value[name] !== "function") throw badArgument(`${argument}.${name}`, "must be a function of the adapter");
  return value as unknown as StoreAdapter;
}
