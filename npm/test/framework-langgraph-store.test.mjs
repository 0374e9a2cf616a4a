// LangGraph's long-term store on a keep, held against LangGraph's own in memory: the same operations, the same answers.
import { test } from "node:test";
import assert from "node:assert/strict";
import { Annotation, END, START, StateGraph, getStore } from "@langchain/langgraph";
import { AsyncBatchedStore, InMemoryStore, InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { SyntheticEmbeddings } from "@langchain/core/utils/testing";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { mapAdapter } from "./support/adapters.mjs";
import { installed, load } from "./support/installed.mjs";

const { Threadkeep } = await load();
const { ThreadkeepStore } = await import(pathToFileURL(join(installed, "dist/frameworks/langgraph.js")).href);

/** Numbers from 0 to below `n`, the same for the same seed. */
function random(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const what = ({ namespace, key, value }) => ({ namespace, key, value });
const sorted = (items) => items.map((item) => JSON.stringify(what(item))).sort();

test("random operations: the same answers as LangGraph's own store", { timeout: 120_000 }, async () => {
  for (const seed of [1, 2, 3]) {
    const next = random(seed);
    const pick = (list) => list[next(list.length)];
    const keep = await Threadkeep.open({ storage: "memory" });
    const [here, there] = [new ThreadkeepStore(keep), new InMemoryStore()];
    const labels = ["users", "ann", "bob", "notes", "v1", "é ü!"];
    const namespace = () => Array.from({ length: 1 + next(3) }, () => pick(labels));
    const keys = ["a", "b", "c/d", "e!f", "", "ключ"];
    const value = () => ({ n: next(5), word: pick(["x", "y"]), deep: { list: [next(3), null, "z"] }, ...(next(2) === 0 ? { flag: true } : {}) });
    const filter = () =>
      pick([
        undefined,
        undefined,
        { n: next(5) },
        { n: { $gt: 2 } },
        { n: { $gte: 1, $lte: 3 }, word: "x" },
        { word: { $ne: "x" } },
        { flag: true },
        { n: { $in: [1, 2] } },
        { n: { $nin: [1, 2] } },
        { missing: { $lt: 3 } },
        { word: { $eq: "y" } },
      ]);
    const live = () => there.search([], { limit: 1e9 });
    for (let step = 0; step < 300; step += 1) {
      const what4 = next(10);
      if (what4 < 4) {
        const [at, key, item] = [namespace(), pick(keys), value()];
        for (const store of [here, there]) await store.put(at, key, structuredClone(item));
      } else if (what4 < 5) {
        const [at, key] = [namespace(), pick(keys)];
        for (const store of [here, there]) await store.delete(at, key);
      } else if (what4 < 6) {
        const operations = Array.from({ length: 1 + next(6) }, () => {
          const kind = next(3);
          if (kind === 0) return { namespace: namespace(), key: pick(keys), value: next(4) === 0 ? null : value() };
          if (kind === 1) return { namespace: namespace(), key: pick(keys) };
          return { namespacePrefix: [pick(labels)], filter: filter(), limit: 1000 };
        });
        const shape = (results) => results.map((result) => (Array.isArray(result) ? sorted(result) : result === null ? null : what(result)));
        assert.deepEqual(shape(await here.batch(structuredClone(operations))), shape(await there.batch(structuredClone(operations))));
      } else if (what4 < 7) {
        const [at, key] = [namespace(), pick(keys)];
        const [mine, its] = [await here.get(at, key), await there.get(at, key)];
        assert.deepEqual(mine && what(mine), its && what(its));
        assert.equal(mine === null || (mine.createdAt instanceof Date && mine.updatedAt >= mine.createdAt), true);
      } else if (what4 < 9) {
        const prefix = namespace().slice(next(2));
        const asked = filter();
        const [mine, its] = [await here.search(prefix, { filter: asked, limit: 1e6 }), await there.search(prefix, { filter: asked, limit: 1e6 })];
        assert.deepEqual(sorted(mine), sorted(its), JSON.stringify({ prefix, asked }));
        // Within a namespace the order is the same, too: the order in which items were made.
        for (const one of new Set(mine.map((item) => item.namespace.join(":"))))
          assert.deepEqual(
            mine.filter((item) => item.namespace.join(":") === one).map(({ key }) => key),
            its.filter((item) => item.namespace.join(":") === one).map(({ key }) => key),
          );
        const [offset, limit] = [next(4), next(5)];
        assert.deepEqual((await here.search(prefix, { filter: asked, offset, limit })).map(what), mine.slice(offset, offset + limit).map(what));
      } else {
        const options = pick([
          {},
          { prefix: [pick(labels)] },
          { suffix: [pick(labels)] },
          { prefix: ["*", pick(labels)] },
          { prefix: [pick(labels)], suffix: [pick(labels)] },
          { maxDepth: 1 + next(3) },
          { prefix: [pick(labels)], maxDepth: 2 },
        ]);
        // Its own store goes on listing namespaces whose last item was deleted.
        const alive = new Set((await live()).map((item) => item.namespace.slice(0, options.maxDepth).join(":")));
        const its = (await there.listNamespaces({ ...options, limit: 1e6 })).filter((one) => alive.has(one.join(":")));
        const inUse = new InMemoryStore();
        for (const item of await live()) await inUse.put(item.namespace, item.key, item.value);
        const exact = await inUse.listNamespaces({ ...options, limit: 1e6 });
        const mine = await here.listNamespaces({ ...options, limit: 1e6 });
        assert.deepEqual(mine.map(String).sort(), exact.map(String).sort(), JSON.stringify(options));
        assert.ok(its.length >= mine.length);
        assert.deepEqual(await here.listNamespaces({ ...options, offset: 1, limit: 2 }), mine.slice(1, 3));
      }
    }
    assert.ok((await live()).length > 20);
    await keep.close();
  }
});

test("vectors: the same scores as LangGraph's own store", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const index = { dims: 16, embeddings: new SyntheticEmbeddings({ vectorSize: 16 }), fields: ["text", "parts[*].text", "meta.{title,by}"] };
  const [here, there] = [new ThreadkeepStore(keep, { index }), new InMemoryStore({ index })];
  const items = Array.from({ length: 30 }, (_, n) => ({
    text: `item ${n} of ${n % 7}`,
    ...(n % 3 === 0 ? { parts: [{ text: `first ${n}` }, { text: "second" }] } : {}),
    ...(n % 5 === 0 ? { meta: { title: `title ${n}`, by: "ann" } } : {}),
  }));
  for (const store of [here, there]) {
    for (const [n, item] of items.entries())
      await store.put(["docs", n % 2 === 0 ? "even" : "odd"], `k${n}`, item, n % 10 === 9 ? false : n % 10 === 8 ? ["parts[0].text", "text"] : undefined);
  }
  for (const query of ["item 3", "second", "title 10"]) {
    const [mine, its] = [await here.search(["docs"], { query, limit: 40 }), await there.search(["docs"], { query, limit: 40 })];
    assert.deepEqual(sorted(mine), sorted(its));
    const score = new Map(its.map((item) => [item.key, item.score]));
    for (const item of mine) {
      if (score.get(item.key) === undefined) assert.equal(item.score, undefined);
      else assert.ok(Math.abs(item.score - score.get(item.key)) < 1e-5, item.key);
    }
    const scores = mine.map((item) => item.score ?? -Infinity);
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    );
  }
  await keep.close();
});

test("words: what fits comes first with a score, what is not indexed is not found", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const store = new ThreadkeepStore(keep);
  await store.put(["m"], "cheese", { likes: "Brown cheeses from Norway", since: 2019 });
  await store.put(["m"], "coffee", { likes: "coffee without milk" });
  await store.put(["m"], "secret", { likes: "cheese cheese cheese" }, false);
  await store.put(["m"], "title", { title: "cheese", body: "about wine" }, ["body"]);
  await store.put(["m"], "kana", { likes: "東京都の天気" });
  const keys = async (query) => (await store.search(["m"], { query })).filter(({ score }) => score !== undefined).map(({ key }) => key);
  assert.deepEqual(await keys("Which CHEESE?"), ["cheese"]);
  assert.deepEqual(await keys("wine"), ["title"]);
  assert.deepEqual(await keys("2019"), ["cheese"]);
  assert.deepEqual(await keys("東京"), ["kana"]);
  assert.deepEqual(await keys("nothing at all"), []);
  const list = await store.search(["m"], { query: "milk" });
  assert.deepEqual([list.length, list[0].key, list[1].score], [5, "coffee", undefined]);
  assert.equal((await store.search(["m"], { query: "milk", limit: 1 }))[0].key, "coffee");
  await keep.close();
});

test("items outlive the keep; a batch is one piece; wrong namespaces are refused", async () => {
  const adapter = mapAdapter();
  const keep = await Threadkeep.open({ storage: adapter });
  const store = new ThreadkeepStore(keep);
  await store.put(["a"], "k", { n: 1, at: new Map([["x", new Set([1])]]) });
  const made = (await store.get(["a"], "k")).createdAt;
  await Promise.all(Array.from({ length: 10 }, (_, n) => store.put(["race"], "same", { n })));
  assert.equal((await store.search(["race"])).length, 1);
  await store.batch([
    { namespace: ["a"], key: "k", value: { n: 2 } },
    { namespace: ["a"], key: "gone", value: { n: 3 } },
    { namespace: ["a"], key: "gone", value: null },
  ]);
  await keep.close();
  const again = await Threadkeep.open({ storage: mapAdapter({ records: adapter.records }) });
  const other = new ThreadkeepStore(again);
  const item = await other.get(["a"], "k");
  assert.deepEqual([item.value, item.createdAt.getTime()], [{ n: 2 }, made.getTime()]);
  assert.equal(await other.get(["a"], "gone"), null);
  for (const bad of [[], [""], ["a.b"], ["langgraph"]]) await assert.rejects(other.put(bad, "k", {}), InvalidNamespaceError);
  await assert.rejects(other.batch([{ namespace: [], key: "k", value: {} }]), InvalidNamespaceError);
  assert.throws(() => new ThreadkeepStore(again, { indices: {} }), { code: "bad-request" });
  await again.close();
});

test("in a graph, through LangGraph's own batching", async () => {
  const keep = await Threadkeep.open({ storage: "memory" });
  const store = new ThreadkeepStore(keep);
  const graph = new StateGraph(Annotation.Root({ said: Annotation() }))
    .addNode("remember", async ({ said }) => {
      await getStore().put(["users", "ann"], "said", { said });
      const [found] = await getStore().search(["users"], { query: "cheese" });
      return { said: `${found.value.said}!` };
    })
    .addEdge(START, "remember")
    .addEdge("remember", END)
    .compile({ store });
  assert.equal((await graph.invoke({ said: "cheese" })).said, "cheese!");
  const batched = new AsyncBatchedStore(store);
  batched.start();
  assert.equal((await batched.get(["users", "ann"], "said")).value.said, "cheese");
  await batched.stop();
  await keep.close();
});
