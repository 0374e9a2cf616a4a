//! `cargo xtask bench`: builds what a measurement needs, runs it, and gathers the rows of all into one table. A program
//! that measures prints its rows as `BENCH<tab>measure<tab>value<tab>target<tab>verdict`, the last two as it likes;
//! the verdict `missed` makes the command fail. `cargo xtask test` runs each measurement once, small.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::listen;
use crate::test::{Part, Tally};
use crate::wasm::{self, Module, Tools};
use crate::{pack, page, serve, setup, table};

/// What must be there before a measurement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The built page: its folder `THREADKEEP_SITE`, its address `THREADKEEP_URL`.
    Page,
    /// The packed npm package: `THREADKEEP_TARBALL`.
    Npm,
    /// The wasm module of `tests/` that drives our side in a browser: `THREADKEEP_BENCH_WASM`, the folder it is in.
    Module,
    /// Chromium: `CHROMIUM` and `CHROMEDRIVER`.
    Browser,
    /// Redis and PostgreSQL: `REDIS_SERVER` and `POSTGRES_BIN`.
    Servers,
}

/// How a measurement is run.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// A Node script, by its path in the checkout, and the variables that make it small.
    Node(&'static str, &'static [(&'static str, &'static str)]),
    /// An example of a package: `cargo run --release -p package --example name`. It reads [`SMALL`] itself.
    Cargo { package: &'static str, example: &'static str },
}

/// One measurement.
struct Bench {
    name: &'static str,
    needs: &'static [Need],
    program: Program,
}

/// How much is measured. A small run shows that every measurement works, and its figures say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What the figures are for.
    Full,
    /// A few seconds a measurement.
    Small,
}

/// Asks for a small run, as `--small` does.
pub(crate) const SMALL: &str = "THREADKEEP_BENCH_SMALL";

/// Variables for programs.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

use Need::{Browser, Module as Wasm, Npm, Page, Servers};

/// Every measurement. A new one is one line here.
const BENCHES: &[Bench] = &[
    cargo_bench("chain", "threadkeep", "bench_chain"),
    node_bench(
        "store",
        &[Wasm, Browser],
        "tests/bench/store.mjs",
        &[("ROUNDS", "1"), ("MESSAGES", "5000"), ("OPENINGS", "1")],
    ),
    node_bench(
        "durability",
        &[Wasm, Browser],
        "tests/bench/durability.mjs",
        &[("KILLS", "1"), ("CRASHES", "1"), ("APPENDS", "50")],
    ),
    cargo_bench("memory", "threadkeep", "bench_memory"),
    node_bench("memory-node", &[Npm], "tests/bench/memory.mjs", &[("ROUNDS", "1")]),
    node_bench("stores", &[Npm, Servers], "tests/bench/stores.mjs", &[("ROUNDS", "1")]),
    node_bench("scopes", &[Npm, Servers], "tests/bench/scopes.mjs", &[("SCOPES", "60"), ("WRITES", "300")]),
    node_bench("server", &[Npm], "tests/bench/server.mjs", &[("ROUNDS", "1")]),
    cargo_bench("stable", "threadkeep-context", "stable"),
    cargo_bench("compact", "threadkeep", "compact"),
    cargo_bench("evidence", "threadkeep", "evidence"),
    cargo_bench("growth", "threadkeep", "growth"),
    node_bench("growth-npm", &[Npm], "tests/bench/growth.mjs", &[("SCALE", "0.02"), ("ROUNDS", "1")]),
    cargo_bench("import", "threadkeep", "bench_import"),
    cargo_bench("recall", "threadkeep-recall", "recall"),
    node_bench(
        "search",
        &[Npm, Browser],
        "tests/bench/search.mjs",
        &[("ROUNDS", "1"), ("MESSAGES", "2000"), ("QUERIES", "20")],
    ),
    node_bench("stores-file", &[Npm], "tests/bench/stores-file.mjs", &[("ROUNDS", "1"), ("MESSAGES", "2000")]),
    node_bench("opfs", &[Npm, Browser], "tests/bench/opfs.mjs", &[("ROUNDS", "1")]),
    node_bench("sync", &[Npm], "tests/bench/sync.mjs", &[("MESSAGES", "2000")]),
    node_bench("context", &[Npm], "tests/bench/context.mjs", &[("ROUNDS", "1")]),
    node_bench("trim", &[Npm], "tests/bench/trim.mjs", &[("ROUNDS", "1"), ("MESSAGES", "2000")]),
    node_bench(
        "tokens",
        &[Wasm],
        "tests/bench/tokens.mjs",
        &[("ROUNDS", "1"), ("WARM_UP", "0"), ("STARTS", "1"), ("SIZE", "4000")],
    ),
    node_bench(
        "page",
        &[Page, Browser],
        "tests/e2e/bench-page.mjs",
        &[("THREADKEEP_LARGE", "2"), ("THREADKEEP_LONG", "300"), ("ROUNDS", "1")],
    ),
    node_bench(
        "talk",
        &[Page, Browser],
        "tests/e2e/bench-talk.mjs",
        &[("THREADKEEP_LONG", "200"), ("ROUNDS", "1"), ("SECONDS", "2")],
    ),
];

const fn cargo_bench(name: &'static str, package: &'static str, example: &'static str) -> Bench {
    Bench { name, needs: &[], program: Program::Cargo { package, example } }
}

const fn node_bench(
    name: &'static str,
    needs: &'static [Need],
    script: &'static str,
    small: &'static [(&'static str, &'static str)],
) -> Bench {
    Bench { name, needs, program: Program::Node(script, small) }
}

impl Bench {
    /// The part of the checks that runs it once, small.
    fn part(&self) -> Part {
        match self.program {
            Program::Cargo { .. } => Part::Native,
            Program::Node(..) if self.needs.contains(&Page) => Part::E2e,
            Program::Node(..) => Part::Npm,
        }
    }
}

/// What the drivers in `tests/bench/` load in the browser.
const MODULE: Module<'static> =
    Module { artefact: "threadkeep_tests", out_name: "threadkeep_tests", level: "-Os", typescript: false };

/// Runs the measurements of those names (all when none is named), prints their rows, and says whether all targets hold. A small run has no
/// targets. With `keep`, the rows of each are written into the documentation's folder. `chats` is the path of conversations with questions that `recall` and `evidence` look at beside their own.
///
/// # Errors
/// An unknown name, no such path, or something needed that cannot be built.
pub(crate) fn run(paths: &Paths, names: &[String], chats: Option<&OsStr>, size: Size, keep: bool) -> Result<bool> {
    if let Some(unknown) = names.iter().find(|name| !BENCHES.iter().any(|bench| bench.name == name.as_str())) {
        let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("there is no measurement `{unknown}`: {} are there", known.join(", "));
    }
    let chosen: Vec<&Bench> =
        BENCHES.iter().filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name)).collect();
    let mut variables = Variables::new();
    if let Some(chats) = chats {
        // Absolute, since measurements run in the checkout's root.
        let path = std::fs::canonicalize(chats).with_context(|| format!("{} is not there", chats.display()))?;
        variables.push(("THREADKEEP_CHATS", path.into_os_string()));
    }
    prepare(paths, &chosen, Size::Full, &mut variables)?;
    let mut rows = vec![["bench", "measure", "value", "target", ""].map(str::to_owned).to_vec()];
    let mut well = true;
    for bench in chosen {
        eprintln!("\n== {} ==", bench.name);
        match measure(paths, bench, &variables, size) {
            Ok(found) => {
                let missed = found.iter().any(|row| row.last().is_some_and(|verdict| verdict == "missed"));
                well &= size == Size::Small || !missed;
                if keep {
                    let folder = paths.documentation().join("measured");
                    fs::write(folder.join(bench.name).with_extension("tsv"), kept(&found, &machine()))?;
                }
                rows.extend(found);
            }
            Err(error) => {
                eprintln!("FAILED {error:#}");
                well = false;
            }
        }
    }
    println!("\n{}", table::render(&rows, &[2, 3]));
    Ok(well)
}

/// Runs the measurements of a part of the checks, small. Each is one step of `tally`: it fails if the program fails or measures
/// nothing, never by its figures. `variables` tell of what the part has made already.
pub(crate) fn check(paths: &Paths, part: Part, tally: &mut Tally, mut variables: Variables) {
    let chosen: Vec<&Bench> = BENCHES.iter().filter(|bench| bench.part() == part).collect();
    if tally.check("set-up of the measurements", || prepare(paths, &chosen, Size::Small, &mut variables)) {
        for bench in chosen {
            let name = format!("bench {}", bench.name);
            tally.check(&name, || measure(paths, bench, &variables, Size::Small).map(drop));
        }
    }
}

/// Makes what `chosen` need and `variables` do not name yet.
fn prepare(paths: &Paths, chosen: &[&Bench], size: Size, variables: &mut Variables) -> Result<()> {
    for need in [Page, Npm, Wasm, Browser, Servers] {
        let there = variables.iter().any(|(name, _)| *name == need.variable());
        if !there && chosen.iter().any(|bench| bench.needs.contains(&need)) {
            variables.extend(provide(paths, need, size)?);
        }
    }
    if chosen.iter().any(|bench| matches!(bench.program, Program::Node(..))) {
        setup::node()?;
        setup::packages(paths, &paths.bench())?;
        setup::packages(paths, &paths.e2e())?;
    }
    Ok(())
}

/// Runs one measurement and gives its rows.
///
/// # Errors
/// It fails, or measures nothing.
fn measure(paths: &Paths, bench: &Bench, variables: &Variables, size: Size) -> Result<Vec<Vec<String>>> {
    let said = listen(command(paths, bench, size).envs(variables.iter().cloned()))?;
    if !said.success {
        bail!("`{}` failed", said.command);
    }
    let found = read(bench.name, &said.output);
    if found.is_empty() {
        bail!("`{}` measured nothing", said.command);
    }
    Ok(found)
}

impl Need {
    /// The variable by which one sees that it is there.
    fn variable(self) -> &'static str {
        match self {
            Page => "THREADKEEP_URL",
            Npm => "THREADKEEP_TARBALL",
            Wasm => "THREADKEEP_BENCH_WASM",
            Browser => "CHROMIUM",
            Servers => "REDIS_SERVER",
        }
    }
}

/// Makes what is needed; returns the variables that tell of it.
fn provide(paths: &Paths, need: Need, size: Size) -> Result<Variables> {
    Ok(match need {
        Page => {
            page::build(paths)?;
            let address = serve::in_background(&paths.site())?;
            vec![("THREADKEEP_SITE", paths.site().into()), ("THREADKEEP_URL", address.into())]
        }
        Npm => {
            vec![("THREADKEEP_TARBALL", pack::build(paths)?.tarball.into())]
        }
        Wasm => {
            let tools = Tools::set_up(paths)?;
            let tools = if size == Size::Small { tools.quick() } else { tools };
            wasm::compile(paths, &tools, &["threadkeep-tests"])?;
            vec![("THREADKEEP_BENCH_WASM", wasm::finish(paths, &tools, &MODULE)?.into())]
        }
        Browser => {
            let browser = setup::browser()?;
            vec![("CHROMIUM", browser.chromium.into()), ("CHROMEDRIVER", browser.driver.into())]
        }
        Servers => setup::servers()?.variables().into(),
    })
}

fn command(paths: &Paths, bench: &Bench, size: Size) -> Command {
    let small = size == Size::Small;
    let mut command = match bench.program {
        Program::Node(script, sizes) => {
            let mut node = Command::new("node");
            node.arg(script);
            if small {
                node.envs(sizes.iter().copied());
            }
            node
        }
        Program::Cargo { package, example } => paths.example(package, example, small),
    };
    command.current_dir(&paths.root).env_remove(SMALL);
    if small {
        command.env(SMALL, "1");
    }
    command
}

/// The machine on which something was measured, and when, in a line.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let day = time::OffsetDateTime::now_utc().date();
    format!("{day}, {} on {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH)
}

/// The text of a kept measurement: `when_and_where`, then its rows without the measurement's name.
fn kept(rows: &[Vec<String>], when_and_where: &str) -> String {
    let rows = rows.iter().map(|row| format!("{}\n", row[1..].join("\t")));
    std::iter::once(format!("{when_and_where}\n")).chain(rows).collect()
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
    fn kept_rows_stand_below_the_day_and_the_machine() {
        let rows = read("store", "BENCH\tappend\t1200/s\t1000/s\tok\nBENCH\tload\t3 ms\n");
        assert_eq!(kept(&rows, "a day, a machine"), "a day, a machine\nappend\t1200/s\t1000/s\tok\nload\t3 ms\t\t\n");
        assert!(machine().starts_with("20"), "{}", machine());
    }

    #[test]
    fn a_measurement_that_panics_or_measures_nothing_fails_the_checks() {
        let paths = Paths::find().unwrap();
        let bench = |script| node_bench("made up", &[], script, &[]);
        let variables = Variables::new();
        let nothing = paths.root.join("target/measures-nothing.mjs");
        std::fs::write(&nothing, "console.log(process.env.THREADKEEP_BENCH_SMALL)").unwrap();
        let told = measure(&paths, &bench("target/measures-nothing.mjs"), &variables, Size::Small).unwrap_err();
        assert!(told.to_string().contains("measured nothing"), "{told}");
        std::fs::write(&nothing, "console.log('BENCH\\tcount\\t3'); throw new Error('panic')").unwrap();
        let told = measure(&paths, &bench("target/measures-nothing.mjs"), &variables, Size::Small).unwrap_err();
        assert!(told.to_string().contains("failed"), "{told}");
        std::fs::write(&nothing, "console.log(`BENCH\\tcount\\t${process.env.THREADKEEP_BENCH_SMALL}\\t\\tmissed`)")
            .unwrap();
        let rows = measure(&paths, &bench("target/measures-nothing.mjs"), &variables, Size::Small).unwrap();
        std::fs::remove_file(&nothing).unwrap();
        assert_eq!(rows, [["made up", "count", "1", "", "missed"]]);
    }

    #[test]
    fn every_measurement_runs_in_one_part_of_the_checks() {
        let part = |name: &str| BENCHES.iter().find(|bench| bench.name == name).unwrap().part();
        assert_eq!([part("compact"), part("stores"), part("talk")], [Part::Native, Part::Npm, Part::E2e]);
        assert!(BENCHES.iter().all(|bench| matches!(bench.program, Program::Cargo { .. } | Program::Node(_, [_, ..]))));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let paths = Paths::find().unwrap();
        assert!(run(&paths, &["nothing".to_owned()], None, Size::Small, false).is_err());
    }
}
