//! Messages as an append writes them to a line of the log: a role and a text each, and nothing else. They are checked byte by byte, and read
//! later or not at all.

use std::ops::Range;

use threadkeep_json::{Line, unescaped};

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

/// The messages of a text that [`pass`] or [`each`] has checked.
pub(crate) fn read(json: &str) -> Vec<Message> {
    let mut line = Line(json);
    // Most nodes have one, for which a list would make room for four.
    let mut messages = Vec::with_capacity(1);
    while let Some((role, text)) = message(&mut line) {
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
        let (role, _) = message(&mut line)?;
        let end = json.len() - line.0.len();
        let mut counts = Counts::default();
        counts.add(&role);
        found(start..end, counts);
        if !line.has(",") {
            return Some(begin..end);
        }
    }
}

/// Passes over messages, up to what follows the last.
pub(crate) fn pass(line: &mut Line) -> Option<Counts> {
    let mut counts = Counts::default();
    if line.0.starts_with(']') {
        return Some(counts);
    }
    loop {
        let (role, _) = message(line)?;
        counts.add(&role);
        if !line.has(",") {
            return Some(counts);
        }
    }
}

/// Passes over a message: its role, and its text as it is written.
#[inline(never)]
fn message<'a>(line: &mut Line<'a>) -> Option<(Role, &'a str)> {
    line.skip("{\"role\":\"")?;
    let role = line.plain()?;
    line.skip(",\"content\":\"")?;
    let text = line.text()?;
    line.skip("}")?;
    Some((Role::from(role), text))
}
