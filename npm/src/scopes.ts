// From a place to an open engine, and the scopes of a place. A scope is a prefix of keys, which the engine adds, or a view that the adapter
// gives. Everything here that opens an adapter also ends its use.

import type { Engine, Scopes } from "../wasm/threadkeep.js";
import * as check from "./check.js";
import { badArgument } from "./errors.js";
import { announce } from "./events.js";
import { STORAGE, type OpenOptions, type StorageOptions } from "./options.js";
import { init, run } from "./runtime.js";
import { adapterError, hold, seen, storagePlace, type StoragePlace } from "./storage.js";
import type { StoreAdapter, StoreScopes } from "./stores/adapter.js";

/** An open engine and what its keep must know of the place. */
export interface Opened {
  engine: Engine;
  kind: StoragePlace["kind"];
  shared: string | undefined;
  /** What opening the adapter found damaged. It speaks of the whole place, so a scope by prefix has none. */
  damaged: StoreAdapter["damaged"];
}

/** Opens an engine on the storage and the scope that the options name. */
export async function openEngine(options: OpenOptions): Promise<Opened> {
  const { cacheBytes, scope } = options;
  const place = await storagePlace(options, scope);
  const { kind, adapter, shared } = place;
  await init();
  const held = adapter && (await hold(adapter));
  let view: StoreAdapter | undefined;
  try {
    view = scope === undefined ? undefined : adapter?.scopes?.open(scope);
    await view?.open?.();
    const own = view ?? adapter;
    const close = async (): Promise<void> => {
      try {
        await view?.close();
      } finally {
        await held?.release();
      }
    };
    const engine = await run((wasm) => {
      const [at, name] = atEngine(place, options);
      return wasm.Engine.open(at, name, own && seen(own, close), cacheBytes, view === undefined ? scope : undefined) as Promise<Engine>;
    });
    const damaged = view ?? (scope === undefined ? adapter : undefined);
    return { engine, kind, shared, damaged: damaged?.damaged?.bind(damaged) };
  } catch (error) {
    // Nobody else closes what was opened here.
    await view?.close();
    await held?.drop();
    throw adapterError(error);
  }
}

/** The names of the scopes of a place. */
export async function* scopesIn(options: StorageOptions | undefined): AsyncGenerator<string, void, undefined> {
  const given = check.options(options, "options", STORAGE) as StorageOptions;
  if (typeof given.storage === "function") throw badArgument("options.storage", "cannot be a function here: list each adapter");
  const place = await storagePlace(given, undefined);
  // Nobody else can have stored anything there.
  if (place.kind === "memory") return;
  const { scopes, close } = await openScopes(place, given);
  try {
    yield* scopes.list();
  } catch (error) {
    throw adapterError(error);
  } finally {
    await close();
  }
}

/** Removes a scope of a place. */
export async function deleteScope(name: string, options: StorageOptions | undefined): Promise<void> {
  const scope = check.scope(name, "scope");
  const given = check.options(options, "options", STORAGE) as StorageOptions;
  const place = await storagePlace(given, scope);
  if (place.kind === "memory") return;
  const { scopes, close } = await openScopes(place, given);
  try {
    await scopes.delete(scope);
  } catch (error) {
    throw adapterError(error);
  } finally {
    await close();
  }
  announce(place.shared, { type: "cleared" });
}

/** How the scopes of an open place are listed and deleted. */
async function openScopes(place: StoragePlace, options: StorageOptions): Promise<{ scopes: Omit<StoreScopes, "open">; close: () => Promise<void> }> {
  const { adapter, given } = place;
  await init();
  const held = adapter && (await hold(adapter));
  // An adapter that the caller made stays open: a keep may open it next.
  const close = async (): Promise<void> => (given ? held?.leave() : held?.release());
  if (adapter?.scopes !== undefined) return { scopes: adapter.scopes, close };
  try {
    const [at, name] = atEngine(place, options);
    const opened = await run((wasm) => wasm.Scopes.open(at, name, adapter && seen(adapter, close)) as Promise<Scopes>);
    return { scopes: byPrefix(opened), close: () => run(() => opened.close() as Promise<void>).finally(() => opened.free()) };
  } catch (error) {
    await held?.drop();
    throw error;
  }
}

/** Scopes that are prefixes of keys. */
function byPrefix(opened: Scopes): Omit<StoreScopes, "open"> {
  return {
    async *list() {
      let last: string | undefined;
      for (;;) {
        const after = last;
        const names = JSON.parse(await run(() => opened.names(after) as Promise<string>)) as string[];
        if (names.length === 0) return;
        yield* names;
        last = names.at(-1);
      }
    },
    delete: (name) => run(() => opened.delete(name) as Promise<void>),
  };
}

/** The kind and the name of a place as the engine knows them. */
function atEngine({ kind }: StoragePlace, { name = "threadkeep" }: StorageOptions): [kind: string, name: string] {
  return [kind === "file" ? "adapter" : kind, name];
}
