// Change events: what is heard, by whom, and what a listener may do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Threadkeep, memory, rejects, user } from "./support/expect.mjs";
import { inChild } from "./support/installed.mjs";
import { mapAdapter } from "./support/adapters.mjs";

test("listeners hear of durable changes, before the call resolves", async () => {
  const keep = await memory();
  const heard = [];
  const stop = keep.on("change", (event) => heard.push(event));
  const [node] = await keep.thread("main").append([user("one")]);
  assert.deepEqual(heard, [
    { type: "changed", transcript: node.transcript, nodes: [node.id], remote: false },
    { type: "head", name: "main", node: node.id, remote: false },
  ]);
  await keep.thread("main").clear();
  assert.ok(heard.some((event) => event.type === "head" && event.node === null));
  assert.ok(heard.some((event) => event.type === "deleted" && event.transcript === node.transcript));
  await keep.deleteAll();
  assert.equal(heard.at(-1).type, "cleared");
  stop();
  stop();
  const before = heard.length;
  await keep.thread("main").append([user("two")]);
  assert.equal(heard.length, before);
  assert.throws(() => keep.on("changes", () => {}), { code: "bad-request" });
  assert.throws(() => keep.on("change"), { code: "bad-request" });
  await keep.close();
});

test("a failed call tells nobody", async () => {
  const keep = await memory();
  keep.on("change", () => assert.fail("nothing changed"));
  await rejects(keep.extend("nobody", [user("a")]), "missing-node");
  await rejects(keep.thread("main").moveTo("nobody"), "missing-node");
  await keep.close();
});

test("a listener may call the keep, and each has its own copy", async () => {
  const keep = await memory();
  const counts = [];
  keep.on("change", (event) => {
    event.type = "spoilt";
  });
  keep.on("change", (event) => {
    assert.notEqual(event.type, "spoilt");
    if (event.type === "head") counts.push(keep.thread("main").count());
  });
  await keep.thread("main").append([user("one"), user("two")]);
  assert.deepEqual(await Promise.all(counts), [2]);
  await keep.close();
});

test("a listener that throws disturbs neither the call nor other listeners", () => {
  // In a process of its own: the test runner would take the uncaught error for a failure.
  const printed = inChild(`
    import { Threadkeep } from "threadkeep";
    process.on("uncaughtException", (error) => console.log("uncaught:", error.message));
    const keep = await Threadkeep.open({ storage: "memory" });
    keep.on("change", () => { throw new Error("the listener's own"); });
    keep.on("change", (event) => console.log("heard", event.type));
    const nodes = await keep.thread("main").append([{ role: "user", content: "one" }]);
    console.log("appended", nodes.length);
  `);
  const lines = printed.trim().split("\n").sort();
  const uncaught = "uncaught: the listener's own";
  assert.deepEqual(lines, ["appended 1", "heard changed", "heard head", uncaught, uncaught]);
});

test("instances of one name hear of each other", async () => {
  const adapter = mapAdapter();
  const [a, b] = await Promise.all([1, 2].map(() => Threadkeep.open({ storage: adapter, name: "shared" })));
  const other = await Threadkeep.open({ storage: mapAdapter(), name: "other" });
  other.on("change", () => assert.fail("another name"));
  const heard = new Promise((resolve) => b.on("change", resolve));
  // The line between instances keeps no process alive, so that this test must.
  const alive = setInterval(() => {}, 1_000);
  const [node] = await a.thread("main").append([user("hello")]);
  const event = await heard.finally(() => clearInterval(alive));
  assert.deepEqual(event, { type: "changed", transcript: node.transcript, nodes: [node.id], remote: true });
  assert.equal(await b.thread("main").count(), 1);
  await Promise.all([a, b, other].map((keep) => keep.close()));
});

test("an open keep with listeners does not keep the process alive", () => {
  const printed = inChild(
    `
    import { Threadkeep } from "threadkeep";
    const storage = { get: async () => undefined, scan: async () => [], commit: async () => {}, close: async () => {} };
    const keep = await Threadkeep.open({ name: "alive", storage });
    keep.on("change", () => {});
    const memory = await Threadkeep.open();
    await memory.thread("main").append([{ role: "user", content: "hi" }]);
    console.log("open", process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
  `,
    { timeout: 20_000 },
  );
  assert.match(printed, /^open 0/);
});
