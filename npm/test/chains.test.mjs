// Reply chains: routing, aliases, branches, depth, growth.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, init, memory, readDepth, rejects, texts, user, writeDepth } from "./support/expect.mjs";

const chainTexts = async (keep, id) => texts((await keep.chain(id)).flatMap((node) => node.messages));

test("a message without a known parent begins a transcript, with the system prompt at its root", async () => {
  const keep = await memory();
  const first = await keep.receive({ messageId: "m1", from: "ann", number: 3, content: "hi", systemPrompt: "be brief" });
  assert.deepEqual(await chainTexts(keep, first.id), ["be brief", "hi"]);
  assert.equal(first.origin.from, "ann");
  assert.equal(first.origin.number, 3);
  assert.equal(first.sealed, false);
  assert.equal(first.depth, 1);
  assert.equal(first.turn, "turn_0001");
  assert.ok(Math.abs(first.createdAt - Date.now()) < 3_600_000);
  const stray = await keep.receive({ replyTo: "unknown", content: "lost" });
  assert.notEqual(stray.transcript, first.transcript);
  assert.match(stray.id, /^[0-9a-f]{64}$/);
  assert.equal((await keep.roots()).length, 2);
  assert.equal((await keep.transcripts()).length, 2);
  await keep.close();
});

test("a reply finds its chain by id and by alias", async () => {
  const keep = await memory();
  const question = await keep.receive({ messageId: "m1", content: "1+1?", systemPrompt: "count" });
  await keep.extend(question.id, [assistant("2")]);
  await keep.at(question.id).seal();
  await keep.at(question.id).alias("sent-1");
  await keep.at(question.id).alias("sent-1");
  const byAlias = await keep.receive({ messageId: "m2", replyTo: "sent-1", content: "sure?" });
  const byId = await keep.receive({ messageId: "m3", replyTo: "m1", content: "and 2+2?" });
  assert.equal(byAlias.parent, question.id);
  assert.equal(byId.parent, question.id);
  assert.deepEqual(
    (await keep.at("sent-1").children()).map((node) => node.id),
    [byAlias.id, byId.id],
  );
  assert.deepEqual(await chainTexts(keep, "m2"), ["count", "1+1?", "2", "sure?"]);
  assert.deepEqual(await chainTexts(keep, "m3"), ["count", "1+1?", "2", "and 2+2?"]);
  assert.equal((await keep.node("sent-1")).id, question.id);
  assert.equal(await keep.node("nobody"), null);
  assert.equal(await keep.at("m2").depth(), 3);
  await rejects(keep.at(question.id).alias("m2"), "id-taken");
  await rejects(keep.at("m2").alias("sent-1"), "id-taken");
  await rejects(keep.at("nobody").alias("sent-2"), "missing-node");
  await keep.close();
});

test("a message that was seen before is not stored again", async () => {
  const keep = await memory();
  const first = await keep.receive({ messageId: "m1", content: "hi" });
  const again = await keep.receive({ messageId: "m1", content: "hi" });
  assert.equal(again.id, first.id);
  assert.equal((await keep.stats()).transcripts, 1);
  await keep.close();
});

test("a node grows until it is sealed or answered", async () => {
  const keep = await memory();
  const turn = await keep.receive({ content: "look it up" });
  const call = { id: "c1", type: "function", function: { name: "find", arguments: "{}" } };
  await keep.extend(turn.id, [{ role: "assistant", content: null, tool_calls: [call] }]);
  assert.deepEqual(await keep.lint(turn.id), [], "an open turn may still be answered");
  const grown = await keep.extend(turn.id, [{ role: "tool", tool_call_id: "c1", content: "here" }, assistant("found")]);
  assert.deepEqual(
    grown.messages.map(({ content }) => content),
    ["here", "found"],
    "what was added",
  );
  assert.equal((await keep.node(turn.id)).messages.length, 4);
  assert.equal(grown.depth, 3);
  assert.deepEqual(await keep.lint(), []);
  const sealed = await keep.at(turn.id).seal();
  assert.equal(sealed.sealed, true);
  assert.equal((await keep.at(turn.id).seal()).sealed, true);
  const error = await rejects(keep.extend(turn.id, [assistant("more")]), "sealed");
  assert.equal(error.details.node, turn.id);
  await rejects(keep.extend("nobody", [assistant("more")]), "missing-node");
  await keep.thread("broken").append([{ role: "assistant", content: null, tool_calls: [call] }, user("never mind")]);
  const findings = await keep.lint();
  assert.deepEqual(
    findings.map((finding) => finding.rule),
    ["unanswered-call"],
  );
  assert.deepEqual(await keep.lint((await keep.thread("broken").head()).id), findings);
  await keep.close();
});

test("branches: outline, tree, choice, deletion", async () => {
  const keep = await memory();
  const root = await keep.receive({ messageId: "a", content: "start", systemPrompt: "s" });
  for (const id of ["b", "c", "d"]) await keep.receive({ messageId: id, replyTo: "a", content: id });
  await keep.receive({ messageId: "e", replyTo: "c", content: "e" });
  const outline = await keep.transcript(root.transcript).outline("c");
  assert.equal(outline.leaf, "e");
  assert.equal(outline.damage, null);
  assert.equal(outline.transcript.branches, 3);
  const fork = outline.rows.find((row) => row.id === "c").fork;
  assert.deepEqual([fork.index, fork.count, fork.previous, fork.next], [2, 3, "b", "d"]);
  const tree = await keep.transcript(root.transcript).tree();
  assert.equal(tree.length, outline.transcript.nodes);
  for (const { id, parent } of tree) assert.equal(parent, (await keep.node(id)).parent);
  await keep.at("b").choose();
  assert.equal((await keep.transcript(root.transcript).outline()).leaf, "b");
  await keep.transcript(root.transcript).rename("A title");
  assert.equal((await keep.transcripts())[0].title, "A title");
  assert.equal(await keep.at("c").deleteBranch(), 2);
  assert.equal(await keep.node("e"), null);
  await rejects(keep.chain("e"), "missing-node");
  assert.equal((await keep.at("a").children()).length, 2);
  await keep.transcript(root.transcript).delete();
  assert.deepEqual(await keep.transcripts(), []);
  await rejects(keep.transcript(root.transcript).outline(), "missing-transcript");
  await rejects(keep.transcript(root.transcript).delete(), "missing-transcript");
  await keep.receive({ content: "x" });
  await keep.deleteAll();
  assert.equal((await keep.stats()).nodes, 0);
  await keep.close();
});

test("heads point where they are set", async () => {
  const keep = await memory();
  await keep.thread("main").append([user("one"), user("two")]);
  const chain = await keep.chain((await keep.thread("main").head()).id);
  const one = chain.find((node) => node.messages[0]?.content === "one");
  await keep.thread("mark").moveTo(one.id);
  assert.equal((await keep.thread("mark").head()).id, one.id);
  await keep.thread("mark").append([user("other")]);
  assert.deepEqual(texts(await keep.thread("mark").messages()), ["one", "other"]);
  assert.deepEqual(texts(await keep.thread("main").messages()), ["one", "two"]);
  await rejects(keep.thread("mark").moveTo("nobody"), "missing-node");
  await keep.close();
});

test("depth counts users and assistants, not system prompts and tool results", async () => {
  const keep = await memory();
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const question = await keep.receive({ messageId: "m1", content: "what is there?", systemPrompt: "be brief" });
  const answers = [
    [{ role: "assistant", content: null, tool_calls: [call] }, 2],
    [{ role: "tool", tool_call_id: "c1", content: "a lamp" }, 2],
    [{ role: "system", content: "be briefer" }, 2],
    [assistant("a lamp"), 3],
  ];
  assert.equal(await keep.at(question.id).depth(), 1);
  for (const [message, depth] of answers) {
    await keep.extend(question.id, [message]);
    assert.equal(await keep.at(question.id).depth(), depth, message.role);
  }
  const next = await keep.receive({ messageId: "m2", replyTo: "m1", content: "and there?" });
  assert.equal(next.depth, 4);
  await keep.close();
});

test("the depth prefix is written and read", async () => {
  await init();
  const strings = ["hello", "tail"];
  assert.deepEqual(writeDepth(strings, 4), ["[depth:4] hello", "tail"]);
  assert.deepEqual(strings, ["hello", "tail"]);
  assert.deepEqual(writeDepth([], 4), ["[depth:4]"]);
  assert.deepEqual(readDepth("[depth:4] hello"), { depth: 4, text: "hello" });
  assert.deepEqual(readDepth("[depth:0]"), { depth: 0, text: "" });
  assert.deepEqual(readDepth("say [depth:4] hello"), { depth: null, text: "say [depth:4] hello" });
  assert.deepEqual(readDepth("[depth:4294967296] ü"), { depth: null, text: "[depth:4294967296] ü" });
  assert.deepEqual(readDepth("[depth:7] 漢字 \ud83d\ude00"), { depth: 7, text: "漢字 \ud83d\ude00" });
  assert.throws(() => writeDepth("hello", 4), { code: "bad-request" });
  assert.throws(() => writeDepth(["a"], -1), { code: "bad-request" });
  assert.throws(() => writeDepth(["a", 2], 1), { code: "bad-request", message: /strings\[1\]/ });
  assert.throws(() => readDepth(undefined), { code: "bad-request", message: /^text/ });
});
