// Nodes, heads, transcripts and what is derived from them: the answers of the engine.

import type { ContextWarning } from "./context.js";
import type { Message } from "./message.js";

/** Where a node came from. Every field is what the outside said. */
export interface Origin {
  /** The sender of the inbound message. */
  from?: string;
  /** Its number in the inbox. */
  number?: number;
  /** The mode in which the turn ran: chat, agent or run. */
  mode?: string;
  /** The run that it belongs to. */
  run?: string;
  /** The workflow that it belongs to. */
  workflow?: string;
  /** The agent that wrote it, where a sub-agent did. */
  agent?: string;
  /** The model that wrote it. */
  model?: string;
  /** As {@link NodeInfo.unknownReply}. */
  unknownReply?: true;
}

/** A node: what one step adds to a conversation, and where it hangs. */
export interface NodeInfo {
  /** Its id: yours, or 64 hex digits, or `<source>/<conversation>/<message>` for imported ones. */
  id: string;
  /** Its transcript: the id of the transcript's root. */
  transcript: string;
  /** Its parent; `null` for a root. */
  parent: string | null;
  /** Counts up within a transcript and is never used twice. */
  seq: number;
  /** When it was made, in milliseconds since 1970 (UTC); `null` where that is not known. */
  createdAt: number | null;
  /** User and assistant messages from the root to the end of this node. */
  depth: number;
  /** The turn at its end, `turn_0001` and on; `null` before the first. */
  turn: string | null;
  /** Whether it is complete and will not grow again. */
  sealed: boolean;
  /** Where it came from. */
  origin: Origin;
  /** Set where the message named one by `replyTo` that nobody knew: it began a transcript of its own. */
  unknownReply?: true;
  /** Names and values of the importer's choosing. */
  labels: Record<string, string>;
  /** What it adds, in order. */
  messages: Message[];
  /**
   * Set in the answer of {@link Thread.append}, {@link Threadkeep.receive} or {@link Threadkeep.extend} where a text was cut inside a
   * character: U+FFFD is stored for the half (`lost-character`). `index` is the message's place in the call, or in its node for `append`.
   */
  warnings?: ContextWarning[];
}

/** A thread, as lists show it: a name, and the node at which its head points, like a branch in git. */
export interface ThreadInfo {
  /** Its name. */
  name: string;
  /** The transcript in which it ends. */
  transcript: string;
  /** The node at which it ends. */
  node: string;
}

/** A transcript, as lists show it. */
export interface TranscriptInfo {
  /** Its id, which is its root's. */
  id: string;
  /** The archive's title, yours, or the beginning of the first user message. */
  title: string;
  /** The kind of archive that it came from, such as `chatgpt`; empty for what began here. */
  source: string;
  /** When it began, in milliseconds since 1970 (UTC); `null` where that is not known. */
  createdAt: number | null;
  /** When it last changed, in milliseconds since 1970 (UTC); `null` where that is not known. */
  updatedAt: number | null;
  /** How many nodes it has. */
  nodes: number;
  /** How many messages they hold. */
  messages: number;
  /** How many leaves it has: 1 for a plain conversation. */
  branches: number;
  /** The end of the chosen branch; without a choice, the newest leaf. */
  leaf: string | null;
  /** Whatever else the archive said about the conversation. */
  extra?: Record<string, unknown>;
}

/** A node's place among its siblings. */
export interface Fork {
  /** Its place, from 1. */
  index: number;
  /** How many there are. */
  count: number;
  /** The leaf to open for the sibling before, if there is one. */
  previous: string | null;
  /** The leaf to open for the sibling after, if there is one. */
  next: string | null;
}

/** One node of an {@link Outline}. */
export interface OutlineRow {
  /** The node. */
  id: string;
  /** The role of its first message, or `""` where it has none. */
  role: string;
  /** How many messages it holds. */
  messages: number;
  /** How many characters of text they hold. */
  chars: number;
  /** User and assistant messages up to its end. */
  depth: number;
  /** Whether a page should tuck it away. */
  hidden: boolean;
  /** Its place among its siblings, where it has any. */
  fork: Fork | null;
  /**
   * Its place among the siblings that answer the same question otherwise, where it has any. Such a fork stands after the question, the
   * node's first user messages; siblings with the same question count once in `fork`.
   */
  answers: Fork | null;
}

/** One branch of a transcript without its texts. */
export interface Outline {
  /** The transcript. */
  transcript: TranscriptInfo;
  /** The end of this branch. */
  leaf: string;
  /** Its nodes from the root on. */
  rows: OutlineRow[];
  /** What is wrong with the chain, where its parents are damaged; the rows are what can still be reached. */
  damage: string | null;
}

/** One node of a transcript's tree. Parents come before their children. */
export interface TreeNode {
  /** The node. */
  id: string;
  /** Its parent; `null` for the root. */
  parent: string | null;
  /** The role of its first message, or `""`. */
  role: string;
  /** Whether a page should tuck it away. */
  hidden: boolean;
  /** The first words of its text, at most 60 characters. */
  words: string;
}

/** One finding of {@link Threadkeep.lint}. */
export interface LintFinding {
  /** The transcript. */
  transcript: string;
  /** The node. */
  node: string;
  /** The place of the message in the node; `null` where the node as a whole is meant. */
  index: number | null;
  /** The rule, a stable word such as `unanswered-call`. */
  rule: string;
  /** The finding in words. */
  message: string;
}

/** Counts and sizes. */
export interface Stats {
  /** Transcripts. */
  transcripts: number;
  /** Nodes in them. */
  nodes: number;
  /** Messages in them. */
  messages: number;
  /** Threads: names that point at a node. */
  threads: number;
  /** Transcripts in the cache. */
  cachedTranscripts: number;
  /** About how many bytes of memory they take. */
  cachedBytes: number;
  /** The most bytes that the cache may take. */
  cacheLimit: number;
  /** What was found damaged since the keep was opened, and passed over. {@link Threadkeep.lint} reads everything, and so finds all of it. */
  damaged: Damage[];
}

/** Something that is stored and cannot be read. Calls over the whole keep pass over it; a call for that one thing fails. */
export interface Damage {
  /** The transcript to which it belongs; `null` if that is not known. {@link Transcript.delete} deletes a damaged one, too. */
  transcript: string | null;
  /** What it is, and why it cannot be read. */
  what: string;
}
