// Records of others in a keep's storage, the keys for them, and the contract suite that stores are held to.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, memory, recordKey, recordParts, recordRange, rejects, user } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { checkStore } = await import(pathToFileURL(join(installed, "dist/stores/contract.js")).href);
const bytes = (text) => new TextEncoder().encode(text);
const read = (value) => value && new TextDecoder().decode(value);
const shown = (records) => records.map(([key, value]) => [key, read(value)]);

test("records are put, found in order, deleted, by namespace", async () => {
  const keep = await memory();
  const [a, b] = [keep.records("a"), keep.records("a/b")];
  await a.commit({
    puts: [
      ["k2", bytes("two")],
      ["k1", bytes("one")],
      ["k3", new Uint8Array()],
    ],
  });
  await b.commit({ puts: [["k1", bytes("other")]] });
  assert.deepEqual(shown(await a.scan()), [
    ["k1", "one"],
    ["k2", "two"],
    ["k3", ""],
  ]);
  assert.deepEqual(shown(await a.scan({ start: "k2", reverse: true })), [
    ["k3", ""],
    ["k2", "two"],
  ]);
  assert.deepEqual(shown(await a.scan({ end: "k3", limit: 1 })), [["k1", "one"]]);
  assert.deepEqual(shown(await a.scan({ start: "k2", end: "k1" })), []);
  assert.deepEqual(shown(await b.scan()), [["k1", "other"]]);
  assert.equal(read(await a.get("k2")), "two");
  assert.equal(await a.get("none"), undefined);
  await a.commit({ deletes: ["k1"], deleteRanges: [["k2", "k3"]], puts: [["k4", bytes("4")]], durability: "relaxed" });
  assert.deepEqual(shown(await a.scan()), [
    ["k3", ""],
    ["k4", "4"],
  ]);
  await keep.close();
});

test("a condition that does not hold is a conflict that names the key, and nothing happens", async () => {
  const keep = await memory();
  const records = keep.records("a");
  await records.commit({ puts: [["k", bytes("1")]] });
  const error = await rejects(records.commit({ absent: ["k"], puts: [["l", bytes("2")]] }), "conflict");
  assert.equal(error.details.key, "k");
  await rejects(records.commit({ present: ["m"], deletes: ["k"] }), "conflict");
  assert.deepEqual(shown(await records.scan()), [["k", "1"]]);
  await keep.close();
});

test("records lie in the keep's storage, outside its conversations, and go with everything", async () => {
  const adapter = mapAdapter();
  let keep = await Threadkeep.open({ storage: adapter });
  await keep.thread("main").append([user("hi")]);
  await keep.records("notes").commit({ puts: [["k", bytes("v")]] });
  await keep.close();
  keep = await Threadkeep.open({ storage: adapter });
  assert.equal(read(await keep.records("notes").get("k")), "v");
  assert.equal((await keep.lint()).length, 0);
  assert.doesNotMatch(await keep.export().text(), /notes/);
  const records = keep.records("notes");
  await keep.deleteAll();
  assert.deepEqual(await records.scan(), []);
  await keep.close();
  await rejects(records.get("k"), "closed");
});

test("what is no key, value or option is refused", async () => {
  const keep = await memory();
  const records = keep.records("a");
  for (const key of ["", "ü", "a\nb", "x".repeat(1001), 7]) await rejects(records.get(key), "bad-request", /key/);
  await rejects(records.commit({ puts: [["k", "text"]] }), "bad-request", /puts\[0\]\[1\]/);
  await rejects(records.commit({ put: [] }), "bad-request", /put/);
  await rejects(records.scan({ limit: -1 }), "bad-request", /limit/);
  assert.throws(() => keep.records(""), { code: "bad-request" });
  await keep.close();
});

test("keys keep the order of their parts", () => {
  const texts = ["", "a", "a b", "a!b", "a-b", "a/b", "a0", "aa", "ab", "é", "日本", "\u{1f600}", '"', "~", "}", "#", "\u0000", "\u007f"];
  const tuples = [...texts, ...texts.flatMap((one) => texts.map((other) => [one, other]))].map((it) => [it].flat());
  const compare = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const byParts = (a, b) => {
    for (let at = 0; at < Math.min(a.length, b.length); at++) if (a[at] !== b[at]) return compare(a[at], b[at]);
    return a.length - b.length;
  };
  const sorted = [...tuples].sort(byParts);
  assert.deepEqual(
    [...tuples].sort((a, b) => compare(recordKey(...a), recordKey(...b))),
    sorted,
  );
  for (const tuple of tuples) {
    assert.deepEqual(recordParts(recordKey(...tuple)), tuple);
    assert.match(recordKey(...tuple), /^[ -~]*$/);
  }
  assert.ok(recordKey("a", 9) < recordKey("a", 10));
  assert.throws(() => recordKey(-1), { code: "bad-request" });
  const { start, end } = recordRange("a");
  const inside = tuples.filter((tuple) => recordKey(...tuple) >= start && recordKey(...tuple) < end);
  assert.deepEqual(
    inside,
    tuples.filter((tuple) => tuple.length === 2 && tuple[0] === "a"),
  );
});

test("the contract suite passes a good store and names what a bad one lacks", async () => {
  const records = new Map();
  const good = await checkStore(() => mapAdapter({ records }));
  assert.deepEqual(good.failures, []);
  assert.ok(good.passed.length >= 20, `${good.passed.length} behaviours`);
  assert.equal(records.size, 0);
  const bad = await checkStore(() => {
    const adapter = mapAdapter({ records });
    return { ...adapter, commit: (commit) => adapter.commit({ ...commit, absent: [] }) };
  });
  assert.ok(
    bad.failures.some(({ behaviour }) => behaviour === "isolation::one_of_two_rivals_wins"),
    JSON.stringify(bad.failures),
  );
  await rejects(
    checkStore(() => Promise.reject({ code: "unavailable", message: "no server" })),
    "unavailable",
    /no server/,
  );
  await rejects(
    checkStore(() => ({})),
    "bad-adapter",
    /get/,
  );
});

test("text of a memory service stands in the prompt, inside the budget", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append([user("hello"), { role: "assistant", content: "hi" }, user("what do I like?")]);
  const plain = await keep.thread("main").context({});
  const told = await keep.thread("main").context({ memory: { text: "The user likes pears." } });
  assert.equal(told.messages.filter(({ content }) => content.includes("pears")).length, 1);
  assert.ok(told.tokens > plain.tokens);
  const line = told.ledger.find(({ rule }) => rule === "memory");
  assert.equal(line.action, "injected");
  const tight = await keep.thread("main").context({ memory: { text: "The user likes pears. ".repeat(20) }, budget: { maxTokens: 130 } });
  assert.ok(tight.tokens <= 130 && !tight.overBudget);
  assert.ok(tight.messages.length < told.messages.length);
  await rejects(keep.thread("main").context({ memory: { text: 7 } }), "bad-request", /text/);
  await keep.close();
});
