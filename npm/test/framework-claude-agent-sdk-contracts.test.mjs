// The fourteen contracts of the official suite for session stores, which is part of the Claude Agent SDK for Python, against our store
// in memory and on the disk. Python comes from the set-up; without it this says so.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { installed, source } from "./support/installed.mjs";

const support = join(source, "test/support/claude-sdk");
const python = findPython();

const options = { timeout: 120_000, skip: python === undefined && "no Python with claude-agent-sdk: run `cargo xtask setup`" };

/** Runs the suite; gives what it says of each contract, in their order. */
function suite(place) {
  const node = [process.execPath, join(support, "store-process.mjs"), installed, place];
  const { status, stdout, stderr } = spawnSync(python, [join(support, "conformance.py"), ...node], { encoding: "utf8", timeout: 100_000 });
  assert.equal(status, 0, stderr);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines.at(-1), { ended: 0 }, stderr);
  return lines.filter(({ contract }) => contract !== undefined).sort((one, other) => one.contract - other.contract);
}

for (const place of ["memory", "files"]) {
  test(`the official suite's fourteen contracts, ${place}`, options, async (t) => {
    const folder = place === "memory" ? undefined : mkdtempSync(join(tmpdir(), "threadkeep-contracts-"));
    try {
      const contracts = suite(folder ?? "memory");
      for (const { contract, title, held, why } of contracts) await t.test(`${contract}. ${title}`, () => assert.ok(held, why));
      assert.deepEqual(
        contracts.map(({ contract }) => contract),
        Array.from({ length: 14 }, (_, index) => index + 1),
        "all fourteen ran",
      );
    } finally {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    }
  });
}

test("the bridge tells of a contract that is broken", options, () => {
  const [first, ...others] = suite("broken");
  assert.deepEqual([first.contract, first.held, others], [1, false, []]);
  assert.match(first.why, /AssertionError/);
});

/** Told by `cargo xtask test`; else where the set-up puts it. */
function findPython() {
  const { THREADKEEP_PYTHON: told, THREADKEEP_CACHE, XDG_CACHE_HOME } = process.env;
  if (told) return told;
  const cache = THREADKEEP_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "threadkeep");
  const found = join(cache, "python-claude-agent-sdk-0.2.187/bin/python");
  return existsSync(found) ? found : undefined;
}
