//! The workspace's packages, and where each is checked. A new package is one line here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::folder::walk;

/// Where and how one package is checked.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// Where it lies in the checkout.
    pub(crate) folder: &'static str,
    /// Linted, tested and documented for the machine itself.
    pub(crate) native: bool,
    /// Linted and documented for wasm32; its tests for the browser are run there.
    pub(crate) wasm: bool,
    /// Features switched on for the wasm checks.
    pub(crate) wasm_features: &'static [&'static str],
}

/// Every package of the workspace.
pub(crate) const PACKAGES: &[Package] = &[
    Package { name: "threadkeep-tokens", folder: "crates/tokens", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-recall", folder: "crates/recall", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-json", folder: "crates/json", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-core", folder: "crates/core", native: true, wasm: true, wasm_features: &[] },
    Package {
        name: "threadkeep-compaction",
        folder: "crates/compaction",
        native: true,
        wasm: true,
        wasm_features: &[],
    },
    Package { name: "threadkeep-context", folder: "crates/context", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-protocol", folder: "crates/protocol", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-provider", folder: "crates/provider", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-archive", folder: "crates/archive", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-store", folder: "crates/store", native: true, wasm: true, wasm_features: &["browser"] },
    Package { name: "threadkeep", folder: "crates/keep", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-parts", folder: "crates/parts", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-fetch", folder: "crates/fetch", native: false, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-wasm", folder: "crates/wasm", native: false, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-types", folder: "crates/types", native: true, wasm: false, wasm_features: &[] },
    Package { name: "threadkeep-web", folder: "web", native: true, wasm: true, wasm_features: &[] },
    Package { name: "threadkeep-tests", folder: "tests", native: false, wasm: true, wasm_features: &[] },
    Package { name: "xtask", folder: "xtask", native: true, wasm: false, wasm_features: &[] },
];

/// How a test for the browser begins.
const BROWSER_TEST: &str = "#[wasm_bindgen_test";

/// The tests of a package that only a browser can run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BrowserTests {
    /// Whether some are within its source.
    pub(crate) in_source: bool,
    /// Cargo's names of those in its folder `tests`.
    pub(crate) names: Vec<String>,
}

impl BrowserTests {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        !self.in_source && self.names.is_empty()
    }
}

impl Package {
    /// The package's tests for the browser.
    ///
    /// # Errors
    /// Its sources cannot be read.
    pub(crate) fn browser_tests(&self, root: &Path) -> Result<BrowserTests> {
        let folder = root.join(self.folder);
        let mut found = BrowserTests::default();
        for file in sources(&folder.join("src"))? {
            found.in_source |= has_browser_test(&file)?;
        }
        for file in sources(&folder.join("tests"))? {
            if has_browser_test(&file)? {
                found.names.extend(file.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        Ok(found)
    }
}

/// The Rust sources below a folder, if it is there.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = if folder.is_dir() { walk(folder)? } else { Vec::new() };
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    Ok(files)
}

fn has_browser_test(file: &Path) -> Result<bool> {
    Ok(fs::read_to_string(file)?.lines().any(|line| line.trim_start().starts_with(BROWSER_TEST)))
}

/// `-p name` for each package that `chosen` accepts.
pub(crate) fn selected(chosen: impl Fn(&Package) -> bool) -> Vec<String> {
    PACKAGES
        .iter()
        .filter(|package| chosen(package))
        .flat_map(|package| ["-p".to_owned(), package.name.to_owned()])
        .collect()
}

/// `--features package/feature` for the wasm checks of the packages that `chosen` accepts.
pub(crate) fn wasm_features(chosen: impl Fn(&Package) -> bool) -> Vec<String> {
    let named = |package: &Package| -> Vec<String> {
        package.wasm_features.iter().map(|feature| format!("{}/{feature}", package.name)).collect()
    };
    let features: Vec<String> = PACKAGES.iter().filter(|package| chosen(package)).flat_map(named).collect();
    if features.is_empty() { Vec::new() } else { vec!["--features".to_owned(), features.join(",")] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Paths;

    /// A package that is in the workspace but not in the table would go unchecked.
    #[test]
    fn every_member_of_the_workspace_is_in_the_table() {
        let root = Paths::find().unwrap().root;
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = workspace.lines().find(|line| line.starts_with("members")).unwrap();
        let mut folders: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
        let mut known: Vec<&str> = PACKAGES.iter().map(|package| package.folder).collect();
        folders.sort_unstable();
        known.sort_unstable();
        assert_eq!(folders, known);
        for package in PACKAGES {
            let manifest = fs::read_to_string(root.join(package.folder).join("Cargo.toml")).unwrap();
            assert!(manifest.contains(&format!("name = \"{}\"", package.name)), "{}", package.folder);
            assert!(package.native || package.wasm, "{} is checked nowhere", package.name);
        }
    }

    #[test]
    fn browser_tests_are_seen() {
        let root = Paths::find().unwrap().root;
        let seen = |name| PACKAGES.iter().find(|it| it.name == name).unwrap().browser_tests(&root).unwrap();
        let store = seen("threadkeep-store");
        assert!(store.in_source && store.names.contains(&"contract_idb".to_owned()), "{store:?}");
        assert!(seen("xtask").is_empty());
    }

    #[test]
    fn packages_and_features_as_cargo_takes_them() {
        assert_eq!(selected(|package| package.name == "xtask"), ["-p", "xtask"]);
        assert!(wasm_features(|_| false).is_empty());
    }
}
