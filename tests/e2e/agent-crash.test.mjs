// An agent's session is killed again and again, and ends as one that nobody disturbed: no turn is lost, none is answered twice, every
// prompt is valid. Only a tool that was at work in the moment of a kill may be marked as interrupted.
//
// THREADKEEP_AGENT_KILLS: how often; THREADKEEP_SEED: the moments.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchToKill } from "./support/browser.mjs";
import { scratch, servePackage } from "./support/package.mjs";
import { count, random, seed } from "./support/random.mjs";

const times = count("THREADKEEP_AGENT_KILLS", 4);
let server;

before(async () => {
  server = await servePackage({});
});
after(() => server?.close());

test(`a session of 200 turns that is killed ${times} times ends as one that is not`, { timeout: 30 * 60_000 }, async (t) => {
  const profile = scratch("profile");
  const begin = seed();
  const moments = random(begin);
  t.diagnostic(`seed ${begin}`);
  let running;
  const open = async () => {
    running = await launchToKill(profile.folder);
    const page = await running.context.newPage();
    await page.goto(server.address);
    await page.waitForSelector("html[data-loaded]", { state: "attached" });
    return page;
  };
  try {
    const page = await open();
    const started = performance.now();
    await page.evaluate(() => playSession("undisturbed"));
    // About how long a turn takes.
    const pace = (performance.now() - started) / 200;
    const wanted = await page.evaluate(() => lookAtSession("undisturbed"));
    assert.deepEqual([wanted.turns.length, wanted.calls], [200, 500]);
    await running.kill();

    const kills = [];
    let state;
    do {
      const page = await open();
      let turn = 0;
      let reached = () => {};
      const limit = kills.length < times ? Math.min(199, Math.floor((200 * (kills.length + 1)) / (times + 1))) : Infinity;
      const there = new Promise((resolve) => (reached = resolve));
      await page.exposeFunction("acknowledgeTurn", (told) => {
        turn = told.turn;
        if (kills.length > 0) assert.equal(told.beginning, "existing", "the database was there and whole");
        if (turn >= limit) reached("kill");
      });
      const done = page
        .evaluate(() => playSession("disturbed"))
        .then(
          () => "done",
          () => "gone",
        );
      state = await Promise.race([there, done]);
      assert.notEqual(state, "gone");
      if (state === "kill") {
        await new Promise((resolve) => setTimeout(resolve, moments.next() * pace * 3));
        kills.push(turn);
      } else {
        const found = await page.evaluate(() => lookAtSession("disturbed"));
        compare(found, wanted, t);
      }
      await running.kill();
      running = undefined;
    } while (state !== "done");
    t.diagnostic(`killed in the turns ${kills.join(", ")}; about ${pace.toFixed(0)} ms a turn`);
    assert.equal(kills.length, times);
  } finally {
    await running?.kill();
    profile.remove();
  }
});

function compare(found, wanted, t) {
  assert.deepEqual(found.lint, []);
  assert.equal(found.turns.length, wanted.turns.length);
  let interrupted = 0;
  found.turns.forEach((turn, at) => {
    assert.deepEqual(turn.errors, [], `the prompt of turn ${at} is valid`);
    assert.ok(turn.sealed, `turn ${at} is over`);
    assert.equal(turn.answers.length, 1, `turn ${at} has one answer`);
    assert.deepEqual(turn.answers, wanted.turns[at].answers);
    if (turn.interrupted) interrupted += 1;
    else assert.deepEqual(turn.text, wanted.turns[at].text, `turn ${at} is as it would have been`);
  });
  t.diagnostic(`${interrupted} of 200 chains hold a tool that is marked as interrupted`);
}
