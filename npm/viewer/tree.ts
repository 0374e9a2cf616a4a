// The threads of a shared file: lines of Threadkeep's own format in, trees out. The file was written by Threadkeep, so what is unusual is passed over.

import type { Message } from "../src/message.js";

/** A node of a tree. */
export interface Node {
  id: string;
  parent: Node | null;
  children: Node[];
  messages: Message[];
  createdAt: number | null;
  model: string | null;
  hidden: boolean;
  pinned: boolean;
  /** How many messages of users and assistants its chain has, with its own. */
  depth: number;
}

/** A thread. */
export interface Thread {
  id: string;
  title: string;
  nodes: Map<string, Node>;
  /** The end of the branch that its owner chose last. */
  leaf: Node | null;
}

interface Written {
  id: string;
  parent?: string;
  createdAt?: number;
  origin?: { model?: string };
  labels?: Record<string, string>;
  messages: Message[];
}

interface Line {
  transcript?: string;
  node?: Written;
  restored?: Written;
  extend?: { node: string; messages: Message[] };
  info?: { title?: string; leaf?: string };
  alias?: { id: string; node: string };
  pin?: string;
  unpin?: string;
}

/** All threads of a file. */
export function threads(text: string): Thread[] {
  const all: Thread[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const entry = JSON.parse(line) as Line;
    if (entry.transcript !== undefined) all.push({ id: entry.transcript, title: "", nodes: new Map(), leaf: null });
    const thread = all.at(-1);
    if (thread) apply(thread, entry);
  }
  for (const thread of all) settle(thread);
  return all.filter(({ nodes }) => nodes.size > 0);
}

function apply(thread: Thread, { node, restored, extend, info, alias, pin, unpin }: Line): void {
  const { nodes } = thread;
  if (node) grow(thread, node);
  if (restored) {
    const known = nodes.get(restored.id);
    if (known) known.messages = restored.messages;
  }
  if (extend) {
    const known = nodes.get(extend.node);
    known?.messages.push(...extend.messages);
    if (known) thread.leaf = known;
  }
  if (info?.title !== undefined) thread.title = info.title;
  const target = alias && nodes.get(alias.node);
  if (alias && target) nodes.set(alias.id, target);
  const leaf = info?.leaf === undefined ? undefined : nodes.get(info.leaf);
  if (leaf) thread.leaf = leaf;
  for (const [id, pinned] of [[pin, true] as const, [unpin, false] as const]) {
    const known = id === undefined ? undefined : nodes.get(id);
    if (known) known.pinned = pinned;
  }
}

function grow(thread: Thread, { id, parent: above, messages, createdAt, origin, labels }: Written): void {
  const parent = above === undefined ? null : (thread.nodes.get(above) ?? null);
  const node: Node = {
    id,
    parent,
    children: [],
    messages: [...messages],
    createdAt: createdAt ?? null,
    model: origin?.model ?? null,
    hidden: labels?.hidden === "true",
    pinned: false,
    depth: 0,
  };
  thread.nodes.set(id, node);
  parent?.children.push(node);
  thread.leaf = node;
}

/** Counts depths, parents first: a parent stands above its children in the file. */
function settle(thread: Thread): void {
  for (const node of thread.nodes.values()) {
    const own = node.messages.filter(({ role }) => role === "user" || role === "assistant").length;
    node.depth = (node.parent?.depth ?? 0) + own;
  }
  if (thread.leaf) thread.leaf = last(thread.leaf);
}

/** The end of the newest branch through a node. */
export function last(node: Node): Node {
  let end = node;
  for (let next = end.children.at(-1); next; next = end.children.at(-1)) end = next;
  return end;
}

/** The nodes from the root to this one. */
export function chain(leaf: Node | null): Node[] {
  const all: Node[] = [];
  for (let node = leaf; node; node = node.parent) all.push(node);
  return all.reverse();
}

/** The nodes that could stand where this one does: itself and its siblings. A thread's roots are siblings, too. */
export function siblings(thread: Thread, node: Node): Node[] {
  return node.parent ? node.parent.children : [...new Set(thread.nodes.values())].filter(({ parent }) => parent === null);
}
