// Facts and episodes as tools.
import assert from "node:assert/strict";
import { test } from "node:test";
import { remembering, toolbox } from "./support/tools.mjs";

test("facts are remembered, recalled by what they are about, superseded and forgotten", async () => {
  const { keep, call, fails } = await toolbox();
  const { fact } = await call("remember_fact", { fact: "The deadline is Friday.", kind: "decision", tags: ["plan"], salience: 0.9 });
  await call("remember_fact", { fact: "The user prefers tea.", kind: "preference" });
  const again = await call("remember_fact", { fact: "the DEADLINE is friday" });
  assert.equal(again.fact.id, fact.id);
  const newer = await call("remember_fact", { fact: "The deadline is Monday.", kind: "decision" });
  assert.deepEqual(
    newer.superseded.map(({ fact }) => fact),
    ["The deadline is Friday."],
  );
  assert.deepEqual(
    (await call("recall_facts", {})).facts.map(({ fact }) => fact),
    ["The deadline is Monday.", "The user prefers tea."],
  );
  assert.equal((await call("recall_facts", { query: "what tea does the user prefer?", limit: 1 })).facts[0].fact, "The user prefers tea.");
  assert.deepEqual(await call("forget_fact", { id: newer.fact.id }), { forgotten: "The deadline is Monday." });
  assert.match(await fails("forget_fact", { id: newer.fact.id }), /There is no fact with the id/);
  // A model's words do not replace the user's, and the model sees whose words hold.
  const told = await keep.memory.remember({ fact: "The port is 80." });
  const { fact: said, overruledBy } = await call("remember_fact", { fact: "The port is 81." });
  assert.deepEqual([said.origin, overruledBy.id, overruledBy.origin], ["model", told.id, "user"]);
  // What one agent remembers for itself is not shown.
  const own = await keep.memory.remember({ fact: "The door code is 4711.", agent: "lal" });
  for (const query of [{}, { query: "door code" }]) assert.doesNotMatch(JSON.stringify(await call("recall_facts", query)), /4711/);
  assert.doesNotMatch(JSON.stringify(await call("search_memory", { query: "door code" })), /4711/);
  assert.match(await fails("forget_fact", { id: own.id }), /There is no fact with the id/);
  assert.equal((await keep.memory.facts({ agent: "lal" })).filter(({ id }) => id === own.id).length, 1);
  assert.match(await fails("remember_fact", { fact: "  " }), /./);
  assert.match(await fails("remember_fact", { fact: "x", kind: "mood" }), /kind must be one of preference, decision, constraint, other/);
  assert.match(await fails("remember_fact", { fact: "x", tags: "a" }), /tags must be a list/);
  await keep.close();
});

test("facts come in pages", async () => {
  const { keep, call, fails } = await toolbox({ maxTokens: 300 });
  for (let at = 0; at < 40; at += 1)
    await keep.memory.remember({ fact: `Room ${at} holds ${at * 7} chairs of kind ${String.fromCharCode(97 + (at % 26))}${at}.` });
  const seen = [];
  let cursor;
  do {
    const { facts, more } = await call("recall_facts", { limit: 100, ...(cursor && { cursor }) });
    seen.push(...facts.map(({ id }) => id));
    cursor = more;
  } while (cursor);
  assert.equal(seen.length, (await keep.memory.facts()).length);
  assert.equal(new Set(seen).size, seen.length);
  assert.match(await fails("recall_facts", { cursor: "nothing" }), /Begin again without it/);
  await keep.close();
});

test("episodes of compactions are listed with their sources, and are not forgotten as facts", async () => {
  const { keep, call, fails } = await toolbox();
  await remembering(keep);
  await keep
    .thread("old")
    .append(
      Array.from({ length: 40 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `We decided on lighthouse number ${at}, with a red roof.` })),
    );
  await keep.thread("old").compact();
  const { episodes } = await call("list_episodes", {});
  assert.ok(episodes.length > 0);
  const [{ id, summary, conversation, sources }] = episodes;
  assert.ok(summary.length > 10);
  assert.equal(conversation, (await keep.thread("old").head()).transcript);
  assert.match((await call("read_message", sources[0])).messages[0].text, /lighthouse/);
  assert.deepEqual((await call("list_episodes", { conversation: "recipes" })).episodes, []);
  assert.equal((await call("list_episodes", { query: "lighthouse roof" })).episodes[0].id, id);
  assert.match(await fails("forget_fact", { id }), /There is no fact/);
  assert.equal((await keep.memory.episodes()).length, episodes.length);
  await keep.close();
});
