// A keep on a Redis server, for several processes and machines at once. What happens inside the server is in
// `redis-scripts.ts`; here is the sending, and the trying again when a connection breaks.

import { createHash, randomUUID } from "node:crypto";
import * as check from "../check.js";
import { ThreadkeepError, badArgument } from "../errors.js";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "./adapter.js";
import { type RedisDurability, type RedisWarning, examine } from "./redis-durability.js";
import { isUnknownScript, mayPass, redisTrouble } from "./redis-errors.js";
import { type Link, type RedisClientLike, type RedisWord, connectTo, linkTo } from "./redis-link.js";
import { COMMIT, GET, SCAN, VERSION } from "./redis-scripts.js";
import { Conflict, address, milliseconds, overBreaks, trouble } from "./trouble.js";

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
  /** Called once for each thing about the server that puts acknowledged commits at risk. Without it, `console.warn`. */
  onWarning?: (warning: RedisWarning) => void;
}

/** A keep's place on a Redis server. */
export interface RedisStore extends StoreAdapter {
  /** What it means that a `strict` commit resolved. */
  readonly durability: RedisDurability;
}

/** A scan takes at most about this many bytes at a time, so that other users of the server need not wait long. */
const PIECE = 1 << 20;
/** How often a long scan starts anew because somebody wrote meanwhile, before it is done in one go. */
const RESTARTS = 2;
/** The longest time to live, in seconds, some three thousand years: far greater numbers Redis cannot read, and says so too late. */
const LONGEST_LIFE = 1e11;
/** For how many milliseconds the server may take to write to its disk. */
const SYNC = 5_000;

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
    onWarning: check.callback,
  }) as RedisStoreOptions;
  const { url, client, prefix = "threadkeep", ttl = 0, retryTimeout = 10_000 } = checked;
  if ((url === undefined) === (client === undefined)) throw badArgument("options", "must have either `url` or `client`");
  const link = client === undefined ? await connectTo(url ?? "") : linkTo(client, `{${prefix}}:keys`, retryTimeout);
  try {
    const { durability, warnings } = await examine(link, ttl > 0);
    const warn = checked.onWarning ?? (({ message }) => console.warn(`threadkeep/redis: ${message}`));
    for (const warning of warnings) warn(warning);
    const store = new Redis(link, prefix, ttl, retryTimeout, durability);
    // Says so now if the data is of a newer version.
    await store.scan({ start: "", end: "\u0001", limit: 1, reverse: false });
    return store;
  } catch (error) {
    await link.close();
    if (error instanceof ThreadkeepError) throw error;
    throw mayPass(error) ? trouble("unavailable", "Redis cannot be reached", error) : redisTrouble(error, "Redis cannot be used");
  }
}

/** A script and the name under which Redis remembers it. */
interface Script {
  text: string;
  sha: string;
}

class Redis implements RedisStore {
  readonly durability: RedisDurability;
  readonly #link: Link;
  readonly #keys: string[];
  readonly #ttl: string;
  readonly #retryTimeout: number;
  readonly #commit = script(COMMIT);
  readonly #get = script(GET);
  readonly #scan = script(SCAN);
  #closed = false;

  constructor(link: Link, prefix: string, ttl: number, retryTimeout: number, durability: RedisDurability) {
    this.#link = link;
    this.#keys = ["keys", "values", "commits", "about"].map((name) => `{${prefix}}:${name}`);
    this.#ttl = String(Math.round(ttl * 1000));
    this.#retryTimeout = retryTimeout;
    this.durability = durability;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const [, value] = await this.#patiently(() => this.#run(this.#get, [key], false));
    return value === null || value === undefined ? undefined : (value as Buffer);
  }

  async scan({ start, end, limit, reverse }: ScanRequest): Promise<StoreRecord[]> {
    if (start >= end || limit === 0) return [];
    for (let attempt = 0; ; attempt += 1) {
      const records = await this.#pieces(`[${start}`, `(${end}`, limit ?? -1, reverse, attempt < RESTARTS ? PIECE : Infinity);
      if (records !== undefined) return records;
    }
  }

  async commit(commit: StoreCommit): Promise<void> {
    const { absent, present, deletes, deleteRanges, puts, durability } = commit;
    // Whoever tries again after a broken connection shows the same token, and is told when it had happened after all.
    const token = randomUUID();
    const counts = [absent, present, deletes, deleteRanges, puts].map(({ length }) => String(length));
    const values = puts.flatMap(([key, value]): RedisWord[] => [key, asBuffer(value)]);
    const args = [token, this.#ttl, ...counts, ...absent, ...present, ...deletes, ...deleteRanges.flat(), ...values];
    const confirm = durability === "strict" && this.durability === "confirmed";
    const [, key] = await this.#patiently(() => this.#run(this.#commit, args, confirm));
    if (key !== undefined) throw new Conflict(String(key));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#link.close();
  }

  /** A scan in as many pieces as it takes; `undefined` when there were commits between two of them. */
  async #pieces(min: string, max: string, limit: number, reverse: boolean, room: number): Promise<StoreRecord[] | undefined> {
    const records: StoreRecord[] = [];
    let [low, high] = [min, max];
    let state: string | undefined;
    for (;;) {
      const bounds = reverse ? [high, low, "1"] : [low, high, "0"];
      const left = limit < 0 ? -1 : limit - records.length;
      const args = [...bounds, String(left), room === Infinity ? "1e15" : String(room)];
      const [, commits, more, ...found] = await this.#patiently(() => this.#run(this.#scan, args, false));
      if (state !== undefined && String(commits) !== state) return undefined;
      state = String(commits);
      for (let index = 0; index < found.length; index += 2) records.push([String(found[index]), found[index + 1] as Buffer]);
      const last = records.at(-1)?.[0];
      if (String(more) === "0" || last === undefined) return records;
      if (reverse) high = `(${last}`;
      else low = `(${last}`;
    }
  }

  /** Runs a script, and with `confirm` waits for the disk. Gives its answer, the first word of which is `done` or `conflict`. */
  async #run(script: Script, args: RedisWord[], confirm: boolean, whole = false): Promise<unknown[]> {
    const epoch = this.#link.epoch();
    const sent = this.#link.send([...(whole ? ["EVAL", script.text] : ["EVALSHA", script.sha]), "4", ...this.#keys, ...args]);
    // In the same breath: it is about what this connection wrote before.
    const synced = confirm ? this.#link.send(["WAITAOF", "1", "0", String(SYNC)]) : undefined;
    synced?.catch(() => {});
    let answer: unknown[];
    try {
      answer = (await sent) as unknown[];
    } catch (error) {
      if (whole || !isUnknownScript(error)) throw error;
      // To the server that has the keys; a command that only loads it might go to any server of a cluster.
      return this.#run(script, args, confirm, true);
    }
    const word = String(answer[0]);
    if (word === "newer-version") throw newer(Number(answer[1]));
    if (word === "torn") {
      const message =
        "a part of the keep is missing on the Redis server: it may have thrown keys away for want of memory (maxmemory-policy), or somebody deleted them";
      throw new ThreadkeepError("corrupt", message);
    }
    if (synced !== undefined && word === "done") {
      const [local] = (await synced) as unknown[];
      if (Number(local) < 1 || this.#link.epoch() !== epoch) throw trouble("transient", "Redis has taken the commit, but has not said that it is on its disk");
    }
    return answer;
  }

  /** Does `work`, again and again while the connection is broken or the server not ready. */
  #patiently<T>(work: () => Promise<T>): Promise<T> {
    return overBreaks(work, { server: "Redis", isClosed: () => this.#closed, mayPass, trouble: redisTrouble, retryTimeout: this.#retryTimeout });
  }
}

function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/** The same bytes as the clients want them. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function newer(found: number): ThreadkeepError {
  const message = `the data has layout version ${found}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
  return Object.assign(new ThreadkeepError("newer-version", message, { found, supported: VERSION }), { found, supported: VERSION });
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
