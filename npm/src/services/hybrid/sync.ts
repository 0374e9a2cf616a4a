// Sends what a keep has to a memory service, in the background, one conversation at a time and each in order. What fails is tried
// again, later and later; what the service refuses for good is left out and said. Nothing here stands in the way of an append.

import { reportUncaught, ThreadkeepError } from "../../errors.js";
import type { Threadkeep } from "../../threadkeep.js";
import { asServiceError, limited } from "../failure.js";
import type { MemoryScope, MemoryService } from "../types.js";
import { Notes } from "./notes.js";
import { Sender } from "./sender.js";
import { isConflict } from "./sent.js";

/** When messages are sent: at once, in batches, or when the conversation ends. */
export type SyncStrategy = "immediate" | "batch" | "end-of-session";

/** What belongs to a failure. */
export interface MemoryFailure {
  /** What was being done: `add`, `remove`, `search`, … */
  operation: string;
  /** The conversation. */
  thread: string;
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

/** The sending of one keep's conversations to one service. @internal */
export class Sync {
  readonly #keep: Threadkeep;
  readonly #memory: MemoryService;
  readonly #notes: Notes;
  readonly #sender: Sender;
  readonly #options: SyncOptions;
  /** Conversations that have something new. */
  readonly #fresh = new Set<string>();
  /** Conversations that the background has to look at. */
  readonly #due = new Set<string>();
  /** Messages that wait for their batch. */
  #waiting = 0;
  #removals = false;
  #removeNext = false;
  #attempts = 0;
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #working: Promise<void> | undefined;
  #line: Promise<unknown> = Promise.resolve();
  #current: { thread: string; controller: AbortController } | undefined;
  /** While it clears by itself: it knows then what is deleted. */
  #clearing = false;
  #closed = false;
  readonly #deaf: () => void;

  constructor(keep: Threadkeep, memory: MemoryService, options: SyncOptions) {
    this.#keep = keep;
    this.#memory = memory;
    this.#options = options;
    this.#notes = new Notes(keep, memory.name);
    this.#sender = new Sender(keep, memory, this.#notes, options, (error, failure) => this.#report(error, failure));
    this.#deaf = keep.on("change", (event) => {
      if (event.type === "cleared") this.#notes.cleared();
      else if (event.type === "deleted" && !this.#clearing) this.#deleted(event.transcript);
    });
  }

  /** Notes that a conversation is to be sent, before its first message is stored. Failing is no reason not to store it. */
  async register(thread: string): Promise<void> {
    await this.#notes.register(thread).catch((error: unknown) => this.#report(error, { operation: "register", thread }));
  }

  /** Messages came. */
  appended(thread: string, count: number): void {
    const { strategy, batchSize, batchDelay } = this.#options;
    if (this.#closed || count === 0) return;
    this.#fresh.add(thread);
    this.#waiting += count;
    if (strategy === "immediate" || (strategy === "batch" && this.#waiting >= batchSize)) this.#work();
    else if (strategy === "batch" && this.#batchTimer === undefined) this.#batchTimer = later(batchDelay, () => this.#work());
  }

  /** Looks for what an earlier life did not send. Of conversations that end, nobody knows yet whether they did. */
  async resume(): Promise<void> {
    const unfinished = this.#options.strategy === "end-of-session" ? [] : await this.#notes.unfinished();
    if (this.#closed) return;
    for (const thread of unfinished) this.#due.add(thread);
    await this.#exclusive(() => this.#vanished());
    this.#removals ||= (await this.#notes.removals()).length > 0;
    if (this.#due.size > 0 || this.#removals) this.#work();
  }

  /**
   * Sends everything there is: of one conversation, or of all that were ever registered, and carries out what was to be removed.
   * What fails is left to the background. It goes on with the next conversation, unless the service fails at two in a row: then it is down.
   */
  async all(thread: string | undefined, signal: AbortSignal | undefined): Promise<{ sent: number; error?: ThreadkeepError }> {
    let sent = 0;
    const contexts = thread === undefined ? await this.#notes.unfinished() : [thread];
    const left = new Set(contexts);
    let first: { error: ThreadkeepError; failure: MemoryFailure } | undefined;
    let inARow = 0;
    const attempt = async (operation: string, at: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
        inARow = 0;
      } catch (thrown) {
        const error = asServiceError(thrown, this.#memory.name, operation);
        first ??= { error, failure: { operation, thread: at } };
        inARow += error.code === "cancelled" ? 2 : 1;
      }
    };
    for (const one of contexts) {
      if (inARow > 1) break;
      await attempt("add", one, async () => {
        sent += await this.#exclusive(() => this.#context(one, signal, true));
        for (const set of [left, this.#fresh, this.#due]) set.delete(one);
      });
    }
    if (inARow < 2)
      await attempt("remove", thread ?? "", async () => {
        await this.#exclusive(() => this.#remove(signal));
        this.#removals = false;
      });
    if (first === undefined) {
      this.#attempts = 0;
      return { sent };
    }
    const { error, failure } = first;
    if (error.code !== "cancelled") {
      for (const one of left) this.#due.add(one);
      this.#later(error, failure);
    }
    return { sent, error };
  }

  /** How many messages of a conversation were not sent. */
  async pending(thread: string): Promise<number> {
    const found = await this.#sender.plan(thread);
    return found === undefined ? 0 : found.plan.items.filter(({ message }) => message !== undefined).length;
  }

  /** The session of a conversation. */
  async scope(thread: string): Promise<MemoryScope> {
    const head = await this.#keep.thread(thread).head();
    if (head === null) return { thread, session: thread };
    return { thread, session: (await this.#notes.sent(head.transcript)).session ?? thread };
  }

  /** Clears a conversation in the keep and in the service. What the service does not do now is remembered. */
  clear(thread: string): Promise<{ messages: number; error?: ThreadkeepError }> {
    // What is under way for it need not end first.
    if (this.#current?.thread === thread) this.#current.controller.abort();
    this.#due.delete(thread);
    this.#fresh.delete(thread);
    return this.#exclusive(async () => {
      const head = await this.#keep.thread(thread).head();
      const scope = await this.scope(thread);
      const key = await this.#notes.toRemove(scope);
      this.#clearing = true;
      const messages = await this.#keep
        .thread(thread)
        .clear()
        .finally(() => (this.#clearing = false));
      await this.#notes.unregister(thread);
      if (head !== null) await this.#notes.forgetIfGone(head.transcript);
      try {
        await this.#removeOne(scope, key, undefined);
        return { messages };
      } catch (error) {
        const failure = asServiceError(error, this.#memory.name, "remove");
        this.#removals = true;
        this.#later(failure, { operation: "remove", thread });
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
      for (const thread of this.#fresh) this.#due.add(thread);
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
      const [next] = this.#due;
      if (next === undefined && !this.#removals) return;
      // After a failure it is the other's turn: what is to be forgotten does not wait for what cannot be sent.
      const thread = this.#removals && this.#removeNext ? undefined : next;
      try {
        if (thread !== undefined) {
          this.#due.delete(thread);
          await this.#exclusive(() => this.#context(thread, undefined, false));
        } else {
          await this.#exclusive(() => this.#remove(undefined));
          this.#removals = false;
        }
        this.#attempts = 0;
      } catch (error) {
        if (this.#closed || (error instanceof ThreadkeepError && error.code === "closed")) return;
        if (thread !== undefined && (!(error instanceof ThreadkeepError) || error.code !== "cancelled")) this.#due.add(thread);
        if (error instanceof ThreadkeepError && error.code === "cancelled") continue;
        this.#removeNext = thread !== undefined;
        this.#later(error, { operation: thread === undefined ? "remove" : "add", thread: thread ?? "" });
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
  async #context(thread: string, signal: AbortSignal | undefined, patience: boolean): Promise<number> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#current = { thread, controller };
    try {
      for (let tries = 0; ; tries += 1)
        try {
          return await this.#sender.send(thread, controller.signal);
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

  /** Something was deleted in the keep, by whomever: the service is to forget it too. */
  #deleted(transcript: string): void {
    const work = async (): Promise<void> => {
      const { session } = await this.#notes.sent(transcript);
      if (session === undefined) return;
      // Each may have an owner of its own there.
      const forks = (await this.#notes.contexts()).filter((one) => one.session === session).map(({ thread }) => thread);
      for (const thread of new Set([session, ...forks])) await this.#notes.toRemove({ thread, session });
      await this.#notes.forgetIfGone(transcript);
      this.#removals = true;
      this.#work();
    };
    this.#exclusive(work).catch((error: unknown) => {
      if (!this.#closed) this.#report(error, { operation: "remove", thread: "" });
    });
  }

  /** Conversations whose heads were removed while nobody looked: the service is to forget what is gone of them. */
  async #vanished(): Promise<void> {
    const heads = new Set((await this.#keep.threads()).map(({ name }) => name));
    for (const { thread, session, transcript } of await this.#notes.contexts()) {
      // One that was registered a moment ago has no head yet, and nothing was sent of it.
      if (session === undefined || transcript === undefined || heads.has(thread)) continue;
      await this.#notes.toRemove({ thread, session });
      await this.#notes.unregister(thread);
      await this.#notes.forgetIfGone(transcript);
    }
  }

  /** Carries out what was to be removed and could not be. */
  async #remove(signal: AbortSignal | undefined): Promise<void> {
    for (const [key, scope] of await this.#notes.removals()) await this.#removeOne(scope, key, signal);
  }

  async #removeOne(scope: MemoryScope, key: string, signal: AbortSignal | undefined): Promise<void> {
    // A node that is gone from the keep shall be gone there: whatever else the session has stays.
    const gone = async (node: string): Promise<boolean> => (await this.#keep.node(node)) === null;
    const { timeout } = this.#options;
    // What was removed in time stays so; the rest is for the next time.
    await limited(this.#memory.name, "remove", { signal, timeout }, (inner) => this.#memory.remove(scope, gone, { timeout, signal: inner }));
    await this.#notes.removed(key);
  }
}

/** A timer for which no process stays alive. */
function later(delay: number, call: () => void): ReturnType<typeof setTimeout> {
  const timer = setTimeout(call, delay);
  (timer as unknown as { unref?: () => void }).unref?.();
  return timer;
}

function wait(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", stop);
        resolve();
      },
      Math.max(delay, 1),
    );
    const stop = (): void => {
      clearTimeout(timer);
      reject(new ThreadkeepError("cancelled", "sync was cancelled", {}, signal.reason));
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
