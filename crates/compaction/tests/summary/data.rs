//! The built-in summariser over real transcripts, where they are at hand.

use threadkeep_compaction::extract::extract;
use threadkeep_compaction::summary::Material;
use threadkeep_context::tokens::{Counter, Estimate};

use super::common::{ids, pieces};
use super::readers;

#[test]
fn real_transcripts_are_summarised_within_their_budgets() {
    let transcripts = readers::all();
    if transcripts.is_empty() {
        println!("skipped: no folder of data");
    }
    for (name, messages) in transcripts {
        let whole: u32 = messages.iter().map(|message| Estimate.count(&message.text())).sum();
        let ids = ids(messages.len());
        let mut carried = Vec::new();
        // In two halves, so that the second carries what the first said.
        for half in [0..messages.len() / 2, messages.len() / 2..messages.len()] {
            let pieces = pieces(&messages[half.clone()], &ids[half]);
            let summary = extract(&Material { carried: &carried, pieces, budget: whole / 10 }, &Estimate);
            let tokens: u32 = summary.statements.iter().map(|statement| Estimate.count(&statement.text) + 2).sum();
            assert!(tokens <= whole / 10, "{name}");
            for statement in &summary.statements {
                let quoted = statement.sources.iter().any(|source| {
                    let at: usize = source.node.as_str()[1..].parse().unwrap();
                    messages[at].text().contains(&statement.text)
                });
                assert!(quoted || statement.text.contains(" → "), "{name}: {}", statement.text);
            }
            carried = summary.statements;
        }
        assert!(whole < 4_000 || !carried.is_empty(), "{name}");
    }
}
