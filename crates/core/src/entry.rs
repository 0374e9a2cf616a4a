//! The log of a transcript: everything that ever happened to it, one entry a sequence number, appended and never
//! changed. A transcript is what its entries make when they are applied in order. How they are stored is the engine's.

mod quick;
mod read;

use std::ops::Range;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::{Checkpoint, Strategy};
use crate::message::DEEPEST;
use crate::{Message, MessageId, Messages, Node, TranscriptId};
use threadkeep_json::within;

/// One thing that happened to a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// A node began, with its first messages.
    Node(Box<Node>),
    /// An unsealed node grew.
    Extend {
        /// The node that grew.
        node: MessageId,
        /// What it grew by.
        messages: Vec<Message>,
        /// The number of the turn that the first user message among them opens; zero without one.
        turn: u32,
    },
    /// A node is complete: it will not grow again.
    Seal {
        /// The node.
        node: MessageId,
    },
    /// Another id for a node: the outbound message by which it was answered.
    Alias {
        /// The other id.
        id: MessageId,
        /// The node that it points at.
        node: MessageId,
    },
    /// A head (in npm, the head of a thread) was made or moved here, or left.
    Head {
        /// The head's name.
        #[serde(rename = "context")]
        name: String,
        /// The node at which it points now; `None` when it left this transcript or was removed.
        node: Option<MessageId>,
    },
    /// How the chain at a head is compacted was chosen, or (`None`) left to the default again.
    Strategy {
        /// The head's name.
        #[serde(rename = "context")]
        name: String,
        /// The strategy.
        strategy: Option<Strategy>,
    },
    /// What is said about the transcript as a whole changed.
    Info(InfoPatch),
    /// The old part of every chain through a node was compacted.
    Checkpoint(Box<Checkpoint>),
    /// A compaction was undone: the checkpoint of this id stands in for nothing any more. What it was stays known, for the prompts that had it.
    Withdrawn(String),
    /// The user deleted nodes: their entries, further up, are [`Entry::Gone`] now. Whoever holds the tree in memory must
    /// read the log anew.
    #[serde(rename_all = "camelCase")]
    Removed {
        /// The number that the next turn gets, so that none is used twice.
        next_turn: u32,
    },
    /// A node was pinned: prompts keep its messages.
    Pin(MessageId),
    /// A node is not pinned any more.
    Unpin(MessageId),
    /// A node that came in damaged ([`Node::is_salvaged`]) is whole now.
    Restored(Box<Node>),
    /// What was here was deleted: so many entries, which keep their numbers, so that none is used twice.
    Gone(u64),
}

/// A change of a transcript's title and the like. What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfoPatch {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of archive that it came from, such as `chatgpt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it began, in milliseconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// When it last changed, in milliseconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// The end of the branch that its reader chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<MessageId>,
    /// Whatever else the archive said about the conversation, as it came.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Entry {
    /// Reads what [`Entry::write`] writes. Both are here, not with the engine, since this crate is compiled for speed.
    ///
    /// # Errors
    /// It is no UTF-8, no JSON, or no entry.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let line = std::str::from_utf8(line).map_err(Error::custom)?;
        Self::parse_in(&Arc::new(line.to_owned()), 0..line.len(), None)
    }

    /// [`Entry::parse`] of the line at `place` in a page. The messages of a node stay text there until somebody looks at them. `last` is the
    /// node of the line before: where it is the parent of this one, they share its id.
    ///
    /// # Errors
    /// Those of [`Entry::parse`], and where `place` is no part of the page.
    pub fn parse_in(
        page: &Arc<String>,
        place: Range<usize>,
        last: Option<&MessageId>,
    ) -> Result<Self, serde_json::Error> {
        let line = page.get(place.clone()).ok_or_else(|| Error::custom("there is no such line"))?;
        match quick::node(line, last) {
            Some((mut node, messages, counts)) => {
                node.messages = Messages::later(page, place.start + messages.start..place.start + messages.end, counts);
                Ok(Self::Node(node))
            }
            None => serde_json::from_str(line),
        }
    }

    /// Appends its JSON to `line`.
    ///
    /// # Errors
    /// None: an entry has string keys only, and other keys are all that writing JSON can fail on.
    pub fn write(&self, line: &mut String) -> Result<(), serde_json::Error> {
        threadkeep_json::write(self, line)
    }

    /// How many sequence numbers it takes.
    pub fn span(&self) -> u64 {
        if let Self::Gone(count) = self { *count } else { 1 }
    }

    /// The turn's number that it brings: zero for none.
    pub(crate) fn turn_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Node(node) | Self::Restored(node) => Some(&mut node.turn),
            Self::Extend { turn, .. } | Self::Removed { next_turn: turn } => Some(turn),
            _ => None,
        }
    }

    /// What could not be read again if it were stored, because too much lies inside one another: the node, or `transcript` where the entry
    /// is about the whole of it.
    pub fn too_deep<'a>(&'a self, transcript: &'a TranscriptId) -> Option<&'a MessageId> {
        let (place, deep) = match self {
            Self::Node(node) | Self::Restored(node) => (&node.id, node.messages.iter().any(Message::is_too_deep)),
            Self::Extend { node, messages, .. } => (node, messages.iter().any(Message::is_too_deep)),
            Self::Info(patch) => (transcript, !patch.extra.values().all(|value| within(value, DEEPEST))),
            _ => return None,
        };
        deep.then_some(place)
    }
}
