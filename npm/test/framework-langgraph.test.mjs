// LangGraph's own graphs with a checkpointer on a keep: pausing, going back, forking, ending in the middle and going on.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Annotation, Command, END, MemorySaver, MessagesAnnotation, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { steps } from "./langgraph/crash.mjs";
import { logAdapter, mapAdapter } from "./support/adapters.mjs";
import { installed, load } from "./support/installed.mjs";

const { Threadkeep } = await load();
const { ThreadkeepSaver } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);

const at = (thread_id, more = {}) => ({ configurable: { thread_id, ...more } });
const texts = (values) => values.messages.map(({ content }) => content);
const all = async (list) => {
  const found = [];
  for await (const one of list) found.push(one);
  return found;
};

/** A conversation that asks before it answers, and hands work to several tasks at once. */
function asking(checkpointer) {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    work: Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] }),
    mood: Annotation(),
  });
  return new StateGraph(State)
    .addNode("plan", async ({ messages }) => ({ messages: [new AIMessage({ id: `plan-${messages.length}`, content: `plan for ${messages.at(-1).content}` })], mood: "calm" }))
    .addNode("task", async ({ part }) => ({ work: [`did ${part}`] }))
    .addNode("ask", async ({ messages }) => {
      const answer = interrupt({ question: "shall I?" });
      return { messages: [new AIMessage({ id: `ask-${messages.length}`, content: `told: ${answer}` })] };
    })
    .addEdge(START, "plan")
    .addConditionalEdges("plan", () => ["b", "a"].map((part) => new Send("task", { part })), ["task"])
    .addEdge("task", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

/** What a thread's history says, without what differs from run to run. */
async function historyOf(graph, thread) {
  const states = await all(graph.getStateHistory(at(thread)));
  const order = new Map(states.map(({ config }, index) => [config.configurable.checkpoint_id, index]));
  return states.map(({ values, next, metadata, parentConfig, tasks }) => ({
    messages: texts(values),
    work: values.work,
    mood: values.mood,
    next,
    source: metadata.source,
    step: metadata.step,
    parent: order.get(parentConfig?.configurable.checkpoint_id),
    tasks: tasks.map(({ name, interrupts, error }) => [name, interrupts.map(({ value }) => value), error]),
  }));
}

/** Pauses, resumes, goes back, forks, copies and edits. */
async function story(graph) {
  const question = (content) => ({ messages: [new HumanMessage({ id: content, content })] });
  await graph.invoke(question("one"), at("t"));
  const paused = await graph.getState(at("t"));
  await graph.invoke(new Command({ resume: "yes" }), at("t"));
  await graph.invoke(question("two"), at("t"));
  await graph.invoke(new Command({ resume: "no" }), at("t"));
  // Back to where it asked the first time, and another answer.
  await graph.invoke(new Command({ resume: "perhaps" }), paused.config);
  await graph.invoke(question("three"), at("t"));
  // An older state, edited: a fork.
  const older = (await all(graph.getStateHistory(at("t")))).find(({ metadata, next }) => metadata.step === 1 && next.includes("task"));
  const forked = await graph.updateState(older.config, { messages: [new HumanMessage({ id: "edit", content: "edited" })], mood: "wild" }, "plan");
  await graph.invoke(null, forked);
  // Copies: of the newest checkpoint, and of the first, which has no parent.
  const states = await all(graph.getStateHistory(at("t")));
  await graph.updateState(states[0].config, null, "__copy__");
  await graph.updateState(states.at(-1).config, null, "__copy__");
  // A message is removed and another replaced.
  await graph.updateState(at("t"), { messages: [new HumanMessage({ id: "late", content: "late" })] }, "ask");
  await graph.updateState(at("t"), { messages: [new RemoveMessage({ id: "late" }), new HumanMessage({ id: "other", content: "other" })] }, "ask");
  // Another thread knows nothing of it.
  await graph.invoke(question("elsewhere"), at("u"));
}

test("a graph's story, its pauses, forks and copies, is the same as with LangGraph's own saver", async () => {
  const keep = await Threadkeep.open({ storage: mapAdapter() });
  const [here, there] = [asking(new ThreadkeepSaver(keep)), asking(new MemorySaver())];
  await story(here);
  await story(there);
  const mine = await historyOf(here, "t");
  assert.ok(mine.length > 15);
  assert.deepEqual(mine, await historyOf(there, "t"));
  assert.deepEqual(await historyOf(here, "u"), await historyOf(there, "u"));
  assert.equal((await here.getState(at("u"))).tasks[0].interrupts[0].value.question, "shall I?");
  await keep.close();
});

test("branches of one thread do not see each other's values, though their versions are the same", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const saver = new ThreadkeepSaver(keep);
  const State = Annotation.Root({ list: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }), word: Annotation() });
  const graph = new StateGraph(State)
    .addNode("node", async ({ word }) => ({ list: [`ran with ${word}`] }))
    .addEdge(START, "node")
    .addEdge("node", END)
    .compile({ checkpointer: saver });
  await graph.invoke({ word: "start", list: ["x"] }, at("t"));
  const base = (await graph.getState(at("t"))).config;
  const leaves = [];
  for (const word of ["a", "b", "c"]) {
    await graph.invoke({ word, list: [word] }, { configurable: { ...base.configurable } });
    leaves.push((await graph.getState(at("t"))).config);
  }
  for (const [index, word] of ["a", "b", "c"].entries())
    assert.deepEqual((await graph.getState(leaves[index])).values, { word, list: ["x", "ran with start", word, `ran with ${word}`] });
  assert.deepEqual((await graph.getState(base)).values.list, ["x", "ran with start"]);
  await keep.close();
});

test("killed in the middle of a run: what was done stays, and the run goes on", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-langgraph-"));
  try {
    const path = join(folder, "log");
    const script = fileURLToPath(new URL("./langgraph/crash.mjs", import.meta.url));
    const child = spawnSync(process.execPath, [script, "run", installed, path], { encoding: "utf8", timeout: 50_000 });
    assert.equal(child.signal, "SIGKILL", child.stderr);
    const keep = await Threadkeep.open({ storage: await logAdapter(path) });
    const graph = steps(new ThreadkeepSaver(keep));
    const state = await graph.getState(at("crash"));
    assert.deepEqual([texts(state.values), state.next], [["go", "first"], ["second"]]);
    assert.deepEqual(texts(await graph.invoke(null, at("crash"))), ["go", "first", "second", "third"]);
    await keep.close();
    const again = await Threadkeep.open({ storage: await logAdapter(path) });
    assert.deepEqual(texts((await steps(new ThreadkeepSaver(again)).getState(at("crash"))).values), ["go", "first", "second", "third"]);
    await again.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a long thread costs about as much as its messages, not their number squared", async () => {
  const adapter = mapAdapter();
  const keep = await Threadkeep.open({ storage: adapter });
  const saver = new ThreadkeepSaver(keep);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => ({ messages: [new AIMessage({ id: `a${messages.length}`, content: `answer ${messages.length} ${"word ".repeat(100)}` })] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
  const turns = 100;
  for (let turn = 0; turn < turns; turn += 1) await graph.invoke({ messages: [new HumanMessage({ id: `q${turn}`, content: `question ${turn} ${"word ".repeat(100)}` })] }, at("long"));
  const last = await saver.getTuple(at("long"));
  assert.equal(last.checkpoint.channel_values.messages.length, 2 * turns);
  const whole = (await saver.serde.dumpsTyped(last.checkpoint.channel_values.messages))[1].length;
  let stored = 0;
  for (const [key, value] of adapter.records) if (key.includes("messages")) stored += value.length;
  // As whole lists, the versions of the channel would take a hundred times what the last one takes.
  assert.ok(stored < whole * 12, `${stored} bytes for a list of ${whole}`);
  assert.ok(stored > whole);
  // A saver that has not written it reads it, and goes on.
  const other = new ThreadkeepSaver(keep);
  assert.deepEqual((await other.getTuple(at("long"))).checkpoint, last.checkpoint);
  const before = stored;
  stored = 0;
  const next = { ...last.checkpoint, id: uuid6(200), channel_values: { ...last.checkpoint.channel_values, messages: [...last.checkpoint.channel_values.messages, new HumanMessage("short")] }, channel_versions: { ...last.checkpoint.channel_versions, messages: 999 } };
  await other.put(last.config, next, { source: "update", step: 0, parents: {} }, { messages: 999 });
  for (const [key, value] of adapter.records) if (key.includes("messages")) stored += value.length;
  assert.ok(stored - before < whole / 20, `${stored - before} bytes for one short message`);
  assert.equal((await saver.getTuple(at("long"))).checkpoint.channel_values.messages.length, 2 * turns + 1);
  await keep.close();
});

test("values that are no plain lists, and lists of anything, come back as they were", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const saver = new ThreadkeepSaver(keep);
  const holed = [1, 2];
  holed.length = 4;
  const values = {
    empty: [],
    mixed: [1, "two", null, undefined, [3, [4]], { five: new Set([5]) }, new Map([["six", 6]]), new Uint8Array([7]), new HumanMessage("eight"), true],
    bytes: new Uint8Array([0, 255]),
    text: "t",
    nothing: null,
    undefined,
    object: { deep: [{ a: /x/g }] },
    ["__proto__"]: undefined,
    "odd name!/\u{1f600}": [1],
  };
  Object.defineProperty(values, "__proto__", { value: ["own"], enumerable: true });
  const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  Object.defineProperty(versions, "__proto__", { value: 1, enumerable: true });
  const checkpoint = { v: 4, id: uuid6(1), ts: "now", channel_values: values, channel_versions: versions, versions_seen: {} };
  const reference = new MemorySaver();
  for (const one of [saver, reference]) await one.put(at("t", { checkpoint_ns: "" }), checkpoint, { source: "input", step: -1, parents: {} }, versions);
  const back = (await saver.getTuple(at("t"))).checkpoint.channel_values;
  const expected = (await reference.getTuple(at("t"))).checkpoint.channel_values;
  for (const name of Object.keys(values)) if (name !== "__proto__") assert.deepEqual(back[name], expected[name], name);
  assert.deepEqual(Object.getOwnPropertyDescriptor(back, "__proto__")?.value, ["own"]);
  await keep.close();
});

test("writes: the first stays, errors and interrupts are replaced, the order is the run's", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const saver = new ThreadkeepSaver(keep);
  const config = await saver.put(at("t"), { v: 4, id: uuid6(1), ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} }, { source: "loop", step: 0, parents: {} }, {});
  await saver.putWrites(config, [["a", 1], ["b", 2]], "task-2", "~2");
  await saver.putWrites(config, [["a", "no"], ["b", "no"], ["c", 3]], "task-2", "~2");
  await saver.putWrites(config, [["__error__", "first"]], "task-3", "~1");
  await saver.putWrites(config, [["__error__", "second"], ["__interrupt__", "why"]], "task-3", "~1");
  await saver.putWrites(config, [["a", "input"]], "task-9");
  assert.deepEqual((await saver.getTuple(at("t"))).pendingWrites, [
    ["task-9", "a", "input"],
    ["task-3", "__interrupt__", "why"],
    ["task-3", "__error__", "second"],
    ["task-2", "a", 1],
    ["task-2", "b", 2],
    ["task-2", "c", 3],
  ]);
  await Promise.all(Array.from({ length: 8 }, (_, index) => saver.putWrites(config, [["race", index]], "racer")));
  assert.equal((await saver.getTuple(at("t"))).pendingWrites.filter(([task]) => task === "racer").length, 1);
  await keep.close();
});

test("threads: listed newest first across namespaces, copied, deleted, and apart", async () => {
  const keep = await Threadkeep.open({ storage: mapAdapter() });
  const saver = new ThreadkeepSaver(keep);
  const ids = [];
  for (let index = 0; index < 60; index += 1) {
    const id = uuid6(index);
    ids.push(id);
    const config = at(`thread ${index % 3}`, { checkpoint_ns: index % 2 === 0 ? "" : "sub|graph:1", checkpoint_id: ids[index - 6] });
    const checkpoint = { v: 4, id, ts: "", channel_values: { n: index }, channel_versions: { n: index + 1 }, versions_seen: {} };
    await saver.put(config, checkpoint, { source: index % 4 === 0 ? "input" : "loop", step: index, parents: {}, tag: { who: "ann" } }, { n: index + 1 });
  }
  const list = async (config, options) => (await all(saver.list(config, options))).map(({ checkpoint }) => checkpoint.channel_values.n);
  const down = (keepIt) => Array.from({ length: 60 }, (_, index) => 59 - index).filter(keepIt);
  assert.deepEqual(await list({}), down(() => true));
  assert.deepEqual(await list(at("thread 1")), down((n) => n % 3 === 1));
  assert.deepEqual(await list(at("thread 1", { checkpoint_ns: "" })), down((n) => n % 6 === 4));
  assert.deepEqual(await list({ configurable: { checkpoint_ns: "sub|graph:1" } }, { limit: 5 }), [59, 57, 55, 53, 51]);
  assert.deepEqual(await list(at("thread 0"), { before: at("x", { checkpoint_id: ids[30] }), limit: 3 }), [27, 24, 21]);
  assert.deepEqual(await list({}, { filter: { source: "input", tag: { who: "ann" } }, limit: 2 }), [56, 52]);
  assert.deepEqual(await list({}, { filter: { tag: { who: "bob" } } }), []);
  assert.deepEqual(await list({}, { limit: 0 }), []);
  assert.deepEqual(await list(at("thread 0", { checkpoint_id: ids[30] })), [30]);

  await saver.copyThread("thread 1", "copy!");
  assert.deepEqual(await list(at("copy!")), down((n) => n % 3 === 1));
  await assert.rejects(saver.copyThread("thread 0", "copy!"), { code: "conflict" });
  await saver.deleteThread("thread 1");
  assert.deepEqual(await list(at("thread 1")), []);
  assert.ok((await list(at("copy!"))).length > 0);
  await saver.deleteThread("thread 0");
  await saver.deleteThread("thread 2");
  await saver.deleteThread("copy!");
  assert.deepEqual(await keep.records("langgraph").scan(), []);
  // A keep's conversations are elsewhere.
  assert.deepEqual(await keep.transcripts(), []);
  await keep.close();
});

test("wrong arguments and damaged records are said", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  assert.throws(() => new ThreadkeepSaver(keep, { serializer: {} }), { code: "bad-request" });
  const saver = new ThreadkeepSaver(keep);
  const checkpoint = (id, values) => ({ v: 4, id, ts: "", channel_values: values, channel_versions: { a: 1 }, versions_seen: {} });
  const meta = { source: "loop", step: 0, parents: {} };
  await assert.rejects(saver.put({ configurable: {} }, checkpoint("1", {}), meta, {}), { code: "bad-request" });
  await assert.rejects(saver.getTuple(at(7)), { code: "bad-request" });
  await assert.rejects(saver.putWrites(at("t"), [["a", 1]], "task"), { code: "bad-request" });
  await saver.put(at("t"), checkpoint("1", { a: ["x"] }), meta, { a: 1 });
  const records = keep.records("langgraph");
  const [[key, bytes]] = (await records.scan()).filter(([name]) => name.startsWith("b"));
  await records.commit({ puts: [[key, bytes.slice(0, -1)]] });
  await assert.rejects(saver.getTuple(at("t")), { code: "corrupt" });
  await records.commit({ deletes: [key] });
  await assert.rejects(saver.getTuple(at("t")), { code: "corrupt" });
  await assert.rejects(all(saver.list(at("t"))), { code: "corrupt" });
  await keep.close();
});
