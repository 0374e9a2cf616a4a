//! Names inside keys. Keys are ASCII, so that every backend orders them alike: a name is escaped byte by byte.

use std::borrow::Cow;
use std::fmt::Write;

/// A name as a part of a key: letters, digits, `-`, `_` and `.` stay. Every other byte becomes `%` and two hex digits.
///
/// ```
/// use threadkeep_store::{escape, unescape};
///
/// assert_eq!(escape("a/b"), "a%2fb");
/// assert_eq!(unescape("a%2fb").as_deref(), Some("a/b"));
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    // As with every id of ours.
    if text.bytes().all(stays) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02x}");
        }
    }
    escaped.into()
}

/// The name that [`escape`] made `text` of; `None` for what it cannot have made.
pub fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).map(|digit| digit as u8);
        bytes.push(digit(rest.next())? * 16 + digit(rest.next())?);
    }
    String::from_utf8(bytes).ok()
}
