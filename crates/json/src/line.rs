//! A line of JSON in the one form in which it is written here: no spaces, fields in their order. It is checked byte by byte, and nothing is
//! made of it until that is asked for.

use crate::write::escaped;

/// What is left of a line.
///
/// ```
/// use threadkeep_json::{Line, unescaped};
///
/// let mut line = Line(r#"{"role":"user","content":"a \"word\""}"#);
/// line.skip(r#"{"role":""#).unwrap();
/// assert_eq!(line.plain(), Some("user"));
/// line.skip(r#","content":""#).unwrap();
/// assert_eq!(line.text().map(unescaped).as_deref(), Some(r#"a "word""#));
/// assert_eq!(line.0, "}");
/// ```
#[derive(Debug)]
pub struct Line<'a>(pub &'a str);

impl<'a> Line<'a> {
    /// Whether `text` comes next, which is passed over then. A call each time, for a smaller module.
    #[inline(never)]
    pub fn has(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Passes over `text`, which must come next.
    pub fn skip(&mut self, text: &str) -> Option<()> {
        self.has(text).then_some(())
    }

    /// The rest of a string that was opened, up to the first byte that may not stand in it as it is.
    fn stretch(&mut self) -> Option<&'a str> {
        let (before, after) = self.0.split_at(escaped(self.0.as_bytes())?);
        self.0 = after;
        Some(before)
    }

    /// A string in which nothing is escaped.
    #[inline(never)]
    pub fn plain(&mut self) -> Option<&'a str> {
        let text = self.stretch()?;
        self.skip("\"")?;
        Some(text)
    }

    /// A whole number of at most 15 digits, as it is written. What follows them is looked at next, so that no fraction passes for one.
    #[inline(never)]
    pub fn number(&mut self) -> Option<u64> {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit())?;
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        let known = matches!(digits.as_bytes(), [b'0'] | [b'1'..=b'9', ..]) && end <= 15;
        known.then(|| digits.bytes().fold(0, |number, digit| number * 10 + u64::from(digit & 15)))
    }

    /// A string as it is written, with the escapes that [`unescaped`] knows.
    #[inline(never)]
    pub fn text(&mut self) -> Option<&'a str> {
        let whole = self.0;
        loop {
            self.stretch()?;
            let end = whole.len() - self.0.len();
            if self.has("\"") {
                return whole.get(..end);
            }
            // A control character is neither of the two.
            self.skip("\\")?;
            self.0 = self.0.strip_prefix(|sign| matches!(sign, 'n' | 't' | 'r' | '"' | '\\'))?;
        }
    }
}

/// A string of a line, as [`Line::text`] gives it, as it is meant.
pub fn unescaped(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    // A backslash is all that is found: a quote stands after one.
    while let Some(at) = escaped(rest.as_bytes()) {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let mut after = after.chars();
        let sign = after.nth(1).unwrap_or_default();
        text.push(match sign {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            same => same,
        });
        rest = after.as_str();
    }
    text.push_str(rest);
    text.shrink_to_fit();
    text
}
