// Threads: all there are, one with its messages, and the versions of a node.

import { useCallback, useMemo } from "react";
import type { ChangeEvent } from "../../events.js";
import type { Thread } from "../../handles/thread.js";
import type { NodeInfo } from "../../lost.js";
import type { Message } from "../../message.js";
import type { ThreadInfo, TreeNode } from "../../generated/node.js";
import { useLive, type Loaded, type Query } from "./live.js";
import { useKeep } from "./provider.js";

/** A thread and its messages, kept current. */
export interface ThreadState {
  /** `ready` also for a thread that nobody has begun: it has no messages. */
  readonly status: Loaded<unknown>["status"];
  /** Why it cannot be read. */
  readonly error: Error | undefined;
  /** The nodes from the root to the thread's head. */
  readonly nodes: readonly NodeInfo[];
  /** The messages of the nodes. */
  readonly messages: readonly Message[];
  /** The handle, to append, edit, fork and more; `undefined` until the keep is open. */
  readonly thread: Thread | undefined;
}

/** The versions of a node: what stands beside it under the same parent, for a switch between them. */
export interface BranchState {
  readonly status: Loaded<unknown>["status"];
  /** Why they cannot be read, or the thread could not be moved. */
  readonly error: Error | undefined;
  /** The ids of the versions, oldest first; the node itself is one. */
  readonly versions: readonly string[];
  /** Which of them is the node; -1 until they are read, or where the node is in another transcript. */
  readonly index: number;
  /** Moves the thread to the newest message below the version at this index. An index that there is not does nothing. */
  choose(index: number): Promise<void>;
}

/** What the keys of threads that are read begin with. */
export const THREAD = "thread ";
const NO_NODES: readonly NodeInfo[] = [];
const NO_VERSIONS: readonly string[] = [];

/** Whether a change may move a thread or change its transcript. */
function concernsThread(name: string, event: ChangeEvent, transcript: string | undefined): boolean {
  if (event.type === "head") return event.name === name;
  if (event.type === "changed" || event.type === "deleted") return event.transcript === transcript;
  return event.type === "cleared";
}

/** Whether a change may concern which threads there are, or what is in them. */
export function concernsAll({ type }: ChangeEvent): boolean {
  return type === "head" || type === "changed" || type === "deleted" || type === "cleared";
}

const THREADS: Query<ThreadInfo[]> = { key: "threads", read: (keep) => keep.threads(), concerns: concernsAll };

/**
 * All threads, kept current.
 *
 * @example
 * ```jsx
 * const { value: threads = [] } = useThreads();
 * ```
 */
export function useThreads(): Loaded<ThreadInfo[]> {
  return useLive(useKeep().keep, THREADS);
}

/**
 * A thread with its messages. Another tab's messages, and an agent's, appear by themselves.
 *
 * @param name the thread's name
 *
 * @example
 * ```jsx
 * const { messages, thread } = useThread("ann-42");
 * const say = (content) => thread.append([{ role: "user", content }]);
 * return messages.map((message, at) => <p key={at}>{message.content}</p>);
 * ```
 */
export function useThread(name: string): ThreadState {
  const { keep } = useKeep();
  const { status, value, error } = useLive<readonly NodeInfo[]>(keep, {
    key: THREAD + name,
    async read(keep) {
      const head = await keep.thread(name).head();
      return head === null ? NO_NODES : keep.chain(head.id);
    },
    concerns: (event, nodes) => concernsThread(name, event, nodes?.at(-1)?.transcript),
  });
  const thread = useMemo(() => keep?.thread(name), [keep, name]);
  const nodes = value ?? NO_NODES;
  const messages = useMemo(() => nodes.flatMap((node) => node.messages), [nodes]);
  return { status, error, nodes, messages, thread };
}

/** The tree in which a thread is. */
interface Tree {
  transcript: string;
  /** The children of each node, by its id, and the roots by `null`; oldest first. */
  children: Map<string | null, string[]>;
  parents: Map<string, string | null>;
}

function treeOf(transcript: string, rows: readonly TreeNode[]): Tree {
  const tree: Tree = { transcript, children: new Map(), parents: new Map() };
  for (const { id, parent } of rows) {
    tree.parents.set(id, parent);
    const siblings = tree.children.get(parent);
    if (siblings === undefined) tree.children.set(parent, [id]);
    else siblings.push(id);
  }
  return tree;
}

/** The newest node at or below one. Rows stand in the order in which their nodes were made, so a node comes after its parent. */
function newestBelow(rows: readonly TreeNode[], id: string): string {
  const inside = new Set([id]);
  let newest = id;
  for (const row of rows) {
    if (row.parent === null || !inside.has(row.parent)) continue;
    inside.add(row.id);
    newest = row.id;
  }
  return newest;
}

/**
 * The versions of a node of a thread: other answers to the same question, other wordings of a question.
 *
 * @param name the thread's name
 * @param nodeId the node, one of {@link ThreadState.nodes}
 *
 * @example
 * ```jsx
 * const { versions, index, choose } = useBranch("ann-42", node.id);
 * if (versions.length > 1) return <button onClick={() => choose(index + 1)}>{index + 1} of {versions.length}</button>;
 * ```
 */
export function useBranch(name: string, nodeId: string): BranchState {
  const { keep } = useKeep();
  const { status, value, error } = useLive<Tree | undefined>(keep, {
    key: `tree ${name}`,
    async read(keep) {
      const head = await keep.thread(name).head();
      return head === null ? undefined : treeOf(head.transcript, await keep.transcript(head.transcript).tree());
    },
    concerns: (event, tree) => concernsThread(name, event, tree?.transcript),
  });
  const parent = value?.parents.get(nodeId);
  const versions = (parent === undefined ? undefined : value?.children.get(parent)) ?? NO_VERSIONS;
  const transcript = value?.transcript;
  const choose = useCallback(
    async (index: number): Promise<void> => {
      const version = versions[index];
      if (keep === undefined || transcript === undefined || version === undefined) return;
      // Read anew: another tab may have gone on below it.
      const rows = await keep.transcript(transcript).tree();
      await keep.thread(name).moveTo(newestBelow(rows, version));
    },
    [keep, name, transcript, versions],
  );
  return { status, error, versions, index: versions.indexOf(nodeId), choose };
}
