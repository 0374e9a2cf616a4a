// Many scopes on servers: `cargo xtask bench scopes`, or `node scopes.mjs` with THREADKEEP_TARBALL naming the packed package. Prints a `BENCH` line a
// row for xtask.
//
// SCOPES keeps of a scope each append 100 messages on a Redis cluster of three masters with a replica each, and on PostgreSQL with 16 partitions and a
// standby; commits wait for a replica. When half is written, one master ends and a replica takes over. Afterwards each scope of which the messages were
// acknowledged is read again. Then come the figures that a plan needs: bytes of a scope, the time to open and read one, to list all and to remove one.
// At last WRITES commits of one record are made in scopes of clusters of one, two and three masters by WRITERS at a time.

import { createRequire } from "node:module";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

import { installed } from "../../npm/test/support/installed.mjs";
import { startProxy } from "../../npm/test/support/proxy.mjs";
import { startCluster } from "../../npm/test/support/redis-cluster.mjs";
import { startPostgres, startStandby } from "../../npm/test/support/servers.mjs";
import { median, messages } from "./lib/messages.mjs";

const SCOPES = Number(process.env.SCOPES ?? 10_000);
const WRITES = Number(process.env.WRITES ?? 20_000);
const WRITERS = 32;
const FILLERS = 8;
const SAMPLES = Math.min(200, SCOPES);
/** What clusters are usually set to: the log is synced each second, and a replica confirms each strict commit. */
const SETTINGS = ["--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];

const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "../../npm/package.json"));
const pg = require("pg");
const load = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
const { Threadkeep } = await load("index.js");
const { redisStore } = await load("stores/redis.js");
const { postgresStore } = await load("stores/postgres.js");

const row = (...cells) => console.log(["BENCH", ...cells].join("\t"));
const nameOf = (number) => `user-${String(number).padStart(8, "0")}`;
const numbers = Array.from({ length: SCOPES }, (_, number) => number);
const perSecond = (count, time) => `${Math.round((1_000 * count) / time).toLocaleString("en-US")}/s`;
const bytesOf = (bytes) => `${Math.round(bytes).toLocaleString("en-US")} bytes`;
const quiet = () => {};

/** Does `work` for each item, `width` of them at a time. */
async function each(items, width, work) {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of iterator) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function timed(work) {
  const start = performance.now();
  const found = await work();
  return { found, time: performance.now() - start };
}

const opened = (store, number) => Threadkeep.open({ storage: store.scopes.open(nameOf(number)), encoding: "estimate" });

/** Fills all scopes; `failover` happens when half of them are filled. Then everything acknowledged is read again. */
async function filled(engine, store, failover) {
  const acknowledged = [];
  let refused = 0;
  let during;
  const { time } = await timed(() =>
    each(numbers, FILLERS, async (number) => {
      if (acknowledged.length >= SCOPES / 2) during ??= timed(failover);
      try {
        const keep = await opened(store, number);
        await keep.thread("main").append(messages(100, number));
        await keep.close();
        acknowledged.push(number);
      } catch (error) {
        if (error.code !== "transient") throw error;
        refused += 1;
      }
    }),
  );
  const pause = (await during).time;
  const lost = [];
  await each(acknowledged, FILLERS, async (number) => {
    const keep = await opened(store, number);
    if ((await keep.thread("main").count()) !== 100) lost.push(number);
    await keep.close();
  });
  const count = acknowledged.length;
  row(`${engine}: ${SCOPES} scopes of 100 messages`, `${(time / 1_000).toFixed(1)} s, ${perSecond(100 * count, time)} messages`);
  row(
    "… one master ended on the way",
    `${count} scopes confirmed, ${lost.length} of them lost, ${refused} said to be unconfirmed`,
    "0 lost",
    lost.length ? "missed" : "pass",
  );
  row("… until a replica had taken over", `${(pause / 1_000).toFixed(1)} s`);
}

/** Opening and reading one scope, listing all, removing one. */
async function looked(engine, store) {
  const reads = [];
  const some = Array.from({ length: SAMPLES }, (_, index) => Math.floor((index * SCOPES) / SAMPLES));
  for (const number of some) {
    const { time } = await timed(async () => {
      const keep = await opened(store, number);
      await keep.thread("main").messages();
      await keep.close();
    });
    reads.push(time);
  }
  row(`${engine}: open a scope and read its messages`, `${median(reads).toFixed(1)} ms`);
  const listed = await timed(async () => {
    let count = 0;
    for await (const _ of store.scopes.list()) count += 1;
    return count;
  });
  row(`… list ${listed.found} scopes`, `${listed.time.toFixed(0)} ms, ${((1_000 * listed.time) / Math.max(1, listed.found)).toFixed(0)} µs a scope`);
  const removals = [];
  for (const number of some) removals.push((await timed(() => store.scopes.delete(nameOf(number)))).time);
  row("… remove one", `${median(removals).toFixed(1)} ms`);
}

const folderSize = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);

async function redisFilled() {
  const cluster = await startCluster({ settings: SETTINGS });
  try {
    const used = async () => {
      const masters = await Promise.all(cluster.servers.map(({ port }) => cluster.ask(port, ["INFO"])));
      return masters
        .filter((info) => /role:master/.test(String(info)))
        .reduce((sum, info) => sum + Number(/used_memory_dataset:(\d+)/.exec(String(info))[1]), 0);
    };
    const before = await used();
    const store = await redisStore({ client: await cluster.client(), replicas: 1, retryTimeout: 60_000, onWarning: quiet });
    await filled("Redis cluster, 3 masters", store, async () => {
      const [old] = cluster.servers;
      await old.crash();
      const others = cluster.servers.slice(1);
      const masters = async () =>
        (await Promise.all(others.map(({ port }) => cluster.ask(port, ["INFO", "replication"])))).filter((info) => /role:master/.test(String(info)));
      while ((await masters()).length < 3) await sleep(20);
      // It comes back as a replica; until then the new master has none, and nothing of its slots is confirmed.
      void old.start();
    });
    row("… memory of a master for each scope", bytesOf(((await used()) - before) / SCOPES));
    row("… log on disk for each scope", bytesOf(folderSize(cluster.servers[1].folder) / (SCOPES / 3)));
    const moves = [];
    for (let number = 0; number < Math.min(20, SCOPES); number += 1) moves.push(await cluster.move(`{threadkeep/${nameOf(number)}}@keys`));
    row("… move one to another master", `${median(moves).toFixed(1)} ms`);
    await looked("Redis cluster", store);
    await store.close();
  } finally {
    await cluster.close();
  }
}

async function postgresFilled() {
  const settings = { shared_buffers: "256MB", max_wal_size: "4GB" };
  const primary = await startPostgres({ settings });
  let [standby, proxy] = [undefined, undefined];
  const ask = async ({ connectionString }, text) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const { rows } = await client.query({ text, rowMode: "array" });
    await client.end();
    return rows;
  };
  try {
    standby = await startStandby(primary, { settings });
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await ask(primary, "SELECT pg_reload_conf()");
    while ((await ask(primary, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 0) await sleep(50);
    proxy = await startProxy(primary.port);
    const connectionString = primary.connectionString.replace(`:${primary.port}/`, `:${proxy.port}/`);
    const store = await postgresStore({ connectionString, retryTimeout: 60_000, onWarning: quiet });
    await filled("PostgreSQL, 16 partitions", store, async () => {
      await primary.crash();
      await ask(standby, "SELECT pg_promote()");
      proxy.lead(standby.port);
      proxy.cut();
    });
    const [[size]] = await ask(standby, "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'threadkeep.records'::regclass");
    row("… disk for each scope, with the index", bytesOf(Number(size) / SCOPES));
    await looked("PostgreSQL", store);
    await store.close();
  } finally {
    await proxy?.close();
    await Promise.all([primary.close(), standby?.close()]);
  }
}

/** How many commits a second `WRITERS` make, each in a scope of its own. */
async function throughput(store) {
  const value = new Uint8Array(500).fill(97);
  const commit = (number) => ({
    absent: [`k/${number}`],
    present: [],
    deletes: [],
    deleteRanges: [],
    puts: [[`k/${number}`, value]],
    durability: "strict",
  });
  const scopes = Array.from({ length: WRITERS }, (_, index) => store.scopes.open(nameOf(index)));
  // The first commit of a scope also writes its name.
  await Promise.all(scopes.map((scope) => scope.commit(commit("first"))));
  const items = Array.from({ length: WRITES }, (_, number) => number);
  const { time } = await timed(() => {
    const iterator = items[Symbol.iterator]();
    return Promise.all(
      scopes.map(async (scope) => {
        for (const number of iterator) await scope.commit(commit(number));
      }),
    );
  });
  return perSecond(WRITES, time);
}

async function masters(count) {
  const cluster = await startCluster({ masters: count, settings: SETTINGS });
  try {
    const client = await cluster.client();
    for (const [replicas, what] of [
      [0, "not waiting for replicas"],
      [1, "confirmed by a replica"],
    ]) {
      const store = await redisStore({ client, prefix: `with-${replicas}`, replicas, onWarning: quiet });
      row(`Redis cluster, ${count} of 3 masters: commits ${what}`, await throughput(store));
      await store.close();
    }
  } finally {
    await cluster.close();
  }
}

await redisFilled();
await postgresFilled();
for (const count of [1, 2, 3]) await masters(count);
