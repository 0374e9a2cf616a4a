// The OPFS store in a worker of headless Chromium: its contract, a second tab, damage, and the browser killed while it writes.
//
// THREADKEEP_OPFS_KILLS: how often (4 without it); THREADKEEP_SEED: the moments.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, launchToKill } from "./support/browser.mjs";
import { scratch, servePackage } from "./support/package.mjs";
import { count, random, seed } from "./support/random.mjs";

const KILLS = count("THREADKEEP_OPFS_KILLS", 4);
let server, browser, context;

before(async () => {
  server = await servePackage({});
  browser = await launch();
  context = await browser.newContext();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function tab(where = context) {
  const page = await where.newPage();
  await page.goto(`${server.address}opfs.html`);
  await page.waitForSelector("html[data-loaded]", { state: "attached" });
  return page;
}

const ask = (page, ...args) => page.evaluate((args) => window.ask(...args), args);
const failure = (page, ...args) => page.evaluate((args) => window.failure(...args), args);

test("the contract holds", { timeout: 180_000 }, async () => {
  const page = await tab();
  const { passed, failures } = await ask(page, "contract", "contract");
  assert.deepEqual(failures, []);
  assert.ok(passed.length >= 28, `${passed.length} behaviours`);
  await page.close();
});

test("a whole keep, closed and opened again", { timeout: 60_000 }, async () => {
  const page = await tab();
  assert.deepEqual(await ask(page, "keep", "whole", 250), { storage: "adapter", beginning: "created", count: 250, lint: [] });
  assert.deepEqual(await ask(page, "keep", "whole", 5), { storage: "adapter", beginning: "existing", count: 255, lint: [] });
  await page.close();
});

test("values of 8 MB come back, and are there after closing", { timeout: 60_000 }, async () => {
  const page = await tab();
  await ask(page, "open", "large", { cacheBytes: 0 });
  assert.equal(await ask(page, "bytes", "large", 8 << 20), true);
  await ask(page, "close", "large");
  assert.equal(await ask(page, "open", "large"), "existing");
  assert.deepEqual(
    (await ask(page, "all", "large")).map(([key]) => key),
    ["large"],
  );
  await page.close();
});

test("outside a worker it is unavailable, with words", { timeout: 60_000 }, async () => {
  const page = await tab();
  const { code, message } = await page.evaluate(() => window.outside());
  assert.equal(code, "unavailable");
  assert.match(message, /dedicated worker.*IndexedDB/);
  await page.close();
});

test("a second tab is refused while the first has it, and may when that is closed", { timeout: 60_000 }, async () => {
  const [first, second] = [await tab(), await tab()];
  assert.equal(await ask(first, "open", "shared"), "created");
  await ask(first, "commit", "shared", { puts: { a: "1" } });
  const { code, message } = await failure(second, "open", "shared");
  assert.equal(code, "blocked");
  assert.match(message, /another tab or worker has the OPFS folder .*close it there, or use IndexedDB/);
  await first.close();
  assert.equal(await ask(second, "open", "shared"), "existing");
  assert.deepEqual(await ask(second, "all", "shared"), [["a", "1"]]);
  await second.close();
});

test("a torn end is cut off, damage elsewhere is an error that names the place", { timeout: 60_000 }, async () => {
  const page = await tab();
  await ask(page, "open", "spoiled");
  for (const at of [1, 2, 3]) await ask(page, "commit", "spoiled", { puts: { [`k/${at}`]: `value ${at}` } });
  await ask(page, "close", "spoiled");
  await ask(page, "spoil", "spoiled", "log-000001", -4, "cut");
  // A log that was closed had its end. Without that mark, a kill may have torn it.
  assert.match((await failure(page, "open", "spoiled")).message, /its end is missing/);
  await ask(page, "remove", "spoiled", "closed");
  await ask(page, "open", "spoiled");
  assert.deepEqual(
    (await ask(page, "all", "spoiled")).map(([key]) => key),
    ["k/1", "k/2"],
  );
  await ask(page, "close", "spoiled");
  await ask(page, "spoil", "spoiled", "log-000001", 130, 1);
  const { code, message } = await failure(page, "open", "spoiled");
  assert.equal(code, "corrupt");
  assert.match(message, /log-000001 in the OPFS folder threadkeep-spoiled is damaged at byte \d+/);
  await ask(page, "open", "spoiled", { repair: true });
  // A value that was lost is named until its key is written or deleted.
  assert.match((await failure(page, "all", "spoiled")).message, /the value of "k\/1" was damaged, and lost/);
  await ask(page, "commit", "spoiled", { deletes: ["k/1"] });
  assert.deepEqual(
    (await ask(page, "all", "spoiled")).map(([key]) => key),
    ["k/2"],
  );
  await ask(page, "close", "spoiled");
  assert.ok((await ask(page, "files", "spoiled")).includes("damaged-log-000001"));
  await page.close();
});

test(`${KILLS} browser kills in mid-write lose nothing that was acknowledged`, { timeout: 20 * 60_000 }, async (t) => {
  const profile = scratch("opfs");
  const begin = seed();
  const moments = random(begin);
  t.diagnostic(`seed ${begin}`);
  let running;
  let [before, compactions, opened] = [0, 0, ""];
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      running = await launchToKill(profile.folder);
      let page = await tab(running.context);
      let acknowledged = before;
      let failed;
      const until = moments.between(50, 600);
      let reached;
      const enough = new Promise((resolve) => (reached = resolve));
      await page.exposeFunction("told", (said) => {
        if (said.failed !== undefined) reached((failed = said.failed));
        else if ((acknowledged = Math.max(acknowledged, said.acknowledged)) >= before + until) reached();
      });
      assert.equal(await ask(page, "write", "killed", 1 + (kill % 8)), before);
      await enough;
      assert.equal(failed, undefined);
      await new Promise((resolve) => setTimeout(resolve, moments.between(0, 5)));
      await running.kill();
      running = await launchToKill(profile.folder);
      page = await tab(running.context);
      const logs = (await ask(page, "files", "killed")).filter((name) => name.startsWith("log-"));
      if (logs.length > 1) compactions += 1;
      assert.equal(await ask(page, "open", "killed"), "existing");
      const left = (await ask(page, "files", "killed")).filter((name) => name.startsWith("log-"));
      assert.equal(left.length, 1, "what a kill has left is cleared away");
      opened = left[0];
      const { last, numbers, wrong } = await ask(page, "look", "killed");
      assert.ok(last >= acknowledged, `${acknowledged} was acknowledged, ${last} is the last there is`);
      assert.deepEqual(wrong, []);
      const from = Math.max(1, last - 39);
      assert.deepEqual(
        numbers,
        Array.from({ length: last - from + 1 }, (_, at) => from + at),
      );
      before = last;
      await running.kill();
      running = undefined;
    }
    t.diagnostic(`${before} commits; ${compactions} kills in the middle of a compaction; now ${opened}`);
    assert.ok(opened > "log-000001", "the log was written anew now and then");
  } finally {
    await running?.kill();
    profile.remove();
  }
});
