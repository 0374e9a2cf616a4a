//! What the tables of cases share.

use proptest::prelude::ProptestConfig;
use serde_json::{Value, json};
use threadkeep_core::Message;
use threadkeep_provider::{Provider, RenderOptions, Rendered, render, validate_payload};

/// How often a property is tried: `PROPTEST_CASES`, or `cases`.
pub fn tries(cases: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: given.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

/// Messages from a JSON list.
pub fn messages(list: Value) -> Vec<Message> {
    let Value::Array(list) = list else { panic!("a list") };
    list.into_iter().map(|value| Message::from_json(value).unwrap()).collect()
}

/// Renders a JSON list of messages.
pub fn rendered(list: Value, provider: Provider, options: &RenderOptions) -> Rendered {
    let messages = messages(list);
    let messages: Vec<&Message> = messages.iter().collect();
    let rendered = render(&messages, provider, options);
    assert_eq!(validate_payload(&rendered.payload, provider), [], "{:#}", rendered.payload);
    rendered
}

/// Checks the payload and the notes (`place rule`, one after the other) of a JSON list of messages.
pub fn check(provider: Provider, list: Value, payload: Value, notes: &str) {
    check_with(provider, &RenderOptions::default(), list, payload, notes);
}

/// The same, with options.
pub fn check_with(provider: Provider, options: &RenderOptions, list: Value, payload: Value, notes: &str) {
    let rendered = rendered(list, provider, options);
    // As text, since the order of the fields counts.
    assert_eq!(format!("{:#}", rendered.payload), format!("{payload:#}"));
    let said: Vec<String> = rendered.notes.iter().map(|note| format!("{} {}", note.index, note.rule.name())).collect();
    assert_eq!(said.join(", "), notes);
}

/// The rules that a payload breaks, with their places.
pub fn broken(provider: Provider, payload: Value) -> String {
    let place = |index: Option<usize>| index.map_or("-".to_owned(), |index| index.to_string());
    let found = validate_payload(&payload, provider);
    found.iter().map(|finding| format!("{} {}", place(finding.index), finding.rule)).collect::<Vec<_>>().join(", ")
}

/// A call in OpenAI's form.
pub fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// A weather question with two calls, one of which fails, and an answer.
pub fn weather() -> Value {
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo and Bergen?"},
        {"role": "assistant", "content": "I will look.", "tool_calls":
            [call("call_1", "weather", r#"{"city":"Oslo"}"#), call("call_2", "weather", r#"{"city":"Bergen"}"#)]},
        {"role": "tool", "tool_call_id": "call_2", "content": "no such station", "is_error": true},
        {"role": "tool", "tool_call_id": "call_1", "content": "7 degrees"},
        {"role": "assistant", "content": "Oslo: 7 degrees. Bergen: unknown."},
        {"role": "user", "content": "Thanks"},
    ])
}

/// What a picture is in OpenAI's form.
pub const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";
