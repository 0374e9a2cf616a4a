// What an entry costs its user beside the wasm: bundled, minified and gzipped, with the packages of others left out. Printed, and held
// under limits, which are changed knowingly or not at all.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { installed } from "./support/installed.mjs";
import { entries, graph } from "./support/entries.mjs";

/** What a page pays that imports everything. It was 40 KB until requests could be listed, priced, simulated and compared. */
const MAIN = 44_000;
/** What an entry adds to that. */
const ADAPTER = 18_000;
/** The page of a shared thread, with its script, is in this one. */
const SHARE = 30_000;

const BROWSER = new Set([".", "./slim"]);

test("the sizes of the entries", async () => {
  const main = await graph(".", "browser");
  const there = new Set(main.modules.keys());
  const rows = [];
  for (const entry of entries) {
    const { code } = BROWSER.has(entry) ? await graph(entry, "browser") : await graph(entry, "node", there);
    rows.push({
      entry,
      raw: code.length,
      gzipped: gzipSync(code, { level: 9 }).length,
      limit: BROWSER.has(entry) ? MAIN : entry === "./share" ? SHARE : ADAPTER,
    });
  }
  const kilobytes = (bytes) => (bytes / 1000).toFixed(1).padStart(6);
  console.log(`${"JavaScript of an entry, KB".padEnd(40)}    raw gzipped  limit`);
  for (const { entry, raw, gzipped, limit } of rows)
    console.log(
      `${(BROWSER.has(entry) ? entry : `  ${entry}, beside the main entry`).padEnd(40)} ${kilobytes(raw)}  ${kilobytes(gzipped)} ${kilobytes(limit)}`,
    );
  for (const { entry, gzipped, limit } of rows) assert.ok(gzipped <= limit, `${entry} has grown to ${gzipped} bytes gzipped; its limit is ${limit}`);
  // The places are all that the slim entry is without.
  const [full, slim] = rows;
  assert.ok(slim.raw < full.raw && slim.raw > full.raw - 1_000, `${full.raw} and ${slim.raw}`);
});

test("the sizes that the README names are those of the files", () => {
  const readme = readFileSync(join(installed, "README.md"), "utf8").replaceAll(/\s+/g, " ");
  const named = (pattern) => {
    const found = pattern.exec(readme);
    assert.ok(found !== null, `the README has no ${pattern}`);
    return found.slice(1).map(Number);
  };
  const said = [
    ...named(/The module \((\d+) KB gzipped\)/),
    ...named(/\((\d+), (\d+), (\d+), (\d+) and (\d+) KB, and (\d+) that several of them share\)/),
    ...named(/A vocabulary is a file of its own \((\d+) and (\d+) KB\)/),
  ];
  const wasm = ["threadkeep_bg", "archives", "prompts", "search", "agent", "manage", "shared"].map((name) => `wasm/${name}.wasm`);
  const weighed = [...wasm, "vocabulary/o200k_base.gz", "vocabulary/cl100k_base.gz"].map((name) => {
    const bytes = readFileSync(join(installed, name));
    return { name, kilobytes: (name.endsWith(".gz") ? bytes.length : gzipSync(bytes, { level: 9 }).length) / 1000 };
  });
  // Compilers differ by a little.
  for (const [index, { name, kilobytes }] of weighed.entries())
    assert.ok(Math.abs(said[index] - kilobytes) <= Math.max(2, kilobytes * 0.03), `${name} weighs ${kilobytes} KB gzipped, the README says ${said[index]}`);
});
