// Sending to Redis: scripts and commands, the waiting for disk and replicas after them, and the trying again when a connection breaks.

import { createHash } from "node:crypto";
import { ThreadkeepError } from "../errors.js";
import type { Waits } from "./redis-durability.js";
import { isElsewhere, isUnknownScript, mayPass, redisTrouble } from "./redis-errors.js";
import type { Connection, Line, Link, RedisWord } from "./redis-link.js";
import { VERSION } from "./redis-scripts.js";
import { overBreaks, trouble } from "./trouble.js";

/**
 * For how many milliseconds the server may take to write to its disk, or its replicas to confirm. It answers nothing else on the connection
 * meanwhile, and a lease is lost that does not count up for five seconds. After that the commit is sent again under its token, which waits anew.
 */
const SYNC = 1_000;

/** A script and the name under which Redis remembers it. @internal */
export interface Script {
  text: string;
  sha: string;
}

/** A script with its name. @internal */
export function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/** The servers of a store, and how they are talked to. @internal */
export class RedisServers {
  readonly #link: Link;
  readonly #waits: Waits;
  readonly #retryTimeout: number;
  readonly #confirmations = new WeakMap<object, Confirmations>();
  #closed = false;

  constructor(link: Link, waits: Waits, retryTimeout: number) {
    this.#link = link;
    this.#waits = waits;
    this.#retryTimeout = retryTimeout;
  }

  /** The way to a key's server. */
  to(key: string): Line {
    return this.#link.to(key);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#link.close();
  }

  /** Runs a script on the keys of a keep. Its answer begins with a word; `strict` waits for disk and replicas if that is `done`. */
  async run(line: Line, { text, sha }: Script, keys: string[], args: RedisWord[], strict: boolean): Promise<unknown[]> {
    const rest = [String(keys.length), ...keys, ...args];
    const [answer, confirmed] = await this.#send(line, keys[0] ?? "", ["EVALSHA", sha, ...rest], strict).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      // To the server that has the keys; a command that only loads it might go to any server of a cluster.
      return this.#send(line, keys[0] ?? "", ["EVAL", text, ...rest], strict);
    });
    const [word, version] = answer as unknown[];
    if (String(word) === "newer-version") throw newer(Number(version));
    if (String(word) === "torn") {
      const message =
        "a part of the keep is missing on the Redis server: it may have thrown keys away for want of memory (maxmemory-policy), or somebody deleted them";
      throw new ThreadkeepError("corrupt", message);
    }
    if (String(word) === "done") await confirmed;
    return answer as unknown[];
  }

  /** Sends a command that writes to `key`, and waits for disk and replicas if `strict`. */
  async write(key: string, words: RedisWord[], strict: boolean): Promise<unknown> {
    const [answer, confirmed] = await this.#send(this.to(key), key, words, strict);
    await confirmed;
    return answer;
  }

  /** Does `work`, again and again while the connection is broken or the server not ready. */
  patiently<T>(work: () => Promise<T>): Promise<T> {
    return overBreaks(work, { server: "Redis", isClosed: () => this.#closed, mayPass, trouble: redisTrouble, retryTimeout: this.#retryTimeout });
  }

  /** The answer, and what resolves when the write is confirmed. */
  async #send(line: Line, key: string, words: RedisWord[], strict: boolean): Promise<[unknown, Promise<void> | undefined]> {
    if (!strict || (!this.#waits.disk && this.#waits.replicas === 0)) return [await line.send(words), undefined];
    const connection = await line.connection();
    if (connection === undefined) {
      await line.send(["EXISTS", key]);
      throw trouble("transient", "the Redis cluster's client does not say which server has the keep");
    }
    const sent = connection.send(words);
    // In the same breath: it is about what this connection wrote before.
    const confirmed = this.#confirmationsOf(connection).next();
    confirmed.catch(() => {});
    try {
      return [await sent, confirmed];
    } catch (error) {
      // The cluster's client asks where the slot is by now when it meets this answer itself.
      if (isElsewhere(error)) await line.send(["EXISTS", key]);
      throw error;
    }
  }

  #confirmationsOf(connection: Connection): Confirmations {
    const found = this.#confirmations.get(connection.client) ?? new Confirmations(connection, this.#waits, Math.min(SYNC, this.#retryTimeout));
    this.#confirmations.set(connection.client, found);
    return found;
  }
}

/**
 * The confirmations of one connection. A server that waits answers nothing else on that connection, so there is one wait at a time; all
 * that is written while it is under way shares the next.
 */
class Confirmations {
  readonly #connection: Connection;
  readonly #waits: Waits;
  readonly #patience: string;
  #underWay: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;

  constructor(connection: Connection, waits: Waits, patience: number) {
    this.#connection = connection;
    this.#waits = waits;
    this.#patience = String(patience);
  }

  /** Resolves when what this connection was told until now is confirmed. */
  async next(): Promise<void> {
    const epoch = this.#connection.epoch();
    await (this.#underWay === undefined ? this.#begin() : (this.#waiting ??= this.#underWay.then(this.#begin, this.#begin)));
    if (this.#connection.epoch() !== epoch) throw trouble("transient", "Redis has taken the commit, but the connection broke before it was confirmed");
  }

  #begin = (): Promise<void> => {
    const done = (): void => {
      if (this.#underWay === asked) this.#underWay = undefined;
    };
    this.#waiting = undefined;
    const asked = this.#ask();
    this.#underWay = asked;
    asked.then(done, done);
    return asked;
  };

  async #ask(): Promise<void> {
    const { disk, replicas } = this.#waits;
    const synced = disk ? this.#connection.send(["WAITAOF", "1", "0", this.#patience]) : undefined;
    const copied = replicas > 0 ? this.#connection.send(["WAIT", String(replicas), this.#patience]) : undefined;
    const [local, copies] = await Promise.all([synced, copied]);
    if (disk && Number((local as unknown[])[0]) < 1) throw trouble("transient", "Redis has taken the commit, but has not said that it is on its disk");
    if (Number(copies ?? 0) < replicas) {
      const message = `Redis has stored the commit, but ${Number(copies)} of ${replicas} replicas have confirmed it: it may be lost if the master fails now`;
      throw trouble("transient", message);
    }
  }
}

function newer(found: number): ThreadkeepError {
  const message = `the data has layout version ${found}, this package reads up to ${VERSION}: update Threadkeep; nothing was changed`;
  return Object.assign(new ThreadkeepError("newer-version", message, { found, supported: VERSION }), { found, supported: VERSION });
}
