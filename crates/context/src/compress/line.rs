//! Texts of several lines as one.

/// `text` on one line, every run of white space a single space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
