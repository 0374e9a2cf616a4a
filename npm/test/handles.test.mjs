// The handles: one way in. What each of them does is tested where its subject is; here is how they hang together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { Threadkeep, assistant, memory, rejects, searchTool, texts, user } from "./support/expect.mjs";
import { inChild } from "./support/installed.mjs";

/** All names of methods of a class, symbols too, without the constructor. */
const methods = (of) =>
  Reflect.ownKeys(Object.getOwnPropertyDescriptors(of))
    .filter((name) => typeof Object.getOwnPropertyDescriptor(of, name).value === "function" && name !== "constructor")
    .map(String);

test("the class has at most 25 methods, `open` among them", () => {
  const all = [...methods(Threadkeep), ...methods(Threadkeep.prototype)];
  assert.ok(all.includes("open") && all.includes("thread") && all.includes(String(Symbol.asyncDispose)), all.join(", "));
  assert.ok(all.length <= 25, `${all.length}: ${all.join(", ")}`);
});

test("the message store has its seven methods, and no other", async () => {
  const keep = await memory();
  assert.deepEqual(methods(Object.getPrototypeOf(keep.messageStore)).sort(), ["append", "clear", "compact", "getAll", "getCount", "getRange", "getRecent"]);
  await keep.messageStore.append("main", [user("one"), assistant("two"), user("three")]);
  assert.deepEqual(texts(await keep.messageStore.getRange("main", 1, 9)), ["two", "three"]);
  assert.deepEqual(await keep.thread("main").messages(), await keep.messageStore.getAll("main"));
  assert.deepEqual(await keep.thread("main").recent({ maxMessages: 2 }), await keep.messageStore.getRecent("main", { maxMessages: 2 }));
  assert.equal(await keep.messageStore.clear("main"), 3);
  assert.equal(await keep.messageStore.getCount("main"), 0);
  await keep.close();
});

test("undo names the change, and the history of a message has its versions", async () => {
  const keep = await memory();
  const thread = keep.thread("main");
  const [first, second] = await thread.append([user("one"), user("two")]);
  const [edited] = await thread.append([user("two, edited")], { after: first.id });
  const versions = await keep.at(second.id).history();
  assert.deepEqual(
    versions.map(({ id, messages }) => [id, ...texts(messages)]),
    [
      [second.id, "two"],
      [edited.id, "two, edited"],
    ],
  );
  assert.ok(versions.every(({ createdAt }) => Math.abs(createdAt - Date.now()) < 600_000));
  const undone = await thread.undo();
  assert.deepEqual(undone, { change: "edit", from: edited.id, node: second.id, messages: 1 });
  assert.deepEqual(texts(await thread.messages()), ["one", "two"]);
  assert.equal((await thread.undo()).change, "append");
  assert.equal(await thread.undo(), null);
  assert.equal(await thread.count(), 0);
  await thread.moveTo(undone.from);
  assert.deepEqual(texts(await thread.messages()), ["one", "two, edited"]);
  await keep.close();
});

test("the messages of a thread: all, from an index, up to one, between two", async () => {
  const keep = await memory();
  const thread = keep.thread("main");
  assert.deepEqual(await thread.messages(), []);
  await thread.append([user("one"), assistant("two"), user("three")]);
  assert.deepEqual(texts(await thread.messages({ start: 1 })), ["two", "three"]);
  assert.deepEqual(texts(await thread.messages({ end: 1 })), ["one"]);
  assert.deepEqual(texts(await thread.messages({ start: 1, end: 2 })), ["two"]);
  assert.deepEqual(await thread.messages({ start: 2, end: 0 }), []);
  assert.deepEqual(
    (await thread.stored({ start: 2 })).map(({ thread: name, index }) => [name, index]),
    [["main", 2]],
  );
  await rejects(thread.messages({ from: 1 }), "bad-request", /range\.from is not known/);
  await rejects(thread.messages({ start: -1 }), "bad-request", /range\.start/);
  await keep.close();
});

test("a thread is forked into a thread, and moved to any node", async () => {
  const keep = await memory();
  const main = keep.thread("main");
  const [first, second] = await main.append([user("one"), assistant("two")]);
  const fork = await main.fork("what-if", { atIndex: 1 });
  assert.equal(fork.name, "what-if");
  assert.equal((await fork.head()).id, first.id);
  await fork.append([assistant("zwei")]);
  assert.deepEqual(
    [texts(await main.messages()), texts(await fork.messages())],
    [
      ["one", "two"],
      ["one", "zwei"],
    ],
  );
  assert.equal((await fork.moveTo(second.id)).id, second.id);
  assert.deepEqual(texts(await fork.messages()), ["one", "two"]);
  assert.deepEqual(
    (await keep.threads()).map(({ name, node }) => [name, node]),
    [
      ["main", second.id],
      ["what-if", second.id],
    ],
  );
  assert.equal((await rejects(main.fork("what-if"), "thread-taken")).details.name, "what-if");
  await keep.close();
});

test("a thread and a node of it give the same prompt, checkpoints and search hits", async () => {
  const keep = await memory({ encoding: "estimate" });
  const thread = keep.thread("main");
  for (let turn = 0; turn < 8; turn += 1)
    await thread.append([user(`question ${turn} ${"pear ".repeat(40)}`), assistant(`answer ${turn} ${"apple ".repeat(40)}`)]);
  const { id } = await thread.head();
  await keep.at(id).alias("sent");
  assert.ok((await thread.compact({ keepTurns: 2 })).checkpoint !== null);
  for (const place of [keep.at(id), keep.at("sent")]) {
    assert.deepEqual((await place.context()).messages, (await thread.context()).messages);
    assert.deepEqual(await place.checkpoints(), await thread.checkpoints());
    assert.deepEqual(await place.search("pear", { kind: "message" }), await thread.search("pear", { kind: "message" }));
    assert.equal(await place.depth(), 16);
  }
  await keep.close();
});

test("the search of a thread finds what is in the thread, and nothing beside it", async () => {
  const keep = await memory();
  const thread = keep.thread("main");
  await thread.append([user("Where is the luggage?")]);
  await (await thread.fork("aside", { atIndex: 1 })).append([assistant("The luggage is in Bergen.")]);
  await keep.thread("other").append([user("My luggage is green.")]);
  const found = (hits) => hits.map(({ message }) => message.content).sort();
  assert.deepEqual(found(await thread.search("luggage")), ["Where is the luggage?"]);
  assert.deepEqual(found(await keep.thread("aside").search("luggage")), ["The luggage is in Bergen.", "Where is the luggage?"]);
  assert.equal((await keep.search("luggage")).length, 3);
  const nothing = await keep.thread("nobody").search("luggage");
  assert.deepEqual([[...nothing], nothing.warnings], [[], []]);
  await rejects(thread.search("luggage", { branch: "x" }), "bad-request", /options\.branch is not known/);
  const { hits } = JSON.parse(await searchTool(thread).call({ query: "luggage" }));
  assert.deepEqual(
    hits.map(({ text }) => text),
    ["Where is the luggage?"],
  );
  await keep.close();
});

test("a handle reads nothing until it is asked, and rejects when the keep is closed", async () => {
  const keep = await memory();
  const { memory: remembered, messageStore, searchIndex } = keep;
  const handles = [keep.thread("a"), keep.at("a"), keep.transcript("a"), keep.mailbox("a")];
  assert.equal((await keep.stats()).transcripts, 0);
  await keep.close();
  const [thread, place, transcript, mailbox] = handles;
  for (const call of [
    () => thread.append([user("x")]),
    () => thread.messages(),
    () => thread.context(),
    () => thread.search("x"),
    () => place.children(),
    () => transcript.outline(),
    () => mailbox.messages(),
    () => mailbox.send({ to: "b", content: "x" }),
    () => remembered.facts(),
    () => messageStore.getAll("a"),
    () => searchIndex.progress(),
  ])
    await rejects(call(), "closed");
});

test("`await using` closes the keep at the end of the block", () => {
  const source = `
    import { Threadkeep } from "threadkeep";
    let seen;
    {
      await using keep = await Threadkeep.open({ storage: "memory" });
      await keep.thread("main").append([{ role: "user", content: "hi" }]);
      seen = keep;
    }
    console.log(await seen.thread("main").count().catch((error) => error.code));
    await seen[Symbol.asyncDispose]();
  `;
  const { code } = transformSync(source, { format: "esm", target: "es2022" });
  assert.equal(inChild(code), "closed\n");
});
