// Two tabs that write to one conversation at once: nothing is lost, doubled or out of order, and each hears of the other.
//
// THREADKEEP_APPENDS: how many appends each tab makes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./support/browser.mjs";
import { servePackage } from "./support/package.mjs";
import { count } from "./support/random.mjs";

const appends = count("THREADKEEP_APPENDS", 500);
let browser, server;

before(async () => {
  server = await servePackage();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test(`two tabs with ${appends} appends each to one conversation leave ${2 * appends} in sequence`, { timeout: 20 * 60_000 }, async (t) => {
  const context = await browser.newContext();
  const together = rendezvous(2);
  await context.exposeFunction("ready", together);
  const tabs = await Promise.all(["left", "right"].map(() => context.newPage()));
  const start = performance.now();
  const answers = await Promise.all(
    tabs.map(async (tab, at) => {
      await tab.goto(server.address);
      await tab.waitForSelector("html[data-loaded]", { state: "attached" });
      return tab.evaluate(([writer, many]) => appendMany("two-tabs", "shared", writer, many), [at === 0 ? "left" : "right", appends]);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  const [left, right] = answers;
  assert.equal(left.texts.length, 2 * appends);
  assert.deepEqual(left.texts, right.texts, "both tabs read the same");
  assert.equal(left.count, 2 * appends);
  assert.deepEqual(left.lint, []);
  for (const writer of ["left", "right"]) {
    const own = left.texts.filter((text) => text.startsWith(writer));
    assert.deepEqual(
      own,
      Array.from({ length: appends }, (_, at) => `${writer} ${at}`),
      `${writer}'s messages in its order`,
    );
  }
  assert.equal(new Set(left.seqs).size, 2 * appends, "no sequence number twice");
  left.seqs.forEach((seq, at) => assert.ok(at === 0 || seq > left.seqs[at - 1], `seq ${seq} follows ${left.seqs[at - 1]}`));
  const turns = left.texts.filter((text, at) => at > 0 && text.split(" ")[0] !== left.texts[at - 1].split(" ")[0]).length;
  assert.ok(turns > 0, "they did write at once");
  for (const { heard } of answers) assert.deepEqual(heard, { local: appends, remote: appends });
  t.diagnostic(`${2 * appends} appends in ${seconds.toFixed(1)} s, the writer changed ${turns} times; each tab heard of all ${appends} of the other`);
  await context.close();
});

/** A function that resolves when it was called as often as there are callers. */
function rendezvous(callers) {
  let waiting = [];
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length < callers) return;
      for (const go of waiting) go();
      waiting = [];
    });
}
