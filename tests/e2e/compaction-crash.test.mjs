// A compaction is there as a whole or not at all: the browser is killed while one is under way, again and again over one
// profile, and after each time no message is lost, no checkpoint is half there, and the next start goes on.
//
// THREADKEEP_COMPACTIONS: how often; THREADKEEP_SEED: the moments.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchToKill } from "./support/browser.mjs";
import { scratch, servePackage } from "./support/package.mjs";
import { count, random, seed } from "./support/random.mjs";
import { decision } from "./pages/content.js";

const times = count("THREADKEEP_COMPACTIONS", 4);
let server;

before(async () => {
  server = await servePackage({});
});
after(() => server?.close());

test(`${times} browser kills during compaction lose no message and leave no half checkpoint`, { timeout: 30 * 60_000 }, async (t) => {
  const profile = scratch("profile");
  const begin = seed();
  const moments = random(begin);
  t.diagnostic(`seed ${begin}`);
  let running;
  const open = async () => {
    const page = await running.context.newPage();
    await page.goto(server.address);
    await page.waitForSelector("html[data-loaded]", { state: "attached" });
    return page;
  };
  try {
    const told = new Told();
    let underWay = 0;
    for (let time = 1; time <= times; time += 1) {
      running = await launchToKill(profile.folder);
      const page = await open();
      await page.exposeFunction("acknowledge", (text) => told.take(JSON.parse(text)));
      // The first compactions of a start are skipped now and then, so that later ones are met too.
      const begun = told.begins(moments.between(1, 3));
      await page.evaluate(() => void compactOnAndOn("compaction"));
      await begun;
      await new Promise((resolve) => setTimeout(resolve, moments.next() * 1.3 * told.took));
      underWay += Number(told.compacting);
      await running.kill();
      assert.deepEqual(told.failures, []);

      running = await launchToKill(profile.folder);
      const reader = await open();
      check(await reader.evaluate(() => readCompacted("compaction")), told);
      await reader.close();
      await running.kill();
      running = undefined;
    }
    t.diagnostic(`${underWay} of ${times} kills while a compaction was under way; ${told.messages} messages, ${told.checkpoints.size} checkpoints`);
    assert.ok(told.checkpoints.size > 0, "compactions were carried out");
  } finally {
    await running?.kill();
    profile.remove();
  }
});

/** What the page was told is done. */
class Told {
  messages = 0;
  checkpoints = new Set();
  compacting = false;
  /** How long a compaction takes, in milliseconds, as the last one showed. */
  took = 120;
  failures = [];
  #since = 0;
  #left = 0;
  #wake = () => {};

  /** Waits for the beginning of so many compactions. */
  begins(many) {
    this.#left = many;
    return new Promise((resolve) => (this.#wake = resolve));
  }

  take({ messages, begun, checkpoint, failed }) {
    if (messages !== undefined) this.messages = Math.max(this.messages, messages);
    if (checkpoint !== undefined) {
      this.compacting = false;
      this.took = performance.now() - this.#since;
      if (checkpoint !== null) this.checkpoints.add(checkpoint);
    }
    if (begun) {
      this.compacting = true;
      this.#since = performance.now();
      this.#left -= 1;
    }
    if (failed !== undefined) this.failures.push(failed);
    if (this.#left <= 0 || failed !== undefined) this.#wake();
  }
}

function check(found, told) {
  assert.equal(found.beginning, "existing", "the database was there and whole");
  assert.ok(found.texts.length >= told.messages, `${told.messages} acknowledged, ${found.texts.length} found`);
  assert.equal(found.texts.length % 24, 0, "what was appended together is there together");
  found.texts.forEach((text, at) => assert.equal(text, decision(at), `message ${at} is not the one written`));
  assert.deepEqual(found.lint, []);

  const ids = found.checkpoints.map(({ id }) => id);
  for (const id of told.checkpoints) assert.ok(ids.includes(id), `the acknowledged checkpoint ${id} is there`);
  found.checkpoints.forEach((checkpoint, at) => {
    assert.ok(found.anchors[at], `the anchor of ${checkpoint.id} is there`);
    assert.ok(checkpoint.statements.length > 0 && checkpoint.tokensAfter < checkpoint.tokensBefore);
    assert.equal(checkpoint.previous, ids[at - 1], "it carries on the one before");
    for (const id of checkpoint.episodes) assert.ok(found.episodes.includes(id), `the episode ${id} of ${checkpoint.id} is there`);
    for (const id of checkpoint.facts) assert.ok(found.facts.includes(id), `the fact ${id} of ${checkpoint.id} is there`);
  });
  const owned = (kind) => new Set(found.checkpoints.flatMap((checkpoint) => checkpoint[kind]));
  const [episodes, facts] = [owned("episodes"), owned("facts")];
  for (const id of found.episodes) assert.ok(episodes.has(id), `the episode ${id} came with a checkpoint that is there`);
  for (const id of found.facts) assert.ok(facts.has(id), `the fact ${id} came with a checkpoint that is there`);

  assert.deepEqual(
    found.prompts.map(({ epoch }) => epoch),
    ["original", ...ids],
  );
  for (const { epoch, errors } of found.prompts) assert.deepEqual(errors, [], `the prompt of ${epoch} is valid`);
  // Whatever came in before this was told is known to be there from now on.
  told.messages = found.texts.length;
  for (const id of ids) told.checkpoints.add(id);
}
