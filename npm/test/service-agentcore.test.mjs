// Bedrock AgentCore Memory through AWS's own client, over a request handler of its wire shapes: the rules of a message store on AgentCore, the
// limits of the service's model, branches, and a keep beside it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ThreadkeepError, assistant, many, memory as keepInMemory, rejects, texts, user } from "./support/expect.mjs";
import { MEMORY_ID, agentcore, agentcoreMemory, hybrid } from "./support/services.mjs";
import { until } from "./support/until.mjs";

const operations = (handler, name) => handler.requests.filter(({ operation }) => operation === name);
const slow = { timeout: 30_000 };

test("append creates one conversational event a message, under actor and session", slow, async () => {
  const { handler, memory } = agentcore();
  await memory.append("session-1", [
    user("I prefer React"),
    assistant("Noted!"),
    { role: "system", content: "Be brief." },
    { role: "tool", tool_call_id: "c", content: "42" },
  ]);
  const bodies = operations(handler, "CreateEvent").map(({ body }) => body);
  assert.deepEqual(
    bodies.map(({ actorId, sessionId, payload }) => [actorId, sessionId, payload[0].conversational.role, payload[0].conversational.content.text]),
    [
      ["ann", "session-1", "USER", "I prefer React"],
      ["ann", "session-1", "ASSISTANT", "Noted!"],
      ["ann", "session-1", "OTHER", "Be brief."],
      ["ann", "session-1", "TOOL", "42"],
    ],
  );
  const times = bodies.map(({ eventTimestamp }) => eventTimestamp);
  assert.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  assert.equal(new Set(times).size, 4, "no two at once: their order is their time");
  assert.deepEqual(
    operations(handler, "CreateEvent").map(({ path }) => path),
    Array(4).fill(`/memories/${MEMORY_ID}/events`),
  );
});

test("getAll, getRange and getCount read all pages, in order", slow, async () => {
  const { handler, memory } = agentcore();
  await memory.append("s", many(230));
  assert.deepEqual(texts(await memory.getAll("s")), texts(many(230)));
  assert.deepEqual(
    operations(handler, "ListEvents").map(({ body }) => [body.maxResults, body.nextToken !== undefined]),
    [
      [100, false],
      [100, true],
      [100, true],
    ],
  );
  assert.deepEqual(texts(await memory.getRange("s", 228, 999)), ["m228", "m229"]);
  assert.deepEqual(await memory.getRange("s", 5, 2), []);
  assert.equal(await memory.getCount("s"), 230);
  assert.deepEqual([await memory.getAll("nowhere"), await memory.getCount("nowhere")], [[], 0]);
});

test("messages come back as they were, whatever they hold", slow, async () => {
  const { memory, handler } = agentcore();
  const messages = [
    user("plain"),
    { role: "user", content: "named", name: "ann", tags: ["x"], own: { deep: [1, null, "é"] } },
    { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }] },
    { role: "tool", tool_call_id: "c1", content: "" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    },
    { role: "developer", content: "Mind the gap." },
    user('{"threadkeep":1,"texts":0} is no blob'),
    assistant("🍐".repeat(120_000)),
    user("x".repeat(250_001)),
  ];
  await memory.append("s", messages);
  assert.deepEqual(await memory.getAll("s"), messages);
  const long = operations(handler, "CreateEvent").at(-1).body.payload;
  assert.deepEqual(
    long.map(({ conversational }) => conversational?.content.text.length),
    [100_000, 100_000, 50_001, undefined],
  );
  // Blobs of others, and broken ones, are passed over.
  for (const blob of ['{"threadkeep":1,"texts":9,"message":{"role":"user","content":"x"}}', '{"threadkeep":1,', "other"])
    handler.events.push({ ...handler.events[0], eventId: `9${handler.events.length}#ab`, payload: [{ blob }] });
  assert.equal(await memory.getCount("s"), messages.length);
});

test("several messages go into one event where that is wanted", slow, async () => {
  const { handler, memory } = agentcore({ messagesPerEvent: 3 });
  const messages = [user("a"), { role: "assistant", content: "b", tags: ["x"] }, user("c"), assistant("d")];
  await memory.append("s", messages);
  assert.deepEqual(
    operations(handler, "CreateEvent").map(({ body }) => body.payload.length),
    [4, 1],
  );
  assert.deepEqual(await memory.getAll("s"), messages);
  const store = hybrid({ keep: await keepInMemory(), memory, syncStrategy: "end-of-session" });
  await store.append("h", many(7));
  assert.deepEqual(await store.sync(), { sent: 7 });
  assert.deepEqual(texts(await memory.getAll("h")), texts(many(7)));
  await store.close();
});

test("no event has more items than an event may have, whatever several messages bring", slow, async () => {
  const { handler, memory } = agentcore({ messagesPerEvent: 50 });
  const messages = Array.from({ length: 50 }, (_, at) => ({ ...user(at === 7 ? "x".repeat(250_000) : `m${at}`), tags: ["a text and what it leaves out"] }));
  await memory.append("s", messages);
  const sizes = () => operations(handler, "CreateEvent").map(({ body }) => body.payload.length);
  assert.deepEqual(sizes(), [100, 2]);
  assert.deepEqual(await memory.getAll("s"), messages);
  const store = hybrid({ keep: await keepInMemory(), memory, syncStrategy: "end-of-session", batchSize: 50 });
  await store.append("h", messages);
  assert.deepEqual(await store.sync(), { sent: 50 });
  assert.deepEqual(sizes(), [100, 2, 100, 2]);
  await store.close();
});

test("the actor is configured, or given with each call", slow, async () => {
  const { handler, memory, client } = agentcore();
  await memory.append("s", [user("of ann")]);
  await memory.append("s", [user("of bob")], "user-bob");
  assert.deepEqual([texts(await memory.getAll("s")), texts(await memory.getAll("s", "user-bob"))], [["of ann"], ["of bob"]]);
  assert.deepEqual(texts(await memory.getRecent("s", {}, "user-bob")), ["of bob"]);
  assert.deepEqual(
    (await memory.listSessions("user-bob")).map(({ sessionId }) => sessionId),
    ["s"],
  );
  assert.equal(await memory.clear("s", { actorId: "user-bob" }), 1);
  assert.equal(await memory.getCount("s"), 1);
  const nobody = agentcoreMemory({ memoryId: MEMORY_ID, client });
  await rejects(nobody.append("s", [user("x")]), "bad-request", /actorId/);
  await nobody.append("s", [user("x")], "carl");
  const derived = agentcoreMemory({ memoryId: MEMORY_ID, client, actorId: (thread) => thread.split("_")[0] });
  await derived.append("dora_1", [user("x")]);
  assert.deepEqual(
    handler.events.map(({ actorId }) => actorId),
    ["ann", "carl", "dora"],
  );
  await rejects(memory.getAll("s", { actor: "ann" }), "bad-request", /actor is not known/);
  await rejects(memory.getAll("s", "no spaces, please"), "bad-request", /actorId/);
  // Any name is a session.
  await memory.append("ann's first / talk", [user("there")]);
  assert.deepEqual(texts(await memory.getAll("ann's first / talk")), ["there"]);
  assert.deepEqual(await memory.getAll("ann's first ? talk"), []);
});

test("searchMemories and listMemoryRecords look at long-term records, of this actor alone", slow, async () => {
  const { handler, memory } = agentcore();
  handler.remember("The user prefers React.", "/actors/ann");
  handler.remember("The user's favourite colour is blue.", "/actors/ann/sessions/s1");
  const other = handler.remember("The user prefers Vue.", "/actors/anna");
  const found = await memory.searchMemories("s", "which framework does the user prefer", { maxResults: 5 });
  assert.deepEqual(
    found.map(({ content }) => content.text),
    ["The user prefers React.", "The user's favourite colour is blue."],
  );
  assert.ok(found[0].score >= found[1].score && found[0].createdAt instanceof Date);
  const [{ body, path }] = operations(handler, "RetrieveMemoryRecords");
  assert.deepEqual(
    [path, body],
    [
      `/memories/${MEMORY_ID}/retrieve`,
      { namespace: "/actors/ann", searchCriteria: { searchQuery: "which framework does the user prefer", topK: 5 }, maxResults: 5 },
    ],
  );
  assert.deepEqual((await memory.listMemoryRecords("s")).length, 2);
  assert.equal((await memory.listMemoryRecords("s", { maxResults: 1 })).length, 1);
  assert.deepEqual(
    (await memory.listMemoryRecords("s", { namespacePrefix: "/actors/anna" })).map(({ memoryRecordId }) => memoryRecordId),
    [other],
  );
  assert.equal(
    (await memory.listMemoryRecords("s", { namespacePrefix: "/actors/{actorId}/sessions" }))[0].content.text,
    "The user's favourite colour is blue.",
  );
  assert.deepEqual(
    (await memory.searchMemories("s", "prefers", {}, "anna")).map(({ memoryRecordId }) => memoryRecordId),
    [other],
  );
  assert.equal((await memory.getMemoryRecord(other)).content.text, "The user prefers Vue.");
  assert.equal(await memory.getMemoryRecord(`mem-${"9".repeat(36)}`), null);
  assert.deepEqual(await memory.searchMemories("s", "  "), []);
  // A query longer than the service takes is cut; more records than a page are read on.
  await memory.searchMemories("s", "why ".repeat(5_000));
  for (let at = 0; at < 150; at += 1) handler.remember(`fact ${at}`, "/actors/ann");
  assert.equal((await memory.listMemoryRecords("s", { maxResults: 140 })).length, 140);
  assert.equal((await memory.list({ thread: "s" })).length, 152);
  // Below no name at all everybody's records would lie.
  for (const call of ["searchMemories", "listMemoryRecords"])
    await rejects(memory[call]("s", ...(call === "searchMemories" ? ["x"] : []), { namespacePrefix: "" }), "bad-request", /namespacePrefix must not be empty/);
  for (const namespaces of ["", ["/actors/{actorId}", ""]]) assert.throws(() => agentcore({ namespaces }), { code: "bad-request" });
});

test("namespaces and a strategy of one's own", slow, async () => {
  const { handler, memory } = agentcore({
    namespaces: ["/strategies/{memoryStrategyId}/actors/{actorId}", "/summaries/{actorId}/{sessionId}"],
    memoryStrategyId: "preferences-0123456789",
  });
  handler.remember("prefers pears", "/strategies/preferences-0123456789/actors/ann");
  handler.remember("pears were bought", "/summaries/ann/s");
  handler.remember("pears of another strategy", "/summaries/ann/s", "summaries-0123456789");
  assert.deepEqual((await memory.search({ thread: "s" }, "pears")).map(({ text }) => text).sort(), ["pears were bought", "prefers pears"]);
});

test("getRecent has long-term memories first by default, and none if that is not wanted", slow, async () => {
  const { handler, memory, client } = agentcore();
  handler.extract = ({ payload, actorId }) =>
    payload.flatMap(({ conversational }) =>
      conversational?.role === "USER" ? [{ text: `The user said: ${conversational.content.text}`, namespaces: [`/actors/${actorId}`] }] : [],
    );
  await memory.append("s1", [user("I prefer React"), assistant("Noted!")]);
  await memory.append("s2", [{ role: "system", content: "Be brief." }, user("What do I prefer?"), assistant("Hm.")]);
  const [system, first, ...after] = await memory.getRecent("s2");
  const rest = [system, ...after];
  assert.equal(first.role, "user");
  assert.match(
    first.content,
    /^\[Quoted from .*\n> Relevant memories from previous conversations:\n> - The user said: What do I prefer\?\n> - The user said: I prefer React\n\[End of quote\]$/,
  );
  assert.deepEqual(rest, await memory.getAll("s2"));
  assert.equal(operations(handler, "RetrieveMemoryRecords")[0].body.searchCriteria.searchQuery, "What do I prefer?");
  const plain = agentcoreMemory({ memoryId: MEMORY_ID, actorId: "ann", client, includeLongTermMemories: false });
  const before = operations(handler, "RetrieveMemoryRecords").length;
  assert.deepEqual(await plain.getRecent("s2"), rest);
  assert.equal(operations(handler, "RetrieveMemoryRecords").length, before);
  assert.deepEqual(texts(await memory.getRecent("s2", { maxMessages: 2 })).slice(0, 1), ["Hm."]);
  assert.deepEqual(texts(await memory.getRecent("s2", { includeSystem: false })), ["What do I prefer?", "Hm."]);
  assert.deepEqual(await memory.getRecent("s2", { maxMessages: 0 }), []);
  const cost = (messages) => messages.reduce((sum, { content }) => sum + Math.ceil(content.length / 4) + 4, 0);
  for (let maxTokens = 0; maxTokens < 260; maxTokens += 3) assert.ok(cost(await memory.getRecent("s2", { maxTokens })) <= maxTokens);
  assert.equal((await memory.getRecent("s2", { maxTokens: 400 })).length, 4);
  // Memories that cannot be had now are done without; that they are not allowed is said.
  handler.behave = ({ operation }) => (operation === "RetrieveMemoryRecords" ? { fault: ["ThrottledException", 429] } : undefined);
  assert.deepEqual(await memory.getRecent("s2"), rest);
  handler.behave = ({ operation }) => (operation === "RetrieveMemoryRecords" ? { fault: ["AccessDeniedException", 403] } : undefined);
  assert.equal((await rejects(memory.getRecent("s2"), "memory-service")).details.reason, "unauthorized");
  handler.behave = undefined;
  // No result without its call.
  await plain.append("s3", [
    { role: "assistant", content: "calls", tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "c", content: "r" },
    user("next"),
  ]);
  assert.deepEqual(texts(await plain.getRecent("s3", { maxMessages: 2 })), ["next"]);
});

test("compact does nothing, and answers with an empty result", slow, async () => {
  const { handler, memory } = agentcore();
  await memory.append("s", many(3));
  assert.deepEqual(await memory.compact("s", { keepRecent: 1 }), { summaryMessages: [], compactedRange: { start: 0, end: 0 }, tokensSaved: 0 });
  assert.equal(await memory.getCount("s"), 3);
  assert.equal(operations(handler, "DeleteEvent").length, 0);
});

test("clear lists the events of a session and deletes them, and nothing else", slow, async () => {
  const { handler, memory } = agentcore();
  await memory.append("s", many(130));
  await memory.append("other", [user("stays")]);
  assert.equal(await memory.clear("s"), 130);
  assert.deepEqual([await memory.getAll("s"), handler.told()], [[], ["stays"]]);
  assert.equal(operations(handler, "DeleteEvent").length, 130);
  assert.ok(operations(handler, "ListEvents").every(({ body }) => body.includePayloads !== undefined));
  assert.equal(await memory.clear("s"), 0);
});

test("branches: what a fork has before it, and its own", slow, async () => {
  const { handler, memory } = agentcore();
  await memory.append("s", many(4));
  const rootEventId = handler.events[1].eventId;
  await memory.append("s", [user("w0")], { branch: "what-if", rootEventId });
  await memory.append("s", [user("w1")], { branch: "what-if" });
  await memory.append("s", [user("m4")]);
  await memory.append("s", [user("deep")], { branch: "deeper", rootEventId: handler.events[4].eventId });
  assert.deepEqual(texts(await memory.getAll("s")), ["m0", "m1", "m2", "m3", "m4"]);
  assert.deepEqual(texts(await memory.getAll("s", { branch: "what-if" })), ["m0", "m1", "w0", "w1"]);
  assert.deepEqual(texts(await memory.getAll("s", { branch: "deeper" })), ["m0", "m1", "w0", "deep"]);
  assert.deepEqual(await memory.getAll("s", { branch: "none" }), []);
  // A branch needs its root.
  assert.equal((await rejects(memory.append("s", [user("x")], { branch: "new" }), "memory-service")).details.reason, "refused");
});

test("forks of a keep are branches of a session", slow, async () => {
  const { handler, memory } = agentcore();
  const keep = await keepInMemory();
  const store = hybrid({ keep, memory, syncStrategy: "end-of-session" });
  await store.append("main", [{ role: "system", content: "Be brief." }, ...many(3)]);
  await store.sync();
  await keep.thread("main").fork("what if?", { atIndex: 2 });
  await store.append("what if?", [user("w0"), user("w1")]);
  await store.append("main", [user("m3")]);
  await store.sync();
  await store.append("what if?", [user("w2")]);
  await store.sync();
  assert.deepEqual([...new Set(handler.events.map(({ sessionId }) => sessionId))], ["main"]);
  const branch = handler.events.find(({ branch }) => branch !== undefined).branch;
  assert.match(branch.name, /^what-if-[0-9a-f]{32}$/);
  assert.equal(branch.rootEventId, handler.events[1].eventId);
  for (const context of ["main", "what if?"])
    assert.deepEqual(await memory.getAll("main", context === "main" ? {} : { branch: context }), await keep.thread(context).messages());
  const event = handler.events.at(-1);
  assert.equal(event.metadata["threadkeep-node"].stringValue, (await keep.thread("what if?").head()).id);
  // What only one branch leads to goes with it.
  assert.deepEqual(await store.clear("what if?"), { messages: 3, memory: "cleared" });
  assert.deepEqual(handler.told(), ["Be brief.", "m0", "m1", "m2", "m3"]);
  assert.deepEqual(await store.clear("main"), { messages: 5, memory: "cleared" });
  assert.deepEqual(handler.told(), []);
  await store.close();
});

test("throttling is tried again by the client, and said when that does not help", slow, async () => {
  const { handler, memory } = agentcore({}, { maxAttempts: 3 });
  let left = 2;
  handler.behave = () => (left-- > 0 ? { fault: ["ThrottledException", 429] } : undefined);
  await memory.append("s", [user("a")]);
  assert.deepEqual([handler.told(), handler.requests.length], [["a"], 3]);
  // Repetitions have one token, so that what arrived twice is there once.
  assert.equal(new Set(handler.requests.map(({ body }) => body.clientToken)).size, 1);
  left = Number.POSITIVE_INFINITY;
  const error = await rejects(memory.append("s", [user("b")]), "memory-service", /ThrottledException \(429\)/);
  assert.deepEqual([error.details.reason, error.cause.name], ["rate-limited", "ThrottledException"]);
});

test("failures say why, and nothing of what was sent", slow, async () => {
  const { handler, memory } = agentcore({ timeout: 100 });
  for (const [fault, status, reason] of [
    ["AccessDeniedException", 403, "unauthorized"],
    ["ValidationException", 400, "refused"],
    ["ServiceQuotaExceededException", 402, "rate-limited"],
    ["RetryableConflictException", 409, "unavailable"],
    ["ServiceException", 500, "unavailable"],
  ]) {
    handler.behave = () => ({ fault: [fault, status, "secret pears"] });
    const error = await rejects(memory.append("s", [user("secret pears")]), "memory-service");
    assert.deepEqual([error.details.reason, error.details.status, error.cause.name], [reason, status, fault]);
    assert.doesNotMatch(error.message, /pears/);
  }
  handler.behave = () => ({ stall: true });
  assert.equal((await rejects(memory.getAll("s"), "memory-service")).details.reason, "timeout");
  const controller = new AbortController();
  const waiting = memory.getAll("s", { signal: controller.signal, timeout: 10_000 });
  controller.abort();
  await rejects(waiting, "cancelled");
  for (const options of [
    {},
    { memoryId: "" },
    { memoryId: MEMORY_ID, actorId: " " },
    { memoryId: MEMORY_ID, client: {} },
    { memoryId: MEMORY_ID, messagesPerEvent: 0 },
    { memoryId: MEMORY_ID, memoryid: "x" },
  ])
    assert.throws(
      () => agentcoreMemory(options),
      (error) => error instanceof ThreadkeepError && error.code === "bad-request",
    );
  assert.equal(agentcoreMemory({ memoryId: "arn:aws:bedrock:us-west-2:123456:memory/my-memory", region: "us-west-2" }).name, "agentcore");
});

test("beside a keep: down, throttled, answers lost; everything arrives once and in order", { timeout: 60_000 }, async () => {
  const { handler, memory } = agentcore();
  const keep = await keepInMemory();
  const errors = [];
  const store = hybrid({ keep, memory, retryDelay: 1, maxRetryDelay: 3, batchSize: 5, onMemoryError: (error) => errors.push(error) });
  let calls = 0;
  handler.behave = () => {
    calls += 1;
    return [undefined, { lose: true }, { fault: ["ThrottledException", 429] }, undefined, { fault: ["ServiceException", 500] }][calls % 5];
  };
  for (let at = 0; at < 40; at += 1) await store.append("main", [user(`m${at}`)]);
  await until(async () => (await store.pending("main")) === 0);
  assert.deepEqual(handler.told(), texts(await keep.thread("main").messages()));
  assert.ok(errors.length > 5);
  // What it cannot take is left out, the rest goes on.
  handler.behave = ({ operation, body }) =>
    operation === "CreateEvent" && JSON.stringify(body).includes("too much") ? { fault: ["ValidationException", 400] } : undefined;
  await store.append("main", [user("x"), user("too much"), user("y")]);
  await until(async () => (await store.pending("main")) === 0);
  assert.deepEqual(handler.told().slice(40), ["x", "y"]);
  assert.equal(await keep.thread("main").count(), 43);
  await store.close();
});

test("beside a keep: records come into prompts, inside the budget", slow, async () => {
  const { handler, memory } = agentcore();
  const keep = await keepInMemory();
  const store = hybrid({ keep, memory });
  handler.remember("The user prefers pears.", "/actors/ann");
  await store.append("main", [user("Which fruit does the user like? Pears?")]);
  const { messages, tokens, memories } = await store.context("main", { budget: { maxTokens: 180 } });
  assert.ok(tokens <= 180);
  assert.deepEqual([memories.length, messages[0].role], [1, "user"]);
  assert.match(messages[0].content, /^\[Quoted .*\n> Relevant memories from previous conversations:\n> - The user prefers pears\.\n/);
  assert.deepEqual(
    (await store.search("main", "pears")).map(({ metadata }) => metadata.namespaces),
    [["/actors/ann"]],
  );
  await store.close();
});
