// Two processes append to one transcript at once, while they are killed, their connections cut and their server crashed:
// nothing is lost, nothing doubled, and the log has no gap. THREADKEEP_PROCESS_MESSAGES says how many messages each appends.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createClient } from "redis";
import { Threadkeep } from "./support/expect.mjs";
import { PASSWORD, startPostgres, startRedis } from "./support/servers.mjs";
import { openStore } from "./support/stores.mjs";

const MESSAGES = Number(process.env.THREADKEEP_PROCESS_MESSAGES ?? 300);
const WRITERS = ["ada", "bob"];
const WRITER = fileURLToPath(new URL("./support/writer.mjs", import.meta.url));
const KILLS = 4;
const TIMEOUT = 120_000 + MESSAGES * 100;

/** One process's work, with kills; each trouble of `troubles` happens when it has got that far. It begins when `ready` resolves. */
async function writes(store, who, troubles, ready, signal) {
  const waiting = [...troubles];
  const tally = { starts: 0, commits: 0, conflicts: 0, happened: [] };
  for (;;) {
    tally.starts += 1;
    assert.ok(tally.starts < KILLS + 3, `${who} is started again and again`);
    const child = spawn(process.execPath, [WRITER, JSON.stringify({ store, who, messages: MESSAGES })], { stdio: ["pipe", "pipe", "inherit"], signal });
    child.on("error", () => {});
    // One that is killed does not listen.
    child.stdin.on("error", () => {});
    const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, by: signal })));
    let done = false;
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        const said = JSON.parse(line);
        if (said.at === 0) void ready().then(() => child.stdin.end("go\n"));
        if (said.done) {
          done = true;
          tally.commits += said.commits;
          tally.conflicts += said.conflicts;
        }
        while (waiting.length > 0 && said.at >= waiting[0].at) {
          const { what, cause } = waiting.shift();
          tally.happened.push(what);
          // Not waited for: it shall fall into the middle of what the processes do.
          if (what === "kill") child.kill("SIGKILL");
          else cause();
        }
      }
    } finally {
      child.kill("SIGKILL");
    }
    const { code, by } = await ended;
    if (done) break;
    assert.equal(by, "SIGKILL", `${who} ended by itself with ${code}`);
  }
  assert.equal(waiting.length, 0, "all troubles have happened");
  return tally;
}

/** The tale: `cut` cuts connections, `crash` crashes the server and starts it again; without them there are only kills. */
async function together(context, store, { cut, crash } = {}) {
  const broken = [];
  const trouble = (cause) => () => broken.push(cause());
  const plan = (shift) => {
    const at = (share) => Math.floor(MESSAGES * (share + shift));
    const kills = Array.from({ length: KILLS }, (_, index) => ({ at: at(0.15 + index * 0.2), what: "kill" }));
    const cuts = cut ? [0.1, 0.3, 0.5, 0.7].map((share) => ({ at: at(share), what: "cut", cause: trouble(cut) })) : [];
    const crashes = crash && shift === 0 ? [0.4, 0.6].map((share) => ({ at: at(share), what: "crash", cause: trouble(crash) })) : [];
    return [...kills, ...cuts, ...crashes].sort((a, b) => a.at - b.at);
  };
  const start = performance.now();
  const ended = new AbortController();
  let missing = WRITERS.length;
  let begin;
  const both = new Promise((resolve) => (begin = resolve));
  const ready = async () => {
    missing -= 1;
    if (missing === 0) begin();
    await both;
  };
  const work = WRITERS.map((who, index) => writes(store, who, plan(index * 0.05), ready, ended.signal));
  const tallies = await Promise.all(work).finally(() => ended.abort());
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(broken);

  const storage = await openStore({ ...store, ...(store.kind === "sqlite" ? {} : { onWarning: () => {} }) });
  const keep = await Threadkeep.open({ storage });
  const all = await keep.thread("main").messages();
  for (const who of WRITERS)
    assert.deepEqual(
      all.filter(({ name }) => name === who).map(({ content }) => content),
      Array.from({ length: MESSAGES }, (_, number) => `${number} of ${who}`),
      `the messages of ${who}, each once and in order`,
    );
  assert.equal(all.length, WRITERS.length * MESSAGES);
  assert.equal((await keep.transcripts()).length, 1);
  assert.deepEqual(await keep.lint(), []);
  const numbers = (await keep.chain((await keep.thread("main").head()).id)).map(({ seq }) => seq);
  assert.ok(
    numbers.every((seq, index) => index === 0 || seq > numbers[index - 1]),
    "numbers go up along the chain",
  );
  // The log itself: where one page ends, the next begins. Numbers that are no node's are those of moves of the head.
  let next = 0;
  for (const [key, value] of await storage.scan({ start: "p/", end: "p0", reverse: false })) {
    if (/\/z[0-9a-f]+$/.test(key)) continue;
    assert.equal(Number.parseInt(key.slice(-16), 16), next, `a gap before ${key}`);
    next += new TextDecoder().decode(value).split("\n").length - 1;
  }
  assert.ok(next >= numbers.at(-1) + 1);
  // Both have been in each other's way, or this has tested nothing.
  const mixed = all.filter(({ name }, index) => index > 0 && name !== all[index - 1].name).length;
  assert.ok(mixed > KILLS, `${mixed} changes of the writer`);
  await keep.close();
  const figures = tallies.map(({ starts, commits, conflicts, happened }, index) => {
    const count = (what) => happened.filter((it) => it === what).length;
    return `${WRITERS[index]}: ${starts - 1} kills, ${count("cut")} cuts, ${count("crash")} crashes, ${conflicts} conflicts in the last ${commits} commits`;
  });
  context.diagnostic(`${2 * MESSAGES} messages in ${seconds.toFixed(1)} s, ${mixed} changes of the writer; ${figures.join("; ")}`);
}

test("SQLite: two processes on one file", { timeout: TIMEOUT }, async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "threadkeep-sqlite-"));
  try {
    await together(context, { kind: "sqlite", path: join(folder, "keep.db") });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("Redis: two processes on one server that crashes", { timeout: TIMEOUT }, async (context) => {
  const server = await startRedis();
  const cut = async () => {
    const client = createClient({ url: server.url, socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    // A server that has just crashed cuts by itself.
    await client
      .connect()
      .then(() => client.sendCommand(["CLIENT", "KILL", "TYPE", "normal"]))
      .catch(() => {});
    client.destroy();
  };
  const crash = async () => {
    await server.crash();
    await server.start();
  };
  try {
    await together(context, { kind: "redis", url: server.url }, { cut, crash });
  } finally {
    await server.close();
  }
});

test("PostgreSQL: two processes on one server that crashes", { timeout: TIMEOUT }, async (context) => {
  const server = await startPostgres();
  const cut = async () => {
    const client = new pg.Client({ connectionString: server.connectionString, password: PASSWORD });
    client.on("error", () => {});
    const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    await client
      .connect()
      .then(() => client.query(kill))
      .catch(() => {});
    await client.end().catch(() => {});
  };
  const crash = async () => {
    await server.crash();
    await server.start();
  };
  try {
    await together(context, { kind: "postgres", connectionString: server.connectionString }, { cut, crash });
  } finally {
    await server.close();
  }
});
