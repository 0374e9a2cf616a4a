//! What the Rust toolchain needs beyond its minimal profile: the wasm target, clippy and rustfmt; and the source of the
//! standard library, with which what ships becomes smaller.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

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

/// What lets a stable toolchain take the options below. They are unstable, and a toolchain that knows them not is told by
/// the probe in [`small_std`]; nothing but the size of what ships depends on them.
pub(crate) const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
/// Cargo's: compile the standard library too, with its own small variants of what it has in two, but for the allocator.
pub(crate) const CARGO_SMALL: &[&str] = &[
    "-Zbuild-std=std,panic_abort",
    "-Zbuild-std-features=optimize_for_size",
    "--config=profile.wasm.package.dlmalloc.opt-level=3",
];
/// The compiler's: a panic is a trap at once, without words, and so without the code that would make them.
pub(crate) const RUSTC_SMALL: &[&str] = &["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Zshare-generics=y"];

/// Whether this toolchain can compile its standard library together with what ships; returns the folder with the
/// library's source, which is added where it is missing.
///
/// # Errors
/// It cannot, and why.
pub(crate) fn small_std() -> Result<PathBuf> {
    let sysroot = quiet(Command::new("rustc").args(["--print", "sysroot"]))?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    let there = || source.join("Cargo.lock").is_file();
    if !there() {
        rustup(&["component", "add", "rust-src"], "the source of the standard library (rust-src)")?;
        ensure!(there(), "the source of the standard library is not in {}", source.display());
    }
    let mut rustc = Command::new("rustc");
    rustc.env(UNSTABLE.0, UNSTABLE.1).args(RUSTC_SMALL).args(["--target", WASM, "--print", "cfg"]);
    quiet(&mut rustc).context("this rustc does not know the options for it")?;
    let mut probe = cargo();
    probe.env(UNSTABLE.0, UNSTABLE.1).args(CARGO_SMALL).arg("--version");
    quiet(&mut probe).context("this Cargo does not know the options for it")?;
    Ok(source)
}

fn rustup(arguments: &[&str], what: &str) -> Result<()> {
    on_path("rustup")
        .with_context(|| format!("{what} is missing, and there is no rustup to add it: see https://rustup.rs"))?;
    step(&format!("adding {what}"), || quiet(Command::new("rustup").args(arguments)).map(drop))
}
