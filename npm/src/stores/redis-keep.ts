// One keep on Redis: the records of a place, or of one of its scopes. What happens inside the server is in `redis-scripts.ts`.

import { randomUUID } from "node:crypto";
import type { ScanRequest, StoreAdapter, StoreCommit, StoreRecord } from "./adapter.js";
import type { Connection, Line, RedisWord } from "./redis-link.js";
import { COMMIT, GET, SCAN } from "./redis-scripts.js";
import { type RedisServers, type Script, script } from "./redis-server.js";
import { Conflict, closedError } from "./trouble.js";

/** A scan takes at most about this many bytes at a time, so that other users of the server need not wait long. */
const PIECE = 1 << 20;
/** How often a long scan starts anew because somebody wrote meanwhile, before it is done in one go. */
const RESTARTS = 2;

const COMMITTING = script(COMMIT);
const GETTING = script(GET);
const SCANNING = script(SCAN);
/** A scan that finds nothing, and says how many commits there were. */
const NOTHING = ["-", "-", "0", "0", "0", "0"];

/** The four keys of a keep; `begin` has the hash tag. @internal */
export function keysOf(begin: string): string[] {
  return ["keys", "values", "commits", "about"].map((name) => begin + name);
}

/** The records under four keys. @internal */
export class RedisKeep implements StoreAdapter {
  readonly #servers: RedisServers;
  readonly #line: Line;
  readonly #keys: string[];
  readonly #ttl: string;
  readonly #begin: ((strict: boolean) => Promise<unknown>) | undefined;
  #closed = false;

  /** `ttl` is in milliseconds. `begin` is called before and after the commit with which the keep begins. */
  constructor(servers: RedisServers, keys: string[], ttl: string, begin?: (strict: boolean) => Promise<unknown>) {
    this.#servers = servers;
    this.#line = servers.to(keys[0] ?? "");
    this.#keys = keys;
    this.#ttl = ttl;
    this.#begin = begin;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const [, value] = await this.#read(GETTING, [key]);
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
    const rest = [...absent, ...present, ...deletes, ...deleteRanges.flat(), ...values];
    const strict = durability === "strict";
    const run = (begins: string) =>
      this.#servers.patiently(() => {
        if (this.#closed) throw closedError();
        return this.#servers.run(this.#line, COMMITTING, this.#keys, [token, this.#ttl, ...counts, begins, ...rest], strict);
      });
    let [word, key] = await run(this.#begin === undefined ? "1" : "0");
    if (String(word) === "new") {
      await this.#begin?.(strict);
      [word, key] = await run("1");
      await this.#begin?.(strict);
    }
    if (String(word) === "conflict") throw new Conflict(String(key));
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** A scan in as many pieces as it takes; `undefined` when there were commits between two of them, or between keys and values. */
  async #pieces(min: string, max: string, limit: number, reverse: boolean, room: number): Promise<StoreRecord[] | undefined> {
    const records: StoreRecord[] = [];
    // The last try is one script.
    const connection = room === Infinity ? undefined : await this.#line.connection();
    let [low, high] = [min, max];
    let state: string | undefined;
    for (;;) {
      const bounds = reverse ? [high, low, "1"] : [low, high, "0"];
      const left = limit < 0 ? -1 : limit - records.length;
      const args = [...bounds, String(left), room === Infinity ? "1e15" : String(room), connection === undefined ? "0" : "1"];
      const [, commits, more, bare, ...found] = await this.#read(SCANNING, args);
      if (state !== undefined && String(commits) !== state) return undefined;
      state = String(commits);
      if (connection !== undefined && String(bare) === "1") {
        const values = await this.#values(connection, found as Buffer[], state);
        if (values === undefined) return undefined;
        for (const [index, value] of values.entries()) records.push([String(found[index]), value]);
      } else for (let index = 0; index < found.length; index += 2) records.push([String(found[index]), found[index + 1] as Buffer]);
      const last = records.at(-1)?.[0];
      if (String(more) === "0" || last === undefined) return records;
      if (reverse) high = `(${last}`;
      else low = `(${last}`;
    }
  }

  /** The values of keys, if after them there were as many commits as before. One connection answers in the order in which it is asked. */
  async #values(connection: Connection, keys: Buffer[], commits: string): Promise<Buffer[] | undefined> {
    const epoch = connection.epoch();
    const line: Line = { send: (words) => connection.send(words), connection: async () => connection };
    try {
      const sent = connection.send(["HMGET", this.#keys[1] ?? "", ...keys]) as Promise<(Buffer | null)[]>;
      const [values, [, now]] = await Promise.all([sent, this.#servers.run(line, SCANNING, this.#keys, NOTHING, false)]);
      const same = String(now) === commits && connection.epoch() === epoch;
      return same && values.every((value) => value !== null) ? values : undefined;
    } catch {
      // The next try says what is wrong.
      return undefined;
    }
  }

  #read(script: Script, args: RedisWord[]): Promise<unknown[]> {
    return this.#servers.patiently(async () => {
      if (this.#closed) throw closedError();
      return this.#servers.run(this.#line, script, this.#keys, args, false);
    });
  }
}

/** The same bytes as the clients want them. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
