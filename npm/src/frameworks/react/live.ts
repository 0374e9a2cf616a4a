// What components read of a keep, kept current: loaded when the first of them asks, again after each change that concerns it, and let
// go of with the last. Components that read the same share one loading.

import { useMemo, useState, useSyncExternalStore } from "react";
import type { ChangeEvent } from "../../events.js";
import type { Threadkeep } from "../../threadkeep.js";

/** How far a reading is. */
export interface Loaded<T> {
  /** `loading` until there is a first value, and while there is only one of earlier arguments. */
  readonly status: "loading" | "ready" | "failed";
  /** What was read last; `undefined` before. */
  readonly value: T | undefined;
  /** Why the last reading failed. It is tried again after the next change. */
  readonly error: Error | undefined;
}

/** What is read, and when to read it again. */
export interface Query<T> {
  /** Its name: the same for the same reading. */
  key: string;
  read(keep: Threadkeep): Promise<T>;
  /** Whether a change may concern what was read; `undefined` where nothing was yet. */
  concerns(event: ChangeEvent, value: T | undefined): boolean;
}

const LOADING: Loaded<never> = { status: "loading", value: undefined, error: undefined };

class Live<T> {
  snapshot: Loaded<T> = LOADING;
  /** A reading under way, and those that are due after it. */
  reading: Promise<void> | undefined;
  readonly #keep: Threadkeep;
  readonly #query: Query<T>;
  readonly #listeners = new Set<() => void>();
  readonly #gone: () => void;
  #due = false;
  #unwatch: (() => void) | undefined;

  constructor(keep: Threadkeep, query: Query<T>, gone: () => void) {
    this.#keep = keep;
    this.#query = query;
    this.#gone = gone;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#unwatch?.();
      this.#gone();
    };
  }

  #begin(): void {
    try {
      this.#unwatch = this.#keep.on("change", (event) => {
        if (this.#query.concerns(event, this.snapshot.value)) this.#load();
      });
    } catch {
      // It is closed, which reading says, too.
    }
    this.#load();
  }

  #load(): void {
    this.#due = true;
    this.reading ??= this.#readAll();
  }

  async #readAll(): Promise<void> {
    while (this.#due && this.#listeners.size > 0) {
      this.#due = false;
      try {
        const value = await this.#query.read(this.#keep);
        this.snapshot = { status: "ready", value, error: undefined };
      } catch (error) {
        this.snapshot = { status: "failed", value: this.snapshot.value, error: error as Error };
      }
      for (const listener of [...this.#listeners]) listener();
    }
    this.reading = undefined;
  }
}

/** What is read of each keep in this moment. */
const all = new WeakMap<Threadkeep, Map<string, Live<unknown>>>();

function livesOf(keep: Threadkeep): Map<string, Live<unknown>> {
  const lives = all.get(keep) ?? new Map<string, Live<unknown>>();
  all.set(keep, lives);
  return lives;
}

/** When all readings whose key begins like this are as current as what is stored now. */
export async function current(keep: Threadkeep, keys: string): Promise<void> {
  for (;;) {
    const under = [...livesOf(keep)].flatMap(([key, { reading }]) => (key.startsWith(keys) ? (reading ?? []) : []));
    if (under.length === 0) return;
    await Promise.all(under);
  }
}

/** A query's store for `useSyncExternalStore`. */
function storeOf<T>(keep: Threadkeep | undefined, query: Query<T>): { subscribe(listener: () => void): () => void; get(): Loaded<T> } {
  if (keep === undefined) return { subscribe: () => () => {}, get: () => LOADING };
  const lives = livesOf(keep) as Map<string, Live<T>>;
  return {
    subscribe(listener) {
      let live = lives.get(query.key);
      if (live === undefined) {
        const made: Live<T> = new Live(keep, query, () => lives.get(query.key) === made && lives.delete(query.key));
        live = made;
        lives.set(query.key, live);
      }
      return live.subscribe(listener);
    },
    get: () => lives.get(query.key)?.snapshot ?? LOADING,
  };
}

/** Reads, and reads again. Of two queries with the same key the first is used. */
export function useLive<T>(keep: Threadkeep | undefined, query: Query<T>): Loaded<T> {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what the query is
  const store = useMemo(() => storeOf(keep, query), [keep, query.key]);
  return useSyncExternalStore(store.subscribe, store.get, () => LOADING);
}

/** The same, with the last value of an earlier key until there is one of this key. */
export function useKept<T>(loaded: Loaded<T>): Loaded<T> {
  const [last, setLast] = useState(loaded);
  if (loaded.status !== "loading" && loaded !== last) setLast(loaded);
  return loaded.status === "loading" ? { ...LOADING, value: last.value } : loaded;
}
