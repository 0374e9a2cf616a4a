// A keep on a Redis server or cluster, for several processes and machines at once: its options, and how it is opened.

import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { StoreAdapter, StoreScopes } from "./adapter.js";
import { type RedisDurability, type RedisWarning, examine } from "./redis-durability.js";
import { mayPass, redisTrouble } from "./redis-errors.js";
import { RedisKeep, keysOf } from "./redis-keep.js";
import { type RedisClientLike, connectTo, linkTo } from "./redis-link.js";
import { redisScopes } from "./redis-scopes.js";
import { RedisServers } from "./redis-server.js";
import { address, milliseconds, trouble } from "./trouble.js";

export type { RedisClientLike, RedisDurability, RedisWarning };

/** Options of {@link redisStore}: `url` or `client`. */
export interface RedisStoreOptions {
  /** Where the server is: `redis[s]://[[user][:password]@][host][:port][/database]`. Needs the package `redis`. */
  url?: string;
  /**
   * A connected client of yours, of the package `redis` or `ioredis`, which stays open when the store is closed. One that is
   * told not to queue commands while it is offline (`disableOfflineQueue`, `enableOfflineQueue: false`) fails soonest.
   */
  client?: RedisClientLike;
  /** Sets this keep apart from others on the server; `threadkeep` without it. Without `{` and `}`: it is a cluster's hash tag. */
  prefix?: string;
  /**
   * After how many seconds without a commit the whole keep expires, such as `7 * 24 * 60 * 60`. Without it nothing expires,
   * and a time that was set by an earlier commit is lifted by the next one. For a time per conversation, give each a keep
   * (a prefix) of its own.
   */
  ttl?: number;
  /** For how many milliseconds a broken connection is tried again before an error says `transient`; 10,000 without it. */
  retryTimeout?: number;
  /**
   * How many replicas must have a `strict` commit before it resolves, 0 without it. With 1, such a commit survives the end of one master. If too few
   * replicas confirm it, the commit is stored, and rejects with `transient` in the end. Needs a client of one connection, or a cluster's.
   */
  replicas?: number;
  /** Called once for each thing about the server that puts acknowledged commits at risk. Without it, `console.warn`. */
  onWarning?: (warning: RedisWarning) => void;
}

/** A keep's place on a Redis server. */
export interface RedisStore extends StoreAdapter {
  /** What it means that a `strict` commit resolved. */
  readonly durability: RedisDurability;
  /** Scopes, each with a hash tag of its own: Redis Cluster spreads them over its servers. */
  readonly scopes: StoreScopes;
}

/** The longest time to live, in seconds, some three thousand years: far greater numbers Redis cannot read, and says so too late. */
const LONGEST_LIFE = 1e11;
/**
 * Opens a keep on a Redis server (6 or newer). Commits are atomic scripts, so that several processes may write at once.
 *
 * How durable a `strict` commit is depends on the server ({@link RedisStore.durability}): with `appendfsync always`, and with
 * any log from Redis 7.2 on, it is on the disk when it resolves. Otherwise a warning says what may be lost.
 *
 * @throws ThreadkeepError `bad-request` for wrong options; `unavailable` when the server cannot be reached or refuses the
 * password; `newer-version`
 * @example
 * ```ts
 * import { Threadkeep } from "threadkeep";
 * import { redisStore } from "threadkeep/redis";
 *
 * const storage = await redisStore({ url: "redis://127.0.0.1:6379", ttl: 7 * 24 * 60 * 60 });
 * const keep = await Threadkeep.open({ storage });
 * await keep.thread("main").append([{ role: "user", content: "hello" }]);
 * await keep.close();
 * ```
 */
export async function redisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const checked = check.options(options, "options", {
    url: address,
    client: redisClient,
    prefix: prefixName,
    ttl: seconds,
    retryTimeout: milliseconds,
    replicas: check.count,
    onWarning: check.callback,
  }) as RedisStoreOptions;
  const { url, client, prefix = "threadkeep", ttl = 0, retryTimeout = 10_000, replicas = 0 } = checked;
  if ((url === undefined) === (client === undefined)) throw badArgument("options", "must have either `url` or `client`");
  const link = client === undefined ? await connectTo(url ?? "") : linkTo(client, retryTimeout);
  try {
    const { durability, waits, warnings } = await examine(link, ttl > 0, replicas);
    const warn = checked.onWarning ?? (({ message }) => console.warn(`threadkeep/redis: ${message}`));
    for (const warning of warnings) warn(warning);
    const store = new RedisPlace(new RedisServers(link, waits, retryTimeout), prefix, String(Math.round(ttl * 1000)), durability);
    // Says so now if the data is of a newer version.
    await store.scan({ start: "", end: "\u0001", limit: 1, reverse: false });
    return store;
  } catch (error) {
    await link.close();
    if (error instanceof ThreadkeepError) throw error;
    throw mayPass(error) ? trouble("unavailable", "Redis cannot be reached", error) : redisTrouble(error, "Redis cannot be used");
  }
}

class RedisPlace extends RedisKeep implements RedisStore {
  readonly durability: RedisDurability;
  readonly scopes: StoreScopes;
  readonly #servers: RedisServers;

  constructor(servers: RedisServers, prefix: string, ttl: string, durability: RedisDurability) {
    super(servers, keysOf(`{${prefix}}:`), ttl);
    this.#servers = servers;
    this.scopes = redisScopes(servers, prefix, ttl);
    this.durability = durability;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#servers.close();
  }
}

function prefixName(value: unknown, argument: string): string {
  const name = check.id(value, argument);
  if (/[{}]/.test(name)) throw badArgument(argument, "must not contain `{` or `}`, which mark it as a cluster's hash tag");
  return name;
}

function seconds(value: unknown, argument: string): number {
  if (typeof value !== "number" || !(value >= 0.001 && value <= LONGEST_LIFE))
    throw badArgument(argument, `must be a number of seconds from 0.001 to ${LONGEST_LIFE}, it is ${String(value)}`);
  return value;
}

function redisClient(value: unknown, argument: string): RedisClientLike {
  const { sendCommand, callBuffer } = (value ?? {}) as RedisClientLike;
  if (typeof sendCommand !== "function" && typeof callBuffer !== "function")
    throw badArgument(argument, "must be a client of the package `redis` (5 or newer) or `ioredis`");
  return value as RedisClientLike;
}
