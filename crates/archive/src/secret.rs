//! Secrets in texts: found by how keys and tokens begin, by the lines around a private key, and by what says that a password follows. They are
//! replaced by as many characters, so that a prompt with them takes as many tokens as before.
//!
//! The forms are those that the makers of keys document. Searching takes time in proportion to the text.

mod place;
mod rules;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is looked for on request: it is personal, and no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "PersonalData"))]
pub enum Personal {
    /// E-mail addresses.
    Emails,
    /// Phone numbers that begin with `+`.
    Phones,
    /// Numbers of payment cards.
    Cards,
}

impl Personal {
    /// The kind of a name, such as `emails`.
    ///
    /// ```
    /// use threadkeep_archive::secret::Personal;
    /// assert_eq!(Personal::from_name("cards"), Some(Personal::Cards));
    /// assert_eq!(Personal::from_name("names"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "emails" => Some(Self::Emails),
            "phones" => Some(Self::Phones),
            "cards" => Some(Self::Cards),
            _ => None,
        }
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is, such as `GitHub token`.
    pub kind: &'static str,
    /// The byte at which it begins. What names its kind, such as `ghp_`, is no part of it.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

/// All secrets of a text, in order, without overlaps.
///
/// ```
/// use threadkeep_archive::secret::find;
/// let text = format!("the key is ghp_{} for now", "a1".repeat(18));
/// let found = find(&text, &[]);
/// assert_eq!((found[0].kind, &text[..found[0].start]), ("GitHub token", "the key is ghp_"));
/// ```
pub fn find(text: &str, also: &[Personal]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let (mut at, mut done) = (0, 0);
    while at < text.len() {
        let one = if rules::may_begin(text.as_bytes()[at]) { place::secret_at(text, at, done, also) } else { None };
        match one {
            Some(one) => {
                done = one.end;
                at = one.end.max(at + 1);
                found.push(one);
            }
            None => at += 1,
        }
    }
    found
}

/// A text with its secrets masked, and how many there were. It may be JSON, which stays JSON.
///
/// ```
/// use threadkeep_archive::secret::masked;
/// assert_eq!(masked("ftp://ann:s3cret@host/"), ("ftp://ann:xxxxxx@host/".to_owned(), 1));
/// ```
pub fn masked(text: &str) -> (String, usize) {
    let found = find(text, &[]);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for Found { start, end, .. } in &found {
        out.push_str(&text[at..*start]);
        mask(&text[*start..*end], &mut out);
        at = *end;
    }
    out.push_str(&text[at..]);
    (out, found.len())
}

/// Writes an `x` for each letter and digit. An escape such as `\n` or `\u002b` stays: the text may be JSON.
fn mask(secret: &str, out: &mut String) {
    let (mut escaped, mut digits) = (false, 0_u32);
    for letter in secret.chars() {
        let kept = escaped || digits > 0;
        out.push(if letter.is_alphanumeric() && !kept { 'x' } else { letter });
        digits = if escaped && letter == 'u' { 4 } else { digits.saturating_sub(1) };
        escaped = letter == '\\' && !kept;
    }
}

/// A secret that was found in a value: what it is, a line with it masked, and the field, such as `messages.0.content`.
#[derive(Debug)]
pub struct Hit<'a> {
    /// What it is.
    pub kind: &'static str,
    /// The end of the line before it, and its own beginning, masked.
    pub preview: String,
    /// The names and numbers that lead to it, with dots between.
    pub field: &'a str,
}

/// Replaces secrets in the strings and names of a value: those for which `replace` says so.
pub fn hide(value: &mut Value, also: &[Personal], replace: &mut dyn FnMut(Hit<'_>) -> bool) {
    Hiding { also, replace, field: String::new() }.value(value);
}

/// How many characters a preview has before the secret, and of it.
const BEFORE: usize = 32;
const OF_IT: usize = 16;

struct Hiding<'a> {
    also: &'a [Personal],
    replace: &'a mut dyn FnMut(Hit<'_>) -> bool,
    field: String,
}

impl Hiding<'_> {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(list) => {
                for (at, one) in list.iter_mut().enumerate() {
                    self.within(format_args!("{at}"), |hiding| hiding.value(one));
                }
            }
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                *fields = old
                    .into_iter()
                    .map(|(mut name, mut value)| {
                        self.text(&mut name);
                        self.within(format_args!("{name}"), |hiding| hiding.value(&mut value));
                        (name, value)
                    })
                    .collect::<Map<String, Value>>();
            }
            _ => {}
        }
    }

    fn within(&mut self, name: std::fmt::Arguments<'_>, work: impl FnOnce(&mut Self)) {
        let length = self.field.len();
        let dot = if length > 0 { "." } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(self.field, "{dot}{name}");
        work(self);
        self.field.truncate(length);
    }

    fn text(&mut self, text: &mut String) {
        let found = find(text, self.also);
        if found.is_empty() {
            return;
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for Found { kind, start, end } in found {
            out.push_str(&text[at..start]);
            let secret = &text[start..end];
            at = end;
            let mut masked = String::with_capacity(secret.len());
            mask(secret, &mut masked);
            let hit = Hit { kind, preview: preview(&out, &masked), field: &self.field };
            out.push_str(if (self.replace)(hit) { &masked } else { secret });
        }
        out.push_str(&text[at..]);
        *text = out;
    }
}

/// The end of the last line, and the beginning of what follows.
fn preview(before: &str, masked: &str) -> String {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let from = line.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
    let to = masked.char_indices().nth(OF_IT).map_or(masked.len(), |(at, _)| at);
    let more = if to < masked.len() { "…" } else { "" };
    [&line[from..], masked[..to].lines().next().unwrap_or_default(), more].concat()
}

#[cfg(test)]
mod tests;
