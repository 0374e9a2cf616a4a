// Damages the files and values of stores, and sees what a keep makes of them: `cargo xtask fuzz stores`, or `node test/fuzz/stores.mjs
// [--steps N] [--seed S] [--first N] [--store NAME] [--seconds N]` with THREADKEEP_TARBALL naming the packed package. Steps are for each store.
//
// What must hold: every call answers, or rejects with a ThreadkeepError that is not our own fault; none takes 2 s of the processor, and the
// process stays below 512 MB beyond what it had at first; a store that does not open changes nothing; messages are never others than those
// that were stored, nor in another order; and a conversation of which nothing was damaged is there whole. Values of stores without
// checksums (IndexedDB, Redis, PostgreSQL) are damaged in a store in memory: there a changed letter is a letter.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { mapAdapter } from "../support/adapters.mjs";
import { Threadkeep, ThreadkeepError, assistant, user } from "../support/expect.mjs";
import { module, random } from "../support/filestore.mjs";
import { sqliteStore } from "../support/stores.mjs";
import { memoryDirectory } from "./opfs.mjs";

const { fileStore } = await module("stores/file.js");
const { opfsStore } = await module("stores/opfs.js");

const { values } = parseArgs({
  options: { steps: { type: "string" }, seed: { type: "string" }, first: { type: "string" }, store: { type: "string" }, seconds: { type: "string" } },
});
/** A store is left after so many seconds, with what was tried until then. */
const SECONDS = Number(values.seconds ?? Infinity);
const [STEPS, SEED, FIRST] = [Number(values.steps ?? 10_000), Number(values.seed ?? 1), Number(values.first ?? 0)];
/** The most time of the processor that a step may take, in milliseconds, and the most memory. */
const [LONGEST, MOST] = [2_000, 512 << 20];
/** What is our own fault. */
const OURS = new Set(["internal", "panicked", "bad-adapter", "bad-request", "init-failed"]);

/** What the last step did. */
let done = "";

const HEADS = ["one", "two", "three", "four"];

/** Fills a keep; `after` hears of each conversation that was written to. */
async function fill(keep, after = () => {}, large = false) {
  for (const [index, head] of HEADS.entries()) {
    await keep.thread(head).append([user(`${head} asks about größere heliotropes`), assistant(`an answer ${"of some words ".repeat(20)}`)]);
    for (let at = 0; at < 12; at += 1) await keep.thread(head).append([user(`${head} says ${at} ${"and so on ".repeat((at * 7 + index) % 23)}`)]);
    if (large && index === 1) await keep.thread(head).append([user("large ".repeat(220_000))]);
    await after(head);
  }
  await keep.receive({ messageId: "outside", content: "from outside", systemPrompt: "brief" });
  await keep.memory.remember({ kind: "preference", fact: "likes rye bread" });
  await keep.memory.remember({ kind: "preference", fact: "likes heliotropes" });
  await keep.search("heliotrope");
}

const CALLS = [
  ["transcripts", (keep) => keep.transcripts()],
  ["roots", (keep) => keep.roots()],
  ["heads", (keep) => keep.threads()],
  ["lint", (keep) => keep.lint()],
  ["export", (keep) => keep.export().text()],
  ["facts", (keep) => keep.memory.facts()],
  ["search", (keep) => keep.search("heliotrope")],
  ["node", (keep) => keep.node("outside")],
  ["stats", (keep) => keep.stats()],
];

/** What came of a promise: a value, or an error that a user may get. */
async function outcome(name, promise) {
  try {
    return { value: await promise };
  } catch (error) {
    assert.ok(error instanceof ThreadkeepError && !OURS.has(error.code), `${name}: ${error?.code} ${error?.stack ?? error}`);
    return { error };
  }
}

/** Whether `found` is `expected` with some left out. */
function among(found, expected) {
  let at = 0;
  return found.every((one) => {
    while (at < expected.length && expected[at] !== one) at += 1;
    at += 1;
    return at <= expected.length;
  });
}

const contents = (messages) => messages.map(({ content }) => content);

/** Looks at a keep that may be damaged; `whole` are the heads that must be there as they were. */
async function look(keep, expected, whole, sums) {
  for (const [name, call] of CALLS) {
    const { error } = await outcome(name, call(keep));
    // Calls over the whole keep go on, unless the place itself cannot be read.
    if (sums === "log" && name !== "node") assert.equal(error, undefined, `${name}: ${error?.message}`);
  }
  for (const head of HEADS) {
    const { value, error } = await outcome(`getAll ${head}`, keep.thread(head).messages());
    if (whole.has(head)) assert.deepEqual(error?.message ?? contents(value), expected.get(head), `${head} is whole`);
    else if (value !== undefined && sums !== "none")
      assert.ok(among(contents(value), expected.get(head)), `${head} has other messages: ${JSON.stringify(contents(value)).slice(0, 300)}`);
  }
}

/** Goes on with it: what is whole can be written to, and what is damaged be deleted. */
async function goOn(keep, expected, whole) {
  for (const head of HEADS) {
    const { error } = await outcome(`append ${head}`, keep.thread(head).append([user("and on")]));
    if (whole.has(head)) assert.equal(error?.message, undefined, `append ${head}`);
  }
  const { value: all = [] } = await outcome("transcripts", keep.transcripts());
  for (const { id } of all)
    if ((await outcome("chain", keep.chain(id))).error !== undefined || (await outcome("tree", keep.transcript(id).tree())).error !== undefined)
      await outcome("deleteTranscript", keep.transcript(id).delete());
  for (const head of whole) assert.deepEqual(contents(await keep.thread(head).messages()), [...expected.get(head), "and on"]);
}

/** Damages bytes; gives them, and from where to where nothing is sure any more. */
function damage(bytes, next) {
  const below = (most) => Math.floor(next() * most);
  const at = below(bytes.length);
  const length = Math.min(bytes.length - at, [1, 2, 5, 30, 512, 4096][below(6)]);
  const noise = () => Buffer.from(Array.from({ length }, () => below(256)));
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at + length)];
  const same = (middle) => ({ bytes: Buffer.concat([before, middle, behind]), from: at, to: at + length });
  switch (below(9)) {
    case 0:
    case 1: {
      const flipped = Buffer.from(bytes);
      flipped[at] ^= 1 << below(8);
      return { bytes: flipped, from: at, to: at + 1 };
    }
    case 2:
      return same(noise());
    case 3:
      return same(Buffer.alloc(length));
    case 4:
      return { bytes: before, from: at, to: bytes.length };
    case 5:
      return same(Buffer.alloc(0));
    case 6:
      return { bytes: Buffer.concat([before, noise(), bytes.subarray(at)]), from: at, to: at + 1 };
    case 7:
      return { bytes: Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]), from: at, to: at + length };
    default: {
      const from = below(bytes.length - length + 1);
      return same(Buffer.from(bytes.subarray(from, from + length)));
    }
  }
}

const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "threadkeep-fuzz-"));

/** A folder of files in memory of this script. */
function read(folder) {
  return new Map(
    readdirSync(folder)
      .filter((name) => !name.startsWith("lock-"))
      .map((name) => [name, readFileSync(join(folder, name))]),
  );
}

function write(folder, files) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, bytes] of files) if (name !== "reserve") writeFileSync(join(folder, name), bytes);
}

/** A store whose files are a log. `place` writes files, reads them and opens the store. */
async function logStore(place, large) {
  const spans = new Map();
  const size = () => place.files().get("log-000001").length;
  place.write(new Map());
  const keep = await Threadkeep.open({ storage: place.open(false), encoding: "estimate" });
  let from = 0;
  await fill(
    keep,
    (head) => {
      spans.set(head, [from, size()]);
      from = size();
    },
    large,
  );
  const expected = new Map();
  for (const head of HEADS) expected.set(head, contents(await keep.thread(head).messages()));
  await keep.close();
  const files = place.files();
  const names = [...files.keys()].filter((name) => name !== "reserve");
  assert.equal(
    names.some((name) => name.startsWith("index-")),
    large,
  );
  return {
    expected,
    async step(next) {
      const name = next() < 0.75 ? "log-000001" : names[Math.floor(next() * names.length)];
      const gone = next() < 0.02;
      const { bytes, from, to } = damage(files.get(name), next);
      const left = new Map(files);
      done = `${name} ${gone ? "was deleted" : `was damaged from ${from} to ${to}, ${bytes.length - files.get(name).length} bytes more`}`;
      if (gone) left.delete(name);
      else left.set(name, bytes);
      place.write(left);
      // Of the lines around the damage, the ends may be gone.
      const touched = ([first, last]) => name === "log-000001" && (gone || (from <= last && to >= first - 1));
      const whole = new Set(HEADS.filter((head) => !touched(spans.get(head))));
      const opened = await outcome("open", Threadkeep.open({ storage: place.open(false), encoding: "estimate" }));
      if (opened.error !== undefined) {
        assert.ok(["corrupt", "newer-version"].includes(opened.error.code), opened.error.message);
        const now = place.files();
        for (const [name, bytes] of left) if (!name.startsWith("index-") && name !== "reserve") assert.ok(now.get(name)?.equals(bytes), `${name} was changed`);
      } else {
        // An index knows where values were; where bytes are missing or too many, that is elsewhere from there on.
        await look(opened.value, expected, large && bytes.length !== files.get(name).length ? new Set() : whole, "log");
        await opened.value.close();
        place.write(left);
      }
      const repaired = await outcome("open with repair", Threadkeep.open({ storage: place.open(true), encoding: "estimate" }));
      // Without its first line a log can be so damaged that nobody knows whose it is.
      if (repaired.error !== undefined)
        return assert.ok(name === "log-000001" && !gone && (from < 100 || repaired.error.code === "newer-version"), `repair: ${repaired.error.message}`);
      await look(repaired.value, expected, whole, "log");
      await goOn(repaired.value, expected, whole);
      await repaired.value.close();
      const again = await Threadkeep.open({ storage: place.open(false), encoding: "estimate" });
      for (const head of whole) assert.deepEqual(contents(await again.thread(head).messages()), [...expected.get(head), "and on"]);
      await again.close();
    },
  };
}

const folderPlace = (name) => {
  const folder = join(scratch, name);
  return { write: (files) => write(folder, files), files: () => read(folder), open: (repair) => fileStore({ folder, repair }) };
};

const opfsPlace = () => {
  const directory = memoryDirectory();
  // Node has a navigator from version 21 on.
  if (globalThis.navigator === undefined) globalThis.navigator = {};
  Object.defineProperty(globalThis.navigator, "storage", { value: { getDirectory: async () => directory.root }, configurable: true });
  return {
    write: (files) => directory.write("threadkeep-fuzz", new Map([...files].filter(([name]) => name !== "reserve"))),
    files: () => directory.files("threadkeep-fuzz"),
    open: (repair) => opfsStore({ name: "fuzz", repair }),
  };
};

async function sqlite() {
  const folder = join(scratch, "sqlite");
  const path = join(folder, "a.db");
  write(folder, new Map());
  const storage = await sqliteStore({ path });
  const keep = await Threadkeep.open({ storage, encoding: "estimate" });
  await fill(keep);
  const expected = new Map();
  for (const head of HEADS) expected.set(head, contents(await keep.thread(head).messages()));
  // As a kill leaves it: the newest is in the write-ahead log.
  const files = read(folder);
  await keep.close();
  files.delete("a.db-shm");
  assert.deepEqual([...files.keys()].sort(), ["a.db", "a.db-wal"]);
  const checkpointed = read(folder);
  return {
    expected,
    async step(next) {
      const before = next() < 0.5 ? files : checkpointed;
      const names = [...before.keys()];
      const name = names[Math.floor(next() * names.length)];
      const left = new Map(before);
      left.set(name, damage(before.get(name), next).bytes);
      write(folder, left);
      const store = await outcome("sqliteStore", sqliteStore({ path, busyTimeout: 50 }));
      if (store.error !== undefined) return;
      const opened = await outcome("open", Threadkeep.open({ storage: store.value, encoding: "estimate" }));
      if (opened.error !== undefined) return;
      await look(opened.value, expected, new Set(), "sqlite");
      await goOn(opened.value, expected, new Set());
      await outcome("close", opened.value.close());
    },
  };
}

async function valuesAlone() {
  const adapter = mapAdapter();
  let keep = await Threadkeep.open({ storage: adapter, encoding: "estimate" });
  await fill(keep);
  const expected = new Map();
  const ids = new Map();
  for (const head of HEADS) {
    expected.set(head, contents(await keep.thread(head).messages()));
    ids.set(head, (await keep.thread(head).head()).transcript);
  }
  await keep.close();
  const before = [...adapter.records];
  return {
    expected,
    async step(next) {
      const broken = mapAdapter();
      for (const [key, value] of before) broken.records.set(key, value);
      const touched = [];
      for (let times = next() < 0.7 ? 1 : 3; times > 0; times -= 1) {
        const [key, value] = before[Math.floor(next() * before.length)];
        touched.push(key);
        broken.records.set(key, new Uint8Array(value.length === 0 ? Buffer.from("x") : damage(Buffer.from(value), next).bytes));
      }
      const whole = new Set(HEADS.filter((head) => !touched.some((key) => key.includes(ids.get(head)) || key.startsWith("h/"))));
      keep = await Threadkeep.open({ storage: broken, encoding: "estimate" });
      await look(keep, expected, whole, "none");
      await goOn(keep, expected, whole);
      await keep.close();
    },
  };
}

const STORES = {
  file: () => logStore(folderPlace("file"), false),
  index: () => logStore(folderPlace("index"), true),
  opfs: () => logStore(opfsPlace(), false),
  sqlite,
  values: valuesAlone,
};

let findings = 0;
const rss = () => process.memoryUsage().rss;
try {
  for (const [name, make] of Object.entries(STORES)) {
    if (values.store !== undefined && values.store !== name) continue;
    const { step } = await make();
    const [started, least] = [performance.now(), rss()];
    let [slowest, most, tried] = [0, 0, 0];
    for (let at = FIRST; at < FIRST + STEPS && performance.now() - started < SECONDS * 1_000; at += 1) {
      tried += 1;
      // A step is the same whatever was before.
      const next = random(SEED * 1_000_003 + at * 7_919 + 1);
      for (let skip = 0; skip < 5; skip += 1) next();
      const before = process.cpuUsage();
      try {
        await step(next);
        const { user, system } = process.cpuUsage(before);
        const took = (user + system) / 1_000;
        slowest = Math.max(slowest, took);
        most = Math.max(most, rss() - least);
        assert.ok(took < LONGEST, `${took} ms`);
        assert.ok(most < MOST, `${most} bytes`);
      } catch (error) {
        findings += 1;
        console.log(
          `FOUND store ${name}, --seed ${SEED} --first ${at} --steps 1 --store ${name}: ${done}: ${error.message}\n${error.stack?.split("\n").slice(0, 8).join("\n")}`,
        );
        if (findings >= 20) throw new Error("too many findings");
      }
    }
    console.log(
      `${name}: ${tried} steps in ${Math.round((performance.now() - started) / 1000)} s, the longest ${Math.round(slowest)} ms of the processor, at most ${Math.round(most / 2 ** 20)} MB more; ${findings} findings so far`,
    );
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(findings === 0 ? 0 : 1);
