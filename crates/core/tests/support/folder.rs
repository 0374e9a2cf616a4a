//! Where real archives and transcripts are.

use std::path::{Path, PathBuf};

/// The folder of real data: `THREADKEEP_DATA`, or `shared/data` beside one of the folders above this crate.
pub fn data() -> Option<PathBuf> {
    let given = std::env::var_os("THREADKEEP_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/data"));
    let found = given.into_iter().chain(above).find(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("skipped: no folder of real data (set THREADKEEP_DATA)");
    }
    found
}
