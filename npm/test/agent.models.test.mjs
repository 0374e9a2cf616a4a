// Agents on the clients of others, against a server that speaks the providers' own protocols and makes their mistakes; and the
// examples, run as they stand.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, streamText } from "ai";
import OpenAI from "openai";
import { startModelServer } from "../../tests/support/model-server.mjs";
import { all, lal } from "./support/agents.mjs";
import { connect, forAiSdk, memory, rejects } from "./support/expect.mjs";
import { installed, project, source } from "./support/installed.mjs";

const server = await startModelServer({ key: "test-key" });
after(() => server.close());
beforeEach(() => server.reset());

const openaiUrl = server.baseUrl("openai-chat");
const anthropicUrl = server.baseUrl("anthropic");
const openai = new OpenAI({ apiKey: "test-key", baseURL: openaiUrl, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "test-key", baseURL: anthropicUrl, maxRetries: 0 });
const provider = createOpenAICompatible({ name: "test", apiKey: "test-key", baseURL: openaiUrl, includeUsage: true });
const post = (url, headers, { payload, signal }) => fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(payload), signal });
const whole = ({ stream_options: _, ...payload }) => ({ ...payload, stream: false });

/** The clients, as a model's function each, and the form that they take. */
const CLIENTS = {
  "OpenAI's client": ["openai-chat", ({ payload, signal }) => openai.chat.completions.create(payload, { signal })],
  "OpenAI's client, not streamed": ["openai-chat", ({ payload, signal }) => openai.chat.completions.create(whole(payload), { signal })],
  "Anthropic's client": ["anthropic", ({ payload, signal }) => anthropic.messages.create(payload, { signal })],
  "Anthropic's client, not streamed": ["anthropic", ({ payload, signal }) => anthropic.messages.create(whole(payload), { signal })],
  "the AI SDK": ["openai-chat", (request) => streamText({ model: provider("test-model"), ...forAiSdk(request, jsonSchema), maxRetries: 0, onError() {} })],
  "fetch, in OpenAI's form": ["openai-chat", (request) => post(`${openaiUrl}/chat/completions`, { authorization: "Bearer test-key" }, request)],
  "fetch, in Anthropic's form": ["anthropic", (request) => post(`${anthropicUrl}/v1/messages`, { "x-api-key": "test-key" }, request)],
};
const streams = ([name]) => !name.includes("not streamed");

async function talking(client, form) {
  const keep = await memory({ encoding: "estimate" });
  return { keep, agent: lal(keep, client, { modelName: "test-model", provider: form }) };
}

for (const [name, [form, client]] of Object.entries(CLIENTS)) {
  test(`${name}: text, reasoning, tools and usage come across, and go back`, async () => {
    const calls = [{ name: "add", arguments: { a: 1, b: 2 } }, { name: "add", arguments: { a: 3, b: 4 } }];
    server.next({ text: "Let me see: ä€𝄞.", reasoning: "Sums.", calls, usage: { prompt: 120, completion: 30, cached: 100 } }, { text: "3 and 7.", usage: { prompt: 150, completion: 4 } });
    const { keep, agent } = await talking(client, form);
    const turn = agent.send("add");
    const events = await all(turn);
    const { node, text } = await turn;
    assert.equal(text, "3 and 7.");
    const [, called, ...rest] = (await keep.node(node)).messages;
    assert.deepEqual([called.content, called.reasoning], ["Let me see: ä€𝄞.", "Sums."]);
    assert.deepEqual(called.tool_calls.map(({ function: call }) => [call.name, JSON.parse(call.arguments)]), calls.map((call) => [call.name, call.arguments]));
    assert.deepEqual(rest.map(({ content }) => content), ["3", "7", "3 and 7."]);
    const usage = events.filter(({ type }) => type === "said").map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]);
    assert.deepEqual(usage, [[120, 30], [150, 4]]);
    assert.equal(events.find(({ type }) => type === "said").cachedTokens, 100);
    const heard = (field) => events.filter(({ type }) => type === "delta").map((delta) => delta[field] ?? "").join("");
    assert.deepEqual([heard("text"), heard("reasoning")], ["Let me see: ä€𝄞.3 and 7.", "Sums."]);
    const [first, second] = server.requests.map(({ body }) => body);
    assert.equal(first.model, "test-model");
    assert.ok(first.tools.some((tool) => (tool.function ?? tool).name === "add"));
    assert.match(JSON.stringify(second.messages), /"3".*"7"/s);
    if (form === "anthropic") assert.match(JSON.stringify(second.messages), /"thinking":"Sums\.","signature":/);
    await keep.close();
  });

  test(`${name}: each fault ends in a code and words, and the next turn works`, async () => {
    const faults = [
      [{ fault: "status", status: 429 }, "rate-limited"],
      [{ fault: "status", status: 500 }, "overloaded"],
      [{ fault: "status", status: 401 }, "unauthorized"],
      [{ fault: "too-long" }, "too-long"],
      [{ fault: "refuse" }, "unreachable"],
      ...(streams([name]) ? [[{ fault: "cut" }, "cut-off"], [{ fault: "end" }, "cut-off"], [{ fault: "error", status: 529, type: "overloaded_error" }, "overloaded"]] : []),
      [{ fault: "html" }, /bad-answer|cut-off/],
      [{ fault: "empty" }, /bad-answer|cut-off/],
    ];
    const { keep, agent } = await talking(client, form);
    let replyTo;
    for (const [fault, code] of faults) {
      server.reset();
      server.next({ text: "Good day to you.", ...fault }, { text: "Better now." });
      const failed = await agent.send("hi", { replyTo });
      const { kind } = (await keep.node(failed.node)).messages.at(-1);
      assert.equal(failed.outcome, "failed", JSON.stringify(fault));
      assert.match(kind.code, code instanceof RegExp ? code : new RegExp(`^${code}$`), `${JSON.stringify(fault)}: ${kind.reason}`);
      assert.ok(kind.reason.length > 3 && !kind.reason.includes("test-key"), kind.reason);
      const next = await agent.send("again?", { replyTo: failed.reply });
      assert.deepEqual([next.outcome, next.text], ["answered", "Better now."], JSON.stringify(fault));
      replyTo = next.reply;
    }
    await keep.close();
  });
}

for (const [name, [form, client]] of Object.entries(CLIENTS).filter(streams)) {
  test(`${name}: stopping ends the request, and what was said stays`, async () => {
    server.next({ text: "A long story that breaks off here.", fault: "stall", after: form === "anthropic" ? 5 : 4 }, { text: "Yes?" });
    const { keep, agent } = await talking(client, form);
    const turn = agent.send("tell me");
    for await (const event of turn) if (event.type === "delta" && event.text) turn.stop();
    const { outcome, node, reply } = await turn;
    const last = (await keep.node(node)).messages.at(-1);
    assert.deepEqual([outcome, reply, last.kind.code], ["cancelled", null, "cancelled"]);
    assert.ok(last.content.length > 0 && "A long story that breaks off here.".startsWith(last.content), last.content);
    while (!server.requests[0].aborted) await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal((await agent.send("hello?", { replyTo: node })).text, "Yes?");
    await keep.close();
  });
}

test("arguments that are no JSON go back to the model as an error of the tool", async () => {
  for (const [name, [form, client]] of Object.entries(CLIENTS).filter(streams)) {
    server.reset();
    server.next({ calls: [{ name: "add", arguments: { a: 1, b: 2 } }], fault: "arguments" }, { text: "Sorry." });
    const { keep, agent } = await talking(client, form);
    const { node, text } = await agent.send("add");
    const result = (await keep.node(node)).messages.find(({ role }) => role === "tool");
    assert.deepEqual([text, result.is_error], ["Sorry.", true], name);
    await keep.close();
  }
});

test("a wrong usage changes nothing", async () => {
  for (const usage of ["negative", "text", "absurd", null])
    for (const [name, [form, client]] of Object.entries(CLIENTS)) {
      server.reset();
      server.next({ text: "Fine.", usage });
      const { keep, agent } = await talking(client, form);
      assert.equal((await agent.send("hi")).text, "Fine.", `${name}: ${usage}`);
      await keep.close();
    }
});

test("server-sent events are read wherever they are cut", async () => {
  const [form, client] = CLIENTS["fetch, in OpenAI's form"];
  for (const chunk of [1, 2, 3, 7]) {
    server.next({ text: "ä€𝄞 in pieces.", pieces: 1, chunk });
    const { keep, agent } = await talking(client, form);
    assert.equal((await agent.send("hi")).text, "ä€𝄞 in pieces.");
    await keep.close();
  }
});

// Connections

const WIRES = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
const connection = (wire, more = {}) => connect({ provider: wire, baseUrl: server.baseUrl(wire), model: "test-model", apiKey: "test-key", ...more });

for (const wire of WIRES) {
  test(`a connection, ${wire}: text, reasoning and tools come across, faults end in words, stopping ends the request`, async () => {
    server.next({ text: "Let me see: ä€𝄞.", reasoning: "Sums.", calls: [{ name: "add", arguments: { a: 1, b: 2 } }], usage: { prompt: 120, completion: 30 } }, { text: "It is 3." });
    const keep = await memory({ encoding: "estimate" });
    const agent = lal(keep, connection(wire));
    const turn = agent.send("add");
    const events = await all(turn);
    const { node, text, reply } = await turn;
    const [, called, result] = (await keep.node(node)).messages;
    assert.deepEqual([text, called.content, called.reasoning, result.content], ["It is 3.", "Let me see: ä€𝄞.", "Sums.", "3"]);
    assert.equal(events.find(({ type }) => type === "said").promptTokens, 120);
    assert.equal(events.filter(({ type }) => type === "delta").map((delta) => delta.text ?? "").join(""), "Let me see: ä€𝄞.It is 3.");

    server.reset();
    server.next({ fault: "status", status: 429, retryAfterMs: 1 }, { text: "Now." });
    const again = agent.send("busy?", { replyTo: reply });
    const retries = (await all(again)).filter(({ retry }) => retry !== undefined);
    assert.deepEqual([(await again).text, retries.length, retries[0]?.attempt], ["Now.", 1, 2]);

    const faults = [[{ fault: "status", status: 401 }, "unauthorized"], [{ fault: "too-long" }, "too-long"], [{ fault: "cut", after: 6, text: "Broken off in the middle of it all." }, "cut-off"], [{ fault: "html" }, "bad-answer"]];
    for (const [fault, code] of faults) {
      server.reset();
      server.next({ text: "So.", ...fault }, { text: "Fine." });
      const failed = await agent.send("hi");
      const { kind } = (await keep.node(failed.node)).messages.at(-1);
      assert.deepEqual([failed.outcome, kind?.code], ["failed", code], kind?.reason);
      assert.doesNotMatch(kind.reason, /test-key/);
      assert.equal((await agent.send("and?", { replyTo: failed.reply })).text, "Fine.");
    }

    server.reset();
    server.next({ text: "A long story, of which only the beginning is told.", fault: "stall", after: 6 });
    const stopped = agent.send("tell me");
    for await (const { type } of stopped) if (type === "delta") stopped.stop();
    assert.equal((await stopped).outcome, "cancelled");
    while (!server.requests[0].aborted) await new Promise((resolve) => setTimeout(resolve, 2));
    await keep.close();
  });
}

test("a connection lists models, and summarises", async () => {
  for (const wire of WIRES) {
    const listed = await connection(wire).models();
    assert.ok(listed.some(({ id }) => id === "test-model"), wire);
    await rejects(connection(wire, { apiKey: "wrong-key" }).models(), "unauthorized");
  }
  const keep = await memory({ encoding: "estimate" });
  const words = "with some words to it, so that it is worth a summary, ".repeat(4);
  await keep.append("main", Array.from({ length: 16 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `Number ${at} ${words}` })));
  server.next({ text: '{"statements": ["Six numbers were named."]}' });
  const { summarize } = connection("anthropic");
  const { checkpoint, warnings, cost } = await keep.compact("main", { summarize });
  assert.deepEqual([warnings, cost.calls, checkpoint.statements[0].text], [[], 1, "Six numbers were named."]);
  await keep.close();
});

test("a connection that cannot be read is an error that shows no key", async () => {
  assert.throws(() => connect({ provider: "openai-chat", model: "m" }), { code: "bad-request" });
  assert.throws(() => connect({ provider: "openai-chat", baseUrl: "http://x", model: "m", key: "k" }), { code: "bad-request" });
  for (const [more, words] of [[{ provider: "mistral" }, /provider/], [{ baseUrl: "no address" }, /baseUrl/], [{ apiKey: "secret\nkey" }, /apiKey/]]) {
    const error = await rejects(connection("openai-chat", more).models(), "bad-request", words);
    assert.doesNotMatch(`${error.message} ${JSON.stringify(error.details)}`, /secret|test-key/);
  }
  const keep = await memory({ encoding: "estimate" });
  const { outcome, reason } = await lal(keep, connect({ provider: "openai-chat", baseUrl: "http://localhost:9", model: "m" })).send("hi");
  assert.equal(outcome, "failed");
  assert.match(reason, /cannot be reached at http:\/\/localhost:9/);
  await keep.close();
});

// The examples


/** A folder of somebody who has installed the package and the clients beside it. */
function home() {
  const folder = join(project, "examples");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "node_modules/@ai-sdk"), { recursive: true });
  mkdirSync(join(folder, "node_modules/@anthropic-ai"), { recursive: true });
  symlinkSync(installed, join(folder, "node_modules/threadkeep"), "dir");
  for (const name of ["openai", "ai", "@anthropic-ai/sdk", "@ai-sdk/openai-compatible"])
    symlinkSync(join(source, "node_modules", name), join(folder, "node_modules", name), "dir");
  for (const name of readdirSync(join(installed, "examples"))) copyFileSync(join(installed, "examples", name), join(folder, name));
  return folder;
}

/** Runs an example while the server of this process answers. */
function example(folder, name, questions) {
  const env = { PATH: process.env.PATH, MODEL: "test-model", OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: openaiUrl, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: anthropicUrl };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [name, ...questions], { cwd: folder, env });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    child.on("error", reject).on("close", (code) => resolve([code, said]));
  });
}

test("the examples run as they stand", async () => {
  const folder = home();
  const names = readdirSync(folder).filter((name) => name.endsWith(".mjs"));
  assert.deepEqual(names.sort(), ["agent-ai-sdk.mjs", "agent-anthropic.mjs", "agent-fetch.mjs", "agent-openai.mjs"]);
  for (const name of names) {
    server.reset();
    const call = (town) => ({ calls: [{ name: "weather", arguments: { town } }] });
    server.next(call("Oslo"), { text: "Clear, nine degrees." }, call("Bergen"), { text: "Rain." }, { fault: "status", status: 401, message: "the key has run out" });
    const [code, said] = await example(folder, name, ["Will it rain in Oslo?", "And in Bergen?", "And in Tromsø?"]);
    const [oslo, bergen] = [["Oslo", "clear"], ["Bergen", "rain"]].map(([town, sky]) => `[weather: ${JSON.stringify({ town, sky, celsius: 9 })}]\n`);
    assert.equal(code, 0, said);
    assert.ok(said.startsWith(`${oslo}Clear, nine degrees.\n${bergen}Rain.\nfailed: `), `${name}: ${said}`);
    assert.match(said, /the key has run out/);
    // The second question was asked in the chain of the first.
    const third = JSON.stringify(server.requests[2].body);
    assert.ok(["Will it rain in Oslo?", "Clear, nine degrees.", "And in Bergen?"].every((text) => third.includes(text)), name);
  }
});
