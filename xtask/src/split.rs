//! Cuts a compiled module apart at the marks of `threadkeep-parts`. One module goes in; out come `main.wasm`, for wasm-bindgen,
//! and the parts that are loaded later, with the script that loads them (`parts.js`) and its types.
//!
//! The cutting is `wasm_split_cli_support`'s, whose own script only knows pages that fetch. Ours lets the caller read the
//! files, and refuses a part of another build: the two share one memory, and would wreck it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use wasm_split_cli_support::{Options, transform};

/// The rest of the module.
pub(crate) const MAIN: &str = "main.wasm";
/// The script that loads the parts.
pub(crate) const SCRIPT: &str = "parts.js";
/// What the script exports, for TypeScript.
pub(crate) const TYPES: &str = "parts.d.ts";
/// The part of the script that is the same for every module; what is made with another must be made anew.
pub(crate) const LOADER: &str = include_str!("split/parts.js");
/// What several parts need: a module whose custom sections are modules, one for each combination of parts that has something in
/// common, named for it (`a-b`). One file, since the combinations are many and mostly small.
pub(crate) const SHARED: &str = "shared.wasm";
/// The custom section that names the build.
const BUILD: &str = "threadkeep-build";

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
        section(&mut bytes, BUILD, self.build.as_bytes());
        fs::write(part, bytes).with_context(|| format!("cannot write {}", part.display()))
    }

    /// Puts what several parts need, as it lies in `folder`, into one file.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(crate) fn join(&self, folder: &Path, out: &Path) -> Result<()> {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        for name in &self.shared {
            section(&mut bytes, name, &fs::read(folder.join(format!("{name}.wasm")))?);
        }
        fs::write(out, bytes).with_context(|| format!("cannot write {}", out.display()))?;
        self.stamp(out)
    }
}

/// Adds a custom section to a module: the number 0, its length, the length of its name, its name, its content.
fn section(module: &mut Vec<u8>, name: &str, content: &[u8]) {
    let named = [&number(name.len())[..], name.as_bytes()].concat();
    module.push(0);
    module.extend(number(named.len() + content.len()));
    module.extend(named);
    module.extend(content);
}

/// A number as WebAssembly writes it: seven bits a byte, the lowest first.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
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
    let address = |file: &str| format!("compiled(\"{file}\", new URL(\"./{file}\", import.meta.url))");
    let is_own = |file: &&str| needs.contains_key(file);
    if !files.iter().all(is_own) {
        script.push_str(&format!("const shared = once(() => {});\n", address(SHARED)));
    }
    for (at, file) in files.iter().enumerate() {
        // Written out, so that bundlers see each file.
        let module = if is_own(file) {
            format!("await {}", address(&format!("{file}.wasm")))
        } else {
            format!("await WebAssembly.compile(WebAssembly.Module.customSections(await shared(), \"{file}\")[0])")
        };
        script.push_str(&format!("const file{at} = once(async () => start({module}));\n"));
    }
    for (part, needed) in needs {
        let needed = files.iter().enumerate().filter(|(_, file)| needed.contains(file));
        let needed: Vec<String> = needed.map(|(at, _)| format!("file{at}")).collect();
        script.push_str(&format!(
            "export const {part} = once(() => all([{}]));\nexport const __wasm_split_load_{part} = called({part});\n",
            needed.join(", ")
        ));
    }
    script
}

fn types(needs: &BTreeMap<&str, Vec<&str>>) -> String {
    let mut types = String::from(
        "/** Lets the files of the parts be read like this, and not by `fetch`. */\nexport function readWith(read: (file: string, url: URL) => Promise<ArrayBuffer | Uint8Array<ArrayBuffer>>): void;\n",
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
    fn sections_are_as_long_as_they_say() {
        let mut module = Vec::new();
        section(&mut module, "ab", &[7; 200]);
        assert_eq!(module[..6], [0, 0xcb, 1, 2, b'a', b'b']);
        assert_eq!(module.len(), 6 + 200);
        assert_eq!((number(0), number(127), number(128)), (vec![0], vec![127], vec![0x80, 1]));
    }

    #[test]
    fn the_script_loads_what_a_part_needs() {
        let needs = BTreeMap::from([("a", vec!["a-b", "a"]), ("b", vec!["a-b"])]);
        let script = script("m.js", "1234", &needs);
        assert!(script.contains("new URL(\"./shared.wasm\", import.meta.url)"), "{script}");
        assert!(script.contains("customSections(await shared(), \"a-b\")[0]"), "{script}");
        assert!(script.contains("compiled(\"a.wasm\", new URL(\"./a.wasm\", import.meta.url))"), "{script}");
        assert!(script.contains(r#"import { initSync } from "./m.js";"#), "{script}");
        assert!(script.contains("export const a = once(() => all([file0, file1]));"), "{script}");
        assert!(script.contains("export const b = once(() => all([file1]));"), "{script}");
        assert!(script.contains("export const __wasm_split_load_b = called(b);"), "{script}");
    }
}
