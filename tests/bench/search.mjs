// Search over 100,000 messages in a headless Chromium, through the npm package, with IndexedDB: `cargo xtask bench search`, or
// `node search.mjs` after `npm ci` with THREADKEEP_TARBALL naming the packed package. Prints figures with their targets, and
// a `BENCH` line a row for xtask. What the messages are is said in page/speech.js.
//
// Every figure of a round comes from a browser that has just started on what the one before left on the disk: the messages are
// written in the first, indexed in the second (reading them is part of it), and asked for in a third, too. MESSAGES is
// their number, ROUNDS how often all of it is done; the median of the rounds counts.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { profile, start } from "./lib/browser.mjs";
import { serve } from "./lib/serve.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const MESSAGES = Number(process.env.MESSAGES ?? 100_000);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const QUERIES = Number(process.env.QUERIES ?? 400);

const sorted = (figures) => [...figures].sort((a, b) => a - b);
const at = (figures, share) => sorted(figures)[Math.min(figures.length - 1, Math.floor(figures.length * share))];
const median = (figures) => at(figures, 0.5);
const say = (words) => process.stderr.write(`${words}\n`);

const rows = [];
function row(measure, value, target = "", holds = undefined) {
  rows.push([measure, value, target, holds === undefined ? "" : holds ? "ok" : "missed"]);
}

async function round(address) {
  const { folder, remove } = profile();
  const figures = {};
  const inBrowser = async (work) => {
    const { browser, page, errors } = await start(folder, address);
    const run = (name, ...args) => page.evaluate(([name, args]) => globalThis.bench[name](...args), [name, args]);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    // Seconds that the tab's process has had of the processor.
    const used = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ProcessTime").value;
    try {
      await run("open", "search");
      await work(run, used);
      if (errors.length > 0) throw errors[0];
    } finally {
      await browser.close();
    }
  };
  const ask = async (run, seed) => {
    const { times, found } = await run("ask", QUERIES, seed);
    if (found < QUERIES * 0.9) throw new Error(`only ${found} of ${QUERIES} queries found something`);
    return times;
  };
  try {
    say(`writing ${MESSAGES} messages …`);
    await inBrowser(async (run) => (figures.text = await run("fill", 0, MESSAGES)));
    say(`indexing them, with a load of ${loadavg()[0].toFixed(1)} …`);
    await inBrowser(async (run, used) => {
      const before = await used();
      const { time, progress } = await run("index");
      figures.used = (await used()) - before;
      if (progress.indexed !== MESSAGES) throw new Error(`${progress.indexed} of ${MESSAGES} messages are indexed`);
      Object.assign(figures, { indexing: time, bytes: progress.bytes });
      const asking = await used();
      figures.warm = await ask(run, 99);
      figures.usedAsking = ((await used()) - asking) / QUERIES;
      await run("fill", MESSAGES, 1000);
      figures.more = (await run("index")).time;
    });
    say("asking after reopening …");
    await inBrowser(async (run) => {
      figures.first = (await run("index")).time;
      figures.reopened = await ask(run, 98);
    });
    return figures;
  } finally {
    remove();
  }
}

const folder = mkdtempSync(join(tmpdir(), "threadkeep-search-"));
execFileSync("tar", ["xzf", process.env.THREADKEEP_TARBALL, "-C", folder]);
const server = await serve({ "/npm/": join(folder, "package"), "/page/": join(here, "page") });
try {
  const all = [];
  for (let number = 1; number <= ROUNDS; number += 1) {
    const figures = await round(`${server.origin}/page/search.html`);
    all.push(figures);
    say(
      `round ${number} of ${ROUNDS}: indexed in ${Math.round(figures.indexing)} ms (${Math.round(figures.used * 1000)} of the processor), queries ${at(figures.warm, 0.95).toFixed(1)} ms at the 95th percentile`,
    );
  }
  const of = (name) => median(all.map((figures) => figures[name]));
  const pooled = (name, share) => median(all.map((figures) => at(figures[name], share)));
  const count = MESSAGES.toLocaleString("en-US");
  row(`indexing ${count} messages, ${(of("text") / 1e6).toFixed(0)} MB`, `${Math.round(of("indexing"))} ms`, "10,000 ms", of("indexing") < 10_000);
  row("… of which the tab had the processor", `${Math.round(of("used") * 1000)} ms`);
  row("1,000 more, to the answer", `${Math.round(of("more"))} ms`);
  row("query: of which the tab has the processor, mean", `${(of("usedAsking") * 1000).toFixed(1)} ms`);
  for (const [name, what] of [
    ["warm", "just indexed"],
    ["reopened", "after reopening"],
  ]) {
    row(`query, ${what}: median`, `${pooled(name, 0.5).toFixed(1)} ms`);
    const p95 = pooled(name, 0.95);
    row(`query, ${what}: 95th percentile`, `${p95.toFixed(1)} ms`, "20 ms", p95 < 20);
  }
  row("first query after reopening, with reading the index", `${Math.round(of("first"))} ms`);
  const share = (100 * of("bytes")) / of("text");
  row("index against text", `${share.toFixed(1)} %`, "40 %", share < 40);
  for (const cells of rows) console.log(cells[0].padEnd(56), cells.slice(1).join("  "));
  for (const cells of rows) console.log(["BENCH", ...cells].join("\t"));
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
