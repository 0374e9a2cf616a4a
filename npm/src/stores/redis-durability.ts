// What a Redis server promises about what it was told, found out once when a store is opened.

import { badArgument } from "../errors.js";
import type { Connection, Link } from "./redis-link.js";

/**
 * What it means that a `strict` commit resolved. `replicated`: the master and as many replicas as asked for have it, so that it survives the
 * end of the master. `always` and `confirmed`: it is on the master's disk. `everysec`: it will be within a second or two, and survives the end
 * of the server's process. `no`: when the server's system likes. `none`: the server writes no log, so that commits since its last
 * snapshot go with it. `unknown`: the server does not say. Of a cluster's masters, the one that promises least counts.
 */
export type RedisDurability = "replicated" | "always" | "confirmed" | "everysec" | "no" | "none" | "unknown";

/** Something about the server that its user should know. */
export interface RedisWarning {
  /**
   * `durability`: acknowledged commits may be lost. `failover`: they may be lost when a replica takes over. `eviction`: the server may throw the
   * keep away when memory is short.
   */
  code: "durability" | "failover" | "eviction";
  /** In words, with what to do about it. */
  message: string;
}

/** What a `strict` commit waits for. @internal */
export interface Waits {
  /** Until it is on the master's disk. */
  disk: boolean;
  /** Until this many replicas have it. */
  replicas: number;
}

/** What was found. @internal */
export interface Findings {
  durability: RedisDurability;
  waits: Waits;
  warnings: RedisWarning[];
}

/** From the least promise to the greatest. */
const ORDER = ["none", "unknown", "no", "everysec", "always"] as const;

/** Asks the servers. One that may not be asked is `unknown`; a cluster's master that does not answer is passed over. @internal */
export async function examine(link: Link, expires: boolean, replicas: number): Promise<Findings> {
  const servers = await link.servers();
  if (replicas > 0 && servers.some((server) => server.epoch() === undefined))
    throw badArgument("options.replicas", "needs a client that says which connection it uses: node-redis, ioredis or a cluster's client, and no pool");
  const found = await answersOf(servers);
  const warnings: RedisWarning[] = [];
  const policy = found.map(({ policy }) => policy).find((policy) => policy?.startsWith("allkeys-") || (expires && policy?.startsWith("volatile-")));
  if (policy !== undefined)
    warnings.push({
      code: "eviction",
      message: `Redis has maxmemory-policy ${policy} and may throw keeps away when its memory is full: set it to noeviction`,
    });
  const least = ORDER.find((durability) => found.some((server) => server.disk === durability)) ?? "unknown";
  // Every master is sent the same, and one that has no `WAITAOF` answers with an error.
  const waits = { disk: (least === "everysec" || least === "no") && found.every(({ confirms }) => confirms), replicas };
  const disk = waits.disk ? "confirmed" : least;
  const message = LOSSES[disk];
  if (message !== undefined) warnings.push({ code: "durability", message });
  const failover = failoverWarning(
    found.map((server) => server.replicas),
    replicas,
  );
  if (failover !== undefined) warnings.push({ code: "failover", message: failover });
  return { durability: replicas > 0 ? "replicated" : disk, waits, warnings };
}

/** What one server says of itself. */
interface Answer {
  policy: string | undefined;
  /** What it does by itself. */
  disk: (typeof ORDER)[number];
  /** Whether it can be asked to wait for its disk. */
  confirms: boolean;
  replicas: number;
}

/** What those say that answer; at least one must. */
async function answersOf(servers: Connection[]): Promise<Answer[]> {
  const answer = async (server: Connection): Promise<Answer> => ({
    policy: await setting(server, "maxmemory-policy"),
    disk: await durabilityOf(server),
    confirms: await canConfirm(server),
    replicas: await replicasOf(server),
  });
  const answers = await Promise.allSettled(servers.map(answer));
  const found = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [first] = answers;
  if (found.length === 0 && first?.status === "rejected") throw first.reason;
  return found;
}

function failoverWarning(counts: number[], replicas: number): string | undefined {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (replicas > least) return `a Redis master has ${least} replicas, and strict commits wait for ${replicas}: they fail until it has that many`;
  if (replicas > 0 || most === 0) return undefined;
  return "Redis has replicas, and strict commits do not wait for them: a replica that takes over may lack the last commits; set the option `replicas` to 1 or more";
}

const LOSSES: Partial<Record<RedisDurability, string>> = {
  everysec:
    "Redis syncs its log once a second (appendfsync everysec): a power failure may take the last second or two of acknowledged commits; set appendfsync to always, or use Redis 7.2 or newer over a client of one connection each server (no pool)",
  no: "Redis leaves it to the system when its log reaches the disk (appendfsync no): a power failure may take acknowledged commits; set appendfsync to always",
  none: "Redis keeps no log (appendonly no): when its process ends, commits since its last snapshot are gone; set appendonly to yes and appendfsync to always",
  unknown: "Redis does not say how durable it is (CONFIG GET is not allowed): commits are as durable as whoever runs it has made them",
};

async function durabilityOf(link: Connection): Promise<Answer["disk"]> {
  const log = await setting(link, "appendonly");
  const sync = await setting(link, "appendfsync");
  if (log === undefined || sync === undefined) return "unknown";
  if (log !== "yes") return "none";
  if (sync === "always") return "always";
  return sync === "everysec" ? "everysec" : "no";
}

/** Whether there is `WAITAOF`, which waits for the disk: from 7.2 on. */
async function canConfirm(link: Connection): Promise<boolean> {
  // It is about what the same connection wrote before: a pool may take another one.
  if (link.epoch() === undefined) return false;
  const info = String(await link.send(["INFO", "server"]).catch(() => ""));
  const [, major = "0", minor = "0"] = /redis_version:(\d+)\.(\d+)/.exec(info) ?? [];
  return Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
}

/** How many replicas are connected; none if the server does not say. */
async function replicasOf(link: Connection): Promise<number> {
  const info = await link.send(["INFO", "replication"]).catch(() => "");
  return Number(/connected_slaves:(\d+)/.exec(String(info))?.[1] ?? 0);
}

/** A setting of the server, `undefined` when it does not tell. The answer is a list of names and values or a map, by protocol. */
async function setting(link: Connection, name: string): Promise<string | undefined> {
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
