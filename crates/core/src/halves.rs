//! Halves of characters: JSON of other programs has escapes of lone surrogates where a text was cut inside a character. A strict
//! parser refuses them. Here they become U+FFFD, or marks that can be joined again when the other half comes with the next piece.

use std::borrow::Cow;

use serde_json::Value;

/// Where marks begin: a private-use character for each surrogate.
const MARK: u32 = 0x0010_f000;

/// Replaces the escapes of lone surrogates in JSON text as `write` says; `None` where there are none.
pub fn replaced(text: &str, mut write: impl FnMut(u16, &mut String)) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(ahead) = memchr::memchr(b'\\', &bytes[at..]) {
        at += ahead;
        match surrogate(bytes, at) {
            Some(unit) if unit < 0xdc00 && surrogate(bytes, at + 6).is_some_and(|low| low >= 0xdc00) => at += 12,
            Some(unit) => {
                let out = out.get_or_insert_default();
                out.push_str(&text[copied..at]);
                write(unit, out);
                at += 6;
                copied = at;
            }
            None => at += 2,
        }
        if at >= bytes.len() {
            break;
        }
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

/// The surrogate that the escape at `at` writes.
fn surrogate(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    if !escape.starts_with(b"\\u") {
        return None;
    }
    let digits = std::str::from_utf8(&escape[2..]).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

/// JSON text with a mark for each lone surrogate; `None` where there is none.
pub fn marked(text: &str) -> Option<String> {
    replaced(text, |unit, out| out.extend(char::from_u32(MARK + u32::from(unit) - 0xd800)))
}

/// The surrogate that a mark stands for.
fn unit(char: char) -> Option<u16> {
    let place = u32::from(char).checked_sub(MARK).filter(|place| *place < 0x800)?;
    u16::try_from(0xd800 + place).ok()
}

/// A text that comes in pieces, with marks. A half at a piece's end waits for the next piece.
#[derive(Debug, Default)]
pub struct Joined(Option<u16>);

impl Joined {
    /// More of the text, with whole characters.
    pub fn push<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if self.0.is_none() && !text.chars().any(|char| unit(char).is_some()) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for char in text.chars() {
            match (self.0.take(), unit(char)) {
                (Some(high), Some(low)) if low >= 0xdc00 => {
                    let code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    out.extend(char::from_u32(code));
                }
                (waiting, half) => {
                    if waiting.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        Some(high) if high < 0xdc00 => self.0 = Some(high),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                        None => out.push(char),
                    }
                }
            }
        }
        Cow::Owned(out)
    }

    /// The text is over: what stands for a half that nothing came for.
    pub fn finish(&mut self) -> Option<&'static str> {
        self.0.take().map(|_| "\u{fffd}")
    }
}

/// Makes a text whole that has marks.
pub fn mend(text: &mut String) {
    let mut joined = Joined::default();
    if let Cow::Owned(mut whole) = joined.push(text) {
        whole.push_str(joined.finish().unwrap_or_default());
        *text = whole;
    }
}

/// Makes all texts in a value whole.
pub fn mend_value(value: &mut Value) {
    match value {
        Value::String(text) => mend(text),
        Value::Array(list) => list.iter_mut().for_each(mend_value),
        Value::Object(map) => map.values_mut().for_each(mend_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Joined, marked};

    #[test]
    fn halves_of_a_character_in_two_pieces_are_joined() {
        let mut joined = Joined::default();
        let piece = |json: &str| serde_json::from_str::<String>(&marked(json).unwrap_or(json.to_owned())).unwrap();
        let texts = [r#""a\ud83d""#, r#""\ude00b""#, r#""\ud83d""#, r#""c\ude00""#, r#""\\ud83d\ud83d\ude00""#];
        let mut all = String::new();
        for text in texts {
            all.push_str(&joined.push(&piece(text)));
        }
        assert_eq!(all, "a😀b\u{fffd}c\u{fffd}\\ud83d😀");
        assert_eq!(joined.finish(), None);
        assert_eq!(joined.push(&piece(r#""\ud83d""#)), "");
        assert_eq!(joined.finish(), Some("\u{fffd}"));
    }
}
