// Reply chains through the package: routing, branches, aliases, the depth prefix, the built-in mail tools. The engine's tests of the
// same behaviour also look at what the store holds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { boxOf, calls, lal, said, script, setUp } from "./support/agents.mjs";
import { Threadkeep, memory, readDepth } from "./support/expect.mjs";

const texts = (node) => node.messages.map(({ content }) => content ?? "");
const roles = (node) => node.messages.map(({ role }) => role);
const add = (id, a) => calls([id, "add", { a, b: 1 }]);

test("a reply to the agent's message continues that transcript and no other", async () => {
  const { keep, agent, model } = await setUp(["blue", "42", "because of the air"]);
  const sky = await agent.send("what colour is the sky?");
  await agent.send("what is six times seven?");
  await agent.send("why?", { replyTo: sky.reply });
  assert.deepEqual(model.prompt(2).slice(1), ["what colour is the sky?", "blue", "why?"]);
  await keep.close();
});

test("a stand-alone message begins a transcript", async () => {
  const { keep, agent, model } = await setUp(["a", "b", "c"]);
  await agent.send("one");
  await agent.send("two");
  await agent.send("three", { replyTo: "never-seen" });
  assert.equal((await keep.roots()).length, 3);
  assert.deepEqual(
    [0, 1, 2].map((at) => model.prompt(at).slice(1)),
    [["one"], ["two"], ["three"]],
  );
  await keep.close();
});

test("replies to the same message are branches that share their beginning", async () => {
  const { keep, agent, model } = await setUp(["which?", "left it is", "right it is"]);
  const which = await agent.send("left or right?");
  const left = await agent.send("left", { replyTo: which.reply });
  const right = await agent.send("right", { replyTo: which.reply });
  assert.deepEqual(model.prompt(1).slice(1), ["left or right?", "which?", "left"]);
  assert.deepEqual(model.prompt(2).slice(1), ["left or right?", "which?", "right"]);
  assert.deepEqual(
    (await keep.at(which.node).children()).map(({ id }) => id),
    [left.node, right.node],
  );
  assert.equal((await keep.stats()).nodes, 4);
  await keep.close();
});

test("the agent answers with reply(), so that replyTo is set", async () => {
  const text = { messageNumber: "+1", strings: ["here"], edgeNames: [], petNames: [] };
  const { keep, agent } = await setUp([calls(["c", "reply", text]), "I have replied."]);
  const { reply, node, text: answer } = await agent.send("where?");
  assert.deepEqual([reply.replyTo, reply.strings, answer], [node, ["[depth:2] here"], "here"]);
  assert.equal((await boxOf(keep, "ann")).length, 2);
  await keep.close();
});

test("outgoing messages carry the depth of the transcript", async () => {
  const { keep, agent } = await setUp(["a", "b", "c"]);
  let replyTo;
  for (const depth of [2, 4, 6]) {
    const { reply, node } = await agent.send("and?", { replyTo });
    assert.equal(readDepth(reply.strings[0]).depth, depth);
    assert.equal(await keep.at(node).depth(), depth);
    replyTo = reply;
  }
  await keep.close();
});

test("a node has messageId, parent, its own messages and the inbox number", async () => {
  const { keep, agent } = await setUp(["ho"]);
  const { node: id } = await agent.send("hi", { messageId: "m1" });
  const node = await keep.node(id);
  assert.deepEqual([node.id, node.origin.number, texts(node)], ["m1", 1, ["hi", "ho"]]);
  const root = await keep.node(node.parent);
  assert.equal(root.parent, null);
  assert.match(texts(root)[0], /^You are helpful\./);
  await keep.close();
});

test("the full transcript is collected from leaf to root", async () => {
  const { keep, agent } = await setUp(["b", "d"]);
  const first = await agent.send("a");
  const second = await agent.send("c", { replyTo: first.reply });
  assert.deepEqual((await keep.chain(second.node)).flatMap(texts).slice(1), ["a", "b", "c", "d"]);
  await keep.close();
});

test("nodes are durable under their messageId and loaded when they are referenced", async () => {
  const records = new Map();
  const open = () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" });
  const before = await open();
  const first = await lal(before, script("b")).send("a");
  await before.close();
  const after = await open();
  assert.equal((await after.stats()).cachedTranscripts, 0);
  const model = script("d");
  await lal(after, model).send("c", { replyTo: first.reply });
  assert.deepEqual(model.prompt(0).slice(1), ["a", "b", "c"]);
  await after.close();
});

test("an arriving message is routed by replyTo, through node and alias", async () => {
  const { keep, agent } = await setUp(["b", "d", "f"]);
  const first = await agent.send("a");
  const byAlias = await agent.send("c", { replyTo: first.reply });
  const byNode = await agent.send("e", { replyTo: first.node });
  for (const { node } of [byAlias, byNode]) assert.equal((await keep.node(node)).parent, first.node);
  await keep.close();
});

test("the loop appends answers and results until no tool is called", async () => {
  const { keep, agent, model } = await setUp([add("x", 1), add("y", 2), "2 and 3"]);
  const { node: id } = await agent.send("count");
  const node = await keep.node(id);
  assert.deepEqual(roles(node), ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
  assert.deepEqual(texts(node).slice(2), ["2", "", "3", "2 and 3"]);
  assert.deepEqual(
    model.requests.map(({ messages }) => messages.length),
    [2, 4, 6],
  );
  assert.ok(node.sealed);
  await keep.close();
});

test("an outbound id becomes an alias of the inbound node", async () => {
  const { keep, agent } = await setUp(["b"]);
  const { node, reply } = await agent.send("a");
  assert.notEqual(reply.messageId, node);
  assert.deepEqual(await keep.node(reply.messageId), await keep.node(node));
  await keep.close();
});

test("an own message that answers nothing begins a conversation of its own", async () => {
  const { keep, agent, model } = await setUp([calls(["c", "send", { recipientName: "bob", strings: ["lunch?"] }]), "I asked Bob.", "great"]);
  await agent.send("ask Bob for lunch");
  const [invitation] = await boxOf(keep, "bob");
  assert.deepEqual([invitation.replyTo, invitation.strings], [undefined, ["lunch?"]]);
  await keep.mailbox("bob").reply(1, "yes");
  await agent.catchUp();
  assert.deepEqual(model.prompt(2).slice(-2), ["lunch?", "[message 4 from bob]\nyes"]);
  assert.ok(model.prompt(2).every((text) => !text.includes("ask Bob")));
  await keep.close();
});

test("the reply tool requires messageNumber, strings, edgeNames and petNames", async () => {
  const { keep, agent, model } = await setUp(["b"]);
  await agent.send("a");
  const { parameters } = model.requests[0].tools.find(({ name }) => name === "reply");
  assert.deepEqual(parameters.required, ["messageNumber", "strings", "edgeNames", "petNames"]);
  assert.equal(parameters.properties.messageNumber.type, "string");
  await keep.close();
});

test("listMessages shows messageId and replyTo", async () => {
  const { keep, agent } = await setUp(["b", calls(["c", "listMessages", {}]), "done"]);
  const first = await agent.send("a");
  const { node } = await agent.send("list", { replyTo: first.reply });
  const listed = JSON.parse(texts(await keep.node(node))[2]);
  assert.deepEqual([listed[0].messageId, listed[1].replyTo, listed[2].replyTo], [first.node, first.node, first.reply.messageId]);
  assert.deepEqual(
    (await agent.listMessages()).slice(0, 3).map(({ messageId }) => messageId),
    listed.map(({ messageId }) => messageId),
  );
  await keep.close();
});

test("the system prompt says reply() to respond and send() to begin", async () => {
  const { keep, agent, model } = await setUp(["b"]);
  await agent.send("a");
  assert.match(model.prompt(0)[0], /use reply\(\).*Use send\(\) only to begin a new conversation/s);
  await keep.close();
});

test("a reply to an older message is threaded there and continues the turn that said it", async () => {
  const { keep, agent } = await setUp(["soon", calls(["c", "reply", { messageNumber: 1, strings: "late answer" }]), "and this one too"]);
  const first = await agent.send("one");
  const second = await agent.send("two");
  assert.deepEqual(second.reply.strings, ["[depth:3] and this one too"]);
  const late = (await boxOf(keep, "ann")).find(({ strings }) => strings[0].includes("late answer"));
  assert.equal(late.replyTo, first.node);
  assert.equal((await keep.node(late.messageId)).id, second.node);
  await keep.close();
});

test("two conversations go on side by side", async () => {
  const { keep, agent, model } = await setUp(["a0", "a1", "a2", "a3"]);
  const a = await agent.send("chain a");
  const b = await agent.send("chain b");
  await agent.send("more of a", { replyTo: a.reply });
  await agent.send("more of b", { replyTo: b.reply });
  assert.deepEqual(model.prompt(2).slice(1), ["chain a", "a0", "more of a"]);
  assert.deepEqual(model.prompt(3).slice(1), ["chain b", "a1", "more of b"]);
  await keep.close();
});

test("the cache stays bounded, and evicted transcripts are loaded again", async () => {
  const keep = await memory({ encoding: "estimate", cacheBytes: 4_000 });
  const model = script(...Array.from({ length: 31 }, (_, at) => `answer ${at} ${"x".repeat(200)}`));
  const agent = lal(keep, model);
  const turns = [];
  for (let at = 0; at < 30; at += 1) turns.push(await agent.send(`q${at}`));
  const { cachedBytes, cachedTranscripts } = await keep.stats();
  assert.ok(cachedBytes <= 4_000 && cachedTranscripts < 30);
  await agent.send("back to the first", { replyTo: turns[0].reply });
  assert.equal(model.prompt(30)[1], "q0");
  await keep.close();
});

test("the depth prefix stands before replies only", async () => {
  const none = { messageNumber: 1, strings: [], edgeNames: [], petNames: [] };
  const { keep, agent } = await setUp([calls(["r", "reply", none], ["s", "send", { recipientName: "bob", strings: ["no depth here"] }]), "."]);
  await agent.send("a");
  assert.deepEqual((await boxOf(keep, "ann"))[1].strings, ["[depth:2]"]);
  assert.deepEqual((await boxOf(keep, "bob"))[0].strings, ["no depth here"]);
  await keep.close();
});

test("transcripts of dismissed messages can be collected", async () => {
  const { keep, agent } = await setUp(["a0", "a1", "a2"]);
  const done = await agent.send("done with");
  await agent.send("to stay");
  const more = await agent.send("more", { replyTo: done.reply });
  assert.equal(await keep.mailbox("lal").collectDismissed(), 0);
  const gone = [done, more].flatMap(({ node, reply }) => [node, reply.messageId]);
  for (const { number, messageId } of await boxOf(keep, "lal")) if (gone.includes(messageId)) await keep.mailbox("lal").dismiss(number);
  assert.equal(await keep.mailbox("lal").collectDismissed(), 1);
  assert.equal((await keep.roots()).length, 1);
  assert.equal(await keep.node(done.node), null);
  assert.deepEqual(said(await boxOf(keep, "lal")), ["to stay", "[depth:2] a1"]);
  await keep.close();
});

test("a dismissed branch inside a living thread is collected, on a call and after a set time", async () => {
  const { keep, agent } = await setUp(["a0", "a1", "a2", "a3"], { collectAfter: 200 });
  const root = await agent.send("root");
  const dismissed = async (text) => {
    const turn = await agent.send(text, { replyTo: root.reply });
    const gone = [turn.node, turn.reply.messageId];
    for (const { number, messageId } of await boxOf(keep, "lal")) if (gone.includes(messageId)) await keep.mailbox("lal").dismiss(number);
    return turn.node;
  };
  const stays = await agent.send("to stay", { replyTo: root.reply });
  const called = await dismissed("by hand");
  assert.equal(await keep.mailbox("lal").collectDismissed(), 1);
  assert.equal(await keep.node(called), null);
  const timed = await dismissed("after a time");
  const signal = AbortSignal.timeout(10_000);
  const over = new AbortController();
  keep.on("change", (event) => event.type === "deleted" && over.abort());
  for await (const _ of agent.run({ signal: AbortSignal.any([signal, over.signal]) }));
  assert.equal(await keep.node(timed), null);
  assert.equal((await keep.node(stays.node)).parent, root.node);
  await keep.close();
});

test("a damaged message is left out and reported, and the next one is answered", async () => {
  const storage = mapAdapter();
  const keep = await Threadkeep.open({ storage, encoding: "estimate" });
  const agent = lal(keep, script("a", "b", "c"));
  for (const content of ["one", "two"]) await keep.mailbox("ann").send({ to: "lal", content });
  const [damaged] = [...storage.records.keys()].filter((key) => key.startsWith("b/lal/n/")).sort();
  storage.records.set(damaged, new TextEncoder().encode("no message"));
  assert.deepEqual([await agent.catchUp(), await agent.catchUp()], [1, 0]);
  assert.equal((await agent.send("three")).text, "b");
  assert.ok((await keep.stats()).damaged.some(({ what }) => what.includes(damaged)));
  await keep.close();
});

test("another answer is a new node at the same parent", async () => {
  const { keep, agent } = await setUp(["b", "other b"]);
  const first = await agent.send("a");
  const again = await agent.again(first.node);
  assert.deepEqual(texts(await keep.node(again.node)), ["a", "other b"]);
  assert.equal((await keep.node(again.node)).parent, (await keep.node(first.node)).parent);
  assert.deepEqual(texts(await keep.node(first.node)), ["a", "b"]);
  await keep.close();
});

test("reply() without a number answers the message at hand", async () => {
  const { keep, agent } = await setUp([calls(["c", "reply", { strings: ["without a number"] }]), "done"]);
  const { reply, node } = await agent.send("a");
  assert.deepEqual([reply.replyTo, reply.from, reply.to], [node, "lal", "ann"]);
  await keep.close();
});

test("own messages make aliases, also when they are seen later", async () => {
  const { keep, agent } = await setUp([]);
  const asked = await keep.mailbox("ann").send({ to: "lal", content: "a" });
  await keep.receive({ messageId: asked.messageId, content: "a" });
  await keep.at(asked.messageId).seal();
  const answer = await keep.mailbox("lal").reply(1, "from elsewhere");
  assert.equal(await keep.node(answer.messageId), null);
  await agent.catchUp();
  assert.equal((await keep.node(answer.messageId)).id, asked.messageId);
  await keep.close();
});

test("the depth is a text prefix in the first string", async () => {
  const text = { strings: ["one ", " two"], edgeNames: ["thing"], petNames: ["my-thing"] };
  const { keep, agent } = await setUp([calls(["c", "reply", text]), "done"]);
  const { reply, text: answer } = await agent.send("a");
  assert.deepEqual([reply.strings, answer], [["[depth:2] one ", " two"], "one @thing two"]);
  await keep.close();
});

test("the outbound id is captured by following one's own messages", async () => {
  const { keep, agent } = await setUp(["b"]);
  const followed = keep.mailbox("lal").follow();
  const { reply } = await agent.send("a");
  assert.equal((await followed.next()).value.from, "ann");
  const { value: own } = await followed.next();
  assert.deepEqual([own.from, own.messageId], ["lal", reply.messageId]);
  await keep.close();
});

test("the transcript is assembled for every model call, and one node holds the whole turn", async () => {
  const { keep, agent, model } = await setUp([add("x", 2), "3"]);
  const { node } = await agent.send("add");
  assert.equal(model.requests.length, 2);
  assert.deepEqual(model.prompt(1).slice(1), ["add", "", "3"]);
  assert.deepEqual([(await keep.chain(node)).length, (await keep.node(node)).messages.length], [2, 4]);
  await keep.close();
});
