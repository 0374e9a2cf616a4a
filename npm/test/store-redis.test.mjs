// The store on Redis, on real servers.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { createClient, createCluster } from "redis";
import { Threadkeep, many, rejects, texts, user } from "./support/expect.mjs";
import { inChild } from "./support/installed.mjs";
import { startProxy } from "./support/proxy.mjs";
import { PASSWORD, startRedis } from "./support/servers.mjs";
import { bytes, change, contract, exampleOf, listed, lostAnswers, redisStore, skew, story, wholeScans } from "./support/stores.mjs";
import { until } from "./support/until.mjs";

let server;
let admin;
let prefixes = 0;
before(async () => {
  server = await startRedis();
  admin = createClient({ url: server.url });
  admin.on("error", () => {});
  await admin.connect();
});
after(async () => {
  admin?.destroy();
  await server?.close();
});

/** A place of a test's own: gives what opens handles onto it. */
function place(options = {}) {
  const prefix = `test-${(prefixes += 1)}`;
  const open = (more = {}) => redisStore({ url: server.url, prefix, ...options, ...more });
  return { prefix, open, key: (name) => `{${prefix}}:${name}` };
}

test("the contract", { timeout: 120_000 }, () => contract(place().open));
test("the contract, with a time to live", { timeout: 120_000 }, () => contract(place({ ttl: 3_600 }).open));
test("conditions hold between two connections", { timeout: 120_000 }, () => skew(place().open));
test("long scans in pieces show one state", { timeout: 120_000 }, () => wholeScans(place().open));
test("a whole keep's story", { timeout: 120_000 }, () => story(place().open));

test("a client of the user's is used and stays open", { timeout: 120_000 }, async () => {
  const { prefix } = place();
  await contract(() => redisStore({ client: admin, prefix }));
  assert.ok(admin.isReady);
  // The older protocol, in which maps are lists.
  const older = await createClient({ url: server.url, RESP: 2 }).connect();
  const store = await redisStore({ client: older, prefix });
  assert.equal(store.durability, "always");
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("1"));
  older.destroy();
});

test("a client that sends what `ioredis` sends", async () => {
  // Its `callBuffer(command, ...arguments)` answers with Buffers.
  const client = { callBuffer: (...args) => admin.sendCommand(args, { typeMapping: { 36: Buffer } }) };
  const { prefix } = place();
  const store = await redisStore({ client, prefix });
  await store.commit(change({ puts: [["a", new Uint8Array([0, 255])]] }));
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from([0, 255]));
});

test("an `ioredis` that would lose the names of commands is refused", async () => {
  const client = { options: { enableAutoPipelining: true }, callBuffer: () => assert.fail("nothing may be sent") };
  await rejects(redisStore({ client }), "bad-request", /enableAutoPipelining/);
});

test("a cluster takes it: all keys have one slot", { timeout: 120_000 }, async () => {
  const one = await startRedis({ settings: ["--cluster-enabled", "yes"] });
  try {
    const setup = await createClient({ url: one.url }).connect();
    await setup.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    for (let tries = 0; !String(await setup.sendCommand(["CLUSTER", "INFO"])).includes("cluster_state:ok"); tries += 1) {
      assert.ok(tries < 600, "the cluster does not come up");
      await sleep(50);
    }
    setup.destroy();
    const cluster = createCluster({ rootNodes: [{ url: one.url }], defaults: { password: PASSWORD } });
    await cluster.connect();
    await contract(() => redisStore({ client: cluster, prefix: "clustered" }));
    await story(() => redisStore({ client: cluster, prefix: "story" }));
    await cluster.close();
  } finally {
    await one.close();
  }
});

test("what the server promises is said", async () => {
  const set = (name, value) => admin.sendCommand(["CONFIG", "SET", name, value]);
  const opened = async (more) => {
    const warnings = [];
    const store = await place().open({ onWarning: ({ code, message }) => warnings.push([code, message]), ...more });
    await store.close();
    return [store.durability, warnings.map(([code]) => code), warnings.map(([, message]) => message).join()];
  };
  try {
    assert.deepEqual(await opened(), ["always", [], ""]);
    const later = /redis_version:(7\.[2-9]|[89]|\d\d)/.test(await admin.sendCommand(["INFO", "server"]));
    for (const [sync, durability] of [
      ["everysec", "everysec"],
      ["no", "no"],
    ]) {
      await set("appendfsync", sync);
      const [found, codes, words] = await opened();
      if (later) assert.deepEqual([found, codes], ["confirmed", []]);
      else assert.deepEqual([found, codes], [durability, ["durability"]]);
      if (!later) assert.match(words, new RegExp(`appendfsync ${sync}`));
    }
    await set("appendfsync", "always");
    await set("maxmemory-policy", "volatile-lru");
    assert.deepEqual((await opened())[1], []);
    assert.deepEqual((await opened({ ttl: 60 }))[1], ["eviction"]);
    await set("maxmemory-policy", "allkeys-lru");
    assert.deepEqual((await opened())[1], ["eviction"]);
    await set("maxmemory-policy", "noeviction");
    await set("appendonly", "no");
    const [none, codes, words] = await opened();
    assert.deepEqual([none, codes], ["none", ["durability"]]);
    assert.match(words, /appendonly/);
    await admin.sendCommand(["ACL", "SETUSER", "limited", "on", ">pass", "~*", "+@all", "-config"]);
    const url = server.url.replace(`:${PASSWORD}`, "limited:pass");
    assert.deepEqual((await opened({ url })).slice(0, 2), ["unknown", ["durability"]]);
  } finally {
    await set("appendonly", "yes");
    await set("appendfsync", "always");
    await set("maxmemory-policy", "noeviction");
  }
});

test("where the server can, a strict commit waits for its disk", async () => {
  // A server of today that has WAITAOF may not be at hand: its answers are put between, all else is the real server's.
  const sent = [];
  let synced = [1, 0];
  const client = {
    socketEpoch: 1,
    sendCommand(args, options) {
      sent.push(String(args[0]));
      if (args[0] === "WAITAOF") return Promise.resolve(synced);
      if (args[0] === "INFO") return Promise.resolve(Buffer.from("redis_version:7.2.4\r\n"));
      if (args[0] === "CONFIG" && args[2] === "appendfsync") return Promise.resolve(["appendfsync", "everysec"]);
      return admin.sendCommand(args, options);
    },
  };
  const { prefix } = place();
  const store = await redisStore({ client, prefix, retryTimeout: 300 });
  assert.equal(store.durability, "confirmed");
  sent.length = 0;
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.equal(sent.at(-1) === "WAITAOF" || sent.includes("WAITAOF"), true);
  sent.length = 0;
  await store.commit(change({ puts: [["b", bytes("1")]], durability: "relaxed" }));
  assert.deepEqual(sent, ["EVALSHA"]);
  await assert.rejects(store.commit(change({ absent: ["a"] })), { code: "conflict" });
  synced = [0, 0];
  await rejects(store.commit(change({ absent: ["c"], puts: [["c", bytes("1")]] })), "transient", /disk/);
  synced = [1, 0];
  assert.deepEqual(Buffer.from(await store.get("c")), Buffer.from("1"));
});

test("a wait for the disk keeps reads waiting for at most a second, and is asked for again under the same token", async () => {
  const [sent, answers] = [
    [],
    [
      [0, 0],
      [1, 0],
    ],
  ];
  const client = {
    socketEpoch: 1,
    sendCommand(args, options) {
      sent.push(args.map(String));
      if (args[0] === "WAITAOF") return Promise.resolve(answers.shift());
      if (args[0] === "INFO") return Promise.resolve(Buffer.from("redis_version:7.2.4\r\n"));
      if (args[0] === "CONFIG" && args[2] === "appendfsync") return Promise.resolve(["appendfsync", "everysec"]);
      return admin.sendCommand(args, options);
    },
  };
  const store = await redisStore({ client, prefix: place().prefix });
  sent.length = 0;
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  const waits = sent.filter(([command]) => command === "WAITAOF");
  assert.deepEqual(waits, Array(2).fill(["WAITAOF", "1", "0", "1000"]));
  const tokens = sent.filter(([command]) => command.startsWith("EVAL")).map((args) => args[7]);
  assert.equal(tokens.length >= 2 && new Set(tokens).size, 1);
});

test("of a cluster's masters all must be able to confirm", async () => {
  const opened = async (...masters) => {
    const [warnings, sent] = [[], []];
    const nodes = masters.map(([version, sync], port) => ({
      options: { host: "127.0.0.1", port },
      connectionEpoch: 1,
      async callBuffer(...args) {
        sent.push(args[0]);
        if (args[0] === "INFO") return Buffer.from(`redis_version:${version}\r\n`);
        if (args[0] === "CONFIG" && args[2] === "appendfsync") return ["appendfsync", sync];
        if (args[0] !== "WAITAOF") return admin.sendCommand(args, { typeMapping: { 36: Buffer } });
        if (version < "7.2") throw new Error("ERR unknown command 'WAITAOF'");
        return [1, 0];
      },
    }));
    // The last one has all slots.
    const slots = Array(16_384).fill([`127.0.0.1:${nodes.length - 1}`]);
    const client = { isCluster: true, slots, nodes: () => nodes, callBuffer: (...args) => nodes.at(-1).callBuffer(...args) };
    const store = await redisStore({ client, prefix: place().prefix, onWarning: ({ code }) => warnings.push(code) });
    await store.commit(change({ puts: [["a", bytes("1")]] }));
    return [store.durability, sent.includes("WAITAOF"), warnings];
  };
  assert.deepEqual(await opened(["7.2.4", "everysec"], ["6.2.0", "everysec"]), ["everysec", false, ["durability"]]);
  assert.deepEqual(await opened(["7.2.4", "no"], ["6.2.0", "always"]), ["no", false, ["durability"]]);
  assert.deepEqual(await opened(["7.2.4", "no"], ["7.2.4", "always"]), ["confirmed", true, []]);
  assert.deepEqual(await opened(["6.2.0", "always"], ["7.2.4", "always"]), ["always", false, []]);
});

test("a client that may take another connection cannot confirm", async () => {
  // What the second connection of a pool or a cluster says about its disk is not about the commit that went through the first.
  const today = (args) => {
    if (args[0] === "INFO") return Buffer.from("redis_version:7.2.4\r\n");
    if (args[0] === "CONFIG" && args[2] === "appendfsync") return ["appendfsync", "everysec"];
    return admin.sendCommand(args, { typeMapping: { 36: Buffer } });
  };
  const clients = {
    pool: { sendCommand: async (args) => today(args) },
    cluster: { masters: [], slots: [], sendCommand: async (key, readOnly, args) => today(args) },
    ioredisCluster: { isCluster: true, connectionEpoch: 1, callBuffer: async (...args) => today(args) },
    ioredis: { connectionEpoch: 1, callBuffer: async (...args) => today(args) },
  };
  for (const [name, client] of Object.entries(clients)) {
    const warnings = [];
    const store = await redisStore({ client, prefix: place().prefix, onWarning: ({ code }) => warnings.push(code) });
    assert.equal(store.durability, name === "ioredis" ? "confirmed" : "everysec", name);
    assert.deepEqual(warnings, name === "ioredis" ? [] : ["durability"], name);
  }
});

test("a server that does not know a script gets it with the call, which goes where the keys are", async () => {
  // A cluster's client sends a command without a key to any server, so that only loading it there would help nobody.
  const sent = [];
  const client = {
    sendCommand(args, options) {
      sent.push(args[0]);
      if (args[0] === "SCRIPT") return Promise.resolve("loaded elsewhere");
      return admin.sendCommand(args, options);
    },
  };
  const store = await redisStore({ client, prefix: place().prefix });
  await admin.sendCommand(["SCRIPT", "FLUSH"]);
  sent.length = 0;
  await store.commit(change({ absent: ["a"], puts: [["a", bytes("1")]] }));
  await store.commit(change({ puts: [["a", bytes("2")]] }));
  assert.deepEqual(sent, ["EVALSHA", "EVAL", "EVALSHA"]);
});

test("times that no timer and no server can take are refused before anything is written", async () => {
  const { open } = place();
  for (const ttl of [1e300, Infinity, 1e12]) await rejects(open({ ttl }), "bad-request", /ttl/);
  const store = await open({ ttl: 1e11 });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  await store.close();
  await rejects(open({ retryTimeout: 2 ** 31 }), "bad-request", /retryTimeout/);
});

test("a keep that was thrown away but for its figures is damaged, not empty", async () => {
  const { open, key } = place();
  const keep = await Threadkeep.open({ storage: await open() });
  await keep.thread("main").append(many(3));
  const reader = await Threadkeep.open({ storage: await open() });
  const store = await open();
  await admin.rename(key("values"), key("elsewhere"));
  await rejects(reader.thread("main").messages(), "corrupt", /missing/);
  await rejects(store.get("t/"), "corrupt", /missing/);
  await admin.del(key("keys"));
  for (const one of [keep, reader]) {
    await rejects(one.thread("main").messages(), "corrupt", /missing/);
    await rejects(one.thread("main").append([user("more")]), "corrupt", /missing/);
  }
  await rejects(open(), "corrupt", /missing/);
  await Promise.all([keep.close(), reader.close(), store.close()]);
  await admin.del([key("about"), key("commits"), key("elsewhere")]);
});

test("a server that takes the connection and does not answer is `unavailable`", { timeout: 60_000 }, async () => {
  const sockets = [];
  const silent = createServer((socket) => sockets.push(socket));
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  try {
    await rejects(redisStore({ url: `redis://127.0.0.1:${silent.address().port}` }), "unavailable", /did not answer/);
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});

test("an address with a mistake in it is not handed on with its password", async () => {
  for (const url of ["redis://:hush-hush@127.0.0.1:port", "hush-hush", ""]) {
    const error = await rejects(redisStore({ url }), "bad-request", /options\.url/);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("hush-hush"));
  }
});

test("errors say what is wrong, and never the password", async () => {
  const port = await (async () => {
    const proxy = await startProxy(server.port);
    await proxy.close();
    return proxy.port;
  })();
  const secret = "hush-hush";
  for (const url of [`redis://:${secret}@127.0.0.1:${port}`, `redis://:${secret}@127.0.0.1:${server.port}`]) {
    const error = await rejects(redisStore({ url }), "unavailable", url.includes(String(port)) ? /cannot be reached/ : /refuses/);
    assert.ok(!error.message.includes(secret));
  }
  await rejects(redisStore({ url: "nonsense" }), "bad-request", /options\.url/);
  await rejects(redisStore({}), "bad-request", /client/);
  await rejects(redisStore({ url: server.url, client: admin }), "bad-request");
  await rejects(redisStore({ client: {} }), "bad-request", /ioredis/);
  await rejects(redisStore({ url: server.url, prefix: "{a}" }), "bad-request", /prefix/);
  await rejects(redisStore({ url: server.url, ttl: 0 }), "bad-request", /ttl/);
  await rejects(redisStore({ url: server.url, expires: 1 }), "bad-request", /options\.expires/);

  const { open, key } = place();
  const store = await open();
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  await admin.hSet(key("about"), "version", "9");
  const error = await rejects(open(), "newer-version", /version 9/);
  assert.deepEqual({ ...error.details }, { found: 9, supported: 1 });
  await assert.rejects(store.commit(change({ puts: [["b", bytes("1")]] })), { code: "newer-version" });
  await store.close();
  await rejects(store.get("a"), "closed");
});

test("a server without memory refuses writes, and takes removals", async () => {
  const { open } = place();
  const store = await open();
  const keep = await Threadkeep.open({ storage: store });
  await keep.thread("main").append(many(5));
  await store.commit(change({ puts: [["big", new Uint8Array(1_000)]] }));
  const set = (value) => admin.sendCommand(["CONFIG", "SET", "maxmemory", value]);
  await set("1");
  try {
    await rejects(keep.thread("main").append([user("too much")]), "quota", /OOM|memory/);
    await store.commit(change({ present: ["big"], deletes: ["big"] }));
    assert.equal(await store.get("big"), undefined);
  } finally {
    await set("0");
  }
  await keep.thread("main").append([user("on")]);
  assert.equal(await keep.thread("main").count(), 6);
  await keep.close();
});

test("a keep goes on after its server crashed", { timeout: 120_000 }, async () => {
  const own = await startRedis();
  const keep = await Threadkeep.open({ storage: await redisStore({ url: own.url, retryTimeout: 60_000 }) });
  try {
    await keep.thread("main").append(many(10));
    await own.crash();
    const waiting = keep.thread("main").append([user("in between")]);
    await own.start();
    await waiting;
    assert.deepEqual(texts(await keep.thread("main").messages()), [...texts(many(10)), "in between"]);
  } finally {
    await keep.close();
    await own.close();
  }
});

test("a server that stays away is `transient` in the end", { timeout: 120_000 }, async () => {
  const proxy = await startProxy(server.port);
  const { open } = place();
  const store = await open({ url: `redis://:${PASSWORD}@127.0.0.1:${proxy.port}`, retryTimeout: 200 });
  await proxy.close();
  await rejects(store.get("a"), "transient", /again and again/);
  await rejects(store.commit(change({ puts: [["a", bytes("1")]] })), "transient");
  await store.close();
});

test("a lost answer does not double a commit", { timeout: 120_000 }, async () => {
  const proxy = await startProxy(server.port);
  const { open } = place();
  const store = await open({ url: `redis://:${PASSWORD}@127.0.0.1:${proxy.port}` });
  await lostAnswers(store, proxy);
  // And a keep does not append twice.
  const keep = await Threadkeep.open({ storage: store });
  for (let number = 0; number < 20; number += 1) {
    if (number % 3 === 0) proxy.loseAnswer();
    await keep.thread("main").append([user(`m${number}`)]);
  }
  assert.deepEqual(texts(await keep.thread("main").messages()), texts(many(20)));
  await keep.close();
  await proxy.close();
});

test("a keep that expires leaves nothing, and an open one begins anew", { timeout: 120_000 }, async () => {
  const { open, key, prefix } = place();
  const names = ["keys", "values", "commits", "about"].map(key);
  const expiries = async () => new Set(await Promise.all(names.map((name) => admin.sendCommand(["PEXPIRETIME", name]).then(Number))));
  const keep = await Threadkeep.open({ storage: await open({ ttl: 3_600 }) });
  await keep.thread("main").append(many(3));
  const [first, ...others] = await expiries();
  assert.deepEqual(others, []);
  assert.ok(first > Date.now() + 3_500_000 && first <= Date.now() + 3_601_000);
  // Each commit begins the time anew; one without a time lifts it.
  await sleep(5);
  await keep.thread("main").append([user("m3")]);
  const [second] = await expiries();
  assert.ok(second > first);
  const lasting = await open();
  await lasting.commit(change({ puts: [["x", bytes("1")]] }));
  assert.deepEqual(await expiries(), new Set([-1]));
  await lasting.close();
  // As if the time had come.
  const brief = await open({ ttl: 0.05 });
  await brief.commit(change({ deletes: ["x"] }));
  await brief.close();
  for (let tries = 0; (await admin.exists(names)) > 0; tries += 1) {
    assert.ok(tries < 1_000, "it does not expire");
    await sleep(10);
  }
  assert.deepEqual(await admin.keys(`*${prefix}*`), []);
  assert.deepEqual(await keep.thread("main").messages(), []);
  assert.deepEqual(await keep.threads(), []);
  assert.deepEqual(await keep.lint(), []);
  await keep.thread("main").append([user("anew")]);
  assert.deepEqual(texts(await keep.thread("main").messages()), ["anew"]);
  assert.equal((await keep.transcripts()).length, 1);
  await keep.close();
  const again = await Threadkeep.open({ storage: await open({ ttl: 3_600 }) });
  assert.deepEqual(texts(await again.thread("main").messages()), ["anew"]);
  assert.deepEqual(await again.lint(), []);
  await again.close();
});

test("a list of scopes removes the names of those that have expired", async () => {
  const { open, prefix } = place();
  const [brief, lasting] = [await open({ ttl: 0.05 }), await open()];
  const put = change({ puts: [["k", bytes("1")]] });
  await lasting.scopes.open("bob").commit(put);
  for (const name of ["ann", "eve", "kim"]) await brief.scopes.open(name).commit(put);
  const names = async () => (await Promise.all((await admin.keys(`{${prefix}/*}@scopes`)).map((set) => admin.sMembers(set)))).flat().sort();
  assert.deepEqual(await names(), ["ann", "bob", "eve", "kim"]);
  await until(async () => (await admin.keys(`{${prefix}/*}@keys`)).length === 1, "the end of three scopes");
  assert.deepEqual(await listed(lasting), ["bob"]);
  assert.deepEqual(await names(), ["bob"]);
  // One that begins anew is listed again.
  await brief.scopes.open("ann").commit(change({ puts: [["k", bytes("2")]] }));
  assert.ok((await names()).includes("ann"));
  await Promise.all([brief.close(), lasting.close()]);
});

test("a keep of which something is missing is damaged, not smaller", async () => {
  const { open, key } = place();
  const keep = await Threadkeep.open({ storage: await open() });
  await keep.thread("main").append(many(3));
  await admin.hDel(
    key("values"),
    (await admin.hKeys(key("values"))).find((name) => name.startsWith("p/")),
  );
  await rejects(keep.thread("main").append([user("more")]), "corrupt", /missing/);
  await rejects(keep.thread("main").messages(), "corrupt", /missing/);
  await rejects(open(), "corrupt", /missing/);
  await keep.close();
  // A transcript's record of other bytes is made up for from its log, and named.
  const second = place();
  const other = await Threadkeep.open({ storage: await second.open() });
  await other.thread("main").append(many(3));
  await admin.hSet(
    second.key("values"),
    (await admin.hKeys(second.key("values"))).find((name) => name.startsWith("t/")),
    "{",
  );
  await other.close();
  const damaged = await Threadkeep.open({ storage: await second.open() });
  assert.deepEqual(texts(await damaged.thread("main").messages()), ["m0", "m1", "m2"]);
  assert.match((await damaged.stats()).damaged[0].what, /t\//);
  await damaged.close();
});

test("the example of the documentation runs", async () => {
  const code = exampleOf("redis").replaceAll("redis://127.0.0.1:6379", server.url);
  assert.match(inChild(code), /hello/);
});
