// Sync: devices of one person over folders, servers and other stores come to the same state, and the remote learns nothing.
//
// THREADKEEP_ACTS: how many random acts (150 without it); THREADKEEP_SEED: which (printed).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { serveWebdav } from "../../tests/support/webdav.mjs";
import { Threadkeep, memory, rejects } from "./support/expect.mjs";
import { fileStore } from "./support/filestore.mjs";
import { installed } from "./support/installed.mjs";
import { difference, digest, syncProgram } from "./support/sync-program.mjs";

const { directoryRemote, folderRemote, recordsRemote, removeSyncDevice, s3Remote, sync, syncDevices, webdavRemote } = await import(
  pathToFileURL(join(installed, "dist/sync.js"))
);
const { syncKeep } = await import(pathToFileURL(join(installed, "dist/sync/keep.js")));
const { syncOnce } = await import(pathToFileURL(join(installed, "dist/sync/session.js")));
const { Sealer } = await import(pathToFileURL(join(installed, "dist/sync/seal.js")));

const ACTS = Number(process.env.THREADKEEP_ACTS ?? 150);
const SEED = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);

const folder = mkdtempSync(join(tmpdir(), "threadkeep-sync-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const fresh = () => mkdtempSync(join(folder, "remote-"));

const passphrase = "correct horse battery";
const syncer = (remote) => (keep, device) => sync(keep, remote, { passphrase, device });
const said = async (keep, name = "main") => (await keep.thread(name).messages()).map(({ content }) => content);
const say = (keep, content, name = "main") => keep.thread(name).append([{ role: "user", content }]);
const same = async (...keeps) => {
  const [first, ...others] = await Promise.all(keeps.map(digest));
  for (const other of others) assert.equal(difference(first, other), undefined);
};

for (const [name, open, volatile] of [
  ["memory", () => memory({ encoding: "estimate" }), true],
  ["files", (at) => Threadkeep.open({ storage: fileStore({ folder: join(folder, `device-${at}`) }), encoding: "estimate" }), false],
]) {
  test(`${ACTS} random acts on three devices (${name}), over a remote that loses, cuts, doubles and delays files, end alike`, {
    timeout: 60_000 + ACTS * 1_000,
  }, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    t.diagnostic(JSON.stringify(await syncProgram({ package: { sync }, open, volatile, seed: SEED, acts: ACTS })));
  });
}

test("a thread that went on on two devices keeps both ways", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const go = syncer(folderRemote(fresh()));
  await say(laptop, "hello");
  await go(laptop, "laptop");
  await go(phone, "phone");
  await say(laptop, "on the laptop");
  await say(phone, "on the phone");
  await go(laptop, "laptop");
  const { apart } = await go(phone, "phone");
  assert.equal(apart.length, 1);
  await go(laptop, "laptop");
  assert.deepEqual(await said(laptop), ["hello", "on the phone"]);
  assert.match(apart[0].other, /^main \(laptop \w{6}\)$/);
  assert.deepEqual(await said(laptop, apart[0].other), ["hello", "on the laptop"]);
  await same(laptop, phone);
});

test("what was deleted on one device is deleted on all, what was said below it too, and no late device brings it back", async () => {
  const [laptop, phone, tablet] = [await memory(), await memory(), await memory()];
  const go = syncer(folderRemote(fresh()));
  await say(laptop, "keep this");
  const [{ id }] = await say(laptop, "delete this");
  for (const [keep, name] of [
    [laptop, "laptop"],
    [phone, "phone"],
    [tablet, "tablet"],
  ])
    await go(keep, name);
  await laptop.at(id).deleteBranch();
  await say(phone, "below it");
  await go(laptop, "laptop");
  await go(phone, "phone");
  // It was away all the time, and has what is deleted.
  await say(tablet, "from the tablet", "other");
  await go(tablet, "tablet");
  for (const [keep, name] of [
    [laptop, "laptop"],
    [phone, "phone"],
    [tablet, "tablet"],
  ])
    await go(keep, name);
  assert.deepEqual(await said(phone), ["keep this"]);
  assert.deepEqual(await said(laptop, "other"), ["from the tablet"]);
  await same(laptop, phone, tablet);
  // Whoever comes new gets what is there now.
  const desk = await memory();
  await go(desk, "desk");
  assert.deepEqual(await said(desk), ["keep this"]);
});

test("pins, titles, strategies, settings, facts and what supersedes them come along, and the later change counts", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const go = syncer(folderRemote(fresh()));
  const [{ id, transcript }] = await say(laptop, "hello");
  await laptop.at(id).pin();
  await laptop.thread("main").setStrategy("hierarchical");
  await laptop.settings.set("main", { systemPrompt: "Be brief." });
  await laptop.settings.set(null, { policy: "stable" });
  const tea = await laptop.memory.remember({ fact: "Ann likes tea.", kind: "preference" });
  await laptop.memory.remember({ fact: "Ann does not like tea.", kind: "preference" });
  await laptop.memory.remember({ fact: "Ann lives in Oslo." });
  for (const [keep, name] of [
    [laptop, "laptop"],
    [phone, "phone"],
  ])
    await go(keep, name);
  await same(laptop, phone);
  assert.equal((await phone.settings.get("main")).systemPrompt, "Be brief.");
  const facts = await phone.memory.facts({ superseded: true });
  assert.equal(facts.length, 3);
  assert.ok(facts.every(({ origin, tags }) => origin === "user" && !tags.includes("imported")));
  await phone.transcript(transcript).rename("Tea");
  await phone.at(id).unpin();
  await phone.memory.forget(tea.id);
  await phone.settings.set(null, null);
  for (const [keep, name] of [
    [phone, "phone"],
    [laptop, "laptop"],
  ])
    await go(keep, name);
  assert.equal((await laptop.transcripts())[0].title, "Tea");
  assert.deepEqual(await laptop.thread("main").pins(), []);
  assert.equal((await laptop.memory.facts({ superseded: true })).length, 2);
  assert.deepEqual(await laptop.settings.get(null, { own: true }), {});
  await same(laptop, phone);
});

test("a sync that is cut off while a fact is written anew loses none", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const remote = folderRemote(fresh());
  const go = syncer(remote);
  const { id } = await laptop.memory.remember({ fact: "Ann likes tea." });
  for (const [keep, name] of [
    [laptop, "laptop"],
    [phone, "phone"],
  ])
    await go(keep, name);
  await laptop.memory.editFact(id, { fact: "Ann likes coffee." });
  await go(laptop, "laptop");
  const cut = { ...syncKeep(phone), importOwn: () => Promise.reject(new Error("cut off")) };
  await assert.rejects(syncOnce(cut, remote, { passphrase }), /cut off/);
  assert.deepEqual(await phone.memory.facts(), []);
  for (const [keep, name] of [
    [phone, "phone"],
    [laptop, "laptop"],
  ])
    await go(keep, name);
  assert.deepEqual(
    (await phone.memory.facts()).map(({ fact }) => fact),
    ["Ann likes coffee."],
  );
  await same(laptop, phone);
});

test("a sync with nothing new reads one small file of each device and writes none", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const remote = folderRemote(fresh());
  const go = syncer(remote);
  for (let at = 0; at < 50; at += 1) await say(laptop, `message ${at} ${randomBytes(1000).toString("hex")}`, `thread ${at}`);
  const first = await go(laptop, "laptop");
  await go(phone, "phone");
  await go(laptop, "laptop");
  const { sent, received } = await go(laptop, "laptop");
  assert.deepEqual(sent, { files: 0, bytes: 0 });
  assert.equal(received.files, 2);
  assert.ok(received.bytes < 10_000, `${received.bytes}`);
  // One more message goes out without the others.
  await say(laptop, "one more", "thread 7");
  const more = await go(laptop, "laptop");
  assert.ok(more.sent.bytes < first.sent.bytes / 3, `${more.sent.bytes} of ${first.sent.bytes}`);
  assert.deepEqual(
    (await syncDevices(remote, { passphrase })).map(({ name }) => name),
    ["laptop", "phone"],
  );
});

test("another passphrase opens nothing and writes nothing", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const at = fresh();
  const remote = folderRemote(at);
  await say(laptop, "the secret of the day");
  await sync(laptop, remote, { passphrase });
  const files = readdirSync(at).sort();
  await rejects(sync(phone, remote, { passphrase: "another" }), "remote-damaged");
  await rejects(sync(laptop, remote, { passphrase: "another" }), "bad-request");
  await rejects(syncDevices(remote, { passphrase: "another" }), "remote-damaged");
  await rejects(sync(phone, remote, { passphrase: "" }), "bad-request");
  assert.deepEqual(readdirSync(at).sort(), files);
  for (const file of files) {
    assert.match(file, /^[0-9a-f]{16}(-[0-9a-f]{32}\.pack|\.head)$/);
    assert.ok(!readFileSync(join(at, file), "latin1").includes("secret"));
  }
});

test("a file that was damaged on the remote is written again by its device", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const at = fresh();
  const go = syncer(folderRemote(at));
  await say(laptop, "hello");
  await go(laptop, "laptop");
  for (const file of readdirSync(at)) if (file.endsWith(".pack")) writeFileSync(join(at, file), readFileSync(join(at, file)).subarray(0, 1000));
  const { skipped, messages } = await go(phone, "phone");
  assert.equal(messages, 0);
  assert.deepEqual(
    skipped.map(({ code }) => code),
    ["remote-damaged"],
  );
  await go(laptop, "laptop");
  await go(phone, "phone");
  await go(laptop, "laptop");
  assert.equal((await go(phone, "phone")).skipped.length, 0);
  assert.deepEqual(await said(phone), ["hello"]);
  // An emptied remote fills again.
  for (const file of readdirSync(at)) rmSync(join(at, file));
  await go(phone, "phone");
  const desk = await memory();
  await go(desk, "desk");
  await same(phone, desk);
});

test("the text of what was deleted leaves the remote, out of packs with other threads, too", async () => {
  const laptop = await memory();
  const at = fresh();
  const go = syncer(folderRemote(at));
  await say(laptop, "a thread that stays", "one");
  await say(laptop, "words that go", "two");
  const [{ id }] = await say(laptop, "a branch that goes", "one");
  const plain = async () => {
    const packs = readdirSync(at).filter((file) => file.endsWith(".pack"));
    return (await Promise.all(packs.map((file) => new Sealer(passphrase).open(readFileSync(join(at, file)), file)))).join("");
  };
  await go(laptop, "laptop");
  assert.match(await plain(), /words that go/);
  await laptop.thread("two").clear();
  await laptop.at(id).deleteBranch();
  await go(laptop, "laptop");
  await go(laptop, "laptop");
  const left = await plain();
  assert.ok(left.includes("a thread that stays") && !left.includes("words that go") && !left.includes("a branch that goes"));
  assert.deepEqual((await go(laptop, "laptop")).sent, { files: 0, bytes: 0 });
});

test("a keep that was copied to another machine becomes a device of its own", async () => {
  const open = (name) => Threadkeep.open({ storage: fileStore({ folder: join(folder, name) }) });
  const remote = folderRemote(fresh());
  const go = syncer(remote);
  let laptop = await open("original");
  await say(laptop, "hello");
  await go(laptop, "laptop");
  await laptop.close();
  cpSync(join(folder, "original"), join(folder, "copy"), { recursive: true });
  [laptop] = [await open("original")];
  const copy = await open("copy");
  await say(laptop, "here", "one");
  await say(copy, "there", "two");
  await go(laptop, "laptop");
  await go(copy, "copy");
  await go(laptop, "laptop");
  await go(copy, "copy");
  await same(laptop, copy);
  assert.deepEqual(
    (await syncDevices(remote, { passphrase })).map(({ name }) => name),
    ["copy", "laptop"],
  );
  await laptop.close();
  await copy.close();
});

test("a device can be removed, and is there again when it syncs again", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const at = fresh();
  const remote = folderRemote(at);
  const go = syncer(remote);
  await say(laptop, "hello");
  const { device } = await go(laptop, "laptop");
  await go(phone, "phone");
  await removeSyncDevice(remote, device);
  assert.deepEqual(
    (await syncDevices(remote, { passphrase })).map(({ name }) => name),
    ["phone"],
  );
  assert.ok(readdirSync(at).every((file) => !file.startsWith(device)));
  await go(laptop, "laptop");
  assert.equal((await syncDevices(remote, { passphrase })).length, 2);
  await rejects(removeSyncDevice(remote, "../x"), "bad-request");
});

test("WebDAV, a bucket, a chosen folder and records of another keep are remotes alike", async () => {
  const { address, files, requests, close } = await serveWebdav();
  const shared = await memory();
  const directory = new Map();
  const missing = () => Promise.reject(Object.assign(new Error("none"), { name: "NotFoundError" }));
  const handle = {
    name: "threads",
    async *keys() {
      yield* directory.keys();
    },
    getFileHandle: (name, { create } = {}) =>
      !create && !directory.has(name)
        ? missing()
        : Promise.resolve({
            getFile: async () => ({ arrayBuffer: async () => Uint8Array.from(directory.get(name)).buffer }),
            createWritable: async () => ({ write: async (bytes) => void directory.set(name, bytes), close: async () => {} }),
          }),
    removeEntry: (name) => (directory.delete(name) ? Promise.resolve() : missing()),
  };
  const signed = [];
  const sign = (url, init) => {
    signed.push(init.method);
    return fetch(url, init);
  };
  for (const remote of [
    webdavRemote(`${address}/dav/threads`, { headers: { authorization: "Basic x" } }),
    s3Remote(`${address}/bucket/my%20threads/`, { fetch: sign }),
    directoryRemote(handle),
    recordsRemote(shared.records("sync"), "shared"),
  ]) {
    const [laptop, phone] = [await memory(), await memory()];
    const go = syncer(remote);
    await say(laptop, "hello");
    await go(laptop, "laptop");
    await go(phone, "phone");
    await say(phone, "hello back");
    await go(phone, "phone");
    await go(laptop, "laptop");
    assert.deepEqual(await said(laptop), ["hello", "hello back"], remote.id);
    await same(laptop, phone);
    const { device } = await go(phone, "phone");
    await removeSyncDevice(remote, device);
    assert.equal((await syncDevices(remote, { passphrase })).length, 1, remote.id);
  }
  assert.ok(files.size > 0 && directory.size > 0 && signed.includes("PUT"));
  assert.ok(requests.some((request) => request.endsWith("Basic x")));
  await close();
  await rejects(sync(await memory(), webdavRemote(`${address}/dav/`), { passphrase }), "remote-failed");
  assert.throws(() => webdavRemote("not an address"), { code: "bad-request" });
});

test("a sync tells how far it is, and ends where it is told to", async () => {
  const [laptop, phone] = [await memory(), await memory()];
  const remote = folderRemote(fresh());
  for (let at = 0; at < 20; at += 1) await say(laptop, `message ${at}`, `thread ${at}`);
  const steps = new Set();
  await sync(laptop, remote, { passphrase, onProgress: ({ step, done, total }) => steps.add(step) && assert.ok(done < total) });
  const ending = new AbortController();
  const onProgress = ({ step, done }) => {
    steps.add(step);
    if (step === "receiving" && done === 5) ending.abort();
  };
  await rejects(sync(phone, remote, { passphrase, signal: ending.signal, onProgress }), "cancelled");
  assert.deepEqual([...steps], ["reading", "sending", "receiving"]);
  await sync(phone, remote, { passphrase });
  await same(laptop, phone);
});

test("threadkeep sync brings two machines' keeps together", () => {
  const at = fresh();
  const run = (home, args, env = { THREADKEEP_PASSPHRASE: passphrase }) =>
    spawnSync(process.execPath, [join(installed, "dist/cli/bin.js"), ...args, "--folder", join(folder, home)], {
      encoding: "utf8",
      env: { ...process.env, ...env },
      input: "",
    });
  const file = join(folder, "chat.json");
  writeFileSync(
    file,
    JSON.stringify([
      { role: "user", content: "a question of Ann's" },
      { role: "assistant", content: "an answer" },
    ]),
  );
  assert.equal(run("ann", ["import", file]).status, 0);
  const sent = run("ann", ["sync", at]);
  assert.equal(sent.status, 0, sent.stderr);
  const got = run("bob", ["sync", at, "--json"]);
  assert.equal(JSON.parse(got.stdout).messages, 2);
  assert.match(run("bob", ["search", "question"]).stdout, /question/);
  assert.equal(JSON.parse(run("bob", ["sync", at, "--devices", "--json"]).stdout).length, 2);
  const refused = run("bob", ["sync", at], { THREADKEEP_PASSPHRASE: "" });
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /THREADKEEP_PASSPHRASE/);
  assert.match(run("bob", ["sync"]).stderr, /name a folder/);
});
