// The memory kernel: an agent's operations under the names of such systems, over a keep. The rules themselves are tested in
// the engine; here is that they come through.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memory, rejects, user } from "./support/expect.mjs";
import { load } from "./support/installed.mjs";

const { Kernel } = await load();
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
  assert.deepEqual(calls.map(({ status, result, error }) => [status, result, error]), [
    ["SUCCESS", '["app.ts"]', null],
    ["ERROR", null, "no such folder"],
  ]);
  const traces = await agent.getTracesForTurns(["turn_0001"]);
  assert.deepEqual(traces.map(({ trace_type }) => trace_type), ["user", "tool_call", "tool_call", "tool_result", "tool_result"]);
  assert.deepEqual(new Set((await agent.getRawTail(1, "turn_0002")).map(({ turn_id }) => turn_id)), new Set(["turn_0001"]));
  assert.deepEqual((await agent.getRawTail(1)).map(({ content }) => content), ["And this?"]);
  await rejects(agent.ingestUserMessage({ role: "assistant", content: "x" }), "bad-request");
  await rejects(agent.ingestAssistantResponse(user("x")), "bad-request");
  await rejects(agent.getTracesForTurns(["1"]), "bad-request");
  await keep.close();
});

test("usage asks for a compaction, the next request carries it out, and the extensions hear of both calls", async () => {
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
  const before = await keep.head("agent");
  await agent.resetWorkingContextSnapshot([user("From here.")]);
  assert.deepEqual((await agent.getWorkingContextMessages()).map(({ content }) => content), ["From here."]);
  assert.equal((await keep.chain(before.id)).flatMap(({ messages }) => messages).length, 4);
  await keep.close();
});
