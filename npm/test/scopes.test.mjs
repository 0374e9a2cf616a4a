// Scopes: what a keep of one sees and does not see, how they are listed and deleted, and how many keeps share one adapter.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, assistant, createAgent, memory, rejects, texts, user } from "./support/expect.mjs";
import { fileStore } from "./support/filestore.mjs";
import { inChild, installed, project, source } from "./support/installed.mjs";

const at = (storage, scope, more = {}) => Threadkeep.open({ storage, encoding: "estimate", ...(scope === undefined ? {} : { scope }), ...more });

async function listed(options) {
  const names = [];
  for await (const name of Threadkeep.scopes(options)) names.push(name);
  return names;
}

/** A little of everything, with a word in all of it. */
async function fill(keep, word) {
  await keep.thread("main").append([user(`${word} asks something`), assistant(`${word} is answered`)]);
  await keep.receive({ messageId: "same-id", from: "ann", content: `${word} arrives` });
  await keep.memory.remember({ fact: `${word} is remembered`, kind: "preference" });
  await keep.mailbox("ann").send({ to: "lal", content: `${word} is sent` });
  await keep.records("notes").commit({ puts: [["key", new TextEncoder().encode(word)]] });
  await keep.search(word);
}

/** All that can be read of a keep, as text. */
async function everything(keep) {
  const hits = await keep.search("lemon OR melon OR arrives OR answered OR remembered");
  return JSON.stringify([
    await keep.threads(),
    await keep.thread("main").messages(),
    await keep.node("same-id"),
    await keep.memory.facts(),
    await keep.parties(),
    await keep.mailbox("lal").messages(),
    (await keep.records("notes").scan()).map(([key, value]) => [key, new TextDecoder().decode(value)]),
    hits,
    await keep.export().text(),
    await keep.stats(),
  ]);
}

test("a keep sees nothing outside its scope, and a keep without a scope sees no scope", async () => {
  const storage = mapAdapter();
  const [ann, bob, whole] = [await at(storage, "ann"), await at(storage, "bob"), await at(storage)];
  assert.deepEqual([ann.scope, bob.scope, whole.scope], ["ann", "bob", undefined]);
  await fill(ann, "lemon");
  for (const other of [bob, whole]) {
    assert.doesNotMatch(await everything(other), /lemon/);
    const { transcripts, messages, threads } = await other.stats();
    assert.deepEqual([transcripts, messages, threads], [0, 0, 0]);
  }
  await fill(bob, "melon");
  assert.doesNotMatch(await everything(ann), /melon/);
  assert.doesNotMatch(await everything(bob), /lemon/);
  assert.equal((await ann.node("same-id")).messages[0].content, "lemon arrives");
  assert.equal((await bob.node("same-id")).messages[0].content, "melon arrives");
  for (const [key, value] of storage.records) {
    const [said] = /lemon|melon/.exec(new TextDecoder().decode(value)) ?? [];
    if (said !== undefined) assert.ok(key.startsWith(said === "lemon" ? "@ann/" : "@bob/"), key);
  }
  await Promise.all([ann, bob, whole].map((keep) => keep.close()));
});

test("what opening finds is of the scope alone", async () => {
  const storage = mapAdapter();
  const beginnings = async () => {
    const keeps = await Promise.all([undefined, "ann", "bob"].map((scope) => at(storage, scope)));
    await Promise.all(keeps.map((keep) => keep.close()));
    return keeps.map(({ beginning }) => beginning);
  };
  assert.deepEqual(await beginnings(), ["created", "created", "created"]);
  const ann = await at(storage, "ann");
  await ann.thread("main").append([user("one")]);
  assert.deepEqual(await beginnings(), ["created", "existing", "created"]);
  const whole = await at(storage);
  await whole.thread("main").append([user("one")]);
  assert.deepEqual(await beginnings(), ["existing", "existing", "created"]);
  await Promise.all([ann.close(), whole.close()]);
});

test("a scope has a name of 1 to 128 bytes", async () => {
  for (const [scope, words] of [
    ["", /options\.scope must have 1 to 128 bytes, it has 0/],
    ["a".repeat(129), /it has 129/],
    ["ä".repeat(65), /it has 130/],
    ["\ud800", /lone surrogate/],
    [7, /must be a string/],
  ]) {
    await rejects(Threadkeep.open({ storage: "memory", scope }), "bad-request", words);
    await rejects(Threadkeep.deleteScope(scope, { storage: "memory" }), "bad-request");
  }
  await rejects(listed({ storage: "memory", scope: "ann" }), "bad-request", /options\.scope is not known/);
  const storage = mapAdapter();
  const names = ["a", "ä".repeat(64), "a/b", "a%2fb", "@", ".", "..", " ", "x y", "\u0000", "A", "a0", "a-"];
  for (const scope of names) {
    const keep = await at(storage, scope);
    await keep.thread("main").append([user(`of ${scope}`)]);
    await keep.close();
  }
  assert.deepEqual((await listed({ storage })).sort(), [...names].sort());
  for (const scope of names) {
    const keep = await at(storage, scope);
    assert.deepEqual(texts(await keep.thread("main").messages()), [`of ${scope}`]);
    await keep.close();
  }
});

test("deleting everything deletes what the keep sees", async () => {
  const storage = mapAdapter();
  const [ann, bob, whole] = [await at(storage, "ann"), await at(storage, "bob"), await at(storage)];
  for (const keep of [ann, bob, whole]) await fill(keep, "lemon");
  await whole.deleteAll();
  assert.deepEqual([await whole.threads(), (await ann.threads()).length, (await bob.threads()).length], [[], 1, 1]);
  await ann.deleteAll();
  assert.deepEqual([await ann.threads(), (await bob.threads()).length], [[], 1]);
  await Promise.all([ann, bob, whole].map((keep) => keep.close()));
});

test("the export of one scope imports into another", async () => {
  const storage = mapAdapter();
  const [ann, bob] = [await at(storage, "ann"), await at(storage, "bob")];
  await fill(ann, "lemon");
  await bob.import(await ann.export().text());
  assert.deepEqual(await bob.thread("main").messages(), await ann.thread("main").messages());
  assert.equal(await bob.export().text(), await ann.export().text());
  await bob.thread("main").append([user("only here")]);
  assert.equal(await ann.thread("main").count(), 2);
  await Promise.all([ann.close(), bob.close()]);
});

test("scopes are listed by one small reading each", async () => {
  const storage = mapAdapter();
  const names = Array.from({ length: 250 }, (_, index) => `user-${String(index).padStart(3, "0")}`);
  for (const scope of names) {
    const keep = await at(storage, scope);
    await keep.thread("main").append([user("one"), assistant("two")]);
    await keep.close();
  }
  const scan = storage.scan;
  const read = [];
  storage.scan = async (range) => {
    const found = await scan(range);
    read.push(found.length);
    return found;
  };
  assert.deepEqual(await listed({ storage }), names);
  assert.ok(read.length <= names.length + 5 && read.every((count) => count <= 1), `${read.length} readings`);
  // Whoever stops early has read no more than a piece.
  read.length = 0;
  for await (const name of Threadkeep.scopes({ storage })) if (name === "user-010") break;
  assert.ok(read.length <= 100, `${read.length} readings`);
});

test("after a scope is deleted no key of it is left, and an open keep finds it empty", async () => {
  const storage = mapAdapter();
  const [ann, bob] = [await at(storage, "ann", { name: "deleted" }), await at(storage, "bob", { name: "deleted" })];
  await fill(ann, "lemon");
  await fill(bob, "melon");
  const unsealed = await ann.receive({ messageId: "growing", content: "lemon grows" });
  const [before, kept] = [await everything(ann), await everything(bob)];
  assert.match(before, /lemon/);
  bob.on("change", () => assert.fail("another scope"));
  const heard = new Promise((resolve) => ann.on("change", resolve));
  const alive = setInterval(() => {}, 1_000);
  await Threadkeep.deleteScope("ann", { storage, name: "deleted" });
  assert.deepEqual(await heard.finally(() => clearInterval(alive)), { type: "cleared", remote: true });
  assert.deepEqual(
    [...storage.records.keys()].filter((key) => key.startsWith("@ann")),
    [],
  );
  assert.deepEqual(await listed({ storage }), ["bob"]);

  // What the keep held in memory is gone, too; what it adds to a deleted conversation fails.
  assert.doesNotMatch(await everything(ann), /lemon/);
  await rejects(ann.extend(unsealed.id, [assistant("lemon")]), "missing-node");
  await rejects(ann.at(unsealed.id).seal(), "missing-node");
  assert.equal(await everything(bob), kept);
  // What it begins is new.
  await ann.thread("main").append([user("fresh")]);
  assert.deepEqual(texts(await ann.thread("main").messages()), ["fresh"]);
  await ann.mailbox("ann").send({ to: "lal", content: "fresh" });
  assert.deepEqual(
    (await ann.mailbox("lal").messages()).map(({ number }) => number),
    [1],
  );
  assert.deepEqual(await ann.lint(), []);
  await Promise.all([ann.close(), bob.close()]);
  // A scope that is not there is no error.
  await Threadkeep.deleteScope("nobody", { storage });
});

test("a mailbox of a deleted scope counts from 1, and who follows it hears the new messages", async () => {
  const storage = mapAdapter();
  const [ann, there] = [await at(storage, "ann", { name: "followed" }), await at(storage, "ann", { name: "followed" })];
  const send = (content) => there.mailbox("bob").send({ to: "lal", content });
  for (const content of ["one", "two", "three"]) await send(content);
  const mails = ann.mailbox("lal").follow();
  const next = async () => {
    const { number, strings } = (await mails.next()).value;
    return [number, strings.join("")];
  };
  assert.deepEqual(
    [await next(), await next(), await next()],
    [
      [1, "one"],
      [2, "two"],
      [3, "three"],
    ],
  );
  const alive = setInterval(() => {}, 1_000);
  const coming = next();
  await Threadkeep.deleteScope("ann", { storage, name: "followed" });
  await send("four");
  assert.deepEqual(await coming, [1, "four"]);
  await send("five");
  assert.deepEqual(await next().finally(() => clearInterval(alive)), [2, "five"]);
  await Promise.all([ann.close(), there.close()]);
});

test("a scope that is deleted while somebody writes holds no half of a conversation", async () => {
  const storage = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
  for (let round = 0; round < 15; round += 1) {
    const ann = await at(storage, "ann");
    await ann.thread("main").append([user("first"), assistant("second")]);
    const node = await ann.receive({ content: "growing" });
    const work = Promise.allSettled([
      ...Array.from({ length: 6 }, (_, index) => ann.thread("main").append([user(`m${index}`)])),
      ann.extend(node.id, [assistant("grown")]),
      ann.memory.remember({ fact: "a fact of hers" }),
      ann.mailbox("ann").send({ to: "lal", content: "hi" }),
    ]);
    for (let wait = 0; wait < round; wait += 1) await new Promise((resolve) => setImmediate(resolve));
    await Threadkeep.deleteScope("ann", { storage });
    for (const { status, reason } of await work) assert.ok(status === "fulfilled" || reason.code === "missing-node", reason?.stack);
    // What was written after the deletion stands by itself.
    const again = await at(storage, "ann");
    assert.deepEqual(await again.lint(), []);
    assert.deepEqual((await again.stats()).damaged, []);
    const numbers = texts(await again.thread("main").messages());
    assert.deepEqual(numbers, await ann.thread("main").messages().then(texts));
    assert.ok(
      numbers.every((text) => /^m\d$/.test(text)),
      `${round}: ${numbers}`,
    );
    assert.equal(await again.node(node.id), null);
    await Promise.all([ann.close(), again.close()]);
    await Threadkeep.deleteScope("ann", { storage });
    assert.equal(storage.records.size, 0);
  }
});

test("an adapter is opened by the first keep and closed by the last one", async () => {
  const calls = [];
  const storage = { ...mapAdapter(), open: async () => void calls.push("open"), close: async () => void calls.push("close") };
  const [ann, bob, again] = await Promise.all([at(storage, "ann"), at(storage, "bob"), at(storage, "ann")]);
  assert.deepEqual(calls, ["open"]);
  await ann.close();
  await again.close();
  await again.close();
  await bob.thread("main").append([user("still open")]);
  assert.deepEqual(calls, ["open"]);
  await bob.close();
  assert.deepEqual(calls, ["open", "close"]);
  await rejects(bob.threads(), "closed");
});

test("listing and deleting leave an adapter open, for the keep that comes next", async () => {
  const calls = [];
  const storage = { ...mapAdapter(), open: async () => void calls.push("open"), close: async () => void calls.push("close") };
  assert.deepEqual(await listed({ storage }), []);
  await Threadkeep.deleteScope("ann", { storage });
  const keep = await at(storage, "ann");
  await keep.thread("main").append([user("one")]);
  assert.deepEqual(await listed({ storage }), ["ann"]);
  assert.deepEqual(calls, ["open"]);
  await keep.close();
  assert.deepEqual(calls, ["open", "close"]);
});

test("an adapter that cannot be opened is opened anew by the next keep", async () => {
  let tries = 0;
  const storage = {
    ...mapAdapter(),
    async open() {
      tries += 1;
      if (tries === 1) throw Object.assign(new Error("not yet"), { code: "unavailable" });
    },
  };
  const [first, second] = await Promise.allSettled([at(storage, "ann"), at(storage, "bob")]);
  assert.deepEqual([first.reason.code, second.reason.code, tries], ["unavailable", "unavailable", 1]);
  const keep = await at(storage, "ann");
  await keep.close();
  assert.equal(tries, 2);
});

test("scopes of one folder are open at once in one process", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-scopes-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const keeps = await Promise.all(["ann", "bob", undefined].map((scope) => at(fileStore({ folder }), scope)));
  for (const keep of keeps) await keep.thread("main").append([user(`of ${keep.scope}`)]);
  assert.deepEqual(await listed({ storage: fileStore({ folder }) }), ["ann", "bob"]);
  await keeps[0].close();
  assert.deepEqual(texts(await keeps[1].thread("main").messages()), ["of bob"]);
  await Threadkeep.deleteScope("ann", { storage: fileStore({ folder }) });
  await Promise.all(keeps.slice(1).map((keep) => keep.close()));

  // The same for a folder that a name stands for.
  const named = await Promise.all(["ann", "bob"].map((scope) => Threadkeep.open({ name: "by-name", storage: "file", scope })));
  await named[0].thread("main").append([user("hers")]);
  assert.deepEqual(await listed({ name: "by-name", storage: "file" }), ["ann"]);
  await Threadkeep.deleteScope("ann", { name: "by-name", storage: "file" });
  assert.deepEqual([await named[0].threads(), await listed({ name: "by-name", storage: "file" })], [[], []]);
  await Promise.all(named.map((keep) => keep.close()));
});

test("a function spreads scopes over several stores", async () => {
  const [left, right, none] = [mapAdapter(), mapAdapter(), mapAdapter()];
  const asked = [];
  const storage = async (scope) => {
    asked.push(scope);
    return scope === undefined ? none : scope < "m" ? left : right;
  };
  const keeps = await Promise.all(["ann", "bob", "zoe", undefined].map((scope) => at(storage, scope)));
  assert.deepEqual(asked, ["ann", "bob", "zoe", undefined]);
  for (const keep of keeps) await keep.thread("main").append([user(`of ${keep.scope}`)]);
  assert.deepEqual([await listed({ storage: left }), await listed({ storage: right }), await listed({ storage: none })], [["ann", "bob"], ["zoe"], []]);
  await Threadkeep.deleteScope("zoe", { storage });
  assert.deepEqual([right.records.size, await keeps[2].threads(), asked.at(-1)], [0, [], "zoe"]);
  await rejects(listed({ storage }), "bad-request", /options\.storage cannot be a function here/);
  await Promise.all(keeps.map((keep) => keep.close()));
  assert.deepEqual([left.closed, right.closed, none.closed], [1, 1, 1]);
  await rejects(
    at(() => ({}), "ann"),
    "bad-request",
    /the answer of options\.storage\.get must be a function/,
  );
  await rejects(
    at(() => Promise.reject(Object.assign(new Error("no shard"))), "ann"),
    "storage",
    /no shard/,
  );
});

test("an adapter may store scopes in its own way", async () => {
  const calls = [];
  const [whole, own] = [mapAdapter(), new Map()];
  const view = (name) => {
    if (!own.has(name)) own.set(name, new Map());
    const adapter = mapAdapter({ records: own.get(name) });
    return { ...adapter, close: async () => void calls.push(`close ${name}`) };
  };
  const storage = {
    ...whole,
    open: async () => void calls.push("open"),
    close: async () => void calls.push("close"),
    scopes: {
      open: view,
      async *list() {
        for (const [name, records] of own) if (records.size > 0) yield name;
      },
      delete: async (name) => void own.get(name)?.clear(),
    },
  };
  const [ann, outside] = [await at(storage, "ann"), await at(storage)];
  await ann.thread("main").append([user("hers")]);
  await outside.thread("main").append([user("nobody's")]);
  assert.equal(ann.beginning, "created");
  assert.ok([...own.get("ann").keys()].every((key) => !key.startsWith("@")));
  assert.deepEqual(await listed({ storage }), ["ann"]);
  const again = await at(storage, "ann");
  assert.equal(again.beginning, "existing");
  await again.close();
  assert.deepEqual(calls, ["open", "close ann"]);
  await Threadkeep.deleteScope("ann", { storage });
  assert.deepEqual([await ann.threads(), (await outside.threads()).length], [[], 1]);
  await ann.close();
  await outside.close();
  assert.deepEqual(calls, ["open", "close ann", "close ann", "close"]);

  const broken = {
    ...mapAdapter(),
    scopes: { open: () => whole, list: () => ["ann"], delete: () => Promise.reject(Object.assign(new Error("later"), { code: "transient" })) },
  };
  await rejects(Threadkeep.deleteScope("ann", { storage: broken }), "transient", /later/);
  const synchronous = await listed({ storage: broken });
  assert.deepEqual(synchronous, ["ann"]);
});

test("instances of one scope hear of each other, and no other scope does", async () => {
  const storage = mapAdapter();
  const open = (scope, name = "heard") => at(storage, scope, { name });
  // Names that would be the same if they were only put together.
  const others = [await open("bob"), await open(undefined), await open(undefined, "@ann:heard"), await open("ann:heard"), await open("ann", "other")];
  for (const other of others) other.on("change", () => assert.fail(`the scope ${other.scope}`));
  const [one, two] = [await open("ann"), await open("ann")];
  const heard = new Promise((resolve) => two.on("change", resolve));
  const alive = setInterval(() => {}, 1_000);
  const [node] = await one.thread("main").append([user("hello")]);
  const event = await heard.finally(() => clearInterval(alive));
  assert.deepEqual(event, { type: "changed", transcript: node.transcript, nodes: [node.id], remote: true });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([one, two, ...others].map((keep) => keep.close()));
});

test("agents of one name in two scopes work at the same time, each with its own memory", { timeout: 20_000 }, async () => {
  const storage = mapAdapter();
  const prompts = [];
  let meet;
  const both = new Promise((resolve) => (meet = resolve));
  const ask = async (scope) => {
    const keep = await at(storage, scope, { name: "agents" });
    await keep.memory.remember({ fact: `The code of ${scope} is ${scope}-7391.`, kind: "preference" });
    const agent = createAgent({
      keep,
      name: "lal",
      user: "user",
      context: { encoding: "estimate" },
      model: async ({ payload }) => {
        prompts.push([scope, JSON.stringify(payload)]);
        // The one is asked while the other waits.
        if (prompts.length === 2) meet();
        await both;
        return `hello ${scope}`;
      },
    });
    const { text } = await agent.send(`I am ${scope}. What is the code?`);
    agent.close();
    await keep.close();
    return text;
  };
  assert.deepEqual(await Promise.all([ask("ann"), ask("bob")]), ["hello ann", "hello bob"]);
  for (const [scope, prompt] of prompts) {
    assert.ok(prompt.includes(`${scope}-7391`), prompt);
    assert.doesNotMatch(prompt, scope === "ann" ? /bob/ : /ann/);
  }
});

test("agents of two keeps of one folder answer each message once", async () => {
  const asked = [];
  const ask = async (text) => {
    const keep = await Threadkeep.open({ name: "one-folder", storage: "file", scope: "ann", encoding: "estimate" });
    const model = async ({ messages }) => {
      const question = messages.findLast(({ role }) => role === "user").content;
      asked.push(question);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return `re ${question}`;
    };
    const agent = createAgent({ keep, name: "lal", user: "user", context: { encoding: "estimate" }, model });
    const { outcome } = await agent.send(text);
    agent.close();
    await keep.close();
    return outcome;
  };
  assert.deepEqual(await Promise.all(["one", "two", "three"].map(ask)), ["answered", "answered", "answered"]);
  assert.deepEqual(asked.sort(), ["one", "three", "two"]);
});

test("damage in one scope is told there and nowhere else", async () => {
  const storage = mapAdapter();
  const [ann, bob, whole] = [await at(storage, "ann"), await at(storage, "bob"), await at(storage)];
  for (const keep of [ann, bob, whole]) await fill(keep, "lemon");
  await Promise.all([ann, bob, whole].map((keep) => keep.close()));
  const scan = storage.scan;
  storage.damaged = async () => ["the page @ann/p/x"];
  storage.scan = async (range) => {
    const found = await scan(range);
    const damaged = found.find(([key]) => key.startsWith("@ann/p/"));
    if (damaged !== undefined) throw { code: "corrupt", key: damaged[0], message: "bits" };
    return found;
  };
  const told = async (scope) => {
    const keep = await at(storage, scope);
    await keep.lint().catch(() => {});
    await keep.export().text();
    const { damaged } = await keep.stats();
    await keep.close();
    return damaged.map(({ what }) => what);
  };
  const hers = await told("ann");
  assert.ok(hers.length > 0 && hers.every((what) => !what.includes("@ann")), hers.join("\n"));
  assert.deepEqual(await told("bob"), []);
  assert.deepEqual(await told(undefined), ["the page @ann/p/x"]);
});

test("a keep in memory has a scope of its own", async () => {
  const keep = await memory({ scope: "ann" });
  await keep.thread("main").append([user("one")]);
  assert.deepEqual([keep.scope, await keep.thread("main").count(), await listed({ storage: "memory" })], ["ann", 1, []]);
  await Threadkeep.deleteScope("ann", { storage: "memory" });
  await keep.close();
});

test("the MCP program serves the scope that it is told", { timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-scopes-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const scope of ["ann", "bob"]) {
    const keep = await at(fileStore({ folder: join(folder, "threadkeep") }), scope);
    await keep.thread("trip").append([user(`${scope} lost luggage`)]);
    await keep.close();
  }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(installed, "dist/tools/bin.js"), "--folder", folder, "--scope", "ann"],
    cwd: project,
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const { content } = await client.callTool({ name: "search_memory", arguments: { query: "luggage" } });
  assert.match(content[0].text, /ann lost/);
  assert.doesNotMatch(content[0].text, /bob/);
  await client.close();
});

test("the pages about scopes say what happens", { timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-scopes-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const page = readFileSync(join(source, "../docs/scopes.md"), "utf8");
  const [first, , shards] = [...page.matchAll(/```js\n(.+?)```/gs)].map(([, code]) =>
    code.replace(/path: "(.+?)"/g, (_, name) => `path: ${JSON.stringify(join(folder, name))}`),
  );
  assert.equal(inChild(first), "ann\nbob\n");
  const spread = `${first.match(/^import .*$/gm).join("\n")}\n${shards}
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    for (const shard of shards) for await (const scope of Threadkeep.scopes({ storage: shard })) console.log(scope);`;
  assert.equal(inChild(spread), "ann\n");
});
