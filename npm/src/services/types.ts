// What a memory service is, what a message store is, and what goes between them: the types that hybrid, Mem0 and AgentCore share.

import type { NodeInfo } from "../lost.js";
import type { Message, MessageInput } from "../message.js";

/** Options of every call to a service. */
export interface CallOptions {
  /** Ends the call: it rejects with `cancelled`. */
  signal?: AbortSignal;
  /** After how many milliseconds it is given up, with `memory-service` and the reason `timeout`. */
  timeout?: number;
}

/** Whose memory is meant. */
export interface MemoryScope {
  /** The conversation: the name of a thread. */
  thread: string;
  /** The conversation from which it was forked, which forks share; the same as `thread` without it. */
  session?: string;
}

/** A message on its way into a memory service. */
export interface MemoryMessage {
  /** Its id: the node's, and for a further message of the same node `<node>#<part>`. */
  id: string;
  /** The node that holds it. */
  node: string;
  /** Its place in the node, from 0. */
  part: number;
  /** When it was stored, in milliseconds since 1970 (UTC); `null` where that is not known. */
  createdAt: number | null;
  /** The message itself. */
  message: Message;
}

/** Messages that follow one another, on their way into a memory service. */
export interface MemoryBatch extends MemoryScope {
  /** Names this sending: {@link MemoryService.has} finds it again by that. */
  token: string;
  /** The branch to which they belong; without it the first one of the session. */
  branch?: {
    /** Its name, once and for all in this session. */
    name: string;
    /** Where it leaves another branch: the id of the message before its first. Given with the first batch of a branch. */
    root?: string;
  };
  /** The messages, oldest first; at least one. */
  messages: MemoryMessage[];
}

/** What a memory service remembers. */
export interface MemoryItem {
  /** The service's own id. */
  id: string;
  /** What is remembered, in words. */
  text: string;
  /** How well it answers the question; more is better. Services count differently. */
  score?: number;
  /** When it came about, such as `2026-03-01T12:00:00.000Z`. */
  createdAt?: string;
  /** Whatever else the service says of it. */
  metadata?: Record<string, unknown>;
}

/** Options of {@link MemoryService.add}. */
export interface AddOptions extends CallOptions {
  /** Told of messages that have arrived for certain, while others of the batch are still on their way. */
  onAdded?: (id: string) => void;
}

/** Options of {@link MemoryService.search} and {@link MemoryService.list}. */
export interface FindOptions extends CallOptions {
  /** At most this many; 10 for a search, all of them for a list. */
  limit?: number;
}

/**
 * A service that is told conversations and remembers what matters in them. What it does not do in time, or refuses, is an error;
 * {@link Hybrid} sees to it that no error reaches the conversation.
 *
 * @example
 * ```ts
 * const kept: MemoryItem[] = [];
 * const memory: MemoryService = {
 *   name: "words",
 *   idempotent: true,
 *   async add({ messages }) {
 *     for (const { id, message } of messages)
 *       if (!kept.some((item) => item.id === id)) kept.push({ id, text: String(message.content) });
 *   },
 *   async search(scope, query) { return kept.filter(({ text }) => query.split(" ").some((word) => text.includes(word))); },
 *   async list() { return kept; },
 *   async remove() { return kept.splice(0).length; },
 * };
 * ```
 */
export interface MemoryService {
  /** Its name. What was sent is remembered under it, so it stays the same. */
  readonly name: string;
  /** Whether adding the same messages (by their ids) once more changes nothing. */
  readonly idempotent: boolean;
  /** Whether it wants a message at all; all of them without this. */
  takes?(message: Message): boolean;
  /** Tells it messages. When it resolves, they have arrived. */
  add(batch: MemoryBatch, options?: AddOptions): Promise<void>;
  /** Whether a batch of this token has arrived. Asked when a sending ended in the dark. */
  has?(scope: MemoryScope, token: string, options?: CallOptions): Promise<boolean>;
  /** What it remembers that answers `query`, the best first. */
  search(scope: MemoryScope, query: string, options?: FindOptions): Promise<MemoryItem[]>;
  /** What it remembers. */
  list(scope: MemoryScope, options?: FindOptions): Promise<MemoryItem[]>;
  /**
   * Forgets what came from a conversation, and says how much that was. With `gone` only what came from nodes for which it
   * says yes.
   */
  remove(scope: MemoryScope, gone?: (node: string) => Promise<boolean>, options?: CallOptions): Promise<number>;
}

/** Limits of {@link MessageStore.getRecent}. Zero means zero. */
export interface RecentLimits {
  /** At most this many messages, those that carry memories included. */
  maxMessages?: number;
  /** At most this many tokens, estimated at four characters a token and four more a message. */
  maxTokens?: number;
  /** `false`: system messages are left out. */
  includeSystem?: boolean;
}

/**
 * A message store: conversations by name, to which messages are appended. {@link Threadkeep} is one, {@link Hybrid} and
 * {@link AgentCoreMemory} are too.
 */
export interface MessageStore {
  /** Appends messages; resolves when they are durable. */
  append(thread: string, messages: readonly MessageInput[]): Promise<NodeInfo[] | void>;
  /** The newest messages, oldest of them first. */
  getRecent(thread: string, options?: RecentLimits): Promise<Message[]>;
  /** All messages, oldest first. */
  getAll(thread: string): Promise<Message[]>;
  /** The messages at the indices `start` to `end`, `end` not among them. */
  getRange(thread: string, start: number, end: number): Promise<Message[]>;
  /** How many messages there are. */
  getCount(thread: string): Promise<number>;
  /** Lets a summary stand in for old messages, where the store does that. */
  compact(thread: string, options?: object): Promise<StoreCompaction>;
  /** Removes all messages. */
  clear(thread: string): Promise<unknown>;
}

/** What every store says of a compaction. */
export interface StoreCompaction {
  /** What stands in for the old messages. */
  summaryMessages: Message[];
  /** The places of the messages for which it stands; `end` is out. */
  compactedRange: { start: number; end: number };
  /** How many tokens that saves. */
  tokensSaved: number;
}
