// The message store through the package: its methods, stored fields, limits and figures, by their names. Options and
// results of a compaction are in compaction.test.mjs; the rules themselves are tested in the engine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Threadkeep, assistant, many, memory, rejects, texts, user } from "./support/expect.mjs";
import { mapAdapter } from "./support/adapters.mjs";

const FILLER = "and so that it is worth a summary there are quite some more words to it than that alone would take";
const turns = (from, to) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at).flatMap((at) => [user(`Step ${at}, ${FILLER}.`), assistant(`Part ${at} is done, ${FILLER}.`)]);

async function talked(options = {}) {
  const keep = await memory({ encoding: "estimate", ...options });
  await keep.messageStore.append("main", [{ role: "system", content: "Be brief." }, ...turns(1, 8)]);
  return keep;
}

test("a StoredMessage has id, thread, index, timestamp, tokens and tags", async () => {
  const keep = await memory();
  const before = Date.now();
  const nodes = await keep.messageStore.append("main", [user("a".repeat(10)), { ...assistant("b"), tags: ["final"], id: "mine", timestamp: 7 }]);
  const [first, second] = await keep.thread("main").stored();
  assert.deepEqual([first.id, first.part, first.thread, first.index, first.tokens], [nodes[0].id, 0, "main", 0, 3 + 4]);
  assert.match(first.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Date.parse(first.timestamp) >= before - 1 && Date.parse(first.timestamp) <= Date.now());
  assert.ok(!("tags" in first));
  assert.deepEqual([second.index, second.tokens, second.tags], [1, 1 + 4, ["final"]]);
  assert.notEqual(first.id, second.id);
  // The message is as it was given, whatever its own fields are called.
  assert.deepEqual(second.message, { ...assistant("b"), tags: ["final"], id: "mine", timestamp: 7 });
  assert.deepEqual(
    (await keep.thread("main").stored({ start: 1 })).map(({ index }) => index),
    [1],
  );
  assert.deepEqual(
    (await keep.thread("main").stored({ start: 0, end: 1 })).map(({ index }) => index),
    [0],
  );
  assert.deepEqual(await keep.thread("nowhere").stored(), []);
  await rejects(keep.thread("main").stored({ start: -1 }), "bad-request", /start/);
  await keep.close();
});

test("StoredMessage.compacted and compactedRange say what a summary stands for", async () => {
  const keep = await talked();
  assert.ok((await keep.thread("main").stored()).every(({ compacted, compactedRange, checkpoint }) => !compacted && !compactedRange && !checkpoint));
  const { checkpoint, compactedRange } = await keep.messageStore.compact("main");
  const stored = await keep.thread("main").stored();
  // Instructions stay in prompts: nothing stands in for them.
  assert.deepEqual(
    stored.map(({ compacted }) => compacted),
    stored.map((_, at) => at > 0 && at < compactedRange.end),
  );
  assert.deepEqual([compactedRange, stored[1].compactedRange, stored[1].checkpoint], [{ start: 0, end: 9 }, compactedRange, checkpoint.id]);
  assert.deepEqual(
    stored.map(({ message }) => message),
    await keep.messageStore.getAll("main"),
  );
  await keep.close();
});

test("append, getAll, getRange, getCount and clear have all messages, compacted or not", async () => {
  const keep = await talked();
  const all = await keep.messageStore.getAll("main");
  await keep.messageStore.compact("main");
  assert.deepEqual(await keep.messageStore.getAll("main"), all);
  assert.deepEqual(await keep.messageStore.getRange("main", 1, 4), all.slice(1, 4));
  assert.equal(await keep.messageStore.getCount("main"), 17);
  await keep.messageStore.append("main", [user("more")]);
  assert.deepEqual(await keep.messageStore.getAll("main"), [...all, user("more")]);
  assert.equal(await keep.messageStore.clear("main"), 18);
  assert.deepEqual([await keep.messageStore.getAll("main"), await keep.messageStore.getCount("main")], [[], 0]);
  await keep.close();
});

test("getRecent takes maxMessages (50 by default), maxTokens and includeSystem", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", [{ role: "system", content: "Be brief." }, ...many(60)]);
  assert.equal((await keep.messageStore.getRecent("main")).length, 50);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 2 })), ["m58", "m59"]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxTokens: 10 })), ["m58", "m59"]); // 1 and 4 each
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxTokens: 9 })), ["m59"]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 2, includeSystem: true })), ["Be brief.", "m59"]);
  assert.deepEqual(texts(await keep.messageStore.getRecent("main", { maxMessages: 99, includeSystem: false })).slice(0, 2), ["m0", "m1"]);
  await keep.close();
});

test("getRecent with maxTokens goes back from the newest, and ends at the first that does not fit", async () => {
  const keep = await memory();
  // With four for each message these are 5, 104, 6 and 5 tokens: beyond the large one an older one would fit.
  const list = [user("a".repeat(4)), user("b".repeat(400)), user("c".repeat(8)), user("d".repeat(4))];
  await keep.messageStore.append("main", list);
  for (const [maxTokens, from] of [
    [4, 4],
    [5, 3],
    [10, 3],
    [11, 2],
    [114, 2],
    [115, 1],
    [119, 1],
    [120, 0],
  ])
    assert.deepEqual(await keep.messageStore.getRecent("main", { maxTokens }), list.slice(from), `${maxTokens}`);
  await keep.close();
});

test("a loop of append, check, compact and getRecent has a bounded working set with the summary in it", async () => {
  const keep = await memory({ encoding: "estimate" });
  const contextBudget = 400;
  let compactions = 0;
  for (let at = 1; at <= 30; at += 1) {
    await keep.messageStore.append("main", turns(at, at));
    if ((await keep.thread("main").afterResponse({}, { compactionThreshold: 12 })) !== null) {
      const { tokensSaved, compactedRange } = await keep.messageStore.compact("main", {
        keepRecent: 4,
        targetTokens: contextBudget / 2,
        strategy: "summarize",
      });
      assert.ok(tokensSaved > 0 && compactedRange.end === (await keep.messageStore.getCount("main")) - 4);
      compactions += 1;
    }
    const working = await keep.messageStore.getRecent("main", { maxTokens: contextBudget, includeSummary: true });
    assert.ok(working.length <= 13 && working.at(-1).content.startsWith(`Part ${at} `));
    assert.equal(
      working.some(({ kind }) => kind?.type === "summary"),
      compactions > 0,
    );
  }
  assert.equal(compactions, 5);
  assert.equal(await keep.messageStore.getCount("main"), 60);
  await keep.close();
});

test("cost and warnings of a compaction stay with its checkpoint", async () => {
  const storage = mapAdapter();
  const keep = await Threadkeep.open({ storage, encoding: "estimate" });
  await keep.messageStore.append("main", turns(1, 8));
  const done = await keep.messageStore.compact("main", { summarize: () => Promise.reject(new Error("no connection")) });
  assert.match(done.warnings[0], /no connection/);
  await keep.close();
  const again = await Threadkeep.open({ storage, encoding: "estimate" });
  const [{ cost, warnings }] = await again.thread("main").checkpoints();
  assert.deepEqual([cost, warnings], [done.cost, done.warnings]);
  assert.ok(cost.calls >= 1 && cost.inputTokens > 0);
  await again.close();
});

test("compact without keepRecent leaves four turns, and not ten messages", async () => {
  const keep = await talked();
  assert.deepEqual((await keep.messageStore.compact("main", { preview: true })).compactedRange, { start: 0, end: 9 });
  assert.deepEqual((await keep.messageStore.compact("main", { preview: true, keepRecent: 10 })).compactedRange, { start: 0, end: 7 });
  await keep.close();
});

test("compactionThreshold is none, and not 100, unless open or a call says so", async () => {
  for (const [compaction, call, expected] of [
    [undefined, undefined, null],
    [{ compactionThreshold: 100 }, undefined, "messages"],
    [undefined, { compactionThreshold: 100 }, "messages"],
    [{ compactionThreshold: 100 }, { compactionThreshold: 101 }, null],
  ]) {
    const keep = await memory({ encoding: "estimate", ...(compaction && { compaction }) });
    await keep.messageStore.append("main", many(101));
    assert.equal(await keep.thread("main").afterResponse({ promptTokens: 600 }, call), expected);
    await keep.close();
  }
});

test("fifty messages are the limit only if no limit is given, and zero is zero", async () => {
  const keep = await memory();
  await keep.messageStore.append("main", many(60));
  assert.equal((await keep.messageStore.getRecent("main", { maxTokens: 10_000 })).length, 60);
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxTokens: 0 }), []);
  assert.deepEqual(await keep.messageStore.getRecent("main", { maxMessages: 0 }), []);
  await keep.close();
});

test("the summary is a user's message, and getRecent has it if asked", async () => {
  const keep = await talked();
  const { summaryMessages } = await keep.messageStore.compact("main");
  assert.deepEqual(
    summaryMessages.map(({ role, kind }) => [role, kind.type]),
    [["user", "summary"]],
  );
  assert.ok((await keep.messageStore.getRecent("main")).every(({ kind }) => kind === undefined));
  assert.deepEqual((await keep.messageStore.getRecent("main", { includeSummary: true }))[1], summaryMessages[0]);
  assert.deepEqual((await keep.thread("main").context()).messages[1], summaryMessages[0]);
  await keep.close();
});
