// Compactions: how they are asked for, who summarises, and what comes of them.

import type { Encoding, MessageRef, Provider } from "./context.js";
import type { Episode, Fact, MemorySource } from "./memory.js";
import type { Message, MessageInput } from "./message.js";

/**
 * How the old part of a history is compacted; the originals stay with each. `summarize`: one summary stands in for all of it.
 * `sliding-window`: it leaves the prompt. `hierarchical`: statements in levels, the older ones summarised again as they age.
 */
export type CompactionStrategy = "summarize" | "sliding-window" | "hierarchical";

/** Why a compaction is pending. */
export type CompactionReason = "over-budget" | "early-ratio" | "messages" | "manual";

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
export interface CompactOptions {
  /** Without it: that of the thread ({@link Thread.setStrategy}), else that of the checkpoint before, else `summarize`. */
  strategy?: CompactionStrategy;
  /** How many turns stay raw, beside one that is still going on; 4 without it. */
  keepTurns?: number;
  /** How many messages stay raw, in place of turns; rounded up to whole turns. */
  keepRecent?: number;
  /** How many tokens the history is to have at most afterwards, where that can be: more turns are covered then. */
  targetTokens?: number;
  /** How many tokens the summary may have; without it what `targetTokens` leaves, or a fifth of what it replaces. */
  summaryTokens?: number;
  /** Who summarises; without it a built-in summariser that needs no model: it quotes what matters most. */
  summarize?: Summarize | undefined;
  /** The name of the model, as the checkpoint keeps it; `model` without it. */
  summarizer?: string;
  /**
   * The most tokens of one request to the model, at least about 700; without it 24,000, or less where the model of that name is
   * known to take less. Longer material comes in several requests.
   */
  inputTokens?: number;
  /** After how many milliseconds a request to the model is given up; 120,000 without it. */
  timeout?: number;
  /**
   * `false`: a model that fails is an error. Otherwise, when it fails, takes too long, or answers with nothing, with tool calls or
   * with more than it was given, the built-in summariser makes the summary, and a warning says why.
   */
  fallback?: boolean;
  /** Whose tokens are counted; `openai-chat` without it. */
  provider?: Provider;
  /** How tokens are counted; as {@link Threadkeep.open} was told without it. */
  encoding?: Encoding;
  /** Messages that stay raw, beside those that are marked as pinned. */
  pins?: readonly MessageRef[];
  /**
   * `true`: only says what would be done. No model is asked: {@link Compaction.wouldSend} says what it would be sent. The built-in
   * summariser, which sends nothing, shows the summary that it would make.
   */
  preview?: boolean;
  /** Cancels: nothing is stored then, and a request for the compaction stays pending. */
  signal?: AbortSignal;
}

/** One thing that a summary says. */
export interface SummaryStatement {
  text: string;
  /** The messages that it came from. */
  sources: MemorySource[];
  /** How often it was summarised: 0 for what was said of messages, one more for what was said of statements. */
  level: number;
}

/** What stands in for everything up to a node, for every chain on which that node is. */
export interface Checkpoint {
  id: string;
  /** The last node that it covers. */
  anchor: string;
  /** `messages`: how many messages are covered; prompts go on with the message of this place. */
  covers: { from: string; nodes: number; messages: number; firstTurn: number; lastTurn: number };
  /** What it says, in order. */
  statements: SummaryStatement[];
  /** What stands in prompts for what it covers: one message, or none. */
  summaryMessages: Message[];
  /** Ids of the episodes that were stored with it. */
  episodes: string[];
  /** Ids of the facts that were stored with it. */
  facts: string[];
  strategy: CompactionStrategy;
  /** Who made it: `extractive` (built in), a model's name, or `sliding-window`. */
  summariser: string;
  /** By which figures it was chosen. */
  policy: { tailTurns: number; keepRecent?: number; targetTokens?: number };
  /** What stood there before: the summary before this one, and the messages that are newly covered. */
  tokensBefore: number;
  /** What stands there now. */
  tokensAfter: number;
  tokensSaved: number;
  /** In milliseconds since 1970 (UTC). */
  createdAt: number;
  /** The checkpoint whose content it carries on. */
  previous?: string;
  /**
   * The tool results whose content left prompts, in sessions that came in from programs that do this between two compactions. Such a
   * checkpoint covers what the one before it covers, with the same statements.
   */
  cleared?: MemorySource[];
  /** What it took to make it; left out where nobody noted it: for an archive's, and those made before it was noted. */
  cost?: CompactionCost;
  /** What {@link Compaction.warnings} said, without the queries of addresses; left out where it said nothing. */
  warnings?: string[];
}

/** What a compaction took: how often the summariser was asked, with how many tokens, and how many came back. */
export interface CompactionCost {
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

/**
 * A message as it is stored in a thread, with what is known of it. The message itself is as it was given: what is known lies beside
 * it and not in it, so that it can be appended elsewhere as it is.
 */
export interface StoredMessage {
  /** The node that holds it: an id of its own for what was appended to a thread. */
  id: string;
  /** Its place in the node, from 0: several messages of one node share its id. */
  part: number;
  /** The name of the thread. */
  thread: string;
  /** Its place in the conversation, from 0. */
  index: number;
  /** When it was stored, such as `2026-03-01T12:00:00.000Z`; `null` where that is not known. */
  timestamp: string | null;
  /** About how many tokens it takes: four characters each, and four more. */
  tokens: number;
  /** The message's own tags, where it has some. */
  tags?: string[];
  /** Whether a summary stands in for it in prompts. It is stored all the same. */
  compacted: boolean;
  /** The places of the messages for which that summary stands; `end` is out. */
  compactedRange?: { start: number; end: number };
  /** The checkpoint that has the summary. */
  checkpoint?: string;
  message: Message;
}

/** What a compaction would send to a model. */
export interface WouldSend {
  /** The model's name. */
  to: string;
  /** How many requests, at least. With `hierarchical`, what comes of them may be summarised once more. */
  requests: number;
  /** How many messages of the thread are in them. */
  messages: number;
  /** How many tokens the requests have together. */
  tokens: number;
}

/** What a compaction did, or with `preview` would do. */
export interface Compaction {
  /** `null` where nothing was to be done: the chain is short, or another tab was first. Also `null` in a preview with `wouldSend`. */
  checkpoint: Checkpoint | null;
  /** What stands in prompts for the old part: one message, or none. */
  summaryMessages: Message[];
  /** The places of the messages that are covered now; `end` is out. Instructions and pinned ones among them stay in prompts. */
  compactedRange: { start: number; end: number };
  /** The tokens of the whole history before. */
  tokensBefore: number;
  /** The tokens of the whole history now. */
  tokensAfter: number;
  tokensSaved: number;
  cost: CompactionCost;
  /** The episodes that were stored with it. */
  episodes: Episode[];
  /** The facts that were stored with it. */
  facts: Fact[];
  /** What you should know: that the model failed and the built-in summariser did its work, for one. */
  warnings: string[];
  /**
   * In a preview with a model: what it would be sent; else `null`. The summary is not known then. `tokensAfter` counts one of the
   * size that the model would be asked for.
   */
  wouldSend: WouldSend | null;
}

/** A stretch in which a chain used one checkpoint. */
export interface Epoch {
  /** What `context` takes as `epoch`: the checkpoint's id, or `original`. */
  name: string;
  /** `null` for the original one. */
  checkpoint: Checkpoint | null;
  /** The places of the messages that its prompts have raw, up to those that were there when it ended; `end` is out. */
  messages: { start: number; end: number };
  /** The node that was the chain's end then. */
  leaf: string;
}

/**
 * When a history is to be compacted. For each figure the first of these counts: the call's, that of `open`, the model's, the default.
 * The input budget is the context less output and margin.
 */
export interface CompactionPolicy {
  /** The model's name, for its context and output; about thirty families are known. */
  model?: string;
  /** The model's context; 200,000 where nothing is known. */
  maxContextTokens?: number;
  /** What is left for the answer; 8,000 where nothing is known. */
  maxOutputTokens?: number;
  /** What is left free for miscounting; 1,000 without it. */
  safetyMargin?: number;
  /** The share of the input budget from which on a history is compacted early, from 0 to 1; 0.8 without it. */
  compactionRatio?: number;
  /** The number of messages, beyond the last checkpoint, above which a history is compacted; any number without it. */
  compactionThreshold?: number;
}

/** What a provider counted for a response. */
export interface ResponseUsage {
  /** The tokens of the whole prompt, what came from the provider's cache included. */
  promptTokens?: number;
}
