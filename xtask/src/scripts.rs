//! The look and the lints of JavaScript and TypeScript: `biome.jsonc` says what they are, and Biome checks them.

use std::process::Command;

use anyhow::Result;

use crate::paths::Paths;
use crate::run::{cargo, show};
use crate::setup;

/// Checks the format and the lints. Changes nothing.
///
/// # Errors
/// A file is not formatted or has a warning, or Biome is missing and cannot be installed.
pub(crate) fn check(paths: &Paths) -> Result<()> {
    show(biome(paths)?.args(["ci", "--error-on-warnings"]))
}

/// Formats everything, Rust too.
///
/// # Errors
/// A file cannot be read as code, or a tool is missing and cannot be installed.
pub(crate) fn format(paths: &Paths) -> Result<()> {
    setup::components()?;
    show(cargo().current_dir(&paths.root).args(["fmt", "--all"]))?;
    show(biome(paths)?.args(["format", "--write"]))
}

/// Writes the npm package's TypeScript types from the Rust types.
///
/// # Errors
/// The Rust types do not compile, or a file cannot be written.
pub(crate) fn types(paths: &Paths) -> Result<()> {
    let folder = paths.npm().join("src").join("generated");
    show(cargo().current_dir(&paths.root).args(["run", "--quiet", "-p", "threadkeep-types", "--"]).arg(folder))
}

fn biome(paths: &Paths) -> Result<Command> {
    setup::node()?;
    let mut biome = Command::new(setup::node_tools(paths)?.biome);
    biome.current_dir(&paths.root);
    Ok(biome)
}
