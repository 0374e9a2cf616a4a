// What an entry costs its user beside the wasm: bundled, minified and gzipped, with the packages of others left out. Printed, and held
// under limits, which are changed knowingly or not at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { entries, graph } from "./support/entries.mjs";

/** What a page pays that imports everything. */
const MAIN = 33_000;
/** What an entry adds to that. */
const ADAPTER = 18_000;

const BROWSER = new Set([".", "./slim"]);

test("the sizes of the entries", async () => {
  const main = await graph(".", "browser");
  const there = new Set(main.modules.keys());
  const rows = [];
  for (const entry of entries) {
    const { code } = BROWSER.has(entry) ? await graph(entry, "browser") : await graph(entry, "node", there);
    rows.push({ entry, raw: code.length, gzipped: gzipSync(code, { level: 9 }).length, limit: BROWSER.has(entry) ? MAIN : ADAPTER });
  }
  const kilobytes = (bytes) => (bytes / 1000).toFixed(1).padStart(6);
  console.log(`${"JavaScript of an entry, KB".padEnd(40)}    raw gzipped  limit`);
  for (const { entry, raw, gzipped, limit } of rows)
    console.log(`${(BROWSER.has(entry) ? entry : `  ${entry}, beside the main entry`).padEnd(40)} ${kilobytes(raw)}  ${kilobytes(gzipped)} ${kilobytes(limit)}`);
  for (const { entry, gzipped, limit } of rows) assert.ok(gzipped <= limit, `${entry} has grown to ${gzipped} bytes gzipped; its limit is ${limit}`);
  // The places are all that the slim entry is without.
  const [full, slim] = rows;
  assert.ok(slim.raw < full.raw && slim.raw > full.raw - 1_000, `${full.raw} and ${slim.raw}`);
});
