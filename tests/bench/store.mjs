// Storage, measured beside Dexie and plain IndexedDB in one run of one browser: `cargo xtask bench store`, or
// `node store.mjs` after `npm ci`. Prints a table of medians with the targets, and a `BENCH` line a row for xtask.
//
// CHROMIUM names the browser, THREADKEEP_BENCH_WASM the folder of the built module (else it is built), ROUNDS the number
// of rounds (short measurements take a multiple of it), MESSAGES the size of the large database, and
// THREADKEEP_BENCH_PROFILE the folder that holds the browser's profile.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { profile, start } from "./lib/browser.mjs";
import { module } from "./lib/module.mjs";
import { serve } from "./lib/serve.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const ROUNDS = Number(process.env.ROUNDS ?? 45);
const MESSAGES = Number(process.env.MESSAGES ?? 1_000_000);
const OPENINGS = Number(process.env.OPENINGS ?? 5);

const median = (figures) => {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const medians = (times) => Object.fromEntries(Object.entries(times).map(([name, figures]) => [name, median(figures)]));
const thousands = (figure) => Math.round(figure).toLocaleString("en-US");
const say = (words) => process.stderr.write(`${words}\n`);

const rows = [];
// `holds` is undefined for a row that is for information.
function row(measure, figure, ratio, target, holds) {
  rows.push([measure, figure, ratio, target, holds === undefined ? "" : holds ? "pass" : "missed"]);
}
const atLeast = (what, ratio, target) => [`${ratio.toFixed(2)} × ${what}`, `≥ ${target} ×`, ratio >= target];
const atMost = (what, ratio, target) => [`${ratio.toFixed(2)} × ${what}`, `≤ ${target} ×`, ratio <= target];

async function measure(page) {
  const run = (name, ...args) => page.evaluate(([name, args]) => globalThis.bench[name](...args), [name, args]);

  say("appending in batches of 100 …");
  const batches = 2;
  // One after the other: what relaxed writers leave unwritten, a strict one would have to write for them.
  const strict = await run("appends", "strict", ["ours", "raw", "dexie"], ROUNDS * 3, batches, 100);
  const relaxed = await run("appends", "relaxed", ["ours-relaxed", "raw-relaxed", "dexie-default", "dexie-index"], ROUNDS * 2, batches, 100);
  const batched = medians({ ...strict, ...relaxed });
  const each = (name) => `${thousands((batches * 100 * 1000) / batched[name])}/s`;
  const faster = (name, other) => batched[other] / batched[name];
  row("append 100 a commit, strict: ours", each("ours"), ...atLeast("Dexie bulkAdd, strict", faster("ours", "dexie"), 4));
  row("", "", ...atLeast("raw IndexedDB", faster("ours", "raw"), 0.8));
  row("", "", `${faster("ours", "dexie-default").toFixed(2)} × Dexie bulkAdd, relaxed`, "");
  row("… raw IndexedDB, same layout", each("raw"), "", "");
  row("… Dexie bulkAdd", each("dexie"), "", "");
  row("append 100 a commit, relaxed: ours", each("ours-relaxed"), ...atLeast("Dexie bulkAdd", faster("ours-relaxed", "dexie-default"), 4));
  row("", "", ...atLeast("raw IndexedDB", faster("ours-relaxed", "raw-relaxed"), 0.8));
  row("… raw IndexedDB, same layout", each("raw-relaxed"), "", "");
  row("… Dexie bulkAdd (its default)", each("dexie-default"), "", "");
  row("… Dexie bulkAdd (its default), secondary index", each("dexie-index"), "", "");

  say("appending one by one …");
  const singles = 3;
  const single = medians(await run("appends", "single", ["ours", "raw", "raw-guarded", "dexie"], ROUNDS * 6, singles, 1));
  const one = (time) => `${thousands((singles * 1000) / time)}/s`;
  row("append 1 a commit, strict: ours", one(single.ours), ...atLeast("raw IndexedDB", single.raw / single.ours, 0.9));
  row("", "", `${(single["raw-guarded"] / single.ours).toFixed(2)} × raw IndexedDB, same conditions`, "");
  row("… raw IndexedDB, same layout", one(single.raw), "", "");
  row("… raw IndexedDB, same layout and conditions", one(single["raw-guarded"]), "", "");
  row("… Dexie add", one(single.dexie), "", "");

  say("loading 1,000 messages …");
  const load = medians(await run("loads", "load", ["ours", "raw", "dexie", "dexie-index"], Math.ceil(ROUNDS / 3)));
  const time = (figure) => `${figure.toFixed(1)} ms`;
  row("load 1,000 messages: ours", time(load.ours), ...atMost("Dexie", load.ours / load.dexie, 0.6));
  row("… raw IndexedDB, same layout", time(load.raw), "", "");
  row("… Dexie toArray, compound key", time(load.dexie), "", "");
  row("… Dexie toArray, secondary index", time(load["dexie-index"]), "", "");
}

async function large(folder, address) {
  const transcripts = Math.round(MESSAGES / 100);
  say(`writing ${thousands(MESSAGES)} messages …`);
  let session = await start(folder, address);
  const filling = await session.page.evaluate((count) => globalThis.bench.fill("large", count), transcripts);
  await session.browser.close();
  say("opening them in a browser that has just started …");
  const openings = [];
  for (let round = 0; round < OPENINGS; round += 1) {
    session = await start(folder, address);
    const found = await session.page.evaluate(() => globalThis.bench.open("large"));
    await session.browser.close();
    if (found.transcripts !== transcripts || found.messages !== MESSAGES) {
      throw new Error(`the large database lists ${found.transcripts} transcripts with ${found.messages} messages`);
    }
    openings.push(found);
  }
  const opened = median(openings.map(({ opened }) => opened));
  const listed = median(openings.map(({ time }) => time));
  row(`open ${thousands(MESSAGES)} messages to the list: ours`, `${Math.round(listed)} ms`, "", "< 1,000 ms", listed < 1000);
  row("… until the database is open", `${Math.round(opened)} ms`, "", "");
  row("… written before, relaxed", `${thousands((MESSAGES * 1000) / filling)}/s`, "", "");
}

function print() {
  const table = [["measure", "median", "ratio", "target", ""], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd();
  console.log(table.map(line).join("\n"));
  let name = "";
  for (const [measure, figure, ratio, target, verdict] of rows) {
    name = measure || name;
    const value = [figure, ratio].filter((part) => part !== "").join(", ");
    console.log(["BENCH", name, value, target, verdict].join("\t"));
  }
}

const root = join(here, "..", "..");
const server = await serve({ "/module/": module(root), "/dexie/": join(here, "node_modules/dexie/dist"), "/page/": join(here, "page") });
const { folder, remove } = profile();
try {
  const address = `${server.origin}/page/store.html`;
  const { browser, page, errors } = await start(folder, address);
  await measure(page);
  await browser.close();
  if (errors.length > 0) throw errors[0];
  if (MESSAGES > 0) await large(folder, address);
  print();
} finally {
  await server.close();
  remove();
}
