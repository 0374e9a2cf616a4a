// Prompts: contexts of stored chains, and the functions that need no store.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import {
  Threadkeep,
  assistant,
  compressHistory,
  countTokens,
  loadVocabulary,
  many,
  memory,
  rejects,
  render,
  texts,
  trimMessages,
  user,
  validate,
} from "./support/expect.mjs";
import { inChild, installed } from "./support/installed.mjs";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
const call = (id) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }] });
const result = (id, content) => ({ role: "tool", tool_call_id: id, content });
const sum = (ledger) => ledger.reduce((total, line) => total + line.tokensAfter, 0);

/** A conversation with tool calls. */
function history(turns) {
  const messages = [{ role: "system", content: "be brief" }];
  for (let turn = 0; turn < turns; turn += 1)
    messages.push(user(`question ${turn}`), call(`c${turn}`), result(`c${turn}`, "x".repeat(turn)), assistant(`answer ${turn}`));
  return [...messages, user("last")];
}

test("a context fits its budget, accounts for every message and is a copy", async () => {
  for (const storage of ["memory", mapAdapter()]) {
    const keep = await Threadkeep.open({ storage, encoding: "estimate" });
    await keep.thread("main").append(history(50));
    const all = await keep.thread("main").context();
    assert.equal(all.messages.length, 202);
    for (const provider of PROVIDERS) {
      for (const maxTokens of [0, 60, 300, 1000, 100_000]) {
        const context = await keep.thread("main").context({ provider, model: "m", budget: { maxTokens } });
        assert.equal(sum(context.ledger), context.tokens);
        assert.equal(
          Object.values(context.kinds).reduce((a, b) => a + b),
          context.tokens,
        );
        assert.equal(context.overBudget, context.tokens > maxTokens);
        assert.equal(context.budget.tokens, maxTokens);
        assert.equal(context.messages.at(-1).content, "last");
        assert.deepEqual(await validate(context.payload, provider), { ok: true, errors: [] }, provider);
        assert.deepEqual(
          context.warnings.filter((warning) => warning.kind === "invalid"),
          [],
        );
      }
    }
    all.messages[0].content = "changed";
    assert.equal((await keep.thread("main").context()).messages[0].content, "be brief");
    // The same by the leaf's id; and deterministic to the byte.
    const leaf = (await keep.thread("main").head()).id;
    const [a, b] = [
      await keep.at(leaf).context({ policy: "stable", budget: { maxTokens: 200 } }),
      await keep.thread("main").context({ policy: "stable", budget: { maxTokens: 200 } }),
    ];
    assert.equal(JSON.stringify(a), JSON.stringify(b));
    await keep.close();
  }
});

test("over budget is said, and zero is zero", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append(many(3));
  const context = await keep.thread("main").context({ budget: { maxTokens: 0 } });
  assert.deepEqual([context.overBudget, texts(context.messages)], [true, ["m2"]]);
  const messages = await keep.thread("main").context({ budget: { maxMessages: 0 } });
  assert.equal(messages.overBudget, true);
  const underflow = await keep.thread("main").context({ budget: { maxContextTokens: 10, maxOutputTokens: 20 } });
  assert.equal(underflow.overBudget, true);
  assert.equal(underflow.warnings[0].kind, "option");
  await keep.close();
});

test("pins, policies, modes and frames", async () => {
  const keep = await memory({ encoding: "estimate" });
  const nodes = await keep.thread("main").append(many(40));
  const pins = [3, nodes[5].id, { node: nodes[7].id, index: 0 }];
  const pinned = await keep.thread("main").context({ budget: { maxTokens: 30 }, pins });
  assert.deepEqual(texts(pinned.messages), ["m3", "m5", "m7", "m38", "m39"]);
  assert.equal(pinned.ledger[3].action, "pinned");
  assert.equal((await keep.thread("main").context({ pins: [99] })).warnings[0].rule, "pins");
  const newest = await keep.thread("main").context({ budget: { maxTokens: 100 } });
  const stable = await keep.thread("main").context({ budget: { maxTokens: 100 }, policy: "stable" });
  assert.ok(stable.tokens <= newest.tokens && stable.tokens > newest.tokens / 2);
  const framed = await keep.thread("main").context({
    mode: "run",
    systemPrompt: "Be kind",
    persona: "a clerk",
    run: { directive: "file it", nodeBrief: "filing", step: { number: 2 } },
    tools: [{ name: "file", description: "files", parameters: { type: "object", properties: {} } }],
    budget: { maxMessages: 8 },
  });
  const rules = framed.ledger.filter((line) => line.action === "injected").map((line) => line.rule);
  assert.deepEqual(rules, ["system-prompt", "persona", "mode-banner", "run-directive", "node-brief", "step-context", "tool-schemas", "reply"]);
  assert.equal(framed.messages.length, 8);
  assert.equal(framed.payload.tools[0].function.name, "file");
  assert.ok(!JSON.stringify(await keep.thread("main").messages()).includes("Be kind"));
  await keep.close();
});

test("a preview is read back by its path", async () => {
  const keep = await memory({ encoding: "estimate" });
  const whole = "a long line\n".repeat(1000);
  await keep.thread("main").append([user("run"), call("c/1"), result("c/1", whole), user("so?")]);
  assert.equal((await keep.thread("main").context()).messages[2].content, whole, "what fits is whole");
  const { messages, warnings, ledger, ...rest } = await keep.thread("main").context({ budget: { maxTokens: 1000 } });
  assert.match(messages[2].content, /^TOOL_RESULT_PREVIEW/);
  assert.deepEqual([ledger[2].action, warnings[0].rule, warnings[0].count, rest.overBudget], ["previewed", "tool-result-preview", 1, false]);
  const path = messages[2].content.match(/Full output: (\S+)/)[1];
  assert.equal((await keep.thread("main").toolResult(path)).content, whole);
  assert.equal(await keep.thread("main").toolResult("elsewhere"), null);
  assert.equal((await keep.thread("main").context({ toolPreview: false })).messages[2].content, whole);
  assert.match((await keep.thread("main").context({ toolPreview: { over: 20, keep: 0 } })).messages[2].content, /\(0 of 12000 characters\)/);
  await rejects(keep.thread("nowhere").toolResult(path), "missing-node");
  await keep.close();
});

test("getRecent keeps a call with its result", async () => {
  const keep = await memory();
  await keep.thread("main").append([user("a"), call("c"), result("c", "r"), user("b")]);
  assert.equal((await keep.thread("main").recent({ maxMessages: 2 })).length, 1);
  assert.equal((await keep.thread("main").recent({ maxMessages: 3 })).length, 3);
  await keep.close();
});

test("every wrong option is named", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append(many(1));
  const wrong = [
    ["options", 7],
    ["options.polcy", { polcy: "stable" }],
    ["options.policy", { policy: "fifo" }],
    ["options.provider", { provider: "mistral" }],
    ["options.encoding", { encoding: "p50k_base" }],
    ["options.budget.tokens", { budget: { tokens: 1 } }],
    ["options.budget.maxTokens", { budget: { maxTokens: -1 } }],
    ["options.budget.maxTokens", { budget: { maxTokens: 1.5 } }],
    ["options.budget.maxTokens", { budget: { maxTokens: "9" } }],
    ["options", { budget: { maxTokens: Number.NaN } }],
    ["options", { budget: { maxTokens: Infinity } }],
    ["options.pins[1]", { pins: [0, -1] }],
    ["options.toolPreview.at", { toolPreview: { at: 1 } }],
    ["options.run.directions", { run: { directions: "x" } }],
    ["options.render.steam", { render: { steam: true } }],
    ["options.memory.episode", { memory: { episode: 2 } }],
    ["options.epoch", { epoch: "x" }],
    ["options.tools[0]", { tools: [{ description: "nameless" }] }],
  ];
  for (const [argument, options] of wrong) {
    const error = await rejects(keep.thread("main").context(options), "bad-request");
    assert.equal(error.details.argument, argument, error.message);
  }
  await rejects(keep.thread("nowhere").context(), "missing-node");
  await rejects(keep.messageStore.compact(""), "bad-request");
  assert.throws(() => keep.thread("").context(), { code: "bad-request" });
  await rejects(Threadkeep.open({ encoding: "gpt2" }), "bad-request", /options\.encoding/);
  for (const options of [{ polcy: 1 }, { mode: "chat" }, { pins: ["a"] }, { budget: { maxTokens: Number.NaN } }, 7])
    await rejects(trimMessages([user("a")], { encoding: "estimate", ...(typeof options === "object" ? options : { 0: 1 }) }), "bad-request");
  await keep.close();
  await rejects(keep.thread("main").context(), "closed");
});

test("tokens are counted by the vocabulary that is asked for", async () => {
  assert.equal(await countTokens(""), 0);
  assert.equal(await countTokens("hello world"), 2);
  assert.equal(await countTokens("hello world", "cl100k_base"), 2);
  assert.equal(await countTokens("<|endoftext|>"), 7);
  assert.equal(await countTokens("hello world", "estimate"), 3);
  assert.equal(await countTokens([user("hello world")]), 6);
  assert.equal(await countTokens([user("hello world")], "o200k_base", "gemini"), 4);
  await rejects(countTokens(7), "bad-request", /^messages/);
  // A text that is cut inside a character is counted as it is stored.
  assert.equal(await countTokens("\ud800"), await countTokens("\ufffd"));
  await rejects(countTokens("a", "gpt2"), "bad-request", /^encoding/);
  await rejects(countTokens([{ content: "a" }]), "bad-request", /^messages\[0\]\.role/);
  await rejects(loadVocabulary("gpt2"), "bad-request", /^encoding/);
});

test("a part of the module and a vocabulary are read when they are first needed, and not before", () => {
  const said = inChild(`
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    const read = [];
    const readFile = fs.readFile;
    fs.readFile = (path, ...rest) => { if (/\\.(wasm|gz)$/.test(path)) read.push(String(path).split("/").pop()); return readFile(path, ...rest); };
    syncBuiltinESMExports();
    const { Threadkeep, countTokens, render, trimMessages, validate } = await import("threadkeep");
    const keep = await Threadkeep.open();
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    await keep.thread("main").messages();
    const tell = () => console.log(read.sort().join());
    tell();
    await keep.thread("main").recent({ maxTokens: 10 });
    await keep.thread("main").context({ encoding: "estimate" });
    await trimMessages([], { encoding: "estimate" });
    await render([], "ollama");
    tell();
    await Promise.all([keep.thread("main").context(), countTokens("a"), countTokens("b")]);
    tell();
    await keep.thread("main").context({ encoding: "cl100k_base" });
    tell();
    await keep.import('{"messages":[{"role":"user","content":"from outside"}]}');
    tell();`);
  assert.deepEqual(said.trim().split("\n"), [
    "threadkeep_bg.wasm",
    "prompts.wasm,shared.wasm,threadkeep_bg.wasm",
    "o200k_base.gz,prompts.wasm,shared.wasm,threadkeep_bg.wasm",
    "cl100k_base.gz,o200k_base.gz,prompts.wasm,shared.wasm,threadkeep_bg.wasm",
    "archives.wasm,cl100k_base.gz,o200k_base.gz,prompts.wasm,shared.wasm,threadkeep_bg.wasm",
  ]);
});

test("a vocabulary that is another, or cannot be had, is an error, and the next try may work", () => {
  const said = inChild(`
    import { readFile } from "node:fs/promises";
    import { countTokens, loadVocabulary } from "threadkeep";
    const code = (promise) => promise.then(() => "fine", (error) => error.code + " " + error.details.argument);
    console.log(await code(loadVocabulary("o200k_base", new Uint8Array(9))));
    console.log(await code(loadVocabulary("o200k_base", 7)));
    console.log(await code(loadVocabulary("o200k_base", new URL("file:///nowhere.gz"))));
    console.log(await code(loadVocabulary("cl100k_base", new Response(await readFile(new URL(import.meta.resolve("threadkeep/cl100k_base.gz")))))));
    console.log(await countTokens("hello world"), await countTokens("hello world", "cl100k_base"));`);
  assert.deepEqual(said.trim().split("\n"), ["bad-request source", "bad-request source", "init-failed undefined", "fine", "2 2"]);
});

test("the vocabularies in the package are those that were made", () => {
  const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
  for (const name of ["o200k_base.gz", "cl100k_base.gz"])
    assert.equal(digest(join(installed, "vocabulary", name)), digest(join(import.meta.dirname, "../../crates/tokens/vocabulary", name)));
});

test("trimming keeps groups whole, says what became of each message and leaves the list alone", async () => {
  const list = history(30);
  const before = JSON.stringify(list);
  for (const provider of PROVIDERS) {
    for (const maxTokens of [0, 40, 100, 500, 10_000]) {
      const trimmed = await trimMessages(list, { provider, budget: { maxTokens }, pins: [5] });
      assert.equal(sum(trimmed.ledger), trimmed.tokens);
      assert.equal(await countTokens(trimmed.messages, "o200k_base", provider), trimmed.tokens);
      assert.equal(trimmed.overBudget, trimmed.tokens > maxTokens);
      assert.equal(trimmed.ledger.length, list.length);
      assert.deepEqual((await validate(trimmed.messages, "openai-chat")).errors, []);
      assert.equal(trimmed.messages.at(-1).content, "last");
    }
  }
  const { messages } = await trimMessages(list);
  assert.deepEqual(messages, list);
  assert.notEqual(messages[2], list[2]);
  messages[2].tool_calls[0].id = "changed";
  assert.equal(JSON.stringify(list), before);
  assert.deepEqual(texts((await trimMessages(list, { includeSystem: false, budget: { maxMessages: 1 } })).messages), ["last"]);
  assert.ok("ledger" in JSON.parse(JSON.stringify(await trimMessages(many(2)))));
});

test("repairs come back as messages", async () => {
  const { messages, ledger } = await trimMessages([user("a"), call("c"), user("b"), result("zz", "orphan")]);
  assert.deepEqual(
    messages.map((message) => message.role),
    ["user", "assistant", "tool", "user"],
  );
  assert.equal(messages[2].tool_call_id, "c");
  assert.deepEqual(
    ledger.filter((line) => line.action === "repaired").map((line) => line.rule),
    ["cancelled-call", "orphan-result"],
  );
});

test("a list that grew, was changed or was cut is trimmed as if it were new", async () => {
  const options = { encoding: "estimate", budget: { maxTokens: 90 } };
  const list = history(3);
  /** What the list gives, against what a process that never saw it would: another key, so nothing is shared. */
  const check = async (what) => {
    const warm = await trimMessages(list, options);
    const cold = await trimMessages(
      JSON.parse(JSON.stringify(list)).map((message) => Object.assign(new (class {})(), message)),
      options,
    );
    assert.equal(JSON.stringify(warm), JSON.stringify(cold), what);
  };
  await check("new");
  for (let turn = 10; turn < 30; turn += 1) {
    list.push(user(`question ${turn}`), call(`c${turn}`));
    await check("a pending call");
    list.push(result(`c${turn}`, "y".repeat(turn)), assistant("so be it"));
    await check("grown");
  }
  list.at(-2).content = "changed text that is longer than it was";
  await check("changed content");
  list.at(-3).tool_calls[0].function.arguments = '{"deep":"change"}';
  await check("changed far inside");
  list.at(-1).pinned = true;
  await check("a field more");
  delete list.at(-1).pinned;
  await check("a field less");
  list[1].name = list[1].content;
  list[1].content = "swapped";
  await check("a field more, of the same value");
  list[1] = { content: list[1].content, name: list[1].name, role: "user" };
  await check("another order of fields");
  list.at(-3).tool_calls.push({ id: "more", type: "function", function: { name: "look", arguments: "{}" } });
  await check("a call more");
  list.at(-3).tool_calls.shift();
  await check("a call less");
  list.at(-1).content = [
    { type: "text", text: "so" },
    { type: "text", text: "be it" },
  ];
  await check("text in parts");
  list.at(-1).content = [{ type: "text", text: "so" }];
  await check("a part less");
  list.at(-1).content[0].toJSON = () => ({ type: "text", text: "a part that says otherwise" });
  await check("what JSON would make of it");
  list.at(-1).content = ["MAP", "type", "text"].join(" ");
  await check("parts as text");
  list.length -= 3;
  await check("cut");
  list.splice(4, 4);
  await check("something in the middle gone");
  list[0] = { role: "system", content: "be long" };
  await check("another beginning");
});

test("calls that overlap and lists that alternate do not disturb each other", async () => {
  const lists = Array.from({ length: 9 }, (_, at) => [user(`list ${at}`), ...many(20 + at)]);
  const rounds = await Promise.all([...lists, ...lists].map((list) => trimMessages(list, { budget: { maxMessages: 4 } })));
  rounds.forEach(({ messages }, at) => assert.deepEqual(texts(messages), texts(lists[at % 9]).slice(-4)));
});

test("what trimming refuses leaves nothing behind", async () => {
  const list = many(4);
  await trimMessages(list, { encoding: "estimate" });
  const error = await rejects(trimMessages([...list, { role: "user", content: 7 }], { encoding: "estimate" }), "bad-request");
  assert.equal(error.details.argument, "messages[4].content");
  await rejects(trimMessages("no list"), "bad-request");
  await rejects(trimMessages([...list, { role: "user" }, 7], { encoding: "estimate" }), "bad-request");
  assert.equal((await trimMessages(list, { encoding: "estimate" })).messages.length, 4);
});

test("code turns are compressed", async () => {
  const turns = [{ program: '(def limit "How many" 5)\n(defn double [x] (* 2 x))' }, { program: "(return (double limit))" }];
  const { messages, rules } = await compressHistory(turns);
  assert.deepEqual(rules, ["compressed-turn", "latest-turn"]);
  assert.equal(messages[0].content, '; Function: double\n; Defined: limit - "How many" = integer, sample: 5');
  assert.deepEqual((await compressHistory(messages)).messages, messages);
  assert.equal((await rejects(compressHistory([{ program: 1 }]), "bad-request")).details.argument, "turns[0].program");
  assert.equal((await rejects(compressHistory([], { limit: 1 }), "bad-request")).details.argument, "options.limit");
  await rejects(compressHistory("x"), "bad-request");
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append([user("go"), assistant("```lisp\n(def x 1)\n```"), user("on"), assistant("```lisp\n(return x)\n```"), user("?")]);
  const context = await keep.thread("main").context({ compressHistory: true });
  assert.equal(context.messages[1].content, "; Defined: x = integer, sample: 1");
  assert.equal(context.ledger[1].action, "compressed");
  await keep.close();
});

test("messages are rendered for each provider, and what is wrong is named", async () => {
  const list = history(2);
  for (const provider of PROVIDERS) {
    const options = { model: "m", maxOutputTokens: 100, tools: [{ name: "look", parameters: { type: "object", properties: {} } }] };
    const { payload } = await render(list, provider, options);
    assert.equal(JSON.stringify(payload), JSON.stringify((await render(list, provider, options)).payload));
    assert.deepEqual(await validate(payload, provider), { ok: true, errors: [] });
  }
  assert.equal((await render([user("a"), assistant("b")], "anthropic")).notes[0].rule, "closing");
  assert.equal((await validate([result("c", "x")], "openai-chat")).errors[0].rule, "orphan-result");
  assert.equal((await validate({ messages: 7 }, "ollama")).ok, false);
  await rejects(render(list, "mistral"), "bad-request", /^provider/);
  assert.equal((await rejects(render(list, "ollama", { modle: "m" }), "bad-request")).details.argument, "options.modle");
  await rejects(render([{}], "ollama"), "bad-request", /^messages\[0\]\.role/);
  await rejects(validate("x", "ollama"), "bad-request", /^input/);
  await rejects(validate([], "mistral"), "bad-request", /^provider/);
});

test("a ledger is made when it is read, and is part of every copy", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("main").append(Array.from({ length: 60 }, (_, n) => user(`question ${n}`)));
  for (const policy of ["newest", "stable"]) {
    const how = { policy, budget: { maxTokens: 100 } };
    const context = await keep.thread("main").context(how);
    // What comes later is in no ledger that was handed out.
    await keep.thread("main").append([user("later")]);
    const copy = structuredClone(await keep.thread("main").context(how));
    const lines = context.ledger;
    assert.equal(context.ledger, lines);
    assert.equal(
      lines.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0),
      context.tokens,
    );
    assert.equal(copy.ledger.length, lines.length + 1);
    assert.deepEqual(JSON.parse(JSON.stringify(context)), { ...context });
    assert.deepEqual(structuredClone(context), { ...context });
    assert.ok(lines.slice(0, 60).every(({ node }) => node !== undefined));
  }
  const last = await keep.thread("main").context();
  await keep.close();
  assert.equal(last.ledger.length, 62 + 1);
});
