// What is remembered beyond a chain: episodes and facts.

import type { Encoding } from "./context.js";

/** A message that something came from. */
export interface MemorySource {
  /** Its node. */
  node: string;
  /** Its place in the node, from 0. */
  index: number;
}

/** What happened in a stretch of turns. */
export interface Episode {
  id: string;
  /** In milliseconds since 1970 (UTC). */
  createdAt: number;
  /** The transcript that it tells of. */
  transcript?: string;
  /** The numbers of its turns. */
  turns: number[];
  summary: string;
  tags: string[];
  /** How much it matters, from 0 to 1. */
  salience: number;
  sources: MemorySource[];
  /** Whether it comes first in every bundle. */
  pinned: boolean;
}

/** What kind of thing a fact says. */
export type FactKind = "preference" | "decision" | "constraint" | "other";

/** What holds. */
export interface Fact {
  id: string;
  /** In milliseconds since 1970 (UTC). */
  createdAt: number;
  /** The transcript that it came from; none for what was told apart from any. */
  transcript?: string;
  kind: FactKind;
  fact: string;
  tags: string[];
  /** How sure it is, from 0 to 1. */
  confidence: number;
  /** How much it matters, from 0 to 1. */
  salience: number;
  /** Said again, a fact gains sources. */
  sources: MemorySource[];
  /** Whether it comes first in every bundle. */
  pinned: boolean;
  /** The newer fact that contradicts it; it is kept, and no longer used. */
  supersededBy?: string;
}

/** A fact to be remembered: one sentence, and what is known of it. */
export interface NewFact {
  fact: string;
  /** Default: `other`. */
  kind?: FactKind;
  tags?: readonly string[];
  /** From 0 to 1, default 1. */
  confidence?: number;
  /** From 0 to 1, default 0.5. */
  salience?: number;
  transcript?: string;
  sources?: readonly MemorySource[];
  pinned?: boolean;
}

/** A change of a fact; what is left out stays. Another text without a confidence is certain. */
export type FactEdit = Partial<Pick<NewFact, "fact" | "kind" | "tags" | "confidence" | "salience">>;

/** A change of an episode; what is left out stays. */
export interface EpisodeEdit {
  summary?: string;
  tags?: readonly string[];
  salience?: number;
}

/** Which records to give; all of them without it. */
export interface MemoryFilter {
  /** Only those of this transcript. */
  transcript?: string;
  /** Only those that came from this node. */
  source?: string;
  /** Only those with this tag. */
  tag?: string;
}

/** Which episodes to give. */
export interface EpisodeFilter extends MemoryFilter {
  /** At most so many, the newest ones. */
  limit?: number;
}

/** Which facts to give. */
export interface FactFilter extends EpisodeFilter {
  /** Those that a newer one has superseded, too. */
  superseded?: boolean;
}

/** What to retrieve for a prompt. */
export interface RetrieveOptions extends MemoryFilter {
  /** The current input. */
  query?: string;
  /** The most episodes, default 3. Zero means none. */
  episodes?: number;
  /** The most facts, default 20. Zero means none. */
  facts?: number;
}

/** What is remembered that fits a prompt, best first. */
export interface MemoryBundle {
  episodes: Episode[];
  facts: Fact[];
}

/** A tool call with its result. */
export interface ToolInteraction {
  toolCallId: string;
  /** Such as `turn_0001`; `null` before the first turn. */
  turnId: string | null;
  toolName: string;
  /** JSON where the model wrote JSON, else its text; `null` where only the result is there. */
  arguments: unknown;
  result: unknown;
  error: string | null;
  status: "PENDING" | "SUCCESS" | "ERROR";
}

/** One line of an agent's raw trace: what was recorded in a turn, in the order in which it happened. */
export interface RawTrace {
  id: string;
  /** When, in seconds since 1970 with a fraction. */
  ts: number;
  /** Such as `turn_0001`. */
  turn_id: string;
  /** Its place in the turn, from 1. */
  seq: number;
  trace_type: "user" | "assistant" | "tool_call" | "tool_result";
  /** The text; may be empty for tools. */
  content: string;
  /** The event that it came from. */
  source_event: string;
  tool_name?: string;
  tool_call_id?: string;
  tool_args?: unknown;
  tool_result?: unknown;
  tool_error?: string;
  tags?: string[];
  [field: string]: unknown;
}

/** How {@link Kernel.buildSnapshot} is kept small. */
export interface SnapshotOptions {
  /** The most tokens of all but the system prompt: what ranks least goes first. Any number without it. */
  maxTokens?: number;
  /** How these are counted; as {@link Threadkeep.open} was told without it. */
  encoding?: Encoding;
}
