// Search: what is found, where it is, filters, what is deleted, what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, memory, rejects, searchTool, user } from "./support/expect.mjs";

test("a hit says where it is and why it was found", async () => {
  const keep = await memory();
  await keep.receive({ messageId: "q", content: "Where are my 😀 suitcases?" });
  await keep.extend("q", [assistant(`The luggage is in Oslo. ${"More about the weather there. ".repeat(20)}`)]);
  const answer = await keep.receive({ messageId: "a", replyTo: "q", content: "Thanks." });
  const [hit] = await keep.search("suitcase");
  assert.deepEqual([hit.node, hit.index, hit.role, hit.leaf], ["q", 0, "user", answer.id]);
  assert.equal(hit.message.content, "Where are my 😀 suitcases?");
  assert.deepEqual(
    hit.highlights.map(([from, to]) => hit.snippet.slice(from, to)),
    ["suitcases"],
  );
  assert.ok(hit.score > 0);
  assert.equal((await keep.search('"in Oslo"'))[0].index, 1);
  assert.equal((await keep.search("lugg*"))[0].index, 1);
  assert.deepEqual(await keep.search("zeppelin"), []);
  assert.deepEqual(await keep.search("suitcase", { limit: 0 }), []);
  await keep.close();
});

test("filters narrow, new messages are found, deleted ones are not", async () => {
  const keep = await memory();
  await keep.thread("main").append([user("an amber light"), assistant("amber indeed")]);
  await keep.thread("other").append([user("amber elsewhere")]);
  assert.equal((await keep.search("amber")).length, 3);
  assert.equal((await keep.search("amber", { role: "assistant" })).length, 1);
  assert.equal((await keep.search("amber", { role: ["assistant", "user"] })).length, 3);
  assert.equal((await keep.search("amber", { since: new Date(0) })).length, 3);
  assert.equal((await keep.search("amber", { until: 1000 })).length, 0);
  const { transcript, id } = await keep.thread("other").head();
  assert.equal((await keep.search("amber", { transcript })).length, 1);
  assert.equal((await keep.search("amber", { branch: id })).length, 1);
  const progress = await keep.searchIndex.progress();
  assert.deepEqual([progress.indexed, progress.messages], [3, 3]);
  await keep.transcript(transcript).delete();
  assert.equal((await keep.search("amber")).length, 2);
  await keep.thread("main").append([user("amber again")]);
  assert.equal((await keep.search("amber")).length, 3);
  await keep.close();
});

test("what is remembered is found, and says what it is and where it leads", async () => {
  const keep = await memory();
  const [said] = await keep.thread("main").append([user("I drink my tea green")]);
  const source = { node: said.id, index: 0 };
  const fact = await keep.memory.remember({ fact: "The user likes green tea.", tags: ["beverage"], transcript: said.transcript, sources: [source] });
  const [hit] = await keep.search("beverages");
  assert.deepEqual([hit.kind, hit.id, hit.transcript, hit.node, hit.leaf, hit.message], ["fact", fact.id, said.transcript, said.id, said.id, null]);
  assert.deepEqual(hit.sources, [source]);
  const [alone] = await keep.memory.remember({ fact: "The office closes on Fridays." }).then(() => keep.search("friday"));
  assert.deepEqual([alone.kind, alone.transcript, alone.node, alone.leaf], ["fact", null, null, null]);
  assert.deepEqual(
    (await keep.search("tea", { kind: "message" })).map(({ kind }) => kind),
    ["message"],
  );
  assert.deepEqual(
    (await keep.search("tea", { kind: ["fact", "summary"] })).map(({ kind }) => kind),
    ["fact"],
  );
  await rejects(keep.search("tea", { kind: "tree" }), "bad-request", /kind/);
  await keep.memory.forget(fact.id);
  assert.deepEqual(await keep.search("beverages"), []);
  await keep.close();
});

// A stand-in for a model: one number for each topic, and one that all texts have.
const TOPICS = [
  ["dog", "puppy", "hound"],
  ["car", "automobile"],
  ["tea", "kettle"],
];
const model = (texts) => texts.map((text) => Float32Array.from([...TOPICS.map((words) => text.split(" ").filter((word) => words.includes(word)).length), 0.1]));
const contents = (hits) => hits.map(({ message }) => message.content);

test("with vectors, what means the same is found", async () => {
  const asked = [];
  const embed = async (texts) => {
    asked.push(...texts);
    return model(texts);
  };
  const keep = await memory({ embed });
  await keep.thread("main").append([user("a puppy barks"), assistant("the automobile stops"), user("put the kettle on")]);
  assert.equal(contents(await keep.search("dog"))[0], "a puppy barks");
  assert.deepEqual(asked.sort(), ["a puppy barks", "dog", "put the kettle on", "the automobile stops"]);
  asked.length = 0;
  await keep.thread("main").append([user("another hound")]);
  const found = contents(await keep.search("hound"));
  assert.deepEqual(found.slice(0, 2), ["another hound", "a puppy barks"]);
  assert.deepEqual(asked, ["another hound", "hound"], "nothing is made twice");
  assert.deepEqual(await keep.search("dog", { vectors: false }), []);
  assert.ok((await keep.search("dog", { role: "assistant" })).every(({ role }) => role === "assistant"));
  // Only directions count, plain lists will do.
  const other = await memory({ embed: async (texts) => model(texts).map((vector) => Array.from(vector, (number) => number * 1000)) });
  await other.thread("main").append([user("a puppy barks")]);
  assert.equal((await other.search("dog")).length, 1);
  await other.close();
  await keep.close();
});

test("vectors are made in batches, with progress, and stay", async () => {
  const sizes = [];
  const embed = async (texts) => {
    sizes.push(texts.length);
    return model(texts);
  };
  const keep = await memory({ embed, embedModel: "topics" });
  await keep.thread("main").append(Array.from({ length: 100 }, (_, at) => user(`a puppy of number ${at}`)));
  const told = [];
  assert.deepEqual(await keep.searchIndex.embedMissing({ limit: 70, onProgress: (progress) => told.push(progress) }), { embedded: 70, left: 30 });
  assert.deepEqual(sizes, [64, 6]);
  assert.deepEqual(told, [
    { embedded: 64, left: 36 },
    { embedded: 70, left: 30 },
  ]);
  const stop = new AbortController();
  stop.abort();
  await rejects(keep.searchIndex.embedMissing({ signal: stop.signal }), "cancelled");
  assert.deepEqual(await keep.searchIndex.embedMissing(), { embedded: 30, left: 0 });
  assert.equal((await keep.search("hound")).length, 10);
  await keep.close();
});

test("a callback that fails leaves the search by words", async () => {
  let answer;
  const errors = [];
  const keep = await memory({ embed: () => answer(), onEmbedError: (error) => errors.push(error) });
  await keep.thread("main").append([user("a puppy barks"), assistant("the automobile stops")]);
  const wrong = [
    () => Promise.reject(new Error("no network")),
    () => {
      throw new Error("at once");
    },
    async () => [],
    async () => "vectors",
    async () => [
      [1, 2],
      [1, NaN],
    ],
    async () => [[], []],
    async () => [null, null],
  ];
  for (answer of wrong) {
    assert.equal(contents(await keep.search("puppies"))[0], "a puppy barks");
    assert.equal(errors.pop().code, "embedding-failed");
    await rejects(keep.searchIndex.embedMissing(), "embedding-failed");
  }
  answer = async () => Promise.reject(new Error("no network"));
  const failed = await rejects(keep.searchIndex.embedMissing(), "embedding-failed", /no network/);
  assert.equal(failed.cause.message, "no network");
  assert.equal(errors.length, 0);
  await keep.close();
  const without = await memory();
  await rejects(without.searchIndex.embedMissing(), "bad-request", /embed/);
  await without.close();
  await rejects(memory({ embed: 3 }), "bad-request", /embed/);
});

test("a query of any length is answered, and what of it was not used is said", async () => {
  const keep = await memory();
  await keep.thread("main").append([user("My luggage was lost in Oslo."), user("我喜欢喝茶".repeat(500))]);
  for (const again of ["luggage ", '"in Oslo" ', "lost_luggage ", "lug* "]) {
    const hits = await keep.search(again.repeat(2000));
    assert.deepEqual([hits.length, hits.warnings], [1, []], again);
  }
  const long = await keep.search(`luggage ${Array.from({ length: 3000 }, (_, at) => `word${at}x`).join(" ")}`);
  assert.equal(long.length, 1);
  assert.match(long.warnings.join(), /^The query has \d+ words\. The search used the first 256\.$/);
  assert.deepEqual(Object.keys(long), ["0"], "the list is a list of hits");
  const [{ snippet, highlights }] = await keep.search("我喜欢喝茶");
  assert.ok(snippet.length <= 100 && highlights.length > 0, `${snippet.length} characters`);
  const tool = searchTool(keep);
  assert.equal(tool.schema.parameters.properties.query.maxLength, 1000);
  assert.match(JSON.parse(await tool.call({ query: "luggage ".repeat(200) })).error, /1600 characters, at most 1000/);
  await keep.close();
});

test("the search tool finds no memory of an agent that it does not name", async () => {
  const keep = await memory();
  await keep.memory.remember({ fact: "The safe's number is 4711.", agent: "lal" });
  await keep.memory.remember({ fact: "The safe is in the cellar." });
  const texts = async (tool) => JSON.parse(await tool.call({ query: "safe" })).hits.map(({ text }) => text);
  assert.deepEqual(await texts(searchTool(keep)), ["The safe is in the cellar."]);
  assert.deepEqual((await texts(searchTool(keep, { agent: "lal" }))).sort(), ["The safe is in the cellar.", "The safe's number is 4711."]);
  await keep.close();
});

test("an agent searches by a tool", async () => {
  const keep = await memory();
  await keep.thread("main").append([user("My luggage was lost in Oslo."), assistant("That is a pity, about the luggage.")]);
  await keep.thread("other").append([user("No luggage here.")]);
  const { transcript } = await keep.thread("main").head();
  const tool = searchTool(keep, { transcript });
  const { payload } = await keep.thread("main").context({ encoding: "estimate", tools: [tool.schema] });
  assert.equal(payload.tools[0].function.name, "search_memory");
  const { hits } = JSON.parse(await tool.call('{"query": "luggage", "role": "user", "since": "2000-01-01", "until": null}'));
  assert.equal(hits.length, 1);
  assert.deepEqual([hits[0].kind, hits[0].role, hits[0].text], ["message", "user", "My luggage was lost in Oslo."]);
  assert.ok(hits[0].why.words.includes("luggage") && !("time" in hits[0].why));
  assert.match(hits[0].date, /^\d{4}-\d\d-\d\d$/);
  assert.equal((await keep.node(hits[0].node)).messages[0].content, hits[0].text);
  assert.equal(JSON.parse(await tool.call({ query: "luggage", limit: 1.5 })).hits.length, 1);
  assert.deepEqual(JSON.parse(await tool.call({ query: "zeppelin" })), { hits: [] });
  for (const wrong of ["", "[]", "{", "{}", '{"query": 3}', '{"query": "a", "transcript": "x"}', '{"query": "a", "since": "soon"}', null])
    assert.equal(typeof JSON.parse(await tool.call(wrong)).error, "string", String(wrong));
  assert.throws(() => searchTool(keep, { depth: 1 }), { code: "bad-request" });
  await keep.close();
  await rejects(tool.call({ query: "luggage" }), "closed");
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

test("an `embed` that never answers ends at its time limit, and the search goes by words", async () => {
  const [errors, signals] = [[], []];
  const embed = (texts, { signal }) => (signals.push(signal), new Promise(() => {}));
  const keep = await memory({ embed, embedTimeoutMs: 50, onEmbedError: (error) => errors.push(error) });
  await keep.thread("main").append([user("a puppy barks")]);
  assert.equal(contents(await keep.search("puppies"))[0], "a puppy barks");
  assert.equal(errors[0].code, "embedding-failed");
  assert.match(errors[0].message, /50 ms \(`embedTimeoutMs`\)/);
  await rejects(keep.searchIndex.embedMissing(), "embedding-failed", /50 ms/);
  assert.ok(
    signals.every(({ aborted }) => aborted),
    "whoever sends a request hears of it",
  );
  await rejects(memory({ embedTimeoutMs: -1 }), "bad-request", /embedTimeoutMs/);
  await keep.close();
});
