//! The command line: words in, an [`Order`] out. Nothing is run here.

use std::ffi::OsString;

use anyhow::{Context as _, Result, bail};
use lexopt::prelude::*;

use crate::bench::{SMALL, Size};
use crate::fuzz::{Run, Target};
use crate::release::Mode;
use crate::test::Part;

/// What `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
cargo xtask setup               install what is missing: Rust components, wasm-bindgen, wasm-opt, esbuild, Biome,
                                Chromium, cargo-deny, Redis, PostgreSQL, npm packages
cargo xtask serve [--port N]    build the page in release and serve it on 127.0.0.1 (default port 8080)
cargo xtask build               build the page in release into target/site and check its size
cargo xtask pack                build the npm package into target/npm and check its size
cargo xtask site [--base PATH]  build the documentation with the page, the API reference (also in target/api, in Markdown) and examples that
                                run, as static files for a host that serves them at PATH (default /), into target/documentation
cargo xtask vocabulary          make the token vocabularies in crates/tokens/vocabulary anew
cargo xtask types               write the npm package's TypeScript types from the Rust types
cargo xtask format              format Rust, JavaScript and TypeScript
cargo xtask advisories          compare Cargo.lock with the RustSec database of known faults
cargo xtask test [PART…]        run the checks: native, wasm, npm, e2e (all when none is named)
cargo xtask release [--publish]
                                check versions, changelog and tree, and say what a release would run; --publish runs it
cargo xtask bench [NAME…] [--small] [--keep] [--chats PATH]
                                run the measurements (all when none is named). With --small, only see that they run. With --keep, write the
                                figures into docs/site/measured, for the documentation. With --chats, `recall` also looks for the evidence of
                                the questions in that file, or the JSON files of that folder: LoCoMo (`data/locomo10.json` of
                                github.com/snap-research/locomo) or LongMemEval (its README says where), as they are published
cargo xtask fuzz [TARGET…] [--steps N] [--seed S] [--first N]
                                try made-up and damaged input (all targets when none is named): context, archives, exports,
                                stores. A finding names its seed and step, which make the same case again

Tools that are not on PATH are kept in $THREADKEEP_CACHE, else $XDG_CACHE_HOME/threadkeep, else ~/.cache/threadkeep.
CHROMIUM and CHROMEDRIVER name a browser and a driver of your own, REDIS_SERVER and POSTGRES_BIN (the folder of initdb and postgres)
servers of your own. THREADKEEP_QUICK=1 makes every build of wasm quick and large, for trying a change.
THREADKEEP_BENCH_SMALL=1 means --small.";

/// The port that `serve` tries first.
const DEFAULT_PORT: u16 = 8080;

/// One command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Help,
    Setup,
    Build,
    Serve { port: u16 },
    Pack,
    Site { base: String },
    Vocabulary,
    Types,
    Advisories,
    Format,
    Release(Mode),
    Test(Vec<Part>),
    Bench { names: Vec<String>, chats: Option<OsString>, size: Size, keep: bool },
    Fuzz { targets: Vec<&'static Target>, run: Run },
}

/// Reads the arguments that follow `cargo xtask`.
///
/// # Errors
/// An unknown command, option or part, or a port that is not a number from 0 to 65535.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Order> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut words: Vec<String> = Vec::new();
    let mut port = None;
    let mut chats = None;
    let mut small = false;
    let mut keep = false;
    let mut publish = false;
    let mut base = None;
    let mut run = Run::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Order::Help),
            Long("port") | Short('p') => port = Some(parser.value()?.parse::<u16>().context("--port wants a number")?),
            Long("small") => small = true,
            Long("keep") => keep = true,
            Long("publish") => publish = true,
            Long("base") => base = Some(parser.value()?.string()?),
            Long("chats") => chats = Some(parser.value()?),
            Long(name @ ("steps" | "seed" | "first")) => {
                let name = name.to_owned();
                let number = parser.value()?.parse::<u64>().with_context(|| format!("--{name} wants a number"))?;
                *run.field(&name) = Some(number);
            }
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let mut words = words.into_iter();
    let command = words.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = words.collect();
    if port.is_some() && command != "serve" {
        bail!("--port belongs to `serve`");
    }
    if base.is_some() && command != "site" {
        bail!("--base belongs to `site`");
    }
    if chats.is_some() && !(command == "bench" && (rest.is_empty() || rest.iter().any(|name| name == "recall"))) {
        bail!("--chats belongs to `bench recall`");
    }
    if small && command != "bench" {
        bail!("--small belongs to `bench`");
    }
    if keep && (small || command != "bench") {
        bail!("--keep belongs to `bench`, and not to a small one");
    }
    if publish && command != "release" {
        bail!("--publish belongs to `release`");
    }
    if run != Run::default() && command != "fuzz" {
        bail!("--steps, --seed and --first belong to `fuzz`");
    }
    if let Some(extra) = rest.first()
        && !matches!(command.as_str(), "test" | "bench" | "fuzz")
    {
        bail!("`{command}` takes no argument, and got `{extra}`");
    }
    Ok(match command.as_str() {
        "help" => Order::Help,
        "setup" => Order::Setup,
        "build" => Order::Build,
        "serve" => Order::Serve { port: port.unwrap_or(DEFAULT_PORT) },
        "pack" => Order::Pack,
        "site" => Order::Site { base: base.unwrap_or_else(|| "/".to_owned()) },
        "vocabulary" => Order::Vocabulary,
        "types" => Order::Types,
        "advisories" => Order::Advisories,
        "format" => Order::Format,
        "release" => Order::Release(if publish { Mode::Publish } else { Mode::DryRun }),
        "test" => Order::Test(rest.iter().map(|word| Part::named(word)).collect::<Result<_>>()?),
        "bench" => {
            let small = small || std::env::var_os(SMALL).is_some_and(|value| !value.is_empty() && value != "0");
            Order::Bench { names: rest, chats, size: if small { Size::Small } else { Size::Full }, keep }
        }
        "fuzz" => Order::Fuzz { targets: rest.iter().map(|word| Target::named(word)).collect::<Result<_>>()?, run },
        other => bail!("there is no command `{other}`\n\n{USAGE}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Order> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_readme_lists_every_command() {
        let readme = include_str!("../README.md");
        for command in USAGE.lines().filter_map(|line| line.strip_prefix("cargo xtask ")) {
            let name = command.split([' ', '[']).next().unwrap();
            assert!(readme.contains(&format!("\n| `cargo xtask {name}")), "xtask/README.md has no row for {name}");
        }
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(parsed("").unwrap(), Order::Help);
        assert_eq!(parsed("test --help").unwrap(), Order::Help);
        assert_eq!(parsed("serve").unwrap(), Order::Serve { port: 8080 });
        assert_eq!(parsed("serve --port 9001").unwrap(), Order::Serve { port: 9001 });
        assert_eq!(parsed("serve --port=0").unwrap(), Order::Serve { port: 0 });
        assert_eq!(parsed("site").unwrap(), Order::Site { base: "/".to_owned() });
        assert_eq!(parsed("site --base /docs/").unwrap(), Order::Site { base: "/docs/".to_owned() });
        assert_eq!(parsed("vocabulary").unwrap(), Order::Vocabulary);
        assert_eq!(parsed("types").unwrap(), Order::Types);
        assert_eq!(parsed("release").unwrap(), Order::Release(Mode::DryRun));
        assert_eq!(parsed("release --publish").unwrap(), Order::Release(Mode::Publish));
        assert_eq!(parsed("format").unwrap(), Order::Format);
        assert_eq!(parsed("advisories").unwrap(), Order::Advisories);
        assert_eq!(parsed("test").unwrap(), Order::Test(vec![]));
        assert_eq!(parsed("test npm native").unwrap(), Order::Test(vec![Part::Npm, Part::Native]));
        assert_eq!(
            parsed("bench store").unwrap(),
            Order::Bench { names: vec!["store".to_owned()], chats: None, size: Size::Full, keep: false }
        );
        assert_eq!(
            parsed("bench --small").unwrap(),
            Order::Bench { names: vec![], chats: None, size: Size::Small, keep: false }
        );
        let chats = Some(OsString::from("a/b.json"));
        let order = Order::Bench { names: vec!["recall".to_owned()], chats, size: Size::Full, keep: false };
        assert_eq!(parsed("bench recall --chats a/b.json").unwrap(), order);
        assert!(matches!(parsed("bench page --keep").unwrap(), Order::Bench { keep: true, .. }));
        assert_eq!(parsed("fuzz").unwrap(), Order::Fuzz { targets: vec![], run: Run::default() });
        let targets = vec![Target::named("context").unwrap()];
        let run = Run { steps: Some(5), seed: Some(2), first: None };
        assert_eq!(parsed("fuzz context --steps 5 --seed=2").unwrap(), Order::Fuzz { targets, run });
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in [
            "fly",
            "serve --port x",
            "serve --port 70000",
            "build --port 1",
            "setup now",
            "test all",
            "test --x",
            "fuzz all",
            "fuzz --steps x",
            "test --seed 1",
            "bench store --chats x",
            "serve --chats x",
            "test --small",
            "test --keep",
            "bench --small --keep",
            "pack --publish",
            "pack --base /docs/",
            "release now",
            "bench recall --chats",
        ] {
            assert!(parsed(line).is_err(), "`{line}` was taken");
        }
    }
}
