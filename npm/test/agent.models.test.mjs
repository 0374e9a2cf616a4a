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
import { forAiSdk, memory } from "./support/expect.mjs";
import { installed, project, source } from "./support/installed.mjs";

const server = await startModelServer({ key: "test-key" });
after(() => server.close());
beforeEach(() => server.reset());

const openaiUrl = server.baseUrl("openai-chat");
const anthropicUrl = server.baseUrl("anthropic");
const openai = new OpenAI({ apiKey: "test-key", baseURL: openaiUrl, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "test-key", baseURL: anthropicUrl, maxRetries: 0 });
const provider = createOpenAICompatible({ name: "test", apiKey: "test-key", baseURL: openaiUrl, includeUsage: true });
const post = (url, headers, { payload, signal }) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(payload), signal });
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
    const calls = [
      { name: "add", arguments: { a: 1, b: 2 } },
      { name: "add", arguments: { a: 3, b: 4 } },
    ];
    server.next(
      { text: "Let me see: ä€𝄞.", reasoning: "Sums.", calls, usage: { prompt: 120, completion: 30, cached: 100 } },
      { text: "3 and 7.", usage: { prompt: 150, completion: 4 } },
    );
    const { keep, agent } = await talking(client, form);
    const turn = agent.send("add");
    const events = await all(turn);
    const { node, text } = await turn;
    assert.equal(text, "3 and 7.");
    const [, called, ...rest] = (await keep.node(node)).messages;
    assert.deepEqual([called.content, called.reasoning], ["Let me see: ä€𝄞.", "Sums."]);
    assert.deepEqual(
      called.tool_calls.map(({ function: call }) => [call.name, JSON.parse(call.arguments)]),
      calls.map((call) => [call.name, call.arguments]),
    );
    assert.deepEqual(
      rest.map(({ content }) => content),
      ["3", "7", "3 and 7."],
    );
    const usage = events.filter(({ type }) => type === "said").map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]);
    assert.deepEqual(usage, [
      [120, 30],
      [150, 4],
    ]);
    assert.equal(events.find(({ type }) => type === "said").cachedTokens, 100);
    const heard = (field) =>
      events
        .filter(({ type }) => type === "delta")
        .map((delta) => delta[field] ?? "")
        .join("");
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
      ...(streams([name])
        ? [
            [{ fault: "cut" }, "cut-off"],
            [{ fault: "end" }, "cut-off"],
            [{ fault: "error", status: 529, type: "overloaded_error" }, "overloaded"],
          ]
        : []),
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
  const env = {
    PATH: process.env.PATH,
    THREADKEEP_HOME: join(folder, `home-${name}`),
    MODEL: "test-model",
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: openaiUrl,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: anthropicUrl,
  };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [name, ...questions], { cwd: folder, env });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    child.on("error", reject).on("close", (code) => resolve([code, said]));
  });
}

test("the examples run as they stand", async () => {
  const folder = home();
  // Those of stores and frameworks are run by the tests of each.
  const names = readdirSync(folder).filter((name) => /^agent-.*\.mjs$/.test(name));
  assert.deepEqual(names.sort(), ["agent-ai-sdk.mjs", "agent-anthropic.mjs", "agent-fetch.mjs", "agent-openai.mjs"]);
  for (const name of names) {
    server.reset();
    const call = (town) => ({ calls: [{ name: "weather", arguments: { town } }] });
    server.next(
      call("Oslo"),
      { text: "Clear, nine degrees." },
      call("Bergen"),
      { text: "Rain." },
      { fault: "status", status: 401, message: "the key has run out" },
    );
    const [code, said] = await example(folder, name, ["Will it rain in Oslo?", "And in Bergen?", "And in Tromsø?"]);
    const [oslo, bergen] = [
      ["Oslo", "clear"],
      ["Bergen", "rain"],
    ].map(([town, sky]) => `[weather: ${JSON.stringify({ town, sky, celsius: 9 })}]\n`);
    assert.equal(code, 0, said);
    assert.ok(said.startsWith(`${oslo}Clear, nine degrees.\n${bergen}Rain.\nfailed: `), `${name}: ${said}`);
    assert.match(said, /the key has run out/);
    // The second question was asked in the chain of the first.
    const third = JSON.stringify(server.requests[2].body);
    assert.ok(
      ["Will it rain in Oslo?", "Clear, nine degrees.", "And in Bergen?"].every((text) => third.includes(text)),
      name,
    );
  }
});
