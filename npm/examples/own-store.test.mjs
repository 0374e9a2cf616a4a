// What a store of one's own has to pass: `node --test own-store.test.mjs`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Threadkeep } from "threadkeep";
import { checkStore } from "threadkeep/contract";
import { ownStore } from "./own-store.mjs";

test("the store keeps its contract", async () => {
  const { passed, failures } = await checkStore(() => ownStore("contract"));
  assert.deepEqual(failures, []);
  console.log(`${passed.length} behaviours hold`);
});

test("conversations are there again when it is reopened", async () => {
  let keep = await Threadkeep.open({ storage: ownStore("story") });
  await keep.thread("main").append([{ role: "user", content: "Remember me." }]);
  await keep.close();
  keep = await Threadkeep.open({ storage: ownStore("story") });
  assert.deepEqual(await keep.thread("main").messages(), [{ role: "user", content: "Remember me." }]);
  await keep.close();
});
