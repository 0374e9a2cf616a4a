//! Where real archives and transcripts are.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder of real data: `THREADKEEP_DATA`, or `shared/data` beside one of the folders above this crate.
pub fn data() -> Option<PathBuf> {
    let given = std::env::var_os("THREADKEEP_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/data"));
    let found = given.into_iter().chain(above).find(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("skipped: no folder of real data (set THREADKEEP_DATA)");
        note_skipped();
    }
    found
}

/// Adds the test's name to the file that `cargo xtask test` counts skipped tests by: cargo's harness knows no tests that skip themselves.
fn note_skipped() {
    let Some(path) = std::env::var_os("THREADKEEP_SKIPPED") else { return };
    let file = OpenOptions::new().create(true).append(true).open(path);
    if let (Ok(mut file), Some(test)) = (file, std::thread::current().name()) {
        // A count that is too low is no reason to fail.
        drop(writeln!(file, "{test}"));
    }
}
