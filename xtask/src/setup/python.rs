//! The Claude Agent SDK for Python, in an environment of its own: its test suite for session stores runs against ours. All
//! else works without it, so a machine without Python, or without Python's `venv`, only goes without that suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::{on_path, quiet, step};

/// What pip installs, with exact versions.
const REQUIREMENTS: &str = include_str!("../../../npm/test/support/claude-sdk/requirements.txt");
/// The package that we are after.
const PACKAGE: &str = "claude-agent-sdk";
/// The variable that tells the tests.
pub(crate) const PYTHON: &str = "THREADKEEP_PYTHON";
/// The oldest Python that the package takes.
const OLDEST: (u32, u32) = (3, 10);

/// Finds or installs the environment; gives its Python.
///
/// # Errors
/// There is no Python that is new enough, it cannot make environments, or pip cannot install the packages.
pub(crate) fn python(paths: &Paths) -> Result<PathBuf> {
    let version = pinned(REQUIREMENTS, PACKAGE).with_context(|| format!("the requirements pin no {PACKAGE}"))?;
    let folder = paths.cache.join(format!("python-{PACKAGE}-{version}"));
    let python = program(&folder);
    if !folder.join(DONE).exists() {
        let base = base()?;
        step(&format!("installing {PACKAGE} {version} for Python"), || install(&base, &folder))?;
    }
    Ok(python)
}

/// What says that an installation is whole: environments cannot be moved, so that they are made in their place.
const DONE: &str = "threadkeep-installed";

fn install(base: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    quiet(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder))
        .context("Python cannot make environments: install its venv (Debian's package python3-venv)")?;
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", PACKAGE];
    quiet(Command::new(program(folder)).args(pip).arg("-r").arg(&requirements))?;
    quiet(Command::new(program(folder)).args(["-c", "import claude_agent_sdk.testing"]))?;
    fs::write(folder.join(DONE), "")?;
    Ok(())
}

/// The newest Python on PATH that is new enough.
pub(super) fn base() -> Result<PathBuf> {
    let names = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
    for python in names.iter().filter_map(|name| on_path(name)) {
        if quiet(Command::new(&python).arg("--version")).is_ok_and(|said| is_new_enough(&said)) {
            return Ok(python);
        }
    }
    bail!("there is no Python {}.{} or newer on PATH", OLDEST.0, OLDEST.1)
}

/// Whether this is what a Python says that will do: `Python 3.11.7`.
fn is_new_enough(said: &str) -> bool {
    let mut numbers = said.trim().trim_start_matches("Python ").split('.').map_while(|it| it.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}

/// Where an environment has its Python.
fn program(folder: &Path) -> PathBuf {
    if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") }
}

/// The exact version of a package in a file of requirements.
pub(super) fn pinned<'r>(requirements: &'r str, package: &str) -> Option<&'r str> {
    let line = requirements.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))?;
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_exact() {
        assert_eq!(pinned(REQUIREMENTS, PACKAGE), Some("0.2.187"));
        for line in REQUIREMENTS.lines().filter(|line| !line.starts_with('#')) {
            let (name, version) = line.split_once("==").unwrap();
            assert!(!name.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{line}");
        }
    }

    #[test]
    fn pythons_are_told_apart() {
        for (said, enough) in [
            ("Python 3.11.7\n", true),
            ("Python 3.10.0", true),
            ("Python 3.9.2", false),
            ("Python 2.7.18", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(said), enough, "{said}");
        }
    }
}
