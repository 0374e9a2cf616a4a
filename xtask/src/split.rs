//! Cuts a compiled module apart at the marks of `threadkeep-parts`. One module goes in; out come `main.wasm`, for wasm-bindgen,
//! and the parts that are loaded later, with the script that loads them (`parts.js`) and its types.
//!
//! The cutting is `wasm_split_cli_support`'s, whose own script only knows pages that fetch. Ours lets the caller read the
//! files, and refuses a part of another build: the two share one memory, and would wreck it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use wasm_encoder::reencode::{Reencode as _, RoundtripReencoder};
use wasm_encoder::{CustomSection, ExportKind, ExportSection, ImportSection, Module, Section as _};
use wasm_split_cli_support::{Options, transform};
use wasmparser::{Parser, Payload, TypeRef};

use crate::run::quiet;

/// The rest of the module.
pub(crate) const MAIN: &str = "main.wasm";
/// The script that loads the parts.
pub(crate) const SCRIPT: &str = "parts.js";
/// What the script exports, for TypeScript.
pub(crate) const TYPES: &str = "parts.d.ts";
/// The part of the script that is the same for every module; what is made with another must be made anew.
pub(crate) const LOADER: &str = include_str!("split/parts.js");
/// What several parts need, loaded with the first of them. One file, since the combinations of parts are many and mostly small.
pub(crate) const SHARED: &str = "shared.wasm";
/// The custom section that names the build.
const BUILD: &str = "threadkeep-build";
/// The module from which a part imports what the rest of the module exports, as the cutting calls it.
const REST: &str = "__wasm_split";
/// The same for [`SHARED`], where [`REST`] is a module of its own.
const MAIN_EXPORTS: &str = "main";

/// What was cut off, without the files' ending, and the name of the build.
pub(crate) struct Parts {
    /// What one part alone needs, named for it.
    pub(crate) own: Vec<String>,
    /// What goes into [`SHARED`].
    pub(crate) shared: Vec<String>,
    build: String,
}

/// Cuts `module` apart into files of `folder`; `glue` is the name of the script that wasm-bindgen will make of the rest.
///
/// # Errors
/// The module was not linked with its relocations, or a file cannot be written.
pub(crate) fn cut(module: &[u8], glue: &str, folder: &Path) -> Result<Parts> {
    let (main, link) = (folder.join(MAIN), format!("./{SCRIPT}"));
    let mut options = Options::new(module);
    options.output_dir = folder;
    options.main_out_path = &main;
    options.link_name = &link;
    let cut = transform(options).map_err(|error| anyhow!("{error:#}")).context("the module cannot be cut apart")?;

    let names = names(cut.prefetch_map.iter().map(|(part, files)| (part.as_str(), files.as_slice())));
    for (made, name) in &names {
        fs::rename(folder.join(format!("{made}.wasm")), folder.join(format!("{name}.wasm")))?;
    }
    let needs = cut.prefetch_map.iter().map(|(part, files)| {
        let files = files.iter().filter_map(|file| names.get(file.as_str()));
        (part.as_str(), files.map(String::as_str).collect())
    });
    let needs: BTreeMap<&str, Vec<&str>> = needs.collect();
    let needs_own: Vec<String> = needs.keys().map(|part| (*part).to_owned()).collect();
    let mut hasher = DefaultHasher::new();
    module.hash(&mut hasher);
    let build = format!("{:016x}", hasher.finish());
    fs::write(folder.join(SCRIPT), script(glue, &build, &needs))?;
    fs::write(folder.join(TYPES), types(&needs))?;
    let (own, shared) = names.into_values().partition(|name| needs_own.contains(name));
    Ok(Parts { own, shared, build })
}

impl Parts {
    /// Says in a part which build it belongs to. Done last: tools that optimise may drop what they do not know.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn stamp(&self, part: &Path) -> Result<()> {
        let mut bytes = fs::read(part)?;
        CustomSection { name: BUILD.into(), data: self.build.as_bytes().into() }.append_to(&mut bytes);
        fs::write(part, bytes).with_context(|| format!("cannot write {}", part.display()))
    }

    /// Makes one module of what several parts need, as it lies in `folder`, with `merge`, a call of wasm-merge.
    ///
    /// # Errors
    /// A file cannot be read or written, or wasm-merge fails.
    pub(crate) fn join(&self, merge: &mut Command, folder: &Path, out: &Path) -> Result<()> {
        let files: Vec<_> = self.shared.iter().map(|name| (name, folder.join(format!("{name}.wasm")))).collect();
        let modules = files.iter().map(|(_, file)| fs::read(file)).collect::<Result<Vec<_>, _>>()?;
        let rest = folder.join(format!("{REST}.wasm"));
        fs::write(&rest, passed_on(&modules)?)?;
        merge.arg(rest).arg(REST);
        for (name, file) in &files {
            merge.arg(file).arg(name);
        }
        quiet(merge.arg("-o").arg(out)).map(drop)
    }
}

/// A module that exports what `modules` import, and imports it itself: merged with it, they share one memory and one table, where each
/// would bring its own import.
fn passed_on(modules: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut wanted = BTreeMap::new();
    for module in modules {
        for payload in Parser::new(0).parse_all(module) {
            let Payload::ImportSection(imports) = payload? else { continue };
            for import in imports.into_imports() {
                let import = import?;
                let kind = match import.ty {
                    TypeRef::Memory(_) => ExportKind::Memory,
                    TypeRef::Table(_) => ExportKind::Table,
                    TypeRef::Global(_) => ExportKind::Global,
                    other => bail!("a part imports {} as {other:?}, which no part did before", import.name),
                };
                let place = (import.module == REST).then_some(import.name);
                let name = place.with_context(|| format!("a part imports from {}, not from {REST}", import.module))?;
                wanted.insert(name.to_owned(), (kind, RoundtripReencoder.entity_type(import.ty)?));
            }
        }
    }
    let (mut imports, mut exports) = (ImportSection::new(), ExportSection::new());
    let mut known = BTreeMap::new();
    for (name, (kind, entity)) in wanted {
        imports.import(MAIN_EXPORTS, &name, entity);
        let index = known.entry(kind as u8).or_insert(0);
        exports.export(&name, kind, *index);
        *index += 1;
    }
    Ok(Module::new().section(&imports).section(&exports).clone().finish())
}

/// Names for the files that were made, without their ending: a part's own file has the part's name, what several share
/// the names of those.
fn names<'a>(needs: impl Iterator<Item = (&'a str, &'a [String])>) -> BTreeMap<&'a str, String> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (part, files) in needs {
        for file in files {
            users.entry(file).or_default().push(part);
        }
    }
    let name = |(file, mut parts): (&'a str, Vec<&str>)| {
        parts.sort_unstable();
        // What one alone needs is its own file.
        (file, parts.join("-"))
    };
    users.into_iter().map(name).collect()
}

fn script(glue: &str, build: &str, needs: &BTreeMap<&str, Vec<&str>>) -> String {
    let mut files: Vec<&str> = needs.values().flatten().copied().collect();
    files.sort_unstable();
    files.dedup();
    let mut script = format!(
        "// Loads the parts of the module that come later, when they are first needed. Made by cargo xtask.\nimport {{ initSync }} from \"./{glue}\";\nconst BUILD = \"{build}\", SECTION = \"{BUILD}\";\n"
    );
    script.push_str(LOADER);
    let is_own = |file: &&str| needs.contains_key(file);
    let shares = !files.iter().all(is_own);
    files.retain(is_own);
    // Written out, so that bundlers see each file.
    let load = |file: &str| {
        format!("once(async () => start(await compiled(\"{file}\", new URL(\"./{file}\", import.meta.url))));\n")
    };
    if shares {
        script.push_str(&format!("const shared = {}", load(SHARED)));
    }
    for (at, file) in files.iter().enumerate() {
        script.push_str(&format!("const file{at} = {}", load(&format!("{file}.wasm"))));
    }
    for (part, needed) in needs {
        let own = files.iter().enumerate().filter(|(_, file)| needed.contains(file)).map(|(at, _)| format!("file{at}"));
        let shared = needed.iter().any(|file| !is_own(file)).then(|| "shared".to_owned());
        let needed: Vec<String> = shared.into_iter().chain(own).collect();
        script.push_str(&format!(
            "export const {part} = once(() => all([{}]));\nexport const __wasm_split_load_{part} = called({part});\n",
            needed.join(", ")
        ));
    }
    script
}

fn types(needs: &BTreeMap<&str, Vec<&str>>) -> String {
    let mut types = String::from(
        "/** Lets the files of the parts be read like this, and not by `fetch`. A module that is compiled already is taken as it is. */\nexport function readWith(read: (file: string, url: URL) => Promise<ArrayBuffer | Uint8Array<ArrayBuffer> | WebAssembly.Module>): void;\n",
    );
    for part in needs.keys() {
        types.push_str(&format!(
            "/** Loads the part, unless it is there. */\nexport function {part}(): Promise<void>;\n"
        ));
    }
    types
}

#[cfg(test)]
mod tests {
    use wasm_encoder::MemoryType;

    use super::*;

    #[test]
    fn files_are_named_for_who_needs_them() {
        let needs = [
            ("b", vec!["chunk_3".to_owned(), "split_b".to_owned()]),
            ("a", vec!["chunk_3".to_owned(), "split_a".to_owned()]),
        ];
        let names = names(needs.iter().map(|(part, files)| (*part, files.as_slice())));
        assert_eq!(names["chunk_3"], "a-b");
        assert_eq!((names["split_a"].as_str(), names["split_b"].as_str()), ("a", "b"));
    }

    #[test]
    fn what_parts_import_is_passed_on_once() {
        let part = |pages: u64| {
            let mut imports = ImportSection::new();
            let memory =
                MemoryType { minimum: pages, maximum: None, memory64: false, shared: false, page_size_log2: None };
            imports.import(REST, "memory", memory);
            Module::new().section(&imports).clone().finish()
        };
        let names = |bytes: &[u8]| -> Vec<String> {
            let found = Parser::new(0).parse_all(bytes).filter_map(|payload| match payload.unwrap() {
                Payload::ImportSection(imports) => {
                    let all = imports.into_imports().map(|import| import.unwrap());
                    Some(all.map(|import| format!("{}.{}", import.module, import.name)).collect::<Vec<_>>())
                }
                Payload::ExportSection(exports) => {
                    Some(exports.into_iter().map(|export| export.unwrap().name.to_owned()).collect())
                }
                _ => None,
            });
            found.flatten().collect()
        };
        assert_eq!(names(&passed_on(&[part(1), part(1)]).unwrap()), ["main.memory", "memory"]);
    }

    #[test]
    fn the_script_loads_what_a_part_needs() {
        let needs = BTreeMap::from([("a", vec!["a-b", "a"]), ("b", vec!["a-b"])]);
        let script = script("m.js", "1234", &needs);
        assert!(script.contains("new URL(\"./shared.wasm\", import.meta.url)"), "{script}");
        assert!(script.contains("compiled(\"a.wasm\", new URL(\"./a.wasm\", import.meta.url))"), "{script}");
        assert!(script.contains(r#"import { initSync } from "./m.js";"#), "{script}");
        assert!(script.contains("export const a = once(() => all([shared, file0]));"), "{script}");
        assert!(script.contains("export const b = once(() => all([shared]));"), "{script}");
        assert!(script.contains("export const __wasm_split_load_b = called(b);"), "{script}");
    }
}
