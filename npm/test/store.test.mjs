// The message store: heads with messages, limits, ranges.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, many, memory, rejects, texts, user } from "./support/expect.mjs";

test("what is appended comes back in order", async () => {
  const keep = await memory();
  const nodes = await keep.messageStore.append("main", [user("one"), assistant("two")]);
  assert.equal(nodes.length, 2);
  assert.equal(nodes[1].parent, nodes[0].id);
  assert.ok(nodes.every((node) => node.sealed));
  await keep.messageStore.append("main", [user("three")]);
  assert.deepEqual(await keep.messageStore.getAll("main"), [user("one"), assistant("two"), user("three")]);
  assert.equal(await keep.messageStore.getCount("main"), 3);
  assert.equal((await keep.thread("main").head()).messages[0].content, "three");
  await keep.close();
});

test("a long history comes back whole, whatever the lengths of its messages", async () => {
  const keep = await memory();
  const lengths = [0, 10, 49_100, 1, 200_000, 30_000, 30_000, 3];
  const said = lengths.map((length, index) => ({ role: "user", content: `${index}: ${'é"\n'.repeat(length)}`, mine: [index] }));
  await keep.messageStore.append("main", said);
  assert.deepEqual(await keep.messageStore.getAll("main"), said);
  assert.deepEqual(await keep.messageStore.getRange("main", 2, 5), said.slice(2, 5));
  await keep.close();
});

test("an unknown context is empty, and appending nothing makes none", async () => {
  const keep = await memory();
  assert.deepEqual(await keep.messageStore.getAll("nowhere"), []);
  assert.deepEqual(await keep.messageStore.getRecent("nowhere"), []);
  assert.deepEqual(await keep.messageStore.getRange("nowhere", 0, 5), []);
  assert.equal(await keep.messageStore.getCount("nowhere"), 0);
  assert.equal(await keep.thread("nowhere").head(), null);
  assert.equal(await keep.messageStore.clear("nowhere"), 0);
  assert.deepEqual(await keep.messageStore.append("nowhere", []), []);
  assert.deepEqual(await keep.threads(), []);
  await keep.close();
});

test("the end of a range is not in it, and what lies beyond is left out", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", many(10));
  assert.deepEqual(texts(await keep.messageStore.getRange("main", 2, 5)), ["m2", "m3", "m4"]);
  assert.deepEqual(await keep.messageStore.getRange("main", 3, 3), []);
  assert.deepEqual(await keep.messageStore.getRange("main", 5, 2), []);
  assert.deepEqual(texts(await keep.messageStore.getRange("main", 8, 99)), ["m8", "m9"]);
  assert.deepEqual(await keep.messageStore.getRange("main", 10, 20), []);
  assert.deepEqual(await keep.messageStore.getRange("main", 0, 0), []);
  await keep.close();
});

test("recent messages: zero means zero, fifty without limits", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", many(60));
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxMessages: 0 }), []);
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxTokens: 0 }), []);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 2 })), ["m58", "m59"]);
  assert.equal((await keep.messageStore.getRecent("main")).length, 50);
  assert.equal((await keep.messageStore.getRecent("main", {})).length, 50);
  assert.equal((await keep.messageStore.getRecent("main", { maxMessages: undefined })).length, 50);
  assert.equal((await keep.messageStore.getRecent("main", { maxTokens: 1_000_000 })).length, 60);
  assert.equal((await keep.messageStore.getRecent("main", { maxMessages: 1_000 })).length, 60);
  await keep.close();
});

test("recent messages: the token limit is kept", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", [user("a".repeat(400)), user("b".repeat(40)), user("c".repeat(40))]);
  // 40 characters are estimated at 10 tokens and 4 for the message.
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxTokens: 28 })), ["b".repeat(40), "c".repeat(40)]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxTokens: 27 })), ["c".repeat(40)]);
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxTokens: 13 }), []);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxTokens: 1_000, maxMessages: 1 })), ["c".repeat(40)]);
  await keep.close();
});

test("recent messages: system messages come first where they are wanted", async () => {
  const keep = await memory();
  const system = { role: "system", content: "be brief" };
  await keep.messageStore.append("main", [system, ...many(5)]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 3 })), ["m2", "m3", "m4"]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 3, includeSystem: true })), ["be brief", "m3", "m4"]);
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxMessages: 0, includeSystem: true }), []);
  assert.equal((await keep.messageStore.getRecent("main", { includeSystem: false })).length, 5);
  assert.equal((await keep.messageStore.getRecent("main")).length, 6);
  await keep.close();
});

test("clearing removes one context and leaves the others", async () => {
  const keep = await memory();
  await keep.messageStore.append("a", many(3));
  await keep.messageStore.append("b", many(2));
  assert.equal(await keep.messageStore.clear("a"), 3);
  assert.equal(await keep.messageStore.getCount("a"), 0);
  assert.equal(await keep.thread("a").head(), null);
  assert.equal(await keep.messageStore.getCount("b"), 2);
  await keep.messageStore.append("a", [user("again")]);
  assert.deepEqual(texts(await keep.messageStore.getAll("a")), ["again"]);
  await keep.close();
});

test("a fork shares what lies before it", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", many(4));
  await keep.thread("main").fork("other", { atIndex: 2 });
  await keep.messageStore.append("other", [user("elsewhere")]);
  assert.deepEqual(texts(await keep.messageStore.getAll("other")), ["m0", "m1", "elsewhere"]);
  assert.deepEqual(texts(await keep.messageStore.getAll("main")), ["m0", "m1", "m2", "m3"]);
  const stats = await keep.stats();
  assert.equal(stats.messages, 5);
  assert.equal(stats.transcripts, 1);
  assert.equal(stats.threads, 2);
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["main", "other"],
  );
  // Clearing one way leaves the other whole.
  assert.equal(await keep.messageStore.clear("main"), 2);
  assert.deepEqual(texts(await keep.messageStore.getAll("other")), ["m0", "m1", "elsewhere"]);
  await rejects(keep.thread("main").fork("third"), "missing-thread");
  await keep.thread("other").fork("third");
  await rejects(keep.thread("other").fork("third"), "thread-taken");
  await keep.close();
});

test("an append behind a node begins a branch, if the head is where it is expected", async () => {
  const keep = await memory();
  const [first, , last] = await keep.messageStore.append("main", many(3));
  const [made] = await keep.messageStore.append("main", [user("elsewhere")], { after: first.id, expect: last.id });
  assert.equal(made.parent, first.id);
  assert.deepEqual(texts(await keep.messageStore.getAll("main")), ["m0", "elsewhere"]);
  const error = await rejects(keep.messageStore.append("main", [user("late")], { expect: last.id }), "conflict", /has moved/);
  assert.equal(error.details.name, "main");
  await rejects(keep.messageStore.append("main", [user("x")], { after: "nowhere" }), "missing-node");
  await rejects(keep.messageStore.append("new", [user("x")], { after: first.id }), "missing-thread");
  await rejects(keep.messageStore.append("main", [user("x")], { behind: first.id }), "bad-request", /behind/);
  assert.deepEqual(texts(await keep.messageStore.getAll("main")), ["m0", "elsewhere"]);
  await keep.close();
});

test("messages come back as they were, unknown fields included", async () => {
  const keep = await memory();
  const given = [
    { role: "system", content: "You are terse.", x_trace: { id: 7, list: [1, 2.5, null, "ü"] } },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:," } },
      ],
    },
    {
      role: "assistant",
      content: null,
      reasoning: "hm",
      tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a": 1}' }, extra: true }],
    },
    { role: "tool", tool_call_id: "c1", content: "42", is_error: true },
    { role: "assistant", content: "", refusal: null, tool_calls: [], pinned: true, tags: ["a"], include_in_context: false },
    { role: "critic", content: "other roles stay too" },
    { role: "user", content: "1e400 and 0.1 and 12345678901234567890 stay text", number: 1e21, tiny: 5e-324 },
    { role: "user", content: '\u0000\u2028\ud83d\ude00 "quotes" \\ and </script>', ["__proto__x"]: 1 },
  ];
  const before = structuredClone(given);
  await keep.messageStore.append("main", given);
  assert.deepEqual(await keep.messageStore.getAll("main"), before);
  assert.deepEqual(given, before);
  await keep.close();
});

test("what comes back is a copy, and what was given is read at once", async () => {
  const keep = await memory();
  const message = user("first");
  const pending = keep.messageStore.append("main", [message]);
  message.content = "changed after the call";
  const [node] = await pending;
  node.messages[0].content = "changed in the answer";
  (await keep.messageStore.getAll("main"))[0].content = "changed again";
  assert.deepEqual(texts(await keep.messageStore.getAll("main")), ["first"]);
  await keep.close();
});

test("a thousand messages, and contexts with odd names", async () => {
  const keep = await memory({ cacheBytes: 0 });
  await keep.messageStore.append("main", many(1_000));
  assert.equal(await keep.messageStore.getCount("main"), 1_000);
  assert.deepEqual(texts(await keep.messageStore.getRange("main", 499, 501)), ["m499", "m500"]);
  for (const name of ["a/b", "ü ñ 漢字", "\u0000", "x".repeat(512), "%2F", "__proto__", "a", "a ", "A"]) {
    await keep.messageStore.append(name, [user(name)]);
    assert.deepEqual(texts(await keep.messageStore.getAll(name)), [name]);
  }
  assert.equal((await keep.threads()).length, 10);
  await keep.close();
});
