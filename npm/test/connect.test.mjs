// Models at the end of a connection: each wire, and each fault ends in a clear message, after which the next turn works. The server
// speaks the providers' wires; see tests/support/model-server.mjs.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { startModelServer } from "../../tests/support/model-server.mjs";
import { all } from "./support/agents.mjs";
import { ThreadkeepError, connect, createAgent, memory, rejects } from "./support/expect.mjs";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
let server;

before(async () => {
  server = await startModelServer();
});
after(() => server.close());
afterEach(() => server.reset());

const at = (provider, more = {}) => ({ provider, baseUrl: server.baseUrl(provider), model: "test-model", apiKey: "sk-test-0123456789", ...more });

async function agentOf(connection, more = {}) {
  const keep = await memory();
  const agent = createAgent({ keep, model: connect(connection), builtIn: [], context: { encoding: "estimate" }, ...more });
  return { keep, agent };
}

const add = { execute: ({ a, b }) => a + b, parameters: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } } };

for (const provider of PROVIDERS) {
  test(`${provider}: a turn with tools, streamed, with usage`, async () => {
    const { keep, agent } = await agentOf(at(provider), { tools: { add } });
    server.next(
      {
        text: "Let me see.",
        calls: [
          { name: "add", arguments: { a: 1, b: 2 } },
          { name: "add", arguments: { a: 3, b: 4 } },
        ],
        usage: { prompt: 21, completion: 5 },
      },
      { text: "Three and seven, I say.", usage: { prompt: 40, completion: 6 } },
    );
    const turn = agent.send("1 + 2, 3 + 4?");
    const events = await all(turn);
    const said = events.filter(({ type, text }) => type === "delta" && text !== undefined).map(({ text }) => text);
    assert.ok(said.length > 4, "it came in pieces");
    assert.equal(said.join(""), "Let me see.Three and seven, I say.");
    assert.deepEqual(
      events.filter(({ type }) => type === "called").map(({ result }) => result),
      ["3", "7"],
    );
    assert.deepEqual(
      events.filter(({ type }) => type === "said").map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]),
      [
        [21, 5],
        [40, 6],
      ],
    );
    assert.equal((await turn).text, "Three and seven, I say.");
    assert.equal(server.requests.length, 2);
    await keep.close();
  });
}

const FAULTS = [
  ["cut", { text: "half of what I wanted to say", fault: "cut", after: 3 }, /broke off|cut|ended/i],
  ["end", { text: "half of what I wanted to say", fault: "end" }, /broke off|cut|ended|middle/i],
  ["garbage", { text: "hello there", fault: "garbage" }, /no answer of a model/],
  ["html", { fault: "html" }, /page|HTML|address/i],
  ["empty", { fault: "empty" }, /nothing|empty|no answer/i],
  ["error", { text: "hello", fault: "error", status: 500, message: "the machine is tired" }, /tired/],
  ["refuse", { fault: "refuse" }, /reach|running|address|broke off/i],
  ["too-long", { fault: "too-long" }, /long|context|fit/i],
  ["status 401", { fault: "status", status: 401, message: "Incorrect API key" }, /key/i],
  ["status 404", { fault: "status", status: 404, message: "no such model" }, /model|address/i],
  ["status 400", { fault: "status", status: 400, message: "bad things" }, /bad things/],
  ["stall", { text: "hello", fault: "stall", after: 1 }, /within 1 s/, { timeoutMs: 200 }],
  ["silence", { fault: "silence" }, /within 1 s/, { timeoutMs: 200 }],
];

for (const [name, answer, words, more] of FAULTS) {
  test(`fault ${name}: the turn ends with a clear message, and the next one works`, async () => {
    const { keep, agent } = await agentOf(at("openai-chat", more));
    // A refused connection is tried again, so it is refused as often.
    server.always = answer;
    const { outcome, reason, reply, node } = await agent.send("hi");
    assert.equal(outcome, "failed", reason);
    assert.match(reason, words);
    assert.ok(!reason.includes("0123456789"), "no key is told");
    assert.equal(reply.isError, true);
    const { errors } = await keep.lint().then((errors) => ({ errors }));
    assert.deepEqual(errors, []);
    server.reset();
    server.next({ text: "Here I am." });
    const next = await agent.send("and now?", { replyTo: reply });
    assert.deepEqual([next.outcome, next.text], ["answered", "Here I am."]);
    assert.equal((await keep.node(next.node)).parent, node);
    await keep.close();
  });
}

test("fault 429 and 500: it is asked again, as the server says, and told while it waits", async () => {
  const { keep, agent } = await agentOf(at("openai-chat"));
  server.next({ fault: "status", status: 429, retryAfterMs: 5 }, { fault: "status", status: 500, retryAfterMs: 5 }, { text: "At last." });
  const turn = agent.send("hi");
  const retries = (await all(turn)).filter(({ retry }) => retry !== undefined);
  assert.deepEqual(
    retries.map(({ attempt }) => attempt),
    [2, 3],
  );
  assert.equal((await turn).text, "At last.");
  await keep.close();
});

test("fault wrong usage: the answer counts, the figures do not", async () => {
  for (const usage of ["negative", "text", "absurd"]) {
    const { keep, agent } = await agentOf(at("openai-chat"));
    server.next({ text: "Good day.", usage });
    const turn = agent.send("hi");
    const said = (await all(turn)).find(({ type }) => type === "said");
    assert.equal((await turn).text, "Good day.");
    assert.ok(said.promptTokens === undefined || said.promptTokens < 1e7, `${usage}: ${said.promptTokens}`);
    await keep.close();
  }
});

test("fault arguments in pieces or malformed: the model hears of it and goes on", async () => {
  for (const fault of ["arguments", "index", undefined]) {
    const { keep, agent } = await agentOf(at("openai-chat"), { tools: { add } });
    server.next({ calls: [{ name: "add", arguments: { a: 1, b: 2 } }], fault, pieces: 1 }, { text: "Done." });
    const turn = agent.send("add");
    const called = (await all(turn)).find(({ type }) => type === "called");
    assert.equal(called.isError, fault === "arguments", called.result);
    assert.equal((await turn).text, "Done.");
    await keep.close();
  }
});

test("stopping ends the request, and keeps what was said", async () => {
  const { keep, agent } = await agentOf(at("openai-chat"));
  server.next({ text: "one two three four five six seven eight", delay: 30 });
  const turn = agent.send("count");
  for await (const event of turn) if (event.type === "delta") break;
  agent.stop();
  const { outcome, node } = await turn;
  assert.equal(outcome, "cancelled");
  assert.match((await keep.node(node)).messages.at(-1).content, /^one/);
  for (let tries = 0; !server.requests[0].aborted && tries < 200; tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(server.requests[0].aborted, "the server sees that nobody waits");
  await keep.close();
});

test("an answer has only what the provider counted", async () => {
  const asked = { messages: [{ role: "user", content: "Hello" }], signal: new AbortController().signal, onDelta: () => undefined };
  server.next({ text: "Hello.", usage: null }, { text: "Hello.", usage: { prompt: 21, completion: 5 } });
  const model = connect(at("openai-chat"));
  assert.equal("usage" in (await model(asked)), false);
  assert.deepEqual((await model(asked)).usage, { promptTokens: 21, completionTokens: 5 });
});

test("a connection summarises, too", async () => {
  const keep = await memory();
  const turns = Array.from({ length: 24 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `Message ${at}: we decided to paint wall number ${at} blue. ${"And so on. ".repeat(20)}`,
  }));
  await keep.thread("main").append(turns);
  server.always = () => ({ text: JSON.stringify({ statements: ["The walls are painted blue."], facts: [] }) });
  const { checkpoint } = await keep.thread("main").compact({ summarize: connect(at("openai-chat")).summarize, encoding: "estimate" });
  assert.equal(checkpoint.summariser, "test-model");
  assert.equal(server.requests[0].body.model, "test-model");
  await keep.close();
});

test("an endpoint's models are listed; what is no connection is refused", async () => {
  const models = await connect(at("openai-chat")).models();
  assert.ok(models.some(({ id }) => id === "test-model"));
  assert.throws(
    () => connect({ provider: "openai-chat", baseURL: "x", model: "m" }),
    (error) => error instanceof ThreadkeepError && error.code === "bad-request",
  );
  await rejects(connect({ provider: "openai-chat", baseUrl: "no address", model: "m" }).models(), "bad-request");
});
