//! The npm package: the page into `npm/site/`, wasm and its bindings into `npm/wasm/`, the token vocabularies into `npm/vocabulary/`,
//! then the package's own TypeScript build, then a tarball in `target/npm/` as a user would get it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::folder::{Scratch, copy_all, walk};
use crate::notices;
use crate::page;
use crate::paths::Paths;
use crate::run::{both, npm, quiet, show};
use crate::serve::HEADERS;
use crate::setup;
use crate::size::{NPM, NPM_PARTS, Sizes};
use crate::wasm::{self, Module, Tools};

const PACKAGE: &str = "threadkeep-wasm";

const MODULE: Module<'static> =
    Module { artefact: "threadkeep_wasm", out_name: "threadkeep", level: "-Os", typescript: true };

/// A finished package.
pub(crate) struct Packed {
    pub(crate) tarball: PathBuf,
    /// The page and the wasm in it, against their limits: of the wasm what is loaded at once, and what later.
    pub(crate) sizes: [Sizes; 3],
}

/// Builds the page and the package that brings it, and prints their sizes, which are returned for a check against the limit.
///
/// # Errors
/// There is no package, a tool is missing, or a step fails.
pub(crate) fn build(paths: &Paths) -> Result<Packed> {
    let package = paths.npm();
    if !package.join("package.json").is_file() {
        bail!("there is no npm/package.json to build a package from");
    }
    let tools = Tools::set_up(paths)?;
    // `threadkeep serve` brings the page. Both are compiled in one go: dependencies once, and linked side by side, since either link
    // keeps one processor busy.
    wasm::compile(paths, &tools, &[page::PACKAGE, PACKAGE])?;
    let (page, out) = both(
        || page::finish(paths, &tools),
        || {
            setup::packages(paths, &package)?;
            wasm::finish(paths, &tools, &MODULE)
        },
    )?;
    // The package has the vocabularies once, for both.
    let site = package.join("site");
    let scratch = Scratch::for_place(&site)?;
    copy_all(&paths.site(), scratch.path())?;
    fs::remove_dir_all(scratch.path().join(page::VOCABULARY))?;
    for path in walk(scratch.path())? {
        // The server unpacks what lies there gzipped only.
        let raw = path.with_extension("");
        if path.extension().is_some_and(|ending| ending == "gz") && raw.is_file() {
            fs::remove_file(raw)?;
        }
    }
    let headers: serde_json::Map<_, _> =
        HEADERS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    fs::write(scratch.path().join("headers.json"), serde_json::to_string(&headers)?)?;
    scratch.put()?;

    let vocabulary = package.join("vocabulary");
    let scratch = Scratch::for_place(&vocabulary)?;
    copy_all(&paths.root.join("crates/tokens/vocabulary"), scratch.path())?;
    scratch.put()?;

    let folder = package.join("wasm");
    let scratch = Scratch::for_place(&folder)?;
    copy_all(&out, scratch.path())?;
    tools.minify(scratch.path())?;
    scratch.put()?;
    fs::write(package.join(notices::FILE), notices::of(paths, PACKAGE)?)?;
    show(npm(&package).args(["run", "build"]))?;

    let scratch = Scratch::for_place(&paths.tarballs())?;
    quiet(npm(&package).args(["pack", "--silent", "--pack-destination"]).arg(scratch.path()))?;
    let made = walk(scratch.path())?;
    let [tarball] = made.as_slice() else { bail!("`npm pack` made {} files instead of one tarball", made.len()) };
    let tarball = paths.tarballs().join(tarball.file_name().context("a tarball without a name")?);
    scratch.put()?;

    let is_wasm = |path: &Path| path.extension().is_some_and(|ending| ending == "wasm");
    let at_once = |path: &Path| path.ends_with("threadkeep_bg.wasm");
    let sizes = Sizes::of_folder("the npm package's wasm", tools.limit(NPM), &folder, at_once)?;
    let parts = tools.limit(NPM_PARTS);
    let later = |path: &Path| is_wasm(path) && !at_once(path);
    let later = Sizes::of_folder("its parts, loaded when they are first needed", parts, &folder, later)?;
    println!("{}\n{}", sizes.table(), later.table());
    println!("{} ({} bytes)", paths.short(&tarball), fs::metadata(&tarball)?.len());
    Ok(Packed { tarball, sizes: [page, sizes, later] })
}
