// The Agents SDK's own runner and scripted model, on sessions of ours: turns with tools, handoffs, guardrails, streams, approvals,
// a process that ends between two turns, and compaction. What the model is sent is what it is sent with the SDK's own session.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Agent, handoff, MemorySession, Runner, RunState, tool } from "@openai/agents-core";
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents-core/testing";
import { OpenAIResponsesCompactionSession } from "@openai/agents";
import { z } from "zod";
import { memory, Threadkeep } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";
import { sharedStore } from "./support/shared-store.mjs";
import { answer, call, result, say, thought } from "./support/agent-items.mjs";

const { CompactingSession, ThreadkeepSession, budgetInput, compactAbove, compactionClient } = await import(
  pathToFileURL(join(installed, "dist/frameworks/openai-agents.js")).href
);

const runner = (model) => new Runner({ model, tracingDisabled: true });
const weather = (options = {}) =>
  tool({ name: "weather", description: "The weather", parameters: z.object({ town: z.string() }), execute: async ({ town }) => `sun in ${town}`, ...options });

/** What the model was sent, call by call. */
const sent = (model) => model.calls.map(({ request }) => JSON.parse(JSON.stringify(request.input)));

/** Runs the same on the SDK's session and on ours: both models must be sent the same, and both histories be the same. */
async function same(play) {
  const keep = await memory();
  const [theirs, ours] = [new MemorySession({ sessionId: "a" }), new ThreadkeepSession(keep, { sessionId: "a" })];
  const heard = [];
  for (const session of [theirs, ours]) heard.push(sent(await play(session)));
  assert.deepEqual(heard[1], heard[0]);
  assert.deepStrictEqual(plain(await ours.getItems()), plain(await theirs.getItems()));
  return { keep, ours, heard: heard[1] };
}

/** Ids that the SDK makes up are other ones in every run. */
function plain(items) {
  return JSON.parse(JSON.stringify(items));
}

test("turns with tools, and a handoff", async () => {
  const { keep, ours, heard } = await same(async (session) => {
    const model = new ScriptedModel([
      [thought("Oslo, then."), functionCall("weather", { town: "Oslo" }, { callId: "c1" }), functionCall("weather", { town: "Rome" }, { callId: "c2" })],
      [assistantMessage("Sun in both.", { id: "m1" })],
      [functionCall("transfer_to_clerk", {}, { callId: "c3" })],
      [assistantMessage("I am the clerk.", { id: "m2" })],
    ]);
    const clerk = new Agent({ name: "clerk", model });
    const agent = new Agent({ name: "guide", model, tools: [weather()], handoffs: [handoff(clerk)] });
    assert.equal((await runner(model).run(agent, "Weather in Oslo and Rome?", { session })).finalOutput, "Sun in both.");
    assert.equal((await runner(model).run(agent, "I want to complain.", { session })).finalOutput, "I am the clerk.");
    model.assertComplete();
    return model;
  });
  assert.equal(heard.length, 4);
  assert.equal(heard[2].length, 8);
  const messages = await keep.thread("a").messages();
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "assistant"],
  );
  assert.deepEqual(
    messages[1].tool_calls.map(({ id }) => id),
    ["c1", "c2"],
  );
  assert.equal(messages[1].reasoning, "Oslo, then.");
  assert.deepEqual(await keep.lint(), []);
  assert.equal((await ours.past()).length, 0);
  await keep.close();
});

test("streams", async () => {
  await same(async (session) => {
    const model = new ScriptedModel([
      [functionCall("weather", { town: "Oslo" }, { callId: "c1" })],
      [assistantMessage("Sun.", { id: "m1" })],
      [assistantMessage("Still.", { id: "m2" })],
    ]);
    const agent = new Agent({ name: "guide", model, tools: [weather()] });
    for (const input of ["Weather?", "And now?"]) {
      const stream = await runner(model).run(agent, input, { session, stream: true });
      for await (const _ of stream);
      await stream.completed;
    }
    return model;
  });
});

test("guardrails that trip: on the input, on the output, and on the output behind a tool", async () => {
  const { ours } = await same(async (session) => {
    const model = new ScriptedModel([
      [assistantMessage("fine", { id: "m1" })],
      [assistantMessage("bad words", { id: "m2" })],
      [functionCall("weather", { town: "Oslo" }, { callId: "c1" })],
      [assistantMessage("bad again", { id: "m3" })],
      [assistantMessage("good", { id: "m4" })],
    ]);
    const outputGuardrails = [{ name: "words", execute: async ({ agentOutput }) => ({ tripwireTriggered: agentOutput.includes("bad"), outputInfo: null }) }];
    const inputGuardrails = [
      {
        name: "no",
        runInParallel: false,
        execute: async ({ input }) => ({ tripwireTriggered: JSON.stringify(input).includes("forbidden"), outputInfo: null }),
      },
    ];
    const agent = new Agent({ name: "guide", model, tools: [weather()], outputGuardrails, inputGuardrails });
    const run = (input) => runner(model).run(agent, input, { session });
    await run("one");
    await assert.rejects(run("forbidden"), /guardrail/i);
    await assert.rejects(run("two"), /guardrail/i);
    await assert.rejects(run("three"), /guardrail/i);
    await run("four");
    model.assertComplete();
    return model;
  });
  assert.ok(!JSON.stringify(await ours.getItems()).includes("bad again"));
});

test("a tool that waits for approval: the state is written down, another process goes on with it", async () => {
  const open = sharedStore();
  const histories = [];
  let kept;
  for (const make of [
    () => (kept ??= new MemorySession({ sessionId: "a" })),
    async () => new ThreadkeepSession(await Threadkeep.open({ storage: open() }), { sessionId: "a" }),
  ]) {
    const steps = [[functionCall("weather", { town: "Oslo" }, { callId: "c1" })], [assistantMessage("Sun.", { id: "m1" })]];
    const build = (model) => new Agent({ name: "guide", model, tools: [weather({ needsApproval: true })] });
    const first = new ScriptedModel(steps.slice(0, 1));
    const waiting = await runner(first).run(build(first), "Weather?", { session: await make() });
    assert.equal(waiting.interruptions.length, 1);
    const written = waiting.state.toString();
    const second = new ScriptedModel(steps.slice(1));
    const agent = build(second);
    const state = await RunState.fromString(agent, written);
    state.approve(state.getInterruptions()[0]);
    const done = await runner(second).run(agent, state, { session: await make() });
    assert.equal(done.finalOutput, "Sun.");
    histories.push(plain(await (await make()).getItems()));
  }
  assert.deepEqual(histories[1], histories[0]);
  assert.deepEqual(
    histories[1].map(({ type, role }) => role ?? type),
    ["user", "function_call", "function_call_result", "assistant"],
  );
});

test("an approval with rejection, and one resumed in a stream", async () => {
  await same(async (session) => {
    const model = new ScriptedModel([[functionCall("weather", { town: "Oslo" }, { callId: "c1" })], [assistantMessage("Then not.", { id: "m1" })]]);
    const agent = new Agent({ name: "guide", model, tools: [weather({ needsApproval: true })] });
    const waiting = await runner(model).run(agent, "Weather?", { session });
    waiting.state.reject(waiting.interruptions[0]);
    const stream = await runner(model).run(agent, waiting.state, { session, stream: true });
    for await (const _ of stream);
    await stream.completed;
    return model;
  });
});

test("a run that breaks off: the next process goes on with what the SDK had stored", async () => {
  const crash = new Error("the process ends here");
  for (const stream of [false, true]) {
    const open = sharedStore();
    const stored = [];
    for (const session of [new MemorySession({ sessionId: "a" }), new ThreadkeepSession(await Threadkeep.open({ storage: open() }), { sessionId: "a" })]) {
      const model = new ScriptedModel([
        [functionCall("weather", { town: "Oslo" }, { callId: "c1" })],
        modelResponder(() => {
          throw crash;
        }),
      ]);
      const broken = async () => {
        const run = await runner(model).run(new Agent({ name: "guide", model, tools: [weather()] }), "Weather?", { session, stream });
        for await (const _ of stream ? run : []);
        await run.completed;
      };
      await assert.rejects(broken, crash);
      stored.push(await session.getItems());
    }
    assert.deepEqual(plain(stored[1]), plain(stored[0]));
    assert.equal(stored[1].length > 0, stream, "the SDK stores a stream's items as they come, a run's at its end");
    const model = new ScriptedModel([[assistantMessage("Hello again.", { id: "m1" })]]);
    const session = new ThreadkeepSession(await Threadkeep.open({ storage: open() }), { sessionId: "a" });
    await runner(model).run(new Agent({ name: "guide", model }), "Are you there?", { session });
    const types = sent(model)[0].map(({ type, role }) => role ?? type);
    assert.equal(types.filter((it) => it === "function_call").length, types.filter((it) => it === "function_call_result").length);
    assert.deepEqual((await session.getItems()).at(-1).content[0].text, "Hello again.");
  }
});

test("the budget holds in a run, and nothing is stored twice", async () => {
  const keep = await memory();
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  for (let turn = 0; turn < 10; turn += 1)
    await session.addItems([
      say(`question ${turn}`),
      thought("so"),
      call(`c${turn}`, "f"),
      result(`c${turn}`, "f", `result ${turn} ${"long ".repeat(20)}`),
      answer(`answer ${turn}`),
    ]);
  const model = new ScriptedModel([[assistantMessage("Yes.", { id: "m1" })]]);
  await runner(model).run(new Agent({ name: "guide", model }), "And?", { session, sessionInputCallback: budgetInput({ budget: { maxTokens: 150 } }) });
  const [input] = sent(model);
  assert.ok(input.length > 3 && input.length < 15, `${input.length}`);
  assert.deepEqual(input.at(-1).content, "And?");
  assert.equal(input.filter(({ type }) => type === "function_call").length, input.filter(({ type }) => type === "function_call_result").length);
  assert.equal((await session.getItems()).length, 52);
  await keep.close();
});

/** A history that is worth a summary. */
const long = (turns) =>
  Array.from({ length: turns }, (_, turn) => [
    say(`Question ${turn}: ${"what of the harbour in Bergen? ".repeat(6)}`),
    thought("hm"),
    call(`c${turn}`, "f"),
    result(`c${turn}`, "f", `${turn} ships`),
    answer(`There are ${turn} ships in the harbour of Bergen.`),
  ]).flat();

test("the SDK's compaction session with our compactor: no OpenAI, instructions and pictures kept, originals reachable", async () => {
  const keep = await memory();
  for (const underlyingSession of [new ThreadkeepSession(keep, { sessionId: "a" }), new MemorySession({ sessionId: "b" })]) {
    const picture = {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "this" },
        { type: "input_image", image: "data:image/png;base64,AAAA" },
      ],
    };
    await underlyingSession.addItems([{ type: "message", role: "system", content: "Be brief." }, ...long(16), picture, answer("A ship.")]);
    const before = await underlyingSession.getItems();
    const asked = [];
    const client = compactionClient({
      session: underlyingSession,
      keepTurns: 2,
      summarize: async ({ messages }) => (asked.push(messages), '{"statements": ["Ships in Bergen were counted."]}'),
    });
    const session = new OpenAIResponsesCompactionSession({ underlyingSession, client, compactionMode: "input", shouldTriggerCompaction: compactAbove(1500) });
    const model = new ScriptedModel([[assistantMessage("Nine.", { id: "m1" })], [assistantMessage("Ten.", { id: "m2" })]]);
    const agent = new Agent({ name: "guide", model });
    const done = await runner(model).run(agent, "How many?", { session });
    assert.equal(asked.length, 1);
    assert.ok(done.state.usage.inputTokens > 0 || done.runContext.usage.inputTokens > 0);
    const items = await session.getItems();
    assert.ok(items.length < before.length);
    assert.equal(items[0].content, "Be brief.");
    assert.match(items[1].content[0].text, /Ships in Bergen were counted/);
    assert.deepEqual(items.at(-1).content[0].text, "Nine.");
    assert.deepEqual(items.find((item) => Array.isArray(item.content) && item.content.length === 2).content, picture.content);
    const orphans = items.filter(({ type }) => type === "function_call").length - items.filter(({ type }) => type === "function_call_result").length;
    assert.equal(orphans, 0);
    await runner(model).run(agent, "And now?", { session });
    assert.equal(sent(model)[1].length, items.length + 1);
    assert.equal(asked.length, 1, "it does not compact again at once");
  }
  const session = new ThreadkeepSession(keep, { sessionId: "a" });
  const [{ leaf }] = await session.past();
  const whole = new ThreadkeepSession(keep, { sessionId: "whole" });
  await whole.moveTo(leaf);
  assert.equal((await whole.getItems()).length, 85);
  assert.equal((await keep.transcripts()).length, 1);
  await keep.close();
});

test("a session that compacts itself, while another process adds to it", async () => {
  const open = sharedStore();
  const keep = await Threadkeep.open({ storage: open() });
  const other = new ThreadkeepSession(await Threadkeep.open({ storage: open() }), { sessionId: "a" });
  let asked = 0;
  const summarize = async () => {
    asked += 1;
    await other.addItems([say("Meanwhile!")]);
    return '{"statements": ["Ships were counted."]}';
  };
  const session = new CompactingSession(keep, { sessionId: "a", above: 300, compact: { keepTurns: 2, summarize } });
  await session.addItems(long(8));
  const model = new ScriptedModel([[assistantMessage("Nine.", { id: "m1" })]]);
  await runner(model).run(new Agent({ name: "guide", model }), "How many?", { session });
  assert.equal(asked, 1);
  const items = await other.getItems();
  assert.match(items[0].content, /Ships were counted/);
  assert.deepEqual(items.slice(-3), [say("How many?"), (await session.getItems()).at(-2), say("Meanwhile!")]);
  assert.equal(items.at(-2).content[0].text, "Nine.");
  const past = await session.past();
  assert.deepEqual(
    past.map(({ reason }) => reason),
    ["compaction"],
  );
  assert.equal((await keep.chain(past[0].leaf)).flatMap(({ messages }) => messages).length, 8 * 4 + 3);
  assert.equal(await session.runCompaction(), null);
  assert.equal((await keep.at(past[0].leaf).checkpoints()).length, 1);
  await keep.close();
});
