//! From a package to shipped wasm: cargo build, wasm-bindgen, wasm-opt. Out come `name.js` and `name_bg.wasm` (and the
//! `.d.ts` files where they are asked for) in a folder of our own; where they go next is the caller's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::folder::Scratch;
use crate::paths::Paths;
use crate::run::{cargo, human, quiet, show};
use crate::setup::{self, Bindgen};

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
];

/// What an outcome was made from, kept beside it.
const MADE_FROM: &str = "made-from.wasm";
const MADE_HOW: &str = "made-how.txt";

/// The tools of this way, ready to run.
pub(crate) struct Tools {
    bindgen: Bindgen,
    wasm_opt: PathBuf,
}

impl Tools {
    /// Finds or installs them.
    ///
    /// # Errors
    /// A tool is missing and cannot be installed.
    pub(crate) fn set_up(paths: &Paths) -> Result<Self> {
        setup::wasm_target()?;
        setup::node()?;
        Ok(Self { bindgen: setup::wasm_bindgen(paths)?, wasm_opt: setup::wasm_opt(paths)? })
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

/// Compiles `package` for the browser with the profile that ships; `selection` names its targets (`--bins`, `--lib`).
///
/// # Errors
/// The compiler's.
pub(crate) fn compile(paths: &Paths, package: &str, selection: &str) -> Result<()> {
    let mut build = cargo();
    build
        .args([
            "build",
            "--profile",
            "wasm",
            "--target",
            "wasm32-unknown-unknown",
            "-p",
            package,
            selection,
            "--target-dir",
        ])
        .arg(&paths.target)
        .args(["--config", &nameless_paths(paths)])
        .current_dir(&paths.root);
    show(&mut build)
}

/// Cargo's setting for panics to name sources without the folders of this machine. It joins `.cargo/config.toml`'s flags.
fn nameless_paths(paths: &Paths) -> String {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let known = [(cargo_home, "cargo"), (Some(paths.root.clone()), "threadkeep")];
    let flags = known.into_iter().filter_map(|(folder, name)| {
        Some(format!("{:?}", format!("--remap-path-prefix={}={name}", folder?.display())))
    });
    format!("target.wasm32-unknown-unknown.rustflags=[{}]", flags.collect::<Vec<_>>().join(", "))
}

/// Binds and optimises one compiled module; returns the folder with the outcome. A module that has not changed since the
/// last time is left as it is.
///
/// # Errors
/// The module was not built, or a tool fails.
pub(crate) fn finish(paths: &Paths, tools: &Tools, module: &Module) -> Result<PathBuf> {
    let start = std::time::Instant::now();
    let compiled = paths.target.join("wasm32-unknown-unknown/wasm").join(format!("{}.wasm", module.artefact));
    let bytes = fs::read(&compiled).with_context(|| format!("cargo made no {}", paths.short(&compiled)))?;
    let folder = paths.work().join(module.artefact);
    let out = folder.join("out");
    let how = format!("{} {} {} {}", tools.bindgen.version, module.out_name, module.level, FEATURES.join(" "));
    let same = |path: &Path, wanted: &[u8]| fs::read(path).is_ok_and(|found| found == wanted);
    if same(&folder.join(MADE_FROM), &bytes) && same(&folder.join(MADE_HOW), how.as_bytes()) {
        return Ok(out);
    }
    let scratch = Scratch::for_place(&folder)?;
    let bound = scratch.path().join("out");
    let mut bind = Command::new(&tools.bindgen.cli);
    bind.args(["--target", "web", "--out-name", module.out_name, "--out-dir"]).arg(&bound);
    if !module.typescript {
        bind.arg("--no-typescript");
    }
    quiet(bind.arg(&compiled))?;

    let wasm = bound.join(format!("{}_bg.wasm", module.out_name));
    let optimised = scratch.path().join("optimised.wasm");
    let mut optimise = Command::new(&tools.wasm_opt);
    optimise.arg(module.level).args(FEATURES).arg(&wasm).arg("-o").arg(&optimised);
    quiet(&mut optimise)?;
    fs::rename(&optimised, &wasm)?;

    fs::write(scratch.path().join(MADE_FROM), bytes)?;
    fs::write(scratch.path().join(MADE_HOW), how)?;
    scratch.put()?;
    eprintln!("{}: bound and optimised in {}", module.out_name, human(start.elapsed()));
    Ok(out)
}
