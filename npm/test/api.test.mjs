// The public types: held against the committed snapshot, compiled by users of every kind, and made into the API reference without a warning.
// `node npm/test/api.test.mjs --update` writes the snapshot anew, from the package that the tests run against.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { entries } from "./support/entries.mjs";
import { installed, project, source } from "./support/installed.mjs";

const tools = join(source, "../docs/api-tools");
if (!existsSync(join(tools, "node_modules/typedoc"))) throw new Error("docs/api-tools is not installed: run `cargo xtask setup`");
const { surface } = await import("../../docs/api-tools/surface.mjs");

const snapshot = join(source, "test/fixtures/api.d.ts");
const now = surface(installed);

if (process.argv.includes("--update")) {
  writeFileSync(snapshot, now);
  console.log(`${snapshot}: ${now.split("\n").length} lines`);
  process.exit(0);
}

test("the public types are those of the snapshot", () => {
  const was = readFileSync(snapshot, "utf8");
  const [old, fresh] = [was, now].map((text) => text.split("\n"));
  const at = fresh.findIndex((line, index) => line !== old[index]);
  const words = `They differ from line ${at + 1} on. If that is meant, \`node npm/test/api.test.mjs --update\` writes the snapshot anew; commit it.`;
  assert.ok(was === now, `${words}\nwas: ${old.slice(at, at + 5).join("\n     ")}\nis:  ${fresh.slice(at, at + 5).join("\n     ")}`);
});

test("everything public has a comment, every link leads somewhere, and every type that is used can be named", { timeout: 120_000 }, () => {
  const out = join(source, "../target/api");
  rmSync(out, { recursive: true, force: true });
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(tools, "reference.mjs"), installed, out], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const overviews = readdirSync(out, { recursive: true }).filter((name) => name.endsWith("/README.md"));
  assert.equal(overviews.length, entries.length - 1, "an overview for each entry but slim");
  assert.match(readFileSync(join(out, "threadkeep/interfaces/Chain.md"), "utf8"), /### context\(\)/);
});

const require = createRequire(join(source, "package.json"));
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
const names = entries.map((entry) => `threadkeep${entry.slice(1)}`);

const USERS = {
  "ES modules under Node": ["user.mts", { module: "nodenext", skipLibCheck: true }],
  "ES modules with a bundler": ["user.ts", { module: "esnext", moduleResolution: "bundler", skipLibCheck: true }],
  "CommonJS under Node": ["user.cts", { module: "nodenext", skipLibCheck: true }],
  // The strictest of all looks into every declaration too, those of the peers among them, which takes a while.
  "CommonJS under a Node that cannot require ES modules": ["user.cts", { module: "node16" }],
};

for (const [user, [file, options]] of Object.entries(USERS)) {
  test(`TypeScript, ${user}: every entry`, { timeout: 120_000 }, () => {
    const folder = join(project, `api-${Object.keys(USERS).indexOf(user)}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const lines = names.map((name, at) => (file.endsWith(".cts") ? `import e${at} = require("${name}");` : `import * as e${at} from "${name}";`));
    const code = `${lines.join("\n")}
export const all = [${names.map((_, at) => `e${at}`).join(", ")}];
export async function use(): Promise<number> {
  const keep = await e0.Threadkeep.open({ storage: "memory" });
  const { tokens } = await keep.thread("main").context({ budget: { maxTokens: 9 } });
  return tokens;
}
export const wrong: string = e0.countTokens;
`;
    writeFileSync(join(folder, file), code);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2022",
      lib: ["es2022", "dom", "dom.iterable", "esnext.disposable"],
      types: ["node"],
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      ...options,
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" });
    const said = stdout.split("\n");
    // What is under test are our declarations, not those of the peers.
    const ours = said.filter((line) => /^[^(]*(user\.\w+|node_modules\/threadkeep\/[^(]*)\(/.test(line) || line.startsWith("error"));
    const wrong = code.split("\n").findIndex((line) => line.includes("wrong:")) + 1;
    assert.equal(ours.length, 1, ours.join("\n"));
    assert.ok(ours[0].includes(`${file}(${wrong},`), ours[0]);
  });
}
