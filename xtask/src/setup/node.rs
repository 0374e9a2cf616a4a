//! Node, which must be there already, and the packages that our own folders lock.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::{npm, quiet, step};

/// The oldest major version of Node that we support.
const OLDEST: u32 = 20;
/// Our mark in `node_modules`: a copy of the lock file that was installed.
const MARK: &str = ".threadkeep-lock.json";

/// Makes sure that Node and npm are there and new enough.
///
/// # Errors
/// Either is missing, or Node is too old.
pub(crate) fn node() -> Result<()> {
    let said = quiet(Command::new("node").arg("--version"))
        .with_context(|| format!("Node is missing: install Node {OLDEST} or newer, with npm"))?;
    let major: Option<u32> =
        said.trim().strip_prefix('v').and_then(|it| it.split('.').next()).and_then(|it| it.parse().ok());
    if major.is_none_or(|major| major < OLDEST) {
        bail!("Node is {}, and we need {OLDEST} or newer", said.trim());
    }
    quiet(npm(Path::new(".")).arg("--version")).context("npm is missing: it usually comes with Node")?;
    Ok(())
}

/// Installs what `folder` locks, unless that is there already. A folder without a lock file needs nothing.
///
/// # Errors
/// `npm ci` fails.
pub(crate) fn packages(paths: &Paths, folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    if !lock.is_file() || is_fresh(folder)? {
        return Ok(());
    }
    step(&format!("installing the npm packages of {}", paths.short(folder)), || {
        quiet(npm(folder).args(["ci", "--no-audit", "--no-fund"]))?;
        let modules = folder.join("node_modules");
        fs::create_dir_all(&modules)?;
        fs::copy(&lock, modules.join(MARK))?;
        Ok(())
    })
}

/// Whether `node_modules` was installed from the lock file as it is now.
fn is_fresh(folder: &Path) -> Result<bool> {
    let locked = fs::read(folder.join("package-lock.json"))?;
    Ok(fs::read(folder.join("node_modules").join(MARK)).is_ok_and(|installed| installed == locked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::TestFolder;

    /// A lock file that names one registry's host would send everybody there.
    #[test]
    fn lock_files_name_no_registry() {
        let paths = Paths::find().unwrap();
        for folder in paths.npm_folders().into_iter().chain([paths.root.join("xtask/tools")]) {
            let Ok(lock) = fs::read_to_string(folder.join("package-lock.json")) else { continue };
            assert!(!lock.contains("\"resolved\""), "{} names a registry", folder.display());
        }
    }

    #[test]
    fn packages_are_stale_when_the_lock_changes() {
        let test = TestFolder::new("node");
        let folder = &test.0;
        fs::create_dir_all(folder.join("node_modules")).unwrap();
        fs::write(folder.join("package-lock.json"), "1").unwrap();
        assert!(!is_fresh(folder).unwrap());
        fs::write(folder.join("node_modules").join(MARK), "1").unwrap();
        assert!(is_fresh(folder).unwrap());
        fs::write(folder.join("package-lock.json"), "2").unwrap();
        assert!(!is_fresh(folder).unwrap());
    }
}
