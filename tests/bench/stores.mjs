// The stores on databases and servers, each beside its raw client doing the same durable work, in one run: `cargo xtask bench
// stores`, or `node stores.mjs` with THREADKEEP_TARBALL naming the packed package. Prints medians with the targets, and a `BENCH`
// line a row for xtask.
//
// The same durable work: the raw client writes the same messages, as many in a transaction, synced as our commit is: a row a
// message in SQLite and PostgreSQL, with a running number and an index on the conversation as in anybody's table of
// messages; a push to a list in Redis, as seed programs do it. Loading is 1,000 messages of one conversation, parsed by the raw client.
//
// Beside it are two of ours. The store alone carries out the very commits and readings that a keep makes of these messages, which is the
// same durable work, and has the target. The whole keep does what no raw client does besides: it reads and checks messages, keeps the tree,
// its turns and heads, and answers with nodes. It loads twice: from a keep that was opened for it, so that nothing comes from its
// memory, and from the keep that has been open all the while, as programs have it. ROUNDS is the number of rounds, which are interleaved.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { installed } from "../../npm/test/support/installed.mjs";
import { startPostgres, startRedis } from "../../npm/test/support/servers.mjs";
import { median, messages } from "./lib/messages.mjs";
import { plainTable } from "./lib/table.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 15);
/** Batches of a hundred in a round, and single messages. */
const BATCHES = 5;
const SINGLES = 30;
const HUNDRED = 100;
const LOADED = 1_000;
/** Ours may take twice as long as the raw client. */
const TARGET = 2;

const npm = join(dirname(fileURLToPath(import.meta.url)), "../../npm");
const require = createRequire(join(npm, "package.json"));
const Database = require("better-sqlite3");
const { createClient } = require("redis");
const pg = require("pg");

/** The package as a user has it, with its peers. */
async function loaded() {
  const load = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
  return { ...(await load("index.js")), ...(await load("stores/sqlite.js")), ...(await load("stores/redis.js")), ...(await load("stores/postgres.js")) };
}

/** A store whose commits and readings are noted in `made`. */
function noted(store, made) {
  const note = (method) => (asked) => {
    made.push([method, asked]);
    return store[method](asked);
  };
  return { get: note("get"), scan: note("scan"), commit: note("commit"), close: () => store.close() };
}

/** A keep over a store (`open` gives another handle onto the same place), and the same place by itself, in which the keep's commits happen again. */
async function ours(Threadkeep, open) {
  const made = [];
  const keep = await Threadkeep.open({ storage: noted(await open("ours"), made) });
  const alone = await open("alone");
  const again = async (methods, calls) => {
    await settled();
    const start = performance.now();
    for (const [name, asked] of calls) if (methods.includes(name)) await alone[name](asked);
    return performance.now() - start;
  };
  return {
    keep: {
      append: (conversation, batch) => keep.thread(conversation).append(batch),
      async load(conversation) {
        const fresh = await Threadkeep.open({ storage: noted(await open("ours"), made) });
        made.length = 0;
        const loaded = await timed(() => fresh.thread(conversation).messages());
        await fresh.close();
        return loaded;
      },
      loadAgain: (conversation) => timed(() => keep.thread(conversation).messages()),
    },
    /** How long the store alone takes for the commits since the last call, or for the readings of the last load. */
    commits: () => again(["commit"], made.splice(0)),
    scans: () => again(["get", "scan"], made.splice(0)),
    close: () => Promise.all([keep.close(), alone.close()]),
  };
}

/** Waits until what was before is over, such as connections that close: it would be counted to what comes. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

const timed = async (work) => {
  await settled();
  const start = performance.now();
  const found = await work();
  return { found, time: performance.now() - start };
};

function rawSqlite(path) {
  const { database, append } = plainTable(Database, path);
  const all = database.prepare("SELECT message FROM messages WHERE conversation = ? ORDER BY number");
  return {
    append: async (conversation, batch) => append(conversation, batch),
    load: (conversation) => timed(async () => all.all(conversation).map(({ message }) => JSON.parse(message))),
    close: async () => database.close(),
  };
}

async function rawRedis(url) {
  const client = createClient({ url });
  // What goes wrong, the command that was under way says.
  client.on("error", () => {});
  await client.connect();
  return {
    append: (conversation, batch) =>
      client.rPush(
        `raw:${conversation}`,
        batch.map((message) => JSON.stringify(message)),
      ),
    load: (conversation) => timed(async () => (await client.lRange(`raw:${conversation}`, 0, -1)).map((message) => JSON.parse(message))),
    close: async () => client.destroy(),
  };
}

async function rawPostgres(connectionString) {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  await client.connect();
  await client.query(
    "CREATE TABLE public.raw_messages (id bigserial PRIMARY KEY, conversation text NOT NULL, number integer NOT NULL, message jsonb NOT NULL, UNIQUE (conversation, number))",
  );
  const text = `INSERT INTO public.raw_messages (conversation, number, message)
    SELECT $1, (SELECT coalesce(max(number), -1) FROM public.raw_messages WHERE conversation = $1) + position, message::jsonb
    FROM unnest($2::text[]) WITH ORDINALITY AS given (message, position)`;
  return {
    append: (conversation, batch) => client.query({ name: "append", text, values: [conversation, batch.map((message) => JSON.stringify(message))] }),
    load: (conversation) =>
      timed(async () =>
        (
          await client.query({ name: "load", text: "SELECT message FROM public.raw_messages WHERE conversation = $1 ORDER BY number", values: [conversation] })
        ).rows.map(({ message }) => message),
      ),
    close: () => client.end(),
  };
}

const folder = mkdtempSync(join(tmpdir(), "threadkeep-bench-"));
const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
const rows = [];
try {
  const { Threadkeep, postgresStore, redisStore, sqliteStore } = await loaded();
  const stores = [
    ["SQLite", await ours(Threadkeep, (name) => sqliteStore({ path: join(folder, `${name}.db`) })), rawSqlite(join(folder, "raw.db"))],
    ["Redis", await ours(Threadkeep, (prefix) => redisStore({ url: redis.url, prefix })), await rawRedis(redis.url)],
    [
      "PostgreSQL",
      await ours(Threadkeep, (schema) => postgresStore({ connectionString: postgres.connectionString, schema })),
      await rawPostgres(postgres.connectionString),
    ],
  ];
  const times = new Map();
  const note = (name, time) => times.set(name, [...(times.get(name) ?? []), time]);
  for (let round = -1; round < ROUNDS; round += 1) {
    // The first round is for the machines to get warm.
    const keepIt = round < 0 ? () => {} : note;
    for (const [name, own, raw] of round % 2 === 0 ? stores : [...stores].reverse())
      for (const [who, place] of round % 2 === 0
        ? [
            ["keep", own.keep],
            ["raw", raw],
          ]
        : [
            ["raw", raw],
            ["keep", own.keep],
          ]) {
        const alone = who === "keep" ? own : undefined;
        const batches = Array.from({ length: BATCHES }, (_, index) => messages(HUNDRED, round * BATCHES + index));
        const batched = await timed(async () => {
          for (const batch of batches) await place.append(`batches ${round}`, batch);
        });
        keepIt(`${name} batched ${who}`, batched.time / (BATCHES * HUNDRED));
        if (alone) keepIt(`${name} batched alone`, (await alone.commits()) / (BATCHES * HUNDRED));
        const single = await timed(async () => {
          for (const message of messages(SINGLES, round)) await place.append(`singles ${round}`, [message]);
        });
        keepIt(`${name} single ${who}`, single.time / SINGLES);
        if (alone) keepIt(`${name} single alone`, (await alone.commits()) / SINGLES);
        if (round < 0) for (let at = 0; at < LOADED; at += HUNDRED) await place.append("loaded", messages(HUNDRED, at));
        if (alone && round < 0) await alone.commits();
        const loaded = await place.load("loaded");
        if (loaded.found.length !== LOADED) throw new Error(`${name}, ${who}: ${loaded.found.length} messages were loaded`);
        keepIt(`${name} load ${who}`, loaded.time);
        if (!alone) continue;
        keepIt(`${name} load alone`, await alone.scans());
        keepIt(`${name} load again`, (await place.loadAgain("loaded")).time);
      }
  }
  const a = (name) => median(times.get(name));
  const perSecond = (time) => `${Math.round(1_000 / time).toLocaleString("en-US")}/s`;
  const milliseconds = (time) => `${time.toFixed(1)} ms`;
  for (const [name] of stores)
    for (const [what, kind, say] of [
      ["append 100 a commit", "batched", perSecond],
      ["append 1 a commit", "single", perSecond],
      ["load 1,000", "load", milliseconds],
    ]) {
      const [alone, keep, raw] = ["alone", "keep", "raw"].map((who) => a(`${name} ${kind} ${who}`));
      const measured = kind !== "single";
      const verdict = !measured ? "" : alone / raw <= TARGET ? "pass" : "missed";
      rows.push([
        `${name}, ${what}: the store`,
        `${say(alone)}, ${(alone / raw).toFixed(2)} × the raw client's time`,
        measured ? `≤ ${TARGET} ×` : "",
        verdict,
      ]);
      rows.push(["… the whole keep", `${say(keep)}, ${(keep / raw).toFixed(2)} ×`, "", ""]);
      if (kind === "load") {
        const again = a(`${name} load again`);
        rows.push(["… the whole keep, open before", `${say(again)}, ${(again / raw).toFixed(2)} ×`, "", ""]);
      }
      rows.push(["… raw client", say(raw), "", ""]);
    }
  for (const [, own, raw] of stores) await Promise.all([own.close(), raw.close()]);
} finally {
  await Promise.all([redis.close(), postgres.close()]);
  rmSync(folder, { recursive: true, force: true });
}
for (const row of rows) console.log(["BENCH", ...row].join("\t"));
