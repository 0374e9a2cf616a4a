// Damage of what is stored: it is noticed, told of, and keeps nothing back that is whole.
import assert from "node:assert/strict";
import fs, { readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { mapAdapter } from "./support/adapters.mjs";
import { Threadkeep, many, rejects, texts, user } from "./support/expect.mjs";
import { commit, everything, failure, fileStore, logs, scratch, text } from "./support/filestore.mjs";
import { sqliteStore } from "./support/stores.mjs";

const logOf = (folder) => join(folder, logs(folder).at(-1));

/** Flips one bit of a file, behind the first place of these words. */
function flip(file, words, behind = words.length) {
  const all = readFileSync(file);
  const at = all.indexOf(words);
  assert.ok(at >= 0, words);
  all[at + behind] ^= 1;
  writeFileSync(file, all);
}

/** Everything that goes over the whole keep; `bad` is the transcript that is damaged. */
async function goesOn(keep, bad) {
  const heard = [];
  keep.on("change", (event) => event.type === "damage" && heard.push(event.damage));
  const exported = await keep.export().text();
  assert.match(exported, /a sound heliotrope/);
  assert.deepEqual(
    (await keep.search("heliotrope")).map(({ message }) => message.content),
    ["a sound heliotrope"],
  );
  assert.ok((await keep.lint()).some(({ rule, transcript }) => rule === "damage" && transcript === bad));
  assert.deepEqual(
    (await keep.threads()).map(({ name }) => name),
    ["good"],
  );
  assert.ok((await keep.roots()).length >= 1);
  assert.deepEqual((await keep.transcripts()).length, 2);
  const { damaged } = await keep.stats();
  assert.ok(
    damaged.some(({ transcript, what }) => transcript === bad && what.length > 20),
    JSON.stringify(damaged),
  );
  assert.ok(heard.length > 0 && heard.every(({ what }) => damaged.some((known) => known.what === what)));
  await rejects(keep.thread("bad").messages(), "damaged");
  await keep.transcript(bad).delete();
  assert.equal((await keep.transcripts()).length, 1);
  assert.equal(await keep.thread("bad").count(), 0);
  await keep.thread("bad").append([user("anew")]);
  await keep.thread("good").append([user("and on")]);
}

test("one flipped bit in a large value that an index spares reading: everything else goes on, with repair and without", { timeout: 60_000 }, async (t) => {
  for (const repair of [true, false]) {
    const folder = scratch(t);
    let keep = await Threadkeep.open({ storage: fileStore({ folder }) });
    await keep.thread("good").append([user("a sound heliotrope")]);
    const [{ transcript: bad }] = await keep.thread("bad").append([user(`a spoilt heliotrope ${"of many words ".repeat(130_000)}`)]);
    await keep.thread("bad").append([user("and another")]);
    await keep.close();
    assert.ok(readdirSync(folder).some((name) => name.startsWith("index-")));
    flip(logOf(folder), "a spoilt heliotrope", 900_000);
    const storage = fileStore({ folder, repair });
    keep = await Threadkeep.open({ storage });
    const found = await storage.damaged();
    assert.equal(found.length, repair ? 1 : 0, "repair has read everything");
    if (repair) {
      assert.match(found[0], /log-000001 in the folder .*, bytes \d+ to \d+: the value of "p\/.*" does not have its sum/);
      assert.ok((await keep.stats()).damaged.some(({ what }) => what === found[0]));
    }
    await goesOn(keep, bad);
    await keep.close();
    keep = await Threadkeep.open({ storage: fileStore({ folder }) });
    assert.deepEqual(texts(await keep.thread("good").messages()), ["a sound heliotrope", "and on"]);
    await keep.close();
  }
});

test("a log that lost its end is noticed also where no index is beside it", async (t) => {
  const folder = scratch(t);
  let keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  for (let at = 0; at < 200; at += 1) await keep.thread("main").append([user(`m${at}`)]);
  const size = statSync(logOf(folder)).size;
  for (let at = 200; at < 300; at += 1) await keep.thread("main").append([user(`m${at}`)]);
  await keep.close();
  assert.ok(!readdirSync(folder).some((name) => name.startsWith("index-")), "a small log has no index");
  truncateSync(logOf(folder), size);
  const error = await rejects(Threadkeep.open({ storage: fileStore({ folder }) }), "corrupt", /its end is missing: it had \d+ bytes and has \d+/);
  assert.equal(error.details.file, "log-000001");
  keep = await Threadkeep.open({ storage: fileStore({ folder, repair: true }) });
  assert.equal(await keep.thread("main").count(), 200);
  assert.match((await keep.stats()).damaged[0].what, /its end is missing/);
  await keep.thread("main").append([user("and on")]);
  await keep.close();
  keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  assert.equal(await keep.thread("main").count(), 201);
  await keep.close();
});

test("a bit that flips in the last commit is no torn commit where the store was closed after it", async (t) => {
  const folder = scratch(t);
  let store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "first" } }));
  await store.commit(commit({ puts: { b: "second value", c: "third" } }));
  await store.close();
  flip(logOf(folder), "second value", 3);
  assert.equal((await failure(fileStore({ folder }).get("a"))).code, "corrupt");
  store = fileStore({ folder, repair: true });
  // What was whole of that commit is kept.
  assert.deepEqual([text(await store.get("a")), text(await store.get("c"))], ["first", "third"]);
  const lost = await failure(store.get("b"));
  assert.deepEqual([lost.code, lost.key], ["corrupt", "b"]);
  // The key is still taken, until somebody writes it anew.
  await assert.rejects(store.commit(commit({ absent: ["b"] })), { code: "conflict" });
  await store.close();
  store = fileStore({ folder });
  assert.equal((await failure(store.get("b"))).code, "corrupt");
  await store.commit(commit({ puts: { b: "again" } }));
  assert.deepEqual(
    [...(await everything(store))],
    [
      ["a", "first"],
      ["b", "again"],
      ["c", "third"],
    ],
  );
  await store.close();
});

test("a log that is gone is noticed without an index, and repair goes on without it", async (t) => {
  const folder = scratch(t);
  let store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  await store.close();
  fs.rmSync(logOf(folder));
  assert.match((await failure(fileStore({ folder }).get("a"))).message, /log-000001 is missing/);
  store = fileStore({ folder, repair: true });
  assert.deepEqual([text(await store.get("a")), await store.open()], [undefined, "existing"]);
  assert.match((await store.damaged())[0], /the file is missing/);
  await store.close();
});

test("repair goes on where the first line of a log is damaged", async (t) => {
  const folder = scratch(t);
  let store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  await store.commit(commit({ puts: { b: "2" } }));
  await store.close();
  flip(logOf(folder), '"threadkeep"', 3);
  assert.equal((await failure(fileStore({ folder }).get("a"))).code, "corrupt");
  store = fileStore({ folder, repair: true });
  assert.deepEqual(
    [...(await everything(store))],
    [
      ["a", "1"],
      ["b", "2"],
    ],
  );
  await store.close();
});

test("a value in SQLite that changed is damage of that value, and not another message", async (t) => {
  const path = join(scratch(t), "a.db");
  let keep = await Threadkeep.open({ storage: await sqliteStore({ path }) });
  await keep.thread("good").append([user("a sound heliotrope")]);
  const [{ transcript: bad }] = await keep.thread("bad").append([user("a spoilt heliotrope")]);
  await keep.close();
  const database = new Database(path);
  // The JSON stays whole: only a sum can tell.
  const { changes } = database
    .prepare("UPDATE threadkeep SET value = CAST(replace(CAST(value AS TEXT), 'spoilt', 'spoilz') AS BLOB) WHERE key LIKE 'p/%' AND instr(value, 'spoilt') > 0")
    .run();
  assert.equal(changes, 1);
  database.close();
  keep = await Threadkeep.open({ storage: await sqliteStore({ path }) });
  await goesOn(keep, bad);
  await keep.close();
});

test("a SQLite database without sums opens, and its values gain them as they are written", async (t) => {
  const path = join(scratch(t), "old.db");
  const database = new Database(path);
  database.exec(`CREATE TABLE threadkeep (key TEXT NOT NULL COLLATE BINARY PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE threadkeep_version (version INTEGER NOT NULL); INSERT INTO threadkeep_version VALUES (1);
    INSERT INTO threadkeep VALUES ('a', x'31'), ('b', x'32')`);
  // One that cannot be written to is read as it is.
  const readonly = await sqliteStore({ database: new Database(path, { readonly: true }) });
  assert.equal(text(await readonly.get("a")), "1");
  await rejects(readonly.commit(commit({ puts: { a: "2" } })), "unavailable", /readonly/);
  const store = await sqliteStore({ path });
  assert.deepEqual(
    (await store.scan({ start: "", end: "~", reverse: false })).map(([key, value]) => [key, text(value)]),
    [
      ["a", "1"],
      ["b", "2"],
    ],
  );
  await store.commit(commit({ puts: { a: "one" } }));
  assert.deepEqual(database.prepare("SELECT key, crc IS NULL AS none FROM threadkeep ORDER BY key").all(), [
    { key: "a", none: 0 },
    { key: "b", none: 1 },
  ]);
  database.exec("UPDATE threadkeep SET value = x'33'");
  const error = await failure(store.get("a"));
  assert.deepEqual([error.code, error.key, error.details.key], ["corrupt", "a", "a"]);
  assert.equal(text(await store.get("b")), "3", "nobody knows what it was");
  await store.close();
  database.close();
});

test("a store of one's own that names a damaged record is read around, too", async () => {
  const adapter = mapAdapter();
  let keep = await Threadkeep.open({ storage: adapter });
  await keep.thread("good").append([user("a sound heliotrope")]);
  const [{ transcript: bad }] = await keep.thread("bad").append([user("a spoilt heliotrope")]);
  const { get, scan } = adapter;
  const check = (key) => {
    if (key.startsWith(`p/${bad}/`)) throw Object.assign(new Error("bits have flipped"), { code: "corrupt", key });
  };
  const spoilt = {
    ...adapter,
    damaged: () => ["the disk has aged"],
    get: async (key) => (check(key), get.call(adapter, key)),
    scan: async (range) => {
      const found = await scan.call(adapter, range);
      for (const [key] of found) check(key);
      return found;
    },
  };
  keep = await Threadkeep.open({ storage: spoilt });
  assert.deepEqual((await keep.stats()).damaged[0], { transcript: null, what: "the disk has aged" });
  await goesOn(keep, bad);
});

test("a keep that was opened and never written to is created, on every store", async (t) => {
  const folder = scratch(t);
  const adapter = mapAdapter();
  for (const open of [() => fileStore({ folder }), () => sqliteStore({ path: join(folder, "a.db") }), () => adapter]) {
    // As React's StrictMode opens it: twice.
    for (let time = 0; time < 2; time += 1) {
      const keep = await Threadkeep.open({ storage: await open() });
      assert.equal(keep.beginning, "created");
      if (time === 1) await keep.thread("main").append(many(1));
      await keep.close();
    }
    const keep = await Threadkeep.open({ storage: await open() });
    assert.equal(keep.beginning, "existing");
    await keep.close();
  }
});

test("a process whose lock was deleted writes nothing more", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  for (const name of readdirSync(folder)) if (name.startsWith("lock-")) fs.rmSync(join(folder, name));
  const before = readFileSync(logOf(folder));
  const error = await failure(store.commit(commit({ puts: { a: "2" } })));
  assert.deepEqual([error.code, error.name], ["storage-gone", "ThreadkeepError"]);
  assert.match(error.message, /the lock lock-\S+ in the folder .* was deleted .* close the store and open it again/);
  const keep = await Threadkeep.open({ storage: store });
  // The engine hands on the words.
  await rejects(keep.thread("main").append(many(1)), "storage-gone", /the lock lock-/);
  assert.equal(text(await store.get("a")), "1");
  await keep.close();
  assert.ok(readFileSync(logOf(folder)).equals(before));
  const again = fileStore({ folder });
  await again.commit(commit({ puts: { a: "3" } }));
  await again.close();
});

// A deletion that fits into the rest of the last block needs none of the bytes that are kept for it; writing the log anew does.
for (const more of [0, 1_400, 2_800])
  test(`on a full disk a conversation can be cleared, and its room is there again: messages of ${100_000 + more} characters`, {
    skip: process.platform !== "linux" || process.getuid?.() !== 0,
  }, async (t) => {
    const { execFileSync } = await import("node:child_process");
    const mounted = scratch(t);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", mounted], { stdio: "ignore" });
    } catch {
      t.skip("no file system can be mounted here");
      return;
    }
    const folder = join(mounted, "store");
    try {
      const keep = await Threadkeep.open({ storage: fileStore({ folder }) });
      await keep.thread("main").append([user("stays")]);
      let full;
      for (let at = 0; full === undefined; at += 1)
        full = await keep
          .thread("large")
          .append([user(`${at} ${"x".repeat(100_000 + more)}`)])
          .then(
            () => undefined,
            (error) => error,
          );
      assert.equal(full.code, "quota");
      // Down to the last byte.
      const { bavail, bsize } = fs.statfsSync(mounted);
      writeFileSync(join(mounted, "filler"), Buffer.alloc(bavail * bsize, 7));
      assert.ok((await keep.thread("large").clear()) > 10);
      const free = () => fs.statfsSync(mounted).bavail * bsize;
      for (let tries = 0; free() < 2_000_000 && tries < 100; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.ok(free() > 2_000_000, `${free()} bytes are free`);
      await keep.thread("large").append([user("y".repeat(500_000))]);
      assert.deepEqual(texts(await keep.thread("main").messages()), ["stays"]);
      await keep.close();
    } finally {
      execFileSync("umount", ["-l", mounted], { stdio: "ignore" });
    }
  });
