//! `cargo xtask bench`: builds what a measurement needs, runs it, and gathers the rows of all into one table. A program
//! that measures prints its rows as `BENCH<tab>measure<tab>value<tab>target<tab>verdict`, the last two as it likes;
//! the verdict `missed` makes the command fail.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::pack;
use crate::page;
use crate::paths::Paths;
use crate::run::{cargo, listen};
use crate::serve;
use crate::setup;
use crate::table;
use crate::wasm::{self, Module, Tools};

/// What must be there before a measurement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The built page: its folder `THREADKEEP_SITE`, its address `THREADKEEP_URL`.
    Page,
    /// The packed npm package: `THREADKEEP_TARBALL`, its wasm in `THREADKEEP_WASM`.
    Npm,
    /// The wasm module of `tests/` that drives our side in a browser: `THREADKEEP_BENCH_WASM`, the folder it is in.
    Module,
    /// Chromium: `CHROMIUM` and `CHROMEDRIVER`.
    Browser,
    /// Redis and PostgreSQL: `REDIS_SERVER` and `POSTGRES_BIN`.
    Servers,
}

/// How a measurement is run.
enum Program {
    /// A Node script, by its path in the checkout.
    Node(&'static str),
    /// An example of a package: `cargo run --release -p package --example name`.
    Cargo { package: &'static str, example: &'static str },
}

/// One measurement.
struct Bench {
    name: &'static str,
    needs: &'static [Need],
    program: Program,
}

/// Every measurement. A new one is one line here.
const BENCHES: &[Bench] = &[
    Bench { name: "chain", needs: &[], program: Program::Cargo { package: "threadkeep", example: "bench_chain" } },
    Bench { name: "store", needs: &[Need::Module, Need::Browser], program: Program::Node("tests/bench/store.mjs") },
    Bench {
        name: "durability",
        needs: &[Need::Module, Need::Browser],
        program: Program::Node("tests/bench/durability.mjs"),
    },
    Bench { name: "stores", needs: &[Need::Npm, Need::Servers], program: Program::Node("tests/bench/stores.mjs") },
    Bench { name: "stable", needs: &[], program: Program::Cargo { package: "threadkeep-core", example: "stable" } },
    Bench { name: "compact", needs: &[], program: Program::Cargo { package: "threadkeep", example: "compact" } },
    Bench { name: "recall", needs: &[], program: Program::Cargo { package: "threadkeep-recall", example: "recall" } },
    Bench { name: "search", needs: &[Need::Npm, Need::Browser], program: Program::Node("tests/bench/search.mjs") },
    Bench { name: "stores-file", needs: &[Need::Npm], program: Program::Node("tests/bench/stores-file.mjs") },
    Bench { name: "opfs", needs: &[Need::Npm, Need::Browser], program: Program::Node("tests/bench/opfs.mjs") },
    Bench { name: "context", needs: &[Need::Npm], program: Program::Node("tests/bench/context.mjs") },
    Bench { name: "trim", needs: &[Need::Npm], program: Program::Node("tests/bench/trim.mjs") },
    Bench { name: "tokens", needs: &[Need::Module], program: Program::Node("tests/bench/tokens.mjs") },
    Bench { name: "page", needs: &[Need::Page, Need::Browser], program: Program::Node("tests/e2e/bench-page.mjs") },
    Bench { name: "talk", needs: &[Need::Page, Need::Browser], program: Program::Node("tests/e2e/bench-talk.mjs") },
];

/// What the drivers in `tests/bench/` load in the browser.
const MODULE: Module<'static> =
    Module { artefact: "threadkeep_tests", out_name: "threadkeep_tests", level: "-Os", typescript: false };

/// Runs the measurements of those names (all when none is named), prints their rows, and says whether all targets hold. `chats` is the path
/// of conversations with questions that `recall` looks at beside its own.
///
/// # Errors
/// An unknown name, no such path, or something needed that cannot be built.
pub(crate) fn run(paths: &Paths, names: &[String], chats: Option<&OsStr>) -> Result<bool> {
    if let Some(unknown) = names.iter().find(|name| !BENCHES.iter().any(|bench| bench.name == name.as_str())) {
        let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("there is no measurement `{unknown}`: {} are there", known.join(", "));
    }
    let chosen: Vec<&Bench> =
        BENCHES.iter().filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name)).collect();
    let mut environment = Vec::new();
    if let Some(chats) = chats {
        // Absolute, since measurements run in the checkout's root.
        let path = std::fs::canonicalize(chats).with_context(|| format!("{} is not there", chats.display()))?;
        environment.push(("THREADKEEP_CHATS", path.into_os_string()));
    }
    for need in [Need::Page, Need::Npm, Need::Module, Need::Browser, Need::Servers] {
        if chosen.iter().any(|bench| bench.needs.contains(&need)) {
            environment.extend(provide(paths, need)?);
        }
    }
    if chosen.iter().any(|bench| matches!(bench.program, Program::Node(_))) {
        setup::node()?;
        setup::packages(paths, &paths.bench())?;
        setup::packages(paths, &paths.e2e())?;
    }
    let mut rows = vec![["bench", "measure", "value", "target", ""].map(str::to_owned).to_vec()];
    let mut well = true;
    for bench in chosen {
        eprintln!("\n== {} ==", bench.name);
        let said = listen(command(paths, bench).envs(environment.iter().cloned()))?;
        let found = read(bench.name, &said.output);
        if !said.success || found.is_empty() {
            eprintln!("FAILED `{}` {}", said.command, if said.success { "measured nothing" } else { "failed" });
            well = false;
        }
        well &= !found.iter().any(|row| row.last().is_some_and(|verdict| verdict == "missed"));
        rows.extend(found);
    }
    println!("\n{}", table::render(&rows, &[2, 3]));
    Ok(well)
}

/// Makes what is needed; returns the variables that tell of it.
fn provide(paths: &Paths, need: Need) -> Result<Vec<(&'static str, std::ffi::OsString)>> {
    Ok(match need {
        Need::Page => {
            page::build(paths)?;
            let address = serve::in_background(&paths.site())?;
            vec![("THREADKEEP_SITE", paths.site().into()), ("THREADKEEP_URL", address.into())]
        }
        Need::Npm => {
            let packed = pack::build(paths)?;
            vec![("THREADKEEP_TARBALL", packed.tarball.into()), ("THREADKEEP_WASM", paths.npm().join("wasm").into())]
        }
        Need::Module => {
            let tools = Tools::set_up(paths)?;
            wasm::compile(paths, &tools, "threadkeep-tests", "--lib")?;
            vec![("THREADKEEP_BENCH_WASM", wasm::finish(paths, &tools, &MODULE)?.into())]
        }
        Need::Browser => {
            let browser = setup::browser()?;
            vec![("CHROMIUM", browser.chromium.into()), ("CHROMEDRIVER", browser.driver.into())]
        }
        Need::Servers => setup::servers()?.variables().into(),
    })
}

fn command(paths: &Paths, bench: &Bench) -> Command {
    let mut command = match bench.program {
        Program::Node(script) => {
            let mut node = Command::new("node");
            node.arg(script);
            node
        }
        Program::Cargo { package, example } => {
            let mut cargo = cargo();
            cargo.args(["run", "--release", "-p", package, "--example", example]);
            cargo
        }
    };
    command.current_dir(&paths.root);
    command
}

/// The rows in a program's output, each with the measurement's name before it.
fn read(name: &str, output: &str) -> Vec<Vec<String>> {
    let row = |line: &str| {
        let cells = line.strip_prefix("BENCH\t")?.split('\t').map(|cell| cell.trim().to_owned());
        let mut row: Vec<String> = std::iter::once(name.to_owned()).chain(cells).take(5).collect();
        row.resize(5, String::new());
        // A row that measures nothing only separates others.
        (!row[2].is_empty()).then_some(row)
    };
    output.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_among_other_lines() {
        let rows = read("store", "starting\nBENCH\tappend\t1200/s\t1000/s\tok\nBENCH\t\t\nBENCH\tload\t3 ms\n");
        assert_eq!(rows[0], ["store", "append", "1200/s", "1000/s", "ok"]);
        assert_eq!(rows[1], ["store", "load", "3 ms", "", ""]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let paths = Paths::find().unwrap();
        assert!(run(&paths, &["nothing".to_owned()], None).is_err());
    }
}
