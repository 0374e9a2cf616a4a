// The session: the Agents SDK's items at a head of a keep. Adding appends to the chain; whatever takes back or replaces
// begins a branch, to which the session moves in one step, so that no history is ever lost or half there.

import type { AgentInputItem, Session, SessionHistoryMutation, SessionHistoryTransaction } from "@openai/agents-core";
import * as check from "../../check.js";
import { ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { NodeInfo } from "../../lost.js";
import { canonical } from "./codec.js";
import { itemsByMessage, toMessages } from "./messages.js";
import { checkItems, replaced, transactionOf } from "./transactions.js";
import { Writer, type Operation } from "./writer.js";
import { Positions, type PastHistory, type Position } from "./position.js";

/** Options of {@link ThreadkeepSession}. */
export interface ThreadkeepSessionOptions {
  /** The session's id, by which a later process finds it again; a new one without it. */
  sessionId?: string;
  /** The name of its thread; the session's id without it. An existing thread is continued, whoever wrote it. */
  thread?: string;
}

/** What {@link ThreadkeepSession.applyHistoryTransaction} takes. */
export interface HistoryTransaction {
  /** A name that stays the same when the transaction is tried again. */
  operationId: string;
  /** Items to append, or a suffix to replace. */
  transaction: SessionHistoryTransaction;
}

/** The history as it is, by nodes. */
interface History {
  position: Position;
  nodes: NodeInfo[];
  items: AgentInputItem[][];
}

const OPTIONS = { sessionId: check.id, thread: check.id } as const;
/**
 * A session of `@openai/agents` in a keep: pass it to `run`. Items come back exactly as they were added, and are messages of the
 * keep at the same time, so that search, budgets, compaction and the page see them. Sessions of one id share their history,
 * in one process or several.
 *
 * @example
 * ```ts
 * const session = new ThreadkeepSession(keep, { sessionId: "ann" });
 * await run(agent, "What did I ask you yesterday?", { session });
 * ```
 */
export class ThreadkeepSession implements Session {
  /** The keep that it lies in. */
  readonly keep: Threadkeep;
  /** The name of its thread: `keep.thread(session.thread)` makes its prompts and compacts it. */
  readonly thread: string;
  readonly #sessionId: string;
  readonly #positions: Positions;
  readonly #writer: Writer;

  /**
   * @throws ThreadkeepError `bad-request` for an option that is not known or not what it must be
   */
  constructor(keep: Threadkeep, options?: ThreadkeepSessionOptions) {
    const { sessionId, thread } = check.options(options, "options", OPTIONS) as ThreadkeepSessionOptions;
    this.keep = keep;
    this.#sessionId = sessionId ?? thread ?? crypto.randomUUID();
    this.thread = thread ?? this.#sessionId;
    this.#positions = new Positions(keep, this.thread);
    this.#writer = new Writer(keep, this.thread, this.#positions);
  }

  /** The session's id. */
  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /**
   * The items, oldest first; with a limit, the newest so many, and none for a limit of 0 or less.
   *
   * @throws ThreadkeepError the storage's codes
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const items = (await this.#history()).items.flat();
    return limit === undefined ? items : items.slice(Math.max(items.length - limit, 0));
  }

  /**
   * Adds items at the end, all of them or none.
   *
   * @throws ThreadkeepError `bad-request` for what is no list of items, or no plain data; the storage's codes
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    checkItems(items, "items");
    const messages = toMessages(items);
    if (messages.length > 0) await this.#writer.append(messages);
  }

  /** Takes the newest item off, and gives it; `undefined` where there is none. It stays on the branch that is left. */
  async popItem(): Promise<AgentInputItem | undefined> {
    let popped: AgentInputItem | undefined;
    await this.#rewrite("pop", (items) => {
      popped = items.at(-1);
      return popped === undefined ? undefined : items.slice(0, -1);
    });
    return popped;
  }

  /** Empties the session. What was in it stays in the keep, as a branch that {@link ThreadkeepSession.past} names; {@link ThreadkeepSession.erase} deletes. */
  async clearSession(): Promise<void> {
    await this.#writer.branch(async (position) => {
      const { nodes, items } = await this.#history(position);
      const kept = common(items, []);
      return { parent: nodes[kept - 1]?.id ?? null, messages: [], forget: true, ...(kept < nodes.length ? { reason: "clear" } : {}) };
    });
  }

  /**
   * Appends items, or replaces the newest ones, in one step and once: the same transaction under the same name again does nothing.
   *
   * @throws ThreadkeepError `bad-request` for a transaction that is none, `id-taken` where another one was carried out under its name,
   * `conflict` where the history does not end as it expects; nothing has changed then. The storage's codes
   */
  async applyHistoryTransaction(args: HistoryTransaction): Promise<void> {
    const { operationId, transaction } = transactionOf(args);
    const what = canonical(transaction);
    const due = async (): Promise<boolean> => {
      const done = await this.#positions.operation(operationId);
      if (done !== undefined && done !== what)
        throw new ThreadkeepError("id-taken", "another transaction was carried out under this operationId", { operationId });
      return done === undefined;
    };
    const operation = [operationId, what] as const;
    if (transaction.type === "append_items" && transaction.items.length > 0) {
      await this.#writer.append(toMessages(transaction.items), operation, due);
      return;
    }
    const [expected, replacement] = transaction.type === "append_items" ? [[], []] : [transaction.expectedSuffix, transaction.replacement];
    const plan = (items: AgentInputItem[]): AgentInputItem[] => {
      const start = items.length - expected.length;
      if (start < 0 || canonical(items.slice(start)) !== canonical(expected))
        throw new ThreadkeepError("conflict", "the session's history does not end as the transaction expects", { operationId });
      return [...items.slice(0, start), ...replacement];
    };
    await this.#rewrite("transaction", plan, { operation, due });
  }

  /** Replaces calls in the history, as the SDK does when a call's arguments were changed on approval. */
  async applyHistoryMutations({ mutations }: { mutations: SessionHistoryMutation[] }): Promise<void> {
    if (mutations.length === 0) return;
    await this.#rewrite("mutation", (items) => mutations.reduce(replaced, items));
  }

  /** Replaces the whole history by a compacted one, in one step. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    checkItems(items, "items");
    await this.#rewrite("compaction", () => items);
  }

  /**
   * Replaces the beginning of the history by other items, in one step; what was added behind it meanwhile stays.
   *
   * @throws ThreadkeepError `conflict` where the history does not begin like that
   */
  async replaceBeginning(beginning: AgentInputItem[], replacement: AgentInputItem[]): Promise<void> {
    await this.#rewrite("compaction", (items) => {
      if (canonical(items.slice(0, beginning.length)) !== canonical(beginning))
        throw new ThreadkeepError("conflict", "the session's history does not begin as expected", { session: this.#sessionId });
      return [...replacement, ...items.slice(beginning.length)];
    });
  }

  /** The histories that were left by taking back, replacing and clearing, oldest first: `keep.chain(leaf)` has each. */
  async past(): Promise<PastHistory[]> {
    return this.#positions.past();
  }

  /**
   * Goes to another node of the keep: a past history, another branch, an imported conversation. The items from there on are
   * the session's. (A thread that is moved by `moveTo` of the keep alone is moved back.)
   *
   * @throws ThreadkeepError `missing-node`
   */
  async moveTo(nodeId: string): Promise<void> {
    const target = await this.keep.node(nodeId);
    if (target === null) throw new ThreadkeepError("missing-node", `there is no node ${nodeId}`, { node: nodeId });
    await this.#writer.branch(async (position) => {
      const from = position.leaf === null ? null : await this.keep.node(position.leaf);
      // Numbers count up within a transcript.
      const seq = from?.transcript === target.transcript ? undefined : target.seq;
      return { parent: target.id, messages: [], seq, reason: position.leaf === null ? undefined : "move" };
    });
  }

  /**
   * Deletes the session for good: all its transcripts with all branches, and its records.
   *
   * @returns how many messages were deleted
   */
  async erase(): Promise<number> {
    return this.#writer.alone(async () => {
      const position = await this.#positions.read();
      const leaves = [position.leaf, ...(await this.#positions.past()).map(({ leaf }) => leaf)];
      const nodes = await Promise.all(leaves.map((leaf) => (leaf === null ? null : this.keep.node(leaf))));
      let deleted = 0;
      for (const transcript of new Set(nodes.flatMap((node) => (node === null ? [] : [node.transcript]))))
        deleted += await this.keep.transcript(transcript).delete();
      await this.#positions.erase();
      return deleted;
    });
  }

  async #history(position?: Position): Promise<History> {
    const at = position ?? (await this.#positions.read());
    const nodes = at.leaf === null ? [] : await this.keep.chain(at.leaf);
    // Names of tools come from the calls above, so the chain is read as a whole.
    const messages = nodes.flatMap((node) => node.messages);
    const all = itemsByMessage(messages);
    let next = 0;
    return { position: at, nodes, items: nodes.map((node) => node.messages.flatMap(() => all[next++] ?? [])) };
  }

  /** Makes another list of the items: what both begin with stays, and the rest is a branch below it. */
  async #rewrite(
    reason: string,
    plan: (items: AgentInputItem[]) => AgentInputItem[] | undefined,
    named?: { operation: Operation; due: () => Promise<boolean> },
  ): Promise<void> {
    await this.#writer.branch(async (position) => {
      if (named !== undefined && !(await named.due())) return undefined;
      const { nodes, items } = await this.#history(position);
      const after = plan(items.flat());
      if (after === undefined) return undefined;
      const kept = common(items, after);
      const rest = after.slice(items.slice(0, kept).flat().length);
      const left = kept < nodes.length;
      if (rest.length === 0 && !left && named === undefined) return undefined;
      return { parent: nodes[kept - 1]?.id ?? null, messages: toMessages(rest), operation: named?.operation, reason: left ? reason : undefined };
    });
  }
}

/** How many nodes of the history are also the beginning of `after`, each whole. */
function common(items: readonly AgentInputItem[][], after: readonly AgentInputItem[]): number {
  let at = 0;
  for (const [index, own] of items.entries()) {
    // Most are the very objects that were read.
    const isSame = own.every((item, position) => item === after[at + position]);
    if (!isSame && canonical(own) !== canonical(after.slice(at, at + own.length))) return index;
    at += own.length;
  }
  return items.length;
}
