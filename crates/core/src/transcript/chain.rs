//! Chains: the ways from a root to its leaves, in any collection of nodes and in a [`Transcript`], where a part of one is found without
//! walking all of it.

use std::collections::HashSet;
use std::ops::Range;

use super::{Placed, Transcript};
use crate::{Message, MessageId, Messages};

/// Why a chain cannot be assembled. Both name the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The leaf is not there.
    #[error("no node {0:?}")]
    MissingNode(MessageId),
    /// A node's parent is not there.
    #[error("node {node:?} names the parent {parent:?}, which is missing")]
    MissingParent {
        /// The node whose parent is missing.
        node: MessageId,
        /// The missing parent.
        parent: MessageId,
    },
    /// Parent links lead back to a node that was passed already.
    #[error("the chain runs in a circle at node {0:?}")]
    Cycle(MessageId),
}

/// Walks from `leaf` to the root by `parent`, in any collection of nodes, and gives the way root first.
///
/// # Errors
/// [`ChainError`] names the missing node, the missing parent or the node at which a circle closes.
pub fn assemble<'a, N>(
    leaf: &MessageId,
    get: impl Fn(&MessageId) -> Option<&'a N>,
    parent: impl Fn(&'a N) -> Option<&'a MessageId>,
) -> Result<Vec<&'a N>, ChainError> {
    let (chain, broken) = assemble_lenient(leaf, get, parent);
    broken.map_or(Ok(chain), Err)
}

/// Like [`assemble`], but gives what can be reached from the leaf, and beside it what is wrong, for showing damaged data.
pub fn assemble_lenient<'a, N>(
    leaf: &MessageId,
    get: impl Fn(&MessageId) -> Option<&'a N>,
    parent: impl Fn(&'a N) -> Option<&'a MessageId>,
) -> (Vec<&'a N>, Option<ChainError>) {
    let Some(mut node) = get(leaf) else { return (Vec::new(), Some(ChainError::MissingNode(leaf.clone()))) };
    let mut passed = HashSet::from([leaf]);
    let mut chain = vec![node];
    let mut id = leaf;
    let broken = loop {
        let Some(up) = parent(node) else { break None };
        if !passed.insert(up) {
            break Some(ChainError::Cycle(up.clone()));
        }
        let Some(next) = get(up) else {
            break Some(ChainError::MissingParent { node: id.clone(), parent: up.clone() });
        };
        chain.push(next);
        (node, id) = (next, up);
    };
    chain.reverse();
    (chain, broken)
}

/// Messages of a node, and the places of those that are meant.
pub type Part<'a> = (&'a Messages, Range<usize>);

impl Transcript {
    /// The parent of a node of this tree; `None` for the root.
    pub fn parent<'a>(&'a self, placed: &Placed) -> Option<&'a Placed> {
        placed.parent.map(|at| &self.slots[at as usize])
    }

    /// The place of the parent in [`Transcript::nodes`]; `None` for the root.
    pub fn parent_index(&self, placed: &Placed) -> Option<u32> {
        placed.parent
    }

    /// What a node at the place `at` has from its parent: its level, how many messages are above it, and where it jumps. The jumps are those of
    /// Myers, "An applicative random-access stack" (1983): each node has one, and any node above is reached in steps that grow with the
    /// logarithm of the way.
    pub(super) fn above(&self, parent: Option<u32>, at: u32) -> (u32, u32, u32) {
        let Some(parent) = parent else { return (0, 0, at) };
        let up = &self.slots[parent as usize];
        let far = &self.slots[up.jump as usize];
        let farther = &self.slots[far.jump as usize];
        let same = up.level - far.level == far.level - farther.level;
        (up.level + 1, up.messages_through(), if same { far.jump } else { parent })
    }

    /// The first of a node and those above it for which `is` is true. It must be true for all above that one, too.
    fn climb<'a>(&'a self, mut placed: &'a Placed, is: impl Fn(&Placed) -> bool) -> Option<&'a Placed> {
        while !is(placed) {
            let far = &self.slots[placed.jump as usize];
            placed = if is(far) || far.level == placed.level { self.parent(placed)? } else { far };
        }
        Some(placed)
    }

    /// A node whose way up is whole.
    fn whole(&self, leaf: &MessageId) -> Result<&Placed, ChainError> {
        let placed = self.get(leaf).ok_or_else(|| ChainError::MissingNode(leaf.clone()))?;
        let top = self.climb(placed, |placed| placed.level == 0).map(|top| &top.node);
        match top.and_then(|top| Some((top, top.parent.as_ref()?))) {
            Some((top, parent)) => Err(ChainError::MissingParent { node: top.id.clone(), parent: parent.clone() }),
            None => Ok(placed),
        }
    }

    /// The way from the root to `leaf` (a node or an alias), both in.
    ///
    /// # Errors
    /// [`ChainError`] where the leaf or a parent is missing. The tree's own links cannot form a circle, since a parent
    /// comes before its children.
    pub fn chain(&self, leaf: &MessageId) -> Result<Vec<&Placed>, ChainError> {
        Ok(self.levels(self.whole(leaf)?, 0, usize::MAX))
    }

    /// The nodes at the levels `start..end` of the way to a node of this tree, which is in; the root's level is 0.
    pub fn levels<'a>(&'a self, leaf: &'a Placed, start: usize, end: usize) -> Vec<&'a Placed> {
        let mut chain = Vec::new();
        let mut next = self.climb(leaf, |placed| (placed.level as usize) < end);
        while let Some(placed) = next.filter(|placed| placed.level as usize >= start) {
            chain.push(placed);
            next = self.parent(placed);
        }
        chain.reverse();
        chain
    }

    /// The messages from the root to `leaf`, in order.
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn messages(&self, leaf: &MessageId) -> Result<Vec<&Message>, ChainError> {
        self.message_range(leaf, 0, usize::MAX)
    }

    /// How many messages there are from the root to `leaf`.
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn message_count(&self, leaf: &MessageId) -> Result<usize, ChainError> {
        Ok(self.whole(leaf)?.messages_through() as usize)
    }

    /// The messages `start..end` of those from the root to `leaf`, as far as there are any; in a time that grows with their number.
    ///
    /// ```
    /// use threadkeep_core::{Entry, Message, MessageId, Node, Transcript};
    /// let root = MessageId::new("root")?;
    /// let mut tree = Transcript::new(root.clone());
    /// let said = ["a", "b", "c"].map(Message::user).to_vec();
    /// tree.apply(Entry::Node(Box::new(Node::new(root.clone(), None, said))))?;
    /// assert_eq!(tree.message_range(&root, 1, 9)?[0].text(), "b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn message_range(&self, leaf: &MessageId, start: usize, end: usize) -> Result<Vec<&Message>, ChainError> {
        let parts = self.messages_of(leaf, start, end)?;
        Ok(parts.into_iter().flat_map(|(messages, part)| &messages[part]).collect())
    }

    /// [`Transcript::message_range`] node by node: all messages of each, and the part that is meant.
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn messages_of(&self, leaf: &MessageId, start: usize, end: usize) -> Result<Vec<Part<'_>>, ChainError> {
        let leaf = self.whole(leaf)?;
        let last = self.climb(leaf, |placed| (placed.messages_above as usize) < end);
        let first = self.climb(leaf, |placed| placed.messages_above as usize <= start);
        let (Some(last), Some(first)) = (last, first) else { return Ok(Vec::new()) };
        let nodes = self.levels(last, first.level as usize, usize::MAX);
        let part = |placed: &'_ Placed| {
            let (above, through) = (placed.messages_above as usize, placed.messages_through() as usize);
            let from = start.clamp(above, through);
            from - above..end.clamp(from, through) - above
        };
        Ok(nodes.into_iter().map(|placed| (&placed.node.messages, part(placed))).collect())
    }

    /// The last node from the root to `leaf` at whose end at most `count` messages have passed.
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn node_through(&self, leaf: &MessageId, count: usize) -> Result<Option<&Placed>, ChainError> {
        Ok(self.climb(self.whole(leaf)?, |placed| placed.messages_through() as usize <= count))
    }
}

impl Placed {
    /// How many messages there are from the root to the end of this node.
    pub fn messages_through(&self) -> u32 {
        self.messages_above + self.node.messages.len() as u32
    }
}
