// The whole suite with which LangGraph's authors check checkpoint savers, under Node: on a keep in memory and on one that is durable.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed, source } from "./support/installed.mjs";

/** How many tests the suite's pinned version has. */
const TESTS = 726;

for (const storage of ["memory", "file"]) {
  test(`LangGraph's own suite, all of it, on a keep in ${storage}`, { timeout: 300_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "threadkeep-vitest-"));
    try {
      const report = join(folder, "report.json");
      const vitest = join(source, "node_modules/vitest/vitest.mjs");
      const config = join(source, "test/langgraph/vitest.config.mjs");
      const run = spawnSync(process.execPath, [vitest, "run", "--config", config, "--reporter=json", `--outputFile=${report}`], {
        cwd: join(source, "test/langgraph"),
        encoding: "utf8",
        timeout: 280_000,
        env: { ...process.env, THREADKEEP_INSTALLED: installed, THREADKEEP_STORAGE: storage },
      });
      const said = `${run.stdout}${run.stderr}`.slice(-4000);
      assert.equal(run.status, 0, said);
      const { numTotalTests, numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"));
      assert.deepEqual({ numTotalTests, numPassedTests, numFailedTests, numPendingTests }, { numTotalTests: TESTS, numPassedTests: TESTS, numFailedTests: 0, numPendingTests: 0 }, said);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
