// The template for a store of one's own, as it is shipped, with the test that is shipped beside it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { installed, project } from "./support/installed.mjs";

test("the template passes the contract suite with its own test", () => {
  const folder = mkdtempSync(join(project, "own-store-"));
  try {
    for (const name of ["own-store.mjs", "own-store.test.mjs"]) cpSync(join(installed, "examples", name), join(folder, name));
    // Node tells a test that it runs within a test, and then runs none.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--test", "--test-reporter=tap"], { cwd: folder, encoding: "utf8", env });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /# pass 2\b/);
    assert.match(stdout, /2\d behaviours hold/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
