// The scopes of a keep on Redis. A scope's keys have a hash tag of their own, so that Redis Cluster spreads scopes over its servers. The names are
// in 64 sets with a hash tag each, which a cluster spreads too.
//
// A name is added before the first commit of its scope, and once more after it. Removing deletes the keys, then the name, and adds the name again
// if keys are there by then. So whenever a first commit and a removal meet, a scope that has keys has its name. A crash and a scope that expires
// leave a name without keys. Lists pass over it, and remove it in the same way.

import * as check from "../check.js";
import type { StoreAdapter, StoreScopes } from "./adapter.js";
import { RedisKeep, keysOf } from "./redis-keep.js";
import { DELETE } from "./redis-scripts.js";
import { type RedisServers, script } from "./redis-server.js";
import { crc16 } from "./redis-slots.js";

/** How many sets hold the names. */
const SETS = 64;
/** How many names are read at a time, about. */
const NAMES = 500;

const REMOVE = script(DELETE);

/** The scopes of the keep with this prefix. @internal */
export function redisScopes(servers: RedisServers, prefix: string, ttl: string): StoreScopes {
  const setOf = (name: string) => `{${prefix}/${crc16(name) % SETS}}@scopes`;
  const keys = (name: string) => keysOf(`{${prefix}/${escaped(name)}}@`);
  const add = (name: string, strict: boolean) => servers.patiently(() => servers.write(setOf(name), ["SADD", setOf(name), name], strict));
  const exists = async (name: string): Promise<boolean> => {
    const [key = ""] = keys(name);
    return Number(await servers.patiently(() => servers.to(key).send(["EXISTS", key]))) > 0;
  };
  /** Removes a name whose scope has no keys. */
  const forget = async (name: string, strict: boolean): Promise<void> => {
    await servers.patiently(() => servers.write(setOf(name), ["SREM", setOf(name), name], strict));
    if (await exists(name)) await add(name, true);
  };
  return {
    open(name: string): StoreAdapter {
      const checked = check.scope(name, "scope");
      return new RedisKeep(servers, keys(checked), ttl, (strict) => add(checked, strict));
    },
    async *list(): AsyncIterable<string> {
      for (let number = 0; number < SETS; number += 1) yield* listed(servers, `{${prefix}/${number}}@scopes`, exists, forget);
    },
    async delete(name: string): Promise<void> {
      const of = keys(check.scope(name, "scope"));
      await servers.patiently(() => servers.run(servers.to(of[0] ?? ""), REMOVE, of, [], true));
      await forget(name, true);
    },
  };
}

/** The names of one set that have records, each once, though Redis may tell one twice. Those of scopes that have none are removed. */
async function* listed(
  servers: RedisServers,
  set: string,
  exists: (name: string) => Promise<boolean>,
  forget: (name: string, strict: boolean) => Promise<void>,
): AsyncIterable<string> {
  const told = new Set<string>();
  let cursor = "0";
  do {
    const [next, names] = (await servers.patiently(() => servers.to(set).send(["SSCAN", set, cursor, "COUNT", String(NAMES)]))) as [unknown, unknown[]];
    const fresh = names.map(String).filter((name) => !told.has(name));
    const there = await Promise.all(fresh.map(exists));
    // A name that a failover brings back is removed by the next list.
    await Promise.all(fresh.filter((_, index) => there[index] === false).map((name) => forget(name, false)));
    for (const [index, name] of fresh.entries()) {
      if (told.has(name)) continue;
      told.add(name);
      if (there[index] === true) yield name;
    }
    cursor = String(next);
  } while (cursor !== "0");
}

/** A name without what ends a hash tag or parts it from the prefix. */
function escaped(name: string): string {
  return name.replace(/[%{}/]/g, encodeURIComponent);
}
