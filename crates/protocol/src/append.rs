//! The answer to an append, in columns: what the nodes have in common once, and without the messages, which whoever asked has.

use serde::Serialize;
use threadkeep_core::node::{Labels, Origin, turn_name};
use threadkeep_core::{Message, MessageId, TranscriptId};

use super::NodeInfo;

/// The nodes that an append made, one for each message, each the parent of the next. An append of nothing makes the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Appended {
    /// Their transcript; `None` where there are none.
    pub transcript: Option<TranscriptId>,
    /// The parent of the first.
    pub parent: Option<MessageId>,
    /// When they were made, in milliseconds since 1970 (UTC).
    pub created_at: Option<i64>,
    /// Their ids, in order.
    pub ids: Vec<MessageId>,
    /// The numbers of their log entries.
    pub seqs: Vec<u64>,
    /// User and assistant messages from the root to the end of each.
    pub depths: Vec<u32>,
    /// The number of the turn at the end of each; 0 before the first.
    pub turns: Vec<u32>,
}

impl Appended {
    /// The nodes with their messages.
    pub fn nodes(self, messages: Vec<Message>) -> Vec<NodeInfo> {
        let Some(transcript) = self.transcript else { return Vec::new() };
        let mut parent = self.parent;
        let columns = self.ids.into_iter().zip(self.seqs).zip(self.depths).zip(self.turns);
        let rows = columns.zip(messages).map(|((((id, seq), depth), turn), message)| NodeInfo {
            parent: parent.replace(id.clone()),
            id,
            transcript: transcript.clone(),
            seq,
            created_at: self.created_at,
            depth,
            turn: (turn > 0).then(|| turn_name(turn)),
            sealed: true,
            origin: Origin::default(),
            labels: Labels::default(),
            unknown_reply: false,
            messages: vec![message],
        });
        rows.collect()
    }
}
