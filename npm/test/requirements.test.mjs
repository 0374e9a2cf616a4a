// docs/dev/requirements.md names the test of each requirement. Each of them exists, in the kind of suite that the page says.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** The text of all files in a folder, and in those below it, whose names end so; build output and packages of others are left out. */
const textOf = (folder, ending) =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .map((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return ["node_modules", "target", "fixtures"].includes(entry.name) ? "" : textOf(path, ending);
      return entry.name.endsWith(ending) ? readFileSync(join(root, path), "utf8") : "";
    })
    .join("\n");

/** What a suite of Rust has as functions, and one of JavaScript as titles. */
const rust = (...folders) => {
  const names = new Set(folders.flatMap((folder) => [...textOf(folder, ".rs").matchAll(/#\[test\]\s+fn (\w+)\(/g)].map(([, name]) => name)));
  return (name) => names.has(name);
};
const javascript = (folder) => {
  const text = textOf(folder, ".test.mjs");
  return (title) => text.includes(`"${title}"`);
};

const crates = readdirSync(join(root, "crates")).filter((name) => name !== "keep");
const suites = {
  core: [/`([^`]*)`/g, rust(...crates.map((name) => `crates/${name}`))],
  engine: [/`([^`]*)`/g, rust("crates/keep")],
  npm: [/"([^"]*)"/g, javascript("npm/test")],
  e2e: [/"([^"]*)"/g, javascript("tests/e2e")],
};

test("each requirement names a test that exists, or says that there is none", () => {
  const page = readFileSync(join(root, "docs/dev/requirements.md"), "utf8");
  const faults = [];
  let count = 0;
  let inTests = false;
  for (const line of page.split("\n")) {
    if (!line.startsWith("|")) {
      inTests = false;
      continue;
    }
    const cells = line.split(" | ");
    const last = cells.at(-1).replace(/ \|$/, "");
    if (/tests$/.test(last)) inTests = true;
    if (!inTests || /tests$/.test(last) || /^\|-/.test(line) || last.startsWith("no test: ")) continue;
    for (const part of last.split("<br>")) {
      const [, kind, names] = /^(\w+): (.*)$/.exec(part) ?? [];
      const [quotes, exists] = suites[kind] ?? [];
      const found = quotes === undefined ? [] : [...names.matchAll(quotes)].map(([, name]) => name);
      if (found.length === 0) faults.push(`no test is named in: ${line.slice(0, 120)}`);
      for (const name of found) {
        count += 1;
        if (!exists(name)) faults.push(`${kind}: ${name}`);
      }
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(count > 250, `${count} tests were found`);
});
