// LangGraph's own graphs with a checkpointer on a keep: pausing, going back, forking, ending in the middle and going on.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Annotation, Command, DeltaValue, END, MemorySaver, MessagesAnnotation, START, Send, StateGraph, StateSchema, interrupt } from "@langchain/langgraph";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { counting, steps } from "./langgraph/crash.mjs";
import { mapAdapter } from "./support/adapters.mjs";
import { inChild, installed, load } from "./support/installed.mjs";

const { Threadkeep } = await load();
const { ThreadkeepSaver } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);

const { fileStore } = await import(pathToFileURL(join(installed, "dist/stores/file.js")).href);
const CRASH = fileURLToPath(new URL("./langgraph/crash.mjs", import.meta.url));

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
    .addNode("plan", async ({ messages }) => ({
      messages: [new AIMessage({ id: `plan-${messages.length}`, content: `plan for ${messages.at(-1).content}` })],
      mood: "calm",
    }))
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

/** A graph one of whose lists LangGraph itself stores as what was added, with a snapshot now and then. */
function adding(checkpointer) {
  const list = new DeltaValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (before, batches) => before.concat(...batches), snapshotFrequency: 3 },
  );
  const State = new StateSchema({ list, count: z.number().default(0) });
  return new StateGraph(State)
    .addNode("add", async ({ list }) => ({ list: [`added ${list.length}`] }))
    .addNode("ask", async ({ count }) => {
      const more = count % 3 === 1 ? interrupt("more?") : 1;
      return { count: count + more };
    })
    .addEdge(START, "add")
    .addEdge("add", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

/** Two graphs within a graph, one of which pauses. */
function nested(checkpointer) {
  const State = Annotation.Root({ words: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
  const inner = new StateGraph(State)
    .addNode("one", async () => ({ words: ["inner one"] }))
    .addNode("two", async ({ words }) => ({ words: [`inner ${interrupt({ so: words.length })}`] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", END)
    .compile();
  return new StateGraph(State)
    .addNode("before", async () => ({ words: ["before"] }))
    .addNode("inner", inner)
    .addNode("beside", async () => ({ words: ["beside"] }))
    .addEdge(START, "before")
    .addEdge("before", "inner")
    .addEdge("before", "beside")
    .addEdge("inner", END)
    .compile({ checkpointer });
}

/** The states of a thread, of its graphs within graphs too, without what differs from run to run. */
async function statesOf(graph) {
  const found = [];
  for (const { values, next, metadata, tasks, parentConfig } of await all(graph.getStateHistory(at("t")))) {
    const within = [];
    for (const { name, interrupts, state } of tasks) {
      const inside = state?.configurable === undefined ? [] : await all(graph.getStateHistory(state));
      within.push([name, interrupts.map(({ value }) => value), inside.map((one) => [one.values, one.next, one.metadata.step])]);
    }
    found.push([values, next, metadata.source, metadata.step, parentConfig !== undefined, within]);
  }
  return found;
}

for (const durability of ["sync", "async", "exit"])
  test(`lists that LangGraph stores as what was added, and graphs within graphs, with durability ${durability}`, async () => {
    const keep = await Threadkeep.open({ storage: mapAdapter() });
    const run = async (graph, input) => graph.invoke(input, { ...at("t"), durability });
    const story = async (graph) => {
      for (let round = 0; round < 5; round += 1) {
        await run(graph, { list: [`asked ${round}`] });
        if ((await graph.getState(at("t"))).next.length > 0) await run(graph, new Command({ resume: 2 }));
      }
      await graph.updateState(at("t"), { list: ["by hand"] }, "add");
      await run(graph, null);
      const states = await all(graph.getStateHistory(at("t")));
      await graph.updateState(states[Math.floor(states.length / 2)].config, { list: ["elsewhere"] }, "add");
      await run(graph, { list: ["last"] });
      await graph.invoke({ list: ["from there"] }, { configurable: { ...states.at(-2).config.configurable }, durability });
      return statesOf(graph);
    };
    const lists = await story(adding(new ThreadkeepSaver(keep)));
    assert.ok(lists.length >= 8);
    assert.deepEqual(lists, await story(adding(new MemorySaver())));
    await new ThreadkeepSaver(keep).deleteThread("t");
    const [here, there] = [nested(new ThreadkeepSaver(keep)), nested(new MemorySaver())];
    for (const graph of [here, there]) {
      await run(graph, { words: ["go"] });
      await run(graph, new Command({ resume: "resumed" }));
      await run(graph, { words: ["again"] });
    }
    const mine = await statesOf(here);
    assert.deepEqual(mine, await statesOf(there));
    assert.ok(JSON.stringify(mine).includes("inner resumed"));
    assert.ok(mine[0][5].some(([name, , inside]) => name === "inner" && inside.length > 0));
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
    const child = spawnSync(process.execPath, [CRASH, "run", installed, folder], { encoding: "utf8", timeout: 50_000 });
    assert.equal(child.signal, "SIGKILL", child.stderr);
    const keep = await Threadkeep.open({ storage: fileStore({ folder }) });
    const graph = steps(new ThreadkeepSaver(keep));
    const state = await graph.getState(at("crash"));
    assert.deepEqual([texts(state.values), state.next], [["go", "first"], ["second"]]);
    assert.deepEqual(texts(await graph.invoke(null, at("crash"))), ["go", "first", "second", "third"]);
    await keep.close();
    const again = await Threadkeep.open({ storage: fileStore({ folder }) });
    assert.deepEqual(texts((await steps(new ThreadkeepSaver(again)).getState(at("crash"))).values), ["go", "first", "second", "third"]);
    await again.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("killed anywhere: what was acknowledged is there, every checkpoint is whole, and the thread goes on", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-langgraph-"));
  try {
    let acknowledged = 0;
    for (const lines of [1, 4, 9]) {
      const child = spawn(process.execPath, [CRASH, "talk", installed, folder], { stdio: ["ignore", "pipe", "inherit"] });
      child.stdout.setEncoding("utf8");
      let said = "";
      await new Promise((resolve, reject) => {
        child.once("exit", resolve);
        child.once("error", reject);
        child.stdout.on("data", (text) => {
          said += text;
          // The next turn is under way when this comes.
          if (said.split("\n").length > lines) child.kill("SIGKILL");
        });
      });
      acknowledged = Number(said.trim().split("\n").at(-1));
      assert.ok(acknowledged >= 2 * lines);
      const keep = await Threadkeep.open({ storage: fileStore({ folder }) });
      const saver = new ThreadkeepSaver(keep);
      const tuples = await all(saver.list(at("talk")));
      for (const { checkpoint } of tuples) {
        const { messages = [] } = checkpoint.channel_values;
        for (const [index, { content }] of messages.entries()) assert.match(content, index % 2 === 0 ? /^question / : new RegExp(`^answer ${index}$`));
      }
      const { messages } = tuples[0].checkpoint.channel_values;
      assert.ok(messages.length >= acknowledged, `${messages.length} of ${acknowledged}`);
      // The conversation is at most the last step behind, and the next step brings it up.
      const state = await counting(saver).getState(at("talk"));
      if (state.next.length > 0) await counting(new ThreadkeepSaver(keep, { transcripts: true })).invoke(null, at("talk"));
      await counting(new ThreadkeepSaver(keep, { transcripts: true })).invoke({ messages: [new HumanMessage("question again")] }, at("talk"));
      const { values } = await counting(saver).getState(at("talk"));
      assert.deepEqual(
        (await keep.thread("talk").messages()).map(({ content }) => content),
        texts(values),
      );
      assert.equal(texts(values).at(-2), "question again");
      await keep.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a long thread costs about as much as its messages, not their number squared", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const bytes = async () => (await keep.records("langgraph").scan()).reduce((sum, [key, value]) => sum + (key.includes("messages") ? value.length : 0), 0);
  const saver = new ThreadkeepSaver(keep);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => ({
      messages: [new AIMessage({ id: `a${messages.length}`, content: `answer ${messages.length} ${"word ".repeat(100)}` })],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
  const turns = 100;
  for (let turn = 0; turn < turns; turn += 1)
    await graph.invoke({ messages: [new HumanMessage({ id: `q${turn}`, content: `question ${turn} ${"word ".repeat(100)}` })] }, at("long"));
  const last = await saver.getTuple(at("long"));
  assert.equal(last.checkpoint.channel_values.messages.length, 2 * turns);
  const whole = (await saver.serde.dumpsTyped(last.checkpoint.channel_values.messages))[1].length;
  const stored = await bytes();
  // As whole lists, the versions of the channel would take a hundred times what the last one takes.
  assert.ok(stored < whole * 8, `${stored} bytes for a list of ${whole}`);
  assert.ok(stored > whole);
  // A saver that has not written it reads it, and goes on.
  const other = new ThreadkeepSaver(keep);
  assert.deepEqual((await other.getTuple(at("long"))).checkpoint, last.checkpoint);
  const next = {
    ...last.checkpoint,
    id: uuid6(200),
    channel_values: { ...last.checkpoint.channel_values, messages: [...last.checkpoint.channel_values.messages, new HumanMessage("short")] },
    channel_versions: { ...last.checkpoint.channel_versions, messages: 999 },
  };
  await other.put(last.config, next, { source: "update", step: 0, parents: {} }, { messages: 999 });
  const more = (await bytes()) - stored;
  assert.ok(more > 0 && more < whole / 20, `${more} bytes for one short message`);
  assert.equal((await saver.getTuple(at("long"))).checkpoint.channel_values.messages.length, 2 * turns + 1);
  await keep.close();
});

test("lists that grow, shrink, change and fork at random come back as they were", async () => {
  for (const seed of [1, 2, 3, 4]) {
    let state = seed;
    const next = (n) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    const keep = await Threadkeep.open({ storage: "memory" });
    const savers = [new ThreadkeepSaver(keep), new ThreadkeepSaver(keep)];
    const known = new Map();
    const item = () => (next(4) === 0 ? "x".repeat(next(400)) : { n: next(1000), text: "y".repeat(next(60)) });
    const change = (list) => {
      const kind = next(10);
      if (kind < 5) return [...list, ...Array.from({ length: 1 + next(3) }, item)];
      if (kind < 6) return list.slice(0, next(list.length + 1));
      if (kind < 7) return list.map((one, at) => (at === next(list.length) ? item() : one));
      if (kind < 8) return [item(), ...list];
      if (kind < 9) return list.slice(next(list.length + 1));
      return next(3) === 0 ? "no list" : [...list, ...list].slice(0, 60);
    };
    for (let step = 0; step < 150; step += 1) {
      const ids = [...known.keys()];
      const parent = ids.length === 0 || next(20) === 0 ? undefined : ids[Math.max(0, ids.length - 1 - next(next(2) === 0 ? 1 : 12))];
      const before = known.get(parent) ?? { list: [], other: 0, versions: { list: 0, other: 0 } };
      const versions = { ...before.versions };
      const fresh = {};
      const changed = parent === undefined || next(5) > 0;
      const values = { list: before.list, other: before.other };
      if (changed) values.list = change(Array.isArray(before.list) ? before.list : []);
      if (changed) fresh.list = versions.list += 1;
      if (parent === undefined || next(2) === 0) (values.other = next(10)), (fresh.other = versions.other += 1);
      const id = uuid6(step);
      await savers[next(2)].put(
        at("t", { checkpoint_ns: "", checkpoint_id: parent }),
        { v: 4, id, ts: "", channel_values: values, channel_versions: versions, versions_seen: {} },
        { source: "loop", step, parents: {} },
        fresh,
      );
      known.set(id, { ...values, versions });
      const check = [id, [...known.keys()][next(known.size)]];
      for (const one of check) {
        const { checkpoint } = await savers[next(2)].getTuple(at("t", { checkpoint_ns: "", checkpoint_id: one }));
        assert.deepEqual(checkpoint.channel_values, { list: known.get(one).list, other: known.get(one).other }, `seed ${seed}, step ${step}`);
      }
    }
    for (const [id, { list, other }] of known)
      assert.deepEqual((await new ThreadkeepSaver(keep).getTuple(at("t", { checkpoint_id: id }))).checkpoint.channel_values, { list, other });
    await keep.close();
  }
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
  const config = await saver.put(
    at("t"),
    { v: 4, id: uuid6(1), ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} },
    { source: "loop", step: 0, parents: {} },
    {},
  );
  await saver.putWrites(
    config,
    [
      ["a", 1],
      ["b", 2],
    ],
    "task-2",
    "~2",
  );
  await saver.putWrites(
    config,
    [
      ["a", "no"],
      ["b", "no"],
      ["c", 3],
    ],
    "task-2",
    "~2",
  );
  await saver.putWrites(config, [["__error__", "first"]], "task-3", "~1");
  await saver.putWrites(
    config,
    [
      ["__error__", "second"],
      ["__interrupt__", "why"],
    ],
    "task-3",
    "~1",
  );
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
  assert.deepEqual(
    await list({}),
    down(() => true),
  );
  assert.deepEqual(
    await list(at("thread 1")),
    down((n) => n % 3 === 1),
  );
  assert.deepEqual(
    await list(at("thread 1", { checkpoint_ns: "" })),
    down((n) => n % 6 === 4),
  );
  assert.deepEqual(await list({ configurable: { checkpoint_ns: "sub|graph:1" } }, { limit: 5 }), [59, 57, 55, 53, 51]);
  assert.deepEqual(await list(at("thread 0"), { before: at("x", { checkpoint_id: ids[30] }), limit: 3 }), [27, 24, 21]);
  assert.deepEqual(await list({}, { filter: { source: "input", tag: { who: "ann" } }, limit: 2 }), [56, 52]);
  assert.deepEqual(await list({}, { filter: { tag: { who: "bob" } } }), []);
  assert.deepEqual(await list({}, { limit: 0 }), []);
  assert.deepEqual(await list(at("thread 0", { checkpoint_id: ids[30] })), [30]);

  await saver.copyThread("thread 1", "copy!");
  assert.deepEqual(
    await list(at("copy!")),
    down((n) => n % 3 === 1),
  );
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
  // A thread whose id can name no head is refused before anything of it is stored.
  const long = at("t".repeat(600));
  await assert.rejects(
    new ThreadkeepSaver(keep, { transcripts: true }).put(long, checkpoint("1", {}), meta, {}),
    (error) => error.code === "bad-request" && error.details.argument === "config.configurable.thread_id",
  );
  assert.equal(await saver.getTuple(long), undefined);
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

test("LangGraph's own CommonJS takes the CommonJS of this package", () => {
  const printed = inChild(`
    import { createRequire } from "node:module";
    const require = createRequire(process.cwd() + "/here.js");
    const { Threadkeep } = require("threadkeep");
    const { ThreadkeepSaver, ThreadkeepStore } = require("threadkeep/langgraph");
    const { BaseCheckpointSaver } = require("@langchain/langgraph-checkpoint");
    const { MessagesAnnotation, START, StateGraph } = require("@langchain/langgraph");
    const keep = await Threadkeep.open({ storage: "memory" });
    const checkpointer = new ThreadkeepSaver(keep);
    const graph = new StateGraph(MessagesAnnotation).addNode("a", () => ({ messages: [{ role: "assistant", content: "yes" }] })).addEdge(START, "a").compile({ checkpointer, store: new ThreadkeepStore(keep) });
    await graph.invoke({ messages: [{ role: "user", content: "so?" }] }, { configurable: { thread_id: "1" } });
    console.log(checkpointer instanceof BaseCheckpointSaver, (await graph.getState({ configurable: { thread_id: "1" } })).values.messages.length);
  `);
  assert.equal(printed.trim(), "true 2");
});
