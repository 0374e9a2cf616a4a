//! The page, built for release: one wasm module (for the page and for its worker), `index.html`, and all that lies in
//! `web/public/` (minified), in `target/site/`, and beside them the token vocabularies, which a reader's browser fetches only
//! when tokens are first counted. The parts of the module, too, are fetched when they are first needed. Beside each file that gains by it lies
//! the same gzipped, for servers that send such files. Any static server can carry that folder as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::folder::{Scratch, copy_all, walk};
use crate::html::without_trunk_links;
use crate::notices;
use crate::paths::Paths;
use crate::run::quiet;
use crate::setup;
use crate::size::{PAGE, Sizes, gzip};
use crate::wasm::{self, Module, Tools};

/// The folder of the vocabularies, which are loaded on demand.
pub(crate) const VOCABULARY: &str = "vocabulary";

/// Files that no first load waits for: the sample, which a press asks for, scripts that `app-loader.js` imports when they are needed or
/// once the page is there, and the licences of others.
const LATER: [&str; 10] = [
    "sample.json",
    "summarizer.js",
    "language-model.js",
    "vault.js",
    "share.js",
    "sync.js",
    "installed.js",
    "service-worker.js",
    FILES,
    notices::FILE,
];

/// The page's files with their digests, for its service worker.
const FILES: &str = "files.js";

/// What the service worker does not store: itself, its list, and what nothing on the page opens.
const NOT_STORED: [&str; 3] = ["service-worker.js", FILES, notices::FILE];

/// The sheets that `style.css` imports: in it once it is bundled.
const SHEETS: &str = "styles";

/// The package that it is compiled from.
pub(crate) const PACKAGE: &str = "threadkeep-web";

const MODULE: Module<'static> = Module { artefact: "app", out_name: "app", level: "-Oz", typescript: false };

/// Builds the page and prints its sizes, which are returned for a check against the limit.
///
/// # Errors
/// There is no page, a tool is missing, or a step fails.
pub(crate) fn build(paths: &Paths) -> Result<Sizes> {
    let tools = Tools::set_up(paths)?;
    wasm::compile(paths, &tools, &[PACKAGE])?;
    finish(paths, &tools)
}

/// The steps of [`build`] after the compiler's.
pub(crate) fn finish(paths: &Paths, tools: &Tools) -> Result<Sizes> {
    let app = wasm::finish(paths, tools, &MODULE)?;

    let scratch = Scratch::for_place(&paths.site())?;
    let site = scratch.path();
    copy_all(&app, site)?;
    copy_all(&paths.root.join("web").join("public"), site)?;
    fs::write(site.join(notices::FILE), notices::of(paths, PACKAGE)?)?;
    copy_all(&paths.root.join("crates/tokens/vocabulary"), &site.join(VOCABULARY))?;
    // One file for the page and the npm package.
    fs::copy(paths.npm().join("src/summarizer.js"), site.join("summarizer.js"))?;
    tools.minify(site)?;
    // It is minified already, and adds its notices.
    setup::packages(paths, &paths.viewer())?;
    quiet(Command::new("node").arg(paths.viewer().join("build.mjs")).arg(site))?;
    tools.bundle_styles(&site.join("style.css"))?;
    fs::remove_dir_all(site.join(SHEETS))?;
    let page = fs::read_to_string(paths.root.join("index.html"))?;
    fs::write(site.join("index.html"), without_trunk_links(&page))?;

    fs::write(site.join(FILES), file_list(site)?)?;

    let part = |path: &Path| path.extension().is_some_and(|ending| ending == "wasm") && !path.ends_with("app_bg.wasm");
    let later = |path: &Path| LATER.iter().any(|name| path == site.join(name));
    let on_demand = |path: &Path| path.starts_with(site.join(VOCABULARY)) || part(path) || later(path);
    let sizes = Sizes::of_folder("the page", tools.limit(PAGE), site, |path| !on_demand(path))?;
    let later = Sizes::of_folder("loaded on demand, not with the page", None, site, on_demand)?;
    compress(site)?;
    scratch.put()?;
    println!("{}\n{}", sizes.table(), later.table());
    Ok(sizes)
}

/// The script that gives the service worker each file's name and digest, as [subresource integrity][sri] writes it.
///
/// [sri]: https://www.w3.org/TR/sri-2/
fn file_list(site: &Path) -> Result<String> {
    let mut files = BTreeMap::new();
    for path in walk(site)? {
        let name = path.strip_prefix(site)?.to_string_lossy().replace('\\', "/");
        if !NOT_STORED.contains(&name.as_str()) {
            let digest = STANDARD.encode(Sha256::digest(fs::read(&path)?));
            files.insert(name, format!("sha256-{digest}"));
        }
    }
    Ok(format!("self.files={};\n", serde_json::to_string(&files)?))
}

/// Puts a gzipped copy beside each file of a site that becomes smaller by it. Servers that send such copies (nginx's `gzip_static`,
/// Caddy's `precompressed`) need not compress with each request.
///
/// # Errors
/// A file that cannot be read or written.
pub(crate) fn compress(site: &Path) -> Result<()> {
    for path in walk(site)? {
        let bytes = fs::read(&path)?;
        let small = gzip(&bytes)?;
        if small.len() < bytes.len() * 9 / 10 {
            let mut name = path.into_os_string();
            name.push(".gz");
            fs::write(PathBuf::from(name), small)?;
        }
    }
    Ok(())
}
