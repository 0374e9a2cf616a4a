// A thread as assistant-ui has it, a tree of messages with ids and parents, read from the nodes of a transcript.

import { isObject } from "../../check.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { MessageInput } from "../../message.js";
import { Thread } from "../shared/ui/thread.js";
import type { Ui } from "../shared/ui/types.js";
import { unpack } from "./pack.js";

/** The field of our messages that belongs to assistant-ui. */
export const FIELD = "assistant_ui";

/** So many nodes are read one by one; more come with their chain. */
const FEW = 20;

/** What rides along with the first message of a stored message, or of what it grew by. */
export interface Ride {
  id: string;
  parent: string | null;
  format: string;
  /** The stored message, with pointers into ours. */
  content: unknown;
  run?: unknown;
  /** How many nodes it is. */
  covers: number;
  /** Whether it goes on with the nodes that the message had before. */
  grows?: true;
  /** The id that it had before. */
  was?: string;
}

/** A message of a thread. */
export interface Item {
  id: string;
  parentId: string | null;
  /** The format in which it is stored; `null` for what others wrote, as a message of the AI SDK. */
  format: string | null;
  content: unknown;
  run?: unknown;
  createdAt: number | null;
  /** Its nodes, those of the version that holds. */
  nodes: string[];
  /** What they say, without what rides along. */
  said: MessageInput[];
  /** The first nodes of all versions that there are. */
  starts: string[];
}

interface Slot {
  item: Item;
  children: string[];
}

/** A tree of messages; children in the order in which they came under their parent, as in assistant-ui's own. */
export class Tree {
  readonly #slots = new Map<string, Slot>();
  readonly #roots: string[] = [];
  /** The message of each node. */
  readonly #owners = new Map<string, string>();
  /** Ids that messages had before. */
  readonly #was = new Map<string, string>();
  /** The node before everything. */
  root: string | undefined;
  /** Where the head points. */
  leaf: string | null = null;

  /** The message of an id, also of one that it had before. */
  get(id: string): Item | undefined {
    return this.#slots.get(this.#was.get(id) ?? id)?.item;
  }

  /** The ids of a message's children; of the thread's first messages for `null`. */
  children(id: string | null): readonly string[] {
    return id === null ? this.#roots : (this.#slots.get(id)?.children ?? []);
  }

  /** All messages, parents before children. */
  all(): Item[] {
    const found: Item[] = [];
    const open = [...this.#roots].reverse();
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const slot = this.#slots.get(id) as Slot;
      found.push(slot.item);
      open.push(...[...slot.children].reverse());
    }
    return found;
  }

  /** The message at the end of the branch that is shown: at the head, or what came last below it. */
  head(): string | null {
    let id = this.leaf === null ? undefined : this.#owners.get(this.leaf);
    for (let below = this.children(id ?? null).at(-1); below !== undefined; below = this.children(below).at(-1)) id = below;
    return id ?? null;
  }

  /** The message to which a node belongs. */
  owner(node: string): string | undefined {
    return this.#owners.get(node);
  }

  /** The parents that messages ought to have and that were not there when they came. */
  readonly #wanted = new Map<string, string>();

  /** Has messages follow their parents that came after them. */
  settle(): void {
    for (const [id, parentId] of this.#wanted) {
      const item = this.get(id);
      if (item !== undefined && this.get(parentId) !== undefined) this.put({ ...item, parentId });
    }
  }

  /** Adds a message, or another version of one; `fallback` is the parent of one whose own is not there. */
  put(item: Item, was?: string, fallback: string | null = null): void {
    let parent = item.parentId === null ? null : (this.#was.get(item.parentId) ?? item.parentId);
    if (parent !== null && !this.#slots.has(parent)) {
      this.#wanted.set(item.id, parent);
      parent = fallback;
    }
    const before = this.#was.get(was ?? item.id) ?? was ?? item.id;
    const known = this.#slots.get(before);
    const made = { ...item, parentId: parent };
    for (const node of item.nodes) this.#owners.set(node, item.id);
    if (known === undefined) {
      this.#slots.set(item.id, { item: made, children: [] });
      this.#list(made.parentId).push(item.id);
      return;
    }
    const old = known.item;
    made.starts = [...new Set([...old.starts, ...item.starts])];
    for (const node of old.nodes) this.#owners.set(node, item.id);
    known.item = made;
    if (before !== item.id) this.#rename(before, item.id, known);
    if (old.parentId !== made.parentId && !this.#isBelow(made.parentId, item.id)) {
      const list = this.#list(old.parentId);
      list.splice(list.indexOf(item.id), 1);
      this.#list(made.parentId).push(item.id);
    } else made.parentId = old.parentId;
  }

  #rename(before: string, id: string, slot: Slot): void {
    this.#slots.delete(before);
    this.#slots.set(id, slot);
    this.#was.set(before, id);
    for (const [old, to] of this.#was) if (to === before) this.#was.set(old, id);
    const list = this.#list(slot.item.parentId);
    list[list.indexOf(before)] = id;
    for (const child of slot.children) (this.#slots.get(child) as Slot).item.parentId = id;
  }

  #list(parent: string | null): string[] {
    return parent === null ? this.#roots : (this.#slots.get(parent) as Slot).children;
  }

  #isBelow(id: string | null, above: string): boolean {
    for (let at = id; at !== null; at = this.#slots.get(at)?.item.parentId ?? null) if (at === above) return true;
    return false;
  }
}

/** Reads all branches of a thread's transcript; `undefined` if there is no such thread. */
export async function readTree(keep: Threadkeep, context: string): Promise<Tree | undefined> {
  const head = await keep.thread(context).head();
  if (head === null) return undefined;
  const rows = await keep.transcript(head.transcript).tree();
  const parents = new Map(rows.map(({ id, parent }) => [id, parent]));
  const inner = new Set(parents.values());
  const leaves = rows.flatMap(({ id }) => (inner.has(id) ? [] : [id]));
  const nodes = new Map<string, NodeInfo>();
  const chains: NodeInfo[][] = [];
  for (const leaf of leaves) {
    const path: string[] = [];
    for (let at: string | null = leaf; at !== null; at = parents.get(at) ?? null) path.push(at);
    path.reverse();
    // What branches share is read once.
    const missing = path.filter((id) => !nodes.has(id));
    const read = missing.length > FEW ? await keep.chain(path.at(-1) as string) : await Promise.all(missing.map((id) => keep.node(id)));
    for (const node of read) if (node !== null) nodes.set(node.id, node);
    chains.push(path.flatMap((id) => nodes.get(id) ?? []));
  }
  return grown(chains, head.id);
}

/** The tree of all chains of a transcript. */
function grown(chains: readonly NodeInfo[][], leaf: string): Tree {
  const nodes = new Map<string, NodeInfo>();
  for (const chain of chains) for (const node of chain) nodes.set(node.id, node);
  const inOrder = [...nodes.values()].sort((left, right) => left.seq - right.seq);
  const tree = new Tree();
  tree.leaf = leaf;
  tree.root = inOrder[0]?.id;
  const covered = coverage(inOrder);
  const others = foreign(chains, covered);
  const ids = new Map<string, string>();
  for (const node of inOrder) {
    const own = covered.get(node.id);
    if (own?.at(0) === node) tree.put(itemOf(own, tree), rideOf(node)?.was, node.parent === null ? null : (tree.owner(node.parent) ?? null));
    for (const { key, ui, parent, before, has } of others.get(node.id) ?? []) {
      // Messages of others may bear the same id in several branches.
      const id = ui.id !== "" && tree.get(ui.id) === undefined ? ui.id : key;
      ids.set(key, id);
      const parentId = parent === undefined ? (before === undefined ? null : (tree.owner(before) ?? null)) : (ids.get(parent) ?? null);
      tree.put({ id, parentId, format: null, content: ui, createdAt: node.createdAt, nodes: has, said: [], starts: [node.id] });
    }
  }
  tree.settle();
  return tree;
}

/** The nodes of each stored message or growth, by each of them. */
function coverage(inOrder: readonly NodeInfo[]): Map<string, NodeInfo[]> {
  const covered = new Map<string, NodeInfo[]>();
  const open = new Map<string, { nodes: NodeInfo[]; left: number }>();
  for (const node of inOrder) {
    const ride = rideOf(node);
    const going = node.parent === null ? undefined : open.get(node.parent);
    if (ride !== undefined) {
      const group = { nodes: [node], left: ride.covers - 1 };
      covered.set(node.id, group.nodes);
      if (group.left > 0) open.set(node.id, group);
    } else if (going !== undefined) {
      open.delete(node.parent as string);
      going.nodes.push(node);
      going.left -= 1;
      covered.set(node.id, going.nodes);
      if (going.left > 0) open.set(node.id, going);
    }
  }
  return covered;
}

function rideOf(node: NodeInfo): Ride | undefined {
  const ride = (node.messages[0] as unknown as Record<string, unknown> | undefined)?.[FIELD];
  return isObject(ride) && typeof ride["id"] === "string" && typeof ride["format"] === "string" ? (ride as unknown as Ride) : undefined;
}

function itemOf(nodes: readonly NodeInfo[], tree: Tree): Item {
  const first = nodes[0] as NodeInfo;
  const { id, parent, format, content, run, grows, was } = rideOf(first) as Ride;
  const before = grows === true ? tree.get(was ?? id) : undefined;
  const said = [...(before?.said ?? []), ...nodes.flatMap((node) => node.messages.map(bare))];
  return {
    id,
    parentId: parent,
    format,
    content: unpack(content, said),
    ...(run === undefined ? {} : { run }),
    createdAt: before?.createdAt ?? first.createdAt,
    nodes: [...(before?.nodes ?? []), ...nodes.map((node) => node.id)],
    said,
    starts: grows === true ? [] : [first.id],
  };
}

/** A message without what rides along. */
function bare(message: object): MessageInput {
  const { [FIELD]: _, ...said } = message as Record<string, unknown>;
  return said as MessageInput;
}

/** A message that others wrote. */
interface Other {
  /** Its node, and its place there where that has several. */
  key: string;
  ui: Ui;
  /** The message before it, where that is one of others, too. */
  parent: string | undefined;
  /** The node before it. */
  before: string | undefined;
  /** The nodes that it has. */
  has: string[];
}

/** What others wrote, by the node with which each of their messages begins. */
function foreign(chains: readonly NodeInfo[][], covered: ReadonlyMap<string, unknown>): Map<string, Other[]> {
  const found = new Map<string, Other[]>();
  for (const chain of chains) {
    let run: NodeInfo[] = [];
    let before: string | undefined;
    const end = (): void => {
      const { entries, nodes } = new Thread(run);
      let parent: string | undefined;
      entries.forEach((entry, at) => {
        const start = (nodes[entry.start] as NodeInfo).id;
        const place = entries.slice(0, at).filter((other) => other.start === entry.start).length;
        const key = place === 0 ? start : `${start}:${place}`;
        const next = Math.max(entries[at + 1]?.start ?? nodes.length, entry.start + 1);
        const has = nodes.slice(entry.start, next).map(({ id }) => id);
        const known = found.get(start) ?? [];
        found.set(start, known);
        if (known.every((other) => other.key !== key)) known.push({ key, ui: entry.ui, parent, before, has });
        parent = key;
      });
      run = [];
    };
    for (const node of chain) {
      if (covered.has(node.id)) {
        end();
        before = node.id;
      } else run.push(node);
    }
    end();
  }
  return found;
}
