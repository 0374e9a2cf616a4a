// What a Redis server promises about what it was told, found out once when a store is opened.

import type { Link } from "./redis-link.js";

/**
 * What it means that a `strict` commit resolved. `always` and `confirmed`: it is on the server's disk. `everysec`: it will be
 * within a second or two, and survives the end of the server's process. `no`: when the server's system likes. `none`: the
 * server writes no log, so that what came since its last snapshot goes with it. `unknown`: the server does not say.
 */
export type RedisDurability = "always" | "confirmed" | "everysec" | "no" | "none" | "unknown";

/** Something about the server that its user should know. */
export interface RedisWarning {
  /** `durability`: acknowledged commits may be lost. `eviction`: the server may throw the keep away when memory is short. */
  code: "durability" | "eviction";
  /** In words, with what to do about it. */
  message: string;
}

/** What was found. @internal */
export interface Findings {
  durability: RedisDurability;
  warnings: RedisWarning[];
}

/** Asks the server. A server that may not be asked is `unknown`. @internal */
export async function examine(link: Link, expires: boolean): Promise<Findings> {
  const warnings: RedisWarning[] = [];
  const policy = await setting(link, "maxmemory-policy");
  if (policy?.startsWith("allkeys-") || (expires && policy?.startsWith("volatile-")))
    warnings.push({
      code: "eviction",
      message: `Redis has maxmemory-policy ${policy} and may throw keeps away when its memory is full: set it to noeviction`,
    });
  const durability = await durabilityOf(link);
  const message = LOSSES[durability];
  if (message !== undefined) warnings.push({ code: "durability", message });
  return { durability, warnings };
}

const LOSSES: Partial<Record<RedisDurability, string>> = {
  everysec:
    "Redis syncs its log once a second (appendfsync everysec): a power failure may take the last second or two of acknowledged commits; set appendfsync to always, or use Redis 7.2 or newer over one connection (no cluster or pool)",
  no: "Redis leaves it to the system when its log reaches the disk (appendfsync no): a power failure may take acknowledged commits; set appendfsync to always",
  none: "Redis keeps no log (appendonly no): when its process ends, commits since its last snapshot are gone; set appendonly to yes and appendfsync to always",
  unknown: "Redis does not say how durable it is (CONFIG GET is not allowed): commits are as durable as whoever runs it has made them",
};

async function durabilityOf(link: Link): Promise<RedisDurability> {
  const log = await setting(link, "appendonly");
  const sync = await setting(link, "appendfsync");
  if (log === undefined || sync === undefined) return "unknown";
  if (log !== "yes") return "none";
  if (sync === "always") return "always";
  // Waiting for the disk is about what the same connection wrote before: a pool or a cluster's client may take another one.
  if (link.epoch() !== undefined && (await canConfirm(link))) return "confirmed";
  return sync === "everysec" ? "everysec" : "no";
}

/** Whether there is `WAITAOF`, which waits for the disk: from 7.2 on. */
async function canConfirm(link: Link): Promise<boolean> {
  const info = String(await link.send(["INFO", "server"]));
  const [, major = "0", minor = "0"] = /redis_version:(\d+)\.(\d+)/.exec(info) ?? [];
  return Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
}

/** A setting of the server, `undefined` when it does not tell. The answer is a list of names and values or a map, by protocol. */
async function setting(link: Link, name: string): Promise<string | undefined> {
  const answer = await link.send(["CONFIG", "GET", name]).catch((error: unknown) => {
    // The server's own refusal; anything else is for whoever opens the store.
    if (error instanceof Error && /^(ERR|NOPERM|DENIED)/.test(error.message)) return undefined;
    throw error;
  });
  if (answer === undefined || answer === null) return undefined;
  const flat = Array.isArray(answer) ? answer : answer instanceof Map ? [...answer].flat() : Object.entries(answer).flat();
  const at = flat.findIndex((item) => String(item) === name);
  return at < 0 ? undefined : String(flat[at + 1]);
}
