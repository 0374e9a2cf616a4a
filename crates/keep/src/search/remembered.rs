//! The segment of what is remembered, which is in memory only.

use std::rc::Rc;

use threadkeep_recall::{Doc, Segment};

/// The place of what is remembered, which no message has: its number is one of [`Remembered::keys`].
pub(super) const REMEMBERED: u32 = u32::MAX;

/// A segment of what is remembered.
#[derive(Default)]
pub(super) struct Remembered {
    /// The marker that was there before it was read.
    pub marker: Option<String>,
    /// Where each document lies in the store.
    pub keys: Vec<String>,
    /// The agent that owns each document; none for what all share.
    pub agents: Vec<Option<String>>,
    pub segment: Option<Rc<Segment>>,
}

impl Remembered {
    /// Whether an agent sees a document of it.
    pub fn is_seen_by(&self, agent: &str, doc: &Doc) -> bool {
        let owner = self.agents.get(doc.seq as usize).and_then(Option::as_deref);
        owner.is_none_or(|owner| owner == agent)
    }

    /// Where a document of it lies.
    pub fn key(&self, doc: &Doc) -> Option<&str> {
        Some(self.keys.get(doc.seq as usize)?.as_str())
    }
}
