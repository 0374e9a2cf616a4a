// What a search finds.

import type { Message } from "./message.js";

/** A message that was found. */
export interface SearchHit {
  /** Its transcript. */
  transcript: string;
  /** Its node. */
  node: string;
  /** Its place in the node, from 0. */
  index: number;
  /** The end of a branch that holds it, the newest one. */
  leaf: string;
  /** Who speaks. */
  role: string;
  /** When its node was made, in milliseconds since 1970, where that is known. */
  createdAt: number | null;
  /** The message. */
  message: Message;
  /** How well it fits: above zero, comparable within one search. */
  score: number;
  /** The stretch of it that shows why it was found. */
  snippet: string;
  /** What to mark in the snippet: ranges from (in) and to (out), as JavaScript counts characters, ascending. */
  highlights: [number, number][];
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
