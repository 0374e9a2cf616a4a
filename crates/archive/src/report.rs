//! What a reader says while it reads: items go straight on, remarks are counted, so that a file with a million bad entries
//! gives a report that one can read.

use threadkeep_compaction::memory::Memory;

use super::{Code, Conversation, Item, Skip};

/// How many remarks of one kind are handed out for one file before the others are only counted.
const SHOWN: u64 = 200;

/// Remarks of a file, by kind.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<(Code, bool, u64)>);

/// The way out of a parser.
pub(super) struct Report<'a> {
    pub file: &'a str,
    pub counts: &'a mut Counts,
    pub sink: &'a mut dyn FnMut(Item),
}

impl Report<'_> {
    /// Hands out a conversation.
    pub fn conversation(&mut self, conversation: Conversation) {
        (self.sink)(Item::Conversation(conversation));
    }

    /// Hands out an episode or a fact.
    pub fn memory(&mut self, memory: Memory) {
        (self.sink)(Item::Memory(Box::new(memory)));
    }

    /// Hands out a line that is neither of a log nor a memory.
    pub fn beside(&mut self, place: &str, line: serde_json::Value) {
        let place = [self.file, ", ", place].concat();
        (self.sink)(Item::Beside(Box::new(super::Beside { place, line })));
    }

    /// Hands out what a file of an agent's memory holds.
    pub fn part(&mut self, part: super::Part) {
        (self.sink)(Item::Part(Box::new(part)));
    }

    /// Something is left out. `place` is within the file; `""` is the file itself.
    pub fn skip(&mut self, place: &str, code: Code, reason: impl Into<String>) {
        self.say(place, code, reason.into(), true);
    }

    /// Something comes in, but not quite as it was.
    pub fn warn(&mut self, place: &str, code: Code, reason: impl Into<String>) {
        self.say(place, code, reason.into(), false);
    }

    fn say(&mut self, place: &str, code: Code, reason: String, skipped: bool) {
        let counts = &mut self.counts.0;
        let at = counts.iter().position(|count| (count.0, count.1) == (code, skipped)).unwrap_or(counts.len());
        if at == counts.len() {
            counts.push((code, skipped, 0));
        }
        counts[at].2 += 1;
        if counts[at].2 <= SHOWN {
            let place = if place.is_empty() { self.file.to_owned() } else { format!("{}, {place}", self.file) };
            let skip = Skip { place, code, reason };
            (self.sink)(if skipped { Item::Skipped(skip) } else { Item::Warning(skip) });
        }
    }

    /// At the end of the file: how many remarks were only counted.
    pub fn close(&mut self) {
        for (code, skipped, count) in std::mem::take(&mut self.counts.0) {
            if count > SHOWN {
                let reason = format!(
                    "{} more remarks of the kind {code:?}, like those before",
                    count - SHOWN,
                    code = code.as_str()
                );
                let skip = Skip { place: self.file.to_owned(), code, reason };
                (self.sink)(if skipped { Item::Skipped(skip) } else { Item::Warning(skip) });
            }
        }
    }
}

/// A text shortened for a report: one line of at most 60 characters.
pub(super) fn short(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(61).collect();
    if line.chars().count() > 60 {
        line.pop();
        line.push('…');
    }
    line
}

/// Lines that say nothing, counted by their kinds.
#[derive(Debug, Default)]
pub(super) struct LeftOut(Vec<(String, u64)>);

impl LeftOut {
    /// Counts one of this kind.
    pub fn count(&mut self, kind: &str) {
        let known = self.0.iter().position(|(known, _)| known == kind);
        match known.or((self.0.len() >= 100).then_some(0)) {
            Some(at) => self.0[at].1 += 1,
            // One for each kind of line, of which no program writes many.
            None => self.0.push((kind.to_owned(), 1)),
        }
    }

    /// Says what was left out; `why` ends the sentence.
    pub fn report(&self, why: &str, report: &mut Report) {
        for (kind, count) in &self.0 {
            let of =
                if kind.is_empty() { "without a type".to_owned() } else { format!("of the type `{}`", short(kind)) };
            report.skip("", Code::NotAConversation, format!("lines {of} ({count}), {why}"));
        }
    }
}
