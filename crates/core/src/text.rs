//! Texts as readers see them.

/// The lines of a text. A line ends with `\n`, `\r` or `\r\n`, or with a Unicode character that ends a line, a paragraph or a page: a reader
/// could see a new line begin there. An empty text is one empty line.
///
/// ```
/// use threadkeep_core::text::lines;
/// assert_eq!(lines("a\r\nb\rc\n\u{2028}d").collect::<Vec<_>>(), ["a", "b", "c", "", "d"]);
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = |char: char| matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(ends) else {
            rest = None;
            return Some(text);
        };
        let long = if text[at..].starts_with("\r\n") { 2 } else { text[at..].chars().next().map_or(1, char::len_utf8) };
        rest = Some(&text[at + long..]);
        Some(&text[..at])
    })
}
