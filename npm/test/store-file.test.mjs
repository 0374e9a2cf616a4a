// The file store: its contract, what its files look like, what opening says of damage, and who may open it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs, {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Threadkeep, rejects, user } from "./support/expect.mjs";
import { bytes, child, commit, everything, failure, fileStore, logText, logs, module, scratch, text } from "./support/filestore.mjs";
import { inChild, source } from "./support/installed.mjs";

const { checkStore } = await module("stores/contract.js");

/** A folder with `count` commits, `k/1` and on, closed. */
async function filled(t, count = 5) {
  const folder = scratch(t);
  const store = fileStore({ folder });
  for (let at = 1; at <= count; at += 1) await store.commit(commit({ puts: { [`k/${at}`]: `value ${at}` } }));
  await store.close();
  return folder;
}

/** As if the process had been killed: no mark says that the log was closed. */
const crashed = (folder) => rmSync(join(folder, "closed"), { force: true });

const only = (folder) => join(folder, logs(folder)[0]);

test("the contract holds", { timeout: 120_000 }, async (t) => {
  const folder = scratch(t);
  for (const options of [{}, { cacheBytes: 0, compactBytes: 0 }]) {
    const { passed, failures } = await checkStore(() => fileStore({ folder, ...options }));
    assert.deepEqual(failures, []);
    assert.ok(passed.length >= 28, `${passed.length} behaviours`);
  }
});

test("the log is text: a line for each commit, its values as they are, other bytes as base64", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { "t/a": '{"title":"Grüße 👋"}', "p/a": "one\ntwo\n", bin: Uint8Array.of(0, 255, 1) } }));
  await store.commit(commit({ deletes: ["bin"], deleteRanges: [["p/", "p/~"]] }));
  const lines = logText(folder).split("\n");
  await store.close();
  assert.match(lines[0], /^[0-9a-f]{8} \{"threadkeep":1,"store":"[0-9a-f]{32}","log":1,"n":0\}$/);
  assert.match(lines[1], /^[0-9a-f]{8} \{"n":1,"put":\[\["t\/a",24,"[0-9a-f]{8}"\],\["p\/a",8,"[0-9a-f]{8}"\],\["bin",4,"[0-9a-f]{8}","base64"\]\]\}$/);
  assert.deepEqual(lines.slice(2, 7), ['{"title":"Grüße 👋"}', "one", "two", "", "AP8B"]);
  assert.match(lines[7], /^[0-9a-f]{8} \{"n":2,"delete":\["bin"\],"deleteRange":\[\["p\/","p\/~"\]\]\}$/);
  assert.equal(lines.length, 9);
  const again = fileStore({ folder });
  assert.deepEqual([...(await everything(again))], [["t/a", '{"title":"Grüße 👋"}']]);
  await again.close();
});

test("what is in it comes back after closing: large, empty, odd values and keys", async (t) => {
  const folder = scratch(t);
  const large = new Uint8Array(8 << 20).map((_, at) => (at * 2_654_435_761) >>> 13);
  const values = {
    large,
    text: bytes("é".repeat(4 << 20)),
    empty: new Uint8Array(0),
    "a\nb": bytes("1"),
    '"\\': bytes("2"),
    "": bytes("3"),
    ["k".repeat(2000)]: bytes("4"),
    bom: Uint8Array.of(0xef, 0xbb, 0xbf, 65),
    half: Uint8Array.of(0xed, 0xa0, 0x80),
  };
  let store = fileStore({ folder });
  await store.commit(commit({ puts: Object.entries(values) }));
  for (let times = 0; times < 2; times += 1) {
    for (const [key, value] of Object.entries(values))
      assert.ok(Buffer.from(await store.get(key)).equals(Buffer.from(value)), JSON.stringify(key.slice(0, 20)));
    await store.close();
    store = fileStore({ folder, cacheBytes: 0 });
  }
  const found = await store.scan({ start: "", end: "\x7f", reverse: true });
  assert.deepEqual(
    found.map(([key]) => key),
    Object.keys(values).sort().reverse(),
  );
  for (const [key, value] of found) assert.ok(Buffer.from(value).equals(Buffer.from(values[key])));
  await store.close();
});

test("answers are copies, and so is what was given", async (t) => {
  const store = fileStore({ folder: scratch(t) });
  await store.commit(commit({ puts: { a: "abc" } }));
  (await store.get("a"))[0] = 0;
  (await store.scan({ start: "a", end: "b", reverse: false }))[0][1][0] = 0;
  assert.equal(text(await store.get("a")), "abc");
  await store.close();
});

test("a last commit that was not written to its end is cut off, wherever it was cut", async (t) => {
  const folder = await filled(t, 3);
  const whole = readFileSync(only(folder));
  const before = whole.lastIndexOf('{"n":3') - 9;
  for (let size = before; size < whole.length; size += 1) {
    writeFileSync(only(folder), whole.subarray(0, size));
    crashed(folder);
    const store = fileStore({ folder });
    assert.deepEqual([...(await everything(store)).keys()], ["k/1", "k/2"], `cut to ${size}`);
    await store.commit(commit({ absent: ["k/3"], puts: { "k/3": "again" } }));
    await store.close();
    const again = fileStore({ folder });
    assert.equal(text(await again.get("k/3")), "again");
    await again.close();
  }
});

test("whatever lies behind the last commit and is none is cut off", async (t) => {
  const folder = await filled(t, 2);
  const size = statSync(only(folder)).size;
  for (const rest of ["\0".repeat(5000), "\n", "00000000 {}\n", 'deadbeef {"n":3,"put":[["k/3",3,"00000000"]]}\nabc\n', "x".repeat(100_000)]) {
    truncateSync(only(folder), size);
    appendFileSync(only(folder), rest);
    const store = fileStore({ folder });
    assert.equal((await everything(store)).size, 2);
    await store.close();
    assert.equal(statSync(only(folder)).size, size);
  }
});

test("damage anywhere else is an error that names the place, and changes nothing", async (t) => {
  const folder = await filled(t, 4);
  const file = only(folder);
  const whole = readFileSync(file);
  const last = whole.lastIndexOf('{"n":4') - 9;
  for (let at = 0; at < last; at += 1) {
    const damaged = Buffer.from(whole);
    damaged[at] ^= 1;
    writeFileSync(file, damaged);
    const error = await failure(fileStore({ folder }).get("k/1"));
    assert.equal(error.code, "corrupt", `byte ${at}: ${error.message}`);
    assert.match(error.message, /log-000001 in the folder .* is damaged at byte \d+/);
    assert.deepEqual([error.details.folder, error.details.file], [fs.realpathSync(folder), "log-000001"]);
    assert.ok(error.details.offset <= at, `byte ${at} is named as ${error.details.offset}`);
    assert.ok(readFileSync(file).equals(damaged));
  }
});

test("lines that were taken out, doubled or put elsewhere with an editor are noticed", async (t) => {
  const folder = await filled(t, 3);
  const lines = logText(folder).split("\n");
  const commits = [1, 3, 5].map((at) => `${lines[at]}\n${lines[at + 1]}\n`);
  const [one, two, three] = commits;
  for (const order of [
    [one, three],
    [two, three],
    [one, two, two, three],
    [two, one, three],
    [one, two, three, one],
    [one, three, two],
  ]) {
    writeFileSync(only(folder), `${lines[0]}\n${order.join("")}`);
    const error = await failure(fileStore({ folder }).get("k/1"));
    assert.equal(error.code, "corrupt");
    assert.match(error.message, /missing, doubled or moved/);
  }
});

test("a commit of another store that is pasted into a value is no part of this one", async (t) => {
  const [other, folder] = [await filled(t, 9), scratch(t)];
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  await store.commit(commit({ puts: { log: `\n${logText(other)}` } }));
  await store.close();
  truncateSync(only(folder), statSync(only(folder)).size - 3);
  crashed(folder);
  const again = fileStore({ folder });
  assert.deepEqual([...(await everything(again)).keys()], ["a"], "a torn commit, not damage in the middle");
  await again.close();
});

test("repair opens what is left, and keeps the file as it was", async (t) => {
  const folder = await filled(t, 6);
  const whole = readFileSync(only(folder));
  whole[whole.indexOf("value 3") + 2] ^= 4;
  whole[whole.indexOf('{"n":5') + 2] ^= 4;
  writeFileSync(only(folder), whole);
  await assert.rejects(fileStore({ folder }).get("k/1"), { code: "corrupt" });
  const store = fileStore({ folder, repair: true });
  const keys = ["k/1", "k/2", "k/3", "k/4", "k/5", "k/6"];
  const read = (store) => Promise.all(keys.map(async (key) => text(await store.get(key).catch(({ code }) => bytes(code)))));
  const left = ["value 1", "value 2", "corrupt", "value 4", undefined, "value 6"];
  assert.deepEqual(await read(store), left);
  assert.equal((await store.damaged()).length, 2);
  await store.commit(commit({ puts: { new: "7" } }));
  await store.close();
  assert.ok(readFileSync(join(folder, "damaged-log-000001")).equals(whole));
  const again = fileStore({ folder });
  assert.deepEqual(await read(again), left);
  assert.equal(text(await again.get("new")), "7");
  // What is lost stays named until it is written anew.
  await again.commit(commit({ puts: { "k/3": "again" } }));
  assert.deepEqual([...(await everything(again)).keys()], ["k/1", "k/2", "k/3", "k/4", "k/6", "new"]);
  await again.close();
});

test("a value that is damaged behind our back is an error when it is read, and the rest can be read", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder, cacheBytes: 0 });
  await store.commit(commit({ puts: { a: "first value", b: "second value" } }));
  const whole = readFileSync(only(folder));
  const file = fs.openSync(only(folder), "r+");
  fs.writeSync(file, "S", whole.indexOf("second value"));
  fs.closeSync(file);
  assert.equal(text(await store.get("a")), "first value");
  const error = await failure(store.get("b"));
  assert.deepEqual([error.code, error.key, error.details.offset], ["corrupt", "b", whole.indexOf("second value")]);
  assert.match(error.message, /"b" at byte \d+ of log-000001 in the folder .* is not what was written .*restore the file/);
  await store.close();
});

test("a log of a newer version is left alone", async (t) => {
  const folder = await filled(t, 1);
  const { crc32 } = await module("stores/log/crc.js");
  const json = '{"threadkeep":2,"store":"x","log":1,"n":0}';
  const line = `${crc32(bytes(json)).toString(16).padStart(8, "0")} ${json}\nwhatever`;
  writeFileSync(only(folder), line);
  const error = await failure(fileStore({ folder }).get("a"));
  assert.deepEqual([error.code, error.details.found, error.details.supported], ["newer-version", 2, 1]);
  assert.equal(readFileSync(only(folder), "utf8"), line);
});

test("the log is written anew when more of it is dead than lives, and reading goes on meanwhile", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder, compactBytes: 100_000, cacheBytes: 0 });
  await store.commit(commit({ puts: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`keep/${at}`, `kept ${at} `.repeat(50)])) }));
  for (let round = 0; round < 60; round += 1) {
    const puts = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`hot/${at}`, `${round}/${at} `.repeat(400)]));
    const [, seen] = await Promise.all([
      store.commit(commit({ puts, durability: round % 3 === 0 ? "strict" : "relaxed" })),
      store.scan({ start: "keep/", end: "keep/~", reverse: false }),
    ]);
    assert.equal(seen.length, 300);
    for (const [key, value] of seen) assert.ok(text(value).startsWith(`kept ${key.slice(5)} `));
  }
  await store.close();
  const [name] = logs(folder);
  assert.ok(Number(name.slice(4)) > 3, name);
  assert.ok(statSync(join(folder, name)).size < 1_500_000);
  const again = fileStore({ folder });
  const all = await everything(again);
  assert.equal(all.size, 320);
  for (let at = 0; at < 20; at += 1) assert.equal(all.get(`hot/${at}`), `59/${at} `.repeat(400));
  await again.close();
});

test("what was deleted is gone from the files: when it is closed, or at once where that is asked for", async (t) => {
  const folder = scratch(t);
  const files = () =>
    readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("");
  let keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  await keep.thread("secret").append([user("the password is swordfish")]);
  await keep.thread("main").append([user("something else")]);
  assert.match(files(), /swordfish/);
  await keep.thread("secret").clear();
  await keep.close();
  assert.doesNotMatch(files(), /swordfish/);
  assert.match(files(), /something else/);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { x: "trout" } }));
  await store.commit(commit({ puts: { x: "" } }));
  assert.match(files(), /trout/);
  await Promise.all([store.compact(), store.compact(), store.commit(commit({ puts: { y: "1" } }))]);
  assert.doesNotMatch(files(), /trout/);
  assert.equal(text(await store.get("y")), "1");
  await store.close();
  keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  assert.equal((await keep.thread("main").messages())[0].content, "something else");
  await keep.close();
});

test("an index makes opening quick; a wrong or lost one changes nothing, and a log that lost its end is noticed", async (t) => {
  const folder = scratch(t);
  let store = fileStore({ folder });
  const puts = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`k/${String(at).padStart(5, "0")}`, at % 7 === 0 ? Uint8Array.of(at, 0, 255) : `value ${at} `.repeat(60)]),
  );
  await store.commit(commit({ puts }));
  await store.commit(commit({ puts: { after: "1" } }));
  await store.close();
  const expected = await (async () => {
    const index = readdirSync(folder).find((name) => name.startsWith("index-"));
    assert.ok(index !== undefined, "an index is written when a large log is closed");
    const damaged = readFileSync(join(folder, index));
    const at = Math.floor(damaged.length / 2);
    store = fileStore({ folder });
    const all = await everything(store);
    await store.commit(commit({ puts: { later: "2" }, deletes: ["after"] }));
    await store.close();
    damaged[at] ^= 1;
    const name = readdirSync(folder).find((name) => name.startsWith("index-"));
    writeFileSync(join(folder, name), damaged);
    return all;
  })();
  assert.equal(expected.size, 2_001);
  store = fileStore({ folder });
  const all = await everything(store);
  assert.deepEqual([all.size, all.has("after"), all.get("later")], [2_001, false, "2"]);
  for (const [key, value] of expected) if (key !== "after") assert.equal(all.get(key), value);
  await store.commit(commit({ puts: { more: "x".repeat(2 << 20) } }));
  await store.close();
  assert.ok(readdirSync(folder).some((name) => name.startsWith("index-")));
  truncateSync(only(folder), 1_000_000);
  const error = await failure(fileStore({ folder }).get("k/00001"));
  assert.equal(error.code, "corrupt");
  assert.match(error.message, /its end is missing/);
  rmSync(only(folder));
  assert.match((await failure(fileStore({ folder }).get("k/00001"))).message, /log-\d+ is missing .*restore it/);
});

test("a full disk is quota, nothing of the commit is there, and it goes on when there is room", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  const size = statSync(only(folder)).size;
  const { writeSync } = fs;
  let full = true;
  fs.writeSync = (file, bytes, from, length, at) => {
    // Half of what is wanted is written, as systems do it, and then nothing.
    if (!full) return writeSync(file, bytes, from, length, at);
    if (length > 40) return writeSync(file, bytes, from, length >> 1, at);
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  };
  t.after(() => (fs.writeSync = writeSync));
  const error = await failure(store.commit(commit({ puts: { b: "2".repeat(1000) } })));
  assert.equal(error.code, "quota");
  assert.match(error.message, /the folder .* cannot be used \(writing to log-000001\): the disk is full: free space and try again/);
  assert.deepEqual([await store.get("b"), statSync(only(folder)).size], [undefined, size]);
  const keep = await Threadkeep.open({ storage: fileStore({ folder: scratch(t) }) }).catch((error) => error);
  assert.equal(keep.code, "quota");
  full = false;
  await store.commit(commit({ absent: ["b"], puts: { b: "3" } }));
  assert.equal(text(await store.get("b")), "3");
  await store.close();
  assert.deepEqual(
    [...(await everything(await reopened(folder)))],
    [
      ["a", "1"],
      ["b", "3"],
    ],
  );
});

async function reopened(folder) {
  const store = fileStore({ folder });
  const scan = await store.scan({ start: "", end: "\x7f", reverse: false });
  await store.close();
  return { scan: async () => scan };
}

test("a disk that is really full", { skip: process.platform !== "linux" || process.getuid?.() !== 0 }, async (t) => {
  const folder = scratch(t);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    t.skip("no file system can be mounted here");
    return;
  }
  try {
    const store = fileStore({ folder: join(folder, "store") });
    let written = 0;
    let error;
    while (error === undefined) {
      error = await store.commit(commit({ puts: { [`k/${written}`]: "x".repeat(50_000) } })).then(
        () => void (written += 1),
        (error) => error,
      );
      assert.ok(written < 100);
    }
    assert.equal(error.code, "quota");
    assert.ok(written > 5);
    assert.equal((await store.scan({ start: "k/", end: "k/~", reverse: false })).length, written);
    await store.close();
    assert.equal((await (await reopened(join(folder, "store"))).scan()).length, written);
  } finally {
    execFileSync("umount", [folder], { stdio: "ignore" });
  }
});

test("a disk that fails to sync: nothing is acknowledged, and nothing more is taken until it is opened anew", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  const { fdatasync } = fs;
  fs.fdatasync = (_, done) => done(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
  t.after(() => (fs.fdatasync = fdatasync));
  assert.equal((await failure(store.commit(commit({ puts: { b: "2" } })))).code, "storage");
  fs.fdatasync = fdatasync;
  assert.match((await failure(store.commit(commit({ puts: { c: "3" } })))).message, /must be closed and opened again/);
  assert.equal(await store.get("b"), undefined);
  await store.close();
  const again = fileStore({ folder });
  await again.commit(commit({ puts: { c: "3" } }));
  assert.equal(text(await again.get("c")), "3");
  await again.close();
});

test("a folder that cannot be is unavailable, and the words say which and what to do", async (t) => {
  const folder = scratch(t);
  writeFileSync(join(folder, "file"), "");
  for (const wrong of [join(folder, "file"), join(folder, "file", "below"), join(folder, "x".repeat(300))]) {
    const error = await rejects(Threadkeep.open({ storage: fileStore({ folder: wrong }) }), "unavailable", /the folder .* cannot be used .*name/);
    assert.equal(error.details.folder, wrong);
  }
  mkdirSync(join(folder, "log", "log-000001"), { recursive: true });
  await rejects(Threadkeep.open({ storage: fileStore({ folder: join(folder, "log") }) }), "storage", /opening log-000001/);
  assert.deepEqual(readdirSync(join(folder, "log")), ["log-000001"], "no lock is left behind");
});

test("a folder without the right to write", { skip: process.platform === "win32" || process.getuid?.() === 0 }, async (t) => {
  const folder = scratch(t);
  chmodSync(folder, 0o500);
  await rejects(Threadkeep.open({ storage: fileStore({ folder }) }), "unavailable", /change the owner or the rights/);
  chmodSync(folder, 0o700);
});

test("a folder that is deleted while it is open: what can no longer be found is not acknowledged", { skip: process.platform === "win32" }, async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  rmSync(folder, { recursive: true });
  const error = await failure(store.commit(commit({ puts: { b: "2" } })));
  assert.equal(error.code, "storage-gone");
  assert.match(error.message, /was deleted while/);
  await store.close();
});

test("a second process is refused, with who has the folder and what to do; when that one ends, it may", async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.commit(commit({ puts: { a: "1" } }));
  const attempt = `
    import { Threadkeep } from "threadkeep";
    import { fileStore } from "threadkeep/file";
    try {
      const keep = await Threadkeep.open({ storage: fileStore({ folder: ${JSON.stringify(folder)} }) });
      console.log("opened", keep.beginning);
    } catch (error) {
      console.log(error.name, error.code, error.details.pid, error.message);
    }`;
  const refused = inChild(attempt);
  assert.ok(
    refused.startsWith(`ThreadkeepError blocked ${process.pid} process ${process.pid} has the folder ${fs.realpathSync(folder)} open, and only one may`),
    refused,
  );
  assert.match(refused, /Close it there, end that process, or give this one a folder/);
  await store.commit(commit({ puts: { b: "2" } }));
  await store.close();
  assert.equal(inChild(attempt), "opened existing\n");
});

test("another thread of the same process is refused too", () => {
  const said = inChild(`
    import { Worker, isMainThread } from "node:worker_threads";
    import { fileStore } from "threadkeep/file";
    const folder = process.env.THREADKEEP_HOME + "/threads";
    const store = fileStore({ folder });
    await store.get("a");
    const code = "import('threadkeep/file').then(({ fileStore }) => fileStore({ folder: " + JSON.stringify(folder) + " }).get('a')).catch((error) => console.log(error.code, error.message))";
    await new Promise((resolve) => new Worker(code, { eval: true }).on("exit", resolve));
    await store.close();`);
  assert.match(said, /^blocked this process \(\d+\), in another thread, has/);
});

test("of many processes that begin at once, one has the folder at a time", { timeout: 60_000 }, async (t) => {
  const folder = scratch(t);
  writeFileSync(join(folder, "lock-999999-1-00000000-00000000"), "");
  fs.utimesSync(join(folder, "lock-999999-1-00000000-00000000"), 1, 1);
  const said = [];
  const code = `
    import fs from "node:fs";
    import { fileStore } from "threadkeep/file";
    const folder = ${JSON.stringify(folder)};
    let held = 0;
    for (let tries = 0; tries < 300 && held < 3; tries += 1) {
      const store = fileStore({ folder });
      try { await store.open(); } catch (error) { if (error.code !== "blocked") throw error; continue; }
      fs.writeFileSync(folder + "/inside", String(process.pid), { flag: "wx" });
      await new Promise((resolve) => setTimeout(resolve, 5));
      fs.rmSync(folder + "/inside");
      await store.close();
      held += 1;
    }
    console.log(held);`;
  const ends = await Promise.all([1, 2, 3, 4].map(() => child(code, (line) => said.push(line)).ended));
  for (const { code, errors } of ends) assert.equal(code, 0, errors);
  assert.equal(said.length, 4);
  assert.ok(said.map(Number).reduce((a, b) => a + b) >= 4, said.join());
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith("lock-")),
    [],
  );
});

test("a lock of a dead process, or of another with its number, is not in the way", { skip: process.platform !== "linux" }, async (t) => {
  const folder = scratch(t);
  const { running, ended } = child(
    `
    import { fileStore } from "threadkeep/file";
    const store = fileStore({ folder: ${JSON.stringify(folder)} });
    await store.open();
    console.log("open");
    setInterval(() => {}, 1000);`,
    () => running.kill("SIGKILL"),
  );
  await ended;
  const [left] = readdirSync(folder).filter((name) => name.startsWith("lock-"));
  assert.match(left, new RegExp(`^lock-${running.pid}-`));
  // Our own number, as if the system had given it anew.
  writeFileSync(join(folder, left.replace(`lock-${running.pid}-`, `lock-${process.pid}-`)), "");
  const store = fileStore({ folder });
  // Nothing was ever written to it.
  assert.equal(await store.open(), "created");
  assert.equal(readdirSync(folder).filter((name) => name.startsWith("lock-")).length, 1);
  await store.close();
  assert.equal(readdirSync(folder).filter((name) => name.startsWith("lock-")).length, 0);
});

test("a folder that could not be taken because the disk was full can be taken when there is room", async (t) => {
  const folder = scratch(t);
  const { writeFileSync: write } = fs;
  t.after(() => (fs.writeFileSync = write));
  // A full disk takes the file's name and then none of what is in it.
  fs.writeFileSync = (path, text, options) => {
    write(path, "", options);
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  };
  const store = fileStore({ folder });
  await rejects(store.open(), "quota", /full/);
  assert.deepEqual(readdirSync(folder), []);
  fs.writeFileSync = write;
  assert.equal(await store.open(), "created");
  await store.close();
});

test("a process of which nothing can be read is not taken for dead", { skip: process.platform !== "linux" }, async (t) => {
  const folder = scratch(t);
  const store = fileStore({ folder });
  await store.open();
  const [held] = readdirSync(folder).filter((name) => name.startsWith("lock-"));
  await store.close();
  // The lock of a living one: whoever started this process.
  const living = held.replace(`lock-${process.pid}-`, `lock-${process.ppid}-`);
  writeFileSync(join(folder, living), "");
  const { readFileSync: read } = fs;
  t.after(() => (fs.readFileSync = read));
  fs.readFileSync = (path, ...more) => {
    if (String(path) === `/proc/${process.ppid}/stat`) throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    return read(path, ...more);
  };
  await rejects(fileStore({ folder }).open(), "blocked", new RegExp(`process ${process.ppid} `));
  assert.ok(readdirSync(folder).includes(living));
});

test("a lock of another machine counts while it is young", async (t) => {
  const folder = scratch(t);
  const foreign = join(folder, "lock-17-1-00000000-12345678");
  writeFileSync(foreign, "");
  const error = await failure(fileStore({ folder }).open());
  assert.equal(error.code, "blocked");
  assert.match(error.message, /process 17 of another machine or container .*wait a minute, or delete .*lock-17-1-/);
  const old = new Date(Date.now() - 120_000);
  fs.utimesSync(foreign, old, old);
  const store = fileStore({ folder });
  await store.open();
  assert.equal(existsSync(foreign), false);
  await store.close();
});

test("stores of one folder share it, whichever way leads there", async (t) => {
  const folder = scratch(t);
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "link"), "junction");
  const [a, b] = ["real", "link"].map((name) => fileStore({ folder: join(folder, name) }));
  await a.commit(commit({ puts: { x: "1" } }));
  assert.equal(text(await b.get("x")), "1");
  await a.close();
  await b.commit(commit({ puts: { x: "2" } }));
  // One that is opened while the last is being closed waits for that.
  const closing = b.close();
  const c = fileStore({ folder: join(folder, "real") });
  assert.equal(text(await c.get("x")), "2");
  await closing;
  await c.close();
  await assert.rejects(c.get("x"), { code: "closed" });
});

test("under Node a keep lies in files, in the working directory, and hears of others in the process", () => {
  const printed = inChild(`
    import fs from "node:fs";
    import assert from "node:assert/strict";
    import { Threadkeep } from "threadkeep";
    process.chdir(process.env.THREADKEEP_HOME);
    delete process.env.THREADKEEP_HOME;
    const keep = await Threadkeep.open();
    assert.deepEqual([keep.storage, keep.beginning], ["file", "created"]);
    const other = await Threadkeep.open({ storage: "file", name: "threadkeep" });
    const elsewhere = await Threadkeep.open({ name: "elsewhere" });
    const heard = new Promise((resolve) => other.on("change", resolve));
    elsewhere.on("change", () => console.log("heard elsewhere"));
    await keep.thread("main").append([{ role: "user", content: "hi" }]);
    const alive = setTimeout(() => {}, 20_000);
    assert.equal((await heard).remote, true);
    clearTimeout(alive);
    assert.equal(await other.thread("main").count(), 1);
    assert.equal(await elsewhere.thread("main").count(), 0);
    await Promise.all([keep, other, elsewhere].map((keep) => keep.close()));
    const again = await Threadkeep.open();
    assert.deepEqual([again.beginning, await again.thread("main").count()], ["existing", 1]);
    assert.deepEqual(fs.readdirSync(".threadkeep").sort(), [".gitignore", "elsewhere", "threadkeep"]);
    assert.equal(fs.readFileSync(".threadkeep/.gitignore", "utf8"), "*\\n");
    if (process.platform !== "win32") assert.equal(fs.statSync(".threadkeep/threadkeep/log-000001").mode & 0o077, 0, "nobody else may read it");
    await again.close();
  `);
  assert.equal(printed, "");
});

test("whatever a keep is called, it has a folder of its own, below the one it belongs in", () => {
  const names = [
    "a",
    "A",
    "a.",
    ".a",
    "..",
    ".",
    "../a",
    "a/b",
    "a\\b",
    "C:",
    "con",
    "NUL.txt",
    "%61",
    "ä",
    "a b",
    "x".repeat(512),
    `${"x".repeat(511)}y`,
    "*",
    "\n",
  ];
  const printed = inChild(`
    import fs from "node:fs";
    import { Threadkeep } from "threadkeep";
    const names = ${JSON.stringify(names)};
    for (const name of names) {
      const keep = await Threadkeep.open({ name });
      if (keep.beginning !== "created") throw new Error(JSON.stringify(name) + " was there already");
      await keep.thread("main").append([{ role: "user", content: name }]);
      await keep.close();
    }
    for (const name of names) {
      const keep = await Threadkeep.open({ name });
      if ((await keep.thread("main").messages())[0].content !== name) throw new Error(name);
      await keep.close();
    }
    const folders = fs.readdirSync(process.env.THREADKEEP_HOME);
    console.log(folders.length, new Set(folders.map((name) => name.toLowerCase())).size, folders.every((name) => /^[a-z0-9_%-]([a-z0-9_.%-]*[a-z0-9_%-])?$/.test(name) && name.length <= 200));
  `);
  assert.equal(printed, `${names.length} ${names.length} true\n`);
});

test("options that are wrong are refused at once", () => {
  for (const [argument, options] of [
    ["options.folder", {}],
    ["options.folder", { folder: "" }],
    ["options.folder", { folder: 7 }],
    ["options.path", { path: "x" }],
    ["options.cacheBytes", { folder: "x", cacheBytes: -1 }],
    ["options.repair", { folder: "x", repair: "yes" }],
  ])
    assert.throws(
      () => fileStore(options),
      (error) => error.code === "bad-request" && error.details.argument === argument,
    );
});

test("the examples of docs/stores/file.md run as they stand", () => {
  const page = readFileSync(join(source, "../docs/stores/file.md"), "utf8");
  const [first, second, ...more] = [...page.matchAll(/```js\n(.+?)```/gs)].map(([, code]) => code);
  assert.equal(more.length, 0);
  const there = "process.chdir(process.env.THREADKEEP_HOME);\nconst before = process.env.THREADKEEP_HOME;\ndelete process.env.THREADKEEP_HOME;\n";
  assert.equal(inChild(`${there}${first}await keep.close();`), "file created\n");
  const said = inChild(
    `${there}import fs from "node:fs";\n${second.replace("const keep", 'import { Threadkeep } from "threadkeep";\nconst keep')}await keep.close(); console.log(fs.readdirSync("data/conversations").join());`,
  );
  assert.equal(said, "closed,log-000001,reserve\n");
});

test("a whole keep in a folder: conversations, search, deletion, and back after closing", async (t) => {
  const folder = scratch(t);
  let keep = await Threadkeep.open({ storage: fileStore({ folder }), encoding: "estimate" });
  assert.deepEqual([keep.storage, keep.beginning], ["adapter", "created"]);
  for (let at = 0; at < 300; at += 1) await keep.thread(`c${at % 3}`).append([user(`message ${at} about ${["pears", "plums", "figs"][at % 3]}`)]);
  assert.equal((await keep.search("plums", { limit: 5 })).length, 5);
  assert.equal(await keep.thread("c2").clear(), 100);
  await keep.close();
  keep = await Threadkeep.open({ storage: fileStore({ folder }) });
  assert.equal(keep.beginning, "existing");
  assert.deepEqual([await keep.thread("c0").count(), await keep.thread("c1").count(), await keep.thread("c2").count()], [100, 100, 0]);
  assert.deepEqual(await keep.lint(), []);
  assert.equal((await keep.search("figs")).length, 0);
  await keep.close();
});
