//! The workspace's packages, and where each is checked. A new package is one line here.

use std::fs;
use std::path::Path;

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

impl Package {
    /// Whether the package has tests that only a browser can run.
    ///
    /// # Errors
    /// Its sources cannot be read.
    pub(crate) fn has_browser_tests(&self, root: &Path) -> Result<bool> {
        for folder in ["src", "tests"].map(|name| root.join(self.folder).join(name)) {
            if !folder.is_dir() {
                continue;
            }
            for file in walk(&folder)?.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
                if fs::read_to_string(file)?.lines().any(|line| line.trim_start().starts_with(BROWSER_TEST)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
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
        let seen = |name| PACKAGES.iter().find(|it| it.name == name).unwrap().has_browser_tests(&root).unwrap();
        assert!(seen("threadkeep-store"));
        assert!(!seen("xtask"));
    }

    #[test]
    fn packages_and_features_as_cargo_takes_them() {
        assert_eq!(selected(|package| package.name == "xtask"), ["-p", "xtask"]);
        assert!(wasm_features(|_| false).is_empty());
    }
}
