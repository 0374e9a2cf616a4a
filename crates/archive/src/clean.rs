//! Bytes made readable: what is not UTF-8, half a surrogate pair, a raw control character in a string, a Python `NaN` or a
//! number that no float can hold stops a strict parser, and is mended here, with a word about it. Clean input is passed on as it is.

use std::borrow::Cow;

use serde_json::Value;
use threadkeep_core::halves;

/// Text that a parser can take, and what had to be mended for that.
pub(super) struct Clean<'a> {
    pub text: Cow<'a, str>,
    pub mended: Option<&'static str>,
}

const REPLACED: &str = "some bytes are not UTF-8 and are shown as \u{fffd}";
const SURROGATE: &str = "halves of surrogate pairs (broken emoji, say) are shown as \u{fffd}";

/// Makes UTF-8 of the bytes, and whole characters of the escapes.
pub(super) fn clean(bytes: &[u8]) -> Clean<'_> {
    let (text, mut mended) = match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(_) => (Cow::Owned(String::from_utf8_lossy(bytes).into_owned()), Some(REPLACED)),
    };
    let text = match halves::replaced(&text, |_, out| out.push_str("\\ufffd")) {
        Some(better) => {
            mended = mended.or(Some(SURROGATE));
            Cow::Owned(better)
        }
        None => text,
    };
    Clean { text, mended }
}

/// For text that a parser refused: escapes raw control characters in strings, and writes `null` for `NaN`, infinities and numbers
/// beyond a double's range, as JavaScript does. `None` where there is nothing to mend.
pub(super) fn mend_json(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 64);
    let (mut in_string, mut escaped, mut changed) = (false, false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut step = c.len_utf8();
        if in_string {
            match c {
                _ if escaped && !c.is_control() => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                c if (c as u32) < 0x20 => {
                    if escaped {
                        out.push('\\'); // a backslash before a raw line break stands for itself
                        escaped = false;
                    }
                    out.push_str(&format!("\\u{:04x}", c as u32));
                    changed = true;
                    rest = &rest[step..];
                    continue;
                }
                _ => {}
            }
            out.push(c);
        } else if let Some(word) = ["-Infinity", "Infinity", "NaN"].iter().find(|word| rest.starts_with(**word)) {
            out.push_str("null");
            changed = true;
            step = word.len();
        } else if c == '-' || c.is_ascii_digit() {
            step = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
            let too_large = rest[..step].parse().is_ok_and(f64::is_infinite);
            out.push_str(if too_large { "null" } else { &rest[..step] });
            changed |= too_large;
        } else {
            in_string = c == '"';
            out.push(c);
        }
        rest = &rest[step..];
    }
    changed.then_some(out)
}

/// Reads a value; one that a strict parser refuses, mended where it can be.
pub(super) fn value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let mended = mend_json(text).and_then(|text| serde_json::from_str(&text).ok());
        mended.ok_or(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let check = |given: &str, expected: &str| assert_eq!(clean(given.as_bytes()).text, expected);
        check(r#""\ud83d\ude00 ok""#, r#""\ud83d\ude00 ok""#);
        check(r#""\ud83d x""#, r#""\ufffd x""#);
        check(r#""\uDE00\uD83D""#, r#""\ufffd\ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\ud8"#, r#""\ud8"#);
    }

    #[test]
    fn control_characters_and_nan() {
        assert_eq!(mend_json("{\"a\":\"x\ny\"}").as_deref(), Some(r#"{"a":"x\u000ay"}"#));
        assert_eq!(mend_json(r#"[1e400,-1e400,1e4,"1e400"]"#).as_deref(), Some(r#"[null,null,1e4,"1e400"]"#));
        assert_eq!(mend_json(r#"[NaN,-Infinity,"NaN"]"#).as_deref(), Some(r#"[null,null,"NaN"]"#));
        assert_eq!(mend_json(r#"{"a":"\"\\","b":-1.5e3}"#), None);
        assert_eq!(mend_json("\"a\\\nb\"").as_deref(), Some(r#""a\\\u000ab""#));
    }

    #[test]
    fn bytes_that_are_no_text() {
        let cleaned = clean(b"\"a\xffb\"");
        assert_eq!((cleaned.text.as_ref(), cleaned.mended), ("\"a\u{fffd}b\"", Some(REPLACED)));
    }
}
