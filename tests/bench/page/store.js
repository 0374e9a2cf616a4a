// What runs in the browser: each measurement lets the contenders take turns, in another order each round, on the same
// messages, and returns the raw figures. The script outside makes the medians and the verdicts.

import init, { OurStore } from "/module/threadkeep_tests.js";
import { entries, generator } from "./messages.js";
import { DexieStore, IndexedDexieStore, RawStore } from "./peers.js";

const MESSAGES = entries(1000);
const expected = MESSAGES.reduce((sum, entry) => sum + entry.message.content.length, 0);

// The contenders of one measurement under their names. `of` makes one from the database name.
function contenders(names) {
  const all = {
    ours: (name) => OurStore.open(name, JSON.stringify(MESSAGES), false),
    "ours-relaxed": (name) => OurStore.open(name, JSON.stringify(MESSAGES), true),
    raw: (name) => RawStore.open(name, MESSAGES, "strict"),
    "raw-guarded": (name) => RawStore.open(name, MESSAGES, "strict", true),
    "raw-relaxed": (name) => RawStore.open(name, MESSAGES, "relaxed"),
    dexie: (name) => DexieStore.open(name, MESSAGES, "strict"),
    // Dexie's default: what the browser does when nothing is asked, which in Chromium is relaxed.
    "dexie-default": (name) => DexieStore.open(name, MESSAGES),
    "dexie-index": (name) => IndexedDexieStore.open(name, MESSAGES),
  };
  return names.map((name) => [name, all[name]]);
}

// Runs `work(store, round)` for every contender in every round; milliseconds by contender. Rounds are short, so that a
// machine that is busy for a while is busy for all, and their order is shuffled: all databases of an origin share one log,
// and who comes after a heavy writer waits for what that one has left behind. The first rounds warm up.
const WARM = 3;
async function rounds(measurement, names, count, work) {
  const stores = [];
  for (const [name, open] of contenders(names)) stores.push([name, await open(`${measurement}-${name}`)]);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  const next = generator(11);
  for (let round = 0; round < count + WARM; round += 1) {
    for (let left = stores.length; left > 1; left -= 1) {
      const pick = next(left);
      [stores[left - 1], stores[pick]] = [stores[pick], stores[left - 1]];
    }
    for (const [name, store] of stores) {
      const start = performance.now();
      await work(store, round);
      const time = performance.now() - start;
      if (round >= WARM) times[name].push(time);
    }
  }
  for (const [, store] of stores) await store.close();
  return times;
}

// Appends `batches` times `size` messages a round, each batch acknowledged before the next.
function appends(measurement, names, count, batches, size) {
  return rounds(measurement, names, count, async (store, round) => {
    for (let batch = 0; batch < batches; batch += 1) await store.append(`round-${round}`, batch * size, size);
  });
}

// Loads a conversation of 1,000 messages that was written before the clock started, a different one each round.
async function loads(measurement, names, count) {
  for (const [name, open] of contenders(names)) {
    const store = await open(`${measurement}-${name}`);
    for (let round = 0; round < count + WARM; round += 1) {
      for (let first = 0; first < 1000; first += 100) await store.append(`round-${round}`, first, 100);
    }
    await store.close();
  }
  return rounds(measurement, names, count, async (store, round) => {
    const [length, characters] = await store.load(`round-${round}`);
    if (length !== 1000 || characters !== expected) throw new Error(`loaded ${length} messages, ${characters} characters`);
  });
}

// Makes the large database, some transcripts a commit.
async function fill(name, transcripts) {
  const store = await OurStore.open(name, JSON.stringify(MESSAGES), true);
  const start = performance.now();
  for (let from = 0; from < transcripts; from += 50) await store.fill("t", from, 50, 1, 100);
  await store.close();
  return performance.now() - start;
}

// From nothing to the list of transcripts, with the module already compiled.
async function open(name) {
  const start = performance.now();
  const store = await OurStore.open(name, "[]", false);
  const opened = performance.now() - start;
  const [transcripts, messages] = await store.list();
  const time = performance.now() - start;
  await store.close();
  return { opened, time, transcripts, messages };
}

await init({ module_or_path: "/module/threadkeep_tests_bg.wasm" });
globalThis.bench = { appends, loads, fill, open };
