// A memory folder: a kernel on JSON Lines files that other programs read and append to.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { assistant, rejects, texts, user } from "./support/expect.mjs";
import { exampleOf } from "./support/stores.mjs";
import { inChild } from "./support/installed.mjs";
import { memoryFolder } from "./support/tools.mjs";

const folder = mkdtempSync(join(tmpdir(), "threadkeep-memory-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const file = (agent, name) => join(folder, "agents", agent, `${name}.jsonl`);
const lines = (agent, name) =>
  readFileSync(file(agent, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const trace = (id, trace_type, content, more = {}) => ({
  id,
  ts: 1_738_100_000.12,
  turn_id: "turn_0001",
  seq: 1,
  trace_type,
  content,
  source_event: "Other",
  ...more,
});
const append = (agent, name, ...records) => appendFileSync(file(agent, name), records.map((record) => `${JSON.stringify(record)}\n`).join(""));

test("each record of a kernel is one line of a file when it resolves, and lines of others are seen", async () => {
  const memory = await open("mate");
  const { kernel } = memory;
  await kernel.ingestUserMessage(user("What does the log say?"));
  await kernel.ingestToolIntent([{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":"log"}' } }]);
  assert.deepEqual(
    lines("mate", "raw_traces").map(({ trace_type, turn_id }) => [trace_type, turn_id]),
    [
      ["user", "turn_0001"],
      ["tool_call", "turn_0001"],
    ],
  );
  // Another program answers the call, and its user asks more. Its last line is not whole yet.
  append(
    "mate",
    "raw_traces",
    trace("rt_1", "tool_result", "", { tool_name: "look", tool_result: ["all", "well"] }),
    trace("rt_2", "assistant", "All is well."),
  );
  const torn = JSON.stringify(trace("rt_3", "user", "And the sails?"));
  appendFileSync(file("mate", "raw_traces"), torn.slice(0, 20));
  assert.deepEqual(texts((await kernel.getWorkingContextMessages()).slice(2)), ['["all","well"]', "All is well."]);
  const [call] = await kernel.getToolInteractions();
  assert.deepEqual([call.toolCallId, call.status], ["c1", "SUCCESS"]);
  appendFileSync(file("mate", "raw_traces"), `${torn.slice(20)}\n`);
  const { messages, turnId } = await kernel.prepareRequest(user("And the anchor?"));
  assert.deepEqual([texts(messages).slice(-2), turnId], [["And the sails?", "And the anchor?"], "turn_0003"]);
  // Nothing is written twice.
  assert.deepEqual(
    lines("mate", "raw_traces").map(({ content, trace_type }) => content || trace_type),
    ["What does the log say?", "tool_call", "tool_result", "All is well.", "And the sails?", "And the anchor?"],
  );
  assert.deepEqual(await memory.sync(), { read: 3, skipped: [] });
  await memory.close();
});

test("a folder that is opened again goes on, and two programs see each other's lines", async () => {
  const one = await open("pair");
  await one.kernel.ingestUserMessage(user("one"));
  const two = await open("pair");
  await two.kernel.ingestAssistantResponse(assistant("two"));
  await one.kernel.ingestUserMessage(user("three"));
  for (const { kernel } of [one, two]) assert.deepEqual(texts(await kernel.getWorkingContextMessages()), ["one", "two", "three"]);
  assert.equal(lines("pair", "raw_traces").length, 3);
  await Promise.all([one.close(), two.close()]);
  const again = await open("pair");
  assert.deepEqual(texts(await again.kernel.getWorkingContextMessages()), ["one", "two", "three"]);
  assert.equal(await again.kernel.ingestUserMessage(user("four")), "turn_0003");
  assert.equal(lines("pair", "raw_traces").length, 4);
  await again.close();
});

test("a compaction appends its episode and facts, facts of others come in, and nonsense is reported", async () => {
  const memory = await open("sage", { compact: { keepTurns: 1 } });
  const { kernel, keep } = memory;
  const filler = "which is told at some length, so that a summary of it takes less room than all of it does";
  for (let at = 0; at < 8; at += 1) {
    await kernel.ingestUserMessage(user(`We decided to use port ${at}, ${filler}.`));
    await kernel.ingestAssistantResponse(assistant(`Port ${at} it is, ${filler}.`));
  }
  const { checkpoint } = await kernel.compact();
  assert.notEqual(checkpoint, null);
  assert.ok(lines("sage", "episodic").length > 0);
  const known = lines("sage", "semantic").length;
  append("sage", "semantic", { id: "sem_9", ts: 1, fact: "Tea is at four.", tags: ["habit"], confidence: 0.8, salience: 0.9 });
  appendFileSync(file("sage", "semantic"), "nonsense\n");
  append("sage", "raw_traces", trace("rt_9", "dream", "of islands"));
  const { read, skipped } = await memory.sync();
  assert.equal(read, 1);
  assert.deepEqual(
    skipped.map((one) => one.file),
    ["raw_traces.jsonl", "semantic.jsonl"],
  );
  assert.match(skipped[0].reason, /trace_type must be user, assistant, tool_call or tool_result/);
  assert.ok((await keep.memory.facts()).some(({ fact, salience }) => fact === "Tea is at four." && salience === 0.9));
  await memory.sync();
  assert.equal(readFileSync(file("sage", "semantic"), "utf8").trim().split("\n").length, known + 2, "nothing was written twice");
  await memory.close();
  // Opened again, the compaction holds.
  const again = await open("sage");
  assert.equal((await again.keep.thread("sage").checkpoints()).length, 1);
  await again.close();
});

test("wrong options of a memory folder are refused", async () => {
  await rejects(memoryFolder({ folder }), "bad-request", /options.agent/);
  for (const agent of ["..", "a/b", ""]) await rejects(memoryFolder({ folder, agent }), "bad-request", /agent/);
  await rejects(memoryFolder({ folder: "/dev/null", agent: "a" }), "unavailable", /\/dev\/null/);
});

test("the example of the documentation runs", async () => {
  const code = exampleOf("memory-folder").replace('folder: "memory"', `folder: ${JSON.stringify(join(folder, "example"))}`);
  assert.match(inChild(code), /1 user/);
});

/** Opens an agent's folder. */
function open(agent, options = {}) {
  return memoryFolder({ folder, agent, ...options });
}
