//! `cargo xtask fuzz`: runs fuzz targets. A target is an example program of a crate, or a script under Node against the packed npm package.
//! Each takes `--steps`, `--seed` and `--first`, prints its findings with their seed and step, and fails if there are any. What is tried, and
//! what must hold, is in the program. Examples are built in release; the short runs of the tests take those that the tests have built.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::pack;
use crate::paths::Paths;
use crate::run::listen;

/// Something that can be fuzzed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    program: Program,
    /// The steps of the short run that belongs to the tests.
    short: u64,
}

/// What fuzzes it.
#[derive(Debug, PartialEq, Eq)]
enum Program {
    /// An example of a crate: `crates/<crate>/examples/<example>`, with its own first arguments.
    Example { package: &'static str, example: &'static str, arguments: &'static [&'static str] },
    /// A script, from the folder `npm`. It finds the packed package in `THREADKEEP_TARBALL`, as the package's tests do.
    Script(&'static str),
}

/// All targets.
pub(crate) const TARGETS: [Target; 4] = [
    Target {
        name: "context",
        program: Program::Example { package: "threadkeep-context", example: "fuzz", arguments: &[] },
        short: 20_000,
    },
    Target {
        name: "archives",
        program: Program::Example { package: "threadkeep", example: "fuzz_import", arguments: &["archives"] },
        short: 50,
    },
    Target {
        name: "exports",
        program: Program::Example { package: "threadkeep", example: "fuzz_import", arguments: &["exports"] },
        short: 200,
    },
    // Its steps are for each store.
    Target { name: "stores", program: Program::Script("test/fuzz/stores.mjs"), short: 30 },
];

impl Target {
    /// The target of that name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn named(name: &str) -> Result<&'static Self> {
        let names = TARGETS.map(|target| target.name).join(", ");
        let found = TARGETS.iter().find(|target| target.name == name);
        found.with_context(|| format!("cannot fuzz `{name}`: the targets are {names}"))
    }

    /// Whether it needs the packed npm package.
    pub(crate) fn needs_package(&self) -> bool {
        matches!(self.program, Program::Script(_))
    }

    /// The command of the short run that belongs to the tests.
    ///
    /// # Errors
    /// It needs the packed package, and there is none.
    pub(crate) fn short_run(&self, paths: &Paths, tarball: Option<&Path>) -> Result<Command> {
        self.command(paths, Run { steps: Some(self.short), ..Run::default() }, tarball, true)
    }

    /// The command of a run; `built` as [`Paths::example`] takes it.
    fn command(&self, paths: &Paths, run: Run, tarball: Option<&Path>, built: bool) -> Result<Command> {
        let mut command = match (&self.program, tarball) {
            (Program::Example { package, example, arguments }, _) => {
                let mut command = paths.example(package, example, built);
                command.current_dir(&paths.root).args(*arguments);
                command
            }
            (Program::Script(script), Some(tarball)) => {
                let mut node = Command::new("node");
                node.current_dir(paths.npm()).arg(script).env("THREADKEEP_TARBALL", tarball);
                node
            }
            (Program::Script(_), None) => bail!("fuzzing {} needs the packed npm package", self.name),
        };
        for (name, number) in [("--steps", run.steps), ("--seed", run.seed), ("--first", run.first)] {
            if let Some(number) = number {
                command.args([name, &number.to_string()]);
            }
        }
        Ok(command)
    }
}

/// How long and from where; what is absent is the target's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) steps: Option<u64>,
    pub(crate) seed: Option<u64>,
    /// The first step: repeat a finding from there.
    pub(crate) first: Option<u64>,
}

impl Run {
    /// The field of an option `--name`: `steps`, `seed` or `first`.
    pub(crate) fn field(&mut self, name: &str) -> &mut Option<u64> {
        match name {
            "steps" => &mut self.steps,
            "seed" => &mut self.seed,
            _ => &mut self.first,
        }
    }
}

/// Fuzzes `targets` (all when none is named), one after the other, and says whether nothing was found.
///
/// # Errors
/// A program cannot be started, or the package cannot be packed.
pub(crate) fn run(paths: &Paths, targets: &[&'static Target], run: Run) -> Result<bool> {
    let all: Vec<&Target> = TARGETS.iter().collect();
    let targets = if targets.is_empty() { &all } else { targets };
    let needed = targets.iter().any(|target| target.needs_package());
    let tarball = if needed { Some(pack::build(paths)?.tarball) } else { None };
    let mut clean = true;
    for target in targets {
        clean &= listen(&mut target.command(paths, run, tarball.as_deref(), false)?)?.success;
    }
    Ok(clean)
}
