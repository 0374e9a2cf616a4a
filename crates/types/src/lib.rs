//! The npm package's TypeScript types, made from the Rust types that cross the boundary: requests' options, answers and events. Each is
//! declared once, in Rust; [`files`] says what becomes of them. `cargo xtask types` writes the files, and a test compares them.

mod layout;
mod list;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};

use ts_rs::{Config, TS};

/// The folder of the files, from the checkout's on.
pub const FOLDER: &str = "npm/src/generated";

/// A file of declarations.
struct File {
    name: &'static str,
    /// What is in it, in words.
    about: &'static str,
    types: Vec<Declared>,
}

/// A type that is declared.
struct Declared {
    name: String,
    /// Its parameters, with the brackets.
    generics: &'static str,
    docs: String,
    of: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Callers get it.
    Answer,
    /// Callers hand it in, so its lists are only read.
    Option,
    /// Requests, of which each is a method's name with its parameters.
    Methods,
}

/// A type that callers get.
fn answer<T: TS>() -> Declared {
    let numbers = Config::new().with_large_int("number");
    let docs = T::docs().map(|docs| syntax::comment(&docs)).unwrap_or_default();
    Declared { name: T::ident(&numbers), generics: "", docs, of: T::inline(&numbers), kind: Kind::Answer }
}

/// A type that callers hand in.
fn option<T: TS>() -> Declared {
    Declared { kind: Kind::Option, ..answer::<T>() }
}

/// One of these names.
fn names(name: &str, docs: &str, names: &[&str]) -> Declared {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let (name, docs, of) = (name.to_owned(), docs.to_owned(), names.join(" | "));
    Declared { name, generics: "", docs, of, kind: Kind::Answer }
}

/// The parameters of methods by their names, from sets of requests.
fn methods(docs: &str, sets: &[String]) -> Declared {
    Declared {
        name: "Methods".to_owned(),
        generics: "",
        docs: docs.to_owned(),
        of: sets.join(" | "),
        kind: Kind::Methods,
    }
}

/// A set of requests, whose variants are the methods.
fn requests<T: TS>() -> String {
    T::inline(&Config::new().with_large_int("number"))
}

impl Declared {
    fn generic(self, generics: &'static str) -> Self {
        Self { generics, ..self }
    }
}

/// The files by their names, with their text.
///
/// # Errors
/// A type is not written as [`syntax`] reads it, or its declaration names another that is declared nowhere.
pub fn files() -> Result<BTreeMap<String, String>, String> {
    let files = list::files();
    let mut places: BTreeMap<&str, String> =
        list::WRITTEN_BY_HAND.iter().map(|(name, module)| (*name, format!("../{module}.js"))).collect();
    for file in &files {
        places.extend(file.types.iter().map(|one| (one.name.as_str(), format!("./{}.js", file.name))));
    }
    let link = |path: &str| {
        let first = path.split('.').next().unwrap_or_default();
        (places.contains_key(first) || list::LINKED.contains(&path)).then(|| path.to_owned())
    };
    files.iter().map(|file| Ok((format!("{}.ts", file.name), file.text(&places, &link)?))).collect()
}

impl File {
    fn text(&self, places: &BTreeMap<&str, String>, link: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let here = format!("./{}.js", self.name);
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut declarations = String::new();
        for one in &self.types {
            let of = syntax::read(&one.of).map_err(|error| format!("{}: {error}, in {}", one.name, one.of))?;
            let of = if one.kind == Kind::Methods { of.by_method() } else { of };
            let mut names = BTreeSet::new();
            of.names(&mut names);
            // Parameters have names of types as their bounds.
            let bounds = one.generics.split(|sign: char| !sign.is_alphanumeric());
            names.extend(bounds.filter(|word| places.contains_key(word)).map(str::to_owned));
            for name in names {
                if list::BUILT_IN.contains(&name.as_str()) {
                    continue;
                }
                match places.get_key_value(name.as_str()) {
                    Some((name, place)) if *place != here => drop(imports.entry(place).or_default().insert(name)),
                    Some(_) => {}
                    None => return Err(format!("{}: {name} is declared nowhere", one.name)),
                }
            }
            declarations += "\n";
            declarations += &layout::declaration(
                &[&one.name, one.generics].concat(),
                &one.docs,
                &of,
                one.kind != Kind::Answer,
                link,
            );
        }
        let imports: String = imports
            .iter()
            .map(|(place, names)| {
                let names: Vec<_> = names.iter().copied().collect();
                format!("import type {{ {} }} from \"{place}\";\n", names.join(", "))
            })
            .collect();
        let imports = if imports.is_empty() { imports } else { format!("\n{imports}") };
        Ok(format!(
            "// {}\n// Generated by `cargo xtask types` from Rust types; do not edit.\n{imports}{declarations}",
            self.about
        ))
    }
}
