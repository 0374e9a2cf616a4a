// Steps of the AI SDK inside a budget: `generateText`, `streamText` and `ToolLoopAgent` with `prepareStep`, and what
// `pruneMessages` does to the same messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolLoopAgent, convertToModelMessages, generateText, isLoopFinished, modelMessageSchema, pruneMessages, stepCountIs, streamText, tool } from "ai";
import * as six from "ai-6";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { fromModelMessages, plain, scripted, toModelMessages, trimSteps } from "./support/ai-sdk.mjs";
import { memory, rejects } from "./support/expect.mjs";

const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 5, text: 5, reasoning: 0 } };

/** A model that calls tools so many steps, two at once in every third, and then answers. */
function busy(steps, Model = MockLanguageModelV4) {
  let step = 0;
  const model = new Model({
    doGenerate: async () => {
      step += 1;
      const calls = step > steps ? [] : step % 3 === 0 ? [`${step}a`, `${step}b`] : [`${step}`];
      return {
        content: [
          ...(step > steps ? [] : [{ type: "reasoning", text: `Step ${step}.` }]),
          { type: "text", text: step > steps ? "All read." : `Reading part ${step}.` },
          ...calls.map((id) => ({ type: "tool-call", toolCallId: `k${id}`, toolName: "read", input: JSON.stringify({ part: id }) })),
        ],
        finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: "x" },
        usage,
        warnings: [],
      };
    },
  });
  return model;
}

const read = tool({
  inputSchema: z.object({ part: z.string() }),
  execute: async ({ part }) => ({ part, text: `The text of part ${part}. ${"word ".repeat(60)}` }),
});

/** That a prompt that a provider gets has a result for each call, directly behind it, and no other. */
function whole(prompt) {
  prompt.forEach((message, at) => {
    if (message.role === "tool") assert.equal(prompt[at - 1]?.role, "assistant", "a result has its call before it");
    if (message.role !== "assistant") return;
    const calls = message.content.filter(({ type }) => type === "tool-call").map(({ toolCallId }) => toolCallId);
    const results = prompt[at + 1]?.role === "tool" ? prompt[at + 1].content.map(({ toolCallId }) => toolCallId) : [];
    assert.deepEqual(results, calls, `message ${at}`);
  });
}

const budget = { maxTokens: 900 };

test("fifty steps of tools stay inside a small budget, with calls and results together", async () => {
  for (const policy of ["newest", "stable"]) {
    const model = busy(50);
    const trims = [];
    const { text, steps } = await generateText({
      model,
      tools: { read },
      instructions: "Read all parts.",
      prompt: "What is in the book?",
      stopWhen: isLoopFinished(),
      prepareStep: trimSteps({ budget, policy, encoding: "estimate", onTrim: (step) => trims.push(step) }),
    });
    assert.equal(text, "All read.");
    assert.equal(steps.length, 51);
    assert.equal(trims.length, 51);
    assert.ok(
      trims.every(({ tokens, overBudget }) => tokens <= 900 && !overBudget),
      policy,
    );
    assert.ok(trims.at(-1).after < 12, `${trims.at(-1).after} are left`);
    for (const { prompt } of model.doGenerateCalls) {
      whole(prompt);
      assert.deepEqual(
        prompt.slice(0, 2).map(({ role, content }) => [role, content[0].text ?? content]),
        [
          ["system", "Read all parts."],
          ["user", "What is in the book?"],
        ],
      );
    }
  }
});

test("streamText and agents take it, too, and version 6", async () => {
  const calling = (id) => ({ text: "So.", calls: [{ id, name: "read", input: { part: id } }] });
  const streaming = scripted(calling("k1"), calling("k2"), calling("k3"), calling("k4"), { text: "Done." });
  const result = streamText({
    model: streaming,
    tools: { read },
    prompt: "Go",
    stopWhen: isLoopFinished(),
    prepareStep: trimSteps({ budget: { maxTokens: 250 }, encoding: "estimate" }),
  });
  assert.equal(await result.text, "Done.");
  assert.ok(streaming.doStreamCalls.at(-1).prompt.length < 9);
  streaming.doStreamCalls.forEach(({ prompt }) => whole(prompt));

  const model = busy(20);
  const agent = new ToolLoopAgent({
    model,
    tools: { read },
    instructions: "Read.",
    stopWhen: isLoopFinished(),
    prepareStep: trimSteps({ budget, encoding: "estimate" }),
  });
  assert.equal((await agent.generate({ prompt: "Go" })).text, "All read.");
  model.doGenerateCalls.forEach(({ prompt }) => whole(prompt));

  const old = busy(20, MockLanguageModelV3);
  const sixth = await six.generateText({
    model: old,
    tools: { read: six.tool({ inputSchema: z.object({ part: z.string() }), execute: read.execute }) },
    prompt: "Go",
    stopWhen: six.stepCountIs(30),
    prepareStep: trimSteps({ budget, encoding: "estimate" }),
  });
  assert.equal(sixth.text, "All read.");
  old.doGenerateCalls.forEach(({ prompt }) => whole(prompt));
  assert.ok(old.doGenerateCalls.at(-1).prompt.length < 16);
});

test("pruneMessages goes by position: it keeps what is too long, and takes results where there is room", async () => {
  const model = busy(12);
  const { responseMessages } = await generateText({ model, tools: { read }, prompt: "Go", stopWhen: stepCountIs(30) });
  const messages = [{ role: "user", content: "Go" }, ...responseMessages];
  const pruned = pruneMessages({ messages, reasoning: "before-last-message", toolCalls: "before-last-4-messages" });
  // All that was said stays, however long; the results go although the budget has room for more of them.
  const long = [...messages.slice(0, -1), { role: "assistant", content: [{ type: "text", text: "long ".repeat(5000) }] }, { role: "user", content: "And?" }];
  const text = (list) => JSON.stringify(list).length;
  assert.ok(text(pruneMessages({ messages: long, toolCalls: "all", reasoning: "all" })) > 25_000);
  const trim = trimSteps({ budget: { maxTokens: 1000 }, encoding: "estimate" });
  const results = (list) => list.filter(({ role }) => role === "tool").length;
  const { messages: kept } = await trim({ messages, stepNumber: 0 });
  assert.ok(results(kept) > results(pruned), `${results(kept)} and ${results(pruned)}`);
  whole(kept);
  const { messages: short } = await trim({ messages: long, stepNumber: 0 });
  assert.ok(text(short) < 8000 && short.at(-1).content === "And?");
});

test("what fits is not touched; what must stay and does not fit is said", async () => {
  const messages = [{ role: "user", content: "Hi" }];
  assert.deepEqual(await trimSteps({ budget: { maxTokens: 1000 }, encoding: "estimate" })({ messages, stepNumber: 0 }), {});
  const big = [{ role: "user", content: "much ".repeat(1000) }];
  const error = await rejects(trimSteps({ budget: { maxTokens: 100 }, encoding: "estimate" })({ messages: big, stepNumber: 3 }), "over-budget");
  assert.equal(error.details.stepNumber, 3);
  const told = [];
  assert.deepEqual(
    await trimSteps({ budget: { maxTokens: 100 }, encoding: "estimate", overBudget: "send", onTrim: (step) => told.push(step) })({
      messages: big,
      stepNumber: 0,
    }),
    {},
  );
  assert.equal(told[0].overBudget, true);
  for (const wrong of [{ budgets: 1 }, { overBudget: "shrug" }, { pins: [1] }]) assert.throws(() => trimSteps(wrong), { code: "bad-request" });
});

test("a call without a result gets one that says so, a result without a call goes", async () => {
  const call = (id) => ({ role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: {} }] });
  const result = (id) => ({ role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: "x" } }] });
  const messages = [{ role: "user", content: "a" }, result("k0"), call("k1"), { role: "user", content: "b" }, call("k2"), result("k2")];
  const { messages: kept } = await trimSteps({ budget: { maxTokens: 1000 }, encoding: "estimate" })({ messages, stepNumber: 0 });
  whole(kept.map((message) => (typeof message.content === "string" ? { ...message, content: [] } : message)));
  assert.deepEqual(
    kept.map(({ role }) => role),
    ["user", "assistant", "tool", "user", "assistant", "tool"],
  );
  assert.equal(kept[2].content[0].output.type, "error-text");
  await generateText({ model: busy(0), messages: kept });
});

test("messages with everything in them come back as they were, and as messages of ours they can be read", async () => {
  const bytes = new Uint8Array([137, 80, 78, 71]);
  const messages = [
    { role: "system", content: "Be brief.", providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
    { role: "user", content: "Hi" },
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "file", data: "iVBORw==", mediaType: "image/png" },
        { type: "file", data: "JVBERi0=", mediaType: "application/pdf", filename: "a.pdf" },
      ],
    },
    { role: "user", content: [{ type: "image", image: "https://example.org/a.png" }] },
    { role: "assistant", content: "Plain." },
    { role: "assistant", content: [{ type: "text", text: "Parts." }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: { mock: { signature: "s" } } },
        { type: "text", text: "a" },
        { type: "tool-call", toolCallId: "k1", toolName: "read", input: { part: "1" } },
        { type: "tool-call", toolCallId: "k2", toolName: "read", input: {} },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "k1", toolName: "read", output: { type: "json", value: { a: [1, null] } } },
        { type: "tool-result", toolCallId: "k2", toolName: "read", output: { type: "error-text", value: "gone" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "p1", toolName: "web", input: { q: "x" }, providerExecuted: true },
        { type: "tool-result", toolCallId: "p1", toolName: "web", output: { type: "json", value: [1] } },
        { type: "text", text: "Found." },
        { type: "tool-call", toolCallId: "k3", toolName: "read", input: {} },
        { type: "tool-approval-request", approvalId: "ap1", toolCallId: "k3" },
      ],
    },
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: "ap1", approved: false, reason: "no" }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "k3", toolName: "read", output: { type: "execution-denied", reason: "no" } }] },
    {
      role: "assistant",
      content: [
        { type: "file", data: "iVBORw==", mediaType: "image/png" },
        { type: "text", text: "A picture." },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "k9",
          toolName: "read",
          output: {
            type: "content",
            value: [
              { type: "text", text: "t" },
              { type: "image-data", data: "iVBORw==", mediaType: "image/png" },
            ],
          },
        },
      ],
    },
  ];
  const ours = fromModelMessages(messages);
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append(ours);
  const back = toModelMessages(await keep.thread("main").messages());
  assert.deepEqual(back, messages);
  for (const message of back) modelMessageSchema.parse(message);
  // What stands in both forms is stored once.
  assert.ok(ours.filter((message) => "ai_sdk_model" in message).length <= 7, JSON.stringify(ours.filter((message) => "ai_sdk_model" in message)));
  const { payload } = await keep.thread("main").context({ provider: "openai-chat", budget: { maxTokens: 20_000 } });
  assert.ok(JSON.stringify(payload).includes("Found."));
  assert.deepEqual(toModelMessages(fromModelMessages([{ role: "user", content: [{ type: "image", image: bytes }] }])), [
    { role: "user", content: [{ type: "image", image: "iVBORw==" }] },
  ]);
  await keep.close();
});

test("answers of generateText are stored, and the conversation goes on from them", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append([{ role: "user", content: "Read the book" }]);
  const { responseMessages } = await generateText({
    model: busy(3),
    tools: { read },
    messages: toModelMessages(await keep.thread("main").messages()),
    stopWhen: isLoopFinished(),
  });
  await keep.thread("main").append(fromModelMessages(responseMessages));
  assert.deepEqual(toModelMessages(await keep.thread("main").messages()).slice(1), plain(responseMessages));
  assert.deepEqual(await keep.lint(), []);
  const { messages } = await keep.thread("main").context({ budget: { maxTokens: 300 } });
  await generateText({ model: busy(0), messages: toModelMessages(messages) });
  assert.ok((await convertToModelMessages([])).length === 0);
  await keep.close();
});

function random(seed) {
  let state = seed;
  return (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
}

/** A history as agents leave it: several calls at once, a provider's own tools, approvals, results that never came or came late. */
function history(next) {
  const messages = [{ role: "user", content: "Begin." }];
  let count = 0;
  for (let turn = 0; turn < 12; turn += 1) {
    const words = () => `Some words ${count} `.repeat(1 + next(20));
    if (next(4) === 0) messages.push({ role: "user", content: next(2) === 0 ? words() : [{ type: "text", text: words() }] });
    const content = next(2) === 0 ? [{ type: "reasoning", text: words() }] : [];
    if (next(2) === 0) content.push({ type: "text", text: words() });
    const results = [];
    for (let calls = next(4); calls > 0; calls -= 1) {
      const id = `k${count++}`;
      const call = { type: "tool-call", toolCallId: id, toolName: "t", input: { words: words() } };
      const result = {
        type: "tool-result",
        toolCallId: id,
        toolName: "t",
        output: next(2) === 0 ? { type: "json", value: { words: words() } } : { type: "text", value: words() },
      };
      if (next(5) === 0) content.push({ ...call, providerExecuted: true }, ...(next(3) === 0 ? [] : [result]));
      // biome-ignore lint/suspicious/noDuplicateElseIf: each `next` is another random number
      else if (next(5) === 0) {
        content.push(call, { type: "tool-approval-request", approvalId: `ap${id}`, toolCallId: id });
        results.push({ type: "tool-approval-response", approvalId: `ap${id}`, approved: true }, result);
      } else {
        content.push(call);
        if (next(12) > 0) results.push(result);
      }
    }
    if (content.length > 0) messages.push({ role: "assistant", content });
    if (next(2) === 0 && results.length > 1) messages.push({ role: "tool", content: results.splice(0, 1) });
    if (results.length > 0) messages.push({ role: "tool", content: results });
  }
  return messages;
}

test("random histories at random budgets are taken by generateText, inside the budget, with calls and results together", async () => {
  let trimmedAtAll = 0;
  for (let seed = 1; seed <= 150; seed += 1) {
    const next = random(seed);
    const messages = history(next);
    const before = structuredClone(messages);
    const told = [];
    const trim = trimSteps({
      budget: { maxTokens: 150 + next(2500) },
      policy: next(2) === 0 ? "newest" : "stable",
      provider: ["openai-chat", "anthropic", "gemini"][next(3)],
      encoding: "estimate",
      overBudget: "send",
      onTrim: (step) => told.push(step),
    });
    const { messages: kept = messages } = await trim({ messages, stepNumber: 0, instructions: "Be brief." });
    assert.deepEqual(messages, before, "the list that is given stays as it is");
    if (kept !== messages) trimmedAtAll += 1;
    const model = busy(0);
    await generateText({ model, messages: kept });
    const [{ prompt }] = model.doGenerateCalls;
    // What the provider gets: each call of ours with its result behind it, and no result alone.
    const ours = prompt.map((message) =>
      message.role !== "assistant"
        ? message
        : { ...message, content: message.content.filter((part) => part.type !== "tool-call" || part.providerExecuted !== true) },
    );
    const own = new Set(
      prompt.flatMap(({ role, content }) =>
        role === "assistant" ? content.filter((part) => part.type === "tool-call" && part.providerExecuted === true).map((part) => part.toolCallId) : [],
      ),
    );
    for (const message of prompt)
      if (message.role === "assistant")
        for (const part of message.content) if (part.type === "tool-result") assert.ok(own.has(part.toolCallId), `seed ${seed}`);
    whole(
      ours
        .filter(({ role, content }) => role !== "tool" || content.some((part) => part.type === "tool-result"))
        .map((message) => (message.role === "tool" ? { ...message, content: message.content.filter((part) => part.type === "tool-result") } : message)),
    );
    assert.ok(told[0].overBudget || told[0].tokens <= told[0].budget.tokens, `seed ${seed}`);
    assert.ok(
      kept.every((message) => typeof message.content === "string" || message.content.length > 0),
      `seed ${seed}`,
    );
    // Trimmed again there is nothing left to do.
    assert.deepEqual((await trim({ messages: kept, stepNumber: 1, instructions: "Be brief." })).messages ?? kept, kept, `seed ${seed}`);
    assert.deepEqual(toModelMessages(fromModelMessages(messages)), plain(messages), `seed ${seed}`);
  }
  assert.ok(trimmedAtAll > 75, `${trimmedAtAll} of 150`);
});
