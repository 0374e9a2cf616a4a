//! How the Rust sources lie: no two files of a crate import each other, so that each can be read after those it imports.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module by its path within its crate; the crate's root is empty.
type Module = Vec<String>;

/// The modules of a crate, with their text.
fn modules(src: &Path) -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![src.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(src).unwrap().with_extension("");
                let mut module: Module = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                    module.pop();
                }
                found.insert(module, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The paths that an import names: `a::{b, c::{d, e}}` names three.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, sign) in tree.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(&tree[std::mem::replace(&mut start, at + 1)..at]),
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((before, inside)) => {
                expand(&[prefix, before].concat(), inside.trim_end().trim_end_matches('}'), paths)
            }
            None => paths.push([prefix, part].concat()),
        }
    }
}

/// The modules of the same crate that a module imports from.
fn imports(module: &Module, text: &str, all: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut paths = Vec::new();
    for statement in text.split(';') {
        let lines = statement.lines().skip_while(|line| !line.trim_start().contains("use "));
        let statement = lines.collect::<Vec<_>>().join(" ");
        if let Some((before, tree)) = statement.trim_start().split_once("use ")
            && (before.is_empty() || before.starts_with("pub"))
        {
            expand("", tree, &mut paths);
        }
    }
    let mut found = BTreeSet::new();
    for path in paths {
        let mut parts: Vec<&str> = path.split("::").collect();
        let mut from: Module = match parts.remove(0) {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().saturating_sub(1)].to_vec(),
            _ => continue,
        };
        for part in parts {
            if part == "super" {
                from.pop();
            } else {
                from.push(part.to_owned());
            }
        }
        // Items are named after the module that holds them.
        while !from.is_empty() && !all.contains_key(&from) {
            from.pop();
        }
        if !from.is_empty() && from != *module {
            found.insert(from);
        }
    }
    found
}

#[test]
fn an_import_names_each_of_its_paths() {
    let mut paths = Vec::new();
    expand("", "crate::{a, b::{self, c as d}, e::f}", &mut paths);
    assert_eq!(paths, ["crate::a", "crate::b::self", "crate::b::c as d", "crate::e::f"]);
    let all = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/keep/src"));
    let log = vec!["log".to_owned()];
    assert!(imports(&log, &all[&log], &all).contains(&vec!["keys".to_owned()]));
}

#[test]
fn no_two_files_of_a_crate_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pairs = Vec::new();
    let mut crates: Vec<_> = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.extend(["web", "xtask"].map(|folder| root.join(folder)));
    for folder in crates {
        let all = modules(&folder.join("src"));
        let imported: BTreeMap<_, _> = all.iter().map(|(module, text)| (module, imports(module, text, &all))).collect();
        for (module, others) in &imported {
            for other in others.iter().filter(|other| *module < *other && imported[other].contains(*module)) {
                pairs.push(format!("{}: {} and {}", folder.display(), module.join("::"), other.join("::")));
            }
        }
    }
    assert_eq!(pairs, Vec::<String>::new());
}
