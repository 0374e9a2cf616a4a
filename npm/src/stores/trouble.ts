// What the stores on databases and servers share: errors in Threadkeep's words, and patience with what may pass.

import * as check from "../check.js";
import { ThreadkeepError, type ThreadkeepErrorCode, badArgument } from "../errors.js";
import type { StoreConflict } from "./adapter.js";

/** What a commit rejects with when a condition does not hold. */
export class Conflict extends Error implements StoreConflict {
  override readonly name = "Conflict";
  readonly code = "conflict";
  readonly key: string;

  constructor(key: string) {
    super(`another writer was first: the condition on ${JSON.stringify(key)} does not hold`);
    this.key = key;
  }
}

/** An error of a store: what happened, and the words of whoever said so. */
export function trouble(code: ThreadkeepErrorCode, what: string, cause?: unknown): ThreadkeepError {
  return new ThreadkeepError(code, cause === undefined ? what : `${what}: ${words(cause)}`, {}, cause);
}

/** The message of anything that was thrown. Some errors of the network have none, but errors inside. */
export function words(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === "") return cause.errors.map(words).join("; ");
  const { message, code } = (cause ?? {}) as { message?: unknown; code?: unknown };
  if (typeof message === "string" && message !== "") return message;
  return typeof code === "string" ? code : String(cause);
}

/** What a closed store answers. */
export function closedError(): ThreadkeepError {
  return new ThreadkeepError("closed", "the store is closed");
}

/** Waits that long. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** What timers can wait at most, in milliseconds: given more, they do not wait at all. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** A number of milliseconds of the user's, at least 1. */
export function milliseconds(value: unknown, argument: string): number {
  return Math.max(1, check.count(value, argument, LONGEST_WAIT));
}

/** A server's address. Clients take an empty one, as unset variables leave it, for a server on this machine. */
export function address(value: unknown, argument: string): string {
  const url = check.exact(value, argument);
  if (url === "") throw badArgument(argument, "must not be empty: say where the server is");
  return url;
}

/**
 * Pauses between tries of one piece of work: from `first` milliseconds they double up to `longest`, and end when `budget`
 * milliseconds have gone by. Half of each is left to chance, so that two who got into each other's way do not meet again.
 */
export class Patience {
  readonly #end: number;
  readonly #longest: number;
  #next: number;

  constructor(budget: number, first: number, longest: number) {
    this.#end = performance.now() + budget;
    this.#longest = longest;
    this.#next = first;
  }

  /** Waits before the next try; `false`, at once, when the time is up. */
  async wait(): Promise<boolean> {
    const left = this.#end - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(left, this.#next * (0.5 + Math.random() / 2)));
    this.#next = Math.min(this.#longest, this.#next * 2);
    return true;
  }
}

/** What {@link overBreaks} must know of a server's store. */
export interface Connected {
  /** What the server is called in errors. */
  server: string;
  /** Whether the store has been closed. */
  isClosed(): boolean;
  /** Whether trying again may help after this error. */
  mayPass(error: unknown): boolean;
  /** The error for the keep's caller. */
  trouble(error: unknown, what: string): ThreadkeepError;
  /** For how many milliseconds a broken connection is tried again. */
  retryTimeout: number;
}

/** Does `work`, again and again while the connection is broken or the server not ready. */
export async function overBreaks<T>(work: () => Promise<T>, { server, isClosed, mayPass, trouble, retryTimeout }: Connected): Promise<T> {
  let patience: Patience | undefined;
  for (;;) {
    if (isClosed()) throw closedError();
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error)) throw trouble(error, `${server} failed`);
      patience ??= new Patience(retryTimeout, 10, 500);
      if (!(await patience.wait())) throw trouble(error, `${server} failed, again and again`);
    }
  }
}
