// Where a keep's data lies: what the user named, or what the platform has. In go the options of `open`, out comes the kind of storage,
// the adapter if it is one, and under which name others hear of changes.

import { ThreadkeepError, type ThreadkeepErrorCode } from "./errors.js";
import type { OpenOptions } from "./options.js";
import { inNode } from "./runtime.js";
import type { StoreAdapter } from "./stores/adapter.js";

/** A place for data. */
export interface StoragePlace {
  kind: "indexeddb" | "file" | "memory" | "adapter";
  adapter: StoreAdapter | undefined;
  /** The name under which others may have the same data open; `undefined` where nobody can, or nobody says. */
  shared: string | undefined;
}

/** The place that options name. `name` is theirs, or what stands in for it. */
export async function storagePlace(options: OpenOptions, name: string): Promise<StoragePlace> {
  const { storage } = options;
  if (typeof storage === "object") return { kind: "adapter", adapter: storage, shared: options.name };
  const kind = storage ?? (hasIndexedDb() ? "indexeddb" : undefined);
  if (kind === "indexeddb") return { kind, adapter: undefined, shared: name };
  if (kind === "memory") return { kind, adapter: undefined, shared: undefined };
  const files = inNode() ? (await import("#default-store")).defaultStore : undefined;
  if (files !== undefined) {
    try {
      const { store, place } = files(name);
      return { kind: "file", adapter: store, shared: `file:${place}` };
    } catch (error) {
      // The working directory is gone.
      throw new ThreadkeepError("unavailable", `no folder can be used: ${error instanceof Error ? error.message : String(error)}`, {}, error);
    }
  }
  if (kind === "file")
    throw new ThreadkeepError(
      "unavailable",
      'storage: "file" needs Node, Deno or Bun, and a build that was not made for browsers: use "indexeddb" here, or "memory"',
    );
  return { kind: "memory", adapter: undefined, shared: undefined };
}

/** Opens an adapter that wants to be opened. */
export async function opened(adapter: StoreAdapter | undefined): Promise<void> {
  if (typeof adapter?.open !== "function") return;
  try {
    await adapter.open();
  } catch (error) {
    if (error instanceof ThreadkeepError) throw error;
    const { code, message } = (typeof error === "object" && error !== null ? error : { message: String(error) }) as { code?: unknown; message?: unknown };
    throw new ThreadkeepError(CODES.find((known) => known === code) ?? "storage", String(message), {}, error);
  }
}

/** What may become of an adapter's errors. */
const CODES: readonly ThreadkeepErrorCode[] = ["quota", "unavailable", "blocked", "storage-gone", "transient", "closed", "corrupt", "newer-version"];

function hasIndexedDb(): boolean {
  return (globalThis as { indexedDB?: unknown }).indexedDB !== undefined;
}
