// What users hold of a log store: a handle. Handles of one thread onto one place share a store, so that each sees what the others
// have written; the last one that is closed closes it. A place is opened when it is first used.

import { storeError } from "./folder.js";
import type { LogStore } from "./store.js";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "../adapter.js";

/** The stores of this thread, by place; shared by all copies of this package that are of the same kind. */
interface Shared {
  store: Promise<LogStore>;
  handles: number;
  /** Its being closed; who wants to open the place anew waits for it. */
  closing?: Promise<void>;
}

function registry(): Map<string, Shared> {
  const name = Symbol.for("threadkeep.log-stores.1");
  const world = globalThis as { [name]?: Map<string, Shared> };
  return (world[name] ??= new Map());
}

/** Where a store is and how it is opened. */
export interface Place {
  /** The same for all that are the same place, and for no others. */
  key: string;
  open: () => Promise<LogStore>;
}

/** A handle. `locate` is called when it is first used. */
export class Handle implements StoreAdapter {
  #opened: Promise<{ key: string; store: LogStore }> | undefined;
  #closed: Promise<void> | undefined;

  constructor(private readonly locate: () => Place | Promise<Place>) {}

  /** Opens the place, which otherwise happens when it is first used; says what was there. */
  async open(): Promise<"existing" | "created"> {
    return (await this.#store()).beginning;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return (await this.#store()).get(key);
  }

  async scan(range: ScanRequest): Promise<StoreRecord[]> {
    return (await this.#store()).scan(range);
  }

  async commit(commit: StoreCommit): Promise<void> {
    return (await this.#store()).commit(commit);
  }

  /** What opening found damaged and passed over, in words. */
  async damaged(): Promise<readonly string[]> {
    return (await this.#store()).damaged;
  }

  /** Writes the log anew without what no longer counts; then nothing of what was deleted is in it. */
  async compact(): Promise<void> {
    return (await this.#store()).compact();
  }

  /** Lets go of the place, after what is under way. Closing twice is no error. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined) return;
    const { key, store } = opened;
    const shared = registry().get(key);
    if (shared === undefined) return;
    shared.handles -= 1;
    if (shared.handles > 0) return;
    shared.closing = store.close().finally(() => registry().delete(key));
    await shared.closing;
  }

  async #store(): Promise<LogStore> {
    if (this.#closed !== undefined) throw storeError("closed", "the store is closed");
    this.#opened ??= this.#open().catch((error: unknown) => {
      // The next call tries again.
      this.#opened = undefined;
      throw error;
    });
    return (await this.#opened).store;
  }

  async #open(): Promise<{ key: string; store: LogStore }> {
    const { key, open } = await this.locate();
    let shared = registry().get(key);
    while (shared?.closing !== undefined) {
      await shared.closing.catch(() => {});
      shared = registry().get(key);
    }
    if (shared === undefined) {
      shared = { store: open(), handles: 0 };
      registry().set(key, shared);
    }
    shared.handles += 1;
    try {
      return { key, store: await shared.store };
    } catch (error) {
      if (registry().get(key) === shared) registry().delete(key);
      throw error;
    }
  }
}
