// The memory kernel: an agent's operations under the names of such systems, over a keep. The rules themselves are tested in
// the engine; here is that they come through.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Threadkeep, memory, rejects, user } from "./support/expect.mjs";
import { mapAdapter } from "./support/adapters.mjs";
import { load } from "./support/installed.mjs";

const { INGEST_ORDER, Kernel } = await load();
const ESTIMATE = { encoding: "estimate" };
const call = (id) => ({ id, type: "function", function: { name: "list_directory", arguments: '{"path":"src"}' } });

function kernel(keep, more = {}) {
  const policy = { maxContextTokens: 1000, maxOutputTokens: 100, safetyMargin: 100, compactionRatio: 0.8 };
  return new Kernel(keep, "agent", { context: ESTIMATE, policy, compact: ESTIMATE, ...more });
}

async function talk(kernel, from, to) {
  for (let turn = from; turn < to; turn += 1) {
    await kernel.ingestUserMessage(
      user(
        `Question ${turn}: we decided to deploy service number ${turn} on port ${8000 + turn}. The tests must pass before that. ` +
          `Please check the file src/part_${turn}.rs and tell me what you think of its structure and its names.`,
      ),
    );
    const content = `I looked at src/part_${turn}.rs; it is well structured. Service ${turn} can be deployed.`;
    await kernel.ingestAssistantResponse({ role: "assistant", content });
  }
}

test("what is ingested is stored, by turns, and a late tool result keeps the turn of its call", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  assert.deepEqual(await agent.getWorkingContextMessages(), []);
  assert.equal(await agent.currentTurn(), null);
  assert.equal(await agent.startTurn(), "turn_0001");
  assert.equal(await agent.ingestUserMessage(user("List src.")), "turn_0001");
  assert.equal(await agent.ingestToolIntent([call("c1"), call("c2")]), "turn_0001");
  assert.equal(await agent.ingestToolIntent([call("c1")]), "turn_0001");
  assert.equal(await agent.ingestToolResult("c1", "list_directory", { result: ["app.ts"] }), "turn_0001");
  assert.equal(await agent.ingestUserMessage(user("And this?")), "turn_0002");
  assert.equal(await agent.ingestToolResult("c2", "list_directory", { error: "no such folder" }), "turn_0001");
  const calls = await agent.getToolInteractions("turn_0001");
  assert.deepEqual(
    calls.map(({ status, result, error }) => [status, result, error]),
    [
      ["SUCCESS", '["app.ts"]', null],
      ["ERROR", null, "no such folder"],
    ],
  );
  assert.deepEqual(await agent.getToolInteractions(), calls);
  assert.deepEqual(await agent.getToolInteractions("turn_0002"), []);
  for (const wrong of ["1", "turn_1", "turn_00001", ""]) await rejects(agent.getToolInteractions(wrong), "bad-request", /turn/);
  const traces = await agent.getTracesForTurns(["turn_0001"]);
  assert.deepEqual(
    traces.map(({ trace_type }) => trace_type),
    ["user", "tool_call", "tool_call", "tool_result", "tool_result"],
  );
  assert.deepEqual(new Set((await agent.getRawTail(1, "turn_0002")).map(({ turn_id }) => turn_id)), new Set(["turn_0001"]));
  assert.deepEqual(
    (await agent.getRawTail(1)).map(({ content }) => content),
    ["And this?"],
  );
  await rejects(agent.ingestUserMessage({ role: "assistant", content: "x" }), "bad-request");
  await rejects(agent.ingestAssistantResponse(user("x")), "bad-request");
  await rejects(agent.getTracesForTurns(["1"]), "bad-request");
  await keep.close();
});

test("a continuation is stored once all tools have finished, if the kernel has one", async () => {
  const keep = await memory();
  const agent = kernel(keep, { continuation: "All tools finished. Continue." });
  // A turn that was given up: its call is never answered.
  await agent.ingestUserMessage(user("List all."));
  await agent.ingestToolIntent([call("lost")]);
  await agent.ingestUserMessage(user("List src."));
  await agent.ingestToolIntent([call("a"), call("b")]);
  assert.equal(await agent.ingestToolResult("a", "list_directory", { result: "x" }), "turn_0002");
  assert.equal(await agent.currentTurn(), "turn_0002", "b is pending");
  assert.equal(await agent.ingestToolResult("b", "list_directory", { error: "no such folder" }), "turn_0002");
  assert.equal(await agent.currentTurn(), "turn_0003");
  assert.equal((await keep.thread("agent").messages()).at(-1).content, "All tools finished. Continue.");
  await agent.ingestToolResult("b", "list_directory", { result: "y" });
  assert.equal(await agent.currentTurn(), "turn_0003", "a result that is told of again ends nothing");
});

test("what is no message, no list of calls, no outcome is refused by name, and nothing is stored", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  for (const [argument, call] of [
    ["input", () => agent.prepareRequest("Hello")],
    ["input", () => agent.prepareRequest(null)],
    ["calls", () => agent.ingestToolIntent()],
    ["calls", () => agent.ingestToolIntent({ id: "c" })],
    ["calls", () => agent.ingestToolIntent([null])],
    ["outcome", () => agent.ingestToolResult("c", "f", "the result itself")],
    ["outcome", () => agent.ingestToolResult("c", "f")],
    ["outcome", () => agent.ingestToolResult("c", "f", { output: 1 })],
  ])
    assert.equal((await rejects(call(), "bad-request")).details.argument, argument);
  assert.deepEqual(await agent.getWorkingContextMessages(), []);
  await keep.close();
});

test("usage requests a compaction, the next request runs it, and the extensions hear of both calls", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  const heard = [];
  agent.addExtension({
    beforeInvoke: (messages, payload) => heard.push(["before", messages.length, payload.messages.length]),
    afterInvoke: (messages, response, usage) => heard.push(["after", messages.length, response.content, usage]),
  });
  await talk(agent, 1, 9);
  assert.deepEqual(await agent.selectCompactionWindow(), ["turn_0001", "turn_0002", "turn_0003", "turn_0004"]);

  const first = await agent.prepareRequest(user("What is next?"), "Be brief.");
  assert.deepEqual([first.didCompact, first.overBudget, first.turnId], [false, false, "turn_0009"]);
  assert.equal(first.messages[0].content, "Be brief.");
  assert.deepEqual(await agent.renderPayload(first.messages), { messages: first.payload.messages });
  agent.beforeInvoke(first);
  const answer = { role: "assistant", content: "Deploy service 9." };
  assert.equal(await agent.afterInvoke(first, answer, { promptTokens: 790 }), "early-ratio");
  assert.equal(await agent.compactionRequired(), "early-ratio");
  assert.deepEqual(heard, [
    ["before", first.messages.length, first.payload.messages.length],
    ["after", first.messages.length, "Deploy service 9.", { promptTokens: 790 }],
  ]);

  const second = await agent.prepareRequest(user("On which port is service 2?"));
  assert.equal(second.didCompact, true);
  assert.equal(await agent.compactionRequired(), null);
  assert.ok(second.messages.length < first.messages.length);
  const said = JSON.stringify(second.messages);
  assert.ok(said.includes("8002"), "what is remembered comes along");
  assert.equal((await agent.getTracesForTurns(["turn_0001"])).length, 2, "the originals stay");
  assert.ok((await agent.retrieve(3, 20, "port of service 2")).episodes.length > 0);

  await agent.requestCompaction();
  assert.equal(await agent.compactionRequired(), "manual");
  await agent.clearCompactionRequest();
  assert.equal(await agent.compactionRequired(), null);
  await keep.close();
});

test("a reset goes on from other messages, and the history stays", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  await talk(agent, 1, 3);
  const before = await keep.thread("agent").head();
  await agent.resetWorkingContextSnapshot([user("From here.")]);
  assert.deepEqual(
    (await agent.getWorkingContextMessages()).map(({ content }) => content),
    ["From here."],
  );
  assert.equal((await keep.chain(before.id)).flatMap(({ messages }) => messages).length, 4);
  await keep.close();
});

test("every operation of the memory kernel is there under its name", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  const names = `startTurn ingestUserMessage ingestToolIntent ingestToolResult ingestAssistantResponse requestCompaction
    clearCompactionRequest getRawTail getWorkingContextMessages resetWorkingContextSnapshot getToolInteractions prepareRequest
    renderPayload compact selectCompactionWindow getTracesForTurns retrieve buildSnapshot`;
  for (const name of names.split(/\s+/)) assert.equal(typeof agent[name], "function", name);
  await keep.close();
});

test("compact takes the turns that it covers by name", async () => {
  const keep = await memory();
  const agent = kernel(keep);
  await talk(agent, 1, 8);
  await agent.ingestUserMessage(user("Live?"));
  for (const wrong of [["turn_0002"], ["turn_0001", "turn_0003"], [], "turn_0001"]) await rejects(agent.compact(wrong), "bad-request", /turnIds/);
  const first = await agent.compact(["turn_0001", "turn_0002"]);
  assert.deepEqual([first.checkpoint.covers.firstTurn, first.checkpoint.covers.lastTurn], [1, 2]);
  await agent.ingestAssistantResponse({ role: "assistant", content: "No more." });
  const second = await agent.compact(["turn_0003", "turn_0004", "turn_0005"]);
  assert.deepEqual([second.checkpoint.covers.firstTurn, second.checkpoint.covers.lastTurn], [1, 5]);
  await keep.close();
});

test("buildSnapshot gives the system prompt, what is remembered and the raw tail, for a reset", async () => {
  const keep = await memory({ encoding: "estimate" });
  const agent = kernel(keep);
  await talk(agent, 1, 8);
  await agent.compact(["turn_0001", "turn_0002"]);
  const bundle = await agent.retrieve(3, 20);
  const built = await agent.buildSnapshot("Be brief.", bundle, 2, "turn_0007");
  assert.deepEqual(
    built.map(({ role }) => role),
    ["system", "user"],
  );
  const places = ["> [MEMORY:EPISODIC]\n> 1) ", "> [MEMORY:SEMANTIC]\n> - ", "> [RECENT TURNS]\n> Turn 5:\n>   User: ", "Turn 6:"].map((part) =>
    built[1].content.indexOf(part),
  );
  assert.ok(
    places.every((place, at) => place >= 0 && (at === 0 || place > places[at - 1])),
    built[1].content,
  );
  assert.doesNotMatch(built[1].content, /Turn [47]:/);
  // Four turns where nothing is said.
  assert.equal((await agent.buildSnapshot(undefined, bundle))[0].content.match(/^> Turn \d+:$/gm).length, 4);
  assert.deepEqual(await agent.buildSnapshot(undefined, { episodes: [], facts: [] }, 0), []);
  const [small] = await agent.buildSnapshot(undefined, bundle, undefined, undefined, { maxTokens: 150 });
  assert.ok(small.content.length <= 600 && small.content.includes("Turn 7:"));
  await rejects(agent.buildSnapshot(undefined, bundle, 4, "7"), "bad-request", /exclude/);
  await rejects(agent.buildSnapshot(undefined, { episodes: [{ id: 1 }] }), "bad-request", /episodes/);
  await rejects(agent.buildSnapshot(undefined, bundle, undefined, undefined, { tail: 4 }), "bad-request", /options\.tail/);
  await agent.resetWorkingContextSnapshot(built);
  assert.deepEqual(await agent.getWorkingContextMessages(), built);
  await keep.close();
});

test("memory ingests at order 900 what all processors have left", async () => {
  assert.equal(INGEST_ORDER, 900);
  const keep = await memory();
  const agent = kernel(keep);
  const stamp = (order, name) => ({
    order,
    input: (message) => ({ ...message, content: `${message.content} ${name}` }),
    toolResult: async (message) => ({ ...message, content: `${message.content} <${name}>` }),
  });
  for (const [order, name] of [
    [899, "last"],
    [-1, "first"],
    [500, "middle"],
    [500, "and-after"],
  ])
    agent.addProcessor(stamp(order, name));
  for (const order of [900, 901, Infinity, NaN, undefined, "1"]) assert.throws(() => agent.addProcessor(stamp(order, "lost")), { code: "bad-request" });
  agent.addProcessor({ order: 1 });
  await agent.ingestUserMessage(user("One"));
  await agent.ingestToolIntent([call("c1")]);
  await agent.ingestToolResult("c1", "list_directory", { result: "app.ts" });
  await agent.prepareRequest(user("Two"));
  assert.deepEqual(
    (await keep.thread("agent").messages()).map(({ content }) => content),
    ["One first middle and-after last", null, "app.ts <first> <middle> <and-after> <last>", "Two first middle and-after last"],
  );
  // One that fails, or makes another message of it, keeps it from being stored.
  agent.addProcessor({
    order: 2,
    input: () => {
      throw new Error("no filter");
    },
    toolResult: (message) => ({ ...message, role: "user" }),
  });
  const error = await rejects(agent.ingestUserMessage(user("Three")), "bad-request", /no filter/);
  assert.equal(error.cause.message, "no filter");
  await rejects(agent.ingestToolResult("c1", "list_directory", { result: "x" }), "bad-request", /role/);
  assert.equal(await keep.thread("agent").count(), 4);
  await keep.close();
});

test("a memory is stored in the keep's storage, no environment variable moves it, and memory/ is the base of its files", async () => {
  process.env.AUTOBYTEUS_MEMORY_DIR = "/elsewhere";
  try {
    const [one, two] = [mapAdapter(), mapAdapter()];
    for (const storage of [one, two]) {
      const keep = await Threadkeep.open({ storage, encoding: "estimate" });
      const agent = kernel(keep);
      await agent.ingestUserMessage(user(storage === one ? "Where?" : "There."));
      await keep.close();
    }
    const keep = await Threadkeep.open({ storage: one });
    assert.deepEqual(await keep.thread("agent").messages(), [user("Where?")]);
    const paths = Object.keys(await keep.export({ format: "memory" }).files());
    assert.ok(paths.length > 0 && paths.every((path) => path.startsWith("memory/agents/")), `${paths}`);
    await keep.close();
  } finally {
    delete process.env.AUTOBYTEUS_MEMORY_DIR;
  }
});
