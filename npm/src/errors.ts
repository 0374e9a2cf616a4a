// Everything that can go wrong is a ThreadkeepError with a stable code.

import type { ModelFailureCode } from "./model/model.js";

/**
 * The stable codes, by what you can do about them.
 *
 * Your call: `bad-request` (an argument or option is wrong; `details.argument` names it), `missing-node`,
 * `missing-transcript`, `missing-thread`, `missing-memory`, `missing-mail`, `vocabulary-missing`, `thread-taken`, `id-taken`, `sealed`, `second-root`, `not-initialised`, `closed`,
 * `cancelled` (as you asked), `over-budget` (what must stay of a prompt does not fit, where an adapter cannot hand that on otherwise).
 * A compaction: `summary-refused` (the summary is empty, calls tools or is not smaller; `details.reason`), `summariser-failed`.
 * The data: `missing-parent`, `cycle`, `damaged`, `corrupt`, `bad-import`.
 * The storage: `conflict` (somebody else wrote at the same time, again and again), `blocked`, `quota`, `unavailable`,
 * `storage-gone`, `newer-version`, `transient` (trying again may help), `bad-adapter` (a store of yours breaks its
 * contract), `storage` (the storage's own failure).
 * A model at the end of a connection ({@link connect}): a {@link ModelFailureCode}.
 * Your callback: `embedding-failed` (`embed` failed, or what it gave are no vectors; searches by words go on).
 * A memory service beside the keep: `memory-service` (`details.reason` says why).
 * A remote of a sync: `remote-failed` (it does not answer, or refuses: `details.status`), `remote-newer` (a device there has a newer version),
 * `remote-damaged` (the file `details.file` does not open). A damaged file and another passphrase look alike.
 * The module: `init-failed`, `panicked` (a bug: reload; what was acknowledged is safe), `internal`.
 */
export type ThreadkeepErrorCode =
  | ModelFailureCode
  | "bad-request"
  | "missing-node"
  | "missing-transcript"
  | "missing-thread"
  | "missing-memory"
  | "missing-mail"
  | "vocabulary-missing"
  | "thread-taken"
  | "id-taken"
  | "sealed"
  | "second-root"
  | "not-initialised"
  | "closed"
  | "cancelled"
  | "over-budget"
  | "summary-refused"
  | "summariser-failed"
  | "missing-parent"
  | "cycle"
  | "damaged"
  | "corrupt"
  | "bad-import"
  | "conflict"
  | "blocked"
  | "quota"
  | "unavailable"
  | "storage-gone"
  | "newer-version"
  | "transient"
  | "bad-adapter"
  | "storage"
  | "embedding-failed"
  | "memory-service"
  | "remote-failed"
  | "remote-damaged"
  | "remote-newer"
  | "init-failed"
  | "panicked"
  | "internal";

/** Names and figures that belong to an error: which node, which argument, which version. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** What marks an error as ours, whichever copy of the package made it. */
const BRAND = Symbol.for("threadkeep.error");

/**
 * What every method rejects with. `instanceof` also holds for the errors of another copy of this package in the same program, as when
 * one module has imported it and another has required it.
 *
 * @example
 * ```ts
 * try {
 *   await keep.chain("nowhere");
 * } catch (error) {
 *   if (error instanceof ThreadkeepError && error.code === "missing-node") console.log(error.details.node);
 *   else throw error;
 * }
 * ```
 */
export class ThreadkeepError extends Error {
  override readonly name = "ThreadkeepError";
  /** A stable word; see {@link ThreadkeepErrorCode}. */
  readonly code: ThreadkeepErrorCode;
  /** Names and figures that belong to it. */
  readonly details: ErrorDetails;

  /** @internal */
  constructor(code: ThreadkeepErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  /** @internal */
  get [BRAND](): true {
    return true;
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass has its own `this`
    const own = this === ThreadkeepError && typeof value === "object" && value !== null && BRAND in value;
    // biome-ignore lint/complexity/noThisInStatic: a subclass has its own `this`
    return own || Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/** An argument that cannot be taken. @internal */
export function badArgument(argument: string, message: string, cause?: unknown): ThreadkeepError {
  return new ThreadkeepError("bad-request", `${argument} ${message}`, { argument }, cause);
}

/** What the wasm side rejects with, as an error: it sends JSON text. @internal */
export function fromWasm(reason: unknown): ThreadkeepError {
  if (reason instanceof ThreadkeepError) return reason;
  if (typeof reason === "string") {
    const { code, message, details } = JSON.parse(reason) as {
      code: ThreadkeepErrorCode;
      message: string;
      details: ErrorDetails;
    };
    return new ThreadkeepError(code, message, details);
  }
  const words = reason instanceof Error ? reason.message : String(reason);
  return new ThreadkeepError("internal", `the engine failed: ${words}`, {}, reason);
}

/** Hands on what a function of the user's threw, as if nobody had caught it, without disturbing who called it. @internal */
export function reportUncaught(error: unknown): void {
  const report = (globalThis as { reportError?: (error: unknown) => void }).reportError;
  if (typeof report === "function") report(error);
  else
    queueMicrotask(() => {
      throw error;
    });
}

/** What an error says. @internal */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
