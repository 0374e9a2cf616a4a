// The store on PostgreSQL, on a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import { Threadkeep, assistant, many, rejects, texts, user } from "./support/expect.mjs";
import { inChild } from "./support/installed.mjs";
import { startProxy } from "./support/proxy.mjs";
import { PASSWORD, startPostgres } from "./support/servers.mjs";
import {
  bytes,
  change,
  compareThreads,
  contract,
  exampleOf,
  fillThreads,
  lostAnswers,
  postgresSetup,
  postgresStore,
  skew,
  story,
  wholeScans,
} from "./support/stores.mjs";

let server;
let admin;
let schemas = 0;
before(async () => {
  server = await startPostgres();
  admin = pool();
});
after(async () => {
  await admin?.end();
  await server?.close();
});

function pool(more = {}) {
  const made = new pg.Pool({ connectionString: server.connectionString, max: 3, ...more });
  made.on("error", () => {});
  return made;
}

/** A schema of a test's own: gives what opens handles onto it. */
function place(options = {}) {
  const schema = `test_${(schemas += 1)}`;
  const open = (more = {}) => postgresStore({ ...("pool" in more ? {} : { connectionString: server.connectionString }), schema, ...options, ...more });
  return { schema, open };
}

const sql = async (text, values) => (await admin.query(text, values)).rows;

test("the contract", { timeout: 180_000 }, () => contract(place().open));

test("the contract, over a pool of the user's, without prepared statements", { timeout: 180_000 }, async () => {
  const { open } = place({ pool: admin, prepare: false });
  await contract(() => open({ pool: admin }));
  assert.equal((await sql("SELECT 1 AS one"))[0].one, 1);
});

test("a pooler that forgets prepared statements is told how, and works then", async () => {
  const { open } = place();
  const inner = pool({ max: 1 });
  const pooler = {
    connect: () => inner.connect(),
    async query(query) {
      const client = await inner.connect();
      try {
        return await client.query(query);
      } finally {
        await client.query("DISCARD ALL");
        client.release();
      }
    },
  };
  const prepared = await open({ pool: pooler });
  await prepared.get("a");
  await rejects(prepared.get("a"), "storage", /prepare: false/);
  const store = await open({ pool: pooler, prepare: false });
  for (const text of ["1", "2"]) await store.commit(change({ puts: [["a", bytes(text)]] }));
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("2"));
  await inner.end();
});

test("conditions hold between two connections", { timeout: 180_000 }, () => skew(place().open));
test("long scans show one state", { timeout: 180_000 }, () => wholeScans(place().open));
test("a whole keep's story", { timeout: 180_000 }, () => story(place().open));

test("people can read their messages in SQL", async () => {
  const { open, schema } = place();
  const keep = await Threadkeep.open({ storage: await open() });
  await keep.thread("main").append([{ role: "system", content: "Be brief." }, ...many(150)]);
  const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  await keep.thread("main").append([
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "parts" }] },
  ]);
  await keep.thread("main").append([user("odd: \u0000 and \\u0000 and \u0000\u0000, ü 漢")]);
  const before = Date.now();
  const asked = await keep.receive({ messageId: "q", content: "why?" });
  await keep.extend(asked.id, [assistant("because")]);
  const [{ id }] = (await keep.chain((await keep.thread("main").head()).id)).slice(0, 1);
  const rows = await sql(
    `SELECT role, content, tool_calls, tool_call_id, created_at, message FROM ${schema}.messages WHERE transcript = $1 ORDER BY seq, index`,
    [id],
  );
  const all = await keep.thread("main").messages();
  assert.deepEqual(
    rows.map(({ role }) => role),
    all.map(({ role }) => role),
  );
  assert.deepEqual(
    rows.slice(0, 151).map(({ content }) => content),
    texts(all.slice(0, 151)),
  );
  assert.deepEqual(rows[151].tool_calls, [call]);
  assert.deepEqual([rows[152].tool_call_id, JSON.parse(rows[152].content)], ["c1", [{ type: "text", text: "parts" }]]);
  assert.equal(rows[153].content, "odd: \ufffd and \\u0000 and \ufffd\ufffd, ü 漢");
  assert.ok(rows.every(({ created_at: at }) => Math.abs(at.getTime() - before) < 600_000));
  assert.deepEqual(rows[0].message, all[0]);
  const [question, answer] = await sql(`SELECT node_id, role, content FROM ${schema}.messages WHERE node_id = 'q' ORDER BY seq, index`);
  assert.deepEqual(
    [question, answer],
    [
      { node_id: "q", role: "user", content: "why?" },
      { node_id: "q", role: "assistant", content: "because" },
    ],
  );
  // What was deleted is gone from here too.
  await keep.at("q").deleteBranch();
  assert.deepEqual(await sql(`SELECT 1 FROM ${schema}.messages WHERE node_id = 'q'`), []);
  await keep.close();
});

test("a view in SQL shows each thread, as the thread's stored messages are", { timeout: 60_000 }, async () => {
  const { open, schema } = place();
  const keep = await Threadkeep.open({ storage: await open() });
  await fillThreads(keep);
  // One that a schema of an earlier release lacks is made by the option.
  await sql(`DROP VIEW ${schema}.threads`);
  await (await open({ views: true })).close();
  const columns = "context, index, id, role, text, tokens, compacted, range";
  await compareThreads(keep, await sql(`SELECT ${columns} FROM ${schema}.threads ORDER BY context COLLATE "C", index`));
  await keep.close();
});

test("strict commits wait for the disk, whatever the default is; relaxed ones do not", async () => {
  const { open, schema } = place();
  await (await open()).close();
  await sql(`CREATE TABLE ${schema}.seen (setting text)`);
  await sql(
    `CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ${schema}.seen SELECT current_setting('synchronous_commit'); RETURN NULL; END $$`,
  );
  await sql(`CREATE TRIGGER see AFTER INSERT ON ${schema}.commits FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.see()`);
  for (const [value, strict] of [
    ["off", "on"],
    ["on", "on"],
    ["remote_apply", "remote_apply"],
  ]) {
    const own = pool({ options: `-c synchronous_commit=${value}`, max: 1 });
    const store = await postgresStore({ pool: own, schema });
    await sql(`TRUNCATE ${schema}.seen`);
    await store.commit(change({ puts: [["a", bytes("1")]] }));
    await store.commit(change({ puts: [["a", bytes("2")]], durability: "relaxed" }));
    assert.deepEqual(
      (await sql(`SELECT setting FROM ${schema}.seen`)).map(({ setting }) => setting),
      [strict, "off"],
    );
    assert.equal((await own.query("SHOW synchronous_commit")).rows[0].synchronous_commit, value);
    await own.end();
  }
});

test("errors say what is wrong, and never the password", async () => {
  const proxy = await startProxy(server.port);
  await proxy.close();
  const secret = "hush-hush";
  const at = (port, password, name = "postgres") => `postgres://threadkeep:${password}@127.0.0.1:${port}/${name}`;
  for (const [connectionString, words] of [
    [at(proxy.port, secret), /cannot be reached/],
    [at(server.port, secret), /password authentication failed/],
    [at(server.port, PASSWORD, "nowhere"), /does not exist/],
  ]) {
    const error = await rejects(postgresStore({ connectionString }), "unavailable", words);
    assert.ok(!error.message.includes(secret) && !error.message.includes(PASSWORD));
  }
  await rejects(postgresStore({}), "bad-request", /pool/);
  await rejects(postgresStore({ pool: admin, connectionString: server.connectionString }), "bad-request");
  await rejects(postgresStore({ pool: {} }), "bad-request", /Pool/);
  await rejects(postgresStore({ pool: admin, schema: 'a"; DROP' }), "bad-request", /schema/);
  await rejects(postgresStore({ pool: admin, table: "a" }), "bad-request", /options\.table/);

  const { open, schema } = place();
  const store = await open();
  const readonly = pool({ options: "-c default_transaction_read_only=on" });
  const reader = await open({ pool: readonly });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.deepEqual(Buffer.from(await reader.get("a")), Buffer.from("1"));
  await rejects(reader.commit(change({ puts: [["b", bytes("1")]] })), "unavailable", /read-only/);
  await readonly.end();
  await rejects(reader.get("a"), "closed");
  const serial = pool({ options: "-c default_transaction_isolation=serializable" });
  await rejects((await open({ pool: serial })).commit(change({ puts: [["b", bytes("1")]] })), "storage", /read committed/);
  await serial.end();

  // What the server says when its disk is full, said by a trigger.
  await sql(`CREATE FUNCTION ${schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left on device' USING ERRCODE = '53100'; END $$`);
  await sql(`CREATE TRIGGER disk BEFORE INSERT ON ${schema}.commits EXECUTE FUNCTION ${schema}.full()`);
  await rejects(store.commit(change({ deletes: ["a"], puts: [["b", bytes("1")]] })), "quota", /no space/);
  await sql(`DROP TRIGGER disk ON ${schema}.commits`);
  assert.deepEqual(
    (await store.scan({ start: "", end: "~", reverse: false })).map(([key]) => key),
    ["a"],
  );

  await sql(`UPDATE ${schema}.layout SET version = 9`);
  const error = await rejects(open(), "newer-version", /version 9/);
  assert.deepEqual({ ...error.details }, { found: 9, supported: 2 });
  await sql(`DROP SCHEMA ${schema} CASCADE`);
  await rejects(store.get("a"), "storage-gone");
  await rejects(store.commit(change({ puts: [["a", bytes("1")]] })), "storage-gone");
  await store.close();
  await rejects(store.get("a"), "closed");
});

test("a user without the right to make a schema uses one that was made", async () => {
  await sql("CREATE ROLE guest LOGIN PASSWORD 'pass'");
  const connectionString = server.connectionString.replace(`threadkeep:${PASSWORD}`, "guest:pass");
  await rejects(postgresStore({ connectionString, schema: "guests" }), "unavailable", /permission denied/);
  // As the documentation has it.
  await sql(postgresSetup("guests"));
  await sql(
    "GRANT USAGE ON SCHEMA guests TO guest; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA guests TO guest; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA guests TO guest",
  );
  const store = await postgresStore({ connectionString, schema: "guests" });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("1"));
  await store.close();
});

test("a user without that right uses an empty schema that its owner made", async () => {
  await sql("CREATE ROLE tenant LOGIN PASSWORD 'pass'; CREATE SCHEMA tenants AUTHORIZATION tenant");
  const store = await postgresStore({ connectionString: server.connectionString.replace(`threadkeep:${PASSWORD}`, "tenant:pass"), schema: "tenants" });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("1"));
  await store.close();
});

test("a statement that the server cut off for its time is tried again", async () => {
  const { schema, open } = place();
  const hasty = pool({ max: 1, statement_timeout: 100 });
  const store = await open({ pool: hasty, retryTimeout: 60_000 });
  const impatient = await open({ pool: hasty, retryTimeout: 1 });
  const other = await admin.connect();
  await other.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('${schema}'), 0)`);
  await rejects(impatient.commit(change({ puts: [["a", bytes("1")]] })), "transient", /statement timeout/);
  const waiting = store.commit(change({ absent: ["a"], puts: [["a", bytes("2")]] }));
  await rejects(impatient.commit(change({ puts: [["a", bytes("1")]] })), "transient", /statement timeout/);
  await other.query("COMMIT");
  other.release();
  await waiting;
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("2"));
  await hasty.end();
});

test("closing waits for what is under way, and for no time-out", { timeout: 60_000 }, async () => {
  const { open } = place();
  const store = await open();
  const commits = Array.from({ length: 50 }, (_, at) => store.commit(change({ puts: [[`k/${at}`, bytes("1")]] })));
  const closing = store.close();
  await rejects(store.get("k/0"), "closed");
  assert.deepEqual(new Set((await Promise.allSettled(commits)).map(({ status }) => status)), new Set(["fulfilled"]));
  await closing;
  const again = await open();
  assert.equal((await again.scan({ start: "", end: "~", reverse: false })).length, 50);
  await again.close();
});

test("an address with a mistake in it is `bad-request`, and is not handed on with its password", async () => {
  for (const connectionString of ["postgres://a:hush-hush@127.0.0.1:port/x", ""]) {
    const error = await rejects(postgresStore({ connectionString }), "bad-request", /options\.connectionString/);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("hush-hush"));
  }
});

test("values that are texts and values that are none are read byte for byte, with and without the function for texts", async () => {
  const { open, schema } = place();
  const long = (piece) => bytes(piece.repeat(3_000));
  const noText = Buffer.alloc(5_000, Buffer.from([0xed, 0xa0, 0x80, 0xff]));
  const cut = Buffer.concat([long("\u00e9"), Buffer.from([0xc3])]);
  const values = [long('a\\\n"'), long("\ufeff\u00e9\u{1f600}"), long("a\0"), noText, cut, bytes("short"), bytes("")];
  const puts = values.map((value, index) => [`k/${index}`, value]);
  const store = await open();
  await store.commit(change({ puts }));
  const check = async (reader) => {
    const plain = (records) => records.map(([key, value]) => [key, Buffer.from(value)]);
    const range = { start: "k/", end: "k0" };
    assert.deepEqual(plain(await reader.scan({ ...range, reverse: false })), plain(puts));
    assert.deepEqual(plain(await reader.scan({ ...range, reverse: true, limit: 3 })), plain(puts.slice(-3).reverse()));
  };
  await check(store);
  // As an earlier release left it, for somebody who may not make functions.
  await sql(`DROP FUNCTION ${schema}.read; DROP FUNCTION ${schema}.readable`);
  await sql(`CREATE ROLE reader LOGIN PASSWORD 'pass'; GRANT USAGE ON SCHEMA ${schema} TO reader;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO reader`);
  const guest = await open({ connectionString: server.connectionString.replace(`threadkeep:${PASSWORD}`, "reader:pass") });
  await check(guest);
  // The owner makes them anew.
  const owner = await open();
  await check(owner);
  assert.equal((await sql("SELECT FROM pg_proc WHERE pronamespace = $1::regnamespace AND proname = 'read'", [schema])).length, 1);
  await Promise.all([store.close(), guest.close(), owner.close()]);
});

test("ranges that begin or end right behind a key", async () => {
  const store = await place().open();
  await store.commit(change({ puts: ["a", "a/", "ab", "b", "b0", "c"].map((key) => [key, bytes(key)]) }));
  const keys = async (start, end) => (await store.scan({ start, end, reverse: false })).map(([key]) => key);
  assert.deepEqual(await keys("a\0", "b\0"), ["a/", "ab", "b"]);
  assert.deepEqual(await keys("a", "a\0"), ["a"]);
  await store.commit(change({ deleteRanges: [["a\0", "b\0"]] }));
  assert.deepEqual(await keys("", "~"), ["a", "b0", "c"]);
  await store.close();
});

test("several open at once make the schema once", async () => {
  const { open } = place();
  const stores = await Promise.all(Array.from({ length: 6 }, () => open()));
  await Promise.all(stores.map((store, index) => store.commit(change({ puts: [[`k${index}`, bytes("1")]] }))));
  assert.equal((await stores[0].scan({ start: "k", end: "l", reverse: false })).length, 6);
  await Promise.all(stores.map((store) => store.close()));
});

test("commits with very many keys land, and old tokens are removed", async () => {
  const { open, schema } = place();
  const store = await open();
  const keys = Array.from({ length: 20_000 }, (_, index) => `many/${String(index).padStart(5, "0")}`);
  await store.commit(change({ absent: keys, puts: keys.map((key) => [key, bytes(key)]) }));
  await store.commit(change({ present: keys, deletes: keys.slice(1) }));
  assert.equal((await store.scan({ start: "", end: "~", reverse: false })).length, 1);
  await sql(`UPDATE ${schema}.commits SET at = now() - interval '2 hours'`);
  await (await open()).close();
  assert.deepEqual(await sql(`SELECT * FROM ${schema}.commits`), []);
  await store.close();
});

test("commits do not wait for the removal of old tokens, which closing waits for", { timeout: 60_000 }, async (t) => {
  const own = pool();
  const [{ schema }, removals] = [place(), []];
  let free;
  const removed = new Promise((resolve) => (free = resolve));
  t.after(() => {
    free();
    return own.end();
  });
  const slow = {
    connect: () => own.connect(),
    async query(query) {
      if (!query.text.includes(".prune()")) return own.query(query);
      removals.push(query);
      await removed;
      return own.query(query);
    },
  };
  const store = await postgresStore({ pool: slow, schema });
  for (let number = 0; number < 1_100; number += 1) await store.commit(change({ puts: [["k", bytes(`${number}`)]], durability: "relaxed" }));
  assert.equal(removals.length, 1, "once a minute");
  let closed = false;
  const closing = store.close().then(() => (closed = true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(closed, false);
  free();
  await closing;
});

test("a keep that was made without an index of tokens gets one from its owner", async () => {
  const { open, schema } = place();
  const indexes = () => sql("SELECT indexname FROM pg_indexes WHERE schemaname = $1 AND tablename = 'commits' ORDER BY 1", [schema]);
  await (await open()).close();
  assert.deepEqual(await indexes(), [{ indexname: "commits_at" }, { indexname: "commits_pkey" }]);
  await sql(`DROP INDEX ${schema}.commits_at`);
  // Somebody else uses it all the same.
  await sql(`CREATE ROLE reader_${schema} LOGIN PASSWORD '${PASSWORD}'`);
  await sql(`GRANT USAGE ON SCHEMA ${schema} TO reader_${schema}`);
  await sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO reader_${schema}`);
  const connectionString = server.connectionString.replace("threadkeep:", `reader_${schema}:`);
  const other = await open({ connectionString });
  await other.commit(change({ puts: [["k", bytes("1")]] }));
  await other.close();
  assert.equal((await indexes()).length, 1);
  await (await open()).close();
  assert.equal((await indexes()).length, 2);
});

test("a keep goes on after its server crashed and its connections were cut", { timeout: 180_000 }, async () => {
  const own = await startPostgres();
  const keep = await Threadkeep.open({ storage: await postgresStore({ connectionString: own.connectionString, retryTimeout: 60_000 }) });
  try {
    await keep.thread("main").append(many(10));
    await own.crash();
    const waiting = keep.thread("main").append([user("in between")]);
    await own.start();
    await waiting;
    assert.deepEqual(texts(await keep.thread("main").messages()), [...texts(many(10)), "in between"]);
    const client = new pg.Client(own.connectionString);
    await client.connect();
    const cutting = client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
    await Promise.all([cutting, keep.thread("main").append([user("cut")])]);
    assert.equal(await keep.thread("main").count(), 12);
    await client.end();
  } finally {
    await keep.close();
    await own.close();
  }
});

test("a server that stays away is `transient` in the end", { timeout: 120_000 }, async () => {
  const proxy = await startProxy(server.port);
  const { open } = place();
  const store = await open({ connectionString: server.connectionString.replace(`:${server.port}/`, `:${proxy.port}/`), retryTimeout: 200 });
  await proxy.close();
  await rejects(store.get("a"), "transient", /again and again/);
  await rejects(store.commit(change({ puts: [["a", bytes("1")]] })), "transient");
  await store.close();
});

test("a lost answer does not double a commit", { timeout: 180_000 }, async () => {
  const proxy = await startProxy(server.port);
  const { open } = place();
  const store = await open({ connectionString: server.connectionString.replace(`:${server.port}/`, `:${proxy.port}/`) });
  await lostAnswers(store, proxy);
  const keep = await Threadkeep.open({ storage: store });
  for (let number = 0; number < 20; number += 1) {
    if (number % 3 === 0) proxy.loseAnswer();
    await keep.thread("main").append([user(`m${number}`)]);
  }
  assert.deepEqual(texts(await keep.thread("main").messages()), texts(many(20)));
  await keep.close();
  await proxy.close();
});

test("a transcript's record that was changed from outside is made up for, and named", async () => {
  const { open, schema } = place();
  const keep = await Threadkeep.open({ storage: await open() });
  await keep.thread("main").append(many(3));
  await keep.close();
  await sql(`UPDATE ${schema}.records SET data = '{' WHERE key LIKE 't/%'`);
  const again = await Threadkeep.open({ storage: await open() });
  assert.deepEqual(texts(await again.thread("main").messages()), ["m0", "m1", "m2"]);
  assert.match((await again.stats()).damaged[0].what, /t\//);
  await again.close();
});

test("a server that does not sync is a warning", { timeout: 120_000 }, async () => {
  const own = await startPostgres({ settings: { fsync: "off" } });
  try {
    const warnings = [];
    const store = await postgresStore({ connectionString: own.connectionString, onWarning: (warning) => warnings.push(warning) });
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["durability"],
    );
    await store.close();
  } finally {
    await own.close();
  }
});

test("the example of the documentation runs", async () => {
  const code = exampleOf("postgres").replaceAll("postgres://app:secret@127.0.0.1/app", server.connectionString);
  assert.match(inChild(code), /hello/);
});
