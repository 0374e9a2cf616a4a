// Calls that overlap: they take effect in the order in which they were made.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, memory, texts, user } from "./support/expect.mjs";

const slowly = () => new Promise((resolve) => setImmediate(resolve));

for (const [place, open] of [
  ["memory", () => memory()],
  ["a slow store", () => Threadkeep.open({ storage: mapAdapter({ pause: slowly }) })],
  ["memory without a cache", () => memory({ cacheBytes: 0 })],
]) {
  test(`200 appends at once keep their order (${place})`, async () => {
    const keep = await open();
    const nodes = await Promise.all(Array.from({ length: 200 }, (_, index) => keep.thread("main").append([user(`m${index}`)])));
    assert.deepEqual(
      texts(await keep.thread("main").messages()),
      Array.from({ length: 200 }, (_, index) => `m${index}`),
    );
    const numbers = nodes.map(([node]) => node.seq);
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
    assert.equal(new Set(numbers).size, 200);
    await keep.close();
  });
}

test("appends to many contexts, reads among them", async () => {
  const keep = await Threadkeep.open({ storage: mapAdapter({ pause: slowly }), cacheBytes: 10_000 });
  const reads = [];
  await Promise.all(
    Array.from({ length: 300 }, (_, index) => {
      reads.push(keep.thread(`c${index % 7}`).messages());
      return keep.thread(`c${index % 7}`).append([user(`${index}`)]);
    }),
  );
  for (const read of await Promise.all(reads)) {
    const numbers = read.map((message) => Number(message.content));
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
  }
  const counts = await Promise.all(Array.from({ length: 7 }, (_, index) => keep.thread(`c${index}`).count()));
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    300,
  );
  await keep.close();
});

test("the same message received many times at once is stored once", async () => {
  const keep = await memory();
  const nodes = await Promise.all(Array.from({ length: 20 }, () => keep.receive({ messageId: "m", content: "hi" })));
  assert.equal(new Set(nodes.map((node) => node.id)).size, 1);
  assert.equal((await keep.stats()).transcripts, 1);
  await keep.close();
});

test("imports and appends overlap", async () => {
  const keep = await memory();
  const line = (index) => JSON.stringify({ messages: [user(`q${index}`), { role: "assistant", content: `a${index}` }] });
  const archive = Array.from({ length: 50 }, (_, index) => line(index)).join("\n");
  const [report] = await Promise.all([keep.import(archive), ...Array.from({ length: 50 }, (_, index) => keep.thread("main").append([user(`m${index}`)]))]);
  assert.equal(report.added, 50);
  assert.equal(await keep.thread("main").count(), 50);
  assert.equal((await keep.stats()).transcripts, 51);
  await keep.close();
});
