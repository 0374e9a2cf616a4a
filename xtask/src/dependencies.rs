//! What the dependencies are allowed to be: `deny.toml` says it, and cargo-deny checks it.

use std::process::Command;

use anyhow::Result;

use crate::paths::Paths;
use crate::run::show;
use crate::setup;

/// Checks licences, duplicate versions and sources. It needs no network once the crates are there.
///
/// # Errors
/// A dependency breaks a rule, or cargo-deny is missing and cannot be installed.
pub(crate) fn check(paths: &Paths) -> Result<()> {
    deny(paths, &["licenses", "bans", "sources"])
}

/// Checks `Cargo.lock` against the RustSec database, which it fetches.
///
/// # Errors
/// A dependency has an advisory or was withdrawn, the database cannot be fetched, or cargo-deny is missing and cannot be installed.
pub(crate) fn advisories(paths: &Paths) -> Result<()> {
    deny(paths, &["advisories"])
}

fn deny(paths: &Paths, rules: &[&str]) -> Result<()> {
    let mut deny = Command::new(setup::cargo_deny(paths)?);
    show(deny.current_dir(&paths.root).args(["--locked", "check", "--hide-inclusion-graph"]).args(rules))
}
