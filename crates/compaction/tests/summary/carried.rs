//! What an earlier summary said, summarised again.

use threadkeep_compaction::extract::extract;
use threadkeep_compaction::summary::Material;
use threadkeep_context::tokens::Estimate;
use threadkeep_core::checkpoint::Statement;
use threadkeep_core::{Message, MessageId};

use super::common::{ids, pieces, statement};

fn again(carried: &[Statement], messages: &[Message], budget: u32) -> Vec<Statement> {
    let ids: Vec<MessageId> = ids(messages.len());
    extract(&Material { carried, pieces: pieces(messages, &ids), budget }, &Estimate).statements
}

#[test]
fn carried_statements_stay_first_with_sources_and_level() {
    let carried = [statement("Never deploy on a Friday.", "old1", 0), statement("The port is 8443.", "old2", 1)];
    let made = again(&carried, &[Message::user("The colour of the logo is green.")], 500);
    assert_eq!(made[..2], carried);
    assert_eq!(made[2].text, "The colour of the logo is green.");
}

#[test]
fn carried_statements_get_a_fair_share_of_the_room() {
    let carried: Vec<Statement> = (0..60)
        .map(|at| statement(&format!("Service number{at} listens on port {}.", 9000 + at), &format!("o{at}"), 0))
        .collect();
    let messages: Vec<Message> =
        (0..60).map(|at| Message::user(format!("Always restart worker{at} after change {at} of plan{at}."))).collect();
    let made = again(&carried, &messages, 600);
    let old = made.iter().filter(|statement| carried.contains(statement)).count();
    let new = made.len() - old;
    assert!(old >= 8 && new >= 8, "{old} old, {new} new");
}

#[test]
fn what_is_merged_is_a_level_higher() {
    let carried = [
        statement("The archive lies in the Bergen bucket.", "a", 0),
        statement("The archive lies in the Bergen  bucket", "b", 0),
    ];
    let made = again(&carried, &[], 500);
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].level, made[0].sources.len()), (1, 2));
}

#[test]
fn what_is_said_again_gains_a_source_and_no_level() {
    let carried = [statement("The archive lies in the Bergen bucket.", "a", 0)];
    let made = again(&carried, &[Message::user("The archive lies in the Bergen bucket.")], 500);
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].level, made[0].sources.len()), (0, 2));
}

#[test]
fn what_is_shortened_is_a_level_higher() {
    let long = "The first module reads forty formats of archives. ".repeat(14) + "The secret port is 4711.";
    let carried = [statement(&long, "a", 1)];
    let made = again(&carried, &[], 30);
    assert!(!made.is_empty() && made.iter().all(|made| made.level == 2 && long.contains(&made.text)), "{made:?}");
}

#[test]
fn ten_compactions_later_the_first_instruction_is_still_there() {
    let mut carried = Vec::new();
    for round in 0..10 {
        let mut messages = Vec::new();
        if round == 0 {
            messages.push(Message::user("Never write to the ledger table. Thanks."));
        }
        for at in 0..20 {
            messages.push(Message::user(format!("Have a look at ticket {round}{at} about topic{round} and part{at}.")));
            messages.push(Message::assistant(format!(
                "Ticket {round}{at} is about topic{round}. It was looked at. It is fine."
            )));
        }
        carried = again(&carried, &messages, 300);
    }
    assert!(
        carried.iter().any(|statement| statement.text.contains("Never write to the ledger table.")),
        "{carried:#?}"
    );
}
