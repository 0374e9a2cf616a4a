// The tools in the loops of others, against the model server of the tests: the tool runner of Anthropic's SDK, the AI SDK, and our own
// agent; and the example, run as it stands.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { startModelServer } from "../../tests/support/model-server.mjs";
import { lal, script } from "./support/agents.mjs";
import { memory } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";
import { memoryFiles, memoryHandlers, memoryTool, memoryTools, remembering } from "./support/tools.mjs";

const server = await startModelServer({ key: "test-key" });
after(() => server.close());
beforeEach(() => server.reset());
const anthropic = new Anthropic({ apiKey: "test-key", baseURL: server.baseUrl("anthropic"), maxRetries: 0 });
const provider = createOpenAICompatible({ name: "test", apiKey: "test-key", baseURL: server.baseUrl("openai-chat") });

const command = (fields) => ({ calls: [{ name: "memory", arguments: fields }] });
const runner = (tools, options = {}) =>
  anthropic.beta.messages.toolRunner({
    model: "test-model",
    max_tokens: 500,
    betas: ["context-management-2025-06-27"],
    tools,
    messages: [{ role: "user", content: "Remember me." }],
    ...options,
  });

/** The tool results of the last request. */
const results = () => server.requests.at(-1).body.messages.at(-1).content;

for (const [mode, options] of Object.entries({ "sending what is new": {}, "sending all each time": { thread: false }, streaming: { stream: true } }))
  test(`the SDK's tool runner works with the memory tool, ${mode}`, async () => {
    const keep = await memory();
    server.next(
      command({ command: "view", path: "/memories" }),
      command({ command: "create", path: "/memories/ann.md", file_text: "likes tea\n" }),
      command({ command: "str_replace", path: "/memories/ann.md", old_str: "coffee", new_str: "tea" }),
      command({ command: "insert", path: "/memories/ann.md", insert_line: 1, insert_text: "is called Ann\n" }),
      command({ command: "view", path: "/memories/ann.md", view_range: [1, 2] }),
      command({ command: "rename", old_path: "/memories/ann.md", new_path: "/memories/people/ann.md" }),
      command({ command: "view", path: "/memories/../../etc/passwd" }),
      command({ command: "dance" }),
      { text: "I will remember." },
    );
    let last;
    if (options.stream) for await (const message of runner([memoryTool(keep)], options)) last = await message.finalMessage();
    else last = await runner([memoryTool(keep)], options);
    assert.equal(last.content[0].text, "I will remember.");
    assert.deepEqual(server.requests[0].body.tools, [{ type: "memory_20250818", name: "memory" }]);
    assert.match(server.requests[0].headers["anthropic-beta"], /context-management-2025-06-27/);
    const all = server.requests.slice(1).map(({ body }) => body.messages.at(-1).content.at(-1));
    const texts = all.map(({ content, is_error }) => [typeof content === "string" ? content : content[0].text, is_error === true]);
    assert.deepEqual(texts.slice(1), [
      ["File created successfully at: /memories/ann.md", false],
      ["No replacement was performed, old_str `coffee` did not appear verbatim in /memories/ann.md.", true],
      ["The file /memories/ann.md has been edited.", false],
      ["Here's the content of /memories/ann.md with line numbers:\n     1\tlikes tea\n     2\tis called Ann", false],
      ["Successfully renamed /memories/ann.md to /memories/people/ann.md", false],
      ['Error: The path "/memories/../../etc/passwd" is not allowed: it must not contain ..', true],
      ["Error: dance not implemented", true],
    ]);
    assert.equal(await memoryFiles(keep).read("/memories/people/ann.md"), "likes tea\nis called Ann\n");
    await keep.close();
  });

test("the handlers can be changed one by one, and the definition can be cached", async () => {
  const keep = await memory();
  server.next(command({ command: "create", path: "/memories/a", file_text: "a" }), command({ command: "delete", path: "/memories/a" }), { text: "Well." });
  await runner([betaMemoryTool({ ...memoryHandlers(keep), delete: () => "Nothing is deleted here." })]);
  assert.equal(results()[0].content, "Nothing is deleted here.");
  assert.equal(await memoryFiles(keep).read("/memories/a"), "a");
  server.reset();
  server.next({ text: "Hello." });
  await runner([memoryTool(keep, { cache_control: { type: "ephemeral" }, namespace: "others" })]);
  assert.deepEqual(server.requests[0].body.tools[0].cache_control, { type: "ephemeral" });
  assert.throws(() => memoryTool(keep, { folder: "x" }), { code: "bad-request" });
  assert.throws(() => memoryTool(keep, { maxTokens: 1 }), { code: "bad-request" });
  await keep.close();
});

test("two runners with one memory at once lose no line", { timeout: 60_000 }, async () => {
  const keep = await memory();
  await memoryTool(keep).answer({ command: "create", path: "/memories/log", file_text: "" });
  const asked = { left: 0, right: 0 };
  server.always = ({ said, body }) => {
    const who = body.messages[0].content.includes("left") ? "left" : "right";
    asked[who] += 1;
    return asked[who] <= 15
      ? command({ command: "insert", path: "/memories/log", insert_line: 0, insert_text: `${who} ${asked[who]}` })
      : { text: `done ${said}` };
  };
  await Promise.all(
    ["left", "right"].map((who) => runner([memoryTool(keep)], { messages: [{ role: "user", content: who }], max_iterations: 20, thread: false })),
  );
  const lines = (await memoryFiles(keep).read("/memories/log")).split("\n").filter(Boolean);
  assert.equal(new Set(lines).size, 30);
  await keep.close();
});

test("Anthropic's tool runner works with all tools, as tools with schemas", async () => {
  const keep = await memory();
  await remembering(keep);
  const tools = memoryTools(keep).map((one) => ({
    name: one.name,
    description: one.description,
    input_schema: one.inputSchema,
    parse: (input) => input,
    run: (input, context) => one.execute(input, { signal: context?.signal ?? undefined }),
  }));
  server.next(
    { calls: [{ name: "search_memory", arguments: { query: "luggage" } }] },
    { calls: [{ name: "search_memory", arguments: { query: 7 } }] },
    { text: "In Bergen." },
  );
  const last = await runner(tools);
  assert.equal(last.content[0].text, "In Bergen.");
  assert.match(JSON.stringify(server.requests[1].body.messages), /luggage in Oslo/);
  assert.match(JSON.stringify(server.requests[2].body.messages.at(-1)), /query must be a string/);
  await keep.close();
});

test("the AI SDK works with the tools", async () => {
  const keep = await memory();
  await remembering(keep);
  const tools = Object.fromEntries(
    memoryTools(keep, { prefix: "tk_" }).map((one) => [
      one.name,
      tool({
        description: one.description,
        inputSchema: jsonSchema(one.inputSchema),
        execute: (input, { abortSignal }) => one.execute(input, { signal: abortSignal }),
      }),
    ]),
  );
  server.next(
    {
      stream: false,
      calls: [
        { name: "tk_search_memory", arguments: { query: "luggage oslo" } },
        { name: "tk_remember_fact", arguments: { fact: "The luggage is in Bergen." } },
      ],
    },
    { stream: false, calls: [{ name: "tk_read_conversation", arguments: { conversation: "nobody" } }] },
    { stream: false, text: "Your luggage is in Bergen." },
  );
  const { text, steps } = await generateText({ model: provider("test-model"), tools, stopWhen: isStepCount(5), prompt: "Where is my luggage?", maxRetries: 0 });
  assert.equal(text, "Your luggage is in Bergen.");
  assert.equal(steps.length, 3);
  assert.match(JSON.stringify(server.requests[1].body.messages), /lost my luggage in Oslo/);
  assert.match(JSON.stringify(server.requests[2].body.messages.at(-1)), /There is no conversation/);
  assert.equal((await keep.memory.facts())[0].fact, "The luggage is in Bergen.");
  await keep.close();
});

test("our own agent works with the tools", async () => {
  const keep = await memory({ encoding: "estimate" });
  await remembering(keep);
  const call = (id, name, args) => ({
    message: { content: null, tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }] },
  });
  const model = script(
    call("c1", "search_memory", { query: "luggage" }),
    call("c2", "memory_create", { path: "/memories/luggage.md", file_text: "Bergen" }),
    "It is in Bergen.",
  );
  const tools = Object.fromEntries(
    memoryTools(keep).map((one) => [one.name, { description: one.description, parameters: one.inputSchema, execute: (input) => one.execute(input) }]),
  );
  const { text, node } = await lal(keep, model, { tools }).send("Where is my luggage?");
  assert.equal(text, "It is in Bergen.");
  const said = (await keep.node(node)).messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  assert.match(said[0], /luggage in Oslo/);
  assert.equal(said[1], "File created successfully at: /memories/luggage.md");
  await keep.close();
});

test("the example runs as it stands, and finds the next time what was written", { timeout: 60_000 }, async () => {
  const cwd = mkdtempSync(join(tmpdir(), "threadkeep-example-"));
  const env = { ...process.env, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: server.baseUrl("anthropic"), MODEL: "test-model", THREADKEEP_HOME: "" };
  const run = (question) =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [join(installed, "examples/anthropic-memory.mjs"), question], { cwd, env });
      let [out, err] = ["", ""];
      child.stdout.on("data", (chunk) => (out += chunk));
      child.stderr.on("data", (chunk) => (err += chunk));
      child.on("close", (code) => resolve({ code, out, err }));
    });
  try {
    server.next(command({ command: "view", path: "/memories" }), command({ command: "create", path: "/memories/ann.md", file_text: "Ann, short answers\n" }), {
      text: "Noted, Ann.",
    });
    const first = await run("My name is Ann, and I like short answers.");
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /^Noted, Ann\.\n\[\/memories\/ann\.md: 19 bytes\]\n$/);
    server.next(command({ command: "view", path: "/memories/ann.md" }), { text: "You are Ann." });
    const second = await run("What do you know about me?");
    assert.equal(second.code, 0, second.err);
    assert.match(JSON.stringify(server.requests.at(-1).body.messages.at(-1)), /Ann, short answers/);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
