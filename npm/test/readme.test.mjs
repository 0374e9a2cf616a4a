// Every example of the README, run as it stands against the installed package. What an example takes for granted (an open
// keep, a file, a model) is given here, with what it must lead to.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inChild, installed, source } from "./support/installed.mjs";

const readme = readFileSync(join(installed, "README.md"), "utf8");
const examples = new Map([...readme.matchAll(/<!-- example: (.+?) -->\n```js\n(.+?)```/gs)].map(([, name, code]) => [name, code]));

const open = `import { Threadkeep, ThreadkeepError, writeDepth } from "threadkeep";
import assert from "node:assert/strict";
const keep = await Threadkeep.open();
const shown = [];
const show = (...what) => shown.push(what);
`;

/** Name, what comes before, what must hold after, what must be printed. */
const CASES = [
  [
    "six steps",
    `const asked = [];
    const model = async ({ messages }) => {
      asked.push(messages.map((message) => message.role).join());
      return { role: "assistant", content: "A fruit." };
    };`,
    `if (asked[0] !== "system,user" || asked.length !== 2) throw new Error("wrong prompts: " + asked);`,
    "What is a pear?\nA fruit.\n",
  ],
  [
    "threads",
    open,
    `
    assert.deepEqual((await keep.thread("main").messages()).map((message) => message.content), ["one", "two", "three"]);
    assert.equal(await keep.thread("what-if").count(), 0);`,
    "",
  ],
  [
    "reply chains",
    open,
    `
    assert.deepEqual(siblings.map((node) => node.id), ["in-2", "in-3"]);
    assert.deepEqual([rows.at(-1).fork.index, rows.at(-1).fork.count], [1, 2]);
    assert.equal(depth, 3);
    assert.equal(reply, "[depth:3] The long way round.");`,
    "",
  ],
  [
    "prompts",
    `${open}
    const history = [{ role: "user", content: "hi" }];
    const send = async (payload) => payload.messages.length;`,
    `
    assert.equal(overBudget, false);
    assert.ok(tokens > 0);
    assert.deepEqual([payload.system, payload.max_tokens, shown], ["Be brief.", 8000, [[1]]]);`,
    "",
  ],
  [
    "functions",
    `import { compressHistory, countTokens, render, trimMessages, validate } from "threadkeep";
    import assert from "node:assert/strict";
    const history = Array.from({ length: 9 }, (_, index) => ({ role: index % 2 ? "assistant" : "user", content: "message " + index }));`,
    `
    assert.deepEqual(messages, history.slice(-4));
    assert.ok(ok && errors.length === 0);
    assert.equal(short[0].content, "; Defined: limit = integer, sample: 5");`,
    "",
  ],
  [
    "settings",
    open,
    `
    assert.deepEqual(messages.map((message) => message.content), ["Answer in French.", "What is a pear?"]);
    assert.deepEqual((await keep.settings.get("ann-42")).budget, { maxTokens: 8_000 });`,
    "",
  ],
  [
    "models",
    `${open}
    await keep.thread("ann-42").append([{ role: "user", content: "What is a pear?" }]);`,
    `
    assert.equal(budget.tokens, 49_583);`,
    "",
  ],
  [
    "requests",
    `${open}
    const sent = [];
    import { createAgent } from "threadkeep";
    const model = async ({ payload }) => (sent.push(payload), { message: { role: "assistant", content: "A fruit." }, usage: { promptTokens: 9, completionTokens: 3 } });`,
    `
    assert.deepEqual([body, differs, usage.promptTokens], [sent[0], null, 9]);
    assert.equal(context.tokens, tokens);
    assert.deepEqual([total.requests, total.unpriced, models.length, days.length], [1, 1, 1, 1]);`,
    "",
  ],
  [
    "compaction",
    `${open}
    const usage = { prompt_tokens: 120_000 };
    const model = async () => '{"statements": ["Six questions were asked."]}';
    const words = "with some words to it, so that it is worth a summary, ".repeat(4);
    const turn = (at) => [{ role: "user", content: "Question " + at + " " + words }, { role: "assistant", content: "Answer " + words }];
    await keep.thread("main").append(Array.from({ length: 10 }, (_, at) => turn(at)).flat());`,
    `
    const [[before, after, calls, warnings], original, now] = shown;
    assert.ok(before > after);
    assert.deepEqual([calls, warnings], [1, []]);
    assert.deepEqual([original[0].messages.length, now[0].messages.length], [20, 9]);`,
    "",
  ],
  [
    "memory",
    open,
    `
    assert.deepEqual(shown, [[["Ann likes short answers."]]]);
    assert.deepEqual(await keep.memory.facts(), []);`,
    "",
  ],
  [
    "search",
    open,
    `
    assert.deepEqual(shown.map(([snippet]) => snippet), ["My luggage was lost in Oslo."]);
    assert.deepEqual(shown[0][1].map(([from, to]) => shown[0][0].slice(from, to)), ["luggage", "lost", "Oslo"]);`,
    "",
  ],
  [
    "vectors",
    `import { Threadkeep } from "threadkeep";
    import assert from "node:assert/strict";
    const model = { encode: (texts) => texts.map((text) => Float32Array.of(/luggage|suitcase/.test(text) ? 1 : 0, 1)) };`,
    `
    assert.deepEqual(hits, []);
    await keep.thread("main").append([{ role: "user", content: "The luggage is lost." }]);
    assert.equal((await keep.search("trouble with my suitcase"))[0].message.content, "The luggage is lost.");`,
    "",
  ],
  [
    "agent",
    `${open.replace("writeDepth", "createAgent")}
    const asked = [];
    async function* stream(...chunks) {
      for (const chunk of chunks) yield { object: "chat.completion.chunk", choices: [chunk] };
    }
    const call = { index: 0, id: "c", type: "function", function: { name: "weather", arguments: '{"town":"Oslo"}' } };
    const answers = [[{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }], [{ delta: { content: "No," } }, { delta: { content: " it is clear." }, finish_reason: "stop" }]];
    const openai = { chat: { completions: { create: async (payload) => (asked.push(payload), stream(...(answers.shift() ?? [{ delta: { content: "Clear too." }, finish_reason: "stop" }]))) } } };
    const weatherIn = async (town) => ({ town, sky: "clear" });`,
    `
    assert.deepEqual(shown, [["No,"], [" it is clear."], ["answered", "Clear too."]]);
    assert.equal(asked[0].model, "gpt-4.1-mini");
    assert.deepEqual(asked[2].messages.slice(1).map((message) => message.role), ["user", "assistant", "tool", "assistant", "user"]);
    assert.equal((await keep.mailbox("user").messages()).length, 4);`,
    "",
  ],
  [
    "conversation",
    `${open.replace("writeDepth", "createAgent")}
    const agent = createAgent({ keep, model: () => ({ message: { content: "No." }, usage: { promptTokens: 3, completionTokens: 1 } }) });`,
    `
    assert.deepEqual(shown, [["No.", "stop", { promptTokens: 3, completionTokens: 1 }]]);`,
    "4\n",
  ],
  [
    "schema",
    `${open.replace("writeDepth", "createAgent, tool")}
    const z = await import(${JSON.stringify(pathToFileURL(join(source, "node_modules/zod/index.js")).href)});
    const asked = [];
    const weatherIn = (town, days) => (asked.push([town, days]), "clear");
    const call = { id: "c", type: "function", function: { name: "weather", arguments: '{"town":"Oslo"}' } };
    const answers = [{ message: { content: null, tool_calls: [call] } }, "Clear."];
    const model = () => answers.shift();`,
    `
    assert.equal((await agent.send("?")).text, "Clear.");
    assert.deepEqual(asked, [["Oslo", 1]]);`,
    "",
  ],
  [
    "mailbox",
    open.replace("writeDepth", "mailText"),
    `
    assert.deepEqual(shown, [["ann", "Lunch?"], ["bob", "At one?"]]);
    assert.deepEqual([(await keep.mailbox("ann").messages()).length, (await keep.mailbox("ann").messages({ dismissed: true })).length], [1, 2]);`,
    "",
  ],
  [
    "kernel",
    `${open.replace("writeDepth", "Kernel")}
    const model = async ({ system, messages }) => {
      assert.deepEqual([system, messages.length], ["You book tables.", 1]);
      return { message: { role: "assistant", content: "For how many?" }, usage: { promptTokens: 12 } };
    };`,
    `
    assert.deepEqual(shown, [[{ promptTokens: 12 }], ["turn_0001", ["user", "assistant"]]]);`,
    "",
  ],
  [
    "archives",
    `${open}
    const line = JSON.stringify({ messages: [{ role: "user", content: "hi" }, { role: "assistant", content: "hello" }] });
    const file = new File([line, "\\n", "not JSON", "\\n"], "messages.jsonl");
    console.warn = (...words) => shown.push(words);`,
    `
    assert.equal(report.skipped.length, 1);
    assert.ok(blob.size > 0);
    assert.match(chat, /hello/);
    assert.equal(Object.keys(files).length, 2);
    assert.ok(shown.length >= 3);`,
    "1 conversations, 2 messages\n",
  ],
  [
    "changes",
    open,
    `
    assert.equal(shown.length, 1);
    assert.equal(shown[0][0], (await keep.thread("main").head()).transcript);`,
    "",
  ],
  ["records", open, "", "dark\n"],
  [
    "a store of your own",
    open,
    `
    await mine.thread("main").append([{ role: "user", content: "a" }]);
    await mine.thread("main").append([{ role: "user", content: "b" }]);
    const again = await Threadkeep.open({ storage });
    assert.equal(await again.thread("main").count(), 2);
    assert.equal(await again.thread("main").clear(), 2);
    assert.equal(await mine.thread("main").count(), 0);`,
    "",
  ],
  ["errors", open, "", "missing-node nowhere\n"],
];

for (const [name, before, after, printed] of CASES) {
  test(`README: ${name}`, () => {
    assert.equal(inChild(`${before}\n${examples.get(name)}\n${after}`), printed);
  });
}

test("every JavaScript block of the README is an example that is run", () => {
  assert.equal(readme.match(/```(js|ts|javascript|typescript)/g).length, CASES.length);
  assert.deepEqual(
    [...examples.keys()],
    CASES.map(([name]) => name),
  );
});

test("the JavaScript of the repository's README prints what its comments say", () => {
  const blocks = [...readFileSync(join(source, "../README.md"), "utf8").matchAll(/```js\n(.+?)```/gs)];
  assert.equal(blocks.length, 1);
  const [[, code]] = blocks;
  const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)/g)].map(([, words]) => `${words}\n`);
  assert.equal(promised.length, 3);
  assert.equal(inChild(code), promised.join(""));
});
