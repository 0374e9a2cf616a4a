//! What an undo says.

use serde::{Deserialize, Serialize};
use threadkeep_core::MessageId;

/// What a head's last change was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ThreadChange"))]
pub enum Change {
    /// Messages were added at its end.
    Append,
    /// Messages were added as a branch, in the place of others.
    Edit,
    /// It moved to a node that was there.
    Move,
}

/// The last change of a head, which was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Undone {
    /// What the change was.
    pub change: Change,
    /// The node at which the head pointed. Moving it there brings the change back.
    pub from: MessageId,
    /// The node at which it points now.
    pub node: MessageId,
    /// How many messages are not in its chain any more.
    pub messages: u32,
}
