// The store in SQLite: through better-sqlite3 here, and through `node:sqlite` in a newer Node.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { Threadkeep, many, rejects, user } from "./support/expect.mjs";
import { inChild, project } from "./support/installed.mjs";
import { bytes, change, compareThreads, contract, exampleOf, fillThreads, skew, sqliteStore, story, wholeScans } from "./support/stores.mjs";

const folder = await mkdtemp(join(tmpdir(), "threadkeep-sqlite-"));
after(() => rm(folder, { recursive: true, force: true }));
let files = 0;
const file = () => join(folder, `${(files += 1)}.db`);

test("the contract, by path", { timeout: 120_000 }, async () => {
  const path = file();
  await contract(() => sqliteStore({ path }));
  const database = new Database(path, { readonly: true });
  assert.equal(database.pragma("journal_mode", { simple: true }), "wal");
  database.close();
});

test("the contract, over one open database of the user's", { timeout: 120_000 }, async () => {
  const database = new Database(file());
  await contract(() => sqliteStore({ database, table: "chats" }));
  assert.ok(database.open);
  assert.equal(database.pragma("journal_mode", { simple: true }), "delete");
  database.close();
});

test("conditions and scans hold between two connections", { timeout: 120_000 }, async () => {
  const path = file();
  await skew(() => sqliteStore({ path }));
  await wholeScans(() => sqliteStore({ path }));
});

test("a whole keep's story", { timeout: 120_000 }, async () => {
  const path = file();
  await story(() => sqliteStore({ path }));
});

test("a view in SQL shows each thread, as the thread's stored messages are", { timeout: 60_000 }, async () => {
  const path = file();
  const storage = await sqliteStore({ path, table: "chats", views: true });
  const keep = await Threadkeep.open({ storage });
  await fillThreads(keep);
  const database = new Database(path, { readonly: true });
  const select = (scope) =>
    database
      .prepare('SELECT context, "index", id, role, text, tokens, compacted, range FROM chats_threads WHERE scope = ? ORDER BY context, "index"')
      .all(scope)
      .map(({ compacted, range, ...row }) => ({ ...row, compacted: compacted === 1, range: JSON.parse(range) }));
  await compareThreads(keep, select(""));
  await keep.close();
  // Opened again, the view stays; a scope's rows have its name.
  const ann = await Threadkeep.open({ storage: await sqliteStore({ path, table: "chats", views: true }), scope: "ann" });
  await ann.thread("mine").append([user("hello")]);
  assert.deepEqual(
    select("ann").map(({ context, index, text }) => [context, index, text]),
    [["mine", 0, "hello"]],
  );
  await ann.close();
  database.close();
});

test("several keeps lie in one file", async () => {
  const path = file();
  const [a, b] = [await sqliteStore({ path, table: "a" }), await sqliteStore({ path, table: "b" })];
  await a.commit(change({ puts: [["key", bytes("a")]] }));
  assert.equal(await b.get("key"), undefined);
  await Promise.all([a.close(), b.close()]);
});

test("strict commits are synced, and a database of the user's gets back what it had", async () => {
  const database = new Database(file());
  database.pragma("synchronous = OFF");
  const seen = [];
  const spy = {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      if (sql !== "COMMIT") return statement;
      return { run: () => (seen.push(database.pragma("synchronous", { simple: true })), statement.run()) };
    },
    close: () => database.close(),
  };
  const store = await sqliteStore({ database: spy });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  await store.commit(change({ puts: [["b", bytes("1")]], durability: "relaxed" }));
  // EXTRA: in a database without a write-ahead log, as this one, FULL leaves it to chance whether the journal's removal survives.
  assert.deepEqual(seen, [3, 0]);
  assert.equal(database.pragma("synchronous", { simple: true }), 0);
  // Nor does a commit that did not come about leave anything behind.
  const other = new Database(database.name);
  other.exec("BEGIN IMMEDIATE");
  database.pragma("busy_timeout = 0");
  const hasty = await sqliteStore({ database: spy, busyTimeout: 1 });
  await rejects(hasty.commit(change({ puts: [["c", bytes("1")]] })), "transient", /locked/);
  assert.equal(database.pragma("synchronous", { simple: true }), 0);
  other.close();
  database.close();
});

/** A database whose transactions are counted. */
function counted(database) {
  const seen = { transactions: 0, failing: undefined };
  return {
    seen,
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      if (sql.startsWith("BEGIN")) return { run: () => ((seen.transactions += 1), statement.run()) };
      return statement;
    },
    close: () => database.close(),
  };
}

test("commits that come at once are one transaction, each with its own conditions and answer", async () => {
  const database = counted(new Database(file()));
  const store = await sqliteStore({ database });
  const before = database.seen.transactions;
  const put = (key, rest = {}) => store.commit(change({ puts: [[key, bytes(key)]], ...rest }));
  const results = await Promise.allSettled([
    put("a", { absent: ["a"] }),
    put("b", { absent: ["a"] }),
    put("c", { present: ["a"], deletes: ["a"] }),
    put("a", { absent: ["a"], durability: "relaxed" }),
    put("d", { absent: ["none"], present: ["b"] }),
  ]);
  assert.deepEqual(
    results.map(({ reason }) => reason?.key),
    [undefined, "a", undefined, undefined, "b"],
  );
  assert.equal(database.seen.transactions - before, 1);
  assert.deepEqual(
    (await store.scan({ start: "", end: "~", reverse: false })).map(([key]) => key),
    ["a", "c"],
  );
  // Many are several transactions, in their order.
  await Promise.all(
    Array.from({ length: 1_000 }, (_, at) => put(`n${String(at).padStart(4, "0")}`, at === 0 ? {} : { present: [`n${String(at - 1).padStart(4, "0")}`] })),
  );
  assert.ok(database.seen.transactions - before < 10, `${database.seen.transactions - before} transactions`);
  await store.close();
});

test("a keep's appends to many conversations at once share transactions, and each conversation stays in order", async () => {
  const database = counted(new Database(file()));
  const keep = await Threadkeep.open({ storage: await sqliteStore({ database }) });
  const names = Array.from({ length: 50 }, (_, at) => `c${at}`);
  await Promise.all(names.map((name) => keep.thread(name).append([user("0")])));
  const before = database.seen.transactions;
  await Promise.all(Array.from({ length: 10 }, (_, round) => names.map((name) => keep.thread(name).append([user(String(round + 1))]))).flat());
  assert.ok(database.seen.transactions - before <= 40, `${database.seen.transactions - before} transactions for 500 appends`);
  for (const name of names)
    assert.deepEqual(
      (await keep.thread(name).messages()).map(({ content }) => content),
      Array.from({ length: 11 }, (_, at) => String(at)),
    );
  // Whoever writes alone is behind those who asked before, and before those who ask later.
  const order = [
    keep.thread("c0").append([user("before")]),
    keep.thread("c0").fork("fork"),
    keep.thread("c0").append([user("after")]),
    keep.thread("c1").clear(),
    keep.thread("c1").append([user("anew")]),
  ];
  await Promise.all(order);
  assert.deepEqual(
    [(await keep.thread("fork").messages()).at(-1).content, (await keep.thread("c0").messages()).at(-1).content, await keep.thread("c1").count()],
    ["before", "after", 1],
  );
  await keep.close();
});

test("a commit that is too large for the disk keeps no other back", async () => {
  const database = new Database(file());
  const store = await sqliteStore({ database });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  database.pragma(`max_page_count = ${database.pragma("page_count", { simple: true }) + 5}`);
  const results = await Promise.allSettled([
    store.commit(change({ puts: [["b", bytes("2")]] })),
    store.commit(change({ puts: [["large", new Uint8Array(100_000)]] })),
    store.commit(change({ puts: [["c", bytes("3")]] })),
  ]);
  assert.deepEqual(
    results.map(({ reason }) => reason?.code),
    [undefined, "quota", undefined],
  );
  assert.deepEqual(
    (await store.scan({ start: "", end: "~", reverse: false })).map(([key]) => key),
    ["a", "b", "c"],
  );
  database.close();
});

test("a busy database is waited for, and not for ever", { timeout: 60_000 }, async () => {
  const path = file();
  const store = await sqliteStore({ path, busyTimeout: 60_000 });
  const hasty = await sqliteStore({ path, busyTimeout: 30 });
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(hasty.commit(change({ puts: [["a", bytes("1")]] })), { code: "transient", message: /locked/ });
  // Reading needs nobody's leave, and the thread is free while the store waits.
  assert.equal(await hasty.get("a"), undefined);
  const waiting = store.commit(change({ puts: [["a", bytes("2")]] }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  other.exec("COMMIT");
  await waiting;
  assert.deepEqual(Buffer.from(await hasty.get("a")), Buffer.from("2"));
  other.close();
  await Promise.all([store.close(), hasty.close()]);
});

test("readings are answered at once, without a promise, unless the database is busy", async () => {
  const database = new Database(file());
  let busy = false;
  const locked = {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      const unlessBusy =
        (method) =>
        (...values) => {
          if (busy) throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
          return statement[method](...values);
        };
      return { run: unlessBusy("run"), get: unlessBusy("get"), all: unlessBusy("all") };
    },
    close() {},
  };
  const store = await sqliteStore({ database: locked });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  assert.deepEqual(Buffer.from(store.get("a")), Buffer.from("1"));
  assert.equal(store.get("b"), undefined);
  assert.deepEqual(
    store.scan({ start: "", end: "~", reverse: false }).map(([key]) => key),
    ["a"],
  );
  busy = true;
  const waiting = store.get("a");
  setTimeout(() => (busy = false), 20);
  assert.deepEqual(Buffer.from(await waiting), Buffer.from("1"));
  database.close();
});

test("a path that SQLite would take for no file is refused", async () => {
  for (const path of ["", `${file()}\0.db`]) await rejects(sqliteStore({ path }), "bad-request", /options\.path/);
});

test("a database whose rows are lists is understood", async () => {
  // As `node:sqlite` gives them with `returnArrays`.
  const database = new Database(file());
  const lists = {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      return statement.reader ? statement.raw() : statement;
    },
    close() {},
  };
  const store = await sqliteStore({ database: lists });
  await store.commit(
    change({
      absent: ["a"],
      puts: [
        ["a", bytes("1")],
        ["b", bytes("")],
      ],
    }),
  );
  assert.deepEqual(Buffer.from(await store.get("a")), Buffer.from("1"));
  assert.deepEqual(
    (await store.scan({ start: "", end: "~", reverse: true })).map(([key, value]) => [key, value.length]),
    [
      ["b", 0],
      ["a", 1],
    ],
  );
  database.close();
});

test("errors say what is wrong", async () => {
  await rejects(sqliteStore({ path: join(folder, "no/such/folder.db") }), "unavailable", /cannot be opened/);
  await rejects(sqliteStore({}), "bad-request", /path/);
  await rejects(sqliteStore({ path: "a", database: new Database(":memory:") }), "bad-request");
  await rejects(sqliteStore({ path: "a", file: "b" }), "bad-request", /options\.file/);
  await rejects(sqliteStore({ path: file(), table: 'a"; DROP TABLE b' }), "bad-request", /options\.table/);
  await rejects(sqliteStore({ database: {} }), "bad-request", /better-sqlite3/);
  const text = file();
  await writeFile(text, "this is no database at all, however long it goes on and on and on ".repeat(50));
  await rejects(sqliteStore({ path: text }), "corrupt", /not a database/);
  assert.match(await readFile(text, "utf8"), /^this is no database/);

  const path = file();
  const store = await sqliteStore({ path });
  await store.commit(change({ puts: [["a", bytes("1")]] }));
  const readonly = await sqliteStore({ database: new Database(path, { readonly: true }) });
  await rejects(readonly.commit(change({ puts: [["b", bytes("1")]] })), "unavailable", /readonly/);
  assert.deepEqual(Buffer.from(await readonly.get("a")), Buffer.from("1"));
  await store.close();
  await rejects(store.get("a"), "closed");

  const database = new Database(path);
  database.exec("UPDATE threadkeep_version SET version = 9");
  const error = await rejects(sqliteStore({ path }), "newer-version", /version 9/);
  assert.deepEqual({ ...error.details }, { found: 9, supported: 2 });
  database.close();
});

test("a full disk is said, and nothing of the commit is there", async () => {
  const database = new Database(file());
  const store = await sqliteStore({ database });
  const keep = await Threadkeep.open({ storage: store });
  await keep.thread("main").append([user("one")]);
  const pages = database.pragma("page_count", { simple: true });
  database.pragma(`max_page_count = ${pages + 5}`);
  await rejects(keep.thread("main").append([user("x".repeat(100_000))]), "quota", /full/);
  database.pragma("max_page_count = 1000000");
  await keep.thread("main").append([user("two")]);
  assert.equal(await keep.thread("main").count(), 2);
  await keep.close();
  database.close();
});

test("damage in the file is an error, not other messages", async () => {
  const path = file();
  const keep = await Threadkeep.open({ storage: await sqliteStore({ path }) });
  for (let round = 0; round < 20; round += 1) await keep.thread("main").append(many(40));
  await keep.close();
  const handle = await open(path, "r+");
  const { size } = await handle.stat();
  // The pages behind the first two hold records.
  await handle.write(Buffer.alloc(size - 8_192, 0xa5), 0, size - 8_192, 8_192);
  await handle.close();
  const read = async () => (await Threadkeep.open({ storage: await sqliteStore({ path }) })).thread("main").messages();
  await rejects(read(), "corrupt", /malformed/);
});

test("a record that was changed from outside is named", async () => {
  const database = new Database(file());
  const keep = await Threadkeep.open({ storage: await sqliteStore({ database }) });
  await keep.thread("main").append(many(3));
  database.exec("UPDATE threadkeep SET value = x'ff007b' WHERE key LIKE 'p/%' AND length(value) > 0");
  const again = await Threadkeep.open({ storage: await sqliteStore({ database }) });
  const outcome = await again
    .thread("main")
    .messages()
    .then(
      () => "read",
      (error) => error.code,
    );
  assert.ok(["corrupt", "damaged", "missing-node"].includes(outcome), outcome);
  database.close();
});

const newer = fileURLToPath(new URL("../../tests/runtimes/node_modules/.bin/node", import.meta.url));
const skip = existsSync(newer) ? false : "tests/runtimes is not installed: `cargo xtask setup` does it";

test("node:sqlite: the contract and the story under a newer Node", { timeout: 180_000, skip }, async () => {
  const code = `
    import assert from "node:assert/strict";
    import { DatabaseSync } from "node:sqlite";
    const { contract, skew, sqliteStore, story } = await import(${JSON.stringify(new URL("./support/stores.mjs", import.meta.url).href)});
    let opened = 0;
    const prepare = DatabaseSync.prototype.prepare;
    DatabaseSync.prototype.prepare = function (...given) { opened += 1; return prepare.apply(this, given); };
    await contract(() => sqliteStore({ path: ${JSON.stringify(file())} }));
    const database = new DatabaseSync(${JSON.stringify(file())});
    await contract(() => sqliteStore({ database }));
    await skew(() => sqliteStore({ path: ${JSON.stringify(file())} }));
    await story(() => sqliteStore({ path: ${JSON.stringify(file())} }));
    await assert.rejects(sqliteStore({ path: ${JSON.stringify(join(folder, "no/folder.db"))} }), { code: "unavailable" });
    await assert.rejects(sqliteStore({ database: new DatabaseSync(${JSON.stringify(file())}, { readOnly: false }), table: "1" }), { code: "bad-request" });
    assert.ok(opened > 100);
    console.log("all of it, under " + process.version);
  `;
  const { stdout, stderr, status } = spawnSync(newer, ["--input-type=module", "--eval", code], { cwd: project, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /all of it, under v2[4-9]/);
});

test("the example of the documentation runs", async () => {
  const code = exampleOf("sqlite").replaceAll('"chats.db"', JSON.stringify(file()));
  assert.match(inChild(code), /hello/);
});
