// Runs vitest in a process of its own and holds its report against the number of tests that there are.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed, source } from "../support/installed.mjs";

/** How many tests the suite's pinned version has. */
const TESTS = 726;

/** Runs all of the suite on keeps of that storage; throws unless every test ran and passed. */
export function runSuite(storage, env) {
  const names = runSpec(env?.THREADKEEP_BROWSER === undefined ? "node.spec.mjs" : "browser.spec.mjs", TESTS, { ...env, THREADKEEP_STORAGE: storage });
  assert.equal(names.filter((name) => name.includes(`threadkeep-${storage}`)).length, TESTS);
}

/** Runs a file of so many tests, with these variables; throws unless every test ran and passed. Gives their names. */
export function runSpec(spec, tests, env) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-vitest-"));
  try {
    const report = join(folder, "report.json");
    const vitest = join(source, "node_modules/vitest/vitest.mjs");
    const config = join(source, "test/langgraph/vitest.config.mjs");
    const run = spawnSync(process.execPath, [vitest, "run", "--config", config, "--reporter=json", `--outputFile=${report}`], {
      cwd: join(source, "test/langgraph"),
      encoding: "utf8",
      timeout: 280_000,
      env: { ...process.env, ...env, THREADKEEP_INSTALLED: installed, THREADKEEP_SPEC: spec },
    });
    const { testResults = [], ...sums } = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {};
    const failures = testResults.flatMap(({ message, assertionResults }) => [
      message,
      ...assertionResults.flatMap(({ failureMessages = [] }) => failureMessages),
    ]);
    const said = `${run.stdout}${run.stderr}`.slice(-4000) + failures.filter(Boolean).slice(0, 5).join("\n");
    assert.equal(run.status, 0, said);
    const { numTotalTests, numPassedTests, numFailedTests, numPendingTests } = sums;
    assert.deepEqual(
      { numTotalTests, numPassedTests, numFailedTests, numPendingTests },
      { numTotalTests: tests, numPassedTests: tests, numFailedTests: 0, numPendingTests: 0 },
      said,
    );
    return testResults.flatMap(({ assertionResults }) => assertionResults.map(({ fullName }) => fullName));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
