// LangChain's `createAgent` with the middleware: budgets that hold instructions and tools, conversations, compaction.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installed, load } from "./support/installed.mjs";

const { Threadkeep, countTokens } = await load();
const { contextMiddleware, fromLangChain } = await import(pathToFileURL(join(installed, "dist/frameworks/langchain.js")).href);
const { ThreadkeepSaver } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);

const thread = { configurable: { thread_id: "t" } };
const weather = tool(async ({ city }) => `${city}: ${"rain ".repeat(30)}`, {
  name: "weather",
  description: "The weather of a city",
  schema: z.object({ city: z.string() }),
});

/** A model that calls the tool twice, then answers; `rounds` times. */
function caller(rounds) {
  let model = fakeModel();
  for (let round = 0; round < rounds; round += 1) {
    model = model.respond((messages) => {
      const calls = ["Oslo", "Bergen"].map((city) => ({ id: `${city}-${round}`, name: "weather", args: { city }, type: "tool_call" }));
      return new AIMessage({ content: "", tool_calls: calls, usage_metadata: { input_tokens: messages.length * 60, output_tokens: 1, total_tokens: 1 } });
    });
    model = model.respond(new AIMessage(`answer ${round}`));
  }
  return model;
}

function isWhole(messages) {
  const calls = messages.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => id));
  const results = messages.filter((message) => message instanceof ToolMessage).map((message) => message.tool_call_id);
  return JSON.stringify(calls) === JSON.stringify(results);
}

test("the model sees what fits beside instructions and tools; the state keeps all", async () => {
  const model = caller(6);
  const reports = [];
  const middleware = [contextMiddleware({ budget: { maxTokens: 450 }, onTrim: (report) => reports.push(report) })];
  const agent = createAgent({ model, tools: [weather], systemPrompt: "Be brief.", checkpointer: new MemorySaver(), middleware });
  for (let round = 0; round < 6; round += 1) await agent.invoke({ messages: [new HumanMessage(`question ${round}`)] }, thread);
  assert.equal(model.callCount, 12);
  for (const [index, call] of model.calls.entries()) {
    assert.ok(isWhole(call.messages), `call ${index}`);
    assert.equal(call.messages.filter((message) => message.getType() === "system").length, 1);
    assert.equal(call.messages[0].text, "Be brief.");
    assert.ok((await countTokens(call.messages.map(fromLangChain))) <= reports[index].budget.tokens);
    // The tool's schema takes its part of the budget.
    assert.ok(reports[index].budget.tokens < 430 && reports[index].budget.tokens > 300);
    assert.equal(call.messages.filter((message) => message instanceof HumanMessage).at(-1).content, `question ${Math.floor(index / 2)}`);
  }
  assert.equal((await agent.graph.getState(thread)).values.messages.length, 30);
  assert.ok(model.calls.at(-1).messages.length < 20);
});

test("with a keep: a conversation that is compacted on the way", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const model = caller(8);
  const middleware = [
    contextMiddleware({
      keep,
      budget: { maxTokens: 4000 },
      compact: { keepTurns: 2 },
      compactWhen: { maxContextTokens: 1000, maxOutputTokens: 0, safetyMargin: 0 },
      toolPreview: { over: 100, keep: 20 },
      memory: { episodes: 2 },
    }),
  ];
  const agent = createAgent({ model, tools: [weather], systemPrompt: "Be brief.", checkpointer: new ThreadkeepSaver(keep, { transcripts: true }), middleware });
  for (let round = 0; round < 8; round += 1) await agent.invoke({ messages: [new HumanMessage(`question ${round} about umbrellas`)] }, thread);
  assert.equal(await keep.thread("t").count(), 40);
  assert.ok((await keep.thread("t").checkpoints()).length >= 1);
  assert.ok((await keep.search("umbrellas")).length > 0);
  const last = model.calls.at(-1).messages;
  assert.ok(isWhole(last));
  assert.match(JSON.stringify(last.map(({ content }) => content)), /Previous conversation summary/);
  assert.match(JSON.stringify(last.map(({ content }) => content)), /TOOL_RESULT_PREVIEW/);
  for (const { messages } of model.calls) {
    assert.equal(messages.filter((message) => message.getType() === "system").length, 1);
    assert.ok(messages[0].text.startsWith("Be brief."));
  }
  assert.equal((await agent.graph.getState(thread)).values.messages.length, 40);
  assert.deepEqual(await keep.lint(), []);
  await keep.close();
});

test("too small a budget calls no model; without instructions there are none", async () => {
  const model = caller(1);
  const agent = (options) => createAgent({ model, tools: [weather], middleware: [contextMiddleware(options)] });
  const over = await agent({ budget: { maxTokens: 10 } })
    .invoke({ messages: [new HumanMessage("far too long a question for the few tokens that the tool leaves")] })
    .then(
      () => undefined,
      (error) => error,
    );
  assert.equal((over.cause ?? over).code, "over-budget");
  assert.equal(model.callCount, 0);
  await agent().invoke({ messages: [new HumanMessage("and now?")] });
  assert.deepEqual(
    model.calls[0].messages.map((message) => message.getType()),
    ["human"],
  );
  assert.throws(() => contextMiddleware({ memory: {} }), { code: "bad-request" });
  assert.throws(() => contextMiddleware({ systemPrompt: "x" }), { code: "bad-request" });
});
