// A graph's messages in budgets and in conversations of the keep.
import { test } from "node:test";
import assert from "node:assert/strict";
import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { END, MemorySaver, MessagesAnnotation, START, Send, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installed, load } from "./support/installed.mjs";

const { Threadkeep, countTokens } = await load();
const { ThreadkeepSaver, contextHook } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);
const { fromLangChain, trimLangChain } = await import(pathToFileURL(join(installed, "dist/frameworks/langchain.js")).href);

const at = (thread_id) => ({ configurable: { thread_id } });
const says = (messages) => messages.map(({ content }) => content);
const weather = tool(async ({ city }) => `${city}: ${"rain ".repeat(30)}`, {
  name: "weather",
  description: "The weather of a city",
  schema: z.object({ city: z.string() }),
});

/** A model that calls the tool twice, then answers; `rounds` times. */
function caller(rounds) {
  let model = fakeModel();
  for (let round = 0; round < rounds; round += 1) {
    model = model.respond(
      new AIMessage({
        content: "",
        tool_calls: ["Oslo", "Bergen"].map((city) => ({ id: `${city}-${round}`, name: "weather", args: { city }, type: "tool_call" })),
      }),
    );
    model = model.respond(new AIMessage(`answer ${round}`));
  }
  return model;
}

/** Whether each call has its result and each result its call. */
function isWhole(messages) {
  const calls = messages.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => id));
  const results = messages.filter((message) => message instanceof ToolMessage).map((message) => message.tool_call_id);
  return JSON.stringify(calls) === JSON.stringify(results);
}

test("createReactAgent with a budget: the model sees what fits, the state keeps all", async () => {
  const llm = caller(6);
  const reports = [];
  const budget = { maxTokens: 400 };
  const agent = createReactAgent({
    llm,
    tools: [weather],
    checkpointer: new MemorySaver(),
    preModelHook: contextHook({ budget, systemPrompt: "Be brief.", onTrim: (report) => reports.push(report) }),
  });
  for (let round = 0; round < 6; round += 1) await agent.invoke({ messages: [new HumanMessage(`question ${round}`)] }, at("t"));
  const { messages } = (await agent.getState(at("t"))).values;
  assert.equal(messages.length, 6 * 5);
  assert.equal(llm.callCount, 12);
  for (const [index, call] of llm.calls.entries()) {
    assert.ok(isWhole(call.messages), `call ${index}`);
    assert.equal(call.messages[0].content, "Be brief.");
    assert.ok((await countTokens(call.messages.map(fromLangChain))) <= 400);
    assert.equal(call.messages.filter((message) => message instanceof HumanMessage).at(-1).content, `question ${Math.floor(index / 2)}`);
    assert.equal(
      reports[index].ledger.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0),
      reports[index].tokens,
    );
  }
  const last = llm.calls.at(-1).messages;
  assert.ok(last.length < messages.length && last.length > 5);
  assert.equal(
    reports.at(-1).ledger.some(({ action }) => action === "dropped"),
    true,
  );
});

test("messages that stay are the caller's own; too small a budget calls no model", async () => {
  const messages = [new SystemMessage("Be brief."), new HumanMessage("old"), new AIMessage({ content: "older", id: "kept" }), new HumanMessage("new")];
  const { messages: kept, tokens, overBudget, ledger } = await trimLangChain(messages, { budget: { maxMessages: 3 } });
  assert.deepEqual([kept.length, overBudget, ledger.length], [3, false, 4]);
  assert.ok(kept.every((message) => messages.includes(message)));
  assert.ok(tokens > 0);
  // A result without its call, and a call without its result, would be refused by a provider.
  const odd = [
    new ToolMessage("orphan", "gone"),
    new HumanMessage("x"),
    new AIMessage({ content: "", tool_calls: [{ id: "a", name: "f", args: {} }] }),
    new HumanMessage("y"),
  ];
  const repaired = (await trimLangChain(odd)).messages;
  assert.ok(isWhole(repaired));
  assert.equal(repaired.find((message) => message instanceof ToolMessage).status, "error");
  const llm = caller(1);
  const agent = createReactAgent({ llm, tools: [weather], preModelHook: contextHook({ budget: { maxTokens: 3 } }) });
  await assert.rejects(agent.invoke({ messages: [new HumanMessage("far too long a question for three tokens")] }), { code: "over-budget" });
  assert.equal(llm.callCount, 0);
  assert.throws(() => contextHook({ budjet: {} }), { code: "bad-request" });
  assert.throws(() => contextHook({ memory: { facts: 3 } }), { code: "bad-request" });
  await assert.rejects(trimLangChain("x"), { code: "bad-request" });
});

test("with a keep: the conversation is there to show, search and compact, and the model sees the summary", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const llm = caller(6);
  const agent = createReactAgent({
    llm,
    tools: [weather],
    checkpointer: new ThreadkeepSaver(keep),
    preModelHook: contextHook({ keep, budget: { maxTokens: 4000 }, toolPreview: { over: 100, keep: 20 }, systemPrompt: "Be brief." }),
  });
  for (let round = 0; round < 5; round += 1) await agent.invoke({ messages: [new HumanMessage(`question ${round} about umbrellas`)] }, at("t"));
  // The last answer comes after the hook; the next turn brings it.
  assert.equal(await keep.thread("t").count(), 5 * 5 - 1);
  assert.ok((await keep.search("umbrellas")).length > 0);
  const shown = llm.calls.at(-1).messages;
  assert.equal(shown[0].content, "Be brief.");
  assert.ok(isWhole(shown));
  assert.ok(shown.filter((message) => message instanceof ToolMessage).some(({ content }) => content.length < 140));
  assert.deepEqual(await keep.lint(), []);
  await keep.thread("t").compact({ keepRecent: 5 });
  await agent.invoke({ messages: [new HumanMessage("question 5")] }, at("t"));
  const after = llm.calls.at(-1).messages;
  assert.match(JSON.stringify(after.map(({ content }) => content)), /Previous conversation summary/);
  assert.ok(after.length < shown.length);
  assert.ok(isWhole(after));
  assert.equal((await agent.getState(at("t"))).values.messages.length, 30);
  await assert.rejects(createReactAgent({ llm, tools: [weather], preModelHook: contextHook({ keep }) }).invoke({ messages: [new HumanMessage("x")] }), {
    code: "bad-request",
  });
  await keep.close();
});

test("with a keep that compacts: the model's prompts stay small, the originals stay, and nothing is asked for twice", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const asked = [];
  let answers = 0;
  const respond = async (messages) => {
    const input_tokens = await countTokens(messages.map(fromLangChain));
    answers += 1;
    return new AIMessage({
      content: `answer ${answers} ${"and so on ".repeat(30)}`,
      usage_metadata: { input_tokens, output_tokens: 60, total_tokens: input_tokens + 60 },
    });
  };
  const shown = [];
  const hook = contextHook({
    keep,
    budget: { maxTokens: 4000 },
    compact: {
      keepTurns: 2,
      summarize: (request) => (asked.push(request), JSON.stringify({ summary: [{ text: "They talked.", sources: [1] }], episodes: [], facts: [] })),
    },
    compactWhen: { maxContextTokens: 1000, maxOutputTokens: 0, safetyMargin: 0, compactionRatio: 0.6 },
  });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async (state, config) => {
      const { llmInputMessages } = await hook(state, config);
      shown.push(llmInputMessages);
      return { messages: [await respond(llmInputMessages)] };
    })
    .addEdge(START, "model")
    .addEdge("model", END)
    .compile({ checkpointer: new ThreadkeepSaver(keep, { transcripts: true }) });
  for (let round = 0; round < 30; round += 1) await graph.invoke({ messages: [new HumanMessage(`question ${round}`)] }, at("t"));
  const sizes = await Promise.all(shown.map((messages) => countTokens(messages.map(fromLangChain))));
  assert.ok(Math.max(...sizes) < 1000, String(sizes));
  assert.ok(sizes.at(-1) > 100);
  assert.equal(await keep.thread("t").count(), 60);
  const checkpoints = await keep.thread("t").checkpoints();
  assert.ok(checkpoints.length >= 2 && checkpoints.length <= 15, String(checkpoints.length));
  assert.ok(asked.length >= checkpoints.length);
  assert.match(JSON.stringify(shown.at(-1).map(({ content }) => content)), /Previous conversation summary/);
  assert.equal((await graph.getState(at("t"))).values.messages.length, 60);
  assert.deepEqual(await keep.lint(), []);
  assert.throws(() => contextHook({ keep, compactWhen: {} }), { code: "bad-request" });
  assert.throws(() => contextHook({ compact: {} }), { code: "bad-request" });
  await keep.close();
});

test("with a keep that compacts, and no mark of its own: what no longer fits the budget is summarised, not left out", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const reports = [];
  const hook = contextHook({ keep, budget: { maxTokens: 1000 }, compact: { keepTurns: 2 }, onTrim: (report) => reports.push(report) });
  const messages = [];
  for (let round = 0; round < 30; round += 1) {
    messages.push(new HumanMessage(`question ${round}`));
    const { llmInputMessages } = await hook({ messages }, at("t"));
    // The answers say nothing of what they cost.
    messages.push(new AIMessage(`answer ${round} ${"and so on ".repeat(30)}`));
    if (round > 20) assert.match(llmInputMessages[0].content, /^Previous conversation summary[^]*question 0\n/);
  }
  for (const { ledger, tokens } of reports) {
    assert.ok(tokens <= 1000);
    assert.deepEqual(
      ledger.filter(({ action }) => action === "dropped"),
      [],
    );
  }
  const { length } = await keep.thread("t").checkpoints();
  assert.ok(length >= 2 && length <= 10, String(length));
  assert.equal(await keep.thread("t").count(), 59);
  await keep.close();
});

/** A graph that answers each question. */
function echo(checkpointer) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => ({
      messages: [new AIMessage({ id: `a-${messages.at(-1).id}`, content: `answer to ${messages.at(-1).content}` })],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

test("with a keep: workers side by side in one thread each see their own messages", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const seen = [];
  const hook = contextHook({ keep, budget: { maxTokens: 1000 }, compact: {}, onTrim: () => {} });
  const work = async (state, config) => {
    const { llmInputMessages } = await hook(state, config);
    seen.push([says(state.messages), says(llmInputMessages)]);
    return {};
  };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("work", work)
    .addConditionalEdges(
      START,
      () =>
        [1, 2, 3, 4].map(
          (task) => new Send("work", { messages: [new HumanMessage(`task ${task}`), new AIMessage("I see."), new HumanMessage(`more of ${task}`)] }),
        ),
      ["work"],
    )
    .addEdge("work", END)
    .compile();
  await graph.invoke({ messages: [new HumanMessage("plan")] }, at("t"));
  assert.equal(seen.length, 4);
  for (const [own, shown] of seen) assert.deepEqual(shown, own);
  assert.equal((await keep.transcripts())[0].branches, 4);
  await keep.close();
});

test("transcripts: what a thread says is a conversation, and a fork from an older checkpoint is a branch", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const graph = echo(new ThreadkeepSaver(keep, { transcripts: true }));
  const ask = (content, config = at("t")) => graph.invoke({ messages: [new HumanMessage({ id: content, content })] }, config);
  await ask("one");
  const early = (await graph.getState(at("t"))).config;
  await ask("two");
  await ask("three");
  const here = async () => says(await keep.thread("t").messages());
  const one = ["one", "answer to one"];
  assert.deepEqual(await here(), [...one, "two", "answer to two", "three", "answer to three"]);
  assert.deepEqual(says((await graph.getState(at("t"))).values.messages), await here());
  const full = (await keep.thread("t").head()).id;
  // Back to an older checkpoint, and another way.
  await ask("other", early);
  assert.deepEqual(await here(), [...one, "other", "answer to other"]);
  assert.deepEqual(
    (await keep.chain(full)).flatMap((node) => says(node.messages)),
    [...one, "two", "answer to two", "three", "answer to three"],
  );
  assert.equal((await keep.transcripts()).length, 1);
  assert.equal((await keep.transcripts())[0].branches, 2);
  // The first way again, and on: no third branch.
  await ask("two", early);
  assert.deepEqual(await here(), [...one, "two", "answer to two"]);
  assert.equal((await keep.transcripts())[0].branches, 2);
  // A message taken back: the head goes back; the old one stays.
  await graph.updateState(at("t"), { messages: [new RemoveMessage({ id: "a-two" })] }, "answer");
  assert.deepEqual(await here(), [...one, "two"]);
  // One edited, and the first one edited: branches.
  await graph.updateState(at("t"), { messages: [new HumanMessage({ id: "two", content: "2" })] }, "answer");
  assert.deepEqual(await here(), [...one, "2"]);
  await graph.updateState(at("t"), { messages: [new HumanMessage({ id: "one", content: "1" })] }, "answer");
  assert.deepEqual(await here(), ["1", "answer to one", "2"]);
  assert.equal((await keep.transcripts()).length, 1);
  assert.equal((await keep.transcripts())[0].branches, 4);
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["t"],
  );
  // Another thread, and deletion.
  await ask("elsewhere", at("u"));
  assert.equal((await keep.transcripts()).length, 2);
  await new ThreadkeepSaver(keep, { transcripts: true }).deleteThread("u");
  assert.equal((await keep.transcripts()).length, 1);
  assert.equal(await keep.thread("u").head(), null);
  // A head that was somebody else's conversation begins one of its own, and the other stays.
  const foreign = await keep.receive({ content: "not the graph's", systemPrompt: "Be brief." });
  await keep.thread("v").moveTo(foreign.id);
  await ask("mine", at("v"));
  assert.deepEqual(says(await keep.thread("v").messages()), ["mine", "answer to mine"]);
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["t", "v"],
  );
  assert.deepEqual((await keep.node(foreign.id)).id, foreign.id);
  assert.deepEqual(await keep.lint(), []);
  await keep.close();
});

test("transcripts: a thread that is deleted leaves what was forked from its conversation", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const saver = new ThreadkeepSaver(keep, { transcripts: true });
  const ask = (content) => echo(saver).invoke({ messages: [new HumanMessage({ id: content, content })] }, at("t"));
  await ask("one");
  await keep.thread("t").fork("mine");
  await ask("two");
  await saver.deleteThread("t");
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["mine"],
  );
  assert.deepEqual(says(await keep.thread("mine").messages()), ["one", "answer to one"]);
  assert.equal((await keep.stats()).messages, 2);
  assert.equal((await echo(saver).getState(at("t"))).values.messages, undefined);
  await keep.close();
});

test("transcripts: after reopening, nothing is said twice; savers without the option write none", async () => {
  const { mapAdapter } = await import("./support/adapters.mjs");
  const adapter = mapAdapter();
  for (let round = 0; round < 3; round += 1) {
    const keep = await Threadkeep.open({ storage: mapAdapter({ records: adapter.records }) });
    await echo(new ThreadkeepSaver(keep, { transcripts: "messages" })).invoke(
      { messages: [new HumanMessage({ id: `q${round}`, content: `q${round}` })] },
      at("t"),
    );
    await echo(new ThreadkeepSaver(keep)).invoke({ messages: [new HumanMessage("silent")] }, at("silent"));
    assert.equal(await keep.thread("t").count(), 2 * (round + 1));
    assert.equal((await keep.transcripts()).length, 1);
    await keep.close();
  }
});
