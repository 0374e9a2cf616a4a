//! The ledger: what became of each message on its way into a prompt, and why.
//!
//! A prompt holds what fits a budget; its ledger has a line for each message of the history. So the lines are made when they are first
//! read: until then a [`Ledger`] holds what decided, and shares the rest with the history that was prepared.

use std::ops::Deref;
use std::sync::OnceLock;

use threadkeep_core::MessageId;
use threadkeep_provider::NoteRule;

use super::chunked::Chunked;
use super::facts::NONE;
use super::fit::Fit;
use super::frame::quoted_or;
use super::group::Entry;
use super::rule;

/// What was done to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase"))]
pub enum Action {
    /// It is in the prompt as it is.
    Kept,
    /// It is in the prompt because it was pinned.
    Pinned,
    /// A code turn that became what it defined and printed.
    Compressed,
    /// A large tool result that became its beginning and the path of the whole.
    Previewed,
    /// A summary stands for it.
    Summarised,
    /// It is not in the prompt.
    Dropped,
    /// It is not in the history: the frame put it there.
    Injected,
    /// It is not in the history, or not like this: the provider's protocol needs it.
    Repaired,
}

impl Action {
    /// Its name in ledgers: `kept`, `pinned`, `compressed`, `previewed`, `summarised`, `dropped`, `injected`, `repaired`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Pinned => "pinned",
            Self::Compressed => "compressed",
            Self::Previewed => "previewed",
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
            Self::Injected => "injected",
            Self::Repaired => "repaired",
        }
    }
}

/// What became of one message, and why. Lines stand in the order of the prompt, dropped messages where they would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "LedgerLine", rename_all = "camelCase", optional_fields))]
pub struct Line {
    /// The message's node, where it has one.
    pub node: Option<MessageId>,
    /// The message's place in the chain or list, from 0; what is put in has the place of what it precedes.
    pub index: usize,
    /// What was done.
    pub action: Action,
    /// The rule that decided: a short stable word, such as `newest-user` or `over-max-tokens`.
    pub rule: &'static str,
    /// The episode or fact that the prompt quotes, where the line is about one; for a quoted message, its node.
    pub memory: Option<String>,
    /// What it costs as it is, in tokens; 0 for what the history does not have.
    pub tokens_before: u32,
    /// What it costs in the prompt, in tokens; 0 for what is dropped. The sum over all lines is the prompt's count.
    pub tokens_after: u32,
}

impl Line {
    /// Whether it is of a message that the prompt has: the n-th such line is that of the n-th message. Other lines are of what is left
    /// out, of the tools, of the records that a message quotes, and of what only the payload has.
    pub fn has_message(&self) -> bool {
        let beside = [rule::TOOL_SCHEMAS, rule::REPLY, NoteRule::Opening.name(), NoteRule::Closing.name()];
        let quotes = self.rule == rule::MEMORY && self.memory.is_none();
        quotes || self.tokens_after > 0 && self.memory.is_none() && !beside.contains(&self.rule)
    }

    /// A line for what the history does not have.
    pub(super) fn injected(index: usize, rule: &'static str, tokens: u32) -> Self {
        let (node, memory, action, tokens_before, tokens_after) = (None, None, Action::Injected, 0, tokens);
        Self { node, index, action, rule, memory, tokens_before, tokens_after }
    }
}

/// The lines of a prompt: one for each message of the history and of the frame, one for the tools and one for the reply. They are
/// made when they are first read; it derefs to `[Line]`.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    lines: OnceLock<Vec<Line>>,
    pub(super) parts: Parts,
}

/// What a ledger's lines are made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    /// Lines before the history's.
    pub head: Vec<Line>,
    /// How many messages the history has.
    pub history: usize,
    pub entries: Chunked<Entry>,
    /// What became of entries that the prompt has, with their places among all; ascending.
    pub kept: Vec<(usize, super::Mark)>,
    /// What decided about the others.
    pub fit: Option<Fit>,
    /// Lines inside the history, before the entry of this place.
    pub inside: Vec<(usize, Line)>,
    /// Lines behind the history's.
    pub tail: Vec<Line>,
    /// The places of messages that are left out and quoted, ascending.
    pub quoted: Vec<usize>,
}

impl Parts {
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::with_capacity(self.head.len() + self.entries.len() + self.tail.len() + 1);
        lines.extend(self.head.iter().cloned());
        let mut kept = self.kept.iter().peekable();
        let mut inside = self.inside.iter().peekable();
        for (at, entry) in self.entries.iter().enumerate() {
            while let Some((_, line)) = inside.next_if(|(place, _)| *place <= at) {
                lines.push(line.clone());
            }
            let mut mark = match kept.next_if(|(place, _)| *place == at) {
                Some((_, mark)) => *mark,
                // What is put into a group that is dropped is neither in the history nor in the prompt.
                None if entry.injected => continue,
                None => entry.left_out(self.fit.as_ref()),
            };
            if !mark.kept {
                mark.rule = quoted_or(&self.quoted, mark.index, mark.rule);
            }
            lines.push(Line {
                node: entry.node.clone(),
                index: mark.index,
                action: mark.action,
                rule: mark.rule,
                memory: None,
                tokens_before: mark.tokens_before,
                tokens_after: mark.tokens_after,
            });
        }
        lines.extend(inside.map(|(_, line)| line.clone()));
        lines.extend(self.tail.iter().cloned());
        lines
    }
}

impl Entry {
    /// What became of an entry that the prompt does not have.
    fn left_out(&self, fit: Option<&Fit>) -> super::Mark {
        let (action, rule) = match (self.mark, fit) {
            (Some(mark), _) if self.group == NONE => mark,
            (_, Some(fit)) => (Action::Dropped, fit.why_dropped(self.group)),
            (mark, None) => mark.unwrap_or((Action::Dropped, super::rule::NOT_IN_CONTEXT)),
        };
        self.as_mark(action, rule, None)
    }
}

impl Ledger {
    pub(super) fn new(parts: Parts) -> Self {
        Self { lines: OnceLock::new(), parts }
    }

    /// Whether a message of the history was dropped for the budget. It makes no lines.
    pub fn is_cut(&self) -> bool {
        self.parts.fit.as_ref().is_some_and(Fit::drops)
    }

    /// Changes what the lines are made of; those that were made are made again.
    pub(super) fn change(&mut self) -> &mut Parts {
        self.lines = OnceLock::new();
        &mut self.parts
    }
}

impl Deref for Ledger {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        self.lines.get_or_init(|| self.parts.lines())
    }
}

impl PartialEq for Ledger {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<'a> IntoIterator for &'a Ledger {
    type Item = &'a Line;
    type IntoIter = std::slice::Iter<'a, Line>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
