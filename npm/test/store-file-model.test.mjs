// The file store held against a Map, over random commits, readings, compactions and reopenings; and its ordered keys alone.
//
// THREADKEEP_SEED: the randomness; THREADKEEP_MODEL_STEPS: how many steps (3000 without it).
import assert from "node:assert/strict";
import { test } from "node:test";
import { commit, fileStore, module, random, scratch, text } from "./support/filestore.mjs";

const SEED = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);
const STEPS = Number(process.env.THREADKEEP_MODEL_STEPS ?? 3_000);

const sorted = (model) => [...model].sort(([a], [b]) => (a < b ? -1 : 1));
const inRange = (model, { start, end, limit = Infinity, reverse }) => {
  const found = sorted(model).filter(([key]) => key >= start && key < end);
  return (reverse ? found.reverse() : found).slice(0, limit);
};

test("random commits and reopenings give what a Map gives", { timeout: 120_000 }, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const next = random(SEED + 1);
  const below = (most) => Math.floor(next() * most);
  const key = () => `${["a", "b", "b/", "B", "~"][below(5)]}${below(60)}`;
  const folder = scratch(t);
  const open = () => fileStore({ folder, compactBytes: 5_000, cacheBytes: below(2) * 4_000 });
  const model = new Map();
  let store = open();
  let [conflicts, opened] = [0, 0];
  for (let step = 0; step < STEPS; step += 1) {
    const what = below(100);
    if (what < 2) {
      await store.close();
      store = open();
      opened += 1;
    } else if (what < 25) {
      const [start, end] = [key(), key()];
      const range = { start, end, reverse: below(2) === 0, ...(below(2) === 0 ? { limit: below(8) } : {}) };
      assert.deepEqual(
        (await store.scan(range)).map(([key, value]) => [key, text(value)]),
        inRange(model, range),
        `step ${step}: ${JSON.stringify(range)}`,
      );
    } else if (what < 35) {
      const one = key();
      assert.equal(text(await store.get(one)), model.get(one), `step ${step}: ${one}`);
    } else {
      // Several at once, which are to take effect in this order.
      const all = Array.from({ length: 1 + below(4) }, () => {
        const list = (most) => Array.from({ length: below(most) }, key);
        const ranges = Array.from({ length: below(8) === 0 ? 1 : 0 }, () => [key(), key()]);
        const puts = list(6).map((key) => [key, `${step} ${"é".repeat(below(300))}`]);
        return {
          absent: below(3) === 0 ? list(2) : [],
          present: below(3) === 0 ? list(2) : [],
          deletes: list(3),
          deleteRanges: ranges,
          puts,
          durability: below(2) === 0 ? "strict" : "relaxed",
        };
      });
      const results = await Promise.allSettled(all.map((one) => store.commit(commit(one))));
      for (const [at, one] of all.entries()) {
        const broken = one.absent.find((key) => model.has(key)) ?? one.present.find((key) => !model.has(key));
        const { status, reason } = results[at];
        if (broken !== undefined) {
          conflicts += 1;
          assert.deepEqual([reason?.code, reason?.key], ["conflict", broken], `step ${step}`);
          continue;
        }
        assert.equal(status, "fulfilled", reason?.stack);
        for (const key of one.deletes) model.delete(key);
        for (const [start, end] of one.deleteRanges) for (const [key] of inRange(model, { start, end })) model.delete(key);
        for (const [key, value] of one.puts) model.set(key, value);
      }
    }
  }
  await store.close();
  store = open();
  assert.deepEqual(
    (await store.scan({ start: "", end: "\x7f", reverse: false })).map(([key, value]) => [key, text(value)]),
    sorted(model),
  );
  await store.close();
  t.diagnostic(`${conflicts} conflicts, ${opened} reopenings, ${model.size} records at the end`);
  assert.ok(conflicts > 10 && opened > 10);
});

test("ordered keys are those of a Map, and a snapshot does not change", { timeout: 60_000 }, async () => {
  const { Keys } = await module("stores/log/keys.js");
  const next = random(SEED + 2);
  const below = (most) => Math.floor(next() * most);
  const key = () => String(below(20_000)).padStart(5, "0");
  const keys = new Keys();
  const model = new Map();
  let snapshots = [];
  for (let step = 0; step < 60_000; step += 1) {
    const what = below(1000);
    if (what < 600) {
      const one = key();
      assert.equal(keys.set(one, step), model.get(one));
      model.set(one, step);
    } else if (what < 985) {
      const one = key();
      assert.equal(keys.delete(one), model.get(one));
      model.delete(one);
    } else if (what < 995) {
      const [start, end] = [key(), key()].sort();
      const gone = [];
      const to = below(2) === 0 ? end : String(Number(start) + below(300)).padStart(5, "0");
      keys.deleteRange(start, to, (entry, key) => gone.push([key, entry]));
      assert.deepEqual(gone, inRange(model, { start, end: to }));
      for (const [key] of gone) model.delete(key);
    } else if (what === 999) snapshots.push([keys.snapshot(), sorted(model)]);
    if (step % 5_000 === 0) {
      assert.equal(keys.size, model.size);
      const [start, end] = [key(), key()];
      for (const reverse of [false, true])
        for (const limit of [Infinity, 7]) assert.deepEqual(keys.range(start, end, limit, reverse), inRange(model, { start, end, limit, reverse }));
      snapshots = snapshots.slice(-3);
      for (const [parts, expected] of snapshots)
        assert.deepEqual(
          parts.flatMap(({ keys, entries }) => keys.map((key, at) => [key, entries[at]])),
          expected,
        );
    }
  }
  assert.deepEqual(keys.range("", "~", Infinity, false), sorted(model));
});

test("the cache holds no more than it may, empty values too", async () => {
  const { Cache } = await module("stores/log/cache.js");
  const cache = new Cache(10_000);
  const owners = Array.from({ length: 1_000 }, (_, at) => ({ at }));
  for (const owner of owners) cache.set(owner, new Uint8Array(owner.at % 3 === 0 ? 0 : 100));
  const kept = owners.filter((owner) => cache.get(owner) !== undefined);
  assert.ok(kept.length > 50 && kept.length < 160, `${kept.length} values`);
  assert.equal(kept.at(-1), owners.at(-1));
  cache.set(owners[0], new Uint8Array(5_000));
  assert.equal(cache.get(owners[0]), undefined, "one value does not drive all others out");
});

test("checksums are those of zip files", async () => {
  const { crc32 } = await module("stores/log/crc.js");
  const encoder = new TextEncoder();
  assert.equal(crc32(encoder.encode("123456789")), 0xcbf43926);
  assert.equal(crc32(new Uint8Array(0)), 0);
  const { default: zlib } = await import("node:zlib");
  const bytes = Uint8Array.from({ length: 1000 }, (_, at) => (at * 31) & 255);
  for (const cut of [0, 1, 7, 8, 9, 500]) {
    assert.equal(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut))), crc32(bytes));
    if (zlib.crc32 !== undefined) assert.equal(crc32(bytes.subarray(cut)), zlib.crc32(bytes.subarray(cut)));
  }
});
