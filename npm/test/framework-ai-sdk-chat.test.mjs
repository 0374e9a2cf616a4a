// Chats of the AI SDK, driven by its own chat (what `useChat` is made of) and `streamText`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { experimental_createSteering, lastAssistantMessageIsCompleteWithApprovalResponses, tool, validateUIMessages } from "ai";
import { z } from "zod";
import { Chat, branchingTransport, chatStore, counter, plain, said, scripted, serving } from "./support/ai-sdk.mjs";
import { memory, rejects } from "./support/expect.mjs";

const ids = counter("m");

/** A chat on a keep, with ids that can be read. */
async function chatting(model, { keep, serve, ...options } = {}) {
  const open = keep ?? (await memory({ encoding: "estimate" }));
  const inner = serving(model, { ui: { generateMessageId: ids }, ...serve });
  const transport = branchingTransport(inner, open);
  const chat = new Chat({ id: "c1", generateId: ids, transport, ...options });
  return { keep: open, inner, transport, chats: transport.chats, chat };
}

async function check({ chats, chat, transport }) {
  await transport.settled();
  const loaded = await chats.load("c1");
  assert.deepEqual(loaded, plain(chat.messages));
  if (loaded.length > 0) await validateUIMessages({ messages: loaded });
  return loaded;
}

test("a chat is stored as it goes on, and another instance begins with it", async () => {
  const model = scripted({ text: "Hello there.", reasoning: "Greet." }, { text: "Fine." }, { text: "Again." });
  const one = await chatting(model);
  await one.chat.sendMessage({ text: "Hi" });
  await check(one);
  await one.chat.sendMessage({ text: "How are you?" });
  const loaded = await check(one);
  assert.deepEqual(said(loaded), ["Hi", "Hello there.", "How are you?", "Fine."]);
  // As messages of a prompt.
  const all = await one.keep.thread("c1").messages();
  assert.deepEqual(
    all.map(({ role, content, reasoning }) => [role, content, reasoning]),
    [
      ["user", "Hi", undefined],
      ["assistant", "Hello there.", "Greet."],
      ["user", "How are you?", undefined],
      ["assistant", "Fine.", undefined],
    ],
  );
  assert.equal((await one.keep.search("hello"))[0]?.role, "assistant");

  const again = await chatting(model, { keep: one.keep, messages: loaded });
  await again.chat.sendMessage({ text: "Still there?" });
  await check(again);
  assert.equal((await again.keep.transcripts()).length, 1);
  assert.equal((await again.keep.transcripts())[0].branches, 1);
  await one.keep.close();
});

test("an answer that is regenerated stays beside the other, and either can be shown", async () => {
  const model = scripted({ text: "One." }, { text: "Two." }, { text: "Three." }, { text: "Go on." });
  const it = await chatting(model);
  await it.chat.sendMessage({ text: "Count" });
  await it.chat.regenerate();
  await check(it);
  await it.chat.regenerate({ messageId: it.chat.lastMessage.id });
  await check(it);
  const versions = await it.chats.branches("c1", it.chat.lastMessage.id);
  assert.deepEqual(
    versions.map(({ message, chosen }) => [said([message])[0], chosen]),
    [
      ["One.", false],
      ["Two.", false],
      ["Three.", true],
    ],
  );
  it.chat.messages = await it.chats.select("c1", versions[0].node);
  assert.deepEqual(said(it.chat.messages), ["Count", "One."]);
  await it.chat.sendMessage({ text: "And then?" });
  assert.deepEqual(said(await check(it)), ["Count", "One.", "And then?", "Go on."]);
  assert.deepEqual(
    (await it.chats.branches("c1", versions[0].message.id)).map(({ message, chosen }) => [said([message])[0], chosen]),
    [
      ["One.", true],
      ["Two.", false],
      ["Three.", false],
    ],
  );
  await it.keep.close();
});

test("an edited question is a branch with all that followed, although it keeps its id", async () => {
  const model = scripted({ text: "A1" }, { text: "A2" }, { text: "B1" }, { text: "C1" });
  const it = await chatting(model);
  await it.chat.sendMessage({ text: "Q1" });
  await it.chat.sendMessage({ text: "Q2" });
  const [first] = it.chat.messages;
  await it.chat.sendMessage({ text: "Q1, better", messageId: first.id });
  assert.deepEqual(said(await check(it)), ["Q1, better", "B1"]);
  await it.chat.sendMessage({ text: "Q1, best", messageId: first.id });
  assert.deepEqual(said(await check(it)), ["Q1, best", "C1"]);
  const versions = await it.chats.branches("c1", first.id);
  assert.deepEqual(
    versions.map(({ message, chosen }) => [said([message])[0], chosen]),
    [
      ["Q1", false],
      ["Q1, better", false],
      ["Q1, best", true],
    ],
  );
  assert.deepEqual(said(await it.chats.select("c1", versions[0].node)), ["Q1", "A1", "Q2", "A2"]);
  assert.equal((await it.keep.transcripts()).length, 1);
  await it.keep.close();
});

const weather = tool({ description: "The weather", inputSchema: z.object({ town: z.string() }), execute: async ({ town }) => ({ town, sky: "clear" }) });

test("calls and their results are messages, step by step", async () => {
  const calls = [
    { id: "k1", name: "weather", input: { town: "Oslo" } },
    { id: "k2", name: "weather", input: { town: "Bergen" } },
  ];
  const model = scripted({ text: "Let me see.", calls, sources: [{ id: "s1", url: "https://example.org/met", title: "Met" }] }, { text: "Clear in both." });
  const it = await chatting(model, { serve: { tools: { weather }, ui: { generateMessageId: ids, sendSources: true } } });
  await it.chat.sendMessage({ text: "The weather?" });
  const loaded = await check(it);
  assert.deepEqual(
    loaded[1].parts.map(({ type, state }) => [type, state]),
    [
      ["step-start", undefined],
      ["text", "done"],
      ["source-url", undefined],
      ["tool-weather", "output-available"],
      ["tool-weather", "output-available"],
      ["step-start", undefined],
      ["text", "done"],
    ],
  );
  const all = await it.keep.thread("c1").messages();
  assert.deepEqual(
    all.map(({ role, content, tool_calls, tool_call_id }) => [role, content, tool_call_id ?? tool_calls?.length]),
    [
      ["user", "The weather?", undefined],
      ["assistant", "Let me see.", 2],
      ["tool", '{"town":"Oslo","sky":"clear"}', "k1"],
      ["tool", '{"town":"Bergen","sky":"clear"}', "k2"],
      ["assistant", "Clear in both.", undefined],
    ],
  );
  assert.deepEqual(await it.keep.lint(), []);
  const { payload, warnings } = await it.keep.thread("c1").context({ provider: "anthropic", budget: { maxTokens: 1000 }, render: { prefill: true } });
  assert.equal(payload.messages.length, 4);
  assert.deepEqual(warnings, []);
  await it.keep.close();
});

for (const approved of [true, false])
  test(`a call that waits for an approval is stored, and grows when it is ${approved ? "granted" : "denied"}`, async () => {
    const model = scripted({ text: "May I?", calls: [{ id: "k1", name: "weather", input: { town: "Oslo" } }] }, { text: approved ? "Clear." : "As you wish." });
    const asking = tool({ inputSchema: z.object({ town: z.string() }), needsApproval: true, execute: async () => "clear" });
    const it = await chatting(model, { serve: { tools: { weather: asking } }, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await it.chat.sendMessage({ text: "The weather?" });
    const [, before] = await check(it);
    const call = before.parts.at(-1);
    assert.deepEqual([call.type, call.state], ["tool-weather", "approval-requested"]);
    // Another instance, which was loaded from the store.
    const later = await chatting(model, {
      keep: it.keep,
      messages: await it.chats.load("c1"),
      serve: { tools: { weather: asking } },
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await later.chat.addToolApprovalResponse({ id: call.approval.id, approved, reason: "because" });
    while (later.chat.status !== "ready" || said(later.chat.messages).at(-1).endsWith("May I?")) await new Promise((resolve) => setTimeout(resolve, 2));
    const [, after] = await check(later);
    assert.deepEqual(
      after.parts.filter(({ type }) => type === "tool-weather").map(({ state, approval }) => [state, approval.approved]),
      [[approved ? "output-available" : "output-denied", approved]],
    );
    const [transcript] = await it.keep.transcripts();
    assert.equal(transcript.branches, 1);
    const all = await it.keep.thread("c1").messages();
    const prompt = all.filter((message) => message.include_in_context !== false);
    assert.deepEqual(
      prompt.map(({ role, content }) => [role, content]),
      [
        ["user", "The weather?"],
        ["assistant", "May I?"],
        ["tool", approved ? "clear" : "Tool execution denied: because"],
        ["assistant", approved ? "Clear." : "As you wish."],
      ],
    );
    assert.deepEqual(await it.keep.lint(), []);
    await it.keep.close();
  });

test("the output of a tool that runs in the browser arrives later", async () => {
  const model = scripted({ calls: [{ id: "k1", name: "where", input: {} }] }, { text: "You are in Oslo." });
  const where = tool({ inputSchema: z.object({}) });
  const it = await chatting(model, {
    serve: { tools: { where } },
    sendAutomaticallyWhen: ({ messages }) => messages.at(-1).parts.at(-1).state === "output-available",
  });
  await it.chat.sendMessage({ text: "Where am I?" });
  await check(it);
  await it.chat.addToolOutput({ tool: "where", toolCallId: "k1", output: { town: "Oslo" } });
  while (said(it.chat.messages).at(-1) === "") await new Promise((resolve) => setTimeout(resolve, 2));
  while (it.chat.status !== "ready") await new Promise((resolve) => setTimeout(resolve, 2));
  await check(it);
  const all = await it.keep.thread("c1").messages();
  assert.deepEqual(
    all.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  await it.keep.close();
});

/** A stream of chunks of the model that stops coming after some. */
function stalling(chunks) {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < chunks.length) controller.enqueue(chunks[next++]);
      else return new Promise(() => {});
    },
  });
}

test("stopping keeps what came, marked, and the chat goes on behind it", async () => {
  const half = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "A long " },
    { type: "text-delta", id: "t", delta: "story" },
  ];
  const it = await chatting(scripted(() => stalling(half), { text: "Yes?" }, { text: "Anew." }));
  const sent = it.chat.sendMessage({ text: "Tell me" });
  while (said(it.chat.messages).at(-1) !== "A long story") await new Promise((resolve) => setTimeout(resolve, 2));
  await it.chat.stop();
  await sent;
  await it.transport.settled();
  assert.deepEqual(said(await it.chats.load("c1")), ["Tell me", "A long story"]);
  const [cut] = await it.chats.branches("c1", it.chat.lastMessage.id);
  assert.equal(cut.ended, "cancelled");
  const marked = (await it.keep.thread("c1").messages()).at(-1);
  assert.deepEqual([marked.content, marked.kind.type, marked.kind.code], ["A long story", "error", "cancelled"]);
  await it.chat.sendMessage({ text: "Hello?" });
  assert.deepEqual(said(await check(it)), ["Tell me", "A long story", "Hello?", "Yes?"]);
  assert.equal((await it.keep.transcripts())[0].branches, 1);
  await it.chat.regenerate({ messageId: it.chat.messages[1].id });
  assert.deepEqual(said(await check(it)), ["Tell me", "Anew."]);
  assert.deepEqual(
    (await it.chats.branches("c1", it.chat.lastMessage.id)).map(({ ended }) => ended),
    ["cancelled", undefined],
  );
  await it.keep.close();
});

test("an answer that fails leaves what came, and its question", async () => {
  const it = await chatting(scripted({ text: "Half of", fail: new Error("overloaded") }, { text: "Whole." }));
  await it.chat.sendMessage({ text: "Well?" });
  assert.equal(it.chat.status, "error");
  await it.transport.settled();
  assert.deepEqual(said(await it.chats.load("c1")), ["Well?", "Half of"]);
  const marked = (await it.keep.thread("c1").messages()).at(-1);
  assert.deepEqual([marked.kind.code, marked.kind.reason], ["failed", "overloaded"]);
  await it.chat.regenerate();
  assert.deepEqual(said(await check(it)), ["Well?", "Whole."]);
  await it.keep.close();
});

test("what the transport throws leaves the question stored", async () => {
  const keep = await memory({ encoding: "estimate" });
  const transport = branchingTransport(
    {
      sendMessages: async () => {
        throw new TypeError("fetch failed");
      },
      reconnectToStream: async () => null,
    },
    keep,
  );
  const chat = new Chat({ id: "c1", generateId: counter("u"), transport });
  await chat.sendMessage({ text: "Anybody?" });
  assert.equal(chat.error.message, "fetch failed");
  assert.deepEqual(said(await transport.chats.load("c1")), ["Anybody?"]);
  await keep.close();
});

test("the stream that is handed on is the transport's, piece by piece, and nothing waits for the storage", async () => {
  const records = new Map();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  let holding = false;
  const storage = {
    get: (key) => records.get(key),
    scan: ({ start, end, limit, reverse }) => {
      const keys = [...records.keys()].filter((key) => key >= start && key < end).sort();
      if (reverse) keys.reverse();
      return keys.slice(0, limit).map((key) => [key, records.get(key)]);
    },
    async commit({ absent, present, deletes, deleteRanges, puts }) {
      if (holding) await held;
      const broken = absent.find((key) => records.has(key)) ?? present.find((key) => !records.has(key));
      if (broken !== undefined) throw { code: "conflict", key: broken };
      for (const key of deletes) records.delete(key);
      for (const [start, end] of deleteRanges) for (const key of [...records.keys()]) if (key >= start && key < end) records.delete(key);
      for (const [key, value] of puts) records.set(key, value);
    },
    close() {},
  };
  const keep = await memory({ storage });
  const chunks = [
    { type: "start", messageId: "a1" },
    { type: "start-step" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "On" },
    { type: "text-delta", id: "t", delta: "e." },
    { type: "text-end", id: "t" },
    { type: "data-note", data: { seen: 1 } },
    { type: "data-gone", data: 1, transient: true },
    { type: "finish-step" },
    { type: "start-step" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Two." },
    { type: "text-end", id: "t" },
    { type: "finish-step" },
    { type: "finish", messageMetadata: { tokens: 3 } },
  ];
  const inner = {
    sendMessages: async () => {
      holding = true;
      return new ReadableStream({
        start(c) {
          chunks.forEach((chunk) => c.enqueue(chunk));
          c.close();
        },
      });
    },
    reconnectToStream: async () => null,
  };
  const transport = branchingTransport(inner, keep);
  const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "Count" }] }];
  const stream = await transport.sendMessages({ chatId: "c1", trigger: "submit-message", messageId: undefined, messages, abortSignal: undefined });
  const got = [];
  for await (const chunk of stream) got.push(chunk);
  assert.ok(got.every((chunk, at) => chunk === chunks[at]) && got.length === chunks.length);
  holding = false;
  release();
  await transport.settled();
  const [, stored] = await transport.chats.load("c1");
  assert.deepEqual(stored.parts, [
    { type: "step-start" },
    { type: "text", text: "One.", state: "done" },
    { type: "data-note", data: { seen: 1 } },
    { type: "step-start" },
    { type: "text", text: "Two.", state: "done" },
  ]);
  assert.deepEqual([stored.id, stored.metadata], ["a1", { tokens: 3 }]);
  await keep.close();
});

test("an answer without an id gets the chat's with the next question, and is no branch", async () => {
  const it = await chatting(scripted({ text: "One." }, { text: "Two." }), { serve: { ui: { generateMessageId: undefined, originalMessages: undefined } } });
  await it.chat.sendMessage({ text: "Count" });
  await it.transport.settled();
  assert.equal((await it.chats.load("c1")).length, 2);
  await it.chat.sendMessage({ text: "On" });
  await it.transport.settled();
  assert.deepEqual((await it.chats.load("c1")).slice(0, 3), plain(it.chat.messages.slice(0, 3)));
  assert.equal((await it.keep.transcripts())[0].branches, 1);
  await it.keep.close();
});

for (const first of ["the older page", "the newer page"])
  test(`an answer without an id is one answer in two pages, ${first} going on first`, async () => {
    const unnamed = { serve: { ui: { generateMessageId: undefined, originalMessages: undefined } } };
    const older = await chatting(scripted({ text: "One." }, { text: "Two." }, { text: "Three." }), unnamed);
    await older.chat.sendMessage({ text: "Count" });
    await older.transport.settled();
    // The newer page knows the answer by its node's id, the older one by one that it made up.
    const newer = await chatting(scripted({ text: "2." }), { keep: older.keep, ...unnamed, messages: await chatStore(older.keep).load("c1") });
    const pages = first === "the older page" ? [older, newer] : [newer, older];
    for (const { chat, transport } of pages) {
      await chat.sendMessage({ text: `On, ${transport === older.transport ? "older" : "newer"}` });
      await transport.settled();
    }
    // Two questions about one answer.
    assert.equal((await older.keep.stats()).messages, 6);
    assert.equal((await older.chats.branches("c1", (await older.chats.load("c1"))[2].id)).length, 2);
    assert.equal((await newer.chats.branches("c1", newer.chat.messages[1].id)).length, 1);
    // The page that came first goes on where it was.
    const [{ chat, transport, chats }] = pages;
    if (chat === older.chat) {
      await chat.sendMessage({ text: "And on" });
      await transport.settled();
      assert.deepEqual(said(await chats.load("c1")), said(chat.messages));
      assert.equal((await older.keep.stats()).messages, 8);
    }
    assert.deepEqual(await older.keep.lint(), []);
    await older.keep.close();
  });

test("what a user says while the model is at it is a message of theirs, too", async () => {
  const steering = experimental_createSteering();
  const look = tool({
    inputSchema: z.object({}),
    execute() {
      void steering.steer("And Bergen?");
      return "clear";
    },
  });
  const it = await chatting(
    scripted({ text: "Let me see.", calls: [{ id: "k", name: "look", input: {} }] }, { text: "Both clear." }, { text: "You're welcome." }),
    { serve: { tools: { look }, experimental_steering: steering } },
  );
  await it.chat.sendMessage({ text: "Oslo?" });
  const loaded = await check(it);
  assert.ok(loaded[1].parts.some(({ type }) => type === "steering-message"));
  const all = await it.keep.thread("c1").messages();
  assert.deepEqual(
    all.map(({ role }) => role),
    ["user", "assistant", "tool", "user", "assistant"],
  );
  assert.deepEqual(all[3].content, [{ type: "text", text: "And Bergen?" }]);
  assert.equal((await it.chats.save({ chatId: "c1", messages: it.chat.messages })).added, 0);
  await it.keep.close();
});

test("an answer that is resumed is the one that was under way", async () => {
  const keep = await memory({ encoding: "estimate" });
  const chunks = [
    { type: "start", messageId: "a1" },
    { type: "start-step" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "All of it." },
    { type: "text-end", id: "t" },
    { type: "finish-step" },
    { type: "finish" },
  ];
  const stream = (pieces, end) =>
    new ReadableStream({
      start(c) {
        pieces.forEach((chunk) => c.enqueue(chunk));
        end(c);
      },
    });
  const inner = {
    sendMessages: async () =>
      stream([...chunks.slice(0, 3), { type: "text-delta", id: "t", delta: "All" }], (c) => setTimeout(() => c.error(new TypeError("network error")), 20)),
    reconnectToStream: async () => stream(chunks, (c) => c.close()),
    resumeStreamIsReplay: true,
  };
  const transport = branchingTransport(inner, keep);
  assert.equal(transport.resumeStreamIsReplay, true);
  const chat = new Chat({ id: "c1", generateId: counter("u"), transport });
  await chat.sendMessage({ text: "Tell" });
  assert.equal(chat.status, "error");
  await transport.settled();
  assert.deepEqual(said(await transport.chats.load("c1")), ["Tell", "All"]);
  await chat.resumeStream();
  await transport.settled();
  assert.deepEqual(await transport.chats.load("c1"), plain(chat.messages));
  assert.deepEqual(said(chat.messages), ["Tell", "All of it."]);
  assert.equal((await keep.transcripts())[0].branches, 1);
  assert.equal((await transport.chats.branches("c1", "a1"))[0].ended, undefined);
  await keep.close();
});

test("an answer that goes on under another id is stored as the chat shows it", async () => {
  const keep = await memory({ encoding: "estimate" });
  const part = { type: "tool-input-available", toolCallId: "k", toolName: "x", input: {} };
  const answers = [
    [
      { type: "start", messageId: "a1" },
      { type: "start-step" },
      part,
      { type: "tool-approval-request", approvalId: "y", toolCallId: "k" },
      { type: "finish-step" },
      { type: "finish" },
    ],
    [
      { type: "start", messageId: "a2" },
      { type: "tool-output-available", toolCallId: "k", output: 1 },
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Done." },
      { type: "text-end", id: "t" },
      { type: "finish-step" },
      { type: "finish" },
    ],
  ];
  const inner = {
    sendMessages: async () =>
      new ReadableStream({
        start(c) {
          answers.shift().forEach((chunk) => c.enqueue(chunk));
          c.close();
        },
      }),
    reconnectToStream: async () => null,
  };
  const transport = branchingTransport(inner, keep);
  const chat = new Chat({ id: "c1", generateId: ids, transport });
  await chat.sendMessage({ text: "Do" });
  await chat.addToolApprovalResponse({ id: "y", approved: true });
  await chat.sendMessage();
  await transport.settled();
  assert.equal(said(chat.messages).at(-1), "Done.");
  assert.deepEqual(await transport.chats.load("c1"), plain(chat.messages));
  await keep.close();
});

test("another head in the same transcript keeps what it needs; a node of another chat is none of this one's", async () => {
  const it = await chatting(scripted({ text: "One." }, { text: "Two." }));
  await it.chat.sendMessage({ text: "Count" });
  await it.transport.settled();
  await it.keep.thread("c1").fork("side");
  await it.chat.sendMessage({ text: "On" });
  await it.transport.settled();
  assert.equal(await it.chats.delete("c1"), 2);
  assert.deepEqual(await it.chats.load("c1"), []);
  assert.deepEqual(said(await it.chats.load("side")), ["Count", "One."]);
  await it.chats.save({ chatId: "c2", messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "Else" }] }] });
  const { id } = await it.keep.thread("side").head();
  await rejects(it.chats.select("c2", id), "missing-node");
  assert.deepEqual(said(await it.chats.load("c2")), ["Else"]);
  assert.throws(() => branchingTransport(it.inner, {}), { code: "bad-request" });
  assert.throws(() => branchingTransport({}, it.keep), { code: "bad-request" });
  await it.keep.close();
});

test("what cannot be stored is told, and with onError the chat goes on", async () => {
  const it = await chatting(scripted({ text: "Unheard." }));
  await it.keep.close();
  await it.chat.sendMessage({ text: "Hi" });
  assert.equal(it.chat.error.code, "closed");
  assert.equal(it.inner.requests.length, 0);
  const told = [];
  const closed = await memory({ encoding: "estimate" });
  const transport = branchingTransport(serving(scripted({ text: "Heard." })), closed, { onError: (error) => told.push(error.code) });
  await closed.close();
  const chat = new Chat({ id: "c1", generateId: ids, transport });
  await chat.sendMessage({ text: "Hi" });
  await transport.settled();
  assert.deepEqual(said(chat.messages), ["Hi", "Heard."]);
  assert.ok(told.length >= 2 && told.every((code) => code === "closed"), told.join());
});

test("each step is stored while the next one is still being made; metadata at the end is no message of its own", async () => {
  const keep = await memory({ encoding: "estimate" });
  let go;
  const first = [
    { type: "start", messageId: "a1" },
    { type: "start-step" },
    { type: "tool-input-available", toolCallId: "k", toolName: "x", input: { n: 1 } },
    { type: "tool-output-available", toolCallId: "k", output: "paid" },
    { type: "finish-step" },
  ];
  const second = [
    { type: "start-step" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Done." },
    { type: "text-end", id: "t" },
    { type: "finish-step" },
    { type: "message-metadata", messageMetadata: { model: "m" } },
    { type: "finish", messageMetadata: { tokens: 3 } },
  ];
  const inner = {
    sendMessages: async () =>
      new ReadableStream({
        async start(c) {
          first.forEach((chunk) => c.enqueue(chunk));
          await new Promise((resolve) => (go = resolve));
          second.forEach((chunk) => c.enqueue(chunk));
          c.close();
        },
      }),
    reconnectToStream: async () => null,
  };
  const transport = branchingTransport(inner, keep);
  const chat = new Chat({ id: "c1", generateId: ids, transport });
  const sent = chat.sendMessage({ text: "Pay" });
  // The payment is on the disk although the model has not spoken yet.
  while ((await keep.thread("c1").messages()).length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(
    (await keep.thread("c1").messages()).map(({ role, content }) => [role, content]),
    [
      ["user", "Pay"],
      ["assistant", null],
      ["tool", "paid"],
    ],
  );
  go();
  await sent;
  await transport.settled();
  assert.deepEqual(await transport.chats.load("c1"), plain(chat.messages));
  assert.deepEqual(chat.lastMessage.metadata, { model: "m", tokens: 3 });
  assert.deepEqual(
    (await keep.thread("c1").messages()).map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  await keep.close();
});
