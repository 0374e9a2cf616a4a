// A Redis cluster for tests: masters that share the slots, and replicas of each, on free ports of this machine.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, createCluster } from "redis";
import { PASSWORD, freePortOfCluster, startRedis } from "./servers.mjs";
import { until } from "./until.mjs";

const SLOTS = 16_384;

/** Starts `masters` masters with `replicas` replicas each. A replica takes over about two seconds after its master has ended. */
export async function startCluster({ masters = 3, replicas = 1, settings = [] } = {}) {
  const servers = [];
  const close = () => Promise.all(servers.map((server) => server.close()));
  try {
    for (let index = 0; index < masters * (1 + replicas); index += 1) servers.push(await startMember(settings));
    const members = await Promise.all(servers.map(member));
    try {
      await join(members, masters);
    } finally {
      for (const { client } of members) client.destroy();
    }
  } catch (error) {
    await close();
    throw error;
  }
  const clients = [];
  return {
    servers,
    /** A client of the package `redis` that looks for the new master soon after one is gone. */
    async client(more = {}) {
      const rootNodes = servers.map(({ port }) => ({ socket: { host: "127.0.0.1", port } }));
      const cluster = createCluster({ rootNodes, defaults: { password: PASSWORD }, topologyRefreshOnReconnectionAttemptStrategy: 200, ...more });
      cluster.on("error", () => {});
      await cluster.connect();
      clients.push(cluster);
      return cluster;
    },
    /** Sends a command to the server with this port. */
    ask: (port, words) => once(port, (client) => client.sendCommand(words)),
    /** Moves the slot of a key to the next master, as adding a server does, and gives how many milliseconds the keys took. */
    move: (key) => moveSlot(key, servers),
    async close() {
      for (const client of clients) client.destroy();
      await close();
    },
  };
}

async function startMember(settings) {
  for (let tries = 0; ; tries += 1) {
    const port = await freePortOfCluster();
    const cluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"];
    const replication = ["--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"];
    try {
      return await startRedis({ port, settings: [...cluster, ...replication, ...settings] });
    } catch (error) {
      // Another process has taken one of both ports meanwhile.
      if (tries >= 2) throw error;
    }
  }
}

async function member({ port }) {
  const client = createClient({ url: `redis://:${PASSWORD}@127.0.0.1:${port}` });
  // It connects anew, and whoever asks again is answered.
  client.on("error", () => {});
  await client.connect();
  return { port, client, id: String(await client.sendCommand(["CLUSTER", "MYID"])) };
}

/** Makes one cluster of them: the first are masters, the others in turn their replicas. */
async function join(members, masters) {
  for (const [index, { client }] of members.slice(0, masters).entries()) {
    const bound = (number) => Math.floor((SLOTS * number) / masters);
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", String(bound(index)), String(bound(index + 1) - 1)]);
    // Epochs that differ from the beginning need not be sorted out first.
    await client.sendCommand(["CLUSTER", "SET-CONFIG-EPOCH", String(index + 1)]);
  }
  for (const { port } of members.slice(1)) await members[0].client.sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(port)]);
  const all = (what, holds) => Promise.all(members.map((it) => until(() => holds(it), what, 60_000)));
  // By their own ids: those that are just meeting have others.
  await all("that the servers know each other", async ({ client }) => {
    const nodes = String(await client.sendCommand(["CLUSTER", "NODES"]));
    return members.every(({ id }) => nodes.includes(id));
  });
  for (const [index, { client }] of members.entries()) if (index >= masters) await client.sendCommand(["CLUSTER", "REPLICATE", members[index % masters].id]);
  await all("that the servers are a cluster", async ({ client }) => /cluster_state:ok/.test(String(await client.sendCommand(["CLUSTER", "INFO"]))));
  await all("that the servers are replicated", async ({ client }) => {
    const info = String(await client.sendCommand(["INFO", "replication"]));
    const wanted = members.length / masters - 1;
    return /role:master/.test(info) ? Number(/connected_slaves:(\d+)/.exec(info)[1]) === wanted : /master_link_status:up/.test(info);
  });
  await all("that the servers agree on replicas", async ({ client }) => {
    const nodes = String(await client.sendCommand(["CLUSTER", "NODES"]));
    return (nodes.match(/slave /g) ?? []).length === members.length - masters;
  });
}

async function moveSlot(key, servers) {
  const infos = await Promise.all(servers.map(({ port }) => once(port, (client) => client.sendCommand(["CLUSTER", "NODES"])).then(String)));
  const owners = infos
    .map((nodes, index) => ({ port: servers[index].port, self: /^(\w+) .*myself,master.*$/m.exec(nodes) }))
    .filter(({ self }) => self !== null);
  const slot = Number(await once(servers[0].port, (client) => client.sendCommand(["CLUSTER", "KEYSLOT", key])));
  const has = ({ self }) =>
    self[0]
      .split(" ")
      .slice(8)
      .map((range) => range.split("-").map(Number))
      .some(([first, last = first]) => slot >= first && slot <= last);
  const at = owners.findIndex(has);
  const [from, to] = [owners[at], owners[(at + 1) % owners.length]];
  const tell = ({ port }, ...words) => once(port, (client) => client.sendCommand(words));
  await tell(to, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", from.self[1]);
  await tell(from, "CLUSTER", "SETSLOT", String(slot), "MIGRATING", to.self[1]);
  const keys = (await tell(from, "CLUSTER", "GETKEYSINSLOT", String(slot), "1000")).map(String);
  const start = performance.now();
  await tell(from, "MIGRATE", "127.0.0.1", String(to.port), "", "0", "5000", "AUTH", PASSWORD, "KEYS", ...keys);
  const time = performance.now() - start;
  // A moment in which the slot is half moved, as for as long as other keys of it take.
  await sleep(100);
  for (const owner of [to, from]) await tell(owner, "CLUSTER", "SETSLOT", String(slot), "NODE", to.self[1]);
  return time;
}

async function once(port, work) {
  const client = createClient({ url: `redis://:${PASSWORD}@127.0.0.1:${port}`, socket: { reconnectStrategy: false } });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    client.destroy();
  }
}
