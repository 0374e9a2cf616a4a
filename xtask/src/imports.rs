//! Short names for what a wasm module imports. wasm-bindgen calls each import by its function and a hash, once in the module
//! and once in the glue beside it; hashes do not compress, so that the names alone take several KB of each. A module and its
//! glue go in, and come out agreed on `a`, `b`, `c` and so on. Everything else stays as it is.

use anyhow::{Context as _, Result, bail, ensure};

/// The number of the section of imports.
const IMPORTS: u8 = 2;
/// The module of the imports that load parts: [`crate::split::SCRIPT`].
const PARTS: &[u8] = b"./parts.js";
/// The kind of an import that is a function, the only one that wasm-bindgen makes.
const FUNCTION: u8 = 0;

/// The module and the glue with short names.
///
/// # Errors
/// The module is not as wasm-bindgen makes it, or a name is not in the glue exactly once.
pub(crate) fn shorten(module: &[u8], glue: &str) -> Result<(Vec<u8>, String)> {
    let mut rest = module.get(8..).context("no WebAssembly module")?;
    let mut short = module[..8].to_vec();
    let mut glue = glue.to_owned();
    while let Some((&id, after)) = rest.split_first() {
        rest = after;
        let section = piece(&mut rest)?;
        let body = if id == IMPORTS { section_of_imports(section, &mut glue)? } else { section.to_vec() };
        short.push(id);
        put(&mut short, &body);
    }
    Ok((short, glue))
}

fn section_of_imports(mut section: &[u8], glue: &mut String) -> Result<Vec<u8>> {
    let count = number(&mut section)?;
    let mut body = Vec::new();
    put_number(&mut body, count);
    for index in 0..count {
        let from = piece(&mut section)?;
        put(&mut body, from);
        let old = std::str::from_utf8(piece(&mut section)?)?;
        if from == PARTS {
            // What loads the parts has names of its own, which its script exports.
            put(&mut body, old.as_bytes());
        } else {
            let new = name(index);
            // How the glue's table of imports has it: `        __wbg_log_0123456789abcdef: function(…`.
            let (before, after) = (format!("\n        {old}: "), format!("\n        {new}: "));
            ensure!(glue.matches(&before).count() == 1, "the glue does not have the import {old} once");
            *glue = glue.replacen(&before, &after, 1);
            put(&mut body, new.as_bytes());
        }
        let Some((&FUNCTION, after)) = section.split_first() else { bail!("the import {old} is no function") };
        section = after;
        body.push(FUNCTION);
        put_number(&mut body, number(&mut section)?);
    }
    ensure!(section.is_empty(), "the section of imports is longer than it says");
    Ok(body)
}

/// The name of import `index`: `a` to `z`, then `aa` and so on.
fn name(mut index: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + (index % 26) as u8));
        match (index / 26).checked_sub(1) {
            Some(more) => index = more,
            None => return letters.into_iter().rev().collect(),
        }
    }
}

/// A number in LEB128.
fn number(bytes: &mut &[u8]) -> Result<u32> {
    let mut number = 0u32;
    for shift in (0..32).step_by(7) {
        let (&byte, after) = bytes.split_first().context("the module ends in a number")?;
        *bytes = after;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    bail!("a number in the module is too long")
}

/// Bytes with their number before them.
fn piece<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8]> {
    let length = number(bytes)? as usize;
    let (piece, after) = bytes.split_at_checked(length).context("the module ends too soon")?;
    *bytes = after;
    Ok(piece)
}

fn put(out: &mut Vec<u8>, piece: &[u8]) {
    put_number(out, piece.len() as u32);
    out.extend_from_slice(piece);
}

fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "    const import0 = {\n        __proto__: null,\n        __wbg_log_12: function(arg0) {\n        },\n        __wbg_now_34: function() {\n        },\n";

    /// A module with a section of types, two imports, and a section that is none of our business.
    fn module(names: [&str; 2]) -> Vec<u8> {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        bytes.extend([1, 4, 1, 0x60, 0, 0]);
        let mut imports = vec![2];
        for name in names {
            put(&mut imports, b"./m_bg.js");
            put(&mut imports, name.as_bytes());
            imports.extend([FUNCTION, 0]);
        }
        bytes.push(IMPORTS);
        put(&mut bytes, &imports);
        bytes.push(0);
        put(&mut bytes, &[7; 300]);
        bytes
    }

    #[test]
    fn names_are_shortened_on_both_sides() {
        let (short, glue) = shorten(&module(["__wbg_log_12", "__wbg_now_34"]), GLUE).unwrap();
        assert_eq!(short, module(["a", "b"]));
        assert!(glue.contains("\n        a: function(arg0)") && glue.contains("\n        b: function()"), "{glue}");
        assert!(!glue.contains("__wbg_"), "{glue}");
    }

    #[test]
    fn a_name_that_the_glue_does_not_have_is_an_error() {
        assert!(shorten(&module(["__wbg_log_12", "__wbg_gone_56"]), GLUE).is_err());
    }

    #[test]
    fn what_is_cut_is_an_error() {
        let whole = module(["__wbg_log_12", "__wbg_now_34"]);
        assert!(shorten(&whole[..30], GLUE).is_err());
        assert!(shorten(b"", GLUE).is_err());
    }

    #[test]
    fn names_never_repeat() {
        let names: std::collections::HashSet<String> = (0..2000).map(name).collect();
        assert_eq!(names.len(), 2000);
        assert_eq!((name(0), name(25), name(26), name(702)), ("a".into(), "z".into(), "aa".into(), "aaa".into()));
    }
}
