//! `cargo xtask test`: runs the parts that are asked for, one after the other, each to its end whatever the others
//! found, and sums up. What a part consists of is in its own file.

mod e2e;
mod native;
mod npm;
mod tally;
mod wasm;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::pack;
use crate::paths::Paths;
use crate::run::human;
use crate::table;

pub(crate) use tally::Tally;

/// How strict rustdoc is. Links to private items are for those who read the source, and do no harm elsewhere.
pub(crate) const DOCUMENTATION: &str = "-D warnings -A rustdoc::private_intra_doc_links";

/// A part of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Native,
    Wasm,
    Npm,
    E2e,
}

impl Part {
    /// All, in the order in which they run.
    pub(crate) const ALL: [Self; 4] = [Self::Native, Self::Wasm, Self::Npm, Self::E2e];

    /// The part's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Wasm => "wasm",
            Self::Npm => "npm",
            Self::E2e => "e2e",
        }
    }

    /// The part of that name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn named(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|part| part.name() == name) {
            Some(part) => Ok(part),
            None => bail!("there is no part `{name}`: native, wasm, npm and e2e are there"),
        }
    }

    fn run(self, paths: &Paths, shared: &mut Shared) -> Tally {
        match self {
            Self::Native => native::run(paths),
            Self::Wasm => wasm::run(paths),
            Self::Npm => npm::run(paths, shared),
            Self::E2e => e2e::run(paths, shared),
        }
    }
}

/// What one part makes and a later one uses.
#[derive(Default)]
struct Shared {
    tarball: Option<PathBuf>,
}

impl Shared {
    /// The npm package's tarball, made once a run, with the page in [`Paths::site`]. A size over its limit is a failure of its own in the
    /// part that makes it; its tests still tell something.
    fn tarball(&mut self, paths: &Paths, tally: &mut Tally) -> Option<PathBuf> {
        if self.tarball.is_none() {
            let mut packed = None;
            tally.check("pack", || {
                packed = Some(pack::build(paths)?);
                Ok(())
            });
            let packed = packed?;
            tally.check("sizes", || packed.sizes.iter().try_for_each(crate::size::Sizes::check));
            self.tarball = Some(packed.tarball);
        }
        self.tarball.clone()
    }
}

/// Runs `parts` (all when none is named), prints the summary, and says whether all is well.
///
/// # Errors
/// None so far: what goes wrong in a part is the part's result.
pub(crate) fn run(paths: &Paths, parts: &[Part]) -> Result<bool> {
    let parts = if parts.is_empty() { &Part::ALL[..] } else { parts };
    let mut shared = Shared::default();
    let mut results = Vec::new();
    for &part in parts {
        eprintln!("\n== {} ==", part.name());
        let start = Instant::now();
        let tally = part.run(paths, &mut shared);
        results.push((part.name(), tally, start.elapsed()));
    }
    println!("\n{}", summary(&results));
    Ok(results.iter().all(|(_, tally, _)| tally.is_well()))
}

/// What went wrong, a table of the parts, and a last line with the totals.
fn summary(results: &[(&str, Tally, Duration)]) -> String {
    let mut text = String::new();
    for (part, tally, _) in results {
        for trouble in tally.troubles() {
            text.push_str(&format!("{part}: {trouble}\n"));
        }
    }
    let mut rows = vec![["part", "result", "passed", "failed", "skipped", "time"].map(str::to_owned).to_vec()];
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (part, tally, time) in results {
        let result = if tally.is_well() { "ok" } else { "FAILED" };
        passed += tally.passed();
        failed += tally.failed();
        skipped += tally.skipped();
        rows.push(vec![
            (*part).to_owned(),
            result.to_owned(),
            tally.passed().to_string(),
            tally.failed().to_string(),
            tally.skipped().to_string(),
            human(*time),
        ]);
    }
    text.push_str(&table::render(&rows, &[2, 3, 4, 5]));
    text.push_str(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::tally::Counts;

    #[test]
    fn the_last_line_sums_the_parts_up() {
        let mut good = Tally::default();
        good.step("tests", || Ok(Counts { passed: 7, skipped: 3, ..Counts::default() }));
        let mut bad = Tally::default();
        bad.step("tests", || Ok(Counts { passed: 2, failed: 1, ..Counts::default() }));
        bad.step("format", || bail!("not formatted"));
        let text = summary(&[("native", good, Duration::ZERO), ("wasm", bad, Duration::ZERO)]);
        assert_eq!(text.lines().last(), Some("9 passed, 2 failed, 3 skipped"));
        assert!(text.contains("wasm: format: not formatted"), "{text}");
    }

    #[test]
    fn parts_have_names() {
        for part in Part::ALL {
            assert_eq!(Part::named(part.name()).unwrap(), part);
        }
        assert!(Part::named("all").is_err());
    }
}
