// A random program of calls against a plain model, on every store that Node has. Pages run the same program on IndexedDB and OPFS
// (tests/e2e/random-stores.test.mjs).
//
// THREADKEEP_ACTS: how many calls on each store (120 without it); THREADKEEP_SEED: the randomness (printed); THREADKEEP_STORES: which, with commas;
// THREADKEEP_SKIP: calls that are left out, with commas.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, createAgent, mailText, memory } from "./support/expect.mjs";
import { fileStore } from "./support/filestore.mjs";
import { program } from "./support/random-program.mjs";
import { startPostgres, startRedis } from "./support/servers.mjs";
import { postgresStore, redisStore, sqliteStore } from "./support/stores.mjs";

const ACTS = Number(process.env.THREADKEEP_ACTS ?? 120);
const SEED = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);
const ONLY = process.env.THREADKEEP_STORES?.split(",");
const SKIP = process.env.THREADKEEP_SKIP?.split(",") ?? [];
const LIMIT = 60_000 + ACTS * 500;

const folder = mkdtempSync(join(tmpdir(), "threadkeep-random-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const on = (storage, more = {}) => Threadkeep.open({ storage, encoding: "estimate", ...more });

/** Each store: how it is opened, and how many may have it open at once. */
const STORES = {
  memory: async () => {
    // It is gone when it is closed: the program has it open once, and never anew.
    const keep = await memory({ encoding: "estimate" });
    const close = keep.close.bind(keep);
    keep.close = async () => {};
    return { open: async () => keep, mates: 1, end: close };
  },
  files: async () => ({ open: () => on(fileStore({ folder: join(folder, "one"), compactBytes: 200_000 })), mates: 1 }),
  "own store": async () => {
    const records = new Map();
    const pause = () => new Promise((resolve) => setImmediate(resolve));
    return { open: () => on(mapAdapter({ records, pause }), { name: "random-own" }), mates: 3 };
  },
  SQLite: async () => ({ open: async () => on(await sqliteStore({ path: join(folder, "random.db") })), mates: 2 }),
  Redis: async () => {
    const server = await startRedis({ settings: ["--appendfsync", "no"] });
    return { open: async () => on(await redisStore({ url: server.url })), mates: 2, end: () => server.close() };
  },
  PostgreSQL: async () => {
    const server = await startPostgres({ settings: { fsync: "off" } });
    return { open: async () => on(await postgresStore({ connectionString: server.connectionString })), mates: 2, end: () => server.close() };
  },
};

for (const [name, prepare] of Object.entries(STORES)) {
  test(`${ACTS} random calls on ${name} give what a plain model gives`, { timeout: LIMIT, skip: ONLY !== undefined && !ONLY.includes(name) }, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const { open, mates, end } = await prepare();
    try {
      const counts = await program({
        package: { createAgent, mailText },
        open,
        fresh: () => memory({ encoding: "estimate" }),
        mates,
        skip: SKIP,
        seed: SEED,
        acts: ACTS,
        progress: (act) => process.env.THREADKEEP_PROGRESS && console.error(name, act),
      });
      t.diagnostic(JSON.stringify(counts));
    } finally {
      await end?.();
    }
  });
}
