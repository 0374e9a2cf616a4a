//! The first bytes of a file: is it text that can be JSON, and where does the text begin?

use super::Code;

/// How many bytes are looked at (fewer only where the file is shorter).
pub(super) const ENOUGH: usize = 64;

/// What the first bytes say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sniffed {
    /// Text, from this byte on.
    Text(usize),
    /// Something else: why it is left out.
    Not(Code, String),
}

/// Files of an export that hold no conversations, by their first bytes.
const MEDIA: [(&[u8], &str); 12] = [
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"BM", "an image"),
    (b"RIFF", "an image or a sound"),
    (b"OggS", "a sound"),
    (b"ID3", "a sound"),
    (b"%PDF", "a PDF document"),
    (b"\x00\x00\x00\x18ftyp", "a film or a sound"),
    (b"\x00\x00\x00\x1cftyp", "a film or a sound"),
    (b"\x00\x00\x00\x20ftyp", "a film or a sound"),
    (b"SQLite format 3", "a database"),
];

/// Looks at the first bytes of the file `name`.
pub(super) fn sniff(first: &[u8], name: &str) -> Sniffed {
    let quiet = |what: &str| Sniffed::Not(Code::NotAConversation, what.to_owned());
    let loud = |why: &str| Sniffed::Not(Code::UnknownFormat, why.to_owned());
    if let Some((_, what)) = MEDIA.iter().find(|(magic, _)| first.starts_with(magic)) {
        return quiet(what);
    }
    if first.starts_with(b"PK\x03\x04") {
        return loud("a zip inside, which is not opened; unpack it first");
    }
    if first.starts_with(b"\x1f\x8b") {
        return loud("a gzip file; unpack it first");
    }
    if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
        return loud("text in UTF-16; save it as UTF-8 first");
    }
    let start = if first.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let text = first[start..].trim_ascii_start();
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".dat") && !matches!(text.first(), Some(b'{' | b'[')) {
        return quiet("an attached file");
    }
    match text.first() {
        None => Sniffed::Text(start), // empty as far as one sees: the end of the file will tell
        Some(b'{' | b'[') => Sniffed::Text(start),
        Some(b'<') => quiet("a page (HTML or XML): the conversations are in the export's JSON files"),
        Some(_) if lower.ends_with(".jsonl") || lower.ends_with(".ndjson") => Sniffed::Text(start),
        Some(_) if first.contains(&0) => loud("not text; expected JSON, JSON Lines or a zip"),
        Some(_) => loud("not JSON, which begins with { or [; expected an export as JSON, JSON Lines or a zip"),
    }
}
