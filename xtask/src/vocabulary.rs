//! `cargo xtask vocabulary`: makes the token vocabularies anew, from the rank files of a crate that `Cargo.lock` pins. They
//! are part of the checkout, so that a clone counts tokens without a network; this is how they came to be.

use anyhow::Result;

use crate::paths::Paths;
use crate::run::{cargo, show};

/// Writes the assets into `crates/tokens/vocabulary`.
///
/// # Errors
/// The program that makes them cannot be built, or fails.
pub(crate) fn make(paths: &Paths) -> Result<()> {
    let mut program = cargo();
    program.args(["run", "--release", "--locked", "-p", "threadkeep-tokens", "--example", "vocabulary", "--"]);
    show(program.arg("crates/tokens/vocabulary").current_dir(&paths.root))
}
