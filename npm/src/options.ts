// Options of the methods: their types, and what is checked of them.

import * as check from "./check.js";
import { policy } from "./compaction.js";
import type { Embed } from "./embed.js";
import { badArgument, type ThreadkeepError } from "./errors.js";
import type { ContentInput } from "./types/message.js";
import type { CompactionPolicy } from "./types/compaction.js";
import type { ImportFormat } from "./types/archive.js";
import type { Encoding } from "./types/context.js";
import type { SearchKind } from "./types/search.js";
import type { StoreAdapter } from "./types/store.js";

/** How to open. */
export interface OpenOptions {
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
   */
  storage?: "indexeddb" | "file" | "memory" | StoreAdapter;
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

/** An inbound message. */
export interface InboundMessage {
  /** Its id from outside, at most 512 bytes. Without one, an id is minted. One that was seen before is not stored again. */
  messageId?: string;
  /** The message that it answers: a node, or an alias. Unknown or left out, it begins a transcript of its own. */
  replyTo?: string;
  /** Its sender. */
  from?: string;
  /** Its number in the inbox, a whole number from 0 to 2^53 - 1. */
  number?: number;
  /** What it says. */
  content: ContentInput;
  /** The system prompt, should it begin a transcript. It is stored at the root. */
  systemPrompt?: string;
}

/** Where an append begins; at the head without either. */
export interface AppendOptions {
  /** The node or alias after which the messages come, in the head's transcript: a branch, if that is not the head's node. */
  after?: string;
  /** The node at which the head must point; otherwise nothing happens, and the error is `conflict`. */
  expect?: string;
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

/** Which of the newest messages to give, tool calls with their results. Zero means zero. */
export interface RecentOptions {
  /** At most this many messages; 50 when `maxTokens` is left out too. */
  maxMessages?: number;
  /** At most this many tokens, estimated at four characters a token and four more a message. */
  maxTokens?: number;
  /**
   * `true`: the leading system messages come first, inside the limits. `false`: system messages are left out. Left out:
   * system messages are messages like others.
   */
  includeSystem?: boolean;
  /**
   * `true`: the summary of the newest checkpoint stands in for what it covers, as in prompts. Otherwise all messages are the
   * originals, compacted or not.
   */
  includeSummary?: boolean;
}

/** What a search looks at. What is left out does not limit. */
export interface SearchOptions {
  /** At most this many hits, 1000 at most; 10 without it, 0 gives none. */
  limit?: number;
  /** Only in this transcript. */
  transcript?: string;
  /** Only on the branch that ends at this node or alias: its messages, and the summaries that it can use. */
  branch?: string;
  /** Only this kind of thing, or one of these: `message`, `summary`, `episode`, `fact`. */
  kind?: SearchKind | readonly SearchKind[];
  /** Only messages of this role, or of one of these. */
  role?: string | readonly string[];
  /** Only in transcripts from this kind of archive, such as `chatgpt`. */
  source?: string;
  /** From this time on: a date, or milliseconds since 1970; to the second. */
  since?: number | Date;
  /** Before this time: a date, or milliseconds since 1970; to the second. */
  until?: number | Date;
  /** Only calls of the tool of this name, and their results. */
  tool?: string;
  /** `false`: by words alone, though there is an `embed`. */
  vectors?: boolean;
  /** `false`: what is not indexed yet is not waited for; one batch of it is indexed. See {@link SearchIndex.progress}. */
  wait?: boolean;
}

/** What a search in one chain looks at. */
export type ChainSearchOptions = Omit<SearchOptions, "transcript" | "branch">;

const FORMATS: readonly ImportFormat[] = [
  "ai-studio",
  "chatbot-ui",
  "chatgpt",
  "claude-ai",
  "claude-code",
  "codex",
  "gemini-cli",
  "gemini-takeout",
  "librechat",
  "memory",
  "oasst",
  "open-webui",
  "openai-messages",
  "pi",
  "sharegpt",
  "sillytavern",
  "threadkeep",
];

const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base", "estimate"];

export const OPEN = {
  name: check.id,
  storage: storage,
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
  since: time,
  until: time,
  tool: check.text,
  vectors: check.flag,
  wait: check.flag,
} as const;
export const SEARCH = { ...SEARCH_CHAIN, transcript: check.id, branch: check.id } as const;
export const EMBED = { limit: check.count, onProgress: check.callback, signal: check.signal } as const;
export const IMPORT = {
  format: (value: unknown, argument: string) => check.oneOf(value, FORMATS, argument),
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
} as const;
export const EXPORT = {
  format: (value: unknown, argument: string) => check.oneOf(value, Object.keys(WRITTEN) as (keyof typeof WRITTEN)[], argument),
  transcript: check.id,
  branches: check.flag,
} as const;

function names(value: unknown, argument: string): unknown {
  if (!Array.isArray(value)) return check.text(value, argument);
  return value.map((name, index) => check.text(name, `${argument}[${index}]`));
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
  if (value === "indexeddb" || value === "file" || value === "memory") return value;
  if (!check.isObject(value)) throw badArgument(argument, 'must be "indexeddb", "file", "memory" or a StoreAdapter');
  for (const name of ["get", "scan", "commit", "close"])
    if (typeof value[name] !== "function") throw badArgument(`${argument}.${name}`, "must be a function of the adapter");
  return value;
}
