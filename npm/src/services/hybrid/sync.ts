// Sends what a keep has to a memory service, in the background, one conversation at a time and each in order. What fails is tried
// again, later and later; what the service refuses for good is left out and said. Nothing here stands in the way of an append.

import { reportUncaught, ThreadkeepError } from "../../errors.js";
import { recordKey, recordRange } from "../../records.js";
import type { Threadkeep } from "../../threadkeep.js";
import type { Message } from "../../types/message.js";
import type { Records } from "../../types/records.js";
import type { StoreRecord } from "../../types/store.js";
import { asServiceError, isRefused, limited, serviceError } from "../failure.js";
import type { MemoryBatch, MemoryScope, MemoryService } from "../types.js";
import { plan, type Item, type Plan } from "./plan.js";
import { isConflict, keyPart, read, Sent, write, type Intent, type Mark } from "./sent.js";

/** When messages are sent: at once, in batches, or when the conversation ends. */
export type SyncStrategy = "immediate" | "batch" | "end-of-session";

/** What belongs to a failure. */
export interface MemoryFailure {
  /** What was being done: `add`, `remove`, `search`, … */
  operation: string;
  /** The conversation. */
  contextId: string;
  /** When it is tried again, in milliseconds since 1970, where it is. */
  retryAt?: number;
  /** Ids of messages that the service refused for good, and that are not sent again. They are in the keep all the same. */
  skipped?: string[];
}

/** Is told what a memory service could not do. */
export type OnMemoryError = (error: ThreadkeepError, failure: MemoryFailure) => void;

/** How it is sent. @internal */
export interface SyncOptions {
  strategy: SyncStrategy;
  batchSize: number;
  batchDelay: number;
  timeout: number;
  retryDelay: number;
  maxRetryDelay: number;
  onError: OnMemoryError | undefined;
}

/** How often somebody else may be first. */
const CONFLICTS = 5;
/** How often it is looked whether another process is done. */
const LOOK = 100;
/** What a sending of another process may take beyond its time limit. */
const MARGIN = 1_000;

/** What a conversation's own record holds. */
interface Registered {
  contextId: string;
  /** The session and the transcript, once something was sent. */
  session?: string;
  transcript?: string;
  /** The head's node when everything was sent. */
  node?: string;
}

/** The sending of one keep's conversations to one service. @internal */
export class Sync {
  readonly #keep: Threadkeep;
  readonly #memory: MemoryService;
  readonly #records: Records;
  readonly #options: SyncOptions;
  readonly #owner = token();
  readonly #registered = new Map<string, Promise<void>>();
  readonly #sent = new Map<string, Sent>();
  /** Conversations that have something new. */
  readonly #fresh = new Set<string>();
  /** Conversations that the background has to look at. */
  readonly #due = new Set<string>();
  /** Messages that wait for their batch. */
  #waiting = 0;
  #removals = false;
  #attempts = 0;
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #working: Promise<void> | undefined;
  #line: Promise<unknown> = Promise.resolve();
  #current: { contextId: string; controller: AbortController } | undefined;
  /** While it clears by itself: it knows then what is deleted. */
  #clearing = false;
  #closed = false;
  readonly #deaf: () => void;

  constructor(keep: Threadkeep, memory: MemoryService, options: SyncOptions) {
    this.#keep = keep;
    this.#memory = memory;
    this.#records = keep.records("hybrid");
    this.#options = options;
    this.#deaf = keep.on("change", (event) => {
      if (event.type === "cleared") {
        this.#sent.clear();
        this.#registered.clear();
      } else if (event.type === "deleted" && !this.#clearing) this.#deleted(event.transcript);
    });
  }

  /** Stores that a conversation is to be sent, before its first message is. Failing is no reason not to go on. */
  register(contextId: string): Promise<void> {
    let stored = this.#registered.get(contextId);
    if (stored === undefined) {
      stored = this.#register(contextId).catch((error: unknown) => {
        this.#registered.delete(contextId);
        this.#report(error, { operation: "register", contextId });
      });
      this.#registered.set(contextId, stored);
    }
    return stored;
  }

  async #register(contextId: string): Promise<void> {
    const key = await this.#contextKey(contextId);
    if ((await this.#records.get(key)) !== undefined) return;
    const registered: Registered = { contextId };
    await this.#records.commit({ puts: [[key, write(registered)]] });
  }

  /** Messages came. */
  appended(contextId: string, count: number): void {
    const { strategy, batchSize, batchDelay } = this.#options;
    if (this.#closed || count === 0) return;
    this.#fresh.add(contextId);
    this.#waiting += count;
    if (strategy === "immediate" || (strategy === "batch" && this.#waiting >= batchSize)) this.#work();
    else if (strategy === "batch" && this.#batchTimer === undefined) this.#batchTimer = later(batchDelay, () => this.#work());
  }

  /** Looks for what an earlier life did not send. Of conversations that end, nobody knows yet whether they did. */
  async resume(): Promise<void> {
    const unfinished = this.#options.strategy === "end-of-session" ? [] : await this.#unfinished();
    if (this.#closed) return;
    for (const contextId of unfinished) this.#due.add(contextId);
    await this.#exclusive(() => this.#vanished());
    this.#removals ||= (await this.#pendingRemovals()).length > 0;
    if (this.#due.size > 0 || this.#removals) this.#work();
  }

  /**
   * Sends everything there is: of one conversation, or of all that were ever registered, and carries out what was to be removed.
   * Stops at the first failure, and leaves the rest to the background.
   */
  async all(contextId: string | undefined, signal: AbortSignal | undefined): Promise<{ sent: number; error?: ThreadkeepError }> {
    let sent = 0;
    const contexts = contextId === undefined ? await this.#unfinished() : [contextId];
    let at = contextId ?? "";
    try {
      for (const one of contexts) {
        at = one;
        sent += await this.#exclusive(() => this.#context(one, signal, true));
        this.#fresh.delete(one);
        this.#due.delete(one);
      }
      await this.#exclusive(() => this.#remove(signal));
      [this.#attempts, this.#removals] = [0, false];
      return { sent };
    } catch (error) {
      const failure = asServiceError(error, this.#memory.name, "add");
      if (failure.code !== "cancelled") {
        for (const one of contexts) this.#due.add(one);
        this.#later(failure, { operation: "add", contextId: at });
      }
      return { sent, error: failure };
    }
  }

  /** How many messages of a conversation were not sent. */
  async pending(contextId: string): Promise<number> {
    const found = await this.#plan(contextId);
    return found === undefined ? 0 : found.plan.items.filter(({ message }) => message !== undefined).length;
  }

  /** The session of a conversation. */
  async scope(contextId: string): Promise<MemoryScope> {
    const head = await this.#keep.head(contextId);
    if (head === null) return { contextId, session: contextId };
    const sent = await this.#sentOf(head.transcript, contextId);
    return { contextId, session: sent.session };
  }

  /** Clears a conversation in the keep and in the service. What the service does not do now is remembered. */
  clear(contextId: string): Promise<{ messages: number; error?: ThreadkeepError }> {
    // What is under way for it need not end first.
    if (this.#current?.contextId === contextId) this.#current.controller.abort();
    this.#due.delete(contextId);
    this.#fresh.delete(contextId);
    return this.#exclusive(async () => {
      const head = await this.#keep.head(contextId);
      const scope = await this.scope(contextId);
      const key = await this.#toRemove(scope);
      this.#clearing = true;
      const messages = await this.#keep.clear(contextId).finally(() => (this.#clearing = false));
      await this.#records.commit({ deletes: [await this.#contextKey(contextId)] });
      this.#registered.delete(contextId);
      if (head !== null && (await this.#keep.node(head.transcript)) === null) {
        await (await this.#sentOf(head.transcript, contextId)).forget();
        this.#sent.delete(head.transcript);
      }
      try {
        await this.#removeOne(scope, key, undefined);
        return { messages };
      } catch (error) {
        const failure = asServiceError(error, this.#memory.name, "remove");
        this.#removals = true;
        this.#later(failure, { operation: "remove", contextId });
        return { messages, error: failure };
      }
    });
  }

  /** Ends the background. What is under way is broken off. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#deaf();
    clearTimeout(this.#batchTimer);
    clearTimeout(this.#retryTimer);
    this.#current?.controller.abort();
    await this.#line.catch(() => undefined);
  }

  /** Goes through what is due, in the background; after a failure only when its time has come. */
  #work(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    if (this.#options.strategy !== "end-of-session") {
      for (const contextId of this.#fresh) this.#due.add(contextId);
      this.#fresh.clear();
      this.#waiting = 0;
    }
    if (this.#working !== undefined || this.#retryTimer !== undefined || this.#closed) return;
    this.#working = this.#background().finally(() => {
      this.#working = undefined;
      // What came in while the last one ended.
      if (this.#due.size > 0) this.#work();
    });
  }

  async #background(): Promise<void> {
    while (!this.#closed) {
      const [contextId] = this.#due;
      if (contextId === undefined && !this.#removals) return;
      try {
        if (contextId !== undefined) {
          this.#due.delete(contextId);
          await this.#exclusive(() => this.#context(contextId, undefined, false));
        } else {
          await this.#exclusive(() => this.#remove(undefined));
          this.#removals = false;
        }
        this.#attempts = 0;
      } catch (error) {
        if (this.#closed || (error instanceof ThreadkeepError && error.code === "closed")) return;
        if (contextId !== undefined && (!(error instanceof ThreadkeepError) || error.code !== "cancelled")) this.#due.add(contextId);
        if (error instanceof ThreadkeepError && error.code === "cancelled") continue;
        this.#later(error, { operation: contextId === undefined ? "remove" : "add", contextId: contextId ?? "" });
        return;
      }
    }
  }

  /** Says what failed and when it is tried again. */
  #later(error: unknown, failure: MemoryFailure): void {
    const until = error instanceof ThreadkeepError ? (error.details["until"] as number | undefined) : undefined;
    const { retryDelay, maxRetryDelay } = this.#options;
    const delay = until === undefined ? Math.min(retryDelay * 2 ** this.#attempts, maxRetryDelay) : Math.min(Math.max(until - Date.now(), 1), retryDelay);
    if (until === undefined) this.#attempts += 1;
    clearTimeout(this.#retryTimer);
    if (!this.#closed)
      this.#retryTimer = later(delay, () => {
        this.#retryTimer = undefined;
        this.#work();
      });
    // Another process that sends is no failure.
    if (until === undefined) this.#report(error, { ...failure, retryAt: Date.now() + delay });
  }

  #report(error: unknown, failure: MemoryFailure): void {
    try {
      this.#options.onError?.(asServiceError(error, this.#memory.name, failure.operation), failure);
    } catch (thrown) {
      reportUncaught(thrown);
    }
  }

  /** One after the other: a conversation is never sent twice at the same time. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#line.then(work, work);
    this.#line = done.catch(() => undefined);
    return done;
  }

  /** Sends what a conversation has. With `patience` it waits for another process that is sending the same. */
  async #context(contextId: string, signal: AbortSignal | undefined, patience: boolean): Promise<number> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#current = { contextId, controller };
    try {
      for (let tries = 0; ; tries += 1)
        try {
          return await this.#send(contextId, controller.signal);
        } catch (error) {
          const until = error instanceof ThreadkeepError ? (error.details["until"] as number | undefined) : undefined;
          if (until !== undefined && patience) await wait(Math.min(until - Date.now(), LOOK), controller.signal);
          else if (!isConflict(error) || tries === CONFLICTS) throw error;
        }
    } finally {
      this.#current = undefined;
      signal?.removeEventListener("abort", abort);
    }
  }

  async #plan(contextId: string): Promise<{ plan: Plan; sent: Sent; node: string } | undefined> {
    const head = await this.#keep.head(contextId);
    if (head === null) return undefined;
    const sent = await this.#sentOf(head.transcript, contextId);
    return { plan: await plan(this.#keep, head, contextId, sent, (message) => this.#takes(message)), sent, node: head.sealed ? head.id : "" };
  }

  async #send(contextId: string, signal: AbortSignal): Promise<number> {
    const head = await this.#keep.head(contextId);
    if (head === null) return 0;
    const known = await this.#sentOf(head.transcript, contextId);
    if (known.intent !== undefined) await this.#settle(known, known.intent, signal);
    const found = await this.#plan(contextId);
    if (found === undefined) return 0;
    const { plan, sent, node } = found;
    const registered: Registered = { contextId, session: sent.session, transcript: head.transcript, ...(node === "" ? {} : { node }) };
    const done: StoreRecord = [await this.#contextKey(contextId), write(registered)];
    const batches = inBatches(plan.items, this.#options.batchSize);
    let root = plan.root;
    let count = 0;
    for (const [index, items] of batches.entries()) {
      await this.#batch(contextId, sent, { ...plan, items, ...(root === undefined ? {} : { root }) }, index === batches.length - 1 ? [done] : [], signal);
      count += items.filter(({ message }) => message !== undefined).length;
      root = undefined;
    }
    return count;
  }

  /** Sends one batch, and stores that it was sent. */
  async #batch(contextId: string, sent: Sent, { items, branch, root }: Plan, more: StoreRecord[], signal: AbortSignal): Promise<void> {
    const messages = items.flatMap(({ message }) => (message === undefined ? [] : [message]));
    if (messages.length > 0) {
      const batch: MemoryBatch = {
        contextId,
        session: sent.session,
        token: token(),
        ...(branch === "" ? {} : { branch: { name: branch, ...(root === undefined ? {} : { root }) } }),
        messages,
      };
      const added = new Set<string>();
      try {
        if (!this.#memory.idempotent) await sent.begin(this.#intent(batch, branch, items));
        await this.#call("add", signal, (inner) =>
          this.#memory.add(batch, { signal: inner, timeout: this.#options.timeout, onAdded: (id) => void added.add(id) }),
        );
      } catch (error) {
        const arrived = prefix(items, added);
        if (this.#memory.idempotent && arrived.length > 0) await sent.mark(branch, contextId, arrived);
        if (!isRefused(error)) {
          if (!this.#memory.idempotent && !mayGoOn(error)) await sent.begin({ ...this.#intent(batch, branch, items), at: 0 });
          throw error;
        }
        const left = items.slice(this.#memory.idempotent ? arrived.length : 0);
        const [only] = left;
        if (left.length === 1 || messages.length === 1) {
          // Asking again will not help, and what comes after it shall not wait for ever.
          const skipped = left.flatMap(({ message }) => (message === undefined ? [] : [message.id]));
          this.#report(error, { operation: "add", contextId, skipped });
          if (only !== undefined) await sent.mark(branch, contextId, left.map(({ mark }) => mark), more);
          return;
        }
        // One of them it does not want: which one shows when they come one by one.
        for (const [at, item] of left.entries())
          await this.#batch(contextId, sent, { items: [item], branch, ...(root !== undefined && at === 0 ? { root } : {}) }, at === left.length - 1 ? more : [], signal);
        return;
      }
    }
    await sent.mark(branch, contextId, items.map(({ mark }) => mark), more);
  }

  #intent({ token, contextId }: MemoryBatch, branch: string, items: readonly Item[]): Intent {
    return { owner: this.#owner, at: Date.now(), token, contextId, branch, marks: items.map(({ mark }) => mark) };
  }

  /** A sending began and nobody knows how it ended: the service is asked. */
  async #settle(sent: Sent, { owner, at, token, contextId, branch, marks }: Intent, signal: AbortSignal): Promise<void> {
    const until = at + this.#options.timeout + MARGIN;
    if (owner !== this.#owner && Date.now() < until)
      throw serviceError(this.#memory.name, "add", "busy", "another process is sending this conversation", undefined, { until });
    const scope = { contextId, session: sent.session };
    const arrived =
      (await this.#call("has", signal, async (inner) => this.#memory.has?.(scope, token, { signal: inner, timeout: this.#options.timeout }) ?? false)) === true;
    if (arrived) await sent.mark(branch, contextId, marks);
    else await sent.forgetIntent();
  }

  /** Something was deleted in the keep, by whomever: the service is to forget it too. */
  #deleted(transcript: string): void {
    const work = async (): Promise<void> => {
      const sent = await this.#sentOf(transcript, transcript);
      if (!sent.known) return;
      const { session } = sent;
      // Each may have an owner of its own there.
      const forks = (await this.#contexts()).filter((one) => one.session === session).map(({ contextId }) => contextId);
      for (const contextId of new Set([session, ...forks])) await this.#toRemove({ contextId, session });
      if ((await this.#keep.node(transcript)) === null) {
        await sent.forget();
        this.#sent.delete(transcript);
      }
      this.#removals = true;
      this.#work();
    };
    this.#exclusive(work).catch((error: unknown) => {
      if (!this.#closed) this.#report(error, { operation: "remove", contextId: "" });
    });
  }

  /** Conversations whose heads were removed while nobody looked: the service is to forget what is gone of them. */
  async #vanished(): Promise<void> {
    const heads = new Set((await this.#keep.heads()).map(({ context }) => context));
    for (const { contextId, session, transcript } of await this.#contexts()) {
      // One that was registered a moment ago has no head yet, and nothing was sent of it.
      if (session === undefined || transcript === undefined || heads.has(contextId)) continue;
      await this.#toRemove({ contextId, session });
      await this.#records.commit({ deletes: [await this.#contextKey(contextId)] });
      this.#registered.delete(contextId);
      if ((await this.#keep.node(transcript)) === null) await (await this.#sentOf(transcript, session)).forget();
    }
  }

  /** The conversations that were ever registered. */
  async #contexts(): Promise<Registered[]> {
    return (await this.#records.scan(recordRange(this.#memory.name, "c"))).map(([, value]) => read(value) as Registered);
  }

  async #toRemove(scope: MemoryScope): Promise<string> {
    const key = recordKey(this.#memory.name, "x", await keyPart(scope.contextId));
    await this.#records.commit({ puts: [[key, write(scope)]] });
    return key;
  }

  /** Carries out what was to be removed and could not be. */
  async #remove(signal: AbortSignal | undefined): Promise<void> {
    for (const [key, scope] of await this.#pendingRemovals()) await this.#removeOne(scope, key, signal);
  }

  async #removeOne(scope: MemoryScope, key: string, signal: AbortSignal | undefined): Promise<void> {
    // A node that is gone from the keep shall be gone there: whatever else the session has stays.
    const gone = async (node: string): Promise<boolean> => (await this.#keep.node(node)) === null;
    const { timeout } = this.#options;
    // What was removed in time stays so; the rest is for the next time.
    await this.#call("remove", signal, (inner) => this.#memory.remove(scope, gone, { timeout, signal: inner }));
    await this.#records.commit({ deletes: [key] });
  }

  async #pendingRemovals(): Promise<[string, MemoryScope][]> {
    const found = await this.#records.scan(recordRange(this.#memory.name, "x"));
    return found.map(([key, value]) => [key, read(value) as MemoryScope]);
  }

  /** Conversations that have more than was sent, or may have. */
  async #unfinished(): Promise<string[]> {
    const registered = await this.#contexts();
    const heads = new Map((await this.#keep.heads()).map(({ context, node }) => [context, node]));
    return registered.filter(({ contextId, node }) => heads.has(contextId) && heads.get(contextId) !== node).map(({ contextId }) => contextId);
  }

  async #sentOf(transcript: string, contextId: string): Promise<Sent> {
    let sent = this.#sent.get(transcript);
    if (sent === undefined) {
      sent = new Sent(this.#records, this.#memory.name, await keyPart(transcript), contextId);
      this.#sent.set(transcript, sent);
    }
    await sent.refresh();
    return sent;
  }

  async #contextKey(contextId: string): Promise<string> {
    return recordKey(this.#memory.name, "c", await keyPart(contextId));
  }

  #takes(message: Message): boolean {
    return this.#memory.takes?.(message) ?? true;
  }

  #call<T>(operation: string, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return limited(this.#memory.name, operation, { signal, timeout: this.#options.timeout }, call);
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

/** A timer for which no process stays alive. */
function later(delay: number, call: () => void): ReturnType<typeof setTimeout> {
  const timer = setTimeout(call, delay);
  (timer as unknown as { unref?: () => void }).unref?.();
  return timer;
}

function wait(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(delay, 1));
    const stop = (): void => {
      clearTimeout(timer);
      reject(new ThreadkeepError("cancelled", "sync was cancelled", {}, signal.reason));
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** 128 random bits. */
function token(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
