// How the sources lie: which may import which.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const src = join(dirname(fileURLToPath(import.meta.url)), "../src");

/** Each source file, from `src` on, with the files that it imports; types count too. */
const imports = new Map(
  readdirSync(src, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const found = readFileSync(join(src, name), "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)\.js"/g);
      return [name, [...found].map(([, to]) => `${relative(src, join(src, dirname(name), to))}.ts`)];
    }),
);

test("no adapter of a framework imports another: what they have in common is in shared", () => {
  const adapter = (name) => /^frameworks\/([^/.]+)/.exec(name)?.[1];
  const crossings = [...imports].flatMap(([name, all]) =>
    all.filter((to) => adapter(to) !== undefined && adapter(to) !== "shared" && adapter(to) !== adapter(name)).map((to) => `${name} imports ${to}`),
  );
  assert.ok(imports.size > 150, "the sources were found");
  assert.deepEqual(crossings, []);
});

test("no two files import each other", () => {
  const pairs = [...imports].flatMap(([name, all]) => all.filter((to) => name < to && imports.get(to)?.includes(name)).map((to) => `${name} and ${to}`));
  assert.deepEqual(pairs, []);
});
