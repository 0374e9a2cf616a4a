// One at a time under a name over one store, as processes of their own have it: no lock of the platform helps them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, createAgent } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { Leases } = await import(pathToFileURL(join(installed, "dist/lease.js")).href);
/** Does `work` while nobody else does any under this name. */
async function leased(records, name, work, times) {
  const release = await new Leases(records, times).hold(name);
  try {
    return await work();
  } finally {
    await release();
  }
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const TIMES = { beat: 20, stale: 100_000, look: 5 };

/** As many keeps over one store that know nothing of each other. */
async function keeps(count) {
  const records = new Map();
  return Promise.all(Array.from({ length: count }, () => Threadkeep.open({ storage: mapAdapter({ records }), encoding: "estimate" })));
}

test("one works at a time, and all get their turn", async () => {
  const all = await keeps(4);
  let [inside, most, done] = [0, 0, 0];
  const work = async () => {
    most = Math.max(most, (inside += 1));
    await pause(30);
    inside -= 1;
    return (done += 1);
  };
  const results = await Promise.all(all.flatMap((keep) => [1, 2].map(() => leased(keep.records("l"), "é!x", work, TIMES))));
  assert.deepEqual([most, done], [1, 8]);
  assert.deepEqual(results.sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal((await all[0].records("l").scan()).length, 0, "a released lease leaves nothing");
  // Work that fails gives the lease back too.
  await assert.rejects(
    leased(all[0].records("l"), "é!x", () => Promise.reject(new Error("no")), TIMES),
    /no/,
  );
  assert.equal(await leased(all[1].records("l"), "é!x", async () => "next", TIMES), "next");
  await Promise.all(all.map((keep) => keep.close()));
});

test("a holder that has died is replaced, and does not disturb who replaced it", async () => {
  const [dead, alive] = await keeps(2);
  let release;
  // Its records stop answering, as those of a killed process do; the work goes on, as that of a stalled one does.
  const stalled = {
    get: (key) => dead.records("l").get(key),
    commit: (commit) => (commit.absent ? dead.records("l").commit(commit) : pause(200).then(() => dead.records("l").commit(commit))),
  };
  const first = leased(stalled, "n", () => new Promise((resolve) => (release = resolve)), { ...TIMES, beat: 100_000 });
  while (release === undefined) await pause(5);
  const order = [];
  const second = leased(
    alive.records("l"),
    "n",
    async () => {
      order.push("second");
      release("late");
      assert.equal(await first, "late");
      order.push("first");
    },
    { ...TIMES, stale: 60 },
  );
  await second;
  assert.deepEqual(order, ["second", "first"]);
  assert.equal((await alive.records("l").scan()).length, 0);
  await Promise.all([dead.close(), alive.close()]);
});

test("a lease that was taken after all records were deleted is another one", async () => {
  const [one, two] = await keeps(2);
  const held = [];
  let free;
  const until = new Promise((resolve) => (free = resolve));
  const watched = (keep, who) => ({
    get: (key) => keep.records("l").get(key),
    commit: (commit) => (commit.puts.forEach(([key]) => held.push([who, key])), keep.records("l").commit(commit)),
  });
  let inside = 0;
  const first = leased(watched(one, "one"), "n", async () => ((inside += 1), until), { ...TIMES, beat: 100_000 });
  while (inside === 0) await pause(5);
  await one.deleteAll();
  await leased(watched(two, "two"), "n", async () => (inside += 1), { ...TIMES, beat: 100_000 });
  free();
  await first;
  const keys = (who) => new Set(held.filter(([whose, key]) => whose === who && key.startsWith("token!")).map(([, key]) => key));
  assert.equal(inside, 2);
  assert.deepEqual(
    [...keys("one")].filter((key) => keys("two").has(key)),
    [],
  );
  assert.ok(keys("one").size === 1 && keys("two").size === 1);
  await Promise.all([one.close(), two.close()]);
});

test("one count shows that all leases of a program are held, also after one was taken over", async () => {
  const [one, two] = await keeps(2);
  const commits = [];
  const records = { get: (key) => one.records("l").get(key), commit: (commit) => (commits.push(commit), one.records("l").commit(commit)) };
  const own = new Leases(records, TIMES);
  const releases = [await own.hold("a"), await own.hold("b")];
  await pause(100);
  const beats = commits.filter(({ absent, deletes }) => absent === undefined && deletes === undefined);
  assert.ok(beats.length > 0 && beats.every(({ puts }) => puts.length === 2));
  // Somebody takes one over, who believes it dead.
  let done = false;
  const late = leased(two.records("l"), "a", async () => (done = true), { ...TIMES, stale: 0 });
  await late;
  assert.ok(done);
  commits.length = 0;
  await pause(100);
  assert.ok(
    commits.some(({ puts }) => puts.length === 1),
    "the other is held as before",
  );
  assert.ok(commits.filter(({ present }) => present.length === 2).length <= 1, "one that was taken over is not asked for again");
  for (const release of releases) await release();
  assert.deepEqual(await two.records("l").scan(), []);
  await Promise.all([one.close(), two.close()]);
});

test("two processes' agents of one name over one adapter answer a message once", async () => {
  const [here, there] = await keeps(2);
  let asked = 0;
  const model = async () => {
    asked += 1;
    await pause(50);
    return { role: "assistant", content: "answered" };
  };
  const agents = [here, there].map((keep) => createAgent({ keep, name: "lal", model, systemPrompt: "s" }));
  for (let at = 0; at < 3; at++) await here.mailbox("ann").send({ to: "lal", content: `question ${at}` });
  await Promise.all(agents.map((agent) => agent.catchUp()));
  assert.equal(asked, 3);
  const mails = await there.mailbox("ann").messages({});
  assert.equal(mails.filter(({ from }) => from === "lal").length, 3);
  await Promise.all([here.close(), there.close()]);
});
