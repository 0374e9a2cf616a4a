// Chats of the AI SDK in a keep: what `useChat` shows is a chain, what it throws away (by regenerating, by editing) is a branch.

import type { UIMessage } from "ai";
import * as check from "../../check.js";
import { badArgument, ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { MessageInput } from "../../message.js";
import { follows } from "../shared/ui/follow.js";
import { discard, appendAfter, TRIES } from "../shared/append.js";
import { Queues } from "../shared/queues.js";
import { plain, same } from "../shared/json.js";
import { Thread } from "../shared/ui/thread.js";
import type { Entry, Ui } from "../shared/ui/types.js";
import { Writer, type Ended } from "../shared/ui/write.js";

/** So many chats are remembered as they were read. */
const CHATS = 16;

/** Options of {@link chatStore}. */
export interface ChatStoreOptions {
  /** What the names of the chats' threads begin with; nothing without it, so that a chat's id is its thread's name. */
  prefix?: string;
}

/** What is saved. */
export interface SaveOptions<M extends UIMessage = UIMessage> {
  /** The chat. */
  chatId: string;
  /** All messages of the chat as it is shown now, first to last. */
  messages: readonly M[];
}

/** What a save did. */
export interface Saved {
  /** The node at which the chat ends now. */
  leaf: string | null;
  /** How many messages of a transcript were added: none where all was known. */
  added: number;
  /** Whether a branch was begun: the messages go on from an earlier one than the last. */
  branched: boolean;
}

/** What {@link ChatStore.saving} gives: the callback under the name that each version has for it. */
export interface ChatSaving<M extends UIMessage = UIMessage> {
  /** For version 7. */
  onEnd: (event: { messages: M[] }) => Promise<void>;
  /** For version 6. */
  onFinish: (event: { messages: M[] }) => Promise<void>;
}

/** One of the messages that were said at the same place. */
export interface ChatBranch<M extends UIMessage = UIMessage> {
  /** Its node, for {@link ChatStore.select}. */
  node: string;
  /** The message, as it is at the end of its newest branch. */
  message: M;
  /** Whether the chat shows it. */
  chosen: boolean;
  /** Where the answer is not complete: `cancelled`, `failed`, `cut-off`. */
  ended?: string;
}

/** A chat, as a list shows it. */
export interface ChatInfo {
  chatId: string;
  /** The beginning of what was said first, or the name that it was given. */
  title: string;
  /** When it last changed, in milliseconds since 1970 (UTC). */
  updatedAt: number | null;
  /** How many branches it has: 1 for a plain one. */
  branches: number;
  /** Its transcript. */
  transcript: string;
}

/** @internal */
export interface Inner {
  /** How the last message ended, where it is not complete. */
  ended?: Ended;
  /** Whether the last message is another one than all that are stored, however alike. */
  fresh?: boolean;
}

/** Where in a transcript a list of messages stands. */
interface Place {
  thread: Thread;
  /** How many of the messages are there. */
  known: number;
  /** The place on the thread behind which the rest goes; -1 for before its beginning. */
  at: number;
}

/**
 * The chats of the AI SDK in a keep. Each chat is a transcript and a thread of the chat's name, so that prompts, search and
 * compaction of the keep work on it. Methods reject with a {@link ThreadkeepError}; when they resolve, what they did is durable.
 */
export class ChatStore<M extends UIMessage = UIMessage> {
  /** The keep. */
  readonly keep: Threadkeep;
  readonly #prefix: string;
  readonly #threads = new Map<string, Thread>();
  readonly #queues = new Queues();

  /** @internal */
  constructor(keep: Threadkeep, options?: ChatStoreOptions) {
    this.keep = keep;
    this.#prefix = (check.options(options, "options", { prefix: check.text }) as ChatStoreOptions).prefix ?? "";
  }

  /** The name of a chat's thread: `keep.thread(chats.threadName(id))` makes its prompts and compacts it. */
  threadName(chatId: string): string {
    return check.id(this.#prefix + check.id(chatId, "chatId"), "chatId");
  }

  /**
   * The messages of a chat, of the branch that is chosen; none where there is no such chat. What others wrote into its transcript
   * (an import, an agent) comes as messages of the AI SDK, too.
   *
   * @throws ThreadkeepError `bad-request`; the storage's codes
   *
   * @example
   * ```ts
   * const chat = useChat({ id, messages: await chats.load(id) });
   * ```
   */
  async load(chatId: string): Promise<M[]> {
    const context = this.threadName(chatId);
    return this.#queues.run(context, async () => shown<M>(await this.#thread(context)));
  }

  /**
   * Stores what is new in a chat's messages. They are told apart by their ids and places: a message behind the last one is
   * appended; one in the place of another (an edit, another answer) begins a branch and leaves the other where it is; an answer
   * that grew (outputs, approvals, metadata) grows. Saving the same again adds nothing, nor does a shorter list.
   *
   * @throws ThreadkeepError `bad-request` for what JSON cannot carry; `conflict` when others write without end; the storage's codes
   *
   * @example
   * ```ts
   * return result.toUIMessageStreamResponse({
   *   originalMessages: messages,
   *   generateMessageId: generateId,
   *   ...chats.saving(chatId), // calls `save` when the answer is complete
   * });
   * ```
   */
  async save(options: SaveOptions<M>): Promise<Saved> {
    const { chatId, messages } = check.options(options, "options", { chatId: check.id, messages: uiMessages }) as unknown as SaveOptions<M>;
    if (chatId === undefined) throw badArgument("options.chatId", "is missing");
    return this.record(chatId, uiMessages(messages, "options.messages"));
  }

  /**
   * Options for `toUIMessageStreamResponse` and its sisters: a chat is saved when an answer has ended. Version 7 of the AI SDK calls
   * `onEnd`, version 6 `onFinish`.
   *
   * @throws ThreadkeepError `bad-request` for what is no chat's id; from the callbacks, as {@link save}
   */
  saving(chatId: string): ChatSaving<M> {
    const id = check.id(chatId, "chatId");
    const save = async ({ messages }: { messages: M[] }): Promise<void> => void (await this.save({ chatId: id, messages }));
    return { onEnd: save, onFinish: save };
  }

  /** The messages as they are now: those that are known as they are stored, copies of the others. @internal */
  take(chatId: string, messages: readonly Ui[]): Ui[] {
    const known = this.#threads.get(this.threadName(chatId))?.entries;
    try {
      return messages.map((message, at) => {
        const ui = known?.[at]?.ui;
        return ui !== undefined && same(ui, message) ? ui : plain(message);
      });
    } catch (error) {
      throw badArgument("messages", `cannot be written as JSON: ${(error as Error).message}`, error);
    }
  }

  /** @internal */
  async record(chatId: string, messages: readonly Ui[], inner: Inner = {}): Promise<Saved> {
    const context = this.threadName(chatId);
    // At once: who asked goes on with their messages.
    const given = this.take(chatId, messages);
    return this.#queues.run(context, async () => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const saved = await this.#save(context, given, inner);
        if (saved !== undefined) return saved;
      }
      throw new ThreadkeepError("conflict", "other writers of this chat were always first", { chatId });
    });
  }

  /**
   * What was said in the place of a message: the message itself and its other versions (edits, other answers), oldest first.
   * Several chats with one keep share nothing of this.
   *
   * @param messageId a message of the branch that the chat shows
   * @throws ThreadkeepError `bad-request` where the chat shows no such message; the storage's codes
   *
   * @example
   * ```ts
   * const versions = await chats.branches(id, message.id); // 2 of 3: versions.findIndex(({ chosen }) => chosen) + 1
   * setMessages(await chats.select(id, versions[0].node));
   * ```
   */
  async branches(chatId: string, messageId: string): Promise<ChatBranch<M>[]> {
    const context = this.threadName(chatId);
    return this.#queues.run(context, async () => {
      const thread = await this.#thread(context);
      const known = thread.entries.map((entry) => idOf(entry, thread)).lastIndexOf(messageId);
      // A chat that was loaded before a message had an id has its node's.
      const place = known < 0 ? thread.entries.map(({ start }) => (thread.nodes[start] as NodeInfo).id).lastIndexOf(messageId) : known;
      const entry = thread.entries[place];
      if (entry === undefined) throw badArgument("messageId", "is of no message that the chat shows");
      const before = thread.entries[place - 1];
      const from = before?.start ?? (entry.inside ? entry.start : entry.start - 1);
      const own = branch<M>(entry, thread, true);
      if (from < 0 || entry.inside) return [own];
      const found: ChatBranch<M>[] = [];
      for (const begun of await this.#beginnings(thread, from, place)) {
        if (begun.nodes.at(-1)?.id === own.node) found.push(own);
        else {
          const other = await this.#below(begun);
          const version = other.entries[place];
          if (version !== undefined) found.push(branch<M>(version, other, false));
        }
      }
      return found;
    });
  }

  /**
   * Has a chat show another branch from now on: the newest that goes through a node. Gives its messages.
   *
   * @param node a {@link ChatBranch.node}, or any other node of the chat
   * @throws ThreadkeepError `missing-node` for a node that is none of the chat's; the storage's codes
   */
  async select(chatId: string, node: string): Promise<M[]> {
    const context = this.threadName(chatId);
    return this.#queues.run(context, async () => {
      const head = await this.keep.thread(context).head();
      const to = await this.keep.node(check.id(node, "node"));
      if (head === null || to?.transcript !== head.transcript) throw new ThreadkeepError("missing-node", `the chat has no node ${node}`, { node });
      const leaf = await this.#leaf(to);
      await this.keep.thread(context).moveTo(leaf);
      await this.keep.at(leaf).choose();
      return shown<M>(await this.#thread(context));
    });
  }

  /** All chats, the one that changed last first. */
  async list(): Promise<ChatInfo[]> {
    const [heads, transcripts] = await Promise.all([this.keep.threads(), this.keep.transcripts()]);
    const known = new Map(transcripts.map((transcript) => [transcript.id, transcript]));
    const chats = heads.flatMap(({ name, transcript }): ChatInfo[] => {
      const info = known.get(transcript);
      if (!name.startsWith(this.#prefix) || name === this.#prefix || info === undefined) return [];
      return [{ chatId: name.slice(this.#prefix.length), title: info.title, updatedAt: info.updatedAt, branches: info.branches, transcript }];
    });
    return chats.sort((left, right) => (right.updatedAt ?? 0) - (left.updatedAt ?? 0));
  }

  /**
   * Deletes a chat with all its branches, for good. If another thread ends in its transcript (a fork, say), only what that does not need.
   *
   * @returns how many messages of its transcript were removed; 0 where there is no such chat
   */
  async delete(chatId: string): Promise<number> {
    const context = this.threadName(chatId);
    return this.#queues.run(context, async () => {
      this.#threads.delete(context);
      return discard(this.keep, context);
    });
  }

  /** The chain that a chat shows. What is remembered holds as long as the head is where it ends: nodes do not change. */
  async #thread(context: string): Promise<Thread> {
    const head = await this.keep.thread(context).head();
    if (head === null) return new Thread();
    const known = this.#threads.get(context);
    const last = known?.nodes.at(-1);
    // An unsealed node can grow, so it is read again.
    if (known !== undefined && last?.id === head.id && last.sealed) return known;
    const thread = new Thread(await this.keep.chain(head.id));
    this.#remember(context, thread);
    return thread;
  }

  #remember(context: string, thread: Thread): void {
    this.#threads.delete(context);
    this.#threads.set(context, thread);
    for (const [oldest] of this.#threads) if (this.#threads.size > CHATS) this.#threads.delete(oldest);
  }

  /** Saves; `undefined` where somebody else wrote in between, and all is to be looked at anew. */
  async #save(context: string, given: readonly Ui[], { ended, fresh }: Inner): Promise<Saved | undefined> {
    const current = await this.#thread(context);
    const { thread, known, at } = await this.#find(current, given, fresh === true);
    const leaf = current.nodes.at(-1)?.id ?? null;
    // The messages as they are where the rest goes: what is said later does not hold there.
    const there = at === thread.nodes.length - 1 ? thread : thread.upTo(at + 1);
    const writer = new Writer();
    for (const [index, message] of given.entries()) {
      const entry = index < known ? there.entries[index] : undefined;
      if (entry === undefined) writer.add(message, index);
      // An older version than the stored one says nothing new.
      else if (message !== entry.ui && follows(entry.ui, message) !== undefined) writer.add(named(message, entry), index, entry.ui);
    }
    const complete = ended === undefined || there.entries[given.length - 1]?.ended === ended.code;
    const messages = writer.end(complete ? undefined : ended);
    if (messages.length === 0) return { leaf, added: 0, branched: false };
    return this.#write(context, thread, at, leaf, messages);
  }

  async #write(context: string, thread: Thread, at: number, leaf: string | null, messages: MessageInput[]): Promise<Saved | undefined> {
    const parent = thread.nodes[at];
    if (parent === undefined && leaf !== null) {
      // Nothing can stand before the first message of what somebody else wrote: the branch gets a transcript of its own.
      const name = `${context}~${Math.random().toString(36).slice(2)}`;
      const made = await this.keep.thread(name).append(messages);
      const last = (made.at(-1) as NodeInfo).id;
      await this.keep.thread(context).moveTo(last);
      return { leaf: last, added: made.length, branched: true };
    }
    const branched = parent !== undefined && parent.id !== leaf;
    const made = await appendAfter(this.keep, context, parent?.id, leaf, messages);
    if (made === undefined) return undefined;
    const last = made.at(-1) as NodeInfo;
    const next = branched ? thread.upTo(at + 1) : thread;
    if (parent === undefined) {
      for (const node of await this.keep.chain(last.id)) next.push(node);
    } else for (const node of made) next.push(node);
    this.#remember(context, next);
    return { leaf: last.id, added: made.length, branched };
  }

  /** Where the messages stand: on the chain that the chat shows, else on another branch. */
  async #find(current: Thread, given: readonly Ui[], fresh: boolean): Promise<Place> {
    let thread = current;
    let known = 0;
    const tried = new Set<string>();
    for (;;) {
      const most = fresh ? given.length - 1 : given.length;
      while (known < most && known < thread.entries.length && isAt(thread.entries[known] as Entry, given[known] as Ui, thread)) known += 1;
      if (known >= most || thread.nodes.length === 0) break;
      const other = await this.#elsewhere(thread, known, given[known] as Ui, tried);
      if (other === undefined) break;
      thread = other;
    }
    // Behind a message that shares its node with the next one nothing can be put: then that one is said again, too.
    while (known > 0 && known < thread.entries.length && thread.entries[known]?.inside === true) known -= 1;
    return { thread, known, at: this.#behind(thread, known, given) };
  }

  /** The place behind the first `known` messages of a thread. */
  #behind(thread: Thread, known: number, given: readonly Ui[]): number {
    const next = thread.entries[known];
    const last = thread.entries[known - 1];
    // Nothing new follows: what is said anew of what is there comes at the end.
    if (next === undefined || known === given.length) return thread.nodes.length - 1;
    const end = next.start - (next.inside ? 0 : 1);
    const message = given[known - 1];
    if (last === undefined || message === undefined || last.ended !== undefined) return end;
    if (follows(last.ui, message) !== undefined) return end;
    // It goes on from an older version of the message: where that was.
    for (let place = last.end; place >= last.start; place -= 1) {
      const ui = thread.upTo(place + 1).entries[known - 1]?.ui;
      if (ui !== undefined && follows(ui, message) === "same") return place;
    }
    return end;
  }

  /** Another branch of the same tree that has `message` as its message number `place`. */
  async #elsewhere(thread: Thread, place: number, message: Ui, tried: Set<string>): Promise<Thread | undefined> {
    const next = thread.entries[place];
    const from = thread.entries[place - 1]?.start ?? (next === undefined ? thread.nodes.length : next.start) - 1;
    if (from < 0 || next?.inside === true) return undefined;
    for (const begun of (await this.#beginnings(thread, from, place)).reverse()) {
      const node = begun.nodes.at(-1) as NodeInfo;
      const { ui, nameless } = begun.entries[place] as Entry;
      if (node.id === thread.nodes[next?.start ?? -1]?.id || tried.has(node.id)) continue;
      tried.add(node.id);
      // Neither changes while a message grows.
      if (ui.role !== message.role || (nameless !== true && ui.id !== message.id)) continue;
      const other = await this.#below(begun);
      const entry = other.entries[place];
      if (entry !== undefined && isAt(entry, message, other)) return other;
    }
    return undefined;
  }

  /** The threads that end with the node with which a message number `place` begins, below a place of a thread, oldest first. */
  async #beginnings(thread: Thread, from: number, place: number): Promise<Thread[]> {
    const found: Thread[] = [];
    const look = async (prefix: Thread): Promise<void> => {
      const parent = prefix.nodes.at(-1) as NodeInfo;
      for (const child of await this.keep.at(parent.id).children()) {
        const grown = prefix.upTo(prefix.nodes.length);
        grown.push(child);
        if (grown.entries.length > place) found.push(grown);
        else await look(grown);
      }
    };
    await look(thread.upTo(from + 1));
    return found.sort((left, right) => (left.nodes.at(-1) as NodeInfo).seq - (right.nodes.at(-1) as NodeInfo).seq);
  }

  /** The thread to the newest leaf below where one ends. */
  async #below(begun: Thread): Promise<Thread> {
    const chain = await this.keep.chain(await this.#leaf(begun.nodes.at(-1) as NodeInfo));
    // Only the last of those nodes may have grown since.
    const below = begun.upTo(begun.nodes.length - 1);
    for (const node of chain.slice(below.nodes.length)) below.push(node);
    return below;
  }

  async #leaf(node: NodeInfo): Promise<string> {
    return (await this.keep.transcript(node.transcript).outline(node.id)).leaf;
  }
}

/**
 * The chats of the AI SDK in a keep: what `load` and `save` of its guides on persistence do, with the branches that
 * regenerating and editing would overwrite.
 *
 * @throws ThreadkeepError `bad-request`
 *
 * @example
 * ```ts
 * const chats = chatStore(await Threadkeep.open());
 * await chats.save({ chatId: "c1", messages });
 * const messages = await chats.load("c1");
 * ```
 */
export function chatStore<M extends UIMessage = UIMessage>(keep: Threadkeep, options?: ChatStoreOptions): ChatStore<M> {
  return new ChatStore<M>(keep, options);
}

/** Whether a message is the one that stands there, in whatever version. */
function isAt(entry: Entry, message: Ui, thread: Thread): boolean {
  if (entry.ui.role !== message.role) return false;
  const named = entry.ui.id !== "" && message.id === idOf(entry, thread);
  if (!named && entry.nameless !== true) return false;
  return follows(entry.ui, message) !== undefined || (named && follows(message, entry.ui) !== undefined);
}

/** A message's id; that of its node where it came without one. */
function idOf(entry: Entry, thread: Thread): string {
  return entry.ui.id === "" ? (thread.nodes[entry.start] as NodeInfo).id : entry.ui.id;
}

/** A message that came without an id does not lose the one that it was given since, nor get that of another chat that shows it. */
function named(message: Ui, entry: Entry): Ui {
  return message.id === "" || (entry.nameless === true && entry.ui.id !== "") ? { ...message, id: entry.ui.id } : message;
}

function branch<M extends UIMessage>(entry: Entry, thread: Thread, chosen: boolean): ChatBranch<M> {
  const { ended } = entry;
  const node = (thread.nodes[entry.start] as NodeInfo).id;
  return { node, message: message<M>(entry, thread), chosen, ...(ended === undefined ? {} : { ended }) };
}

function shown<M extends UIMessage>(thread: Thread): M[] {
  return thread.entries.map((entry) => message<M>(entry, thread));
}

function message<M extends UIMessage>(entry: Entry, thread: Thread): M {
  return structuredClone({ ...entry.ui, id: idOf(entry, thread) }) as unknown as M;
}

/** A list of UI messages, as far as storing them needs. */
function uiMessages(value: unknown, argument: string): readonly Ui[] {
  if (!Array.isArray(value)) throw badArgument(argument, "must be a list of UI messages");
  value.forEach((message: unknown, at) => {
    if (!check.isObject(message)) throw badArgument(`${argument}[${at}]`, "must be a UI message");
    if (typeof message["id"] !== "string") throw badArgument(`${argument}[${at}].id`, "must be a string");
    check.oneOf(message["role"], ["system", "user", "assistant"], `${argument}[${at}].role`);
    const { parts } = message;
    if (!Array.isArray(parts) || !parts.every((part) => check.isObject(part) && typeof part["type"] === "string"))
      throw badArgument(`${argument}[${at}].parts`, "must be a list of parts, each with a type");
  });
  return value as Ui[];
}
