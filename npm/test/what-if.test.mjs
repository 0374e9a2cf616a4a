// What-ifs: what a thread's requests would have taken with other options.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAgent, memory, rejects, texts, user } from "./support/expect.mjs";

/** A keep whose thread `ann-42` has forty turns of about 130 tokens. */
async function filled() {
  const keep = await memory({ encoding: "estimate" });
  for (let at = 0; at < 40; at += 1) {
    const answer = { role: "assistant", content: `${at} ${"The oars are blue. ".repeat(12)}` };
    await keep.thread("ann-42").append([user(`${at} ${"The keel is green. ".repeat(12)}`), answer]);
  }
  return keep;
}

test("simulate compares policies, budgets, models and compactions, and stores nothing", async () => {
  const keep = await filled();
  const before = await keep.stats();
  const { variants, pricesOf } = await keep.requests.simulate("ann-42", {
    policies: ["stable", "newest"],
    budgets: [{ maxTokens: 3_000 }],
    models: [{ provider: "anthropic", model: "claude-sonnet-4-6" }],
    compaction: [false, { aboveTokens: 2_000, keepTurns: 2 }],
  });
  assert.match(pricesOf, /^\d{4}-\d\d-\d\d$/);
  assert.deepEqual(
    variants.map(({ policy, compactAbove, cost }) => [policy, compactAbove, cost.requests]),
    [
      ["stable", 0, 40],
      ["stable", 2_000, 40],
      ["newest", 0, 40],
      ["newest", 2_000, 40],
    ],
  );
  const [stable, compacted, newest] = variants;
  assert.ok(stable.compactions === 0 && compacted.compactions > 1);
  assert.equal(stable.each, undefined);
  assert.equal(newest.beyondFirst.cachedTokens, newest.cost.usage.cachedTokens - stable.cost.usage.cachedTokens);
  assert.ok(newest.beyondFirst.cachedTokens < 0 && newest.beyondFirst.dollars > 0);
  assert.ok(Math.abs(newest.beyondFirst.dollars - (newest.cost.dollars - stable.cost.dollars)) < 1e-9);
  assert.deepEqual([await keep.stats(), await keep.thread("ann-42").checkpoints()], [before, []]);
});

test("simulate lists the requests on demand, at prices of one's own", async () => {
  const keep = await filled();
  const models = [{ provider: "openai-chat", model: "mine" }];
  const prices = [{ model: "mine", input: 1, output: 2, cacheRead: 0.5 }];
  const { variants } = await keep.requests.simulate("ann-42", { models, prices, each: true });
  const [{ cost, each }] = variants;
  const dollars = each.map(({ usage }) => (usage.promptTokens - usage.cachedTokens / 2 + 2 * usage.completionTokens) / 1e6);
  assert.ok(each.every((request, at) => Math.abs(request.cost - dollars[at]) < 1e-12));
  assert.ok(each.length === 40 && cost.usage.cachedTokens > 0);
  const last = await keep.thread("ann-42").context({ provider: "openai-chat" });
  assert.ok(each.at(-1).usage.promptTokens < last.tokens && each.at(-1).usage.promptTokens > last.tokens - 200);
});

test("simulate names the option that is wrong", async () => {
  const keep = await filled();
  await rejects(keep.requests.simulate("ann-42", { policies: ["oldest"] }), "bad-request", /options\.policies\[0\]/);
  await rejects(keep.requests.simulate("ann-42", { budgets: [] }), "bad-request", /options\.budgets must not be an empty list/);
  await rejects(keep.requests.simulate("ann-42", { turns: 1 }), "bad-request", /options\.turns/);
  await rejects(keep.requests.simulate("ann-42", 7), "bad-request", /options/);
  await rejects(keep.requests.simulate("nobody"), "missing-node");
});

test("smallestBudget, forecast and comparePolicies agree with the prompts", async () => {
  const keep = await filled();
  const thread = keep.thread("ann-42");
  const { node: id } = (await thread.context()).ledger[40];
  const least = await thread.smallestBudget(id);
  const has = async (maxTokens) => (await thread.context({ budget: { maxTokens } })).ledger.some((line) => line.node === id && line.tokensAfter > 0);
  assert.deepEqual([await has(least), await has(least - 1)], [true, false]);
  assert.equal(await thread.smallestBudget(id, { budget: { maxMessages: 2 } }), null);
  await keep.thread("other").append([user("elsewhere")]);
  await rejects(thread.smallestBudget((await keep.thread("other").head()).id), "missing-node");

  const { tokensPerTurn, turnsThatFit, nextOut, turnsUntilCompaction } = await thread.forecast({ budget: { maxTokens: 7_000 } });
  assert.ok(tokensPerTurn > 100 && tokensPerTurn < 200 && turnsThatFit > 2 && turnsUntilCompaction > turnsThatFit);
  assert.deepEqual(nextOut, []);
  const tight = await thread.forecast({ policy: "newest", budget: { maxTokens: 2_000 } });
  assert.ok(tight.turnsThatFit === 0 && tight.nextOut.length > 0);

  const sides = await thread.comparePolicies({ budget: { maxTokens: 3_000 } });
  for (const { policy, tokens, kept, dropped } of sides) {
    const prompt = await thread.context({ policy, budget: { maxTokens: 3_000 } });
    assert.deepEqual([tokens, kept, dropped], [prompt.tokens, prompt.messages.length, 80 - prompt.messages.length]);
  }
  assert.deepEqual(
    sides.map(({ policy }) => policy),
    ["stable", "newest"],
  );
  await rejects(thread.forecast({ budget: { tokens: 1 } }), "bad-request", /options\.budget\.tokens/);
  await rejects(thread.forecast(7), "bad-request", /options/);
});

test("compareBranches lists what only one branch has, of any transcripts", async () => {
  const keep = await memory({ encoding: "estimate" });
  await keep.thread("a").append([user("one"), user("two"), user("three")]);
  const fork = await keep.thread("a").fork("b", { atIndex: 1 });
  await fork.append([user("other"), user("three")]);
  await keep.thread("c").append([user("zero"), user("two")]);
  const { messages, prompts, tokensHere, tokensThere } = await keep.thread("a").compareBranches("b");
  assert.deepEqual([messages.beginAlike, messages.shared, texts(messages.onlyHere), texts(messages.onlyThere)], [1, 2, ["two"], ["other"]]);
  assert.deepEqual([texts(prompts.onlyHere), texts(prompts.onlyThere)], [["two"], ["other"]]);
  assert.ok(tokensHere > 0 && tokensThere > 0);
  const elsewhere = await keep.thread("a").compareBranches((await keep.thread("c").head()).id);
  assert.deepEqual([texts(elsewhere.messages.onlyHere), texts(elsewhere.messages.onlyThere)], [["one", "three"], ["zero"]]);
  await rejects(keep.thread("a").compareBranches("nobody"), "missing-node");
});

test("an agent sends no request beyond its spending limit", async () => {
  const keep = await memory({ encoding: "estimate" });
  let asked = 0;
  const model = async () => {
    asked += 1;
    return { message: { role: "assistant", content: "Yes." }, usage: { promptTokens: 1_000, completionTokens: 0 } };
  };
  const spendingLimit = { dollars: 0.0011, per: "day", prices: [{ model: "mine", input: 1, output: 1 }] };
  const make = () => createAgent({ keep, model, modelName: "mine", spendingLimit });
  assert.equal((await make().send("Is the tide high?")).outcome, "answered");
  const refused = await make().send("Is the tide low?, and how high is it? ".repeat(20));
  assert.deepEqual([refused.outcome, refused.code, asked], ["limited", "spending-limit", 1]);
  assert.match(refused.reason, /0\.0010 were spent.*limit of 0\.0011 dollars per day.*Nothing was sent/s);
  const bare = createAgent({ keep, model, modelName: "mine", spendingLimit: { dollars: 1, per: "turn" } });
  await rejects(bare.send("hello"), "bad-request", /spendingLimit\.prices must have the price of mine/);
  const wrong = createAgent({ keep, model, modelName: "gpt-4o", spendingLimit: { dollars: -1, per: "turn" } });
  await rejects(wrong.send("hello"), "bad-request", /spendingLimit\.dollars/);
});
