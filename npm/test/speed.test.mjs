// What costs time for a message, and that nothing of it changes what comes out.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { installed, load } from "./support/installed.mjs";

test("the module's memory grows in few and large steps: from 64 MB on, each costs V8 a collection of all garbage", async () => {
  const { Threadkeep } = await load();
  const keep = await Threadkeep.open({ storage: "memory" });
  const { initSync } = await import(pathToFileURL(join(installed, "wasm/threadkeep.js")).href);
  const { memory } = initSync();
  const content = "some words that a person would write. ".repeat(12);
  const batch = Array.from({ length: 100 }, () => ({ role: "user", content }));
  let { buffer } = memory;
  let steps = 0;
  const before = buffer.byteLength;
  for (let round = 0; round < 200; round += 1) {
    await keep.thread("chat").append(batch);
    if (memory.buffer !== buffer) steps += 1;
    buffer = memory.buffer;
  }
  assert.ok(buffer.byteLength - before > 16e6, `memory grew by ${buffer.byteLength - before} bytes only`);
  assert.ok(steps < 60, `memory grew in ${steps} steps`);
  await keep.close();
});

test("an append answers with the nodes and messages that a later reading gives, whatever is in the messages", async () => {
  const { Threadkeep } = await load();
  const keep = await Threadkeep.open({ storage: "memory" });
  const plain = { role: "user", content: "a", name: undefined, [Symbol("hidden")]: 1 };
  const prototype = JSON.parse('{"role": "user", "content": "b", "__proto__": "c"}');
  const own = Object.assign(Object.create({ inherited: "no", toJSON: () => ({ role: "tool", content: "other" }) }), { role: "user", content: "d" });
  const rich = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
    n: 1.5,
    at: new Date(0),
  };
  const flags = { role: "system", content: "é \u2028 😀", pinned: true, refusal: null, 7: "seven", x: "y" };
  for (const messages of [[plain], [plain, flags], [plain, prototype], [own], [flags, rich, plain], [{ role: "user", content: "half \ud83d" }], []]) {
    const made = await keep.thread("chat").append(messages);
    // What only the answer can say: what is stored was changed.
    for (const node of made) delete node.warnings;
    const chain = made.length > 0 ? await keep.chain(made.at(-1).id) : [];
    assert.deepEqual(made, chain.slice(chain.length - made.length));
    const keys = (nodes) => nodes.flatMap((node) => [Object.keys(node), ...node.messages.map((message) => Object.keys(message).sort())]);
    assert.deepEqual(keys(made), keys(chain.slice(chain.length - made.length)));
  }
  const given = { role: "user", content: "before" };
  const appending = keep.thread("chat").append([given]);
  given.content = "after";
  const [node] = await appending;
  assert.equal(node.messages[0].content, "before");
  node.messages[0].content = "spoilt";
  assert.equal((await keep.thread("chat").messages()).at(-1).content, "before");
  await keep.close();
});

test("a listener that comes late hears what happens from then on, and one after the end is no error", async () => {
  const { Threadkeep } = await load();
  const keep = await Threadkeep.open({ storage: "memory" });
  await keep.thread("chat").append([{ role: "user", content: "unheard" }]);
  const heard = [];
  const stop = keep.on("change", ({ type }) => heard.push(type));
  await keep.thread("chat").append([{ role: "user", content: "heard" }]);
  stop();
  keep.on("change", ({ type }) => heard.push(`again ${type}`));
  await keep.thread("chat").append([{ role: "user", content: "heard again" }]);
  assert.deepEqual(heard, ["changed", "head", "again changed", "again head"]);
  await keep.close();
  keep.on("change", () => {});
});
