// One way of sending commands, whatever client there is: node-redis, its cluster, ioredis, or one of ours.

import { badArgument } from "../errors.js";
import { isRefused } from "./redis-errors.js";
import { trouble, words } from "./trouble.js";

/** A word of a command. @internal */
export type RedisWord = string | Buffer;

/** A client of the package `redis` (node-redis 5 or newer), its cluster, or one of the package `ioredis`. */
export interface RedisClientLike {
  /** node-redis. */
  sendCommand?: unknown;
  /** ioredis. */
  callBuffer?: unknown;
}

/** How the store reaches Redis. @internal */
export interface Link {
  /** Sends a command; texts come back as Buffers. */
  send(words: RedisWord[]): Promise<unknown>;
  /** A number that changes with the connection; `undefined` where commands may go through several, or the client does not say. */
  epoch(): number | undefined;
  /** Lets go of a connection of ours. */
  close(): Promise<void>;
}

/** How many milliseconds the first connection may take. */
const CONNECTING = 5_000;
/** For how many milliseconds answers are waited for when a connection is closed. */
const CLOSING = 1_000;

/** Bulk strings of the protocol (`$`) as Buffers. */
const TYPES = { 36: Buffer };

interface NodeRedis {
  sendCommand(args: RedisWord[], options: object): Promise<unknown>;
  readonly socketEpoch?: number;
}

interface NodeRedisCluster {
  sendCommand(key: string, readOnly: boolean, args: RedisWord[], options: object): Promise<unknown>;
}

interface IoRedis {
  readonly isCluster?: boolean;
  readonly options?: { enableAutoPipelining?: boolean };
  readonly connectionEpoch?: number;
  callBuffer(command: RedisWord, ...args: RedisWord[]): Promise<unknown>;
}

/** Sends through a client of the user's. `key` says where in a cluster; nothing waits longer than `budget` milliseconds to be sent. @internal */
export function linkTo(client: RedisClientLike, key: string, budget: number): Link {
  const close = async (): Promise<void> => {};
  if (typeof client.callBuffer === "function") {
    const io = client as unknown as IoRedis;
    // Its `call` then sends the arguments without the command: `CONFIG GET a` becomes `GET a`.
    if (io.options?.enableAutoPipelining === true)
      throw badArgument("options.client", "must be an ioredis client without `enableAutoPipelining`, with which ioredis loses the names of commands");
    return {
      send: ([command, ...args]) => io.callBuffer(command ?? "", ...args),
      epoch: () => (io.isCluster === true ? undefined : io.connectionEpoch),
      close,
    };
  }
  const options = () => ({ typeMapping: TYPES, abortSignal: AbortSignal.timeout(budget) });
  if ("masters" in client && "slots" in client) {
    const cluster = client as unknown as NodeRedisCluster;
    return { send: (args) => cluster.sendCommand(key, false, args, options()), epoch: () => undefined, close };
  }
  const single = client as unknown as NodeRedis;
  return { send: (args) => single.sendCommand(args, options()), epoch: () => single.socketEpoch, close };
}

/** Connects to a server. @internal */
export async function connectTo(url: string): Promise<Link> {
  const { createClient } = await import("redis").catch((error: unknown) => {
    throw trouble("unavailable", "a `url` needs the package `redis`: install it, or hand over a `client`", error);
  });
  let opened = false;
  const reconnectStrategy = (retries: number, cause: Error): number | Error => {
    if (!opened && (retries >= 2 || isRefused(cause))) return cause;
    return Math.min(1_000, 20 * 2 ** Math.min(retries, 10));
  };
  const client = (() => {
    try {
      return createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: CONNECTING, reconnectStrategy } });
    } catch (error) {
      // Without the error itself, which holds the address, and so a password.
      throw badArgument("options.url", `is no address of a Redis server: ${words(error)}`);
    }
  })();
  // Whatever it was, the command that was under way says so.
  client.on("error", () => {});
  // A server that takes connections and does not answer, as one that hangs, would be waited for without end.
  let silent = false;
  const timer = setTimeout(() => {
    silent = true;
    client.destroy();
  }, CONNECTING);
  try {
    await client.connect();
  } catch (error) {
    if (silent) throw trouble("unavailable", `Redis cannot be reached: it did not answer within ${CONNECTING / 1000} seconds`);
    client.destroy();
    // Not the address: it may hold a password.
    throw trouble("unavailable", isRefused(error) ? "Redis refuses the user or password" : "Redis cannot be reached", error);
  } finally {
    clearTimeout(timer);
  }
  opened = true;
  const link = linkTo(client as unknown as RedisClientLike, "", 60_000);
  const send = (args: RedisWord[]): Promise<unknown> => (client as unknown as NodeRedis).sendCommand(args, { typeMapping: TYPES });
  const close = async (): Promise<void> => {
    // It waits for answers that are under way, and for ever when the connection breaks meanwhile.
    if (client.isReady) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise((resolve) => (timer = setTimeout(resolve, CLOSING)));
      await Promise.race([client.close(), late]);
      clearTimeout(timer);
    }
    client.destroy();
  };
  return { ...link, send, close };
}
