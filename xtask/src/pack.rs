//! The npm package: wasm and its bindings into `npm/wasm/`, then the package's own TypeScript build, then a tarball in
//! `target/npm/` as a user would get it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::paths::Paths;
use crate::run::{npm, quiet, show};
use crate::setup;
use crate::size::{self, NPM_LIMIT, Sizes};
use crate::wasm::{self, Module, Tools};

const MODULE: Module<'static> =
    Module { artefact: "threadkeep_wasm", out_name: "threadkeep", level: "-Os", typescript: true };

/// A finished package.
pub(crate) struct Packed {
    pub(crate) tarball: PathBuf,
    /// The wasm in it, against its limit.
    pub(crate) sizes: Sizes,
}

/// Whether there is a package to build.
pub(crate) fn exists(paths: &Paths) -> bool {
    paths.npm().join("package.json").is_file()
}

/// Builds the package and prints its sizes, which are returned for a check against the limit.
///
/// # Errors
/// There is no package, a tool is missing, or a step fails.
pub(crate) fn build(paths: &Paths) -> Result<Packed> {
    let package = paths.npm();
    if !exists(paths) {
        bail!("there is no npm/package.json to build a package from");
    }
    let tools = Tools::set_up(paths)?;
    setup::packages(paths, &package)?;
    wasm::compile(paths, "threadkeep-wasm", "--lib")?;
    let out = wasm::finish(paths, &tools, &MODULE)?;

    let folder = package.join("wasm");
    fs::create_dir_all(&folder)?;
    for old in size::walk(&folder)? {
        fs::remove_file(old)?;
    }
    for file in size::walk(&out)? {
        let name = file.file_name().context("a file without a name")?;
        fs::copy(&file, folder.join(name))?;
    }
    show(npm(&package).args(["run", "build"]))?;

    let tarballs = paths.tarballs();
    if tarballs.exists() {
        fs::remove_dir_all(&tarballs)?;
    }
    fs::create_dir_all(&tarballs)?;
    quiet(npm(&package).args(["pack", "--silent", "--pack-destination"]).arg(&tarballs))?;
    let mut made = size::walk(&tarballs)?;
    let (Some(tarball), true) = (made.pop(), made.is_empty()) else { bail!("`npm pack` did not make one tarball") };

    let is_wasm = |path: &std::path::Path| path.extension().is_some_and(|ending| ending == "wasm");
    let sizes = Sizes::of_folder("the npm package's wasm", NPM_LIMIT, &folder, is_wasm)?;
    println!("{}", sizes.table());
    println!("{} ({} bytes)", paths.short(&tarball), fs::metadata(&tarball)?.len());
    Ok(Packed { tarball, sizes })
}
