//! An item: a message of a chain, with what is known of it.

use threadkeep_core::transcript::ChainError;
use threadkeep_core::{Message, MessageId, Transcript};

use crate::tokens::Cost;

use super::Action;

/// One message of a history on its way into a prompt.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The message.
    pub message: &'a Message,
    /// The node that holds it, where there is one.
    pub node: Option<&'a MessageId>,
    /// The turn that it belongs to; zero before the first, or where turns are not known.
    pub turn: u32,
    /// What it costs, where that was counted before (by the same counter, for the same provider).
    pub cost: Option<Cost>,
    /// Why prompts leave it out, where that was decided before: a checkpoint covers it.
    pub out: Option<(Action, &'static str)>,
}

impl<'a> Item<'a> {
    /// A message of which nothing else is known.
    pub fn new(message: &'a Message) -> Self {
        Self { message, node: None, turn: 0, cost: None, out: None }
    }
}

/// A history by places: a list of items, or whatever can say which item stands where. Of a history that was prepared only the items
/// that are new or sent are asked for.
pub trait History<'a> {
    /// How many messages there are.
    fn len(&self) -> usize;

    /// The message at a place from 0 to before [`History::len`].
    fn item(&self, index: usize) -> Option<Item<'a>>;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> History<'a> for &[Item<'a>] {
    fn len(&self) -> usize {
        <[Item]>::len(self)
    }

    fn item(&self, index: usize) -> Option<Item<'a>> {
        self.get(index).copied()
    }
}

impl<'a> History<'a> for Vec<Item<'a>> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn item(&self, index: usize) -> Option<Item<'a>> {
        self.get(index).copied()
    }
}

/// The items of plain messages.
pub fn items(messages: &[Message]) -> Vec<Item<'_>> {
    messages.iter().map(Item::new).collect()
}

/// The items of a chain, from the root to `leaf`.
///
/// # Errors
/// Those of [`Transcript::chain`].
pub fn chain_items<'a>(transcript: &'a Transcript, leaf: &MessageId) -> Result<Vec<Item<'a>>, ChainError> {
    let mut items = Vec::new();
    let mut turn = 0_u32;
    for placed in transcript.chain(leaf)? {
        // A node's number is that of its first user message's turn; each further one opens the next.
        let mut next = if placed.node.turn > 0 { placed.node.turn } else { turn.saturating_add(1) };
        for message in &placed.node.messages {
            if message.role == threadkeep_core::Role::User {
                turn = next;
                next = next.saturating_add(1);
            }
            items.push(Item { message, node: Some(&placed.node.id), turn, cost: None, out: None });
        }
    }
    Ok(items)
}
