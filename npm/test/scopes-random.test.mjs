// Random calls in several scopes of one store at once, on every store that Node has: nothing of one scope reaches another, and nothing is left
// of a scope that was deleted. Pages do the same on IndexedDB and OPFS (tests/e2e/random-stores.test.mjs).
//
// THREADKEEP_ACTS: how many calls in each scope (60 without it); THREADKEEP_SEED: the randomness (printed); THREADKEEP_STORES: which, with commas.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { createClient } from "redis";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, createAgent, mailText, memory } from "./support/expect.mjs";
import { fileStore } from "./support/filestore.mjs";
import { scopedProgram } from "./support/scoped-program.mjs";
import { startPostgres, startRedis } from "./support/servers.mjs";
import { postgresStore, redisStore, sqliteStore } from "./support/stores.mjs";
import { memoryTools } from "./support/tools.mjs";

const ACTS = Number(process.env.THREADKEEP_ACTS ?? 60);
const SEED = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);
const ONLY = process.env.THREADKEEP_STORES?.split(",");
const LIMIT = 90_000 + ACTS * 2_000;

const folder = mkdtempSync(join(tmpdir(), "threadkeep-scopes-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Each store: an adapter for each keep, or one for all of them. */
const STORES = {
  "own store": async () => {
    const adapter = mapAdapter({ pause: () => new Promise((resolve) => setImmediate(resolve)) });
    return { storage: () => adapter };
  },
  files: async () => ({ storage: () => fileStore({ folder: join(folder, "one"), compactBytes: 200_000 }) }),
  SQLite: async () => ({ storage: () => sqliteStore({ path: join(folder, "random.db") }) }),
  Redis: async () => {
    const server = await startRedis({ settings: ["--appendfsync", "no"] });
    return { storage: () => redisStore({ url: server.url }), raw: () => redisRecords(server), end: () => server.close() };
  },
  PostgreSQL: async () => {
    const server = await startPostgres({ settings: { fsync: "off" } });
    return { storage: () => postgresStore({ connectionString: server.connectionString }), raw: () => postgresRecords(server), end: () => server.close() };
  },
};

/** A record of a store that has scopes of its own, as it would be with a prefix. */
const line = (scope, key, value) => `${scope === "" ? "" : `@${scope.replace("/", "%2f").replace("ü", "%c3%bc")}/`}${key} ${value}`;

/** All that a server has, the names of scopes too. */
async function redisRecords({ url }) {
  const client = await createClient({ url }).connect();
  const found = [];
  for (const key of await client.keys("*")) {
    const scope = decodeURIComponent(/^\{threadkeep\/(.*)\}@/.exec(key)?.[1] ?? "");
    const type = await client.type(key);
    if (key.endsWith("@scopes")) for (const name of await client.sMembers(key)) found.push(line(name, "its name", ""));
    else if (type === "hash") for (const [name, value] of Object.entries(await client.hGetAll(key))) found.push(line(scope, name, value));
    else for (const name of await client.zRange(key, 0, -1)) found.push(line(scope, name, ""));
  }
  client.destroy();
  return found;
}

async function postgresRecords({ connectionString }) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(
    "SELECT scope, key, encode(data, 'escape') AS value FROM threadkeep.records UNION ALL SELECT scope, 'a token', '' FROM threadkeep.commits",
  );
  await client.end();
  return rows.map(({ scope, key, value }) => line(scope, key, value));
}

for (const [name, prepare] of Object.entries(STORES)) {
  const options = { timeout: LIMIT, skip: ONLY !== undefined && !ONLY.includes(name) };
  test(`${ACTS} random calls in each of three scopes on ${name}: nothing of one in another`, options, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const { storage, raw, end } = await prepare();
    const whole = await storage();
    await whole.open?.();
    const open = async (scope) =>
      Threadkeep.open({ storage: await storage(), name: "scopes-random", encoding: "estimate", ...(scope === undefined ? {} : { scope }) });
    try {
      const counts = await scopedProgram({
        package: { Threadkeep, createAgent, mailText, memoryTools },
        open,
        raw:
          raw ??
          (async () => {
            const found = await whole.scan({ start: "", end: "\x7f", reverse: false });
            return found.map(([key, value]) => `${key} ${Buffer.from(value).toString("latin1")}`);
          }),
        storage: { storage: whole, name: "scopes-random" },
        fresh: () => memory({ encoding: "estimate" }),
        mates: 2,
        seed: SEED,
        acts: ACTS,
      });
      t.diagnostic(JSON.stringify(counts));
    } finally {
      await whole.close();
      await end?.();
    }
  });
}
