// Conversations of an agent: found again by their name, answered at the same time, each in order, and nothing twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { all, boxOf, calls, script, setUp } from "./support/agents.mjs";
import { Threadkeep, countTokens, createAgent, memory, rejects, texts } from "./support/expect.mjs";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const echo = async ({ messages }) => `to ${messages.at(-1).content}`;
const plain = (keep, model = echo, more = {}) => createAgent({ keep, model, name: "lal", user: "ann", ...more });
const read = async (keep, thread) => texts(await keep.thread(thread).messages());

test("a conversation is found again by its name after a restart", async () => {
  const records = new Map();
  const open = () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" });
  const before = await open();
  await plain(before).send("first", { conversation: "ann-42" });
  await before.close();
  const after = await open();
  const agent = plain(after);
  const { outcome, code } = await agent.send("second", { conversation: "ann-42" });
  assert.deepEqual([outcome, code], ["answered", "stop"]);
  assert.deepEqual(await read(after, "ann-42"), ["first", "to first", "second", "to second"]);
  await after.mailbox("ann").send({ to: "lal", content: "third", conversation: "ann-42" });
  assert.equal(await agent.catchUp(), 1);
  assert.equal((await read(after, "ann-42")).at(-1), "to third");
  await rejects(agent.send("x", { conversation: "" }), "bad-request", /conversation/);
  await after.close();
});

test("a reply decides the place, and the conversation moves there", async () => {
  const keep = await memory({ encoding: "estimate" });
  const agent = plain(keep);
  const first = await agent.send("first", { conversation: "c" });
  await agent.send("second", { conversation: "c" });
  await agent.send("instead", { conversation: "c", replyTo: first.reply });
  assert.deepEqual(await read(keep, "c"), ["first", "to first", "instead", "to instead"]);
  const lost = await agent.send("lost", { conversation: "c", replyTo: "gone" });
  assert.equal(lost.unknownReply, true);
  assert.equal((await read(keep, "c")).length, 6);
  await keep.close();
});

test("a conversation goes on from the answer that was asked for again, where one names it", async () => {
  const keep = await memory({ encoding: "estimate" });
  const agent = plain(keep);
  const { node } = await agent.send("What colour is it?", { conversation: "c" });
  await agent.again(node);
  assert.equal((await keep.thread("c").head()).id, node, "without a name nothing moves");
  const { node: other } = await agent.again(node, { conversation: "c" });
  assert.notEqual(other, node);
  assert.equal((await keep.thread("c").head()).id, other);
  const { node: further } = await agent.goOn(other, { conversation: "c" });
  assert.equal((await keep.thread("c").head()).id, further);
  await rejects(agent.again(node, { conversation: "" }), "bad-request", /conversation/);
  await keep.close();
});

test("fifty conversations against a slow model are answered within three seconds of each other", async () => {
  for (const storage of ["memory", mapAdapter({ records: new Map() })]) {
    const keep = await Threadkeep.open({ storage, encoding: "estimate" });
    let [working, most] = [0, 0];
    const slow = async (request) => {
      most = Math.max(most, (working += 1));
      await pause(2_000);
      working -= 1;
      return echo(request);
    };
    const agent = plain(keep, slow);
    const times = [];
    const ask = async (at) => {
      const { text } = await agent.send(`question ${at}`, { conversation: `c${at}` });
      assert.equal(text, `to question ${at}`);
      times.push(performance.now());
    };
    await Promise.all(Array.from({ length: 50 }, (_, at) => ask(at)));
    assert.ok(most > 25, `${most} at once`);
    assert.ok(Math.max(...times) - Math.min(...times) < 3_000, `${Math.max(...times) - Math.min(...times)} ms`);
    assert.equal((await boxOf(keep, "ann")).length, 100);
    await keep.close();
  }
});

test("messages of one conversation are answered in order, however they are sent", async () => {
  const records = new Map();
  const open = () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" });
  const keeps = [await open(), await open()];
  const slow = async (request) => (await pause(20), echo(request));
  const agents = keeps.map((keep) => plain(keep, slow));
  await Promise.all(Array.from({ length: 8 }, (_, at) => agents[at % 2].send(`m${at}`, { conversation: "c" })));
  const said = await read(keeps[0], "c");
  assert.equal(said.length, 16);
  for (let at = 0; at < 16; at += 2) assert.equal(said[at + 1], `to ${said[at]}`);
  assert.equal((await keeps[0].roots()).length, 1);
  assert.deepEqual(
    [...records.keys()].filter((key) => key.startsWith("x/agents/")),
    [],
    "no claim is left",
  );
  await Promise.all(keeps.map((keep) => keep.close()));
});

test("a stop of one turn leaves the others", async () => {
  const keep = await memory({ encoding: "estimate" });
  const free = [];
  const model = ({ messages, signal }) =>
    new Promise((resolve, reject) => {
      free.push(() => resolve(`to ${messages.at(-1).content}`));
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const agent = plain(keep, model);
  const turns = ["a", "b"].map((name) => agent.send(name, { conversation: name }));
  while (free.length < 2) await pause(2);
  turns[0].stop();
  const stopped = await turns[0];
  free.forEach((go) => go());
  const other = await turns[1];
  assert.deepEqual([stopped.outcome, stopped.code, other.text], ["cancelled", "cancelled", "to b"]);
  const events = await all(turns[1]);
  assert.ok(events.every((event) => (event.type === "sent" ? event.mail.node : event.node) === other.node));
  const both = ["c", "d"].map((name) => agent.send(name, { conversation: name }));
  while (free.length < 4) await pause(2);
  agent.stop();
  assert.deepEqual(
    (await Promise.all(both)).map(({ outcome }) => outcome),
    ["cancelled", "cancelled"],
  );
  await keep.close();
});

test("a turn says why it ended and what it took", async () => {
  const counted = (content, usage, more = {}) => ({ message: typeof content === "string" ? { content } : content.message, usage, ...more });
  const { keep, agent } = await setUp([
    counted(calls(["c", "add", { a: 1, b: 2 }]), { promptTokens: 10, completionTokens: 5, reasoningTokens: 3 }),
    counted("three", { promptTokens: 20, completionTokens: 1, cachedTokens: 4 }),
    counted("so far", { promptTokens: 7, completionTokens: 9 }, { finish: "length" }),
    "without figures",
  ]);
  const first = await agent.send("1 + 2?");
  assert.deepEqual([first.code, first.usage], ["stop", { promptTokens: 30, completionTokens: 6, cachedTokens: 4, reasoningTokens: 3 }]);
  const cut = await agent.send("go on");
  assert.deepEqual([cut.outcome, cut.code, cut.usage], ["answered", "length", { promptTokens: 7, completionTokens: 9 }]);
  assert.deepEqual(await agent.send("?").then(({ code, usage }) => [code, usage]), ["stop", undefined]);
  await keep.close();
});

test("a hello to a default agent costs at most 60 tokens beside the text", async () => {
  const keep = await memory();
  const requests = [];
  const agent = createAgent({ keep, model: (request) => (requests.push(request), "Hello.") });
  const events = await all(agent.send("hello"));
  const { tokens } = events.find(({ type }) => type === "asked");
  const beside = tokens - (await countTokens("hello"));
  assert.ok(beside <= 60, `${beside} tokens`);
  assert.deepEqual(requests[0].payload.messages, [{ role: "user", content: "hello" }]);
  assert.deepEqual([requests[0].tools, requests[0].payload.tools], [[], undefined]);
  const written = await countTokens(JSON.stringify(requests[0].payload));
  assert.ok(written - (await countTokens("hello")) <= 60, `${written} tokens as it is sent`);
  await keep.close();
});

test("a large result is previewed only where it does not fit, and then it can be read", async () => {
  const long = "word ".repeat(8_000);
  const run = async (maxTokens, answers) => {
    const keep = await memory({ encoding: "estimate" });
    const model = script(...answers);
    const tools = { echo: { execute: () => long } };
    const { text } = await plain(keep, model, { tools, compaction: false, context: { budget: { maxTokens } } }).send("go");
    await keep.close();
    return { text, shown: model.requests[1].messages.at(-1).content, offered: model.requests.map(({ tools }) => tools.map(({ name }) => name)) };
  };
  const read = calls(["r", "readToolResult", { path: "@state/logs/tool-results/long.json", offset: 39_990 }]);
  const small = await run(2_000, [calls(["long", "echo", {}]), read, "read"]);
  assert.match(small.shown, /^TOOL_RESULT_PREVIEW/);
  assert.deepEqual(small.offered.slice(0, 2), [["echo"], ["readToolResult", "echo"]]);
  const large = await run(100_000, [calls(["long", "echo", {}]), "whole"]);
  assert.equal(large.shown, long);
  assert.deepEqual(large.offered, [["echo"], ["echo"]]);
});

test("after a stop the next prompt has nothing in the assistant's mouth but its words", async () => {
  const keep = await memory({ encoding: "estimate" });
  let stop = () => {};
  const model = script(async function* () {
    yield "Half a";
    stop();
    await new Promise(() => {});
  }, "whole");
  const agent = plain(keep, model);
  const turn = agent.send("first", { conversation: "c" });
  stop = () => setTimeout(() => turn.stop(), 20);
  await turn;
  await agent.send("second", { conversation: "c" });
  const words = model.requests[1].messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  assert.deepEqual(words, ["Half a"]);
  assert.doesNotMatch(JSON.stringify(model.requests[1].payload), /LLM_ERROR/);
  await keep.close();
});
