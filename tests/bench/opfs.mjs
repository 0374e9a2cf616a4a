// A keep on OPFS beside a keep on IndexedDB and a plain OPFS file, in one worker of one headless Chromium: `cargo xtask bench opfs`, or
// `node opfs.mjs` after `npm ci` with THREADKEEP_TARBALL naming the packed package. Prints medians, and a `BENCH` line a row for xtask.
// There are no targets: it says where which of the two is to be recommended.
//
// CHROMIUM names the browser, ROUNDS the number of rounds, THREADKEEP_BENCH_PROFILE the folder that holds the browser's profile.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { profile, start } from "./lib/browser.mjs";
import { serve } from "./lib/serve.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const ROUNDS = Number(process.env.ROUNDS ?? 30);

const rows = [];
const row = (measure, value) => rows.push([measure, value]);
const thousands = (figure) => Math.round(figure).toLocaleString("en-US");
function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
const medians = (times) => Object.fromEntries(Object.entries(times).map(([name, figures]) => [name, median(figures)]));
const NAMES = { opfs: "OPFS", indexeddb: "IndexedDB", plain: "plain OPFS file, JSON lines" };

const unpacked = mkdtempSync(join(tmpdir(), "threadkeep-package-"));
const { folder, remove } = profile();
try {
  if (!process.env.THREADKEEP_TARBALL) throw new Error("THREADKEEP_TARBALL must name the packed package");
  execFileSync("tar", ["-xzf", process.env.THREADKEEP_TARBALL, "-C", unpacked]);
  const server = await serve({ "/package/": join(unpacked, "package"), "/page/": join(here, "page") });
  const { browser, page, errors } = await start(folder, `${server.origin}/page/opfs.html`);
  const run = (name, ...args) => page.evaluate(([name, args]) => globalThis.bench[name](...args), [name, args]);
  for (const [words, batches, size] of [
    ["append single", 10, 1],
    ["append 100/batch", 5, 100],
  ]) {
    process.stderr.write(`${words} …\n`);
    const figures = medians(await run("appends", `a${size}`, ROUNDS, batches, size));
    const rate = (kind) => `${thousands((batches * size * 1000) / figures[kind])}/s`;
    row(`opfs ${words}, strict: keep on OPFS`, `${rate("opfs")}, ${(figures.indexeddb / figures.opfs).toFixed(2)} × IndexedDB`);
    for (const kind of ["indexeddb", "plain"]) row(`… ${kind === "plain" ? "" : "keep on "}${NAMES[kind]}`, rate(kind));
  }
  process.stderr.write("load 1,000 …\n");
  const { times, opened } = await run("loads", ROUNDS);
  for (const [words, figures] of [
    ["load 1,000", medians(times)],
    ["open", medians(opened)],
  ]) {
    row(`opfs ${words}: keep on OPFS`, `${figures.opfs.toFixed(1)} ms, ${(figures.opfs / figures.indexeddb).toFixed(2)} × IndexedDB's time`);
    for (const kind of ["indexeddb", "plain"]) row(`… ${kind === "plain" ? "" : "keep on "}${NAMES[kind]}`, `${figures[kind].toFixed(1)} ms`);
  }
  await browser.close();
  await server.close();
  if (errors.length > 0) throw errors[0];
  const width = Math.max(...rows.map(([measure]) => measure.length));
  console.log(rows.map(([measure, value]) => `${measure.padEnd(width)}  ${value}`).join("\n"));
  for (const cells of rows) console.log(["BENCH", ...cells, "", ""].join("\t"));
} finally {
  remove();
  rmSync(unpacked, { recursive: true, force: true });
}
