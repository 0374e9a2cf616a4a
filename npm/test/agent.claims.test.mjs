// Claims: only one carries out a turn, whichever agent of whichever process, and a claim that fails is given back.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { mapAdapter } from "./support/adapters.mjs";
import { script } from "./support/agents.mjs";
import { Threadkeep, createAgent, memory, rejects, texts } from "./support/expect.mjs";
import { installed } from "./support/installed.mjs";

const { claim } = await import(pathToFileURL(join(installed, "dist/agent/claims.js")).href);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const agentOf = (keep, model, name = "lal") => createAgent({ keep, model, name, user: "ann" });

test("a claim that the store fails at once is given back", { timeout: 20_000 }, async () => {
  const storage = mapAdapter();
  const { commit } = storage;
  let fails = true;
  storage.commit = async (all) => {
    if (fails && all.puts.some(([key]) => key.startsWith("x/agents/claim"))) {
      fails = false;
      throw Object.assign(new Error("no disk today"), { code: "storage" });
    }
    return commit(all);
  };
  const keep = await Threadkeep.open({ storage, name: "failing-claims", encoding: "estimate" });
  const agent = agentOf(keep, script("hello"));
  await rejects(agent.send("hi", { messageId: "m1" }), "transient", /no disk today/);
  assert.equal((await agent.send("hi", { messageId: "m1" })).text, "hello");
  await keep.close();
});

test("a message whose id is as long as ids may be is answered on an adapter", { timeout: 20_000 }, async () => {
  const keep = await Threadkeep.open({ storage: mapAdapter(), encoding: "estimate" });
  const messageId = "漢".repeat(170);
  assert.equal((await agentOf(keep, script("hello")).send("hi", { messageId })).text, "hello");
  await keep.close();
});

test("two agents of one keep do not work at one conversation at the same time", { timeout: 20_000 }, async () => {
  for (const storage of ["memory", mapAdapter()]) {
    const keep = await Threadkeep.open({ storage, encoding: "estimate" });
    let free;
    const slow = script(() => new Promise((resolve) => (free = () => resolve("one"))));
    const other = script("two");
    const first = agentOf(keep, slow).send("first", { conversation: "c" });
    while (free === undefined) await pause(5);
    const second = agentOf(keep, other, "bob").send("second", { conversation: "c" });
    await pause(60);
    assert.equal(other.requests.length, 0, "the turn above is not over");
    free();
    assert.deepEqual([(await first).text, (await second).text], ["one", "two"]);
    const said = texts(await keep.thread("c").messages());
    assert.equal(said.length, 4);
    assert.match(said[2], /second/);
    await keep.close();
  }
});

test("claims on one node are given in the order of asking, and those on others at once", { timeout: 20_000 }, async () => {
  const named = () => Threadkeep.open({ storage: mapAdapter(), name: "claims-in-order", encoding: "estimate" });
  for (const keep of [await memory(), await Threadkeep.open({ storage: mapAdapter() }), await named()]) {
    const order = [];
    const work = async (number) => {
      const end = await claim(keep, "one");
      order.push(number);
      await pause(5);
      end();
    };
    const first = await claim(keep, "one");
    const all = [1, 2, 3, 4].map(work);
    (await claim(keep, "another"))();
    assert.deepEqual(order, []);
    first();
    await Promise.all(all);
    assert.deepEqual(order, [1, 2, 3, 4]);
    await keep.close();
  }
  // What two keeps in memory hold has nothing in common.
  const [here, there] = [await memory(), await memory()];
  (await claim(here, "one"), await claim(there, "one"))();
  await Promise.all([here.close(), there.close()]);
});
