// How the sources lie: which may import which.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
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

test("every store has its entry, its pages and its tests", () => {
  const root = join(src, "../..");
  const text = (path) => readFileSync(join(root, path), "utf8");
  const stores = readdirSync(join(src, "stores"))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => name.slice(0, -3))
    .filter((name) => text(`npm/src/stores/${name}.ts`).includes(`function ${name}Store(`));
  assert.ok(stores.length > 4, "the stores were found");
  const { exports } = JSON.parse(text("npm/package.json"));
  for (const name of stores) {
    assert.ok(exports[`./${name}`] !== undefined, `npm/package.json exports ./${name}`);
    assert.ok(existsSync(join(root, `docs/stores/${name}.md`)), `docs/stores has a page on ${name}`);
    assert.ok(text("docs/README.md").includes(`(stores/${name}.md)`), `docs/README.md links the page on ${name}`);
    assert.match(text("npm/README.md"), new RegExp(`^\\|.*/${name}\`.*\\|`, "m"), `npm/README.md names threadkeep/${name}`);
    // A browser's own store is tested in a browser.
    const [own, random, call] =
      name === "opfs"
        ? ["tests/e2e/store-opfs.test.mjs", "tests/e2e/random-stores.test.mjs", "onOpfs"]
        : [`npm/test/store-${name}.test.mjs`, "npm/test/random.test.mjs", `${name}Store(`];
    assert.ok(existsSync(join(root, own)), `${own} is there`);
    assert.ok(text(random).includes(call), `${random} has ${name}`);
  }
});

test("no two files import each other", () => {
  const pairs = [...imports].flatMap(([name, all]) => all.filter((to) => name < to && imports.get(to)?.includes(name)).map((to) => `${name} and ${to}`));
  assert.deepEqual(pairs, []);
});
