//! The page, built for release: two wasm modules (the page itself and the engine's worker), `index.html`, and all that
//! lies in `web/public/`, in `target/site/`. Any static server can carry that folder as it is.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, bail};

use crate::html::without_trunk_links;
use crate::paths::Paths;
use crate::size::{self, PAGE_LIMIT, Sizes};
use crate::wasm::{self, Module, Tools};

const MODULES: [Module<'static>; 2] = [
    Module { artefact: "app", out_name: "app", level: "-Oz", typescript: false },
    Module { artefact: "worker", out_name: "worker", level: "-Os", typescript: false },
];

/// Whether there is a page to build.
pub(crate) fn exists(paths: &Paths) -> bool {
    paths.root.join("index.html").is_file()
}

/// Builds the page and prints its sizes, which are returned for a check against the limit.
///
/// # Errors
/// There is no page, a tool is missing, or a step fails.
pub(crate) fn build(paths: &Paths) -> Result<Sizes> {
    if !exists(paths) {
        bail!("there is no index.html to build a page from");
    }
    let tools = Tools::set_up(paths)?;
    wasm::compile(paths, "threadkeep-web", "--bins")?;
    let [app, worker] = thread::scope(|scope| {
        MODULES
            .each_ref()
            .map(|module| scope.spawn(|| wasm::finish(paths, &tools, module)))
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a build thread panicked")))
    });

    let site = paths.site();
    if site.exists() {
        fs::remove_dir_all(&site).with_context(|| format!("cannot clear {}", site.display()))?;
    }
    fs::create_dir_all(&site)?;
    copy_all(&app?, &site)?;
    copy_all(&worker?, &site)?;
    copy_all(&paths.root.join("web").join("public"), &site)?;
    let page = fs::read_to_string(paths.root.join("index.html"))?;
    fs::write(site.join("index.html"), without_trunk_links(&page))?;

    let sizes = Sizes::of_folder("the page", PAGE_LIMIT, &site, |_| true)?;
    println!("{}", sizes.table());
    Ok(sizes)
}

/// Copies the files below `from`, with their folders, into `to`. Two files that claim one place are an error.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in size::walk(from)? {
        let Ok(name) = file.strip_prefix(from) else { continue };
        let target = to.join(name);
        if target.exists() {
            bail!("{} is there twice: {} would overwrite it", target.display(), file.display());
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&file, &target).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}
