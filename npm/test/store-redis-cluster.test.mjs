// The store on a Redis cluster of three masters and three replicas: scopes on all servers, and a master that is killed in mid-write.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import { rejects } from "./support/expect.mjs";
import { startCluster } from "./support/redis-cluster.mjs";
import { bytes, change, contract, listed, redisStore } from "./support/stores.mjs";

/** How many commits each scope makes while a master is killed. */
const COMMITS = Number(process.env.THREADKEEP_FAILOVER_COMMITS ?? 60);
const SCOPES = 12;

let cluster;
let client;
let prefixes = 0;
before(async () => {
  cluster = await startCluster();
  client = await cluster.client();
});
after(() => cluster?.close());

const quiet = () => {};
const prefix = () => `test-${(prefixes += 1)}`;
const open = (more) => redisStore({ client, replicas: 1, retryTimeout: 30_000, onWarning: quiet, ...more });
const key = (number) => `k/${String(number).padStart(6, "0")}`;

test("the contract, in a scope", { timeout: 120_000 }, async () => {
  const store = await open({ prefix: prefix() });
  await contract(() => store.scopes.open("ann"));
  assert.equal(store.durability, "replicated");
  await store.close();
});

test("scopes are spread over all masters, listed, and removed without a trace", async () => {
  const place = prefix();
  const store = await open({ prefix: place });
  // Names that must not end a hash tag or meet another scope's.
  const names = ["ann", "a/b", "a{b}c", "}", "%7D", "ü 漢", ...Array.from({ length: 60 }, (_, index) => `user-${index}`)];
  await store.commit(change({ puts: [["k", bytes("no scope")]] }));
  for (const name of names) await store.scopes.open(name).commit(change({ absent: ["k"], puts: [["k", bytes(name)]] }));
  for (const name of names) assert.equal(String(Buffer.from(await store.scopes.open(name).get("k"))), name);
  assert.equal(String(Buffer.from(await store.get("k"))), "no scope");
  assert.deepEqual((await listed(store)).sort(), [...names].sort());
  const keysOf = async (part) =>
    (await Promise.all(cluster.servers.slice(0, 3).map(({ port }) => cluster.ask(port, ["KEYS", `*${part}*`])))).map((keys) => keys.length);
  assert.ok(
    (await keysOf("user-")).every((count) => count > 0),
    "each master has some",
  );
  for (const name of names) await store.scopes.delete(name);
  await store.scopes.delete("never there");
  assert.deepEqual(await listed(store), []);
  assert.deepEqual(
    (await keysOf(place)).reduce((sum, count) => sum + count),
    4,
    "only what is outside all scopes",
  );
  await store.close();
});

test("a writer of a removed scope meets a conflict, and one without conditions begins it anew, listed", async () => {
  const store = await open({ prefix: prefix() });
  const writer = store.scopes.open("ann");
  await writer.commit(change({ puts: [["mark", bytes("1")]] }));
  await store.scopes.delete("ann");
  await assert.rejects(writer.commit(change({ present: ["mark"], puts: [["k", bytes("1")]] })), { code: "conflict", key: "mark" });
  assert.deepEqual(await listed(store), []);
  await writer.commit(change({ puts: [["k", bytes("1")]] }));
  assert.deepEqual(await listed(store), ["ann"]);
  await store.close();
});

test("first commits and removals that meet leave no scope without its name", { timeout: 120_000 }, async () => {
  const [one, other] = await Promise.all([open({ prefix: "races" }), open({ prefix: "races" })]);
  for (let round = 0; round < 30; round += 1) {
    const name = `scope-${round}`;
    await Promise.all([one.scopes.open(name).commit(change({ puts: [["k", bytes("1")]] })), other.scopes.delete(name)]);
    const there = (await one.scopes.open(name).get("k")) !== undefined;
    assert.equal((await listed(one)).includes(name), there);
    await one.scopes.delete(name);
  }
});

test("names of scopes that cannot be are refused, and a closed view leaves the place open", async () => {
  const store = await open({ prefix: prefix() });
  for (const name of ["", "x".repeat(129), "\ud800"]) assert.throws(() => store.scopes.open(name), { code: "bad-request" });
  const view = store.scopes.open("ann");
  await view.close();
  await rejects(view.get("k"), "closed");
  assert.equal(await store.get("k"), undefined);
  const open_ = store.scopes.open("bob");
  await store.close();
  await rejects(open_.get("k"), "closed");
});

test("a client as `ioredis` has it for a cluster is confirmed by the slot's own master", async () => {
  // It answers `callBuffer`, knows the servers of each slot by their addresses, and has a client for each master.
  const nodeOf = async ({ host, port }) => {
    const inner = await client.nodeClient(client.nodeByAddress.get(`${host}:${port}`));
    const sent = [];
    const callBuffer = (...args) => {
      sent.push(String(args[0]));
      return inner.sendCommand(args, { typeMapping: { 36: Buffer } });
    };
    return { options: { host, port }, connectionEpoch: 1, callBuffer, sent };
  };
  const masters = await Promise.all(client.masters.map(nodeOf));
  const keyed = ([command, ...args]) => (String(command).startsWith("EVAL") ? args[2] : args[0]);
  const like = {
    isCluster: true,
    slots: client.slots.map(({ master }) => [`${master.host}:${master.port}`]),
    nodes: () => masters,
    callBuffer: (...args) => client.sendCommand(keyed(args), false, args, { typeMapping: { 36: Buffer } }),
  };
  const store = await open({ client: like, prefix: prefix() });
  assert.equal(store.durability, "replicated");
  for (const { sent } of masters) sent.length = 0;
  for (const name of ["ann", "bob", "eve", "joe", "kim"]) await store.scopes.open(name).commit(change({ puts: [["k", bytes(name)]] }));
  for (const name of ["ann", "bob", "eve", "joe", "kim"]) assert.equal(String(Buffer.from(await store.scopes.open(name).get("k"))), name);
  const all = masters.flatMap(({ sent }) => sent);
  assert.ok(all.filter((word) => word === "WAIT").length >= 5 && all.includes("SADD"));
  await store.close();
});

test("without `replicas`, a warning says that a failover may lose commits", async () => {
  const warnings = [];
  const store = await redisStore({ client, prefix: prefix(), onWarning: ({ code, message }) => warnings.push([code, message]) });
  assert.equal(store.durability, "always");
  assert.deepEqual(
    warnings.map(([code]) => code),
    ["failover"],
  );
  assert.match(warnings[0][1], /`replicas`/);
  await store.close();
});

test("more replicas than there are: the commit is stored, and the error says that it is not confirmed", async () => {
  const warnings = [];
  const place = prefix();
  const store = await open({ prefix: place, replicas: 2, retryTimeout: 200, onWarning: ({ code }) => warnings.push(code) });
  assert.deepEqual(warnings, ["failover"]);
  await rejects(store.commit(change({ absent: ["k"], puts: [["k", bytes("1")]] })), "transient", /stored the commit, but 1 of 2 replicas/);
  assert.equal(String(Buffer.from(await store.get("k"))), "1");
  await store.commit(change({ puts: [["k", bytes("2")]], durability: "relaxed" }));
  await store.close();
});

test("a scope that moves to another server while it is written loses nothing", { timeout: 60_000 }, async (context) => {
  const place = prefix();
  const stores = await Promise.all([open({ prefix: place }), open({ prefix: place, replicas: 0 })]);
  const [confirmed, plain] = stores.map((store) => store.scopes.open("ann"));
  await confirmed.commit(change({ puts: Array.from({ length: 100 }, (_, number) => [`old/${key(number)}`, new Uint8Array(500)]) }));
  let moving = true;
  let written = 0;
  const write = async (scope, who) => {
    for (let number = 0; moving; number += 1) {
      const name = `${who}/${key(number)}`;
      await scope.commit(change({ absent: [name], puts: [[name, bytes(name)]] }));
      written += 1;
    }
  };
  const writers = [write(confirmed, "confirmed"), write(plain, "plain")];
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    await sleep(50);
    times.push(await cluster.move(`{${place}/ann}@keys`));
  }
  await sleep(50);
  moving = false;
  await Promise.all(writers);
  assert.equal((await plain.scan({ start: "", end: "~", reverse: false })).length, 100 + written);
  context.diagnostic(`${written} commits while it moved three times, in ${times.map((time) => `${time.toFixed(1)} ms`).join(", ")}`);
  await Promise.all(stores.map((store) => store.close()));
});

test("a master killed in mid-write: each confirmed commit of each scope is there afterwards, and what is not confirmed is said", {
  timeout: 180_000,
}, async (context) => {
  const store = await open({ prefix: "failover", retryTimeout: 2_000 });
  // A connection that stays open would keep this process alive.
  context.after(() => store.close());
  const names = Array.from({ length: SCOPES }, (_, index) => `user-${index}`);
  const confirmed = new Map(names.map((name) => [name, []]));
  const refused = [];
  const seconds = { start: performance.now() };
  const since = () => ((performance.now() - seconds.start) / 1000).toFixed(1);
  let again;
  const write = async (name) => {
    const scope = store.scopes.open(name);
    for (let number = 0; number < COMMITS; ) {
      const value = `${name} ${number}`;
      try {
        await scope.commit(change({ absent: [key(number)], puts: [[key(number), bytes(value)]] }));
        confirmed.get(name).push(value);
        number += 1;
      } catch (error) {
        refused.push(error);
        // Its replica has taken over, and has no replica of its own until the old master comes back: nothing is confirmed meanwhile.
        again ??= cluster.servers[0].start();
        // As every writer does that does not know whether a commit happened.
        const records = await scope.scan({ start: "", end: "~", reverse: false }).catch(() => undefined);
        if (records === undefined) continue;
        // Before anything is written anew, which would hide a loss.
        const values = new Set(records.map(([, value]) => String(Buffer.from(value))));
        assert.deepEqual(
          confirmed.get(name).filter((value) => !values.has(value)),
          [],
          "confirmed and lost",
        );
        number = records.length;
      }
    }
  };
  const total = () => [...confirmed.values()].reduce((sum, values) => sum + values.length, 0);
  const killed = (async () => {
    while (total() < (SCOPES * COMMITS) / 3) await sleep(1);
    seconds.killed = since();
    await cluster.servers[0].crash();
    // A program that begins in the middle of it opens the store.
    const late = await open({ prefix: "failover", retryTimeout: 30_000 });
    assert.equal(late.durability, "replicated");
    await late.close();
  })();
  await Promise.all([killed, ...names.map(write)]);
  await again;
  for (const name of names) {
    const values = (await store.scopes.open(name).scan({ start: "", end: "~", reverse: false })).map(([, value]) => String(Buffer.from(value)));
    assert.deepEqual(
      values,
      Array.from({ length: COMMITS }, (_, number) => `${name} ${number}`),
      "each once, in order, without a gap",
    );
    assert.deepEqual(
      confirmed.get(name).filter((value) => !values.includes(value)),
      [],
      "confirmed and lost",
    );
  }
  assert.deepEqual((await listed(store)).sort(), names.sort());
  assert.ok(refused.length > 0, "some were under way");
  for (const { code, message } of refused) {
    assert.equal(code, "transient");
    assert.match(message, /Redis (has stored the commit|failed, again and again)/);
  }
  context.diagnostic(
    `killed after ${seconds.killed} s, done after ${since()} s; ${total()} confirmed and none of them lost, ${refused.length} said to be unconfirmed`,
  );
});
