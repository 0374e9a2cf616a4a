// One way of sending commands, whatever client there is: node-redis, its cluster, ioredis, or one of ours.

import { badArgument } from "../errors.js";
import { isRefused } from "./redis-errors.js";
import { slotOf } from "./redis-slots.js";
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

/** A connection to one server. @internal */
export interface Connection {
  /** What stands for the client that has it: the same object as long as the client is. */
  readonly client: object;
  /** Sends a command over it; texts come back as Buffers. */
  send(words: RedisWord[]): Promise<unknown>;
  /** A number that changes when the client connects anew; `undefined` if the client does not say, or has several connections. */
  epoch(): number | undefined;
}

/** The way to the server that has a key. @internal */
export interface Line {
  /** Sends a command there, wherever that is by now; texts come back as Buffers. */
  send(words: RedisWord[]): Promise<unknown>;
  /** The connection over which commands go there now; `undefined` if the client does not say. */
  connection(): Promise<Connection | undefined>;
}

/** How the store reaches Redis. @internal */
export interface Link {
  /** The way to a key's server: in a cluster, the master of its slot. */
  to(key: string): Line;
  /** A connection to each server that takes writes: one, or the masters of a cluster. */
  servers(): Promise<Connection[]>;
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
  readonly slots: ({ master: unknown } | undefined)[];
  readonly masters: unknown[];
  nodeClient(node: unknown): Promise<NodeRedis>;
}

interface IoRedis {
  readonly isCluster?: boolean;
  readonly options?: { enableAutoPipelining?: boolean; host?: string; port?: number };
  readonly connectionEpoch?: number;
  callBuffer(command: RedisWord, ...args: RedisWord[]): Promise<unknown>;
}

interface IoRedisCluster extends IoRedis {
  /** By slot, the addresses of its servers, the master's first. */
  readonly slots?: (string[] | undefined)[];
  nodes?(role: "master"): IoRedis[];
}

/** Sends through a client of the user's; no command waits longer than `budget` milliseconds to be sent. @internal */
export function linkTo(client: RedisClientLike, budget: number): Link {
  if (typeof client.callBuffer === "function") {
    const io = client as unknown as IoRedis;
    // Its `call` then sends the arguments without the command: `CONFIG GET a` becomes `GET a`.
    if (io.options?.enableAutoPipelining === true)
      throw badArgument("options.client", "must be an ioredis client without `enableAutoPipelining`, with which ioredis loses the names of commands");
    return io.isCluster === true ? ioRedisCluster(io) : toOne(ioRedis(io));
  }
  const options = () => ({ typeMapping: TYPES, abortSignal: AbortSignal.timeout(budget) });
  if ("masters" in client && "slots" in client) return nodeRedisCluster(client as unknown as NodeRedisCluster, options);
  return toOne(nodeRedis(client as unknown as NodeRedis, options));
}

const leftOpen = async (): Promise<void> => {};

function nodeRedis(client: NodeRedis, options: () => object): Connection {
  return { client, send: (args) => client.sendCommand(args, options()), epoch: () => client.socketEpoch };
}

function ioRedis(client: IoRedis): Connection {
  return { client, send: ([command, ...args]) => client.callBuffer(command ?? "", ...args), epoch: () => client.connectionEpoch };
}

/** All keys are on one server. */
function toOne(connection: Connection): Link {
  const line: Line = { send: connection.send, connection: async () => (connection.epoch() === undefined ? undefined : connection) };
  return { to: () => line, servers: async () => [connection], close: leftOpen };
}

function nodeRedisCluster(cluster: NodeRedisCluster, options: () => object): Link {
  const sender = (key: string) => (args: RedisWord[]) => cluster.sendCommand(key, false, args, options());
  return toCluster(cluster, sender, {
    async masterOf(slot) {
      const master = cluster.slots[slot]?.master;
      return master === undefined ? undefined : nodeRedis(await cluster.nodeClient(master), options);
    },
    masters: () => Promise.all(cluster.masters.map(async (master) => nodeRedis(await cluster.nodeClient(master), options))),
  });
}

function ioRedisCluster(cluster: IoRedisCluster): Link {
  const masters = (): IoRedis[] => cluster.nodes?.("master") ?? [];
  const { send } = ioRedis(cluster);
  return toCluster(cluster, () => send, {
    async masterOf(slot) {
      const address = cluster.slots?.[slot]?.[0];
      const master = masters().find(({ options }) => `${options?.host}:${options?.port}` === address);
      return master === undefined ? undefined : ioRedis(master);
    },
    masters: async () => masters().map(ioRedis),
  });
}

/** What a cluster's client knows of its servers. */
interface ClusterMap {
  masterOf(slot: number): Promise<Connection | undefined>;
  masters(): Promise<Connection[]>;
}

function toCluster(client: object, sender: (key: string) => Connection["send"], { masterOf, masters }: ClusterMap): Link {
  return {
    to(key) {
      const send = sender(key);
      const slot = slotOf(key);
      return { send, connection: () => masterOf(slot) };
    },
    async servers() {
      // A client that is still connecting knows its servers when it has answered.
      if ((await masters()).length === 0) await sender("")(["EXISTS", ""]);
      const found = await masters();
      return found.length > 0 ? found : [{ client, send: sender(""), epoch: () => undefined }];
    },
    close: leftOpen,
  };
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
  const single = client as unknown as NodeRedis;
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
  return { ...toOne(nodeRedis(single, () => ({ typeMapping: TYPES }))), close };
}
