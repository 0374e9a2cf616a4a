//! wasm-opt, from the npm package `binaryen`: distributions carry versions too old for today's wasm.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::{npm, on_path, quiet, step};

/// What npm installs, with exact versions and checksums; these files are `xtask/tools/`.
const MANIFEST: &str = include_str!("../../tools/package.json");
const LOCK: &str = include_str!("../../tools/package-lock.json");
const SETTINGS: &str = include_str!("../../tools/.npmrc");

/// Finds or installs wasm-opt.
///
/// # Errors
/// npm is missing or cannot install it.
pub(crate) fn wasm_opt(paths: &Paths) -> Result<PathBuf> {
    let version = pinned(MANIFEST).context("xtask/tools/package.json pins no binaryen")?;
    let major: u32 =
        version.split('.').next().unwrap_or_default().parse().context("binaryen's version is no number")?;
    if let Some(program) = on_path("wasm-opt")
        && quiet(Command::new(&program).arg("--version")).is_ok_and(|said| announced(&said) == Some(major))
    {
        return Ok(program);
    }
    let folder = paths.cache.join(format!("binaryen-{version}"));
    let program =
        folder.join("node_modules").join(".bin").join(if cfg!(windows) { "wasm-opt.cmd" } else { "wasm-opt" });
    if program.exists() {
        return Ok(program);
    }
    // Installed beside its place and then moved, so that an installation cut short is never taken for a whole one.
    let scratch = paths.cache.join(format!("binaryen-{version}.{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let installed = step(&format!("installing wasm-opt (binaryen {version})"), || {
        fs::write(scratch.join("package.json"), MANIFEST)?;
        fs::write(scratch.join("package-lock.json"), LOCK)?;
        fs::write(scratch.join(".npmrc"), SETTINGS)?;
        quiet(npm(&scratch).args(["ci", "--ignore-scripts"]))?;
        // Another checkout may have been quicker; then its copy is as good.
        if fs::rename(&scratch, &folder).is_err() && !program.exists() {
            bail!("cannot move wasm-opt to {}", folder.display());
        }
        Ok(())
    });
    fs::remove_dir_all(&scratch).ok();
    installed.map(|()| program)
}

/// The exact version of binaryen in a package.json.
fn pinned(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find(|line| line.contains("\"binaryen\""))?;
    line.split('"').nth(3)
}

/// The version in `wasm-opt version 132 (version_132)`.
fn announced(said: &str) -> Option<u32> {
    said.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pin_is_exact_and_the_lock_agrees() {
        let version = pinned(MANIFEST).unwrap();
        assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{version}");
        assert!(LOCK.contains(&format!("\"binaryen\": \"{version}\"")));
    }

    #[test]
    fn wasm_opt_announces_its_version() {
        assert_eq!(announced("wasm-opt version 132 (version_132)\n"), Some(132));
        assert_eq!(announced("what?"), None);
    }
}
