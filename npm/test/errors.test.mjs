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
  ["messages", (keep) => keep.append("a", "hi")],
  ["messages[0]", (keep) => keep.append("a", ["hi"])],
  // biome-ignore lint/suspicious/noSparseArray: a hole in the list is the fault
  ["messages[0]", (keep) => keep.append("a", [, user("a")])],
  ["messages[1].role", (keep) => keep.append("a", [user("a"), { content: "b" }])],
  ["messages[0].content", (keep) => keep.append("a", [user(7)])],
  ["messages[0].content[0]", (keep) => keep.append("a", [user([null])])],
  ["messages[0].name", (keep) => keep.append("a", [{ ...user("a"), name: {} }])],
  ["messages[0].tool_calls", (keep) => keep.append("a", [{ role: "assistant", tool_calls: "f()" }])],
  ["messages", (keep) => keep.append("a", [{ ...user("a"), big: 10n }])],
  ["contextId", (keep) => keep.append(undefined, [user("a")])],
  ["contextId", (keep) => keep.getAll("")],
  ["contextId", (keep) => keep.getAll("x".repeat(513))],
  ["contextId", (keep) => keep.getCount("\ud800")],
  ["start", (keep) => keep.getRange("a", -1, 2)],
  ["end", (keep) => keep.getRange("a", 0)],
  ["end", (keep) => keep.getRange("a", 0, Number.NaN)],
  ["end", (keep) => keep.getRange("a", 0, Infinity)],
  ["options", (keep) => keep.getRecent("a", 20)],
  ["options", (keep) => keep.getRecent("a", null)],
  ["options.max_messages", (keep) => keep.getRecent("a", { max_messages: 20 })],
  ["options.constructor", (keep) => keep.getRecent("a", { constructor: 20 })],
  ["options.maxMessages", (keep) => keep.getRecent("a", { maxMessages: -1 })],
  ["options.maxTokens", (keep) => keep.getRecent("a", { maxTokens: "100" })],
  ["options.includeSystem", (keep) => keep.getRecent("a", { includeSystem: 1 })],
  ["newContextId", (keep) => keep.fork("a")],
  ["atIndex", (keep) => keep.fork("a", "b", -1)],
  ["outboundId", (keep) => keep.alias(null, "a")],
  ["id", (keep) => keep.node()],
  ["leafId", (keep) => keep.chain({})],
  ["title", (keep) => keep.rename("a", null)],
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
  for (const call of [
    () => keep.append("a\ud83d", [user("a")]),
    () => keep.send({ from: "a\ud83d", to: "b", content: "c" }),
    () => keep.receive({ content: "a", messageId: "\udc00" }),
  ])
    await rejects(call(), "bad-request", /lone surrogate/);
  assert.throws(() => recordKey("\ud800"), { code: "bad-request" });
  await keep.append("a", [user("\\ud83d written out, \ud83d\ude00 whole")]);
  assert.deepEqual(texts(await keep.getAll("a")), ["\\ud83d written out, \ud83d\ude00 whole"]);
  await keep.close();
});

test("nesting that is too deep, circles and throwing getters are errors", async () => {
  const keep = await memory();
  let deep = {};
  for (let level = 0; level < 10_000; level += 1) deep = { deep };
  await rejects(keep.append("a", [{ ...user("a"), deep }]), "bad-request");
  const circle = user("a");
  circle.self = circle;
  await rejects(keep.append("a", [circle]), "bad-request", /JSON/);
  await rejects(
    keep.append("a", [
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
  assert.equal(await keep.getCount("a"), 0);
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
      ["messages[1]", keep.append("list", [user("flat"), nested(levels)])],
      ["messages[0]", keep.append("parts", [user([part])])],
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
  const list = await keep.getAll("list");
  await keep.close();

  const again = await Threadkeep.open({ name });
  assert.deepEqual(await again.getAll("list"), list);
  assert.deepEqual(list.at(-1), nested(100));
  assert.ok((await again.chain(id)).length > 0);
  const other = await memory();
  const report = await other.import(await again.export().text());
  assert.deepEqual(report.skipped, []);
  assert.deepEqual(await other.getAll("list"), list);
  for (const call of [() => again.context("list", { tools: [nested(130)] }), () => again.remember({ fact: "a", tags: nested(130) })])
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
    ["messages", () => keep.append("a", [throwing])],
    ["messages", () => keep.append("a", [wordless])],
    ["messages", () => keep.append("a", [proxy])],
    ["messages", () => keep.append("a", proxy)],
    ["message", () => keep.receive(throwing)],
    ["options", () => keep.append("a", [], proxy)],
    ["options", () => keep.context("a", proxy)],
    [
      "options",
      () =>
        keep.context("a", {
          get encoding() {
            throw new Error("not today");
          },
        }),
    ],
    [
      "options",
      () =>
        keep.context("a", {
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
  assert.equal(await keep.getCount("a"), 0);
  await keep.close();
});

test("an option that is a function or null is refused where none is known, not left out in silence", async () => {
  const keep = await memory();
  const list = [user("a")];
  for (const [argument, call] of [
    ["options.tokenCounter", () => trimMessages(list, { budget: { maxTokens: 9 }, tokenCounter: (text) => text.length })],
    ["options.transform", () => render(list, "anthropic", { transform() {} })],
    ["options.summarize", () => keep.context("a", { summarize: async () => "" })],
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
    () => keep.children("nobody"),
    () => keep.depth("nobody"),
    () => keep.seal("nobody"),
    () => keep.lint("nobody"),
    () => keep.choose("nobody"),
    () => keep.deleteBranch("nobody"),
  ]) {
    const error = await rejects(call(), "missing-node", /nobody/);
    assert.equal(error.details.node, "nobody");
  }
  assert.equal((await rejects(keep.tree("nobody"), "missing-transcript")).details.transcript, "nobody");
  await rejects(keep.rename("nobody", "x"), "missing-transcript");
  await rejects(keep.export({ transcript: "nobody" }).text(), "missing-transcript");
  assert.equal((await rejects(keep.fork("nobody", "x"), "missing-head")).details.contextId, "nobody");
  await keep.close();
});

test("a fork inside a message list is checked", async () => {
  const keep = await memory();
  await keep.append("main", [user("one"), user("two")]);
  await rejects(keep.fork("main", "x", 3), "bad-request");
  assert.equal((await keep.heads()).length, 1);
  await keep.fork("main", "x", 0);
  assert.equal(await keep.getCount("x"), 0);
  await keep.close();
});

test("a closed keep says so, and closing twice is fine", async () => {
  const keep = await memory();
  const pending = keep.append("main", [user("one")]);
  const closed = keep.close();
  assert.equal((await pending).length, 1);
  await closed;
  await keep.close();
  await rejects(keep.append("main", [user("two")]), "closed");
  await rejects(keep.getAll("main"), "closed");
  await rejects(keep.import("{}"), "closed");
  await rejects(keep.export().text(), "closed");
});

test("the error class", () => {
  const error = new ThreadkeepError("quota", "full", { free: 0 });
  assert.ok(error instanceof Error);
  assert.equal(String(error), "ThreadkeepError: full");
  assert.deepEqual([error.code, error.details], ["quota", { free: 0 }]);
});
