//! What holds for any text.

use proptest::prelude::*;
use threadkeep_compaction::extract::extract;
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_context::tokens::{Counter, Estimate};
use threadkeep_core::checkpoint::Statement;
use threadkeep_core::{Content, Message, Role, ToolCall};
use threadkeep_tokens::{Bpe, Encoding};

use super::common::{ids, pieces, statement};

/// Texts of all sorts: any characters, words with marks of every kind, lines, code, long runs.
fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(
        prop::sample::select(vec![
            "always",
            "use",
            "Never",
            "the",
            "error",
            "a.rs",
            "src/x/y.rs",
            "12",
            "2024-01-02",
            "你好",
            "。",
            "ä́ö",
            "🦀",
            "؟",
            ".",
            "?",
            "!",
            ":",
            "\n",
            "\n\n",
            "```",
            "```\n",
            "- ",
            "1. ",
            "# ",
            "|",
            "we decided",
            "I prefer",
            "\u{200b}",
            "\u{feff}",
            "\r\n",
            "'",
            "don't",
            "don’t",
            "e.g.",
            "http://x.y/z",
            "ก็ดี",
            "ＡＢ",
            "İ",
            "ß",
            "\0",
            "\u{301}",
        ]),
        0..80,
    );
    prop_oneof![
        4 => words.prop_map(|words| words.join(" ")),
        2 => any::<String>(),
        1 => (1usize..3000, prop::sample::select(vec!["x", "é", "茶", "🦀", "1", "a b", ". ", "\n", "-"]))
            .prop_map(|(count, what)| what.repeat(count)),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    (text(), 0..7u8, text()).prop_map(|(text, kind, other)| match kind {
        0 | 1 => Message::user(text),
        2 => Message::assistant(text),
        3 => Message::system(text),
        4 => Message::tool("c", text),
        5 => {
            let mut message = Message::new(Role::Assistant, Content::Null);
            message.tool_calls = vec![ToolCall::function("c", "tool", text), ToolCall::function(other, "", "{}")];
            message
        }
        _ => Message { include_in_context: false, ..Message::user(text) },
    })
}

fn carried() -> impl Strategy<Value = Vec<Statement>> {
    let one = (text(), 0..4u8, 0..5u8).prop_map(|(text, node, level)| statement(&text, &format!("old{node}"), level));
    prop::collection::vec(one, 0..5)
}

fn check(summary: &Summary, carried: &[Statement], messages: &[Message], budget: u32, counter: &dyn Counter) {
    let tokens: u32 = summary.statements.iter().map(|statement| counter.count(&statement.text)).sum();
    assert!(tokens <= budget, "{tokens} tokens of {budget}");
    let mut known: Vec<_> = carried.iter().flat_map(|statement| &statement.sources).collect();
    let ids = ids(messages.len());
    let made: Vec<_> =
        ids.iter().map(|node| threadkeep_core::checkpoint::Source { node: node.clone(), index: 0 }).collect();
    known.extend(&made);
    for statement in &summary.statements {
        assert!(!statement.text.trim().is_empty() && !statement.sources.is_empty());
        assert!(statement.sources.iter().all(|source| known.contains(&source)), "a source that does not exist");
        let quoted = ids.iter().zip(messages).any(|(id, message)| {
            statement.sources.iter().any(|source| source.node == *id) && message.text().contains(&statement.text)
        });
        let was_carried = carried.iter().any(|old| old.text.contains(&statement.text));
        let line = statement.text.contains(" → ");
        assert!(quoted || was_carried || line, "{:?} is no quote", statement.text);
    }
    let mut texts: Vec<&str> = summary.statements.iter().map(|statement| statement.text.as_str()).collect();
    texts.sort_unstable();
    assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "a statement is there twice");
    for fact in &summary.facts {
        assert!(!fact.fact.is_empty() && fact.sources.iter().all(|source| known.contains(&source)));
    }
    assert!(summary.episode.len() < 2_000 && summary.tags.len() <= 8 && summary.facts.len() <= 40);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_summarised(
        messages in prop::collection::vec(message(), 0..14),
        carried in carried(),
        budget in prop_oneof![Just(0u32), 1..60u32, 60..2_000u32, Just(u32::MAX)],
    ) {
        let ids = ids(messages.len());
        let material = Material { carried: &carried, pieces: pieces(&messages, &ids), budget };
        let summary = extract(&material, &Estimate);
        check(&summary, &carried, &messages, budget, &Estimate);
        prop_assert_eq!(extract(&material, &Estimate), summary);
    }
}

#[test]
fn the_budget_holds_by_exact_counts_too() {
    let counter = Bpe::embedded(Encoding::O200k);
    let messages: Vec<Message> = (0..40)
        .map(|at| Message::user(format!("Zusatz {at}: die Größe von büro{at} ist {at}0 m². 会議室{at}は広い。")))
        .collect();
    let ids = ids(messages.len());
    for budget in [0, 1, 3, 10, 100, 500] {
        let material = Material { carried: &[], pieces: pieces(&messages, &ids), budget };
        check(&extract(&material, &counter), &[], &messages, budget, &counter);
    }
}

/// Twice the text may not take much more than twice the work; counted in calls of the counter, not by a clock.
#[test]
fn a_megabyte_of_anything_is_summarised() {
    for text in
        ["x".repeat(1 << 20), "word and number 12, ".repeat(50_000), "茶。".repeat(150_000), "a\n".repeat(400_000)]
    {
        let messages = [Message::user(text.as_str()), Message::assistant(text.as_str())];
        let ids = ids(2);
        let summary = extract(&Material { carried: &[], pieces: pieces(&messages, &ids), budget: 800 }, &Estimate);
        check(&summary, &[], &messages, 800, &Estimate);
        assert!(!summary.statements.is_empty());
    }
}

#[test]
fn a_carried_statement_without_words_is_left_out() {
    for text in ["", " \n"] {
        let carried = [statement(text, "old", 0)];
        let summary = extract(&Material { carried: &carried, pieces: Vec::new(), budget: 100 }, &Estimate);
        assert_eq!(summary.statements, []);
    }
}
