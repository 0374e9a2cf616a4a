//! Counting tests: reads the totals that test programs print, and gathers the steps of one part.

use anyhow::Result;

use crate::run::Said;

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Those that did not run, since something that they need is not there.
    pub(crate) skipped: u64,
}

impl Counts {
    /// Sums up the totals in a test program's output: `test result: …` of cargo's harness and of wasm-bindgen's,
    /// `# pass N`, `# fail N`, `# cancelled N` and `# skipped N` of Node's (whose other reporter writes `ℹ` for `#`).
    pub(crate) fn read(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            // Not trimmed at the start: what is indented belongs to a run within a test.
            let line = line.trim_end();
            if let Some(result) = line.strip_prefix("test result: ") {
                for part in result.split([';', '.']) {
                    match part.trim().split_once(' ') {
                        Some((count, "passed")) => sum.passed += count.parse::<u64>().unwrap_or(0),
                        Some((count, "failed")) => sum.failed += count.parse::<u64>().unwrap_or(0),
                        Some((count, "ignored")) => sum.skipped += count.parse::<u64>().unwrap_or(0),
                        _ => {}
                    }
                }
            } else if let Some(total) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
                match total.split_once(' ').map(|(word, count)| (word, count.parse::<u64>())) {
                    Some(("pass", Ok(count))) => sum.passed += count,
                    Some(("fail" | "cancelled", Ok(count))) => sum.failed += count,
                    Some(("skipped", Ok(count))) => sum.skipped += count,
                    _ => {}
                }
            }
        }
        sum
    }
}

/// How one part went: its tests, and the steps that did not work.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: Counts,
    /// Steps that failed without a failed test to show for it; each counts as one failure.
    broken: u64,
    troubles: Vec<String>,
}

impl Tally {
    /// Runs one step and adds its tests. A failure is noted, and the steps after it still run. Says whether it went well.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<Counts>) -> bool {
        match work() {
            Ok(counts) => {
                self.counts.passed += counts.passed;
                self.counts.failed += counts.failed;
                self.counts.skipped += counts.skipped;
                if counts.failed > 0 {
                    self.note(format!("{name}: {} failed", tests(counts.failed)));
                }
                counts.failed == 0
            }
            Err(error) => {
                self.broken += 1;
                self.note(format!("{name}: {error:#}"));
                false
            }
        }
    }

    /// Runs one step that has no tests of its own.
    pub(crate) fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> bool {
        self.step(name, || work().map(|()| Counts::default()))
    }

    /// Runs a test program. One that fails without a failed test, or ends well without a single test, is a failure:
    /// an empty suite proves nothing.
    pub(crate) fn tests(&mut self, name: &str, work: impl FnOnce() -> Result<Said>) -> bool {
        let mut said = None;
        let well = self.step(name, || {
            let outcome = work()?;
            let counts = Counts::read(&outcome.output);
            said = Some((outcome.success, counts, outcome.command));
            Ok(counts)
        });
        match said {
            Some((false, counts, command)) if counts.failed == 0 => {
                self.broken += 1;
                self.note(format!("{name}: `{command}` failed"));
                false
            }
            Some((true, Counts { passed: 0, failed: 0, .. }, command)) => {
                self.broken += 1;
                self.note(format!("{name}: `{command}` ran no test"));
                false
            }
            _ => well,
        }
    }

    fn note(&mut self, trouble: String) {
        eprintln!("FAILED {trouble}");
        self.troubles.push(trouble);
    }

    /// Tests that passed.
    pub(crate) fn passed(&self) -> u64 {
        self.counts.passed
    }

    /// Tests that did not run.
    pub(crate) fn skipped(&self) -> u64 {
        self.counts.skipped
    }

    /// Notes tests that passed without looking at anything: they are skipped.
    pub(crate) fn note_skipped(&mut self, count: u64) {
        self.counts.passed = self.counts.passed.saturating_sub(count);
        self.counts.skipped += count;
    }

    /// Tests that failed, and steps that broke.
    pub(crate) fn failed(&self) -> u64 {
        self.counts.failed + self.broken
    }

    /// Whether nothing failed.
    pub(crate) fn is_well(&self) -> bool {
        self.failed() == 0
    }

    /// What went wrong, one line or more each.
    pub(crate) fn troubles(&self) -> &[String] {
        &self.troubles
    }
}

fn tests(count: u64) -> String {
    if count == 1 { "1 test".to_owned() } else { format!("{count} tests") }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn said(success: bool, output: &str) -> Result<Said> {
        Ok(Said { command: "x".to_owned(), success, output: output.to_owned() })
    }

    #[test]
    fn totals_of_cargo_and_of_wasm_bindgen() {
        let output = "running 3 tests\ntest a ... ok\n\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n\
                      test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 filtered out\n";
        assert_eq!(Counts::read(output), Counts { passed: 13, failed: 2, skipped: 1 });
    }

    #[test]
    fn totals_of_node_in_both_styles() {
        let tap =
            "ok 1 - reads\n# tests 5\n# suites 0\n# pass 3\n# fail 1\n# cancelled 1\n# skipped 2\n# duration_ms 12.5\n";
        assert_eq!(Counts::read(tap), Counts { passed: 3, failed: 2, skipped: 2 });
        assert_eq!(Counts::read("ℹ tests 4\nℹ pass 4\nℹ fail 0\n"), Counts { passed: 4, ..Counts::default() });
        assert_eq!(Counts::read("    # pass 4\n# pass 1\n"), Counts { passed: 1, ..Counts::default() });
        assert_eq!(Counts::read("# passing thoughts\n# pass\n# pass many\n"), Counts::default());
    }

    #[test]
    fn a_failing_test_is_counted_once() {
        let mut tally = Tally::default();
        assert!(!tally.tests("t", || said(false, "test result: FAILED. 1 passed; 1 failed; 0 ignored")));
        assert_eq!((tally.passed(), tally.failed()), (1, 1));
    }

    #[test]
    fn a_program_that_breaks_before_its_tests_is_a_failure() {
        let mut tally = Tally::default();
        assert!(!tally.tests("t", || said(false, "error: could not compile")));
        assert!(!tally.tests("t", || bail!("cannot start")));
        assert!(!tally.tests("t", || said(true, "")));
        assert_eq!((tally.passed(), tally.failed()), (0, 3));
        assert_eq!(tally.troubles().len(), 3);
    }

    #[test]
    fn a_test_that_skips_itself_did_not_pass() {
        let mut tally = Tally::default();
        assert!(tally.tests("t", || said(true, "test result: ok. 5 passed; 0 failed; 1 ignored")));
        tally.note_skipped(2);
        assert_eq!((tally.passed(), tally.failed(), tally.skipped()), (3, 0, 3));
    }

    #[test]
    fn steps_after_a_failure_still_run() {
        let mut tally = Tally::default();
        assert!(!tally.check("a", || bail!("no")));
        assert!(tally.tests("b", || said(true, "# pass 2")));
        assert_eq!((tally.passed(), tally.failed()), (2, 1));
        assert!(!tally.is_well());
    }
}
