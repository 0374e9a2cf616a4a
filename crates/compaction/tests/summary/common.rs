//! Short ways to make material and to look at summaries.

use threadkeep_compaction::extract::extract;
use threadkeep_compaction::summary::{Material, Piece, Summary};
use threadkeep_context::tokens::Estimate;
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::{Message, MessageId, Role};

/// The ids of so many nodes: `n0`, `n1`, …
pub fn ids(count: usize) -> Vec<MessageId> {
    (0..count).map(|at| MessageId::new(format!("n{at}")).unwrap()).collect()
}

/// Messages as pieces, each in a node of its own; a turn begins with each user message.
pub fn pieces<'a>(messages: &'a [Message], ids: &'a [MessageId]) -> Vec<Piece<'a>> {
    let mut turn = 0;
    let piece = |(message, node): (&'a Message, &'a MessageId)| {
        turn += u32::from(message.role == Role::User);
        Piece { node, index: 0, turn, message }
    };
    messages.iter().zip(ids).map(piece).collect()
}

/// The summary of messages in so many tokens.
pub fn summarise(messages: &[Message], budget: u32) -> Summary {
    let ids = ids(messages.len());
    extract(&Material { carried: &[], pieces: pieces(messages, &ids), budget }, &Estimate)
}

/// The statements' texts.
pub fn texts(summary: &Summary) -> Vec<&str> {
    summary.statements.iter().map(|statement| statement.text.as_str()).collect()
}

/// A statement of an earlier summary.
pub fn statement(text: &str, node: &str, level: u8) -> Statement {
    let sources = vec![Source { node: MessageId::new(node).unwrap(), index: 0 }];
    Statement { text: text.to_owned(), sources, level }
}

/// A long chat about nothing, with `said` in its middle as a user's or an assistant's message.
pub fn among_talk(user: bool, said: &str) -> Vec<Message> {
    let talk = |at: usize| {
        [
            Message::user(format!("Tell me more about the weather in place number {at} and how people there feel.")),
            Message::assistant(
                "Certainly! The weather there is pleasant. People feel fine about it. It is warm in the summer and cold in \
                 the winter. There is some rain in between. The wind is gentle. I hope this helps! Let me know if you have \
                 any questions.",
            ),
        ]
    };
    let said = if user { Message::user(said) } else { Message::assistant(said) };
    (0..20).flat_map(talk).chain([said]).chain((20..40).flat_map(talk)).collect()
}
