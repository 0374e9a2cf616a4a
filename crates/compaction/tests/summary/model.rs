//! What a model is asked, and what is made of its answers.

use proptest::prelude::*;
use serde_json::json;
use threadkeep_compaction::memory::{FactKind, Share};
use threadkeep_compaction::model::{ModelAnswerError, chunks, merge, or_extract, parse, prompt};
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_context::tokens::{Counter, Estimate, cost};
use threadkeep_core::{Content, Message, MessageId, Role, ToolCall};
use threadkeep_provider::Provider;
use threadkeep_tokens::{Bpe, Encoding};

use super::common::{ids, pieces, statement, texts};

fn history() -> Vec<Message> {
    let mut calling = Message::new(Role::Assistant, Content::Null);
    calling.tool_calls = vec![ToolCall::function("c1", "read_file", r#"{"path": "a.rs"}"#)];
    vec![
        Message::user("Rename the heron module to stork."),
        calling,
        Message { is_error: true, ..Message::tool("c1", "no such file: a.rs") },
        Message::assistant("The heron module lies in b.rs; I renamed it to stork there."),
    ]
}

fn with<T>(messages: &[Message], budget: u32, use_it: impl FnOnce(&Material) -> T) -> T {
    let ids: Vec<MessageId> = ids(messages.len());
    use_it(&Material { carried: &[], pieces: pieces(messages, &ids), budget })
}

fn read(answer: &str) -> Result<Summary, ModelAnswerError> {
    with(&history(), 500, |material| parse(&Message::assistant(answer), material))
}

fn nodes(summary: &Summary, at: usize) -> Vec<&str> {
    summary.statements[at].sources.iter().map(|source| source.node.as_str()).collect()
}

#[test]
fn messages_are_numbered_and_calls_and_failures_shown() {
    with(&history(), 500, |material| {
        let chunks = chunks(material, 8_000, &Estimate);
        assert_eq!(chunks.len(), 1);
        assert_eq!(chunks[0].pieces, 0..4);
        let asked = prompt(&chunks[0]);
        assert_eq!((asked[0].role.clone(), asked[1].role.clone()), (Role::System, Role::User));
        let text = asked[1].text();
        for part in [
            "[1] user: Rename the heron",
            "[2] assistant: calls read_file({\"path\": \"a.rs\"})",
            "[3] tool: (failed) no such file",
            "[4] assistant: The heron",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    });
}

#[test]
fn no_request_is_longer_than_the_models_context() {
    let counter = Bpe::embedded(Encoding::O200k);
    let mut messages = history();
    messages.push(Message::user("word and 茶 and 12, ".repeat(4_000)));
    messages.push(Message::user("The end."));
    with(&messages, 500, |material| {
        for budget in [1_000, 2_000, 10_000, 100_000] {
            let made = chunks(material, budget, &counter);
            assert!(!made.is_empty());
            for chunk in &made {
                let size: u32 =
                    prompt(chunk).iter().map(|message| cost(message, Provider::OpenAiChat, &counter).total()).sum();
                assert!(size + 3 <= budget, "{size} of {budget}");
            }
            let text: String = made.iter().map(|chunk| chunk.text.as_str()).collect();
            assert!(text.contains("[6] user: The end."));
            assert_eq!(text.contains("more bytes left out"), budget < 100_000);
        }
        assert!(chunks(material, 300, &counter).is_empty(), "there is no room for the instructions");
    });
}

#[test]
fn carried_statements_come_first_and_can_be_sources() {
    let carried = [statement("Birds are named in Latin.", "old", 1)];
    let messages = history();
    let ids = ids(messages.len());
    let material = Material { carried: &carried, pieces: pieces(&messages, &ids), budget: 500 };
    let asked = chunks(&material, 8_000, &Estimate);
    assert!(asked[0].text.starts_with("[c1] earlier summary: Birds are named in Latin.\n[1] user:"));
    let answer = json!({"statements": [{"text": "Birds have Latin names.", "sources": ["c1", "[c9]"]}]}).to_string();
    let summary = parse(&Message::assistant(answer), &material).unwrap();
    assert_eq!((summary.statements[0].level, nodes(&summary, 0)), (2, vec!["old"]));
}

#[test]
fn json_is_found_bare_fenced_and_among_words() {
    let json =
        r#"{"episodic_summary": "A rename.", "statements": [{"text": "heron is now {stork}.", "sources": [1, 4]}]}"#;
    for answer in [
        json.to_owned(),
        format!("```json\n{json}\n```"),
        format!("Sure {{thing}}! Here it is:\n\n{json}\n\nAnything else?"),
        format!("{{\"answer\": {json}}}"),
    ] {
        let summary = read(&answer).unwrap();
        assert_eq!(texts(&summary), ["heron is now {stork}."]);
        assert_eq!(nodes(&summary, 0), ["n0", "n3"]);
        assert_eq!(summary.episode, "A rename.");
    }
}

#[test]
fn facts_come_as_texts_or_objects_with_fields_missing() {
    let summary = read(
        r#"{"summary": "It was renamed. All is well.", "facts": ["The stork module lies in b.rs.",
        {"fact": "Use Latin names", "type": "Preference", "confidence": "high", "salience": 0.25, "sources": "2", "tags": ["Names", "names"]},
        {"text": "never b", "kind": "rule", "confidence": 7}, {"fact": ""}, 5, null]}"#,
    )
    .unwrap();
    let facts = &summary.facts;
    assert_eq!(facts.len(), 3);
    assert_eq!((facts[0].kind, facts[0].fact.as_str()), (FactKind::Other, "The stork module lies in b.rs."));
    assert_eq!(facts[0].sources[0].node.as_str(), "n3", "the message that speaks of it");
    assert_eq!(
        (facts[1].kind, facts[1].confidence, facts[1].salience),
        (FactKind::Preference, Share::of(900), Share::of(250))
    );
    assert_eq!((facts[1].tags.as_slice(), facts[1].sources[0].node.as_str()), (&["names".to_owned()][..], "n1"));
    assert_eq!((facts[2].kind, facts[2].confidence), (FactKind::Constraint, Share::of(700)));
    assert_eq!(texts(&summary), ["It was renamed.", "All is well."], "the story stands in for statements");
}

#[test]
fn sources_that_do_not_exist_are_left_out() {
    let summary =
        read(r#"{"statements": [{"text": "stork in b.rs", "sources": [99, 0, "x", -1]}, "No such file a.rs."]}"#)
            .unwrap();
    assert_eq!(nodes(&summary, 0), ["n3"]);
    assert_eq!(nodes(&summary, 1), ["n2"]);
}

#[test]
fn tool_calls_and_empty_answers_are_refused() {
    let messages = history();
    with(&messages, 500, |material| {
        assert_eq!(parse(&messages[1], material), Err(ModelAnswerError::ToolCalls));
    });
    assert_eq!(read("  \n"), Err(ModelAnswerError::Empty));
    assert_eq!(
        read(r#"{"episodic_summary": " ", "statements": [], "semantic_facts": []}"#),
        Err(ModelAnswerError::Empty)
    );
    assert_eq!(read("I cannot do that."), Err(ModelAnswerError::NoJson));
    assert_eq!(read(r#"{"statements": ["half an ans"#), Err(ModelAnswerError::NoJson));
    assert_eq!(read(r#"{"other": 1}"#), Err(ModelAnswerError::NoJson));
}

#[test]
fn answers_are_merged_within_the_budget() {
    let answer = |from: usize| {
        let statements: Vec<_> = (from..from + 30)
            .map(|at| json!({"text": format!("Fact number{at} is about topic{at} of the plan."), "sources": [1]}))
            .collect();
        let all = json!({"episodic_summary": format!("Part {from}."), "statements": statements, "tags": [format!("t{from}")],
            "semantic_facts": ["The same fact."]});
        read(&all.to_string()).unwrap()
    };
    with(&history(), 400, |material| {
        let merged = merge(vec![answer(0), answer(30), answer(0)], material, &Estimate);
        let tokens: u32 = merged.statements.iter().map(|statement| Estimate.count(&statement.text) + 2).sum();
        assert!(tokens <= 400 && merged.statements.len() > 10, "{tokens}");
        assert_eq!(merged.episode, "Part 0. Part 30. Part 0.");
        assert_eq!((merged.tags.len(), merged.facts.len()), (2, 1));
    });
    with(&history(), 4_000, |material| {
        assert_eq!(merge(vec![answer(0), answer(0)], material, &Estimate).statements.len(), 30);
    });
}

#[test]
fn a_failure_falls_back_with_a_warning() {
    with(&history(), 500, |material| {
        let why = ModelAnswerError::Empty.to_string();
        let (summary, warning) = or_extract(Err(&why), material, &Estimate);
        assert!(texts(&summary).contains(&"Rename the heron module to stork."));
        assert!(warning.unwrap().contains("empty"));
        assert_eq!(or_extract(Ok(summary.clone()), material, &Estimate), (summary, None));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_read_or_refused(text in any::<String>(), deep in 0..400usize, sources in prop::collection::vec(any::<i64>(), 0..5)) {
        let nested = "{\"statements\":[".repeat(deep) + &text;
        for answer in [text.clone(), nested, json!({"statements": [{"text": text, "sources": sources}]}).to_string()] {
            if let Ok(summary) = read(&answer) {
                for statement in &summary.statements {
                    prop_assert!(!statement.text.is_empty());
                    prop_assert!(!statement.sources.is_empty());
                    prop_assert!(statement.sources.iter().all(|source| ["n0", "n1", "n2", "n3"].contains(&source.node.as_str())));
                }
            }
        }
    }

    #[test]
    fn any_material_fits_its_requests(texts in prop::collection::vec(any::<String>(), 0..20), long in 0..20_000usize, budget in 700..5_000u32) {
        let mut messages: Vec<Message> = texts.into_iter().map(Message::user).collect();
        messages.push(Message::assistant("é".repeat(long)));
        with(&messages, 300, |material| {
            let made = chunks(material, budget, &Estimate);
            let mut next = 0;
            for chunk in &made {
                let size: u32 = prompt(chunk).iter().map(|message| cost(message, Provider::OpenAiChat, &Estimate).total()).sum();
                assert!(size <= budget, "{size} of {budget}");
                assert!(chunk.pieces.start >= next && chunk.pieces.end <= messages.len());
                next = chunk.pieces.end;
            }
            let shown = messages.iter().filter(|message| !message.text().trim().is_empty()).count();
            assert!(made.iter().map(|chunk| chunk.text.matches("] user: ").count() + chunk.text.matches("] assistant: ").count()).sum::<usize>() >= shown);
        });
    }
}
