//! Gemini.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Gemini;
use threadkeep_provider::{Finish, Usage};

use crate::support::{events, next_turn, read};

fn chunk(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 7}})
}

fn last(parts: Value, reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "thoughtsTokenCount": 30, "cachedContentTokenCount": 4}})
}

#[test]
fn parts_with_signatures_go_back_as_they_came() {
    let all = [
        chunk(json!([{"text": "I think ", "thought": true}])),
        chunk(json!([{"text": "hard.", "thought": true}])),
        chunk(json!([{"text": "I "}])),
        chunk(json!([{"text": "add."}])),
        chunk(
            json!([{"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "add", "args": {"a": 2}}}]),
        ),
        last(json!([{"text": ""}]), "STOP"),
    ];
    let read = read(Gemini, &events(&all));
    assert_eq!((read.reasoning.as_str(), read.text.as_str()), ("I think hard.", "I add."));
    assert_eq!(read.calls, [("add".to_owned(), "{\"a\":1}".to_owned()), ("add".to_owned(), "{\"a\":2}".to_owned())]);
    assert_eq!(read.completion().finish, Finish::ToolCalls);
    assert_eq!(
        read.completion().usage,
        Some(Usage {
            prompt_tokens: 7,
            completion_tokens: 35,
            cached_tokens: Some(4),
            reasoning_tokens: Some(30),
            ..Usage::default()
        })
    );
    let payload = next_turn(Gemini, read.message());
    let parts = payload["contents"][1]["parts"].as_array().unwrap();
    assert!(parts.contains(&json!({"text": "I add."})), "{parts:?}");
    let signed: Vec<_> = parts.iter().filter(|part| part.get("thoughtSignature").is_some()).collect();
    assert_eq!(signed.len(), 1);
    assert_eq!(signed[0]["functionCall"]["args"], json!({"a": 1}));
}

#[test]
fn a_signature_in_an_empty_part_at_the_end_is_kept() {
    let all = [chunk(json!([{"text": "Four."}])), last(json!([{"text": "", "thoughtSignature": "c2ln"}]), "STOP")];
    let payload = next_turn(Gemini, read(Gemini, &events(&all)).message());
    assert!(payload["contents"][1].to_string().contains("c2ln"), "{payload}");
}

#[test]
fn plain_text_is_not_kept_twice() {
    let all = [chunk(json!([{"text": "Four"}])), last(json!([{"text": "."}]), "STOP")];
    let read = read(Gemini, &events(&all));
    assert_eq!((read.text.as_str(), read.message().extra.is_empty()), ("Four.", true));
    next_turn(Gemini, read.message());
}

#[test]
fn a_list_in_place_of_events_and_one_object() {
    let all = [chunk(json!([{"text": "Fo"}])), last(json!([{"text": "ur"}]), "STOP")];
    assert_eq!(read(Gemini, &format!("{:#}", json!(all))).text, "Four");
    assert_eq!(read(Gemini, &json!(all).to_string()).text, "Four");
    assert_eq!(read(Gemini, &last(json!([{"text": "Four"}]), "STOP").to_string()).text, "Four");
}

#[test]
fn reasons_to_end() {
    for (reason, finish) in [
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Filtered),
        ("MALFORMED_FUNCTION_CALL", Finish::Other("MALFORMED_FUNCTION_CALL".to_owned())),
    ] {
        let end = json!({"candidates": [{"finishReason": reason}]});
        assert_eq!(read(Gemini, &events(&[chunk(json!([{"text": "x"}])), end])).completion().finish, finish);
    }
    let blocked = read(Gemini, &events(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]));
    assert_eq!(blocked.fault().code, "refused");
    assert!(blocked.fault().message.contains("SAFETY"));
}

#[test]
fn errors_in_the_stream() {
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let read = read(Gemini, &events(&[chunk(json!([{"text": "One"}])), error]));
    assert_eq!((read.fault().code, read.partial.unwrap().text().into_owned()), ("overloaded", "One".to_owned()));
}
