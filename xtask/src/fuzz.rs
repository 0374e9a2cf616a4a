//! `cargo xtask fuzz`: runs the fuzz target of the core in release, natively. What is tried, and what must hold, is in
//! `crates/core/examples/fuzz`; a finding is printed there, with its seed and step, and makes the command fail.

use std::process::Command;

use anyhow::Result;

use crate::paths::Paths;
use crate::run::{cargo, listen};

/// What was asked for; what is absent is the target's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fuzz {
    pub(crate) steps: Option<u64>,
    pub(crate) seed: Option<u64>,
    /// The first step: one that was found wanting is tried again from there.
    pub(crate) first: Option<u64>,
}

impl Fuzz {
    /// The field of an option `--name`: `steps`, `seed` or `first`.
    pub(crate) fn field(&mut self, name: &str) -> &mut Option<u64> {
        match name {
            "steps" => &mut self.steps,
            "seed" => &mut self.seed,
            _ => &mut self.first,
        }
    }

    /// The command that does it.
    pub(crate) fn command(self, paths: &Paths) -> Command {
        let mut command = cargo();
        command.current_dir(&paths.root);
        command.args(["run", "--quiet", "--release", "-p", "threadkeep-core", "--example", "fuzz", "--"]);
        for (name, number) in [("--steps", self.steps), ("--seed", self.seed), ("--first", self.first)] {
            if let Some(number) = number {
                command.args([name, &number.to_string()]);
            }
        }
        command
    }
}

/// Fuzzes, and says whether nothing was found.
///
/// # Errors
/// Cargo cannot be started.
pub(crate) fn run(paths: &Paths, fuzz: Fuzz) -> Result<bool> {
    Ok(listen(&mut fuzz.command(paths))?.success)
}
