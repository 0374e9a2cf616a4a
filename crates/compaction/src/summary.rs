//! What a summariser is given and what it gives back, whoever it is: our own extractive one, a model, the browser's.

use crate::memory::{FactKind, Share};
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::{Message, MessageId};

/// One message that is to be summarised.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Its node.
    pub node: &'a MessageId,
    /// Its place in the node.
    pub index: u32,
    /// The turn that it belongs to; zero before the first.
    pub turn: u32,
    /// The message.
    pub message: &'a Message,
}

/// What is to be summarised.
#[derive(Debug, Clone, Default)]
pub struct Material<'a> {
    /// What the checkpoint before this one said; it is carried on, so that nothing is lost by being summarised twice.
    pub carried: &'a [Statement],
    /// The messages, oldest first: whole turns.
    pub pieces: Vec<Piece<'a>>,
    /// How many tokens the statements may take together.
    pub budget: u32,
}

/// A fact as a summariser found it, without an id yet.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFact {
    /// What kind of thing it says.
    pub kind: FactKind,
    /// What holds.
    pub fact: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// How sure it is.
    pub confidence: Share,
    /// How much it matters.
    pub salience: Share,
    /// The messages that it came from.
    pub sources: Vec<Source>,
}

/// What a summariser made of its material.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// What is to stand in for the messages, in order.
    pub statements: Vec<Statement>,
    /// What happened, in a few sentences: the episode.
    pub episode: String,
    /// Words to find the episode by.
    pub tags: Vec<String>,
    /// How much the episode matters.
    pub salience: Share,
    /// What holds from now on.
    pub facts: Vec<FoundFact>,
}
