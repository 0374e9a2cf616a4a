//! The build tools that come as npm packages: wasm-opt and wasm-merge (of `binaryen`; distributions carry versions too old for
//! today's wasm), esbuild, which minifies scripts and style sheets, and Biome, which formats and lints scripts.

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
    pub(crate) wasm_merge: PathBuf,
    pub(crate) esbuild: PathBuf,
    pub(crate) biome: PathBuf,
}

/// Finds or installs wasm-opt, wasm-merge, esbuild and Biome.
///
/// # Errors
/// npm is missing or cannot install them.
pub(crate) fn node_tools(paths: &Paths) -> Result<NodeTools> {
    let version =
        |package| pinned(MANIFEST, package).with_context(|| format!("xtask/tools/package.json pins no {package}"));
    let (binaryen, esbuild, biome) = (version("binaryen")?, version("esbuild")?, version("@biomejs/biome")?);
    let folder = paths.cache.join(format!("tools-binaryen-{binaryen}-esbuild-{esbuild}-biome-{biome}"));
    // `wasm-opt version 132 (version_132)`, `0.28.2`, `Version: 2.5.15`.
    let release = binaryen.split('.').next().unwrap_or(binaryen);
    let wasm_opt = found(paths, &folder, "wasm-opt", 2, release)?;
    let wasm_merge = found(paths, &folder, "wasm-merge", 2, release)?;
    let esbuild = found(paths, &folder, "esbuild", 0, esbuild)?;
    let biome = found(paths, &folder, "biome", 1, biome)?;
    Ok(NodeTools { wasm_opt, wasm_merge, esbuild, biome })
}

/// The program on PATH whose words name `version` at the place `at`, or else ours, installed when it is missing.
fn found(paths: &Paths, folder: &Path, name: &str, at: usize, version: &str) -> Result<PathBuf> {
    let same = |program: &PathBuf| {
        quiet(Command::new(program).arg("--version")).is_ok_and(|said| said.split_whitespace().nth(at) == Some(version))
    };
    if let Some(program) = on_path(name).filter(same) {
        return Ok(program);
    }
    if !program(folder, name).exists() {
        install(paths, folder)?;
    }
    Ok(program(folder, name))
}

fn install(paths: &Paths, folder: &Path) -> Result<()> {
    // Installed beside its place and then moved, so that an installation cut short is never taken for a whole one.
    let scratch = paths.cache.join(format!("tools.{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let installed = step("installing wasm-opt, wasm-merge, esbuild and Biome", || {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_are_exact_and_the_lock_agrees() {
        for package in ["binaryen", "esbuild", "@biomejs/biome"] {
            let version = pinned(MANIFEST, package).unwrap();
            assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{version}");
            assert!(LOCK.contains(&format!("\"{package}\": \"{version}\"")), "{package}");
        }
    }
}
