//! A node: what one step adds to a conversation, and where it hangs. A node is to a transcript what a commit is to git:
//! it has one parent, it never changes once it is sealed, and branches are nodes that share a parent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Message, MessageId};

/// Where a node came from. Every field is what the outside said; none is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Origin {
    /// The sender of the inbound message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The number of the inbound message in its inbox.
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
}

impl Origin {
    fn is_empty(&self) -> bool {
        *self == Self::default()
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The number of the turn that its first user message opens; further user messages open the next ones. Zero where it
    /// has none: then it belongs to its parent's turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// What this step adds, in order. May be empty.
    pub messages: Vec<Message>,
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
    pub fn new(id: MessageId, parent: Option<MessageId>, messages: Vec<Message>) -> Self {
        Self {
            id,
            parent,
            created_at: None,
            origin: Origin::default(),
            labels: BTreeMap::new(),
            turn: 0,
            messages,
            sealed: true,
        }
    }

    /// The messages that count towards [depth](crate::depth): user and assistant.
    pub fn counted(&self) -> u32 {
        self.messages.iter().filter(|message| message.role.counts()).count() as u32
    }

    /// The user messages, each of which opens a turn.
    pub fn opened_turns(&self) -> u32 {
        self.messages.iter().filter(|message| message.role == crate::Role::User).count() as u32
    }
}

/// A turn's name: `turn_0001` for 1.
pub fn turn_name(turn: u32) -> String {
    format!("turn_{turn:04}")
}
