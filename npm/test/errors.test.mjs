// Wrong arguments, wrong options, closed keeps: every mistake is an error that names it, and changes nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inChild, load } from "./support/installed.mjs";
import { Threadkeep, ThreadkeepError, memory, recordKey, rejects, texts, user } from "./support/expect.mjs";

const { compressHistory, render, trimMessages } = await load();

/** Each call is wrong; the error must begin with the argument's name and carry it. */
const WRONG = [
  ["message", (keep) => keep.receive()],
  ["message", (keep) => keep.receive("hi")],
  ["message.content", (keep) => keep.receive({})],
  ["message.content", (keep) => keep.receive({ content: 3 })],
  ["message.content[1]", (keep) => keep.receive({ content: [{ type: "text", text: "a" }, "b"] })],
  ["message.reply_to", (keep) => keep.receive({ content: "a", reply_to: "b" })],
  ["message.messageId", (keep) => keep.receive({ content: "a", messageId: "" })],
  ["message.messageId", (keep) => keep.receive({ content: "a", messageId: "ü".repeat(257) })],
  ["message.number", (keep) => keep.receive({ content: "a", number: 1.5 })],
  ["message.number", (keep) => keep.receive({ content: "a", number: "1" })],
  ["nodeId", (keep) => keep.extend(7, [user("a")])],
  ["messages", (keep) => keep.extend("a", user("a"))],
  ["messages", (keep) => keep.messageStore.append("a", "hi")],
  ["messages[0]", (keep) => keep.messageStore.append("a", ["hi"])],
  // biome-ignore lint/suspicious/noSparseArray: a hole in the list is the fault
  ["messages[0]", (keep) => keep.messageStore.append("a", [, user("a")])],
  ["messages[1].role", (keep) => keep.messageStore.append("a", [user("a"), { content: "b" }])],
  ["messages[0].content", (keep) => keep.messageStore.append("a", [user(7)])],
  ["messages[0].content[0]", (keep) => keep.messageStore.append("a", [user([null])])],
  ["messages[0].name", (keep) => keep.messageStore.append("a", [{ ...user("a"), name: {} }])],
  ["messages[0].tool_calls", (keep) => keep.messageStore.append("a", [{ role: "assistant", tool_calls: "f()" }])],
  ["messages", (keep) => keep.messageStore.append("a", [{ ...user("a"), big: 10n }])],
  ["name", (keep) => keep.messageStore.append(undefined, [user("a")])],
  ["name", (keep) => keep.messageStore.getAll("")],
  ["name", (keep) => keep.messageStore.getAll("x".repeat(513))],
  ["name", (keep) => keep.messageStore.getCount("\ud800")],
  ["start", (keep) => keep.messageStore.getRange("a", -1, 2)],
  ["end", (keep) => keep.messageStore.getRange("a", 0)],
  ["end", (keep) => keep.messageStore.getRange("a", 0, Number.NaN)],
  ["end", (keep) => keep.messageStore.getRange("a", 0, Infinity)],
  ["options", (keep) => keep.messageStore.getRecent("a", 20)],
  ["options", (keep) => keep.messageStore.getRecent("a", null)],
  ["options.max_messages", (keep) => keep.messageStore.getRecent("a", { max_messages: 20 })],
  ["options.constructor", (keep) => keep.messageStore.getRecent("a", { constructor: 20 })],
  ["options.maxMessages", (keep) => keep.messageStore.getRecent("a", { maxMessages: -1 })],
  ["options.maxTokens", (keep) => keep.messageStore.getRecent("a", { maxTokens: "100" })],
  ["options.includeSystem", (keep) => keep.messageStore.getRecent("a", { includeSystem: 1 })],
  ["newName", (keep) => keep.thread("a").fork()],
  ["options.atIndex", (keep) => keep.thread("a").fork("b", { atIndex: -1 })],
  ["outboundId", (keep) => keep.at("a").alias(null)],
  ["id", (keep) => keep.node()],
  ["leafId", (keep) => keep.chain({})],
  ["title", (keep) => keep.transcript("a").rename(null)],
  ["data", (keep) => keep.import()],
  ["data", (keep) => keep.import(7)],
  ["data[0]", (keep) => keep.import(["text"])],
  ["data.data", (keep) => keep.import({ name: "a", data: 3 })],
  [
    "data[1].name",
    (keep) =>
      keep.import([
        { name: "a", data: "" },
        { name: 2, data: "" },
      ]),
  ],
  [
    "data",
    (keep) =>
      keep.import(
        (async function* () {
          yield 7;
        })(),
      ),
  ],
  ["options.format", (keep) => keep.import("", { format: "fax" })],
  ["options.progress", (keep) => keep.import("", { progress() {} })],
  ["options.onProgress", (keep) => keep.import("", { onProgress: true })],
  ["options.format", (keep) => keep.export({ format: "csv" }).text()],
  ["options.transcripts", (keep) => keep.export({ transcripts: [] }).blob()],
];

test("wrong arguments are errors that name the argument", async () => {
  const keep = await memory();
  for (const [argument, call] of WRONG) {
    const error = await rejects(call(keep), "bad-request");
    assert.equal(error.details.argument, argument, error.message);
    assert.ok(error.message.startsWith(`${argument} `), error.message);
  }
  assert.equal((await keep.stats()).transcripts, 0);
  await keep.close();
});

test("wrong options of open", async () => {
  for (const [argument, options] of [
    ["options", "memory"],
    ["options.nmae", { nmae: "x" }],
    ["options.encoding2", { encoding2: "x" }],
    ["options.name", { name: "" }],
    ["options.storage", { storage: "sqlite" }],
    ["options.storage", { storage: null }],
    ["options.storage.commit", { storage: { get() {}, scan() {}, close() {} } }],
    ["options.cacheBytes", { storage: "memory", cacheBytes: -1 }],
  ]) {
    const error = await rejects(Threadkeep.open(options), "bad-request");
    assert.equal(error.details.argument, argument);
  }
});

test("indexeddb where there is none is an error, not files or memory", async () => {
  await rejects(Threadkeep.open({ storage: "indexeddb" }), "unavailable");
  const keep = await Threadkeep.open();
  assert.equal(keep.storage, "file");
  assert.equal(keep.beginning, "created");
  await keep.close();
});

test("a working directory that is gone is an error with a code, and hinders no keep in memory", { skip: process.platform === "win32" }, () => {
  const printed = inChild(`
    import { mkdtempSync, rmdirSync } from "node:fs";
    import { tmpdir } from "node:os";
    import { join } from "node:path";
    import { Threadkeep, ThreadkeepError, init } from "threadkeep";
    await init();
    delete process.env.THREADKEEP_HOME;
    const gone = mkdtempSync(join(tmpdir(), "threadkeep-gone-"));
    process.chdir(gone);
    rmdirSync(gone);
    await Threadkeep.open().catch((error) => console.log(error instanceof ThreadkeepError, error.code));
    console.log((await Threadkeep.open({ storage: "memory" })).storage);
  `);
  assert.equal(printed, "true unavailable\nmemory\n");
});

test("names with half a character are refused: another name would be stored", async () => {
  const keep = await memory();
  for (const handle of [() => keep.thread("a\ud83d"), () => keep.mailbox("a\ud83d"), () => keep.at("\udc00"), () => keep.transcript("\udc00")])
    assert.throws(handle, (error) => error.code === "bad-request" && /lone surrogate/.test(error.message));
  for (const call of [
    () => keep.messageStore.append("a\ud83d", [user("a")]),
    () => keep.mailbox("a").send({ to: "b\ud83d", content: "c" }),
    () => keep.receive({ content: "a", messageId: "\udc00" }),
  ])
    await rejects(call(), "bad-request", /lone surrogate/);
  assert.throws(() => recordKey("\ud800"), { code: "bad-request" });
  await keep.messageStore.append("a", [user("\\ud83d written out, \ud83d\ude00 whole")]);
  assert.deepEqual(texts(await keep.messageStore.getAll("a")), ["\\ud83d written out, \ud83d\ude00 whole"]);
  await keep.close();
});

test("nesting that is too deep, circles and throwing getters are errors", async () => {
  const keep = await memory();
  let deep = {};
  for (let level = 0; level < 10_000; level += 1) deep = { deep };
  await rejects(keep.messageStore.append("a", [{ ...user("a"), deep }]), "bad-request");
  const circle = user("a");
  circle.self = circle;
  await rejects(keep.messageStore.append("a", [circle]), "bad-request", /JSON/);
  await rejects(
    keep.messageStore.append("a", [
      {
        ...user("a"),
        toJSON() {
          throw new Error("no JSON today");
        },
      },
    ]),
    "bad-request",
    /no JSON today/,
  );
  assert.equal(await keep.messageStore.getCount("a"), 0);
  await keep.close();
});

/** A message that is so many lists and objects deep, itself the first. */
function nested(levels, role = "user") {
  let field = {};
  for (let level = 2; level < levels; level += 1) field = level % 2 ? [field] : { field };
  return { role, content: "deep", field };
}

test("what is acknowledged can be read again, however deep it is; what is deeper is refused by name", async () => {
  const name = `deep-${process.pid}`;
  const keep = await Threadkeep.open({ name });
  const { id } = await keep.receive({ content: "Hm?" });
  let deepest = 0;
  for (let levels = 90; levels <= 130; levels += 1) {
    const part = nested(levels - 1, "part");
    const calls = [
      ["messages[1]", keep.messageStore.append("list", [user("flat"), nested(levels)])],
      ["messages[0]", keep.messageStore.append("parts", [user([part])])],
      ["messages[0]", keep.extend(id, [nested(levels, "assistant")])],
      ["message.content", keep.receive({ content: [part] })],
    ];
    const ended = await Promise.allSettled(calls.map(([, call]) => call));
    for (const [index, { status, reason }] of ended.entries()) {
      if (status === "fulfilled") deepest = levels;
      else {
        assert.equal(reason.code, "bad-request");
        assert.equal(reason.details.argument, calls[index][0]);
        assert.match(reason.message, /nested too deeply: 100 levels/);
      }
    }
  }
  assert.ok(deepest >= 100);
  const list = await keep.messageStore.getAll("list");
  await keep.close();

  const again = await Threadkeep.open({ name });
  assert.deepEqual(await again.messageStore.getAll("list"), list);
  assert.deepEqual(list.at(-1), nested(100));
  assert.ok((await again.chain(id)).length > 0);
  const other = await memory();
  const report = await other.import(await again.export().text());
  assert.deepEqual(report.skipped, []);
  assert.deepEqual(await other.messageStore.getAll("list"), list);
  for (const call of [() => again.thread("list").context({ tools: [nested(130)] }), () => again.memory.remember({ fact: "a", tags: nested(130) })])
    assert.equal((await rejects(call(), "bad-request", /nested too deeply/)).details.argument, "options");
  await again.close();
  await other.close();
});

test("what a getter or a proxy throws is an error that names the argument", async () => {
  const keep = await memory();
  const throwing = {
    role: "user",
    get content() {
      throw new Error("not today");
    },
  };
  const wordless = {
    ...user("a"),
    get field() {
      throw null;
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const [argument, call] of [
    ["messages", () => keep.messageStore.append("a", [throwing])],
    ["messages", () => keep.messageStore.append("a", [wordless])],
    ["messages", () => keep.messageStore.append("a", [proxy])],
    ["messages", () => keep.messageStore.append("a", proxy)],
    ["message", () => keep.receive(throwing)],
    ["options", () => keep.messageStore.append("a", [], proxy)],
    ["options", () => keep.thread("a").context(proxy)],
    [
      "options",
      () =>
        keep.thread("a").context({
          get encoding() {
            throw new Error("not today");
          },
        }),
    ],
    [
      "options",
      () =>
        keep.thread("a").context({
          get model() {
            throw null;
          },
        }),
    ],
  ]) {
    const error = await rejects(call(), "bad-request");
    assert.ok(error.details.argument.startsWith(argument), error.message);
    assert.doesNotMatch(error.message, /reading 'message'/);
  }
  assert.equal(await keep.messageStore.getCount("a"), 0);
  await keep.close();
});

test("an option that is a function or null is refused where none is known, not left out in silence", async () => {
  const keep = await memory();
  const list = [user("a")];
  for (const [argument, call] of [
    ["options.tokenCounter", () => trimMessages(list, { budget: { maxTokens: 9 }, tokenCounter: (text) => text.length })],
    ["options.transform", () => render(list, "anthropic", { transform() {} })],
    ["options.summarize", () => keep.thread("a").context({ summarize: async () => "" })],
    ["options.mark", () => compressHistory([], { mark: Symbol("mark") })],
    ["options", () => trimMessages(list, null)],
  ])
    assert.equal((await rejects(call(), "bad-request")).details.argument, argument);
  await keep.close();
});

test("what is missing is named", async () => {
  const keep = await memory();
  for (const call of [
    () => keep.chain("nobody"),
    () => keep.at("nobody").children(),
    () => keep.at("nobody").depth(),
    () => keep.at("nobody").seal(),
    () => keep.lint("nobody"),
    () => keep.at("nobody").choose(),
    () => keep.at("nobody").deleteBranch(),
  ]) {
    const error = await rejects(call(), "missing-node", /nobody/);
    assert.equal(error.details.node, "nobody");
  }
  assert.equal((await rejects(keep.transcript("nobody").tree(), "missing-transcript")).details.transcript, "nobody");
  await rejects(keep.transcript("nobody").rename("x"), "missing-transcript");
  await rejects(keep.export({ transcript: "nobody" }).text(), "missing-transcript");
  assert.equal((await rejects(keep.thread("nobody").fork("x"), "missing-thread")).details.name, "nobody");
  await keep.close();
});

test("a fork inside a message list is checked", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", [user("one"), user("two")]);
  await rejects(keep.thread("main").fork("x", { atIndex: 3 }), "bad-request");
  assert.equal((await keep.threads()).length, 1);
  await keep.thread("main").fork("x", { atIndex: 0 });
  assert.equal(await keep.messageStore.getCount("x"), 0);
  await keep.close();
});

test("a closed keep says so, and closing twice is fine", async () => {
  const keep = await memory();
  const pending = keep.messageStore.append("main", [user("one")]);
  const closed = keep.close();
  assert.equal((await pending).length, 1);
  await closed;
  await keep.close();
  await rejects(keep.messageStore.append("main", [user("two")]), "closed");
  await rejects(keep.messageStore.getAll("main"), "closed");
  await rejects(keep.import("{}"), "closed");
  await rejects(keep.export().text(), "closed");
});

test("the error class", () => {
  const error = new ThreadkeepError("quota", "full", { free: 0 });
  assert.ok(error instanceof Error);
  assert.equal(String(error), "ThreadkeepError: full");
  assert.deepEqual([error.code, error.details], ["quota", { free: 0 }]);
});
