// Agents of one mailbox in two processes that are killed, on each store that several processes may use.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { boxOf } from "./support/agents.mjs";
import { Threadkeep, texts } from "./support/expect.mjs";
import { startPostgres, startRedis } from "./support/servers.mjs";
import { openStore } from "./support/stores.mjs";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** Kills of each of the two processes; 10 each for the long form. */
const KILLS = Number(process.env.THREADKEEP_AGENT_KILLS ?? 3);
const WORKER = fileURLToPath(new URL("support/agent-worker.mjs", import.meta.url));
const [CONVERSATIONS, ROUNDS] = [10, 4];

/** What opens each store, and what removes it. */
const PLACES = {
  async SQLite() {
    const folder = await mkdtemp(join(tmpdir(), "threadkeep-agents-"));
    return { store: { kind: "sqlite", path: join(folder, "keep.db") }, close: () => rm(folder, { recursive: true, force: true }) };
  },
  async Redis() {
    const { url, close } = await startRedis();
    return { store: { kind: "redis", url }, close };
  },
  async PostgreSQL() {
    const { connectionString, close } = await startPostgres();
    return { store: { kind: "postgres", connectionString }, close };
  },
};

/** Lets a process work until all is answered, and kills it meanwhile; gives how often the model was asked, and how often it was killed. */
async function work(store, running) {
  let [asked, killed] = [0, 0];
  for (let round = 0; ; round += 1) {
    const child = spawn(process.execPath, [WORKER, JSON.stringify(store)]);
    running.add(child);
    let [out, errors] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (errors += data));
    // Not `exit`: what it wrote may come after that.
    const ended = new Promise((resolve) => child.on("close", resolve));
    if (round < KILLS) {
      while (!out.includes("asked") && child.exitCode === null && child.signalCode === null) await pause(5);
      await pause(Math.random() * 120);
      if (child.kill("SIGKILL")) killed += 1;
    }
    const code = await ended;
    running.delete(child);
    asked += out.split("asked").length - 1;
    if (code === 0) {
      assert.match(out, /done/);
      return { asked, killed };
    }
    assert.ok(code === null && round < KILLS, `the process ended with ${code}: ${errors}`);
  }
}

test("two processes that are killed again and again answer everything once, and in order", async (t) => {
  for (const [name, open] of Object.entries(PLACES)) await t.test(`on ${name}`, { timeout: 300_000 }, (context) => killed(context, open));
});

async function killed(context, open) {
  const { store, close } = await open();
  const running = new Set();
  let keep;
  try {
    keep = await Threadkeep.open({ storage: await openStore(store), encoding: "estimate" });
    for (let round = 0; round < ROUNDS; round += 1)
      for (let at = 0; at < CONVERSATIONS; at += 1)
        await keep.mailbox("ann").send({ to: "lal", content: `question ${round} of ${at}`, conversation: `c${at}` });
    const works = await Promise.all([work(store, running), work(store, running)]);
    const [asked, kills] = ["asked", "killed"].map((what) => works.reduce((sum, one) => sum + one[what], 0));
    const answers = (await boxOf(keep, "ann")).filter(({ from }) => from === "lal");
    assert.equal(answers.length, CONVERSATIONS * ROUNDS);
    assert.equal(new Set(answers.map(({ replyTo }) => replyTo)).size, answers.length, "nothing twice");
    for (let at = 0; at < CONVERSATIONS; at += 1) {
      const wanted = Array.from({ length: ROUNDS }, (_, round) => [`question ${round} of ${at}`, `answer to question ${round} of ${at}`]).flat();
      assert.deepEqual(texts(await keep.thread(`c${at}`).messages()), wanted);
    }
    assert.ok(kills > 0, "some were killed");
    context.diagnostic(`${answers.length} answers, the model was asked ${asked} times, ${kills} kills`);
  } finally {
    // After a failure the other one is still at work.
    for (const child of running) child.kill("SIGKILL");
    await keep?.close();
    await close();
  }
}
