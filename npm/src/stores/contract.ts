// The contract suite for stores of one's own: the same that every store of this package passes.

import "../places.js";
import { badArgument } from "../errors.js";
import { need, placed, run } from "../runtime.js";
import type { MaybePromise, StoreAdapter } from "./adapter.js";

// The suite is a part that only tests need: its place is named here, so that bundlers copy it for nobody else.
placed({ "contract.wasm": () => new URL("../../wasm/contract.wasm", import.meta.url) });

/** What {@link checkStore} found. */
export interface StoreReport {
  /** The behaviours that hold, in the order in which they were tried. */
  passed: string[];
  /** Those that do not, and what was expected and came instead. */
  failures: { behaviour: string; message: string }[];
}

/**
 * Tries every behaviour that a store must have: order, ranges, bytes, atomic commits and their conditions, two handles at once, closing.
 * It works under keys that begin with `contract/` and removes them again, so the place may hold other data; values of up to 8 MB are written.
 *
 * @param open gives a new handle onto the same place with each call, as a second tab or process would open it; the suite closes them
 * @throws ThreadkeepError `bad-request`; `bad-adapter` where a method is missing, or the code of what `open` throws the first time
 *
 * @example
 * ```ts
 * const report = await checkStore(() => myStore("test"));
 * assert.deepEqual(report.failures, []);
 * ```
 */
export async function checkStore(open: () => MaybePromise<StoreAdapter>): Promise<StoreReport> {
  if (typeof open !== "function") throw badArgument("open", "must be a function that gives a StoreAdapter");
  await need("contract");
  return JSON.parse(await run((wasm) => wasm.checkStore(open) as Promise<string>)) as StoreReport;
}
