//! What the Rust toolchain needs beyond its minimal profile: the wasm target, clippy and rustfmt.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::{cargo, on_path, quiet, step};

/// The target that everything for the browser is compiled to.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Makes sure that the standard library for wasm is there.
///
/// # Errors
/// It is missing and rustup cannot add it.
pub(crate) fn wasm_target() -> Result<()> {
    let folder = quiet(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]))?;
    let there = Path::new(folder.trim()).read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if there {
        return Ok(());
    }
    rustup(&["target", "add", WASM], &format!("the Rust target {WASM}"))
}

/// Makes sure that clippy and rustfmt are there.
///
/// # Errors
/// One is missing and rustup cannot add it.
pub(crate) fn components() -> Result<()> {
    for (subcommand, component) in [("clippy", "clippy"), ("fmt", "rustfmt")] {
        if quiet(cargo().args([subcommand, "--version"])).is_err() {
            rustup(&["component", "add", component], component)?;
        }
    }
    Ok(())
}

fn rustup(arguments: &[&str], what: &str) -> Result<()> {
    on_path("rustup")
        .with_context(|| format!("{what} is missing, and there is no rustup to add it: see https://rustup.rs"))?;
    step(&format!("adding {what}"), || quiet(Command::new("rustup").args(arguments)).map(drop))
}
