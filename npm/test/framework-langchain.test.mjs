// LangChain's messages and chat history on a keep, held against LangChain's own stored form.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
} from "@langchain/core/messages";
import { load as loadMessage } from "@langchain/core/load";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inChild, installed, load } from "./support/installed.mjs";

const { Threadkeep, countTokens, render, validate } = await load();
const { ThreadkeepChatMessageHistory, fromLangChain, toLangChain, trimLangChain } = await import(
  pathToFileURL(join(installed, "dist/frameworks/langchain.js")).href
);

const call = (id, name, args) => ({ id, name, args, type: "tool_call" });

/** One of every kind, with every field that LangChain has for it. */
const messages = () => [
  new SystemMessage("Be brief."),
  new SystemMessage({ content: "Be briefer.", additional_kwargs: { __openai_role__: "developer" } }),
  new HumanMessage("Where is Bergen?"),
  new HumanMessage({ content: "Wo liegt Bergen?", id: "m-1", name: "ann", additional_kwargs: { mood: "curious" }, response_metadata: { seen: true } }),
  new HumanMessage({
    content: [
      { type: "text", text: "and this?" },
      { type: "image_url", image_url: { url: "https://example.org/a.png", detail: "low" } },
      { type: "image_url", image_url: "https://example.org/b.png" },
      { type: "image", source_type: "base64", data: "aGk=", mime_type: "image/png" },
      { type: "image", mimeType: "image/png", data: new Uint8Array([1, 2, 250]) },
      { type: "file", source_type: "base64", data: "aGk=", mime_type: "application/pdf", metadata: { filename: "a.pdf" } },
      { type: "audio", mimeType: "audio/mpeg", data: "aGk=" },
      { type: "something_new", odd: { nested: [1, null, "x"] } },
    ],
  }),
  new AIMessage("In Norway."),
  new AIMessage({
    content: "",
    id: "run-1",
    tool_calls: [call("call_1", "weather", { city: "Bergen", days: 3 }), call("call_2", "weather", {})],
    usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15, input_token_details: { cache_read: 4 } },
    response_metadata: { model_name: "m", finish_reason: "tool_calls" },
  }),
  new ToolMessage({ content: "rain", tool_call_id: "call_1", name: "weather", artifact: { raw: [1, 2], at: new Date(0) }, status: "success", id: "t-1" }),
  new ToolMessage({ content: [{ type: "text", text: "no city" }], tool_call_id: "call_2", status: "error", metadata: { tries: 2 } }),
  new AIMessage({
    content: [
      { type: "thinking", thinking: "It rains.", signature: "c2ln" },
      { type: "text", text: "It rains." },
      { type: "tool_use", id: "call_3", name: "weather", input: { city: "Oslo" } },
    ],
    tool_calls: [call("call_3", "weather", { city: "Oslo" })],
    invalid_tool_calls: [{ id: "call_4", name: "weather", args: '{"city": ', error: "cut off", type: "invalid_tool_call" }],
  }),
  new ToolMessage("sun", "call_3", "weather"),
  new ToolMessage("try again", "call_4"),
  new AIMessage({ content: "thought over", additional_kwargs: { reasoning_content: "hm" } }),
  new AIMessage({ content: "", additional_kwargs: { function_call: { name: "old", arguments: "{}" } } }),
  new FunctionMessage({ content: "done", name: "old" }),
  new ChatMessage("objection", "critic"),
  new ChatMessage({ content: "as user", role: "user", id: "c-1" }),
  new AIMessage({
    contentBlocks: [
      { type: "reasoning", reasoning: "so" },
      { type: "text", text: "v1" },
      { type: "tool_call", id: "call_5", name: "f", args: { a: 1 } },
    ],
  }),
  new ToolMessage("five", "call_5"),
  new AIMessage({ content: "without an id", tool_calls: [{ name: "f", args: { deep: { list: [1, { two: 2 }] } } }] }),
  new AIMessage({ content: "lc", additional_kwargs: { lc: 1, __proto__odd: "x", $threadkeep: "bytes" } }),
  new RemoveMessage({ id: "m-1" }),
];

/** Chunks, which LangChain's own stored form turns into whole messages. */
const chunks = () => [
  new HumanMessageChunk("piece"),
  new AIMessageChunk({ content: "pie", id: "run-2", tool_call_chunks: [{ id: "call_6", name: "f", args: '{"a":1}', index: 0, type: "tool_call_chunk" }] }),
  new ToolMessageChunk({ content: "x", tool_call_id: "call_6", artifact: { a: 1 } }),
];

const plain = (value) => JSON.parse(JSON.stringify(value));
const stored = (list) => plain(mapChatMessagesToStoredMessages(list));

/** What a message is: its class, its stored form, its serialised form, and what it says. */
function whatIs(message) {
  return {
    class: message.constructor.name,
    dict: plain(message.toDict()),
    json: plain(message.toJSON()),
    content: message.content,
    text: message.type === "remove" ? "" : message.text,
    calls: message.tool_calls,
    invalid: message.invalid_tool_calls,
    usage: message.usage_metadata,
    artifact: message.artifact,
    status: message.status,
    id: message.id,
    name: message.name,
  };
}

test("every kind of message comes back as it was, through the storage", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const history = new ThreadkeepChatMessageHistory(keep, "all");
  const given = [...messages(), ...chunks()];
  await history.addMessages(given);
  const back = await history.getMessages();
  const expected = [...messages(), ...chunks()];
  assert.equal(back.length, expected.length);
  for (const [index, message] of back.entries()) assert.deepEqual(whatIs(message), whatIs(expected[index]), `message ${index}`);
  // Converting changed nothing in what was given.
  for (const [index, message] of given.entries()) assert.deepEqual(whatIs(message), whatIs(expected[index]), `given ${index}`);
  await keep.close();
});

test("LangChain's own ways of storing agree", async () => {
  const list = messages().filter((message) => message.type !== "remove");
  const here = list.map((message) => toLangChain(plain(fromLangChain(message))));
  assert.deepEqual(stored(here), stored(list));
  // LangChain's stored form escapes what looks like one of its own objects, and does not take that back; it has no bytes, and of blocks
  // only a name that its constructor does not know.
  const lost = (message) =>
    message.additional_kwargs.lc !== undefined || JSON.stringify(message.content).includes("250") || message.lc_kwargs.contentBlocks !== undefined;
  const usual = list.filter((message) => !lost(message));
  assert.equal(usual.length, list.length - 3);
  assert.deepEqual(stored(usual.map((message) => toLangChain(plain(fromLangChain(message))))), stored(mapStoredMessagesToChatMessages(stored(usual))));
  for (const message of list.filter((one) => !JSON.stringify(one.content).includes("250"))) {
    const loaded = await loadMessage(JSON.stringify(message));
    assert.deepEqual(whatIs(toLangChain(plain(fromLangChain(message)))).dict, whatIs(loaded).dict, message.type);
  }
});

test("ordinary messages carry nothing along, and providers get what they should", async () => {
  assert.deepEqual(fromLangChain(new HumanMessage("hi")), { role: "user", content: "hi" });
  assert.deepEqual(fromLangChain(new AIMessage("ho")), { role: "assistant", content: "ho" });
  assert.deepEqual(fromLangChain(new AIMessage({ content: "", tool_calls: [call("a", "f", { b: 1 })] })), {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"b":1}' } }],
  });
  assert.deepEqual(fromLangChain(new ToolMessage({ content: "no", tool_call_id: "a", status: "error" })), {
    role: "tool",
    content: "no",
    tool_call_id: "a",
    is_error: true,
  });
  const thought = fromLangChain(messages()[9]);
  assert.equal(thought.reasoning, "It rains.");
  assert.deepEqual(thought.content, [{ type: "text", text: "It rains." }]);
  assert.equal(thought.tool_calls.length, 2);
  const list = messages().map(fromLangChain);
  const payload = (await render(list, "openai-chat")).payload;
  assert.equal(JSON.stringify(payload).includes("langchain"), false);
  assert.deepEqual((await validate(payload, "openai-chat")).errors, []);
  assert.equal(
    payload.messages.some(({ content }) => JSON.stringify(content ?? "").includes("data:image/png;base64,AQL6")),
    true,
  );
  // What rides along costs no tokens.
  const { langchain, ...bare } = fromLangChain(messages()[3]);
  assert.notEqual(langchain, undefined);
  assert.equal(await countTokens([{ ...bare, langchain }]), await countTokens([bare]));
});

test("long texts are stored once, whatever the provider repeats of them", () => {
  const long = "what it says ".repeat(1000);
  const bytes = new Uint8Array(9000).fill(7);
  const many = [
    new AIMessage({
      content: [
        { type: "thinking", thinking: `hm ${long}`, signature: "c2ln" },
        { type: "text", text: long },
      ],
      additional_kwargs: { raw: [{ text: long }], $threadkeep: "tail", of: 0, length: 3 },
    }),
    new HumanMessage({
      content: [
        { type: "image", mimeType: "image/png", data: bytes },
        { type: "image", source_type: "base64", mime_type: "image/png", data: "QUJD".repeat(3000) },
      ],
    }),
  ];
  for (const message of many) {
    const ours = fromLangChain(message);
    const { langchain, ...core } = ours;
    assert.ok(JSON.stringify(langchain).length < 600, JSON.stringify(langchain).slice(0, 200));
    assert.ok(JSON.stringify(core).length > 9000);
    assert.deepEqual(whatIs(toLangChain(plain(ours))), whatIs(message));
  }
});

test("messages that were not LangChain's become LangChain's", () => {
  const tool = toLangChain({
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "a", type: "function", function: { name: "f", arguments: '{"b":1}' } },
      { id: "c", type: "function", function: { name: "f", arguments: "{" } },
    ],
  });
  assert.equal(tool instanceof AIMessage, true);
  assert.deepEqual(tool.tool_calls, [call("a", "f", { b: 1 })]);
  assert.deepEqual(
    tool.invalid_tool_calls.map(({ id, args }) => [id, args]),
    [["c", "{"]],
  );
  assert.equal(toLangChain({ role: "developer", content: "x" }).additional_kwargs.__openai_role__, "developer");
  assert.equal(toLangChain({ role: "tool", content: "x", tool_call_id: "a", is_error: true }).status, "error");
  assert.equal(toLangChain({ role: "critic", content: "x" }).role, "critic");
  assert.equal(toLangChain({ role: "user", content: "x" }).content, "x");
});

test("what a prompt changed of a message is what LangChain gets", () => {
  const ours = fromLangChain(new ToolMessage({ content: [{ type: "text", text: "a very long result" }], tool_call_id: "a", id: "t", artifact: [1] }));
  const shown = toLangChain({ ...ours, content: "a very … (cut)" });
  assert.deepEqual([shown.content, shown.tool_call_id, shown.id, shown.artifact], ["a very … (cut)", "a", "t", [1]]);
  const said = fromLangChain(messages()[9]);
  const fewer = toLangChain({ ...said, tool_calls: said.tool_calls.slice(0, 1) });
  assert.deepEqual([fewer.content, fewer.tool_calls.length, fewer.invalid_tool_calls.length], [[{ type: "text", text: "It rains." }], 1, 0]);
});

test("RunnableWithMessageHistory, over a budget and across a compaction", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const model = new FakeListChatModel({ responses: ["one", "two", "three", "four"] });
  const seen = [];
  const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], new MessagesPlaceholder("history"), ["human", "{input}"]]);
  const spy = (value) => {
    seen.push(value.messages.map(({ content }) => content));
    return value;
  };
  const chat = (options) =>
    new RunnableWithMessageHistory({
      runnable: prompt.pipe(spy).pipe(model),
      getMessageHistory: (sessionId) => new ThreadkeepChatMessageHistory(keep, sessionId, options),
      inputMessagesKey: "input",
      historyMessagesKey: "history",
    });
  const configurable = { configurable: { sessionId: "ann" } };
  const first = `first ${"and more ".repeat(50)}`;
  assert.equal((await chat().invoke({ input: first }, configurable)).content, "one");
  await chat().invoke({ input: "second" }, configurable);
  assert.deepEqual(seen.at(-1), ["Be brief.", first, "one", "second"]);
  assert.deepEqual(
    (await keep.thread("ann").messages()).map(({ role, content }) => [role, content]),
    [
      ["user", first],
      ["assistant", "one"],
      ["user", "second"],
      ["assistant", "two"],
    ],
  );
  // Another session is another conversation.
  await chat().invoke({ input: "other" }, { configurable: { sessionId: "bob" } });
  assert.deepEqual(seen.at(-1), ["Be brief.", "other"]);
  // A budget: the newest turn only.
  await chat({ budget: { maxMessages: 2 } }).invoke({ input: "third" }, configurable);
  assert.deepEqual(seen.at(-1), ["Be brief.", "second", "two", "third"]);
  // A compaction: a summary for what it covers. Without options, the history is all there is.
  await keep.thread("ann").compact({ keepRecent: 2 });
  await chat({ budget: { maxTokens: 1000 } }).invoke({ input: "fourth" }, configurable);
  assert.match(JSON.stringify(seen.at(-1)), /Previous conversation summary/);
  assert.equal(JSON.stringify(seen.at(-1)).includes("first"), false);
  const history = new ThreadkeepChatMessageHistory(keep, "ann");
  assert.equal((await history.getMessages()).length, 8);
  await history.clear();
  assert.deepEqual(await history.getMessages(), []);
  assert.equal((await keep.thread("bob").messages()).length, 2);
  await keep.close();
});

test("a message that is none, or cannot be stored, is named by its place", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const history = new ThreadkeepChatMessageHistory(keep, "a");
  const [good, odd] = [new HumanMessage("hello"), { role: "user", content: "hello" }];
  const big = new ToolMessage({ content: "1", tool_call_id: "k", artifact: { sum: 1n } });
  const says = (argument) => (error) => error.code === "bad-request" && error.details.argument === argument && error.message.startsWith(argument);
  await assert.rejects(history.addMessages([good, odd]), says("messages[1]"));
  await assert.rejects(history.addMessages([good, good, big]), says("messages[2].artifact"));
  await assert.rejects(history.addMessages("hello"), says("messages"));
  await assert.rejects(trimLangChain([good, odd], {}), says("messages[1]"));
  assert.throws(() => fromLangChain(odd), says("message"));
  assert.equal(await keep.thread("a").head(), null);
  await keep.close();
});

test("tool calls and their results stay or go together; too small a budget says so", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const whole = new ThreadkeepChatMessageHistory(keep, "tools");
  for (let round = 0; round < 20; round += 1) {
    await whole.addUserMessage(`question ${round}`);
    await whole.addMessages([
      new AIMessage({ content: "", tool_calls: [call(`a${round}`, "f", { round }), call(`b${round}`, "f", { round })] }),
      new ToolMessage("result ".repeat(10), `a${round}`),
      new ToolMessage("result ".repeat(10), `b${round}`),
    ]);
    await whole.addAIMessage(`answer ${round}`);
  }
  let some = 0;
  for (let maxTokens = 20; maxTokens < 2000; maxTokens += 37) {
    const list = await new ThreadkeepChatMessageHistory(keep, "tools", { budget: { maxTokens } }).getMessages();
    const calls = list.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => id));
    const results = list.filter((message) => message instanceof ToolMessage).map((message) => message.tool_call_id);
    assert.deepEqual(calls, results);
    if (list.length > 2 && list.length < 100) some += 1;
  }
  assert.ok(some > 20);
  await assert.rejects(new ThreadkeepChatMessageHistory(keep, "tools", { budget: { maxTokens: 1 } }).getMessages(), { code: "over-budget" });
  assert.throws(() => new ThreadkeepChatMessageHistory(keep, "tools", { buget: {} }), { code: "bad-request" });
  assert.throws(() => new ThreadkeepChatMessageHistory(keep, ""), { code: "bad-request" });
  assert.throws(() => fromLangChain({ role: "user", content: "x" }), { code: "bad-request" });
  await keep.close();
});

test("trimming needs nothing but its own import, as a module and by require", () => {
  const code = (from) => `${from} trimLangChain([new HumanMessage("hi")]).then(({ tokens }) => console.log(tokens > 0));`;
  assert.equal(inChild(code('import { trimLangChain } from "threadkeep/langchain"; import { HumanMessage } from "@langchain/core/messages";')).trim(), "true");
  const require = 'import { createRequire } from "node:module"; const require = createRequire(process.cwd() + "/here.js");';
  assert.equal(
    inChild(code(`${require} const { trimLangChain } = require("threadkeep/langchain"); const { HumanMessage } = require("@langchain/core/messages");`)).trim(),
    "true",
  );
});
