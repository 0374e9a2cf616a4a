// Sends one conversation to a service, from where it was left to its head, batch by batch, and notes what arrived. For a service that
// would double what is sent twice, each sending is noted before it begins; one that ended in the dark is asked about.

import { unique } from "../../digest.js";
import { ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { StoreRecord } from "../../stores/adapter.js";
import { isRefused, limited, serviceError } from "../failure.js";
import type { MemoryBatch, MemoryService } from "../types.js";
import type { Notes } from "./notes.js";
import { plan, type Item, type Plan } from "./plan.js";
import type { Intent, Mark, Sent } from "./sent.js";

/** What a sending may take beyond its time limit. */
const MARGIN = 1_000;
const HOUR = 3_600_000;

/** Is told of messages that the service does not want. */
type OnSkipped = (error: unknown, failure: { operation: string; thread: string; skipped: string[] }) => void;

/** Sends to one service. */
export class Sender {
  readonly #keep: Threadkeep;
  readonly #memory: MemoryService;
  readonly #notes: Notes;
  readonly #batchSize: number;
  readonly #timeout: number;
  readonly #skipped: OnSkipped;
  readonly #owner = unique();

  constructor(keep: Threadkeep, memory: MemoryService, notes: Notes, how: { batchSize: number; timeout: number }, skipped: OnSkipped) {
    this.#keep = keep;
    this.#memory = memory;
    this.#notes = notes;
    this.#batchSize = how.batchSize;
    this.#timeout = how.timeout;
    this.#skipped = skipped;
  }

  /** What is still to be sent of a conversation; nothing where it has no head. `node` is the head's, if that cannot grow. */
  async plan(thread: string): Promise<{ plan: Plan; sent: Sent; node: string } | undefined> {
    const head = await this.#keep.thread(thread).head();
    if (head === null) return undefined;
    const sent = await this.#notes.sent(head.transcript);
    const found = await plan(this.#keep, head, thread, sent, (message) => this.#memory.takes?.(message) ?? true);
    return { plan: found, sent, node: head.sealed ? head.id : "" };
  }

  /** Sends what a conversation has; how many messages that was. @throws ThreadkeepError `memory-service`; `conflict` when another was first */
  async send(thread: string, signal: AbortSignal): Promise<number> {
    const head = await this.#keep.thread(thread).head();
    if (head === null) return 0;
    const known = await this.#notes.sent(head.transcript);
    if (known.intent !== undefined) await this.#settle(known, known.intent, signal);
    const found = await this.plan(thread);
    if (found === undefined) return 0;
    const { plan, sent, node } = found;
    const done = await this.#notes.registered({ thread, session: sent.session ?? thread, transcript: head.transcript, ...(node === "" ? {} : { node }) });
    const batches = inBatches(plan.items, this.#batchSize);
    let root = plan.root;
    let count = 0;
    for (const [index, items] of batches.entries()) {
      await this.#batch(thread, sent, { ...plan, items, ...(root === undefined ? {} : { root }) }, index === batches.length - 1 ? [done] : [], signal);
      count += items.filter(({ message }) => message !== undefined).length;
      root = undefined;
    }
    return count;
  }

  /** Sends one batch, and stores that it was sent. */
  async #batch(thread: string, sent: Sent, { items, branch, root }: Plan, more: StoreRecord[], signal: AbortSignal): Promise<void> {
    const messages = items.flatMap(({ message }) => (message === undefined ? [] : [message]));
    if (messages.length > 0) {
      const batch: MemoryBatch = {
        thread,
        session: sent.session ?? thread,
        token: unique(),
        ...(branch === "" ? {} : { branch: { name: branch, ...(root === undefined ? {} : { root }) } }),
        messages,
      };
      const added = new Set<string>();
      try {
        if (!this.#memory.idempotent) await sent.begin(this.#intent(batch, branch, items));
        await this.#call("add", signal, (inner) => this.#memory.add(batch, { signal: inner, timeout: this.#timeout, onAdded: (id) => void added.add(id) }));
      } catch (error) {
        const arrived = prefix(items, added);
        if (this.#memory.idempotent && arrived.length > 0) await sent.mark(branch, thread, arrived);
        if (!isRefused(error)) {
          if (!this.#memory.idempotent && !mayGoOn(error)) await sent.begin({ ...this.#intent(batch, branch, items), until: 0 });
          throw error;
        }
        const left = items.slice(this.#memory.idempotent ? arrived.length : 0);
        const [only] = left;
        if (left.length === 1 || messages.length === 1) {
          // Asking again will not help, and what comes after it shall not wait for ever.
          const skipped = left.flatMap(({ message }) => (message === undefined ? [] : [message.id]));
          this.#skipped(error, { operation: "add", thread, skipped });
          if (only !== undefined)
            await sent.mark(
              branch,
              thread,
              left.map(({ mark }) => mark),
              more,
            );
          return;
        }
        // One of them it does not want: which one shows when they come one by one.
        for (const [at, item] of left.entries())
          await this.#batch(
            thread,
            sent,
            { items: [item], branch, ...(root !== undefined && at === 0 ? { root } : {}) },
            at === left.length - 1 ? more : [],
            signal,
          );
        return;
      }
    }
    await sent.mark(
      branch,
      thread,
      items.map(({ mark }) => mark),
      more,
    );
  }

  #intent({ token, thread }: MemoryBatch, branch: string, items: readonly Item[]): Intent {
    return { owner: this.#owner, until: Date.now() + this.#timeout + MARGIN, token, thread, branch, marks: items.map(({ mark }) => mark) };
  }

  /** A sending began and nobody knows how it ended: the service is asked. */
  async #settle(sent: Sent, { owner, until, token, thread, branch, marks }: Intent, signal: AbortSignal): Promise<void> {
    const left = until - Date.now();
    // An hour is no time limit but a clock that was set back.
    if (owner !== this.#owner && left > 0 && left < HOUR)
      throw serviceError(this.#memory.name, "add", "busy", "another process is sending this conversation", undefined, { until });
    const scope = { thread, session: sent.session ?? thread };
    const arrived =
      (await this.#call("has", signal, async (inner) => this.#memory.has?.(scope, token, { signal: inner, timeout: this.#timeout }) ?? false)) === true;
    if (arrived) await sent.mark(branch, thread, marks);
    else await sent.forgetIntent();
  }

  #call<T>(operation: string, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return limited(this.#memory.name, operation, { signal, timeout: this.#timeout }, call);
  }
}

/** Whether a call that failed may still be under way: then others do not ask yet how it ended. */
function mayGoOn(error: unknown): boolean {
  return !(error instanceof ThreadkeepError) || error.code !== "memory-service" || error.details["reason"] === "timeout";
}

/** Those of the first items that are known to have arrived. */
function prefix(items: readonly Item[], added: ReadonlySet<string>): Mark[] {
  const end = items.findIndex(({ message }) => message !== undefined && !added.has(message.id));
  return (end === -1 ? items : items.slice(0, end)).map(({ mark }) => mark);
}

/** Items in runs of at most `size` messages. */
function inBatches(items: readonly Item[], size: number): Item[][] {
  const found: Item[][] = [];
  let count = size;
  for (const item of items) {
    if (count >= size && (item.message !== undefined || found.length === 0)) {
      found.push([]);
      count = 0;
    }
    found.at(-1)?.push(item);
    if (item.message !== undefined) count += 1;
  }
  return found;
}
