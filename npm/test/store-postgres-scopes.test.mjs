// Scopes in PostgreSQL: a column, partitions, row security, and the migration of the layout that had none.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import pg from "pg";
import { Threadkeep, many, rejects, texts, user } from "./support/expect.mjs";
import { PASSWORD, startPostgres } from "./support/servers.mjs";
import { bytes, change, contract, listed, postgresSetup, postgresStore, skew } from "./support/stores.mjs";

const LAYOUT_1 = readFileSync(new URL("fixtures/postgres-layout-1.sql", import.meta.url), "utf8");

let server;
let admin;
let schemas = 0;
before(async () => {
  server = await startPostgres();
  admin = new pg.Pool({ connectionString: server.connectionString, max: 2 });
  admin.on("error", () => {});
});
after(async () => {
  await admin?.end();
  await server?.close();
});

const sql = async (text, values) => (await admin.query(text, values)).rows;
const all = { start: "", end: "~", reverse: false };
const said = async (store, key) => {
  const value = await store.get(key);
  return value === undefined ? undefined : String(Buffer.from(value));
};

function place(options = {}) {
  const schema = `scoped_${(schemas += 1)}`;
  return { schema, open: (more = {}) => postgresStore({ connectionString: server.connectionString, schema, ...options, ...more }) };
}

for (const partitions of [0, 16])
  test(`the contract, in a scope, with ${partitions} partitions`, { timeout: 180_000 }, async () => {
    const store = await place({ partitions }).open();
    await contract(() => store.scopes.open("ann"));
    await skew(() => store.scopes.open("ann"));
    await store.close();
  });

test("scopes see nothing of each other, are listed in pieces, and are removed without a trace", { timeout: 60_000 }, async () => {
  const { open, schema } = place();
  const store = await open();
  const names = ["ann", "%", "%00", "a\0b", "ü 漢", "'; DROP", ...Array.from({ length: 1_100 }, (_, index) => `user-${index}`)];
  await store.commit(change({ puts: [["k", bytes("no scope")]] }));
  for (const name of names) await store.scopes.open(name).commit(change({ absent: ["k"], puts: [["k", bytes(name)]], durability: "relaxed" }));
  for (const name of names.slice(0, 50)) {
    assert.equal(await said(store.scopes.open(name), "k"), name);
    assert.equal((await store.scopes.open(name).scan(all)).length, 1);
  }
  assert.equal(await said(store, "k"), "no scope");
  assert.deepEqual((await listed(store)).sort(), [...names].sort());
  // Each partition has some of them.
  assert.equal((await sql(`SELECT count(DISTINCT tableoid)::integer AS count FROM ${schema}.records`))[0].count, 16);
  for (const name of names) await store.scopes.delete(name);
  await store.scopes.delete("never there");
  assert.deepEqual(await listed(store), []);
  assert.deepEqual(await sql(`SELECT scope, key FROM ${schema}.records`), [{ scope: "", key: "k" }]);
  assert.deepEqual(await sql(`SELECT DISTINCT scope FROM ${schema}.commits`), [{ scope: "" }]);
  const view = store.scopes.open("ann");
  await assert.rejects(view.commit(change({ present: ["k"], puts: [["l", bytes("")]] })), { code: "conflict", key: "k" });
  await view.close();
  await rejects(view.get("k"), "closed");
  assert.equal(await said(store, "k"), "no scope");
  await store.close();
});

test("a removal keeps out only the writers of its own scope", async () => {
  const { open } = place();
  const store = await open();
  const other = await admin.connect();
  await store.scopes.open("ann").commit(change({ puts: [["k", bytes("1")]] }));
  await other.query(`BEGIN; SELECT scoped_${schemas}.remove('ann')`);
  await store.scopes.open("bob").commit(change({ puts: [["k", bytes("2")]] }));
  await store.commit(change({ deleteRanges: [["a", "b"]] }));
  let done = false;
  const waiting = store.scopes
    .open("ann")
    .commit(change({ present: ["k"], puts: [["k", bytes("3")]] }))
    .catch((error) => {
      done = true;
      return error;
    });
  await store.scopes.open("bob").commit(change({ puts: [["k", bytes("4")]] }));
  assert.equal(done, false);
  await other.query("COMMIT");
  other.release();
  assert.equal((await waiting).code, "conflict");
  await store.close();
});

test("a commit that is repeated writes again, so that a standby which confirms it has the commit", async () => {
  const { open, schema } = place();
  const store = await open();
  const token = "00000000-0000-4000-8000-000000000007";
  const written = async (retried) => {
    const call = `SELECT ${schema}.commit('ann', '${token}', ${retried}, true, '{k}', '{}', '{}', '{}', '{}', '{k}', '{1}', 'x') AS broken`;
    assert.equal((await sql(call))[0].broken, null);
    return (await sql(`SELECT xmin::text AS by FROM ${schema}.commits WHERE token = '${token}'`))[0].by;
  };
  const first = await written(false);
  assert.notEqual(await written(true), first);
  assert.equal((await sql(`SELECT count(*)::integer AS count FROM ${schema}.records`))[0].count, 1);
  await store.close();
});

test("row security shows a user who is not the owner only the scope that is set", async () => {
  await sql("CREATE ROLE service LOGIN PASSWORD 'pass'");
  await sql(postgresSetup("guarded", { partitions: 4 }));
  await sql(
    "GRANT USAGE ON SCHEMA guarded TO service; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA guarded TO service; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA guarded TO service",
  );
  const connectionString = server.connectionString.replace(`threadkeep:${PASSWORD}`, "service:pass");
  const store = await postgresStore({ connectionString, schema: "guarded" });
  await contract(() => store.scopes.open("tried"));
  await store.commit(change({ puts: [["k", bytes("no scope")]] }));
  const keeps = await Promise.all(["ann", "bob"].map((scope) => scopedKeep(store, scope)));
  const client = new pg.Client({ connectionString });
  await client.connect();
  const seen = async (text) => (await client.query(text)).rows.map((row) => Object.values(row)[0]);
  assert.deepEqual(await seen("SELECT DISTINCT scope FROM guarded.records"), [""]);
  await client.query("SET threadkeep.scope = 'ann'");
  assert.deepEqual(await seen("SELECT DISTINCT scope FROM guarded.records"), ["ann"]);
  assert.deepEqual(await seen("SELECT content FROM guarded.messages"), ["I am ann"]);
  assert.deepEqual(await seen("SELECT scope FROM guarded.records WHERE scope = 'bob'"), []);
  await assert.rejects(client.query("INSERT INTO guarded.records (scope, key, data) VALUES ('bob', 'x', '')"), /row-level security/);
  await client.end();
  assert.deepEqual((await listed(store)).sort(), ["ann", "bob"]);
  for (const keep of keeps) await keep.close();
  // Old tokens of all scopes go, though no scope is set.
  await sql("UPDATE guarded.commits SET at = now() - interval '2 hours'");
  await (await postgresStore({ connectionString, schema: "guarded" })).close();
  assert.deepEqual(await sql("SELECT * FROM guarded.commits"), []);
  await store.close();
});

/** A keep over one scope, with one message. */
async function scopedKeep(store, scope) {
  const keep = await Threadkeep.open({ storage: store.scopes.open(scope) });
  await keep.thread("main").append([user(`I am ${scope}`)]);
  return keep;
}

for (const partitions of [0, 16])
  test(`a keep of layout version 1 is there after the migration, with ${partitions} partitions`, async () => {
    // The records of a keep, put into tables of version 1.
    const { open, schema } = place();
    const keep = await Threadkeep.open({ storage: await open() });
    await keep.thread("main").append(many(150));
    await keep.memory.remember({ kind: "preference", fact: "likes heliotropes" });
    const exported = await keep.export().text();
    await keep.close();
    const old = `layout_1_${partitions}`;
    await sql(LAYOUT_1.replaceAll("layout_1", old));
    await sql(`INSERT INTO ${old}.records (key, value) SELECT key, data FROM ${schema}.records`);
    await sql(`INSERT INTO ${old}.commits (token) VALUES ('00000000-0000-4000-8000-000000000001')`);
    const before = await sql(`SELECT key, value AS data FROM ${old}.records ORDER BY key`);

    // Several programs open it at once; a role that does not own it is told what to do.
    await sql(
      `CREATE ROLE reader_${partitions} LOGIN PASSWORD 'pass'; GRANT USAGE ON SCHEMA ${old} TO reader_${partitions}; GRANT SELECT ON ALL TABLES IN SCHEMA ${old} TO reader_${partitions}`,
    );
    const reader = server.connectionString.replace(`threadkeep:${PASSWORD}`, `reader_${partitions}:pass`);
    await rejects(
      postgresStore({ connectionString: reader, schema: old }),
      "unavailable",
      /layout version 1, this package needs 2; its owner can run .*postgresSetup/,
    );
    const stores = await Promise.all([1, 2, 3].map(() => postgresStore({ connectionString: server.connectionString, schema: old, partitions })));
    assert.deepEqual(await sql(`SELECT version FROM ${old}.layout`), [{ version: 2 }]);
    assert.deepEqual(await sql(`SELECT key, data FROM ${old}.records WHERE scope = '' ORDER BY key`), before);
    assert.equal((await sql(`SELECT count(*)::integer AS count FROM ${old}.commits`))[0].count, 1);
    assert.deepEqual((await sql("SELECT relname FROM pg_class WHERE relname LIKE 'records_of_version%'")).length, 0);
    const again = await Threadkeep.open({ storage: stores[0] });
    assert.equal(await again.export().text(), exported);
    assert.deepEqual(texts(await again.thread("main").messages()), texts(many(150)));
    await again.thread("main").append([user("and on")]);
    assert.equal((await sql(`SELECT count(*)::integer AS count FROM ${old}.messages`))[0].count, 151);
    // A program of version 1 that is still running fails, and does not read through all scopes.
    await stores[1].scopes.open("ann").commit(change({ puts: [["p/x", bytes("secret")]] }));
    await assert.rejects(sql(`SELECT encode(value, 'base64') FROM ${old}.records WHERE key = 'p/x'`), /column "value" does not exist/);
    await again.close();
    await Promise.all(stores.slice(1).map((store) => store.close()));
  });
