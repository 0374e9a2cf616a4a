// Runs the suite in a process of its own and holds vitest's report against the number of tests that the suite has.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed, source } from "../support/installed.mjs";

/** How many tests the suite's pinned version has. */
const TESTS = 726;

/** Runs all of it on keeps of that storage, with these variables; throws unless every test ran and passed. */
export function runSuite(storage, env) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-vitest-"));
  try {
    const report = join(folder, "report.json");
    const vitest = join(source, "node_modules/vitest/vitest.mjs");
    const config = join(source, "test/langgraph/vitest.config.mjs");
    const run = spawnSync(process.execPath, [vitest, "run", "--config", config, "--reporter=json", `--outputFile=${report}`], {
      cwd: join(source, "test/langgraph"),
      encoding: "utf8",
      timeout: 280_000,
      env: { ...process.env, ...env, THREADKEEP_INSTALLED: installed, THREADKEEP_STORAGE: storage },
    });
    const said = `${run.stdout}${run.stderr}`.slice(-4000);
    assert.equal(run.status, 0, said);
    const { numTotalTests, numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
    assert.deepEqual({ numTotalTests, numPassedTests, numFailedTests, numPendingTests }, { numTotalTests: TESTS, numPassedTests: TESTS, numFailedTests: 0, numPendingTests: 0 }, said);
    const names = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ fullName }) => fullName));
    assert.equal(names.filter((name) => name.includes(`threadkeep-${storage}`)).length, TESTS);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
