// The stores on databases and servers, each beside its raw client doing the same durable work, in one run: `cargo xtask bench
// stores`, or `node stores.mjs` with THREADKEEP_TARBALL naming the packed package. Prints medians with the targets, and a `BENCH`
// line a row for xtask.
//
// The same durable work: the raw client writes the same messages, as many in a transaction, synced as our commit is: a row a
// message in SQLite and PostgreSQL, with a running number and an index on the conversation as in anybody's table of
// messages; a push to a list in Redis, as seed programs do it. Loading is 1,000 messages of one conversation, parsed: ours from a keep
// that was opened for it, so that nothing comes from its memory. ROUNDS is the number of rounds, which are interleaved.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { installed } from "../../npm/test/support/installed.mjs";
import { startPostgres, startRedis } from "../../npm/test/support/servers.mjs";

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

const WORDS = "the agent reads each file before it decides what to change because tests fail where parsing of dates goes wrong".split(" ");
/** Messages as people and models write them: 20 to 150 words. */
function messages(count, salt) {
  return Array.from({ length: count }, (_, index) => {
    const length = 20 + ((index * 37 + salt * 11) % 130);
    const content = Array.from({ length }, (_, at) => WORDS[(at * 7 + index + salt) % WORDS.length]).join(" ");
    return { role: index % 2 === 0 ? "user" : "assistant", content };
  });
}

const median = (figures) => {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** The package as a user has it, with its peers. */
async function loaded() {
  const load = (name) => import(pathToFileURL(join(installed, "dist", name)).href);
  return { ...(await load("index.js")), ...(await load("stores/sqlite.js")), ...(await load("stores/redis.js")), ...(await load("stores/postgres.js")) };
}

/** A keep over a store, and what opens another handle onto the same place. */
async function ours(Threadkeep, open) {
  const keep = await Threadkeep.open({ storage: await open() });
  return {
    append: (conversation, batch) => keep.append(conversation, batch),
    async load(conversation) {
      const fresh = await Threadkeep.open({ storage: await open() });
      const start = performance.now();
      const found = await fresh.getAll(conversation);
      const time = performance.now() - start;
      await fresh.close();
      return { found, time };
    },
    close: () => keep.close(),
  };
}

const timed = async (work) => {
  const start = performance.now();
  const found = await work();
  return { found, time: performance.now() - start };
};

function rawSqlite(path) {
  const database = new Database(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL, UNIQUE (conversation, number))`);
  const last = database.prepare("SELECT coalesce(max(number), -1) AS number FROM messages WHERE conversation = ?");
  const insert = database.prepare("INSERT INTO messages (conversation, number, message) VALUES (?, ?, ?)");
  const all = database.prepare("SELECT message FROM messages WHERE conversation = ? ORDER BY number");
  const write = database.transaction((conversation, batch) => {
    let { number } = last.get(conversation);
    for (const message of batch) insert.run(conversation, (number += 1), JSON.stringify(message));
  });
  return {
    append: async (conversation, batch) => write.immediate(conversation, batch),
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
    append: (conversation, batch) => client.rPush(`raw:${conversation}`, batch.map((message) => JSON.stringify(message))),
    load: (conversation) => timed(async () => (await client.lRange(`raw:${conversation}`, 0, -1)).map((message) => JSON.parse(message))),
    close: async () => client.destroy(),
  };
}

async function rawPostgres(connectionString) {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  await client.connect();
  await client.query("CREATE TABLE public.raw_messages (id bigserial PRIMARY KEY, conversation text NOT NULL, number integer NOT NULL, message jsonb NOT NULL, UNIQUE (conversation, number))");
  const text = `INSERT INTO public.raw_messages (conversation, number, message)
    SELECT $1, (SELECT coalesce(max(number), -1) FROM public.raw_messages WHERE conversation = $1) + position, message::jsonb
    FROM unnest($2::text[]) WITH ORDINALITY AS given (message, position)`;
  return {
    append: (conversation, batch) => client.query({ name: "append", text, values: [conversation, batch.map((message) => JSON.stringify(message))] }),
    load: (conversation) =>
      timed(async () => (await client.query({ name: "load", text: "SELECT message FROM public.raw_messages WHERE conversation = $1 ORDER BY number", values: [conversation] })).rows.map(({ message }) => message)),
    close: () => client.end(),
  };
}

const folder = mkdtempSync(join(tmpdir(), "threadkeep-bench-"));
const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
const rows = [];
try {
  const { Threadkeep, postgresStore, redisStore, sqliteStore } = await loaded();
  const stores = [
    ["SQLite", await ours(Threadkeep, () => sqliteStore({ path: join(folder, "ours.db") })), rawSqlite(join(folder, "raw.db"))],
    ["Redis", await ours(Threadkeep, () => redisStore({ url: redis.url })), await rawRedis(redis.url)],
    ["PostgreSQL", await ours(Threadkeep, () => postgresStore({ connectionString: postgres.connectionString })), await rawPostgres(postgres.connectionString)],
  ];
  const times = new Map();
  const note = (name, time) => times.set(name, [...(times.get(name) ?? []), time]);
  for (let round = -1; round < ROUNDS; round += 1) {
    // The first round is for the machines to get warm.
    const keepIt = round < 0 ? () => {} : note;
    for (const [name, keep, raw] of round % 2 === 0 ? stores : [...stores].reverse())
      for (const [who, place] of round % 2 === 0 ? [["ours", keep], ["raw", raw]] : [["raw", raw], ["ours", keep]]) {
        const batches = Array.from({ length: BATCHES }, (_, index) => messages(HUNDRED, round * BATCHES + index));
        const batched = await timed(async () => {
          for (const batch of batches) await place.append(`batches ${round}`, batch);
        });
        keepIt(`${name} batched ${who}`, batched.time / (BATCHES * HUNDRED));
        const single = await timed(async () => {
          for (const message of messages(SINGLES, round)) await place.append(`singles ${round}`, [message]);
        });
        keepIt(`${name} single ${who}`, single.time / SINGLES);
        if (round < 0) for (let at = 0; at < LOADED; at += HUNDRED) await place.append("loaded", messages(HUNDRED, at));
        const loaded = await place.load("loaded");
        if (loaded.found.length !== LOADED) throw new Error(`${name}, ${who}: ${loaded.found.length} messages were loaded`);
        keepIt(`${name} load ${who}`, loaded.time);
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
      const [own, raw] = [a(`${name} ${kind} ours`), a(`${name} ${kind} raw`)];
      const ratio = own / raw;
      const measured = kind !== "single";
      const verdict = !measured ? "" : ratio <= TARGET ? "pass" : "missed";
      rows.push([`${name}, ${what}: ours`, `${say(own)}, ${ratio.toFixed(2)} × the raw client's time`, measured ? `≤ ${TARGET} ×` : "", verdict]);
      rows.push([`… raw client`, say(raw), "", ""]);
    }
  for (const [, keep, raw] of stores) await Promise.all([keep.close(), raw.close()]);
} finally {
  await Promise.all([redis.close(), postgres.close()]);
  rmSync(folder, { recursive: true, force: true });
}
for (const row of rows) console.log(["BENCH", ...row].join("\t"));
