//! Where statements came from that somebody else made: another program's summary, which does not say it. Goes in: statements
//! without sources, and the material that they stand for. Comes out: the same statements, each with the messages that its
//! sentences have most in common with. These are found by words, so they are where to look, not what the author vouched for.

use std::collections::HashMap;

use super::extract::{Places, sentences};
use super::summary::Material;
use threadkeep_core::checkpoint::{Source, Statement};

/// How many sources a statement gets at most: as many as a long paragraph has sentences that are worth following.
const SOURCES: usize = 24;
/// A sentence is traced by at least so many words; the whole statement by one, where none of its sentences is.
const SHARED: u32 = 2;

/// Gives each statement without sources those that it seems to have: the message that it quotes whole, else for each of its sentences
/// the message with the most words in common; where that is an earlier statement, what that one came from. A statement that has nothing
/// in common with anything stays without.
pub fn trace(statements: &mut [Statement], material: &Material) {
    let places = Places::of(material);
    let mut whole: HashMap<String, usize> = HashMap::new();
    for (at, piece) in material.pieces.iter().enumerate() {
        let text = piece.message.text();
        if !text.trim().is_empty() {
            whole.entry(text.trim().to_owned()).or_insert(at);
        }
    }
    for (at, carried) in material.carried.iter().enumerate() {
        whole.entry(carried.text.trim().to_owned()).or_insert(material.pieces.len() + at);
    }
    for statement in statements.iter_mut().filter(|statement| statement.sources.is_empty()) {
        let mut found: Vec<usize> = whole.get(statement.text.trim()).copied().into_iter().collect();
        if found.is_empty() {
            sentences(&statement.text, &mut |sentence| {
                found.extend(places.nearest(sentence, SHARED));
            });
        }
        if found.is_empty() {
            found.extend(places.nearest(&statement.text, 1));
        }
        for at in found {
            if let Some(piece) = material.pieces.get(at) {
                add(statement, Source { node: piece.node.clone(), index: piece.index });
            } else if let Some(carried) = material.carried.get(at - material.pieces.len()) {
                statement.level = statement.level.max(carried.level.saturating_add(1));
                carried.sources.iter().for_each(|source| add(statement, source.clone()));
            }
        }
    }
}

fn add(statement: &mut Statement, source: Source) {
    if statement.sources.len() < SOURCES && !statement.sources.contains(&source) {
        statement.sources.push(source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Piece;
    use threadkeep_core::{Message, MessageId};

    fn said(text: &str) -> Statement {
        Statement { text: text.to_owned(), sources: Vec::new(), level: 0 }
    }

    fn sources(text: &str) -> (Vec<String>, u8) {
        let messages = [
            ("a", Message::user("Paint the keel green, and mind the rudder.")),
            ("b", Message::assistant("The keel is painted.")),
            ("c", Message::user("continue")),
            ("d", Message::assistant("The anchor chain has rusted through near the winch.")),
        ];
        let ids: Vec<MessageId> = messages.iter().map(|(id, _)| MessageId::new(*id).unwrap()).collect();
        let pieces = ids.iter().zip(&messages);
        let pieces = pieces.map(|(node, (_, message))| Piece { node, index: 0, turn: 1, message }).collect();
        let node = MessageId::new("before").unwrap();
        let carried =
            [Statement { sources: vec![Source { node, index: 3 }], ..said("The harbour master wants papers.") }];
        let mut statements = [said(text)];
        trace(&mut statements, &Material { carried: &carried, pieces, budget: 0 });
        let names = statements[0].sources.iter().map(|source| format!("{}/{}", source.node, source.index));
        (names.collect(), statements[0].level)
    }

    #[test]
    fn a_quoted_message_is_the_source() {
        assert_eq!(sources("continue").0, ["c/0"]);
    }

    #[test]
    fn each_sentence_has_its_own_source() {
        let text = "1. Work done:\n   - The rudder and the keel were asked for.\n   - A rusted anchor chain was found.";
        assert_eq!(sources(text).0, ["a/0", "d/0"]);
    }

    #[test]
    fn what_was_said_before_leads_to_what_that_came_from() {
        assert_eq!(sources("Papers for the harbour master are missing."), (vec!["before/3".to_owned()], 1));
    }

    #[test]
    fn one_word_is_enough_for_a_whole_statement_only() {
        assert_eq!(sources("Rust on the winch? Nobody knows.").0, ["d/0"]);
        assert_eq!(sources("Elephants forget nothing.").0, [] as [String; 0]);
    }
}
