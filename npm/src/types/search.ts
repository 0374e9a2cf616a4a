// What a search finds.

import type { Message } from "./message.js";

/** What a search finds. */
export type SearchKind = "message" | "summary" | "episode" | "fact";

/** Something that was found. */
export interface SearchHit {
  /** What it is: a message, the summary of a checkpoint, an episode, or a fact. */
  kind: SearchKind;
  /** The id of the checkpoint, the episode or the fact; `null` for a message. */
  id: string | null;
  /** Its transcript; `null` for what is remembered apart from any. */
  transcript: string | null;
  /**
   * Its node. Of a summary the node up to which it stands in for messages; of an episode or a fact the first message that it
   * came from and that is still there, `null` without one.
   */
  node: string | null;
  /** Its place in the node, from 0. */
  index: number;
  /** The end of a branch that holds the node, the newest one. */
  leaf: string | null;
  /** Who speaks; of anything but a message its kind. */
  role: string;
  /** When its node, or it itself, was made, in milliseconds since 1970, where that is known. */
  createdAt: number | null;
  /** The message; of a summary the one that stands in prompts; `null` for episodes and facts. */
  message: Message | null;
  /** How well it fits: above zero, comparable within one search. */
  score: number;
  /** The stretch of it that shows why it was found. */
  snippet: string;
  /** What to mark in the snippet: ranges from (in) and to (out), as JavaScript counts characters, ascending. */
  highlights: [number, number][];
  /** The messages that it came from; of a summary those behind its statements with the words of the query. */
  sources: { node: string; index: number }[];
}

/** What a search found, the best first. */
export interface SearchHits extends Array<SearchHit> {
  /**
   * What you should know of the search, in words: that the query was longer than 256 different words, of which the first were used,
   * for one. Not enumerable, so that the list compares and prints as a list of hits.
   */
  readonly warnings: readonly string[];
}

/** How far the search index is. */
export interface IndexProgress {
  /** Messages that are indexed. */
  indexed: number;
  /** Messages that there are. */
  messages: number;
  /** Bytes that the index takes. */
  bytes: number;
}
