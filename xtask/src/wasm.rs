//! From a package to shipped wasm: cargo build, cutting off the parts that are loaded later, wasm-bindgen,
//! wasm-opt. Out come `name.js`, `name_bg.wasm`, the parts and `parts.js`, which loads them (and the `.d.ts` files
//! where they are asked for), in a folder of our own; where they go next is the caller's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::folder::Scratch;
use crate::paths::Paths;
use crate::run::{cargo, human, quiet, show, side_by_side};
use crate::setup::{self, Bindgen, NodeTools, WASM};
use crate::size::Budget;
use crate::split;

/// What rustc may emit for wasm32-unknown-unknown, which wasm-opt must be told of.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-call-indirect-overlong",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--enable-simd",
];

/// What is told to nobody who runs a module.
const STRIPPED: &[&str] = &["--strip-debug", "--strip-producers", "--strip-target-features"];

/// For rustc: the module is to be cut apart at the marks of `threadkeep-parts`, for which the linker must leave in it what
/// refers to what.
const SPLIT: &[&str] = &["--cfg", "split", "-Clink-args=--emit-relocs"];

/// For rustc: 16 bytes at a time, as all browsers since 2023 can. It saves 20 KB of the parts, and `memchr` searches with it.
const SIMD: &str = "-Ctarget-feature=+simd128";

/// The variable that asks for a quick build: hardly optimised, several times as large, done in a fraction of the time. For
/// trying a change; what is measured or shipped is built without it.
const QUICK: &str = "THREADKEEP_QUICK";

/// What an outcome was made from, kept beside it.
const MADE_FROM: &str = "made-from.wasm";
const MADE_HOW: &str = "made-how.txt";

/// The tools of this way, ready to run.
pub(crate) struct Tools {
    bindgen: Bindgen,
    node: NodeTools,
    /// Whether [`QUICK`] asks for a build that is done soon.
    quick: bool,
}

impl Tools {
    /// Finds or installs them.
    ///
    /// # Errors
    /// A tool is missing and cannot be installed.
    pub(crate) fn set_up(paths: &Paths) -> Result<Self> {
        setup::wasm_target()?;
        setup::node()?;
        let (bindgen, node) = (setup::wasm_bindgen(paths)?, setup::node_tools(paths)?);
        let quick = std::env::var_os(QUICK).is_some_and(|value| !value.is_empty() && value != "0");
        Ok(Self { bindgen, node, quick })
    }

    /// The same for a build that is done soon, whatever [`QUICK`] asks for.
    pub(crate) fn quick(self) -> Self {
        Self { quick: true, ..self }
    }

    /// The limit for what is built: a quick build has none.
    pub(crate) fn limit(&self, budget: Budget) -> Option<Budget> {
        (!self.quick).then_some(budget)
    }

    /// Cargo's profile.
    fn profile(&self) -> &'static str {
        if self.quick { "wasm-quick" } else { "wasm" }
    }

    /// Minifies every script directly in `folder`.
    ///
    /// # Errors
    /// The folder cannot be read, or esbuild finds a mistake.
    pub(crate) fn minify(&self, folder: &Path) -> Result<()> {
        let mut scripts = Vec::new();
        for entry in fs::read_dir(folder)? {
            scripts.push(entry?.path());
        }
        scripts.retain(|path| path.extension().is_some_and(|ending| ending == "js"));
        Self::esbuild(folder, Command::new(&self.node.esbuild).args(scripts).arg("--format=esm"))
    }

    /// Puts the sheets that a style sheet imports into it, minified.
    ///
    /// # Errors
    /// A sheet is not there, or esbuild finds a mistake.
    pub(crate) fn bundle_styles(&self, sheet: &Path) -> Result<()> {
        let folder = sheet.parent().unwrap_or(sheet);
        Self::esbuild(folder, Command::new(&self.node.esbuild).arg(sheet).arg("--bundle"))
    }

    fn esbuild(folder: &Path, command: &mut Command) -> Result<()> {
        command.args(["--minify", "--charset=utf8", "--allow-overwrite", "--log-level=warning"]);
        quiet(command.arg(format!("--outdir={}", folder.display()))).map(drop)
    }
}

/// One wasm file to ship.
pub(crate) struct Module<'a> {
    /// Cargo's name for it: `name.wasm` in the target folder.
    pub(crate) artefact: &'a str,
    /// The name of the files that come out.
    pub(crate) out_name: &'a str,
    /// wasm-opt's level: `-Oz` for small, `-Os` for small and quicker.
    pub(crate) level: &'a str,
    /// Whether TypeScript declarations are wanted.
    pub(crate) typescript: bool,
}

/// Compiles packages for the browser with the profile that ships.
///
/// # Errors
/// The compiler's.
pub(crate) fn compile(paths: &Paths, tools: &Tools, packages: &[&str]) -> Result<()> {
    let mut build = cargo();
    build
        .args(["build", "--profile", tools.profile(), "--target", WASM, "--lib", "--bins"])
        .args(packages.iter().flat_map(|package| ["-p", package]))
        .arg("--target-dir")
        .arg(&paths.target)
        .args(["--config", &flags(paths)])
        .current_dir(&paths.root)
        // These would replace the flags of the workspace and ours, rather than join them.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    show(&mut build)
}

/// Cargo's setting with the flags of what ships, which joins `.cargo/config.toml`'s: sources are named without the folders
/// of this machine.
fn flags(paths: &Paths) -> String {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    // Where the standard library's source is installed, the compiler names it there.
    let sysroot = quiet(Command::new("rustc").args(["--print", "sysroot"])).ok();
    let library = sysroot.map(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library"));
    let known = [(cargo_home, "cargo"), (Some(paths.root.clone()), "threadkeep"), (library, "std")];
    let renamed = known
        .into_iter()
        .filter_map(|(folder, name)| Some(format!("--remap-path-prefix={}={name}", folder?.display())));
    let quoted: Vec<String> = renamed
        .chain(SPLIT.iter().chain([&SIMD]).map(|&flag| flag.to_owned()))
        .map(|flag| format!("{flag:?}"))
        .collect();
    format!("target.{WASM}.rustflags=[{}]", quoted.join(", "))
}

/// Binds and optimises one compiled module; returns the folder with the outcome. A module that has not changed since the
/// last time is left as it is.
///
/// # Errors
/// The module was not built, or a tool fails.
pub(crate) fn finish(paths: &Paths, tools: &Tools, module: &Module) -> Result<PathBuf> {
    let start = std::time::Instant::now();
    let compiled = paths.target.join(WASM).join(tools.profile()).join(format!("{}.wasm", module.artefact));
    let bytes = fs::read(&compiled).with_context(|| format!("cargo made no {}", paths.short(&compiled)))?;
    let folder = paths.work().join(module.artefact);
    let out = folder.join("out");
    let how = format!(
        "{} {} {} twice {} {} one shared module\n{}",
        tools.bindgen.version,
        module.out_name,
        module.level,
        STRIPPED.join(" "),
        FEATURES.join(" "),
        split::LOADER
    );
    let same = |path: &Path, wanted: &[u8]| fs::read(path).is_ok_and(|found| found == wanted);
    if same(&folder.join(MADE_FROM), &bytes) && same(&folder.join(MADE_HOW), how.as_bytes()) {
        return Ok(out);
    }
    let scratch = Scratch::for_place(&folder)?;
    let (cut, bound) = (scratch.path().join("cut"), scratch.path().join("out"));
    fs::create_dir_all(&cut)?;
    let glue = format!("{}.js", module.out_name);
    let parts = split::cut(&bytes, &glue, &cut)?;

    let mut bind = Command::new(&tools.bindgen.cli);
    // The parts work with the table of functions, which is of no interest to the glue.
    bind.args(["--keep-lld-exports", "--target", "web", "--out-name", module.out_name, "--out-dir"]).arg(&bound);
    if !module.typescript {
        bind.arg("--no-typescript");
    }
    quiet(bind.arg(cut.join(split::MAIN)))?;

    let shared = bound.join(split::SHARED);
    parts.join(Command::new(&tools.node.wasm_merge).args(FEATURES), &cut, &shared)?;
    let wasm = bound.join(format!("{}_bg.wasm", module.out_name));
    let mut files = vec![(wasm.clone(), wasm), (shared.clone(), shared)];
    files.extend(parts.own.iter().map(|part| format!("{part}.wasm")).map(|file| (cut.join(&file), bound.join(&file))));
    // wasm-opt keeps one processor busy.
    side_by_side(&files, |(from, to)| optimise(tools, module.level, from, to))?;
    for (_, part) in &files[1..] {
        parts.stamp(part)?;
    }
    fs::copy(cut.join(split::SCRIPT), bound.join(split::SCRIPT))?;
    if module.typescript {
        fs::copy(cut.join(split::TYPES), bound.join(split::TYPES))?;
    }
    fs::remove_dir_all(cut)?;

    fs::write(scratch.path().join(MADE_FROM), bytes)?;
    fs::write(scratch.path().join(MADE_HOW), how)?;
    scratch.put()?;
    eprintln!("{}: bound and optimised in {}", module.out_name, human(start.elapsed()));
    Ok(out)
}

/// Makes `out` of `wasm`, which may be the same file. A quick build only copies.
fn optimise(tools: &Tools, level: &str, wasm: &Path, out: &Path) -> Result<()> {
    if tools.quick {
        if wasm != out {
            fs::copy(wasm, out)?;
        }
        return Ok(());
    }
    let mut optimise = Command::new(&tools.node.wasm_opt);
    // Twice, since the first leaves something for the second. The names of functions, which the cutting left in, are for debugging.
    optimise.args([level, level]).args(STRIPPED).args(FEATURES).arg(wasm).arg("-o").arg(out);
    quiet(&mut optimise).map(drop)
}
