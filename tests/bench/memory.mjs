// What a message costs in the engine and on the way there, without a store's time: the package under Node with everything in memory.
// `cargo xtask bench memory-node`, or `node memory.mjs` with THREADKEEP_TARBALL naming the packed package. Prints medians with the
// targets, and a `BENCH` line a row for xtask. ROUNDS is the number of rounds, which are interleaved.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { installed } from "../../npm/test/support/installed.mjs";
import { median, messages } from "./lib/messages.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 31);
const HUNDRED = 100;
const THOUSAND = 1_000;
/** Messages a second. */
const TARGET = 100_000;

const { Threadkeep } = await import(pathToFileURL(join(installed, "dist", "index.js")).href);

const keep = await Threadkeep.open({ storage: "memory" });
await keep.thread("loaded").append(messages(THOUSAND, 7));

const WORK = {
  async "append 100 a commit"(round) {
    const batches = Array.from({ length: THOUSAND / HUNDRED }, (_, at) => messages(HUNDRED, round + at));
    const start = performance.now();
    for (const batch of batches) await keep.thread(`batches ${round}`).append(batch);
    return performance.now() - start;
  },
  async "append 1 a commit"(round) {
    const batches = messages(THOUSAND, round).map((message) => [message]);
    const start = performance.now();
    for (const batch of batches) await keep.thread(`singles ${round}`).append(batch);
    return performance.now() - start;
  },
  /** From the engine's memory: what a store has, its own measurement shows. */
  async "read 1,000"() {
    const start = performance.now();
    const { length } = await keep.thread("loaded").messages();
    if (length !== THOUSAND) throw new Error(`${length} messages were read`);
    return performance.now() - start;
  },
};

const times = new Map(Object.keys(WORK).map((name) => [name, []]));
// The first rounds are for the compiler.
for (let round = -3; round < ROUNDS; round += 1)
  for (const [name, work] of Object.entries(WORK)) {
    const time = await work(round);
    if (round >= 0) times.get(name).push(time);
  }
await keep.close();

for (const [name, taken] of times) {
  const rate = (THOUSAND * 1_000) / median(taken);
  const wanted = name === "append 100 a commit";
  const row = [`in memory, wasm under Node, ${name}`, `${Math.round(rate).toLocaleString("en-US")}/s`];
  console.log(["BENCH", ...row, wanted ? `≥ ${TARGET.toLocaleString("en-US")}/s` : "", wanted ? (rate >= TARGET ? "pass" : "missed") : ""].join("\t"));
}
