// What was acknowledged is durable: the browser is killed, or its renderer crashed, in mid-write, again and again over one
// profile, and after each time everything that a promise had stood for must be there, whole and in order.
// A kill can also leave half a record at the end of the browser's own log, behind which nothing may be written; that is
// brought about by hand.
//
// THREADKEEP_CRASHES: how often (of each kind); THREADKEEP_SEED: the moments.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { archive } from "./generate.mjs";
import { launchToKill } from "./support/browser.mjs";
import { end, logs, moved, tear } from "./support/leveldb.mjs";
import { scratch, servePackage } from "./support/package.mjs";
import { count, random, seed } from "./support/random.mjs";
import { batchSize, content, turnSize } from "./pages/content.js";

const times = count("THREADKEEP_CRASHES", 4);
let server, files;

before(async () => {
  files = scratch("archives");
  server = await servePackage({ "/archives/": files.folder });
});
after(async () => {
  await server?.close();
  files?.remove();
});

test(`${times} browser kills in mid-write lose no acknowledged message and tear none`, { timeout: 20 * 60_000 }, (t) =>
  crashes(t, async ({ running, start }) => {
    await running.kill();
    return start();
  }),
);

test(`${times} renderer crashes in mid-write lose no acknowledged message and tear none`, { timeout: 20 * 60_000 }, (t) =>
  crashes(t, async ({ running, page }) => {
    const crashed = page.waitForEvent("crash");
    const devtools = await running.context.newCDPSession(page);
    devtools.send("Page.crash").catch(() => {});
    await crashed;
    await page.close();
    return running;
  }),
);

// What a kill leaves between two of LevelDB's writes: a header whose payload is missing, as much as of a short message or
// nearly all there; or a piece of a record that goes on in the next block. Without a new log, what is acknowledged after
// that takes the whole database with it at the opening after the next.
for (const [what, how] of [
  ["half a record", { length: 600 }],
  ["nearly a whole record", { length: 20, written: 10 }],
  ["a piece of a record", { pieces: true }],
]) {
  test(`a log that a kill has torn is not written on: ${what}`, { timeout: 6 * 60_000 }, async (t) => {
    const profile = scratch("profile");
    let running;
    try {
      for (let time = 0; time < 4; time += 1) {
        const before = logs(profile.folder).at(-1);
        running = await launchToKill(profile.folder);
        const page = await open(running);
        const found = await page.evaluate(([name, more]) => appendSome(name, more), ["torn", 20]);
        assert.equal(found.beginning, time === 0 ? "created" : "existing", "the database was there and whole");
        assert.deepEqual(
          found.texts,
          Array.from({ length: (time + 1) * 20 }, (_, at) => content("torn", at)),
        );
        // Not before the move to a new log is over, which no page is told: a kill amid it is what remains a danger.
        await moved(profile.folder, before);
        // With nothing under way, this kill tears nothing.
        await running.kill();
        running = undefined;
        assert.equal(end(profile.folder), "whole");
        if (time < 2) tear(profile.folder, how);
      }
      t.diagnostic("torn after the first two starts, killed four times, 80 messages there");
    } finally {
      await running?.kill();
      profile.remove();
    }
  });
}

test("a browser killed in mid-import leaves whole conversations, and the next import completes them", { timeout: 10 * 60_000 }, async (t) => {
  const made = archive(join(files.folder, "archive.json"), { megabytes: 6, conversations: 300, big: 0.5 });
  const address = `${server.address}archives/archive.json`;
  const profile = scratch("profile");
  const begin = seed();
  const moments = random(begin);
  t.diagnostic(`seed ${begin}`);
  let running;
  try {
    running = await launchToKill(profile.folder);
    const whole = await open(running);
    await whole.evaluate((from) => importArchive("whole", from), address);
    const expected = await whole.evaluate(() => imported("whole"));
    await whole.close();
    assert.equal(Object.keys(expected.transcripts).length, made.conversations);
    for (let time = 1; time <= Math.max(1, Math.floor(times / 4)); time += 1) {
      const name = `killed-${time}`;
      const page = await open(running);
      const at = moments.between(1, made.conversations - 30);
      await new Promise((resolve, reject) => {
        page
          .exposeFunction("progress", (conversations) => conversations >= at && resolve())
          .then(() => page.evaluate(([to, from]) => importArchive(to, from), [name, address]).then(resolve, reject));
      });
      await running.kill();
      running = await launchToKill(profile.folder);
      const next = await open(running);
      const found = await next.evaluate((from) => imported(from), name);
      const here = Object.keys(found.transcripts).length;
      t.diagnostic(`${time}: killed after ${at} conversations or more were stored; found ${here}`);
      assert.ok(here >= at, `${at} were reported as stored, ${here} found`);
      for (const [id, nodes] of Object.entries(found.transcripts)) assert.equal(nodes, expected.transcripts[id], `${id} is whole`);
      assert.deepEqual(found.lint, []);
      const report = await next.evaluate(([to, from]) => importArchive(to, from), [name, address]);
      assert.equal(report.unchanged, here);
      assert.equal(report.added, made.conversations - here);
      const completed = await next.evaluate((from) => imported(from), name);
      assert.ok(completed.text === expected.text, "it is what an import in one go gives");
      await next.close();
    }
  } finally {
    await running?.kill();
    profile.remove();
  }
});

/** Writes and crashes, time after time. `crash` ends the page in its way and gives a running browser back. */
async function crashes(t, crash) {
  const profile = scratch("profile");
  const begin = seed();
  const moments = random(begin);
  t.diagnostic(`seed ${begin}`);
  const start = () => launchToKill(profile.folder);
  let running;
  try {
    running = await start();
    const told = new Acknowledged();
    let seen = 0;
    for (let time = 1; time <= times; time += 1) {
      told.round();
      const page = await open(running);
      await page.exposeFunction("acknowledge", (text) => told.take(JSON.parse(text)));
      await page.evaluate(() => void write("crash"));
      await told.begun();
      await new Promise((resolve) => setTimeout(resolve, moments.between(20, 1500)));
      running = await crash({ running, page, start });
      // What is read from here on was told before the crash or in its midst; nobody writes any more.
      assert.deepEqual(told.failures, []);
      const reader = await open(running);
      const found = await reader.evaluate(() => read("crash"));
      await reader.close();
      const sum = check(found, told);
      t.diagnostic(
        `${time}: acknowledged ${told.inRound} messages this time, ${told.total} in all; found ${sum} ` +
          `(${sum - told.total} written but not yet acknowledged, or acknowledged unheard)`,
      );
      assert.ok(told.inRound > 0 && sum > seen, "something was written before the crash");
      seen = sum;
      told.catchUp(found);
    }
  } finally {
    await running?.kill();
    profile.remove();
  }
}

async function open(running) {
  const page = await running.context.newPage();
  await page.goto(server.address);
  await page.waitForSelector("html[data-loaded]", { state: "attached" });
  return page;
}

/** What the page was told is saved: for each stream how many of its messages. */
class Acknowledged {
  streams = new Map();
  failures = [];
  inRound = 0;
  #wake = [];

  round() {
    this.inRound = 0;
  }

  take({ stream, acknowledged, failed }) {
    if (failed !== undefined) this.failures.push(failed);
    else {
      const before = this.get(stream);
      this.streams.set(stream, Math.max(before, acknowledged));
      if (stream !== "sealed") this.inRound += Math.max(0, acknowledged - before);
    }
    if (this.inRound > 0 || failed !== undefined) for (const wake of this.#wake.splice(0)) wake();
  }

  /** Waits for the first acknowledgement of this round. */
  async begun() {
    if (this.inRound === 0) await new Promise((wake) => this.#wake.push(wake));
  }

  get(stream) {
    return this.streams.get(stream) ?? 0;
  }

  get total() {
    let sum = 0;
    for (const [stream, many] of this.streams) if (stream !== "sealed") sum += many;
    return sum;
  }

  /** What was read is known to be there, acknowledged or not, and must stay. */
  catchUp({ streams, turns }) {
    for (const [stream, { texts }] of Object.entries(streams)) this.streams.set(stream, texts.length);
    for (const turn of turns) this.streams.set(turn.id, turn.texts.length);
  }
}

/** Compares what is there with what was acknowledged; gives the number of messages. */
function check({ streams, turns, lint, stats, beginning }, told) {
  assert.equal(beginning, "existing", "the database was there and whole");
  let sum = 0;
  for (const [stream, { texts, count, seqs, roles }] of Object.entries(streams)) {
    assert.ok(texts.length >= told.get(stream), `${stream}: ${told.get(stream)} acknowledged, ${texts.length} found`);
    assert.equal(count, texts.length);
    assert.equal(seqs.length, texts.length);
    texts.forEach((text, at) => assert.equal(text, content(stream, at), `${stream}: message ${at} is not the one written`));
    roles.forEach((role, at) => assert.equal(role, at % 2 === 0 ? "user" : "assistant"));
    rising(seqs, stream);
    sum += texts.length;
  }
  let edge = 0;
  while (edge < streams.batch.texts.length) edge += batchSize(edge);
  assert.equal(edge, streams.batch.texts.length, "a batch is there as a whole or not at all");

  assert.ok(turns.length >= told.get("sealed"), `${told.get("sealed")} turns acknowledged, ${turns.length} found`);
  turns.forEach(({ id, sealed, texts }, at) => {
    assert.equal(id, `turn-${at}`);
    assert.ok(texts.length >= told.get(id), `${id}: ${told.get(id)} acknowledged, ${texts.length} found`);
    texts.forEach((text, index) => assert.equal(text, content(id, index)));
    if (at < told.get("sealed")) assert.ok(sealed, `${id} was acknowledged as sealed`);
    if (sealed) assert.equal(texts.length, turnSize(at) + 1);
    sum += texts.length;
  });
  for (const [stream, many] of told.streams)
    if (stream.startsWith("turn-") && many > 0)
      assert.ok(
        turns.some(({ id }) => id === stream),
        `${stream} is there`,
      );
  rising(
    turns.map(({ seq }) => seq),
    "turns",
  );

  assert.deepEqual(lint, [], "the linter has nothing to say");
  assert.equal(stats.messages, sum);
  return sum;
}

function rising(seqs, stream) {
  seqs.forEach((seq, at) => assert.ok(at === 0 || seq > seqs[at - 1], `${stream}: seq ${seq} follows ${seqs[at - 1]}`));
}
