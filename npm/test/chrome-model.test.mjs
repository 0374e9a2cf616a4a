// Chrome's language model against a stand-in of its documented interface (the Prompt API).
import assert from "node:assert/strict";
import { test } from "node:test";
import { all, lal } from "./support/agents.mjs";
import { chromeModel, memory, rejects } from "./support/expect.mjs";

/** The browser's `LanguageModel`, which says what it is given, in pieces; for as long as a test runs. */
function browser(t, { answers = [], state = "available", window = 9_216, names = "contextWindow", fails } = {}) {
  const made = [];
  globalThis.LanguageModel = {
    asked: [],
    async availability(options) {
      this.asked.push(options);
      return state;
    },
    async create(options) {
      options.signal?.throwIfAborted();
      if (fails) throw fails;
      options.monitor?.({ addEventListener: (type, listener) => type === "downloadprogress" && [0, 1].forEach((loaded) => listener({ loaded })) });
      const model = {
        options,
        [names]: window,
        destroyed: false,
        destroy: () => (model.destroyed = true),
        promptStreaming(input, { signal } = {}) {
          model.input = input;
          const answer = answers.shift() ?? "nothing more";
          return new ReadableStream({
            async start(controller) {
              signal?.addEventListener("abort", () => controller.error(signal.reason));
              if (answer instanceof Error) return controller.error(answer);
              for (const piece of answer.match(/.{1,5}/gs) ?? []) controller.enqueue(piece);
              controller.close();
            },
          });
        },
      };
      made.push(model);
      return model;
    },
  };
  t.after(() => delete globalThis.LanguageModel);
  return made;
}

test("the browser's model answers as an agent", async (t) => {
  const made = browser(t, { answers: ["Good day.", "Very well."] });
  const model = await chromeModel({ languages: ["en"] });
  const texts = [{ type: "text", languages: ["en"] }];
  assert.deepEqual(globalThis.LanguageModel.asked, [{ expectedInputs: texts, expectedOutputs: texts }]);
  const keep = await memory({ encoding: "estimate" });
  const agent = lal(keep, model, { builtIn: [], tools: {} });
  const turn = agent.send("hi");
  assert.deepEqual(
    (await all(turn)).filter(({ type }) => type === "delta").map(({ text }) => text),
    ["Good ", "day."],
  );
  const { reply } = await turn;
  assert.equal((await agent.send("how are you?", { replyTo: reply })).text, "Very well.");
  const { options, input, destroyed } = made[2];
  const said = [
    ["system", "You are helpful."],
    ["user", "hi"],
    ["assistant", "Good day."],
  ];
  assert.deepEqual(
    options.initialPrompts.map(({ role, content }) => [role, content]),
    said,
  );
  assert.deepEqual([options.expectedInputs, input, destroyed], [texts, [{ role: "user", content: "how are you?" }], true]);
  assert.equal(made[0].destroyed, false);
  model.destroy();
  assert.equal(made[0].destroyed, true);
  await keep.close();
});

test("its calls of tools are read out of what it says", async (t) => {
  const call = 'Let me see.\n<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call><tool_call>{"name": "add", "arguments": {"a": 3, "b": 4}}';
  const made = browser(t, { answers: [call, "3 and 7, as 1 < 2"] });
  const keep = await memory({ encoding: "estimate" });
  const { text, node } = await lal(keep, await chromeModel(), { builtIn: [] }).send("add");
  assert.equal(text, "3 and 7, as 1 < 2");
  const [, called, ...rest] = (await keep.node(node)).messages;
  assert.equal(called.content.trim(), "Let me see.");
  assert.deepEqual(
    called.tool_calls.map(({ function: { name, arguments: args } }) => [name, args]),
    [
      ["add", '{"a":1,"b":2}'],
      ["add", '{"a":3,"b":4}'],
    ],
  );
  assert.deepEqual(
    rest.slice(0, 2).map(({ content }) => content),
    ["3", "7"],
  );
  const { initialPrompts } = made[2].options;
  assert.match(initialPrompts[0].content, /add: .*"type":"object"/s);
  assert.match(initialPrompts.at(-2).content, /<tool_call>{"name": "add", "arguments": {"a":1,"b":2}}<\/tool_call>/);
  assert.deepEqual([initialPrompts.at(-1).content, made[2].input[0].content], ["<tool_response>3</tool_response>", "<tool_response>7</tool_response>"]);
  await keep.close();
});

test("a call that is none stays text", async (t) => {
  browser(t, { answers: ["use <tool_call>nothing</tool_call> of it <tool_"] });
  const keep = await memory({ encoding: "estimate" });
  assert.equal((await lal(keep, await chromeModel(), { builtIn: [] }).send("?")).text, "use <tool_call>nothing</tool_call> of it <tool_");
  await keep.close();
});

for (const names of ["contextWindow", "inputQuota"]) {
  test(`prompts fit what it holds, as ${names} says`, async (t) => {
    browser(t, { answers: Array(30).fill("Noted."), window: 1_500, names });
    const keep = await memory({ encoding: "estimate" });
    const agent = lal(keep, await chromeModel(), { builtIn: [], tools: {} });
    let replyTo;
    const asked = [];
    for (let at = 0; at < 20; at += 1) {
      const turn = agent.send(`${at} ${"word ".repeat(60)}`, { replyTo });
      asked.push(...(await all(turn)).filter(({ type }) => type === "asked").map(({ tokens }) => tokens));
      replyTo = (await turn).reply;
    }
    assert.ok(asked.length === 20 && asked.every((tokens) => tokens <= 1_500 * 0.8 - 300), String(asked));
    await keep.close();
  });
}

test("what it throws is a failure with a code, and stopping reaches it", async (t) => {
  const made = browser(t, { answers: [new DOMException("too much", "QuotaExceededError"), new Error("it broke")] });
  const keep = await memory({ encoding: "estimate" });
  const agent = lal(keep, await chromeModel(), { builtIn: [] });
  for (const [code, reason] of [
    ["too-long", "too much"],
    ["failed", "it broke"],
  ]) {
    const { node } = await agent.send("hi");
    assert.deepEqual((await keep.node(node)).messages.at(-1).kind, { type: "error", code, reason });
  }
  const turn = agent.send("hi");
  for await (const { type } of turn) if (type === "delta") turn.stop();
  await turn;
  assert.ok(made.at(-1).destroyed);
  await keep.close();
});

test("where there is none, there is no model; a download is asked for", async (t) => {
  assert.equal(await chromeModel(), undefined);
  browser(t, { state: "unavailable" });
  assert.equal(await chromeModel({ download: true }), undefined);
  browser(t, { state: "downloadable" });
  assert.equal(await chromeModel(), undefined);
  const loaded = [];
  assert.equal(typeof (await chromeModel({ download: true, onProgress: (share) => loaded.push(share) })), "function");
  assert.deepEqual(loaded, [0, 1]);
  await rejects(chromeModel({ download: true, signal: AbortSignal.abort() }), "cancelled");
  browser(t, { fails: new DOMException("needs a click", "NotAllowedError") });
  await rejects(chromeModel(), "unavailable", /NotAllowedError: needs a click/);
  await rejects(chromeModel({ language: "en" }), "bad-request", /options\.language/);
});
