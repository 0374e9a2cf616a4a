//! Preview: a large tool result becomes its beginning and the path under which the whole can be read. The stored message
//! is untouched: it is the full output, and [`find`] leads from the path back to it.

use std::fmt::Write;

use serde::{Deserialize, Deserializer, Serialize};
use threadkeep_core::{Content, Message, Part, Role};

/// The word that a preview begins with.
pub const PREVIEW: &str = "TOOL_RESULT_PREVIEW";
/// Where the full outputs are, as a model sees it.
pub const FOLDER: &str = "@state/logs/tool-results/";

/// When tool results become previews; lengths in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ToolPreview", optional_fields))]
pub struct Preview {
    /// Results longer than this; 4,000 without it.
    #[serde(deserialize_with = "over")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub over: u32,
    /// How much of the beginning is shown; 500 without it.
    #[serde(deserialize_with = "keep")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub keep: u32,
}

fn over<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(Preview::default().over))
}

fn keep<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(Preview::default().keep))
}

impl Default for Preview {
    fn default() -> Self {
        Self { over: 4_000, keep: 500 }
    }
}

/// When tool results become previews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Previews {
    /// Never.
    Never,
    /// Large ones, by [`Preview::default`], where the whole does not fit the budget. The newest stay whole first.
    #[default]
    WhenNeeded,
    /// All that are longer than this says.
    Over(Preview),
}

/// A text's length in UTF-16 units.
pub(super) fn length(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.encode_utf16().count() as u64 }
}

/// The beginning of `text`, at most `units` UTF-16 units long; never half a character.
fn beginning(text: &str, units: u32) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16() as u64;
        if used > u64::from(units) {
            return &text[..at];
        }
    }
    text
}

/// The path of a call's full output: letters, digits, `.`, `_` and `-` of the id as they are, all other bytes as `%XX`, so
/// that different ids have different paths and none leads out of the folder.
///
/// ```
/// use threadkeep_context::preview;
/// assert_eq!(preview::path("call_1"), "@state/logs/tool-results/call_1.json");
/// assert_eq!(preview::path("../etc"), "@state/logs/tool-results/..%2Fetc.json");
/// ```
pub fn path(call_id: &str) -> String {
    let mut path = String::with_capacity(FOLDER.len() + call_id.len() + 5);
    path.push_str(FOLDER);
    for byte in call_id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            path.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path.push_str(".json");
    path
}

/// The call id that a [`path`] names; `None` for anything that [`path`] does not write.
pub fn call_id(given: &str) -> Option<String> {
    let name = given.strip_prefix(FOLDER)?.strip_suffix(".json")?;
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((byte, more)) = rest.split_first() {
        rest = more;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let hex = rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok().filter(|id| path(id) == given)
}

/// The full output that a [`path`] names: the newest tool result of that call.
pub fn find<'a>(given: &str, messages: impl DoubleEndedIterator<Item = &'a Message>) -> Option<&'a Message> {
    let id = call_id(given)?;
    let mut results = messages.rev().filter(|message| message.role == Role::Tool);
    results.find(|message| message.tool_call_id.as_deref().unwrap_or_default() == id)
}

/// The preview of a tool message whose text is longer than the limit; `None` for any other. Parts that are not text stay.
pub fn preview(message: &Message, options: Preview) -> Option<Message> {
    if message.role != Role::Tool || message.content.is_empty() {
        return None;
    }
    let text = message.text();
    // A UTF-16 length is never above the length in bytes.
    if text.len() as u64 <= u64::from(options.over) {
        return None;
    }
    let whole = length(&text);
    if whole <= u64::from(options.over) {
        return None;
    }
    let shown = beginning(&text, options.keep);
    let mut out = format!("{PREVIEW} ({} of {whole} characters)\n{shown}\n", length(shown));
    if let Some(id) = message.tool_call_id.as_deref().filter(|id| !id.is_empty()) {
        out.push_str("Full output: ");
        out.push_str(&path(id));
    }
    let content = match &message.content {
        Content::Parts(parts) if parts.iter().any(|part| part.as_text().is_none()) => {
            let others = parts.iter().filter(|part| part.as_text().is_none()).cloned();
            Content::Parts(std::iter::once(Part::text(out)).chain(others).collect())
        }
        _ => Content::Text(out),
    };
    Some(with_content(message, content))
}

/// The message with another content; the old one is not copied.
pub(super) fn with_content(message: &Message, content: Content) -> Message {
    let mut made = Message::new(message.role.clone(), content);
    made.name.clone_from(&message.name);
    made.reasoning.clone_from(&message.reasoning);
    made.tool_calls.clone_from(&message.tool_calls);
    made.tool_call_id.clone_from(&message.tool_call_id);
    made.is_error = message.is_error;
    made.pinned = message.pinned;
    made.tags.clone_from(&message.tags);
    made.extra.clone_from(&message.extra);
    made
}
