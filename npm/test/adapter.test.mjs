// Stores of one's own: whole keeps over a Map and over a log file, two instances over one store, stores that misbehave.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { logAdapter, mapAdapter, plainAdapter } from "./support/adapters.mjs";
import { Threadkeep, assistant, many, memory, rejects, texts, user } from "./support/expect.mjs";

/** The same story on any store; what it leaves is exported. */
async function story(keep) {
  await keep.thread("main").append([{ role: "system", content: "s" }, ...many(150)]);
  await keep.thread("main").fork("side", { atIndex: 10 });
  await keep.thread("side").append([user("elsewhere")]);
  const question = await keep.receive({ messageId: "q", content: "why?", systemPrompt: "brief" });
  await keep.extend(question.id, [assistant("because")]);
  await keep.at("q").alias("sent");
  await keep.receive({ messageId: "r", replyTo: "sent", content: "really?" });
  return {
    main: await keep.thread("main").messages(),
    side: await keep.thread("side").messages(),
    chain: texts((await keep.chain("r")).flatMap((node) => node.messages)),
    lint: (await keep.lint()).length,
  };
}

test("a Map keeps everything, and a second instance finds it", async () => {
  const adapter = mapAdapter();
  const keep = await Threadkeep.open({ storage: adapter });
  assert.equal(keep.storage, "adapter");
  assert.equal(keep.beginning, "created");
  const told = await story(keep);
  const inMemory = await memory();
  assert.deepEqual(told, await story(inMemory));
  const exported = await keep.export().text();
  await keep.close();
  assert.equal(adapter.closed, 1);
  const again = await Threadkeep.open({ storage: adapter });
  assert.equal(await again.export().text(), exported);
  assert.deepEqual(await again.thread("main").messages(), told.main);
  assert.equal((await again.node("sent")).id, "q");
  await again.close();
});

test("what an adapter answers at once is not waited for", async () => {
  const inside = plainAdapter();
  const filled = await Threadkeep.open({ storage: inside });
  await filled.thread("main").append(many(3));
  await filled.close();
  const calls = [];
  const noted = (method) => (asked) => {
    queueMicrotask(() => calls.push("turn"));
    calls.push(method);
    return inside[method](asked);
  };
  const keep = await Threadkeep.open({ storage: { get: noted("get"), scan: noted("scan"), commit: (commit) => inside.commit(commit), close: () => {} } });
  calls.length = 0;
  assert.equal(await keep.thread("main").count(), 3);
  assert.deepEqual(calls.slice(0, calls.indexOf("turn")), ["get", "get", "scan"]);
  await keep.close();
});

test("a log file keeps everything over a restart, even with its last line cut off", async () => {
  const folder = await mkdtemp(join(tmpdir(), "threadkeep-"));
  const path = join(folder, "keep.log");
  try {
    let keep = await Threadkeep.open({ storage: await logAdapter(path) });
    const told = await story(keep);
    const exported = await keep.export().text();
    await keep.close();
    keep = await Threadkeep.open({ storage: await logAdapter(path) });
    assert.equal(await keep.export().text(), exported);
    await keep.thread("main").append([user("after the restart")]);
    await keep.close();
    const log = await readFile(path);
    await writeFile(path, log.subarray(0, log.length - 20));
    keep = await Threadkeep.open({ storage: await logAdapter(path) });
    assert.deepEqual(await keep.thread("main").messages(), told.main);
    await keep.thread("main").append([user("again")]);
    assert.equal(await keep.thread("main").count(), told.main.length + 1);
    await keep.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("two instances over one store append at once and lose nothing", async () => {
  let turn = 0;
  const pause = () => new Promise((resolve) => (turn++ % 3 === 0 ? setImmediate(resolve) : resolve()));
  const adapter = mapAdapter({ pause });
  const [a, b] = await Promise.all([1, 2].map(() => Threadkeep.open({ storage: adapter })));
  await a.thread("main").append([user("start")]);
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => [a.thread("main").append([user(`a${index}`)]), b.thread("main").append([user(`b${index}`)])]).flat(),
  );
  const all = texts(await a.thread("main").messages());
  assert.deepEqual(texts(await b.thread("main").messages()), all);
  assert.equal(all.length, 101);
  for (const who of ["a", "b"])
    assert.deepEqual(
      all.filter((text) => text.startsWith(who)),
      Array.from({ length: 50 }, (_, i) => `${who}${i}`),
    );
  const nodes = await a.chain((await a.thread("main").head()).id);
  assert.equal(new Set(nodes.map((node) => node.seq)).size, nodes.length);
  assert.equal(nodes.flatMap((node) => node.messages).length, 101);
  await Promise.all([a.close(), b.close()]);
});

test("a store that fails is heard, with its words, and nothing is half done", async () => {
  const adapter = mapAdapter();
  const commit = adapter.commit;
  const keep = await Threadkeep.open({ storage: adapter });
  await keep.thread("main").append([user("one")]);
  const size = adapter.records.size;
  for (const [thrown, code, words] of [
    [new Error("disk on fire"), "storage", /disk on fire/],
    [{ code: "quota", message: "full" }, "quota", /full/],
    [{ code: "transient", message: "later" }, "transient", /later/],
    ["just words", "storage", /just words/],
    [undefined, "storage", /./],
  ]) {
    adapter.commit = () => Promise.reject(thrown);
    const broken = await Threadkeep.open({ storage: { ...adapter } });
    await rejects(broken.thread("main").append([user("lost")]), code, words);
  }
  adapter.commit = commit;
  assert.equal(adapter.records.size, size);
  assert.deepEqual(texts(await keep.thread("main").messages()), ["one"]);
  await keep.thread("main").append([user("two")]);
  assert.deepEqual(texts(await keep.thread("main").messages()), ["one", "two"]);
  await keep.close();
});

test("a store that breaks its contract is told so", async () => {
  const good = mapAdapter();
  for (const [name, broken] of [
    ["get", { ...good, get: async () => "text" }],
    ["scan", { ...good, scan: async () => ({}) }],
    ["scan", { ...good, scan: async ({ end }) => [[end, new Uint8Array()]] }],
    ["scan", { ...good, scan: async ({ start }) => [[start, [1, 2, 3]]] }],
    ["commit", { ...good, commit: () => Promise.reject({ code: "conflict" }) }],
  ]) {
    const keep = await Threadkeep.open({ storage: broken });
    const work = name === "scan" ? keep.transcripts() : keep.thread("main").append([user("a")]);
    await rejects(work, "bad-adapter", new RegExp(name));
  }
});

test("stored bytes that are damaged are an error that names the record", async () => {
  const adapter = mapAdapter();
  let keep = await Threadkeep.open({ storage: adapter });
  await keep.thread("main").append(many(3));
  await keep.close();
  for (const key of adapter.records.keys()) {
    const damaged = mapAdapter({ records: new Map(adapter.records).set(key, new Uint8Array([0xff, 0, 0x7b])) });
    keep = await Threadkeep.open({ storage: damaged });
    const outcome = await keep
      .thread("main")
      .messages()
      .then(
        (messages) => messages.length,
        (error) => error.code,
      );
    // Either the record is not needed for this, or the damage is said; never other messages.
    assert.ok([3, "corrupt", "damaged"].includes(outcome), `${key}: ${outcome}`);
  }
});
