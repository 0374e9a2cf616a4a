//! The workspace's packages, and where each is checked. A new package is one line here.

/// Where and how one package is checked.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// Linted, tested and documented for the machine itself.
    pub(crate) native: bool,
    /// Linted and documented for wasm32.
    pub(crate) wasm: bool,
    /// Has `wasm-bindgen-test`s, run in headless Chromium.
    pub(crate) headless: bool,
    /// Features switched on for the wasm checks.
    pub(crate) wasm_features: &'static [&'static str],
}

/// Every package of the workspace.
pub(crate) const PACKAGES: &[Package] = &[
    Package { name: "threadkeep-core", native: true, wasm: true, headless: false, wasm_features: &[] },
    Package { name: "threadkeep-store", native: true, wasm: true, headless: true, wasm_features: &[] },
    Package { name: "threadkeep", native: true, wasm: true, headless: false, wasm_features: &[] },
    Package { name: "threadkeep-wasm", native: false, wasm: true, headless: false, wasm_features: &[] },
    Package { name: "threadkeep-web", native: true, wasm: true, headless: false, wasm_features: &[] },
    Package { name: "threadkeep-tests", native: false, wasm: true, headless: true, wasm_features: &[] },
    Package { name: "xtask", native: true, wasm: false, headless: false, wasm_features: &[] },
];

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
    use std::fs;

    use super::*;
    use crate::paths::Paths;

    /// A package that is in the workspace but not in the table would go unchecked.
    #[test]
    fn every_member_of_the_workspace_is_checked_somewhere() {
        let root = Paths::find().unwrap().root;
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = workspace.lines().find(|line| line.starts_with("members")).unwrap();
        let folders: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
        assert_eq!(folders.len(), PACKAGES.len(), "{folders:?}");
        for folder in folders {
            let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"');
            let package = PACKAGES.iter().find(|package| package.name == name).expect(name);
            assert!(package.native || package.wasm, "{name} is checked nowhere");
        }
    }

    #[test]
    fn features_are_named_with_their_package() {
        assert!(selected(|package| package.name == "xtask") == ["-p", "xtask"]);
        assert!(wasm_features(|_| false).is_empty());
    }
}
