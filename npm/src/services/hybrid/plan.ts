// What of a conversation is still to be sent to a service, in order, and on which branch of the session it lies. Reads the keep
// from the head up to the first node that was sent, so that a long conversation with one new message costs two reads.

import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import type { Message } from "../../message.js";
import type { MemoryMessage } from "../types.js";
import type { Mark, Sent } from "./sent.js";

/** After so many single nodes the whole chain is read. */
const STEPS = 64;

/** One message that is still to be dealt with, and how far its node has got then. A node may also be marked without a message. */
export interface Item {
  message?: MemoryMessage;
  mark: Mark;
}

/** What is still to be sent. */
export interface Plan {
  /** In order; those without a message are only marked. */
  items: Item[];
  /** The name of the branch; `""` for the first. */
  branch: string;
  /** Where a new branch leaves another: the id of a message. */
  root?: string;
}

/** What the chain that ends at `head` has and the service was not sent. */
export async function plan(keep: Threadkeep, head: NodeInfo, thread: string, sent: Sent, takes: (message: Message) => boolean): Promise<Plan> {
  const { nodes, above } = await unsent(keep, head, sent);
  const items = nodes.flatMap((node) => itemsOf(node, sent.growing(node.seq), takes));
  const first = nodes[0];
  if (first === undefined || items.length === 0) return { items: [], branch: "" };
  // A node that grew goes on where it was; any other where its parent ended.
  const end = sent.growing(first.seq) > 0 ? first.seq : above?.seq;
  const branches = Object.entries(sent.branches);
  const same = branches.find(([, branch]) => branch.seq === end && branch.context === thread);
  if (branches.length === 0 || same !== undefined) return { items, branch: same?.[0] ?? "" };
  const last = (above?.messages.length ?? 0) - 1;
  return { items, branch: unused(thread, sent), ...(above === null || last < 0 ? {} : { root: idOf(above.id, last) }) };
}

/** The id of a message: its node's, with its place in the node where that is not the first. */
export function idOf(node: string, part: number): string {
  return part === 0 ? node : `${node}#${part}`;
}

async function unsent(keep: Threadkeep, head: NodeInfo, sent: Sent): Promise<{ nodes: NodeInfo[]; above: NodeInfo | null }> {
  const found: NodeInfo[] = [];
  let chain: NodeInfo[] | undefined;
  for (let node: NodeInfo | null = head; node !== null; ) {
    if (await sent.has(node.seq)) return { nodes: found.reverse(), above: node };
    found.push(node);
    if (node.parent === null) break;
    if (found.length === STEPS) chain = await keep.chain(head.id);
    node = chain === undefined ? await keep.node(node.parent) : (chain[chain.length - 1 - found.length] ?? null);
  }
  return { nodes: found.reverse(), above: null };
}

function itemsOf(node: NodeInfo, from: number, takes: (message: Message) => boolean): Item[] {
  const count = node.messages.length;
  const items = node.messages.slice(from).map((message, at): Item => {
    const part = from + at;
    const mark = { seq: node.seq, messages: part + 1, whole: node.sealed && part + 1 === count };
    if (!takes(message)) return { mark };
    return { message: { id: idOf(node.id, part), node: node.id, part, createdAt: node.createdAt, message }, mark };
  });
  // Nothing new, but complete now.
  if (items.length === 0 && node.sealed) return [{ mark: { seq: node.seq, messages: count, whole: true } }];
  return items;
}

/** A name that no branch of the session has. `main` is what the first one is called elsewhere. */
function unused(thread: string, sent: Sent): string {
  const taken = (name: string): boolean => name === "main" || Object.hasOwn(sent.branches, name);
  if (!taken(thread)) return thread;
  for (let at = 2; ; at += 1) if (!taken(`${thread}-${at}`)) return `${thread}-${at}`;
}
