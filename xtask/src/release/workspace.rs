//! The crates of the workspace as a release sees them: what is published, in which order, and what stands in the way.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// Whether its manifest lets it be published.
    pub(super) published: bool,
    /// Whether it has a description and a licence, without which crates.io refuses it.
    pub(super) described: bool,
    /// The crates of the workspace that it needs, each with the version that it asks for.
    pub(super) needs: Vec<(String, String)>,
}

/// The crates of a workspace, from the answer of `cargo metadata --no-deps`. Those that are published come first.
///
/// # Errors
/// The answer is not as Cargo writes it.
pub(super) fn crates(metadata: &Value) -> Result<Vec<Crate>> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().context("cargo metadata names no packages")? {
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let needs = package["dependencies"].as_array().into_iter().flatten();
        // A dependency of tests that names no version is left out of what is published.
        let needs = needs.filter(|need| need["path"].is_string() && need["req"] != "*");
        let need = |need: &Value| (need["name"].as_str().map(str::to_owned), need["req"].as_str().map(str::to_owned));
        found.push(Crate {
            name: text("name"),
            version: text("version"),
            published: package["publish"].as_array().is_none_or(|registries| !registries.is_empty()),
            described: !text("description").is_empty() && !text("license").is_empty(),
            needs: needs.filter_map(|it| need(it).0.zip(need(it).1)).collect(),
        });
    }
    found.sort_by_key(|one| !one.published);
    Ok(found)
}

/// What keeps the crates from being published.
pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    let Some(Crate { version, .. }) = crates.first() else { return found };
    for one in crates.iter().filter(|one| one.published) {
        let name = &one.name;
        if one.version != *version {
            found.push(format!("{name} has version {}, the others have {version}", one.version));
        }
        if !one.described {
            found.push(format!("{name} has no description or no licence in its Cargo.toml"));
        }
        for (need, asked) in &one.needs {
            if asked.trim_start_matches(['^', '=']) != version {
                found.push(format!("{name} asks for {need} {asked}, and {version} would be published"));
            }
            if crates.iter().any(|other| other.name == *need && !other.published) {
                found.push(format!("{name} needs {need}, which is not published"));
            }
        }
    }
    found
}

/// The published crates, each after those that it needs.
///
/// # Errors
/// Crates need each other.
pub(super) fn in_order(crates: &[Crate]) -> Result<Vec<&Crate>> {
    let mut left: Vec<&Crate> = crates.iter().filter(|one| one.published).collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |one: &Crate| one.needs.iter().any(|(need, _)| left.iter().any(|other| other.name == *need));
        let Some(next) = left.iter().position(|one| !waits(one)) else {
            let names: Vec<&str> = left.iter().map(|one| one.name.as_str()).collect();
            bail!("these crates need each other: {}", names.join(", "));
        };
        order.push(left.remove(next));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(name: &str, needs: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            published: true,
            described: true,
            needs: needs.iter().map(|need| ((*need).to_owned(), "^0.1.0".to_owned())).collect(),
        }
    }

    #[test]
    fn crates_are_read_from_cargo() {
        let metadata = json!({"packages": [
            {"name": "tool", "version": "0.1.0", "publish": [], "description": "d", "license": "MIT", "dependencies": []},
            {"name": "core", "version": "0.1.0", "publish": null, "description": "d", "license": null, "dependencies": [
                {"name": "serde", "req": "^1"},
                {"name": "base", "req": "^0.1.0", "path": "/base", "kind": null},
                {"name": "core", "req": "*", "path": "/core", "kind": "dev"},
            ]},
        ]});
        let found = crates(&metadata).unwrap();
        assert_eq!(found[0], Crate { described: false, ..one("core", &["base"]) });
        assert!(!found[1].published);
        assert!(crates(&json!({})).is_err());
    }

    #[test]
    fn a_crate_comes_after_those_that_it_needs() {
        let crates = [one("keep", &["core", "store"]), one("core", &["tokens"]), one("store", &[]), one("tokens", &[])];
        let names: Vec<&str> = in_order(&crates).unwrap().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["store", "tokens", "core", "keep"]);
        assert!(in_order(&[one("a", &["b"]), one("b", &["a"])]).is_err());
    }

    #[test]
    fn a_need_that_is_not_published_and_another_version_are_problems() {
        assert!(problems(&[one("a", &["b"]), one("b", &[])]).is_empty());
        let hidden = Crate { published: false, ..one("b", &[]) };
        assert_eq!(problems(&[one("a", &["b"]), hidden]), ["a needs b, which is not published"]);
        let newer = Crate { version: "0.2.0".to_owned(), ..one("b", &[]) };
        assert_eq!(problems(&[one("a", &[]), newer]), ["b has version 0.2.0, the others have 0.1.0"]);
        let older = Crate { needs: vec![("b".to_owned(), "^0.0.9".to_owned())], ..one("a", &[]) };
        assert_eq!(problems(&[older]), ["a asks for b ^0.0.9, and 0.1.0 would be published"]);
        let bare = Crate { described: false, ..one("a", &[]) };
        assert_eq!(problems(&[bare]).len(), 1);
    }
}
