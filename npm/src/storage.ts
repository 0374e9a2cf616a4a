// Where a keep's data is stored: the place that the options name, or what the platform has. Several keeps may use one adapter: the first opens
// it, and the last one closes it.

import { ThreadkeepError, type ThreadkeepErrorCode, wordsOf } from "./errors.js";
import { adapterOf, type StorageOptions } from "./options.js";
import { inNode } from "./platform.js";
import type { MaybePromise, StoreAdapter } from "./stores/adapter.js";

/** A place for data. */
export interface StoragePlace {
  kind: "indexeddb" | "file" | "memory" | "adapter";
  adapter: StoreAdapter | undefined;
  /** The name under which others may have the same data open; `undefined` if nobody can, or nobody says. */
  shared: string | undefined;
  /** Whether the adapter is the caller's own object. */
  given: boolean;
}

/** The place that options name, for a scope. */
export async function storagePlace(options: StorageOptions, scope: string | undefined): Promise<StoragePlace> {
  const { name = "threadkeep", storage } = options;
  const shared = (place: string): string => sharedName(place, scope);
  if (typeof storage === "function") {
    const adapter = adapterOf(await answered(() => storage(scope)), "the answer of options.storage");
    return { kind: "adapter", adapter, shared: options.name === undefined ? undefined : shared(name), given: false };
  }
  if (typeof storage === "object") return { kind: "adapter", adapter: storage, shared: options.name === undefined ? undefined : shared(name), given: true };
  const kind = storage ?? (hasIndexedDb() ? "indexeddb" : undefined);
  const none = { adapter: undefined, given: false };
  if (kind === "indexeddb") return { kind, shared: shared(name), ...none };
  if (kind === "memory") return { kind, shared: undefined, ...none };
  const files = inNode() ? (await import("#default-store")).defaultStore : undefined;
  if (files !== undefined) {
    try {
      const { store, place } = files(name);
      return { kind: "file", adapter: store, shared: shared(`file:${place}`), given: false };
    } catch (error) {
      // The working directory is gone.
      throw new ThreadkeepError("unavailable", `no folder can be used: ${wordsOf(error)}`, {}, error);
    }
  }
  if (kind === "file") throw new ThreadkeepError("unavailable", 'storage: "file" needs Node, Deno or Bun: use "indexeddb" here, or "memory"');
  return { kind: "memory", shared: undefined, ...none };
}

/** The name under which a scope of a place is shared: no two of them are the same, and none is that of a place without a scope. */
function sharedName(place: string, scope: string | undefined): string {
  if (scope !== undefined) return `@${encodeURIComponent(scope)}:${place}`;
  return place.startsWith("@") ? `@:${place}` : place;
}

/** An open adapter and how many use it. */
interface Use {
  users: number;
  opened: Promise<void>;
}

const uses = new WeakMap<StoreAdapter, Use>();

/** An adapter in use. */
export interface Held {
  /** Ends the use; the last one closes the adapter. Ending it twice is no error. */
  release(): Promise<void>;
  /** Ends a use that came to nothing: an adapter that was not opened here stays as it is. */
  drop(): Promise<void>;
  /** Ends the use and leaves the adapter open. */
  leave(): void;
}

/** Uses an adapter: opens it, if nobody has it open and it wants to be opened. */
export async function hold(adapter: StoreAdapter): Promise<Held> {
  let use = uses.get(adapter);
  if (use === undefined) {
    use = { users: 0, opened: opened(adapter) };
    uses.set(adapter, use);
  }
  const own = use;
  own.users += 1;
  let held = true;
  /** Whether this was the last use. */
  const end = (): boolean => {
    if (held) own.users -= 1;
    const last = held && own.users === 0;
    held = false;
    return last;
  };
  const close = async (): Promise<void> => {
    uses.delete(adapter);
    await adapter.close();
  };
  try {
    await own.opened;
  } catch (error) {
    end();
    if (uses.get(adapter) === own) uses.delete(adapter);
    throw error;
  }
  return {
    async release() {
      if (end()) await close();
    },
    async drop() {
      if (!end()) return;
      if (typeof adapter.open === "function") await close();
      else uses.delete(adapter);
    },
    leave: () => void end(),
  };
}

/** Opens an adapter that wants to be opened. */
async function opened(adapter: StoreAdapter): Promise<void> {
  await answered(() => adapter.open?.());
}

/** What a function of the user's gives. What it throws becomes an error of this package. */
async function answered<T>(ask: () => MaybePromise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw adapterError(error);
  }
}

/** What an adapter threw, as an error of this package. */
export function adapterError(error: unknown): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const { code, message } = (typeof error === "object" && error !== null ? error : { message: String(error) }) as { code?: unknown; message?: unknown };
  return new ThreadkeepError(CODES.find((known) => known === code) ?? "storage", String(message), {}, error);
}

/** What may become of an adapter's errors. */
const CODES: readonly ThreadkeepErrorCode[] = ["quota", "unavailable", "blocked", "storage-gone", "transient", "closed", "corrupt", "newer-version"];

/** An adapter, or a view of one of its scopes, as one keep sees it: closing it ends this keep's use. */
export function seen(adapter: StoreAdapter, close: () => Promise<void>): StoreAdapter {
  return {
    get: (key) => adapter.get(key),
    scan: (range) => adapter.scan(range),
    commit: (commit) => adapter.commit(commit),
    close,
  };
}

function hasIndexedDb(): boolean {
  return (globalThis as { indexedDB?: unknown }).indexedDB !== undefined;
}
