//! JSON that is written by hand has the fields that are declared.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop

use serde_json::{Value, json};
use threadkeep_compaction::memory::{ToolInteraction, ToolStatus};
use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Budget, Options, items, prompt};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::{Message, MessageId};
use threadkeep_protocol::{ContextReply, Found, Hit, IndexProgress, interaction_json};
use threadkeep_provider::{Provider, RenderOptions};
use threadkeep_recall::{Snippet, Why};

/// The declared fields of an interface, and whether each may be missing.
fn declared(interface: &str) -> Vec<(String, bool)> {
    let files = threadkeep_types::files().unwrap();
    let heads = [" {", "<"].map(|end| format!("\nexport interface {interface}{end}"));
    let begins = |text: &str| heads.iter().find_map(|head| text.find(head));
    let (text, at) = files.values().find_map(|text| begins(text).map(|at| (text, at))).expect(interface);
    let body = text[at..].split_once("{\n").unwrap().1.split_once("\n}").unwrap().0;
    let fields = body.lines().filter(|line| line.starts_with("  ") && line.as_bytes()[2].is_ascii_alphabetic());
    let field = |line: &str| {
        let name = line.trim_start().trim_start_matches("readonly ").split(':').next().unwrap().to_owned();
        (name.trim_end_matches('?').to_owned(), name.ends_with('?'))
    };
    fields.map(field).collect()
}

fn check(interface: &str, json: &Value) {
    let declared = declared(interface);
    let written = json.as_object().unwrap();
    for (name, optional) in &declared {
        assert!(*optional || written.contains_key(name), "{interface}.{name} is not written: {json}");
    }
    for name in written.keys() {
        assert!(declared.iter().any(|(known, _)| known == name), "{interface}.{name} is not declared: {json}");
    }
}

#[test]
fn prompts_are_written_as_they_are_declared() {
    let history = [Message::user("hi \u{fffd}"), Message::assistant("hello"), Message::user("what?")];
    let budget = Budget { max_messages: Some(1), ..Budget::default() };
    let options = Options { provider: Provider::Anthropic, budget, ..Options::default() };
    let rendering = RenderOptions { stream: Some(true), ..RenderOptions::default() };
    let mut reply = ContextReply::from(prompt(&items(&history), &options, &rendering, &Estimate));
    reply.warnings.push(threadkeep_context::Warning {
        kind: threadkeep_context::WarningKind::Option,
        rule: "rule",
        message: "words".to_owned(),
        index: None,
        count: 1,
    });
    let json = reply.to_json();
    check("Context", &json);
    check("Limits", &json["budget"]);
    check("TokenKinds", &json["kinds"]);
    check("ContextWarning", &json["warnings"][0]);
    assert!(json["ledger"].as_array().unwrap().len() >= history.len());
    json["ledger"].as_array().unwrap().iter().for_each(|line| check("LedgerLine", line));
}

#[test]
fn hits_are_written_as_they_are_declared() {
    let id = || MessageId::new("m").unwrap();
    let hit = Hit {
        found: Found::Message,
        id: None,
        transcript: Some(id()),
        node: Some(id()),
        index: 0,
        leaf: None,
        role: "user".to_owned(),
        created_at: None,
        score: 1.0,
        why: Why::default(),
        snippet: Snippet { text: "fox".to_owned(), highlights: vec![(0, 3)] },
        message: Some(Message::user("fox")),
        sources: vec![Source { node: id(), index: 0 }],
    };
    let json = hit.to_json();
    check("SearchHit", &json);
    check("MemorySource", &json["sources"][0]);
    check("SearchReason", &json["why"]);
    check("IndexProgress", &IndexProgress::default().to_json());
}

#[test]
fn tool_interactions_are_written_as_they_are_declared() {
    let interaction = ToolInteraction {
        tool_call_id: "c".to_owned(),
        turn: 1,
        tool_name: "t".to_owned(),
        arguments: json!({}),
        result: None,
        error: None,
        status: ToolStatus::Pending,
    };
    check("ToolInteraction", &interaction_json(interaction));
}
