//! The licences of others whose code is compiled in, as one text: who ships their code must ship these too. Goes in: a package of the
//! workspace. Comes out: each crate that its wasm is made of, with what its own files say, equal texts once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::paths::Paths;
use crate::run::{cargo, quiet};

/// Where it stands, in the package and beside the page.
pub(crate) const FILE: &str = "THIRD-PARTY.txt";

const TARGET: &str = "wasm32-unknown-unknown";

/// The text for a package of ours.
///
/// # Errors
/// Cargo fails, or a crate says nothing of its licence.
pub(crate) fn of(paths: &Paths, package: &str) -> Result<String> {
    let tree = quiet(cargo().current_dir(&paths.root).args([
        "tree",
        "--locked",
        "-p",
        package,
        "--target",
        TARGET,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))?;
    let metadata = quiet(cargo().current_dir(&paths.root).args([
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        TARGET,
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    // The texts, each with the crates that it is of.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for known in metadata["packages"].as_array().into_iter().flatten() {
        let text = |name: &str| known[name].as_str().unwrap_or_default();
        let called = format!("{} v{}", text("name"), text("version"));
        // What has no source is ours.
        if known["source"].is_null()
            || !tree.lines().any(|line| line == called || line.starts_with(&format!("{called} ")))
        {
            continue;
        }
        let folder = Path::new(text("manifest_path")).parent().context("a manifest without a folder")?;
        let own = own_texts(folder)?;
        let licence = text("license");
        if own.is_empty() && licence.is_empty() {
            bail!("{called} says nothing of its licence");
        }
        let authors: Vec<&str> = known["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let name = format!("{called} ({licence}) {}", text("repository"));
        let said = if own.is_empty() { format!("Licence: {licence}. Authors: {}.\n", authors.join(", ")) } else { own };
        texts.entry(said).or_default().push(name);
    }
    if texts.is_empty() {
        bail!("no crate was found that {package} is made of");
    }
    let mut all = String::from(
        "Threadkeep's WebAssembly contains code of others. These are their licences. Rust's standard library, which is also\n\
         in it, is licensed under MIT or Apache-2.0 (https://github.com/rust-lang/rust).\n",
    );
    let mut texts: Vec<_> = texts.into_iter().map(|(text, names)| (names, text)).collect();
    texts.sort();
    for (names, text) in texts {
        write!(all, "\n{}\n{}\n\n{}\n", "=".repeat(80), names.join("\n"), text.trim_end())?;
    }
    Ok(all)
}

/// What a crate's own files say: licences and notices.
fn own_texts(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if path.is_file()
            && ["license", "licence", "copying", "notice", "copyright"].iter().any(|word| name.starts_with(word))
        {
            files.push(path);
        }
    }
    files.sort();
    // Of several to choose from, the shorter one serves: MIT beside Apache. Notices stay.
    let mit = files.iter().any(|path| path.to_string_lossy().to_ascii_lowercase().contains("mit"));
    let apache = |path: &Path| path.to_string_lossy().to_ascii_lowercase().contains("apache");
    let mut all = String::new();
    for path in files.iter().filter(|path| !(mit && apache(path))) {
        all.push_str(&String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"));
        all.push('\n');
    }
    Ok(all)
}
