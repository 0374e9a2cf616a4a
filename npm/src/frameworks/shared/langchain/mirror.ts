// The messages of a graph's threads as conversations of the keep. The list of messages is what the graph says it is; here it becomes a way
// through a tree: what is new is appended, and where the list went another way (a thread forked from an older checkpoint, a message
// edited or removed), a branch begins there, or the branch that says the same is followed. What was on the other branch stays.

import { isBaseMessage, type BaseMessage } from "@langchain/core/messages";
import type { Threadkeep } from "../../../threadkeep.js";
import type { NodeInfo } from "../../../lost.js";
import type { MessageInput } from "../../../message.js";
import { Queues } from "../queues.js";
import { allFromLangChain } from "./messages.js";
import { same } from "../json.js";

/** How many threads' last lists are remembered, so that one that grew is not read again. */
const THREADS = 32;

/** What a thread's head was pointed at last, and for which messages. */
interface Last {
  leaf: string;
  messages: readonly BaseMessage[];
}

interface State {
  /** Mirrorings of a thread come one after the other. */
  turns: Queues;
  last: Map<string, Last>;
}

const states = new WeakMap<Threadkeep, State>();

/** Whether a channel's value is a list of messages. */
export function isMessages(value: unknown): value is BaseMessage[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isBaseMessage(item));
}

/** Makes the conversation at the head `thread` say what `messages` say. */
export async function mirror(keep: Threadkeep, thread: string, messages: readonly BaseMessage[]): Promise<void> {
  return mirrored(keep, thread, messages, async () => {});
}

/**
 * Does the same, and then `work`, while the head stays where it is: agents that run side by side in one thread have lists of their own.
 *
 * @returns what `work` gives
 */
export async function mirrored<T>(keep: Threadkeep, thread: string, messages: readonly BaseMessage[], work: () => Promise<T>): Promise<T> {
  let state = states.get(keep);
  if (state === undefined) states.set(keep, (state = { turns: new Queues(), last: new Map() }));
  const { turns, last } = state;
  const list = [...messages];
  return turns.run(thread, async () => {
    await follow(keep, last, thread, list);
    return work();
  });
}

async function follow(keep: Threadkeep, known: Map<string, Last>, thread: string, messages: BaseMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const head = await keep.thread(thread).head();
  const last = known.get(thread);
  let leaf: string;
  if (head !== null && last?.leaf === head.id && last.messages.length <= messages.length && last.messages.every((message, at) => message === messages[at]))
    leaf = await go(keep, thread, head.id, head.id, allFromLangChain(messages, last.messages.length));
  else leaf = await find(keep, thread, head, allFromLangChain(messages));
  known.delete(thread);
  known.set(thread, { leaf, messages });
  const [oldest] = known.keys();
  if (known.size > THREADS && oldest !== undefined) known.delete(oldest);
}

async function find(keep: Threadkeep, thread: string, head: NodeInfo | null, wanted: MessageInput[]): Promise<string> {
  if (head === null) return grow(keep, thread, "", wanted);
  const chain = await keep.chain(head.id);
  // Nodes that say what the list says, as far as both go. A conversation that began with an append has an empty root.
  let nodes = 0;
  let at = 0;
  for (let node = chain[0]; node !== undefined && says(node, wanted, at); node = chain[nodes]) {
    at += node.messages.length;
    nodes += 1;
  }
  if (nodes === 0) return begin(keep, thread, wanted);
  return go(keep, thread, head.id, (chain[nodes - 1] as NodeInfo).id, wanted.slice(at));
}

/** From a node on: first where others say the same, then appending. */
async function go(keep: Threadkeep, thread: string, head: string, from: string, wanted: MessageInput[]): Promise<string> {
  let leaf = from;
  let at = 0;
  while (at < wanted.length) {
    const next = (await keep.at(leaf).children()).find((child) => child.messages.length > 0 && says(child, wanted, at));
    if (next === undefined) break;
    at += next.messages.length;
    leaf = next.id;
  }
  const more = wanted.slice(at);
  // In one commit: a crash in between would leave the beginning alone.
  if (more.length > 0) return ((await keep.thread(thread).append(more, { after: leaf })).at(-1) as NodeInfo).id;
  if (leaf !== head) await keep.thread(thread).moveTo(leaf);
  return leaf;
}

/** Appends at the head; gives the new leaf. */
async function grow(keep: Threadkeep, thread: string, leaf: string, messages: MessageInput[]): Promise<string> {
  const nodes = messages.length === 0 ? [] : await keep.thread(thread).append(messages);
  return nodes.at(-1)?.id ?? leaf;
}

/** Points the head at a conversation of its own: the list has nothing in common with the one before. */
async function begin(keep: Threadkeep, thread: string, messages: MessageInput[]): Promise<string> {
  const passing = `${thread.slice(0, 100)}/${crypto.randomUUID()}`;
  const leaf = await grow(keep, passing, "", messages);
  await keep.thread(thread).moveTo(leaf);
  // Only the passing name goes: what it points at belongs to the head.
  await keep.thread(passing).clear();
  return leaf;
}

/** Whether a node says what the list says from `at` on. */
function says({ messages }: NodeInfo, wanted: readonly MessageInput[], at: number): boolean {
  return at + messages.length <= wanted.length && messages.every((message, index) => same(message, wanted[at + index]));
}
