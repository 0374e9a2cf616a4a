//! Tool groups in summaries.

use serde_json::json;
use threadkeep_core::{Content, Message, Part, Role, ToolCall};

use super::common::{summarise, texts};

fn calling(calls: &[(&str, &str, &str)]) -> Message {
    let mut message = Message::new(Role::Assistant, Content::Null);
    message.tool_calls = calls.iter().map(|(id, name, arguments)| ToolCall::function(*id, *name, *arguments)).collect();
    message
}

#[test]
fn tool_groups_are_one_line_each() {
    let long = "line of output\n".repeat(400);
    let messages = [
        Message::user("Look into the parser."),
        calling(&[("c1", "read_file", r#"{"path": "src/parser.rs", "limit": 20, "deep": {"x": 1}}"#)]),
        Message::tool("c1", long.as_str()),
        calling(&[("c2", "run", r#"{"command": "cargo test"}"#), ("c3", "run", r#"{"command": "cargo fmt"}"#)]),
        Message::tool("c3", ""),
        Message { is_error: true, ..Message::tool("c2", "running 3 tests\nerror: test parse failed at line 7\nmore") },
        calling(&[("c4", "wait", "not json")]),
    ];
    let summary = summarise(&messages, 2_000);
    let lines: Vec<&str> = texts(&summary).into_iter().filter(|text| text.contains(" → ")).collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[0].starts_with("read_file(src/parser.rs, limit: 20) → ok: line of output line of"), "{}", lines[0]);
    assert!(lines[0].len() < 260, "{}", lines[0]);
    assert_eq!(lines[1], "run(cargo test) → error: error: test parse failed at line 7 more; run(cargo fmt) → ok");
    assert_eq!(lines[2], "wait(not json) → no result");
    let group = summary.statements.iter().find(|statement| statement.text == lines[1]).unwrap();
    let sources: Vec<&str> = group.sources.iter().map(|source| source.node.as_str()).collect();
    assert_eq!(sources, ["n3", "n4", "n5"]);
}

#[test]
fn tool_groups_in_parts_are_lines_too() {
    let part = |value: serde_json::Value| Part(value.as_object().unwrap().clone());
    let messages = [
        Message::user("Search."),
        Message::assistant(Content::Parts(vec![
            Part::text("I look for it."),
            part(json!({"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "heron"}})),
        ])),
        Message::user(Content::Parts(vec![part(
            json!({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "2 birds"}]}),
        )])),
        Message::tool("gone", "an answer to nothing"),
    ];
    let summary = summarise(&messages, 500);
    assert!(texts(&summary).contains(&"search(heron) → ok: 2 birds"), "{:?}", texts(&summary));
    assert!(texts(&summary).contains(&"result → ok: an answer to nothing"), "{:?}", texts(&summary));
}

#[test]
fn many_calls_are_still_one_short_line() {
    let names: Vec<String> = (0..200).map(|at| format!("c{at}")).collect();
    let calls: Vec<(&str, &str, &str)> =
        names.iter().map(|id| (id.as_str(), "probe", r#"{"id": "something"}"#)).collect();
    let summary = summarise(&[Message::user("Probe all."), calling(&calls)], 1_000);
    let line = texts(&summary).into_iter().find(|text| text.contains("probe(")).unwrap();
    assert!(line.len() < 520 && line.contains("more calls"), "{line}");
}
