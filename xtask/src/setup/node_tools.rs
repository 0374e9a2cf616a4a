//! The build tools that come as npm packages: wasm-opt (of `binaryen`; distributions carry versions too old for today's
//! wasm) and esbuild, which minifies scripts and style sheets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::{npm, on_path, quiet, step};

/// What npm installs, with exact versions and checksums; these files are `xtask/tools/`.
const MANIFEST: &str = include_str!("../../tools/package.json");
const LOCK: &str = include_str!("../../tools/package-lock.json");
const SETTINGS: &str = include_str!("../../tools/.npmrc");

/// The tools, ready to run.
pub(crate) struct NodeTools {
    pub(crate) wasm_opt: PathBuf,
    pub(crate) esbuild: PathBuf,
}

/// Finds or installs wasm-opt and esbuild.
///
/// # Errors
/// npm is missing or cannot install them.
pub(crate) fn node_tools(paths: &Paths) -> Result<NodeTools> {
    let binaryen = pinned(MANIFEST, "binaryen").context("xtask/tools/package.json pins no binaryen")?;
    let esbuild = pinned(MANIFEST, "esbuild").context("xtask/tools/package.json pins no esbuild")?;
    let same = |program: &PathBuf, read: &dyn Fn(&str) -> bool| {
        quiet(Command::new(program).arg("--version")).is_ok_and(|said| read(&said))
    };
    let ours = on_path("wasm-opt").filter(|it| same(it, &|said| announced(said) == binaryen.split('.').next()));
    let minifier = on_path("esbuild").filter(|it| same(it, &|said| said.trim() == esbuild));
    if let (Some(wasm_opt), Some(esbuild)) = (&ours, &minifier) {
        return Ok(NodeTools { wasm_opt: wasm_opt.clone(), esbuild: esbuild.clone() });
    }
    let folder = paths.cache.join(format!("tools-binaryen-{binaryen}-esbuild-{esbuild}"));
    if !program(&folder, "wasm-opt").exists() || !program(&folder, "esbuild").exists() {
        install(paths, &folder)?;
    }
    Ok(NodeTools {
        wasm_opt: ours.unwrap_or_else(|| program(&folder, "wasm-opt")),
        esbuild: minifier.unwrap_or_else(|| program(&folder, "esbuild")),
    })
}

fn install(paths: &Paths, folder: &Path) -> Result<()> {
    // Installed beside its place and then moved, so that an installation cut short is never taken for a whole one.
    let scratch = paths.cache.join(format!("tools.{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let installed = step("installing wasm-opt and esbuild", || {
        fs::write(scratch.join("package.json"), MANIFEST)?;
        fs::write(scratch.join("package-lock.json"), LOCK)?;
        fs::write(scratch.join(".npmrc"), SETTINGS)?;
        quiet(npm(&scratch).args(["ci", "--ignore-scripts"]))?;
        // Another checkout may have been quicker; then its copy is as good.
        if fs::rename(&scratch, folder).is_err() && !program(folder, "wasm-opt").exists() {
            bail!("cannot move them to {}", folder.display());
        }
        Ok(())
    });
    fs::remove_dir_all(&scratch).ok();
    installed
}

/// Where npm puts the program `name` of a package.
fn program(folder: &Path, name: &str) -> PathBuf {
    let name = if cfg!(windows) { format!("{name}.cmd") } else { name.to_owned() };
    folder.join("node_modules").join(".bin").join(name)
}

/// The exact version of a package in a package.json.
fn pinned<'m>(manifest: &'m str, package: &str) -> Option<&'m str> {
    let line = manifest.lines().find(|line| line.trim_start().starts_with(&format!("\"{package}\"")))?;
    line.split('"').nth(3)
}

/// The version in `wasm-opt version 132 (version_132)`.
fn announced(said: &str) -> Option<&str> {
    said.split_whitespace().nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_are_exact_and_the_lock_agrees() {
        for package in ["binaryen", "esbuild"] {
            let version = pinned(MANIFEST, package).unwrap();
            assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{version}");
            assert!(LOCK.contains(&format!("\"{package}\": \"{version}\"")), "{package}");
        }
    }

    #[test]
    fn wasm_opt_announces_its_version() {
        assert_eq!(announced("wasm-opt version 132 (version_132)\n"), Some("132"));
        assert_eq!(announced("what?"), None);
    }
}
