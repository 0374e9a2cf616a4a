// The file store and processes that are killed while they write: what was acknowledged is there, nothing twice, nothing in half,
// and a compaction that was under way leaves nothing missing.
//
// THREADKEEP_FILE_KILLS: how many kills at random moments (6 without it), and with it every step is killed at instead of some;
// THREADKEEP_SEED: the moments.
import assert from "node:assert/strict";
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { child, everything, fileStore, logs, random, scratch } from "./support/filestore.mjs";

const KILLS = Number(process.env.THREADKEEP_FILE_KILLS ?? 6);
const THOROUGH = process.env.THREADKEEP_FILE_KILLS !== undefined;
const SEED = Number(process.env.THREADKEEP_SEED ?? Date.now() % 1_000_000);
/** So many of the newest commits' values stay; the others are deleted, so that the log has to be written anew often. */
const WINDOW = 40;

/** What commit `at` puts: a value that follows from its number, and anything but constant in size. */
const VALUE = `const textAt = (at) => (at % 11 === 0 ? "" : ("{\\"at\\":" + at + ",\\"text\\":\\"größer\\"}\\n").repeat(1 + (at * 7919) % 97));`;
const textAt = new Function("at", `${VALUE} return textAt(at);`);

/** Commits on and on, several at once, and tells of each that was acknowledged. */
const writer = (folder, inFlight) => `
  import { fileStore } from "threadkeep/file";
  ${VALUE}
  const encoder = new TextEncoder();
  const store = fileStore({ folder: ${JSON.stringify(folder)}, compactBytes: 30_000, cacheBytes: 10_000 });
  const last = await store.get("last");
  let at = last == null ? 0 : Number(new TextDecoder().decode(last));
  const name = (at) => "seq/" + String(at).padStart(8, "0");
  console.log("ready " + at);
  const one = async () => {
    for (;;) {
      const mine = ++at;
      await store.commit({
        absent: [name(mine)], present: mine > 1 ? ["last"] : [], durability: mine % 5 === 0 ? "relaxed" : "strict",
        deletes: mine % 2 ? [name(mine - ${WINDOW})] : [], deleteRanges: mine % 2 ? [] : [[name(0), name(mine - ${WINDOW} + 1)]],
        puts: [[name(mine), encoder.encode(textAt(mine))], ["last", encoder.encode(String(mine))]],
      });
      process.stdout.write(mine + "\\n");
    }
  };
  for (let lane = 0; lane < ${inFlight}; lane += 1) one();
`;

/** Looks at what a killed process has left. */
async function check(folder, acknowledged, words) {
  const store = fileStore({ folder, cacheBytes: 0 });
  const all = await everything(store);
  await store.close();
  const last = Number(all.get("last") ?? 0);
  assert.ok(last >= acknowledged, `${words}: ${acknowledged} was acknowledged, ${last} is the last there is`);
  const there = [...all.keys()].filter((key) => key !== "last").map((key) => Number(key.slice(4)));
  const expected = Array.from({ length: Math.min(last, WINDOW) }, (_, index) => last - Math.min(last, WINDOW) + 1 + index);
  // The odd ones delete one key and the even ones all before, so that one more may be there.
  assert.deepEqual(
    there.filter((at) => at > last - WINDOW),
    expected,
    `${words}: without a gap, and nothing twice`,
  );
  for (const at of there) assert.equal(all.get(`seq/${String(at).padStart(8, "0")}`), textAt(at), `${words}: commit ${at}`);
  return last;
}

test(`${KILLS} kills at any moment lose nothing that was acknowledged`, { timeout: 30 * 60_000 }, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const next = random(SEED + 1);
  const folder = scratch(t);
  let before = 0;
  let compacted = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    let acknowledged = before;
    const until = 20 + Math.floor(next() * 400);
    let count = 0;
    const inFlight = 1 + Math.floor(next() * 12);
    const { running, ended } = child(writer(folder, inFlight), (line) => {
      if (line.startsWith("ready ")) return assert.equal(Number(line.slice(6)), before);
      acknowledged = Math.max(acknowledged, Number(line));
      count += 1;
      if (count === until) setTimeout(() => running.kill("SIGKILL"), next() * 5);
    });
    const { signal, errors } = await ended;
    assert.equal(signal, "SIGKILL", errors);
    if (logs(folder).length > 1) compacted += 1;
    before = await check(folder, acknowledged, `kill ${kill}`);
  }
  t.diagnostic(`${before} commits; ${compacted} kills in the middle of a compaction; now ${logs(folder)}`);
  assert.ok(Number(logs(folder)[0].slice(4)) > 1, "the log was written anew now and then");
});

/**
 * A short life of a store, with a compaction in it, that ends itself by SIGKILL at step `step` of what it does to files; with `half`, half of
 * what that step would write is written.
 */
const steps = (folder, step, half) => `
  import fs from "node:fs";
  import { fileStore } from "threadkeep/file";
  let left = ${step};
  const count = (name, cut) => {
    const original = fs[name];
    fs[name] = (...args) => {
      if (/^(writeSync|write)$/.test(name) && args[0] <= 2) return original(...args);
      left -= 1;
      if (left === 0) {
        if (${half} && cut) fs.writeSync(args[0], args[1].subarray(args[2], args[2] + (args[3] >> 1)), 0, args[3] >> 1, args[4]);
        process.kill(process.pid, "SIGKILL");
        for (;;);
      }
      return original(...args);
    };
  };
  for (const name of ["fdatasync", "ftruncateSync", "rmSync", "openSync", "closeSync", "fsyncSync", "writeFileSync"]) count(name, false);
  count("writeSync", true);
  ${VALUE}
  const encoder = new TextEncoder();
  const store = fileStore({ folder: ${JSON.stringify(folder)}, compactBytes: 20_000 });
  for (let at = 1; at <= 60; at += 1) {
    const puts = [["last", encoder.encode(String(at))], ["hot/" + at % 3, encoder.encode(textAt(at))], ["cold/" + String(at).padStart(2, "0"), encoder.encode(textAt(at % 13))]];
    await store.commit({ absent: [], present: [], deletes: at > 30 ? ["cold/" + String(at - 30).padStart(2, "0")] : [], deleteRanges: [], puts, durability: "strict" });
    fs.writeSync(1, at + "\\n");
  }
  await store.close();
  fs.writeSync(1, "closed\\n");
`;

/** What is in that store after commit `last`. */
function modelOf(last) {
  const records = new Map();
  for (let at = 1; at <= last; at += 1) {
    records
      .set("last", String(at))
      .set(`hot/${at % 3}`, textAt(at))
      .set(`cold/${String(at).padStart(2, "0")}`, textAt(at % 13));
    if (at > 30) records.delete(`cold/${String(at - 30).padStart(2, "0")}`);
  }
  return new Map([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
}

test("a kill at any step of writing, compacting and closing leaves what was acknowledged", { timeout: 30 * 60_000 }, async (t) => {
  const folder = scratch(t);
  const stride = THOROUGH ? 1 : 6;
  let inCompaction = 0;
  let runs = 0;
  for (let step = 1 + (SEED % stride); ; step += stride) {
    rmSync(folder, { recursive: true, force: true });
    let acknowledged = 0;
    let closed = false;
    const { ended } = child(steps(folder, step, runs % 2 === 1), (line) => {
      if (line === "closed") closed = true;
      else acknowledged = Number(line);
    });
    const { signal, errors } = await ended;
    if (closed) break;
    assert.equal(signal, "SIGKILL", errors);
    runs += 1;
    const left = readdirSync(folder);
    if (left.filter((name) => name.startsWith("log-")).length > 1) inCompaction += 1;
    const store = fileStore({ folder });
    const all = await everything(store);
    const last = Number(all.get("last") ?? 0);
    assert.ok(last === acknowledged || last === acknowledged + 1, `step ${step}: ${acknowledged} acknowledged, ${last} there`);
    assert.deepEqual(all, modelOf(last), `step ${step}`);
    await store.close();
    assert.equal(logs(folder).length, 1, "what the kill has left is cleared away");
  }
  t.diagnostic(`${runs} kills, ${inCompaction} of them during a compaction`);
  assert.ok(runs >= 20 && inCompaction >= 2, `${runs} kills, ${inCompaction} of them during a compaction`);
});

test("a compaction's copy that was cut off anywhere does not count", { timeout: 60_000 }, async (t) => {
  const [folder, other] = [scratch(t), scratch(t)];
  const before = join(other, "before");
  const store = fileStore({ folder, compactBytes: 20_000 });
  const encoder = new TextEncoder();
  const parts = { absent: [], present: [], deletes: [], deleteRanges: [], durability: "strict" };
  for (let at = 1; logs(folder)[0] !== "log-000002"; at += 1) {
    // The folder as it was before: the log that will be replaced.
    if (logs(folder).length === 1) {
      rmSync(before, { recursive: true, force: true });
      cpSync(folder, before, { recursive: true, filter: (path) => !/lock-/.test(path) });
    }
    await store.commit({
      ...parts,
      puts: [
        ["hot", encoder.encode(textAt(50 + (at % 3)))],
        ["last", encoder.encode(String(at))],
      ],
    });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await store.close();
  const copy = readFileSync(join(folder, "log-000002"));
  const whole = copy.indexOf('{"whole"') - 9;
  const original = readFileSync(join(before, "log-000001"));
  for (let size = 0; size < whole + 20; size += size < 300 || size > whole - 50 ? 1 : 997) {
    rmSync(before, { recursive: true, force: true });
    cpSync(folder, before, { recursive: true, filter: (path) => !/log-|index-|lock-|closed/.test(path) });
    writeFileSync(join(before, "log-000001"), original);
    const cut = Buffer.from(copy.subarray(0, size));
    // Blocks that the disk never got, in the middle.
    if (size > 400) cut.fill(0, 300, 340);
    writeFileSync(join(before, "log-000002"), cut);
    const again = fileStore({ folder: before });
    assert.ok(Number((await everything(again)).get("last")) > 0, `cut to ${size}`);
    await again.close();
    assert.ok(readFileSync(join(before, "log-000001")).equals(original));
    assert.deepEqual(logs(before), ["log-000001"]);
  }
});
