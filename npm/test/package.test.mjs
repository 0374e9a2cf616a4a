// The package as such: what is in it, what it promises, what the checkers of packages say. Its size is checked where it
// is packed, by `cargo xtask pack`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VERSION } from "./support/expect.mjs";
import * as everything from "./support/expect.mjs";
import { installed, load, source, tarball } from "./support/installed.mjs";

const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));

function files(folder, prefix = "") {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const name = `${prefix}${entry.name}`;
    return entry.isDirectory() ? files(join(folder, entry.name), `${name}/`) : [name];
  });
}

/** Runs a checker that comes as a development package. */
function checker(name, bin, ...options) {
  const main = join(source, "node_modules", name, bin);
  return spawnSync(process.execPath, [main, ...options], { cwd: source, encoding: "utf8" });
}

test("the surface is what it says", async () => {
  assert.deepEqual(Object.keys(await load()).sort(), ["Agent", "Export", "INGEST_ORDER", "Kernel", "Threadkeep", "ThreadkeepError", "Turn", "VERSION", "chromeModel", "chromeSummarizer", "compressHistory", "connect", "countTokens", "createAgent", "forAiSdk", "init", "loadVocabulary", "mailText", "readDepth", "recordKey", "recordParts", "recordRange", "render", "trimMessages", "validate", "writeDepth"]);
  const methods = Object.getOwnPropertyNames(everything.Threadkeep.prototype).filter((name) => name !== "constructor");
  const promised =
    "receive extend seal alias node children roots chain depth head setHead fork append getRecent getAll getRange getStored getCount clear lint import export on stats close " +
    "context toolResult heads transcripts outline tree rename choose deleteBranch deleteTranscript deleteAll search searchTool embedMissing indexProgress " +
    "compact checkpoints epochs afterResponse compactionRequired requestCompaction clearCompactionRequest setStrategy strategy " +
    "episodes facts remember editFact editEpisode pin forget retrieve toolInteractions nextTurn rawTraces compactionTurns buildSnapshot " +
    "records send reply listMessages mail dismiss followMessages parties collectDismissed";
  assert.deepEqual(methods.sort(), promised.split(" ").sort());
});

test("only what is needed is shipped", () => {
  const shipped = files(installed);
  assert.ok(shipped.includes("README.md"));
  for (const name of shipped)
    assert.match(name, /^(package\.json|README\.md|LICENSE-(MIT|APACHE)|dist\/[\w/]+\.(js|d\.ts)|wasm\/(threadkeep\.js|parts\.js|threadkeep_bg\.wasm|(agent|archives|contract|prompts|search|shared)\.wasm)|examples\/[\w-]+\.(html|mjs)|vocabulary\/(NOTICE|(o200k|cl100k)_base\.gz))$/);
  assert.ok(shipped.includes("LICENSE-MIT") && shipped.includes("LICENSE-APACHE"));
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.sideEffects, false);
  assert.equal(manifest.license, "MIT OR Apache-2.0");
  assert.equal(manifest.version, VERSION);
  assert.deepEqual(Object.keys(manifest.scripts ?? {}).filter((name) => /install|prepare/.test(name)), []);
});

test("bundlers can see the wasm, and nothing of Node in a static import", () => {
  const sources = files(installed).filter((name) => name.endsWith(".js"));
  const texts = sources.map((name) => readFileSync(join(installed, name), "utf8"));
  for (const wasm of ["../wasm/threadkeep_bg.wasm", "./agent.wasm", "./archives.wasm", "./contract.wasm", "./prompts.wasm", "./search.wasm", "./shared.wasm"])
    assert.ok(texts.some((text) => text.replaceAll(", ", ",").includes(`new URL("${wasm}",import.meta.url)`)), wasm);
  for (const text of texts) {
    assert.doesNotMatch(text, /^\s*(import|export)[^;]*from\s*["']node:/m);
    assert.doesNotMatch(text, /\beval\(|new Function\(/);
  }
});

test("publint finds nothing", () => {
  const { status, stdout, stderr } = checker("publint", "src/cli.js", "--strict", "--level", "suggestion", tarball);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /All good!/);
});

test("are the types wrong? no", () => {
  const { status, stdout, stderr } = checker("@arethetypeswrong/cli", "dist/index.js", tarball, "--profile", "esm-only", "--no-emoji", "--exclude-entrypoints", "./threadkeep.wasm", "./agent.wasm", "./archives.wasm", "./contract.wasm", "./prompts.wasm", "./search.wasm", "./shared.wasm", "./o200k_base.gz", "./cl100k_base.gz");
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /node16 \(from ESM\).*OK \(ESM\)/);
  assert.match(stdout, /bundler.*OK/);
});
