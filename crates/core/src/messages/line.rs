//! Messages as an append writes them to a line of the log: a role and a text each, and nothing else. They are checked byte by byte, and read
//! later or not at all.

use std::ops::Range;

use crate::json::escaped;
use crate::{Message, Role};

/// How many messages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// All.
    pub(crate) all: u32,
    /// Of the user.
    pub(crate) user: u32,
    /// That count towards [depth](crate::depth).
    pub(crate) deep: u32,
}

impl Counts {
    /// Counts one more.
    pub(crate) fn add(&mut self, role: &Role) {
        self.all += 1;
        self.user += u32::from(*role == Role::User);
        self.deep += u32::from(role.counts());
    }
}

/// The messages of a text that [`Line::pass`] or [`each`] has checked.
pub(crate) fn read(json: &str) -> Vec<Message> {
    let mut line = Line(json);
    // Most nodes have one, for which a list would make room for four.
    let mut messages = Vec::with_capacity(1);
    while let Some((role, text)) = line.message() {
        messages.push(Message::new(role, unescaped(text)));
        line.has(",");
    }
    messages
}

/// Tells `found` of each message of a list: its place, and that it is one. The list is in an object, behind a text. Returns what is between its
/// brackets; `None` where a message cannot be read so, or there is none.
pub(crate) fn each(json: &str, found: &mut dyn FnMut(Range<usize>, Counts)) -> Option<Range<usize>> {
    let mut line = Line(json);
    line.skip("{\"")?;
    line.plain()?;
    line.skip(":\"")?;
    line.text()?;
    line.skip(",\"messages\":[")?;
    let begin = json.len() - line.0.len();
    loop {
        let start = json.len() - line.0.len();
        let (role, _) = line.message()?;
        let end = json.len() - line.0.len();
        let mut counts = Counts::default();
        counts.add(&role);
        found(start..end, counts);
        if !line.has(",") {
            return Some(begin..end);
        }
    }
}

/// What is left of a line.
pub(crate) struct Line<'a>(pub(crate) &'a str);

impl<'a> Line<'a> {
    /// Passes over messages, up to what follows the last.
    pub(crate) fn pass(&mut self) -> Option<Counts> {
        let mut counts = Counts::default();
        if self.0.starts_with(']') {
            return Some(counts);
        }
        loop {
            let (role, _) = self.message()?;
            counts.add(&role);
            if !self.has(",") {
                return Some(counts);
            }
        }
    }

    /// Passes over a message: its role, and its text as it is written.
    #[inline(never)]
    pub(crate) fn message(&mut self) -> Option<(Role, &'a str)> {
        self.skip("{\"role\":\"")?;
        let role = self.plain()?;
        self.skip(",\"content\":\"")?;
        let text = self.text()?;
        self.skip("}")?;
        Some((Role::from(role), text))
    }

    /// Whether `text` comes next, which is passed over then. A call each time, for a smaller module.
    #[inline(never)]
    pub(crate) fn has(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    pub(crate) fn skip(&mut self, text: &str) -> Option<()> {
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
    pub(crate) fn plain(&mut self) -> Option<&'a str> {
        let text = self.stretch()?;
        self.skip("\"")?;
        Some(text)
    }

    /// A string as it is written, with the escapes that [`unescaped`] knows.
    #[inline(never)]
    pub(crate) fn text(&mut self) -> Option<&'a str> {
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

/// A string of a line as it is meant.
fn unescaped(written: &str) -> String {
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
