// Settings that are stored: a prompt that a thread shows is the request that an agent sends, byte for byte.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { startModelServer } from "../../tests/support/model-server.mjs";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, connect, createAgent, memory, rejects, user } from "./support/expect.mjs";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
let server;

before(async () => {
  server = await startModelServer();
});
after(() => server.close());
afterEach(() => server.reset());

/** Twelve turns, the fifth with a long answer. */
const HISTORY = Array.from({ length: 12 }, (_, at) => [
  user(`Question ${at}: how high is the tide at the pier?`),
  { role: "assistant", content: `Answer ${at}: ${"two metres and a half, ".repeat(at === 4 ? 300 : 3)}as measured.` },
]).flat();

/** What is stored for the keep, the transcript and the thread, and which of the messages are pinned. */
const CASES = [
  {},
  ...[200, 400, 800, 1_600, 6_000].map((maxTokens) => ({ keep: { budget: { maxTokens, maxOutputTokens: 100 } } })),
  { thread: { budget: { maxMessages: 4 } } },
  { thread: { budget: { maxChars: 900 } } },
  { transcript: { budget: { maxContextTokens: 2_000, maxOutputTokens: 300, safetyMargin: 10 } } },
  { keep: { policy: "newest", budget: { maxTokens: 700 } } },
  { keep: { policy: "stable", budget: { maxTokens: 700 } } },
  { keep: { budget: { maxTokens: 900 } }, thread: { policy: "newest" } },
  { keep: { budget: { maxTokens: 300 } }, transcript: { budget: { maxTokens: 900 } }, thread: { budget: { maxTokens: 500 } } },
  { keep: { systemPrompt: "Answer in one sentence." } },
  { keep: { systemPrompt: "Answer in one sentence." }, thread: { systemPrompt: "Answer in two." } },
  { keep: { mode: "chat" } },
  { keep: { mode: "agent", persona: "You are the harbour master." } },
  { thread: { mode: "run", persona: "You count.", run: { directive: "Count the tides.", step: 2 } } },
  { pins: [0] },
  { pins: [0, 7], keep: { budget: { maxTokens: 400 } } },
  { pins: [9], thread: { budget: { maxMessages: 3 } } },
  { facts: ["The pier is in Bergen."] },
  { facts: ["The pier is in Bergen.", "Ann likes metres."], keep: { memory: { facts: 1 } } },
  { facts: ["The pier is in Bergen."], keep: { memory: false } },
  { facts: ["The pier is in Bergen."], keep: { budget: { maxTokens: 500 }, memory: { maxTokens: 40 } } },
  { compact: {} },
  { compact: {}, keep: { compaction: { keepTurns: 2 } } },
  { compact: {}, keep: { compaction: { strategy: "sliding-window", keepTurns: 3 } }, pins: [2] },
  { compact: {}, thread: { budget: { maxTokens: 450 } } },
  { keep: { render: { reasoning: false }, compressHistory: true } },
  { keep: { toolPreview: false, budget: { maxTokens: 2_500 } } },
];

/** The payload as an endpoint of that provider gets it: what connections add for it is told at `request` in `crates/provider`. */
function atEndpoint(provider, { max_completion_tokens, ...payload }) {
  if (provider === "openai-chat") return { ...payload, stream_options: { include_usage: true }, max_tokens: max_completion_tokens };
  if (provider === "openai-responses") return { ...payload, max_completion_tokens, store: false };
  const { model, stream, ...rest } = payload;
  return provider === "gemini" ? rest : { model, stream, ...rest };
}

test("the body that a server receives is the payload that the thread shows, for thirty settings and five providers", async () => {
  assert.ok(CASES.length >= 30, String(CASES.length));
  for (const [number, { keep: ofKeep, transcript, thread, pins = [], facts = [], compact }] of CASES.entries()) {
    const provider = PROVIDERS[number % PROVIDERS.length];
    const records = new Map();
    const open = () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" });
    const keep = await open();
    const nodes = await keep.thread("c").append(HISTORY);
    if (ofKeep) await keep.settings.set(null, ofKeep);
    if (transcript) await keep.settings.set(nodes[0].transcript, transcript);
    for (const at of pins) await keep.at(nodes[at].id).pin();
    for (const text of facts) await keep.memory.remember({ fact: text, kind: "preference" });
    if (compact) assert.notEqual((await keep.thread("c").compact(compact)).checkpoint, null);
    const shadow = await keep.thread("c").fork("shadow");
    for (const name of ["c", "shadow"]) if (thread) await keep.settings.set(name, thread);
    const model = connect({ provider, baseUrl: server.baseUrl(provider), model: "test-model", apiKey: "sk-test-0123456789" });
    const agent = createAgent({ keep, model, name: "lal", user: "ann" });
    server.next({ text: "As before." });
    const before = records.size;
    const next = await agent.nextRequest("And tomorrow, at the pier in Bergen?", { conversation: "c" });
    assert.deepEqual([records.size, server.requests.length], [before, 0], "nothing is stored, and nobody is asked");
    await agent.send("And tomorrow, at the pier in Bergen?", { conversation: "c" });
    await shadow.append([user("And tomorrow, at the pier in Bergen?")]);
    const settings = await keep.settings.get("shadow");
    // What an agent says of its own: its model, what it takes, and the defaults of an agent.
    const shown = await shadow.context({
      provider,
      model: "test-model",
      render: { ...settings.render, stream: true },
      ...(settings.policy ? {} : { policy: "stable" }),
      ...("memory" in settings ? {} : { memory: {} }),
      budget: { maxOutputTokens: 8_000, ...(settings.budget ?? {}) },
    });
    assert.equal(shown.overBudget, false, `case ${number}`);
    assert.equal(server.requests.length, 1, `case ${number}`);
    const what = `case ${number}, ${provider}`;
    assert.deepEqual(server.requests[0].body, JSON.parse(JSON.stringify(atEndpoint(provider, shown.payload))), what);
    assert.deepEqual([JSON.stringify(next.body), next.compacts], [server.requests[0].text, false], what);
    assert.equal(next.context.tokens, shown.tokens, what);
    // Their endpoints need nothing more.
    if (["anthropic", "ollama"].includes(provider)) assert.equal(server.requests[0].text, JSON.stringify(shown.payload), what);
    await keep.close();
    // And again after a restart, from a record that is small.
    const later = await open();
    const [sent, ...more] = await later.requests.list("c");
    assert.deepEqual(more, []);
    assert.ok(JSON.stringify(sent).length < 1_024, JSON.stringify(sent));
    const again = await later.requests.get(sent.id);
    assert.equal(JSON.stringify(again.body), server.requests[0].text, what);
    assert.deepEqual([again.differs, again.record, again.context.tokens], [null, sent, sent.tokens]);
    assert.deepEqual([sent.outcome, sent.provider, sent.model, sent.agent], ["stop", provider, "test-model", "lal"]);
    assert.ok(sent.usage.promptTokens > 0, what);
    await later.close();
    server.reset();
  }
});

test("the next request of a thread that does not exist yet, of a reply, and of one that will be compacted", async () => {
  const keep = await memory({ encoding: "estimate" });
  const bodies = [];
  const model = async ({ payload }) => {
    bodies.push(JSON.stringify(payload));
    return { message: { role: "assistant", content: "yes. ".repeat(600) }, usage: { promptTokens: 100 * bodies.length, completionTokens: 1 } };
  };
  const compaction = { maxContextTokens: 3_000, maxOutputTokens: 500, keepTurns: 1, summarize: false };
  const agent = createAgent({ keep, model, systemPrompt: "You are Lal.", compaction });
  let reply;
  for (const options of [{ conversation: "new" }, {}, "reply"]) {
    const how = options === "reply" ? { replyTo: reply } : options;
    const next = await agent.nextRequest("how high?", how);
    ({ reply } = await agent.send("how high?", how));
    assert.equal(JSON.stringify(next.body), bodies.at(-1));
    assert.equal(next.compacts, false);
  }
  for (let turns = 0; !(await agent.nextRequest("and now?", { conversation: "new" })).compacts; turns += 1) {
    assert.ok(turns < 20, "a long conversation is compacted");
    await agent.send("and now?", { conversation: "new" });
  }
  await rejects(agent.nextRequest("", { from: "ann" }), "bad-request", /from/);
  await agent.close();
  await rejects(agent.nextRequest("hi"), "closed");
  await keep.close();
});

test("requests say what was sent, and go with their thread", async () => {
  const keep = await memory({ encoding: "estimate" });
  const bodies = [];
  const model = async ({ payload }) => {
    bodies.push(JSON.stringify(payload));
    return { message: { role: "assistant", content: "yes" }, usage: { promptTokens: 90, completionTokens: 1, cachedTokens: 64 } };
  };
  const agent = createAgent({ keep, model, user: "ann" });
  const asked = [];
  const send = async (text, conversation) => {
    for await (const event of agent.send(text, { conversation })) if (event.type === "asked") asked.push(event.request);
  };
  for (const text of ["one", "two", "three"]) await send(text, "c");
  await send("elsewhere", "d");
  const list = await keep.requests.list("c");
  assert.deepEqual(
    list.map(({ id }) => id),
    asked.slice(0, 3),
  );
  assert.deepEqual(await keep.requests.list("c", { limit: 1 }), list.slice(2));
  assert.deepEqual(list[0].usage, { promptTokens: 90, completionTokens: 1, cachedTokens: 64 });
  for (const [at, { id }] of list.entries()) {
    const { body, options } = await keep.requests.get(id);
    assert.equal(JSON.stringify(body), bodies[at]);
    assert.equal(options.policy, "stable");
  }
  await rejects(keep.requests.get("nothing"), "bad-request", /id names no request/);
  await rejects(keep.requests.list("nothing"), "missing-node");
  await rejects(keep.requests.list("c", { limit: -1 }), "bad-request", /limit/);
  await keep.transcript(list[0].transcript).delete();
  await rejects(keep.requests.get(list[0].id), "bad-request");
  assert.equal((await keep.requests.list("d")).length, 1);
  await keep.settings.set("d", { journal: false });
  await send("unseen", "d");
  assert.deepEqual([asked.at(-1), (await keep.requests.list("d")).length], [null, 1]);
  await keep.close();
});

test("a request of one's own is noted with its usage, if it asks for that", async () => {
  const keep = await memory({ encoding: "estimate" });
  const thread = keep.thread("c");
  await thread.append(HISTORY);
  assert.equal("request" in (await thread.context()), false);
  const { payload, request } = await thread.context({ provider: "gemini", budget: { maxTokens: 500 }, record: true });
  await thread.append([{ role: "assistant", content: "Two metres." }]);
  assert.equal(await thread.afterResponse({ promptTokens: 480, completionTokens: 4, cachedTokens: 100, request }), null);
  const [record] = await keep.requests.list("c");
  assert.deepEqual(record.usage, { promptTokens: 480, completionTokens: 4, cachedTokens: 100 });
  const again = await keep.requests.get(request);
  assert.deepEqual([again.body, again.differs], [payload, null]);
  await rejects(thread.afterResponse({ promptTokens: 1, request: "x" }), "bad-request", /names no request/);
  await rejects(thread.afterResponse({ promptTokens: -1 }), "bad-request", /promptTokens/);
  await rejects(keep.settings.set(null, { record: true }), "bad-request", /options\.record/);
  await keep.close();
});

test("requests have costs, by the table and by one's own prices", async () => {
  const keep = await memory({ encoding: "estimate" });
  for (const [name, model] of [
    ["c", "gpt-5-mini"],
    ["d", "house-model"],
  ]) {
    const thread = keep.thread(name);
    await thread.append(HISTORY);
    const { request } = await thread.context({ model, record: true });
    await thread.afterResponse({ promptTokens: 1_000_000, completionTokens: 1_000_000, cachedTokens: 600_000, request });
  }
  // 400,000 at 25 cents a million, 600,000 at 2.5 cents, a million at 2 dollars.
  const [{ cost }] = await keep.requests.list("c");
  assert.equal(cost.toFixed(6), "2.115000");
  const whole = await keep.requests.costs(null);
  assert.deepEqual([whole.total.requests, whole.total.unpriced, whole.total.dollars], [2, 1, cost]);
  assert.deepEqual(
    whole.models.map(([model]) => model),
    ["gpt-5-mini", "house-model"],
  );
  assert.equal(whole.total.usage.cachedTokens, 1_200_000);
  assert.match(whole.pricesOf, /^20\d\d-\d\d-\d\d$/);
  const [[day, ofDay], ...more] = whole.days;
  assert.ok(more.length === 0 && ofDay.requests === 2 && !Number.isNaN(Date.parse(day)), day);
  const prices = [{ model: "house-model", input: 1, output: 2, cacheRead: 0.5 }];
  assert.equal((await keep.requests.costs("d", { prices })).total.dollars.toFixed(6), "2.700000");
  assert.equal((await keep.requests.list("d", { prices }))[0].cost.toFixed(6), "2.700000");
  assert.equal((await keep.requests.list("d"))[0].cost, undefined);
  await rejects(keep.requests.costs(null, { prices: [{ model: "x", input: -1, output: 1 }] }), "bad-request", /prices\[0\]\.input/);
  await rejects(keep.requests.costs(null, { prices: [{ model: "x", input: 1 }] }), "bad-request", /output/);
  await rejects(keep.requests.costs("nothing"), "missing-node");
  await keep.close();
});

test("settings are there after a restart, and an agent's own options win over them", async () => {
  const records = new Map();
  const open = () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" });
  const first = await open();
  const [node] = await first.thread("c").append(HISTORY);
  await first.settings.set(null, { systemPrompt: "Of the keep.", budget: { maxMessages: 5 } });
  await first.settings.set("c", { systemPrompt: "Of the thread." });
  await first.at(node.id).pin();
  await first.close();
  const keep = await open();
  assert.deepEqual(await keep.settings.get("c"), { systemPrompt: "Of the thread.", budget: { maxMessages: 5 } });
  assert.deepEqual(await keep.settings.get("c", { own: true }), { systemPrompt: "Of the thread." });
  assert.deepEqual(await keep.settings.get(node.id), { systemPrompt: "Of the keep.", budget: { maxMessages: 5 } });
  assert.deepEqual(await keep.thread("c").pins(), [node.id]);
  const prompts = [];
  const model = async ({ messages }) => (prompts.push(messages.map(({ content }) => content)), "yes");
  await createAgent({ keep, model, context: { systemPrompt: "Of the agent." } }).send("now", { conversation: "c" });
  assert.equal(prompts[0][0], "Of the agent.");
  assert.ok(prompts[0].includes(HISTORY[0].content), "the pinned message");
  assert.equal(prompts[0].length, 5);
  await keep.at(node.id).unpin();
  assert.deepEqual(await keep.thread("c").pins(), []);
  await keep.settings.set("c", null);
  assert.deepEqual(await keep.settings.get("c", { own: true }), {});
  await keep.close();
});

test("a wrong setting names its path, and nothing is stored", async () => {
  const keep = await memory({ encoding: "estimate" });
  const nodes = await keep.thread("c").append(HISTORY);
  await rejects(keep.settings.set("c", { budget: { tokens: 9 } }), "bad-request", /options\.budget\.tokens/);
  await rejects(keep.settings.set("c", { pins: [0] }), "bad-request", /options\.pins .*pin the node/);
  await rejects(keep.settings.set(nodes[3].id, { model: "m" }), "bad-request", /^at must be/);
  await rejects(keep.settings.set("", {}), "bad-request", /at/);
  await rejects(keep.at("nobody").pin(), "missing-node");
  assert.deepEqual(await keep.settings.get("c"), {});
  await keep.close();
});

test("an agent compacts as the settings say, and never if they say so", async () => {
  for (const [compaction, summarised] of [
    [{ compactionThreshold: 4, keepTurns: 1 }, true],
    [false, false],
  ]) {
    const keep = await memory({ encoding: "estimate" });
    await keep.thread("c").append(HISTORY);
    await keep.settings.set(null, { compaction, summarizer: "rules" });
    const agent = createAgent({ keep, model: async () => "yes" });
    for (const text of ["one", "two"]) await agent.send(text, { conversation: "c" });
    assert.equal((await keep.thread("c").checkpoints()).length > 0, summarised);
    await keep.close();
  }
});

test("a thread expires by its own time to live before that of the keep", async () => {
  const adapter = mapAdapter();
  const keep = await Threadkeep.open({ storage: adapter });
  for (const name of ["usual", "short", "never"]) await keep.thread(name).append([user("hello")]);
  await keep.settings.set(null, { ttl: 3_600 });
  await keep.settings.set("short", { ttl: 1 });
  await keep.settings.set("never", { ttl: false });
  await rejects(keep.settings.set(null, { ttl: 0 }), "bad-request", /options\.ttl must be false or a whole number of seconds from 1/);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const gone = await keep.settings.expire();
  assert.deepEqual(
    gone.map(({ name }) => name),
    ["short"],
  );
  // It is stored, and what expired left nothing.
  await keep.close();
  const again = await Threadkeep.open({ storage: adapter });
  assert.deepEqual(
    [(await again.settings.get("usual")).ttl, (await again.settings.get("never")).ttl, (await again.settings.get("short")).ttl],
    [3_600, false, 3_600],
  );
  assert.deepEqual((await again.threads()).map(({ name }) => name).sort(), ["never", "usual"]);
  assert.equal((await again.transcripts()).length, 2);
  await again.close();
});

test("listeners hear that settings changed", async () => {
  const keep = await memory({ encoding: "estimate" });
  const heard = [];
  keep.on("change", (event) => heard.push([event.type, event.at]));
  await keep.settings.set(null, { policy: "stable" });
  await keep.settings.set("c", { policy: "newest" });
  assert.deepEqual(heard, [
    ["settings", null],
    ["settings", "c"],
  ]);
  await keep.close();
});

test("a model that a host adds has its window, margin and ratio in contexts, agents and compactions", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.settings.set(null, { models: [{ name: "acme", maxContextTokens: 1_000, maxOutputTokens: 100, safetyMargin: 50, tokenRatio: 1.25 }] });
  const thread = keep.thread("t");
  await thread.append([user("hi")]);
  assert.equal((await thread.context({ model: "gateway/acme-small" })).budget.tokens, 680);
  assert.equal((await thread.context({ model: "other" })).budget.tokens, null);
  const agent = createAgent({ keep, modelName: "acme-small", model: async () => "hello" });
  const { context, body } = await agent.nextRequest("hi", { conversation: "t" });
  assert.deepEqual([context.budget.tokens, body.max_completion_tokens], [680, 100]);
  assert.equal(await thread.afterResponse({ promptTokens: 680 }, { model: "acme-small" }), null);
  assert.equal(await thread.afterResponse({ promptTokens: 851 }, { model: "acme-small" }), "over-budget");
  for (const models of [[{ name: "a", tokenRatio: 9 }], [{}], [{ name: "a", size: 1 }]]) await rejects(keep.settings.set(null, { models }), "bad-request");
  await keep.close();
});
