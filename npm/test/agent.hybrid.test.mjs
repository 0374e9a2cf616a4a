// An agent over a keep with a memory service beside it: its prompts have what the service remembers, and the service hears of its turns.
// And who summarises its histories.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { all, script } from "./support/agents.mjs";
import { Threadkeep, createAgent, memory as inMemory, rejects } from "./support/expect.mjs";
import { hybrid, listService } from "./support/services.mjs";
import { until } from "./support/until.mjs";

test("an agent over a hybrid quotes what the service remembers, and tells it of its turns", { timeout: 30_000 }, async () => {
  const keep = await inMemory({ encoding: "estimate" });
  const service = listService();
  const asked = [];
  service.search = async (scope, query) => (asked.push(query), [{ id: "1", text: "Ann is allergic to nuts." }]);
  const errors = [];
  const store = hybrid({ keep, memory: service, encoding: "estimate", onMemoryError: (error) => errors.push(error) });
  const model = script("No nuts.", "Still none.");
  const agent = createAgent({ keep: store, model });
  await agent.send("What can I eat?", { conversation: "ann-42" });
  assert.deepEqual(asked, ["What can I eat?"]);
  const prompt = model.requests[0].messages;
  assert.ok(
    prompt.some(({ role, content }) => role === "user" && content.includes("allergic to nuts")),
    JSON.stringify(prompt),
  );
  assert.ok(prompt.every(({ role, content }) => role !== "system" || !content.includes("nuts")));
  assert.equal(prompt.at(-1).content, "What can I eat?");
  await until(() => service.told.length === 2);
  assert.deepEqual(
    service.told.map(({ text }) => text),
    ["What can I eat?", "No nuts."],
  );
  // A service that fails delays nothing and fails nothing.
  service.search = () => Promise.reject(new Error("down"));
  assert.equal((await agent.send("And now?", { conversation: "ann-42" })).text, "Still none.");
  assert.equal(errors.length, 1);
  await agent.close();
  await store.close();
  await rejects(
    Promise.resolve().then(() => createAgent({ keep: { keep }, model })),
    "bad-request",
    /hybrid/,
  );
  await keep.close();
});

test("a conversation whose first turn a crash interrupted is sent by the next hybrid", { timeout: 30_000 }, async () => {
  const records = new Map();
  const service = listService();
  let gone = false;
  const pause = () => (gone ? new Promise(() => {}) : undefined);
  const open = () => Threadkeep.open({ storage: mapAdapter({ records, pause }), encoding: "estimate" });
  const model = script(() => new Promise(() => {}));
  const agent = createAgent({ keep: hybrid({ keep: await open(), memory: service }), model });
  agent.send("I am Ann.", { conversation: "ann-42" }).catch(() => undefined);
  await until(() => model.requests.length === 1);
  // The program is gone; what it stored is there.
  gone = true;
  const stored = new Map(records);
  const keep = await Threadkeep.open({ storage: mapAdapter({ records: stored }), encoding: "estimate" });
  const next = hybrid({ keep, memory: service });
  await next.sync();
  assert.deepEqual(
    service.told.map(({ text }) => text),
    ["I am Ann."],
  );
  await next.close();
  await keep.close();
});

const long = "and so that it is worth a summary there are quite some more words to it than that alone would take ".repeat(3);
const sizes = { maxContextTokens: 2_000, maxOutputTokens: 100, safetyMargin: 50, keepTurns: 2 };

/** Twelve turns of one conversation; gives the events, and the names of those who summarised. */
async function talk(model, compaction) {
  const keep = await inMemory({ encoding: "estimate" });
  const agent = createAgent({ keep, model, modelName: "m", compaction: { ...sizes, ...compaction } });
  const events = [];
  for (let at = 0; at < 12; at += 1) events.push(...(await all(agent.send(`Step ${at}, ${long}`, { conversation: "c" }))));
  const made = await keep.thread("c").checkpoints();
  await keep.close();
  assert.ok(made.length > 0);
  assert.ok(events.some(({ type, checkpoint }) => type === "compacted" && checkpoint !== null));
  return made.map(({ summariser }) => summariser);
}

/** A model that answers questions, and requests for summaries as `summary` says. */
function answering(summary) {
  let turns = 0;
  const model = async ({ messages }) => {
    const words = messages.map(({ content }) => content).join("\n");
    if (/summar/i.test(messages[0].content) && messages[0].role === "system") {
      model.summaries += 1;
      return summary(words);
    }
    turns += 1;
    return { message: { content: `Part ${turns} is done, ${long}` }, usage: { promptTokens: 200 * turns, completionTokens: 80 } };
  };
  model.summaries = 0;
  return model;
}

const written = () => JSON.stringify({ statements: [{ text: "Steps were done.", sources: [1] }] });

test("an agent's history is summarised by its own model, by a function, or by rules", async () => {
  const own = answering(written);
  const byOwn = await talk(own, {});
  assert.ok(own.summaries > 0);
  assert.ok(
    byOwn.every((name) => name.startsWith("m")),
    `${byOwn}`,
  );
  const silent = answering(written);
  let asked = 0;
  const summarize = Object.assign(({ messages, signal }) => ((asked += 1), assert.equal(signal.aborted, false), assert.ok(messages.length > 0), written()), {
    summarizer: "mine",
  });
  const byFunction = await talk(silent, { summarize });
  assert.deepEqual([asked > 0, silent.summaries, byFunction.every((name) => name.startsWith("mine"))], [true, 0, true], `${byFunction}`);
  const byRules = await talk(silent, { summarize: false });
  assert.deepEqual([silent.summaries, [...new Set(byRules)]], [0, ["extractive"]]);
});

test("rules summarise where the model fails", async () => {
  const failing = answering(() => Promise.reject(new Error("no summaries today")));
  const by = await talk(failing, {});
  assert.ok(failing.summaries > 0);
  assert.ok(
    by.every((name) => name.includes("extractive")),
    `${by}`,
  );
});
