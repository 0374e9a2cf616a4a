// A server with 50 conversations at once, on SQLite: `cargo xtask bench server`, or `node server.mjs` with THREADKEEP_TARBALL naming the
// packed package. Prints medians of the rounds, which are interleaved, with the targets, and a `BENCH` line a row for xtask.
//
// A request is what a chat server does with one: it stores what the user says, reads the newest messages for the prompt, and stores the
// answer. Each conversation makes one request after the other. Beside the keep does so better-sqlite3 on a plain table of messages with
// an index on the conversation, as in anybody's server, with the same durability: each commit is on the disk before it is answered.
// Then the same with `context`, which counts, fits and renders the prompt besides; there is nothing like it to compare it with.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { installed } from "../../npm/test/support/installed.mjs";
import { plainTable } from "./lib/table.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const CONVERSATIONS = 50;
/** Requests of each conversation in a round. */
const REQUESTS = 10;
/** So many messages each conversation has before, and so many of the newest are read. */
const BEFORE = 100;
const NEWEST = 20;
/** Ours may take so much longer, and carry out so much less. */
const SLOWER = 1.5;
const FEWER = 0.8;

const npm = join(dirname(fileURLToPath(import.meta.url)), "../../npm");
const Database = createRequire(join(npm, "package.json"))("better-sqlite3");
const load = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
const [{ Threadkeep }, { sqliteStore }] = [await load("index.js"), await load("stores/sqlite.js")];

const WORDS = "the agent reads each file before it decides what to change because tests fail where parsing of dates goes wrong".split(" ");
const text = (at) => Array.from({ length: 20 + ((at * 37) % 130) }, (_, word) => WORDS[(word * 7 + at) % WORDS.length]).join(" ");
const question = (at) => ({ role: "user", content: text(at) });
const answer = (at) => ({ role: "assistant", content: text(at + 1) });

/** A keep as such a server. */
async function ours(path) {
  const keep = await Threadkeep.open({ storage: await sqliteStore({ path }), encoding: "estimate" });
  const request = (read) => async (conversation, at) => {
    await keep.thread(conversation).append([question(at)]);
    const found = await read(conversation);
    await keep.thread(conversation).append([answer(at)]);
    return found;
  };
  return {
    fill: (conversation) => keep.thread(conversation).append(Array.from({ length: BEFORE }, (_, at) => (at % 2 ? answer(at) : question(at)))),
    request: request(async (conversation) => (await keep.thread(conversation).recent({ maxMessages: NEWEST })).length),
    context: request(async (conversation) => (await keep.thread(conversation).context({ budget: { maxMessages: NEWEST } })).messages.length),
    count: (conversation) => keep.thread(conversation).count(),
    close: () => keep.close(),
  };
}

/** A plain table as such a server. */
function plain(path) {
  const { database, append } = plainTable(Database, path);
  const newest = database.prepare("SELECT message FROM messages WHERE conversation = ? ORDER BY number DESC LIMIT ?");
  const count = database.prepare("SELECT count(*) AS count FROM messages WHERE conversation = ?");
  return {
    fill: async (conversation) =>
      append(
        conversation,
        Array.from({ length: BEFORE }, (_, at) => (at % 2 ? answer(at) : question(at))),
      ),
    // Each step is awaited, as with any interface of a store: others have their turn in between.
    request: async (conversation, at) => {
      append(conversation, [question(at)]);
      await turn();
      const found = newest
        .all(conversation, NEWEST)
        .map(({ message }) => JSON.parse(message))
        .reverse();
      await turn();
      append(conversation, [answer(at)]);
      return found.length;
    },
    count: async (conversation) => count.get(conversation).count,
    close: async () => database.close(),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const quantile = (figures, share) => [...figures].sort((a, b) => a - b)[Math.min(figures.length - 1, Math.floor(figures.length * share))];
const median = (figures) => quantile(figures, 0.5);

/** All conversations at once; gives how long requests took, in milliseconds, and how many there were in a second. */
async function round(request, number) {
  const taken = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CONVERSATIONS }, async (_, conversation) => {
      for (let at = 0; at < REQUESTS; at += 1) {
        // A request has come as soon as the one before was answered, whether anybody looks at it or not.
        const began = performance.now();
        await turn();
        const found = await request(`c${conversation}`, number * REQUESTS + at);
        if (found !== NEWEST) throw new Error(`${found} messages were read`);
        taken.push(performance.now() - began);
      }
    }),
  );
  return { p50: quantile(taken, 0.5), p99: quantile(taken, 0.99), rate: (taken.length * 1_000) / (performance.now() - started) };
}

const folder = mkdtempSync(join(process.env.THREADKEEP_BENCH_PROFILE ?? tmpdir(), "threadkeep-bench-server-"));
try {
  const [keep, raw] = [await ours(join(folder, "ours.db")), plain(join(folder, "raw.db"))];
  for (let at = 0; at < CONVERSATIONS; at += 1) await Promise.all([keep.fill(`c${at}`), raw.fill(`c${at}`)]);
  const found = { keep: [], raw: [], context: [] };
  for (let number = -1; number < ROUNDS; number += 1) {
    const order = [
      ["keep", keep.request],
      ["raw", raw.request],
      ["context", keep.context],
    ];
    for (const [name, request] of number % 2 === 0 ? order : order.reverse()) {
      const figures = await round(request, number + 1);
      // The first round is for warming up.
      if (number >= 0) found[name].push(figures);
    }
  }
  const all = BEFORE + 2 * REQUESTS * (ROUNDS + 1);
  if ((await raw.count("c7")) !== all || (await keep.count("c7")) !== all + all - BEFORE) throw new Error("messages are missing");
  await Promise.all([keep.close(), raw.close()]);
  const of = (name, figure) => median(found[name].map((one) => one[figure]));
  const rows = [];
  for (const [figure, words, good] of [
    ["p50", `≤ ${SLOWER} ×`, (ratio) => ratio <= SLOWER],
    ["p99", `≤ ${SLOWER} ×`, (ratio) => ratio <= SLOWER],
    ["rate", `≥ ${FEWER} ×`, (ratio) => ratio >= FEWER],
  ]) {
    const say = (value) => (figure === "rate" ? `${Math.round(value)} requests/s` : `${value.toFixed(1)} ms`);
    const ratio = of("keep", figure) / of("raw", figure);
    rows.push([
      `SQLite, ${CONVERSATIONS} conversations at once, ${figure}`,
      `${say(of("keep", figure))}, ${ratio.toFixed(2)} × the plain table's`,
      words,
      good(ratio) ? "pass" : "missed",
    ]);
    rows.push(["… plain table", say(of("raw", figure)), "", ""]);
    rows.push(["… with context() instead of getRecent()", say(of("context", figure)), "", ""]);
  }
  for (const row of rows) console.log(["BENCH", ...row].join("\t"));
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
