//! Nodes as parsers find them.

use threadkeep_core::Message;

/// A node as a parser found it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The id that it has in the archive.
    pub local: String,
    /// The archive's id of its parent; `None` or an id that is nowhere puts it under the root.
    pub parent: Option<String>,
    /// Its children by the archive's word: their order, and a second opinion on who is whose parent.
    pub children: Vec<String>,
    /// The node; its id, parent and turn are filled in here.
    pub made: Made,
    /// Of a summary that a compaction left, the last draft that it stands for, by its place in the list.
    pub stands_to: Option<usize>,
    /// Of such a summary, the words with which the program went on, where the format has them beside it.
    pub left: Vec<String>,
    /// The ids of tool calls whose results left the context here.
    pub clears: Vec<String>,
}

/// What a draft brings to its node.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub created_at: Option<i64>,
    pub origin: threadkeep_core::Origin,
    pub labels: threadkeep_core::node::Labels,
    pub messages: Vec<Message>,
}

impl Made {
    pub fn label(&mut self, name: &str, value: &str) {
        self.labels.insert(name.to_owned(), value.to_owned());
    }
}

/// Where a draft hangs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parent {
    Root,
    Node(usize),
    /// No link of its own leads anywhere, but this node calls it a child.
    Claimed(usize),
}

impl Parent {
    /// The draft above it.
    pub fn node(self) -> Option<usize> {
        match self {
            Self::Node(up) | Self::Claimed(up) => Some(up),
            Self::Root => None,
        }
    }
}
