// Search: what is found, where it is, filters, what is deleted, what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, memory, rejects, user } from "./support/expect.mjs";

test("a hit says where it is and why it was found", async () => {
  const keep = await memory();
  await keep.receive({ messageId: "q", content: "Where are my 😀 suitcases?" });
  await keep.extend("q", [assistant(`The luggage is in Oslo. ${"More about the weather there. ".repeat(20)}`)]);
  const answer = await keep.receive({ messageId: "a", replyTo: "q", content: "Thanks." });
  const [hit] = await keep.search("suitcase");
  assert.deepEqual([hit.node, hit.index, hit.role, hit.leaf], ["q", 0, "user", answer.id]);
  assert.equal(hit.message.content, "Where are my 😀 suitcases?");
  assert.deepEqual(hit.highlights.map(([from, to]) => hit.snippet.slice(from, to)), ["suitcases"]);
  assert.ok(hit.score > 0);
  assert.equal((await keep.search('"in Oslo"'))[0].index, 1);
  assert.equal((await keep.search("lugg*"))[0].index, 1);
  assert.deepEqual(await keep.search("zeppelin"), []);
  assert.deepEqual(await keep.search("suitcase", { limit: 0 }), []);
  await keep.close();
});

test("filters narrow, new messages are found, deleted ones are not", async () => {
  const keep = await memory();
  await keep.append("main", [user("an amber light"), assistant("amber indeed")]);
  await keep.append("other", [user("amber elsewhere")]);
  assert.equal((await keep.search("amber")).length, 3);
  assert.equal((await keep.search("amber", { role: "assistant" })).length, 1);
  assert.equal((await keep.search("amber", { role: ["assistant", "user"] })).length, 3);
  assert.equal((await keep.search("amber", { since: new Date(0) })).length, 3);
  assert.equal((await keep.search("amber", { until: 1000 })).length, 0);
  const { transcript, id } = await keep.head("other");
  assert.equal((await keep.search("amber", { transcript })).length, 1);
  assert.equal((await keep.search("amber", { branch: id })).length, 1);
  const progress = await keep.indexProgress();
  assert.deepEqual([progress.indexed, progress.messages], [3, 3]);
  await keep.deleteTranscript(transcript);
  assert.equal((await keep.search("amber")).length, 2);
  await keep.append("main", [user("amber again")]);
  assert.equal((await keep.search("amber")).length, 3);
  await keep.close();
});

test("what is remembered is found, and says what it is and where it leads", async () => {
  const keep = await memory();
  const [said] = await keep.append("main", [user("I drink my tea green")]);
  const source = { node: said.id, index: 0 };
  const fact = await keep.remember({ fact: "The user likes green tea.", tags: ["beverage"], transcript: said.transcript, sources: [source] });
  const [hit] = await keep.search("beverages");
  assert.deepEqual([hit.kind, hit.id, hit.transcript, hit.node, hit.leaf, hit.message], ["fact", fact.id, said.transcript, said.id, said.id, null]);
  assert.deepEqual(hit.sources, [source]);
  const [alone] = await keep.remember({ fact: "The office closes on Fridays." }).then(() => keep.search("friday"));
  assert.deepEqual([alone.kind, alone.transcript, alone.node, alone.leaf], ["fact", null, null, null]);
  assert.deepEqual((await keep.search("tea", { kind: "message" })).map(({ kind }) => kind), ["message"]);
  assert.deepEqual((await keep.search("tea", { kind: ["fact", "summary"] })).map(({ kind }) => kind), ["fact"]);
  await rejects(keep.search("tea", { kind: "tree" }), "bad-request", /kind/);
  await keep.forget(fact.id);
  assert.deepEqual(await keep.search("beverages"), []);
  await keep.close();
});

test("wrong arguments are named", async () => {
  const keep = await memory();
  await rejects(keep.search(), "bad-request", /query/);
  await rejects(keep.search("a", { limit: 1001 }), "bad-request", /limit/);
  await rejects(keep.search("a", { depth: 1 }), "bad-request", /depth/);
  await rejects(keep.search("a", { role: 3 }), "bad-request", /role/);
  await rejects(keep.search("a", { since: "yesterday" }), "bad-request", /since/);
  await rejects(keep.search("a", { branch: "nowhere" }), "missing-node");
  await keep.close();
  await rejects(keep.search("a"), "closed");
});
