//! A node: what one step adds to a conversation, and where it hangs. A node is to a transcript what a commit is to git:
//! it has one parent, it never changes once it is sealed, and branches are nodes that share a parent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::{Message, MessageId, Messages};

/// The label of a node whose parent could not be read from a damaged file: it hangs where it was put.
pub const SALVAGED: &str = "salvaged";
/// The highest number of a turn that an archive may bring.
pub const LAST_TURN: u32 = 1 << 30;

/// The highest number of a turn that a log may have: what an archive may bring, and as many again that were counted up here. A higher one
/// is damage.
pub const MOST_TURNS: u32 = 2 * LAST_TURN;

/// Where a node came from. Every field is what the outside said; none is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Origin {
    /// The sender of the inbound message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its number in the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The mode in which the turn ran: chat, agent or run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The agent that wrote it, where a sub-agent did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// As `NodeInfo.unknownReply`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(type = "true"))]
    pub unknown_reply: bool,
}

impl Origin {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Names and values, sorted by name. A node has few, if any, so that a list does.
///
/// ```
/// let mut labels = threadkeep_core::node::Labels::default();
/// labels.insert("hidden".to_owned(), "true".to_owned());
/// assert_eq!(labels.get("hidden"), Some("true"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Labels(Vec<(String, String)>);

crate::in_typescript!(Labels, "Record<string, string>");

impl Labels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Gives a name a value, instead of the one that it had.
    pub fn insert(&mut self, name: String, value: String) {
        match self.0.binary_search_by(|(known, _)| known.as_str().cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl From<BTreeMap<String, String>> for Labels {
    fn from(sorted: BTreeMap<String, String>) -> Self {
        Self(sorted.into_iter().collect())
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// One node of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The node's id, unique over all transcripts.
    pub id: MessageId,
    /// The node that it follows; `None` for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// When it was made, in milliseconds since 1970 (UTC), where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
    /// Names and values of the host's or the importer's choosing, such as `hidden: "true"`.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The number of the turn that its first user message opens; further user messages open the next ones. Zero where it
    /// has none: then it belongs to its parent's turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// What this step adds, in order. May be empty.
    pub messages: Messages,
    /// Whether it can still grow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

impl Node {
    /// A sealed node without origin or labels.
    pub fn new(id: MessageId, parent: Option<MessageId>, messages: impl Into<Messages>) -> Self {
        Self {
            id,
            parent,
            created_at: None,
            origin: Origin::default(),
            labels: Labels::default(),
            turn: 0,
            messages: messages.into(),
            sealed: true,
        }
    }

    /// The messages that count towards [depth](crate::depth): user and assistant.
    pub fn counted(&self) -> u32 {
        self.messages.counts().deep
    }

    /// Whether a whole copy of the file that it came from has more to say: a message of it could not be read, or its parent.
    pub fn is_salvaged(&self) -> bool {
        self.labels.get(SALVAGED).is_some() || self.messages.iter().any(Message::stands_in)
    }

    /// The user messages, each of which opens a turn.
    pub fn opened_turns(&self) -> u32 {
        self.messages.counts().user
    }
}

/// A turn's name: `turn_0001` for 1.
pub fn turn_name(turn: u32) -> String {
    format!("turn_{turn:04}")
}
