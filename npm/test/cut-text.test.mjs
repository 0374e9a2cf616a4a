// Texts that were cut inside a character, as every tool makes them that slices strings: U+FFFD stands for the half, as
// `toWellFormed()` has it. Two pieces of a stream are joined instead.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countTokens,
  createAgent,
  memory,
  recordKey,
  render,
  trimMessages,
  user,
  validate,
  writeDepth,
  readDepth,
  compressHistory,
} from "./support/expect.mjs";

const CUT = "Fine 😀 \\ud83d until here \ud83d";
const WHOLE = CUT.toWellFormed();
const BACK = "\ude00 from here on";

test("every call takes a text that was cut inside a character", async () => {
  const keep = await memory({ encoding: "estimate" });
  const message = { ...user([{ type: "text", text: CUT }]), x: { y: [CUT, { [CUT]: BACK }] } };
  const whole = { ...user([{ type: "text", text: WHOLE }]), x: { y: [WHOLE, { [WHOLE]: BACK.toWellFormed() }] } };
  const [node] = await keep.thread("main").append([message]);
  assert.deepEqual(node.messages, [whole]);
  assert.deepEqual(await keep.thread("main").messages(), [whole]);
  const { id } = await keep.receive({ content: CUT, systemPrompt: CUT, from: "ann" });
  assert.deepEqual(
    (await keep.chain(id)).flatMap(({ messages }) => messages.map(({ content }) => content)),
    [WHOLE, WHOLE],
  );
  const answer = { role: "assistant", content: CUT, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: CUT } }] };
  await keep.extend(id, [answer, { role: "tool", tool_call_id: "c", content: BACK }]);
  const [, said, result] = (await keep.node(id)).messages;
  assert.deepEqual([said.content, said.tool_calls[0].function.arguments, result.content], [WHOLE, WHOLE, BACK.toWellFormed()]);
  await keep.at(id).seal();
  await keep.memory.remember({ fact: CUT, kind: "preference" });
  assert.equal((await keep.memory.facts())[0].fact, WHOLE);
  assert.ok((await keep.search(CUT)).length > 0);
  const mail = await keep.mailbox("ann").send({ to: "bob", content: CUT });
  assert.deepEqual(mail.strings, [WHOLE]);
  await keep.mailbox("bob").reply(mail.number, BACK);
  await keep.transcript(node.transcript).rename(CUT);
  const { messages, warnings } = await keep.thread("main").context({ encoding: "estimate", systemPrompt: CUT, persona: undefined });
  assert.deepEqual(
    messages.map(({ content }) => content),
    [WHOLE, whole.content],
  );
  assert.deepEqual(
    warnings.map(({ kind, rule, index, count }) => [kind, rule, index, count]),
    [["changed", "lost-character", 0, 2]],
  );
  await keep.import(`{"role": "user", "content": ${JSON.stringify(CUT)}}\n{"role": "assistant", "content": "a"}`);
  await keep.import(JSON.stringify({ messages: [user(`raw ${CUT}`), { role: "assistant", content: "b" }] }));
  await keep
    .thread("main")
    .compact({ keepRecent: 1, summarize: () => CUT })
    .catch((error) => assert.notEqual(error.code, "bad-request"));
  await keep.records("mine").commit({ puts: [[recordKey("key"), new TextEncoder().encode(CUT)]] });
  await keep.close();
});

const lost = (index, count) => [{ kind: "changed", rule: "lost-character", index, count }];
const said = (warnings) => warnings?.map(({ message, ...rest }) => (assert.match(message, /U\+FFFD/), rest));

test("calls that store a cut text say so in `warnings`, and others say nothing", async () => {
  const keep = await memory({ encoding: "estimate" });
  const nodes = await keep.thread("main").append([user("whole 😀"), user(CUT), user(`escaped \\ud83d and ${WHOLE}`)]);
  assert.deepEqual(
    nodes.map(({ warnings }) => said(warnings)),
    [undefined, lost(0, 1), undefined],
    "U+FFFD of the caller's own is no cut",
  );
  const { id, warnings } = await keep.receive({ content: CUT });
  assert.deepEqual(said(warnings), lost(0, 1));
  const grown = await keep.extend(id, [user("whole"), { role: "assistant", content: [{ type: "text", text: CUT }] }, user(BACK)]);
  assert.deepEqual(said(grown.warnings), lost(1, 2));
  assert.equal((await keep.node(id)).warnings, undefined);
  assert.equal((await keep.extend(id, [user("whole")])).warnings, undefined);
  await keep.close();
});

test("`trimMessages` says which messages lost a character, as `context` does", async () => {
  const options = { encoding: "estimate", budget: { maxTokens: 1000 } };
  const list = [user("whole"), user(CUT), { role: "assistant", content: BACK }];
  assert.deepEqual(said((await trimMessages(list, options)).warnings), lost(1, 2));
  assert.deepEqual((await trimMessages(list.slice(0, 1), options)).warnings, []);
  assert.deepEqual((await trimMessages([user("whole")], options)).warnings, []);
});

test("functions without a store take it, and count it as it is stored", async () => {
  for (const encoding of ["o200k_base", "cl100k_base", "estimate"]) {
    assert.equal(await countTokens(CUT, encoding), await countTokens(WHOLE, encoding));
    assert.equal(await countTokens([user(CUT)], encoding), await countTokens([user(WHOLE)], encoding));
  }
  const options = { encoding: "estimate", budget: { maxTokens: 1000 } };
  const [cut, whole] = [
    await trimMessages([user(CUT), { role: "assistant", content: BACK }], options),
    await trimMessages([user(WHOLE), { role: "assistant", content: BACK.toWellFormed() }], options),
  ];
  assert.deepEqual([cut.messages, cut.tokens, cut.ledger], [whole.messages, whole.tokens, whole.ledger]);
  assert.deepEqual((await render([user(CUT)], "anthropic")).payload.messages, (await render([user(WHOLE)], "anthropic")).payload.messages);
  assert.ok((await validate([user(CUT)], "openai-chat")).ok);
  await compressHistory([{ program: CUT }, { program: "b" }]);
  assert.deepEqual(writeDepth([CUT], 1), [`[depth:1] ${WHOLE}`]);
  assert.deepEqual(readDepth(`[depth:1] ${CUT}`), { depth: 1, text: WHOLE });
});

/** An agent's turn; what is stored of it, and what was heard. */
async function turn(model, tools) {
  const keep = await memory({ encoding: "estimate" });
  const agent = createAgent({ keep, model, builtIn: [], tools });
  const going = agent.send(CUT);
  const events = [];
  for await (const event of going) events.push(event);
  const { node, outcome } = await going;
  const { messages } = await keep.node(node);
  await keep.close();
  const heard = events.filter(({ type, text }) => type === "delta" && text !== undefined).map(({ text }) => text);
  return { messages, outcome, heard, warnings: events.flatMap(({ warning }) => warning ?? []) };
}

test("a tool's result and a model's answer that were cut do not end an agent's turn", async () => {
  const answers = [{ message: { content: null, tool_calls: [{ id: "c", type: "function", function: { name: "cut", arguments: "{}" } }] } }, CUT];
  const { messages, outcome, warnings } = await turn(() => answers.shift(), { cut: { execute: () => ({ text: CUT }) } });
  assert.equal(outcome, "answered");
  assert.deepEqual(
    messages.slice(-2).map(({ content }) => content),
    [JSON.stringify({ text: WHOLE }), WHOLE],
  );
  assert.match(warnings.join(), /tool cut was cut inside a character/);
});

const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
const call = (piece) => ({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: piece } }] });

test("a character that two streamed pieces share is joined", async () => {
  const own = async function* () {
    for (const text of ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"]) yield { text };
  };
  const texts = async function* () {
    yield* ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"];
  };
  const openai = async function* () {
    for (const content of ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"]) yield chunk({ content });
    yield chunk({}, "stop");
  };
  const sdk = async function* () {
    for (const text of ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"]) yield { type: "text-delta", text };
    yield { type: "finish", finishReason: "stop" };
  };
  const wire = () =>
    new Response(
      ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"].map((content) => `data: ${JSON.stringify(chunk({ content }))}\n\n`).join("") +
        `data: ${JSON.stringify(chunk({}, "stop"))}\n\n`,
      { headers: { "content-type": "text/event-stream" } },
    );
  const anthropic = async function* () {
    yield { type: "message_start", message: { content: [] } };
    yield { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "s" } };
    for (const thinking of ["Hm \ud83d", "\ude00"]) yield { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking } };
    yield { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } };
    for (const text of ["Good \ud83d", "\ude00 day", " \ud83d", "and an end \ud83d"])
      yield { type: "content_block_delta", index: 1, delta: { type: "text_delta", text } };
    yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
    yield { type: "message_stop" };
  };
  for (const [name, model] of Object.entries({ own, texts, openai, sdk, wire, anthropic })) {
    const { messages, heard } = await turn(() => model());
    const last = messages.at(-1);
    assert.equal(last.content, "Good 😀 day \ufffdand an end \ufffd", name);
    assert.equal(heard.join(""), last.content, name);
    assert.ok(
      heard.every((text) => text.isWellFormed()),
      name,
    );
    if (name === "anthropic") assert.deepEqual([last.reasoning, last.anthropic[0].thinking, last.anthropic[1].text], ["Hm 😀", "Hm 😀", last.content]);
  }
});

test("arguments of a call that two streamed pieces share are joined", async () => {
  const parts = ['{"a":"\ud83d', '\ude00"}'];
  const seen = [];
  const tools = { f: { execute: (args) => (seen.push(args), "done") } };
  const models = [
    async function* () {
      for (const part of parts) yield chunk(call(part));
      yield chunk({}, "tool_calls");
    },
    async function* () {
      for (const part of parts) yield { index: 0, id: "c", name: "f", arguments: part };
    },
  ];
  for (const model of models) {
    let asked = 0;
    await turn(() => (asked++ === 0 ? model() : "Done."), tools);
  }
  assert.deepEqual(seen, [{ a: "😀" }, { a: "😀" }]);
});
