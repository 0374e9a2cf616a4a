//! The checks that need no browser: format, rules for dependencies, lints, tests with those in the documentation, a small run of each measurement, a
//! short run of the fuzz targets that are native, and the documentation itself.

use std::collections::BTreeSet;
use std::fs;

use crate::fuzz::TARGETS;
use crate::packages::selected;
use crate::paths::Paths;
use crate::run::{cargo, listen, show};
use crate::test::{DOCUMENTATION, Part, Tally};
use crate::{bench, dependencies, setup};

/// Runs the part.
pub(crate) fn run(paths: &Paths) -> Tally {
    let mut tally = Tally::default();
    if !tally.check("set-up", setup::components) {
        return tally;
    }
    let packages = selected(|package| package.native);
    let command = |arguments: &[&str]| {
        let mut command = cargo();
        command.current_dir(&paths.root).args(arguments);
        command
    };
    tally.check("format", || show(command(&["fmt", "--all", "--check"]).env("RUST_BACKTRACE", "0")));
    tally.check("dependencies", || dependencies::check(paths));
    tally
        .check("clippy", || show(command(&["clippy", "--all-targets"]).args(&packages).args(["--", "-D", "warnings"])));
    let skipped = paths.work().join("skipped.txt");
    tally.check("a place for what is skipped", || {
        fs::create_dir_all(paths.work())?;
        Ok(fs::write(&skipped, "")?)
    });
    tally.tests("tests", || {
        listen(command(&["test", "--no-fail-fast"]).args(&packages).env("THREADKEEP_SKIPPED", &skipped))
    });
    tally.note_skipped(different_lines(&fs::read_to_string(&skipped).unwrap_or_default()));
    bench::check(paths, Part::Native, &mut tally, Vec::new());
    for target in TARGETS.iter().filter(|target| !target.needs_package()) {
        tally.check(&format!("fuzz {}", target.name), || show(&mut target.short_run(paths, None)?));
    }
    tally.check("documentation", || {
        show(command(&["doc", "--no-deps"]).args(&packages).env("RUSTDOCFLAGS", DOCUMENTATION))
    });
    tally
}

/// How many tests noted that they skipped themselves (`crates/core/tests/support/folder.rs`); one may do so several times.
fn different_lines(noted: &str) -> u64 {
    noted.lines().collect::<BTreeSet<_>>().len() as u64
}
