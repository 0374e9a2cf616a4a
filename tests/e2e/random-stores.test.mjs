// Random calls against a plain model on the stores of browsers: IndexedDB, which two tabs have open at once, and OPFS in a worker. Then
// the same in several scopes. The package's own tests run the same program on the stores of Node (npm/test/random.test.mjs).
//
// THREADKEEP_ACTS: how many calls on each store (150 without it); THREADKEEP_SEED: which.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "./support/browser.mjs";
import { servePackage } from "./support/package.mjs";
import { count, seed } from "./support/random.mjs";

const acts = count("THREADKEEP_ACTS", 150);
let server, browser;

before(async () => {
  server = await servePackage({ "/program/": fileURLToPath(new URL("../../npm/test/support", import.meta.url)) });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs a program of the page `random.html`, and gives what it counted and how many tabs it had open. */
async function play(t, run, options) {
  const begin = seed();
  t.diagnostic(`seed ${begin}`);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.address}random.html`);
  await page.waitForSelector("html[data-loaded]", { state: "attached" });
  const counts = await page
    .evaluate(([run, options]) => window[run](options), [run, { ...options, seed: begin }])
    // In one line, which reports that leave out the rest of a message still print.
    .catch((cause) => assert.fail(`seed ${begin}: ${cause.message.replace(/\s+/g, " ").slice(0, 600)}`));
  t.diagnostic(JSON.stringify(counts));
  const tabs = context.pages().length;
  await context.close();
  return { counts, tabs };
}

const sum = (counts) => Object.values(counts).reduce((sum, times) => sum + times, 0);

for (const [store, run] of [
  ["IndexedDB in two tabs", "onIndexedDb"],
  ["OPFS in a worker", "onOpfs"],
]) {
  test(`${acts} random calls on ${store} give what a plain model gives`, { timeout: 60_000 + acts * 500 }, async (t) => {
    const { counts, tabs } = await play(t, run, { name: "random", acts });
    assert.equal(sum(counts), acts);
    assert.equal(tabs, run === "onIndexedDb" ? 2 : 1, "tabs");
  });
}

const scoped = count("THREADKEEP_ACTS", 50);
for (const [store, run] of [
  ["IndexedDB", "scopesOnIndexedDb"],
  ["OPFS in a worker", "scopesOnOpfs"],
]) {
  test(`${scoped} random calls in each of three scopes on ${store}: nothing of one in another`, { timeout: 90_000 + scoped * 2_000 }, async (t) => {
    const { counts } = await play(t, run, { name: "scopes", acts: scoped });
    assert.deepEqual(counts.map(sum), [scoped, scoped, scoped]);
  });
}
