//! Anthropic Messages.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Anthropic;
use threadkeep_provider::{Finish, Usage};

use crate::support::{events, next_turn, read};

fn start(usage: Value) -> Value {
    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(reason: &str, output: Value) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": output}}),
        json!({"type": "message_stop"}),
    ]
}

/// Thinking with its signature, text, and two calls in pieces.
pub fn thoughtful() -> Vec<Value> {
    let mut all = vec![
        start(
            json!({"input_tokens": 5, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 1}),
        ),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "add."})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
        begin(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "I add "})),
        delta(1, json!({"type": "text_delta", "text": "ünd look."})),
        begin(2, json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}})),
        delta(2, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"a\": [1, "})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "2]}"})),
        begin(3, json!({"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}})),
    ];
    all.extend(end("tool_use", json!(42)));
    all
}

#[test]
fn thinking_text_and_calls_go_back_as_they_came() {
    let read = read(Anthropic, &events(&thoughtful()));
    assert_eq!((read.reasoning.as_str(), read.text.as_str()), ("Let me add.", "I add ünd look."));
    let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
    assert_eq!(read.calls, [call("add", "{\"a\": [1, 2]}"), call("look", "")]);
    let completion = read.completion();
    assert_eq!(completion.finish, Finish::ToolCalls);
    assert_eq!(
        completion.usage,
        Some(Usage {
            prompt_tokens: 125,
            completion_tokens: 42,
            cached_tokens: Some(20),
            cache_write_tokens: Some(100),
            cache_hour_tokens: None,
            ..Usage::default()
        })
    );
    let payload = next_turn(Anthropic, read.message());
    let expected = json!([
        {"type": "thinking", "thinking": "Let me add.", "signature": "EqQB"},
        {"type": "text", "text": "I add ünd look."},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": [1, 2]}},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
    ]);
    assert_eq!(payload["messages"][1]["content"], expected);
}

#[test]
fn what_says_nothing_beyond_the_message_is_not_kept_twice() {
    let mut all =
        vec![start(json!({"input_tokens": 5, "output_tokens": 1})), begin(0, json!({"type": "text", "text": "Hi"}))];
    all.extend(end("end_turn", json!(2)));
    let read = read(Anthropic, &events(&all));
    assert_eq!((read.text.as_str(), read.message().extra.is_empty()), ("Hi", true));
    next_turn(Anthropic, read.message());
}

#[test]
fn input_that_is_no_json_stays_as_it_came() {
    let mut all = thoughtful();
    all[12] = delta(2, json!({"type": "input_json_delta", "partial_json": "oops"}));
    let read = read(Anthropic, &events(&all));
    assert_eq!(read.calls[0].1, "{\"a\": [1, oops");
    // The thinking still goes back, the calls are written anew.
    let payload = next_turn(Anthropic, read.message());
    let content = payload["messages"][1]["content"].as_array().unwrap();
    assert_eq!(content[0]["signature"], "EqQB");
    assert_eq!(content[2]["input"], json!({"arguments": "{\"a\": [1, oops"}));
}

#[test]
fn redacted_thinking_citations_and_its_own_tools_are_kept() {
    let mut all = vec![
        start(json!({"input_tokens": 5, "output_tokens": 1})),
        begin(0, json!({"type": "redacted_thinking", "data": "c2VjcmV0"})),
        begin(1, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"query\": \"ferry\"}"})),
        begin(2, json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})),
        begin(3, json!({"type": "text", "text": "", "citations": []})),
        delta(3, json!({"type": "text_delta", "text": "At nine."})),
        delta(
            3,
            json!({"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "https://example.org"}}),
        ),
    ];
    all.extend(end("end_turn", json!(9)));
    let read = read(Anthropic, &events(&all));
    let payload = next_turn(Anthropic, read.message());
    let content = &payload["messages"][1]["content"];
    assert_eq!(content[0], json!({"type": "redacted_thinking", "data": "c2VjcmV0"}));
    assert_eq!(content[1]["input"], json!({"query": "ferry"}));
    assert_eq!(content[3]["citations"][0]["url"], "https://example.org");
    assert!(read.calls.is_empty(), "nobody here answers a call that Anthropic answered");
}

#[test]
fn a_whole_answer() {
    let whole = json!({"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "Eq"}, {"type": "text", "text": "So"},
        {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 4}});
    let read = read(Anthropic, &whole.to_string());
    assert_eq!((read.reasoning.as_str(), read.text.as_str(), read.calls[0].1.as_str()), ("Hm", "So", "{\"a\":1}"));
    assert_eq!(next_turn(Anthropic, read.message())["messages"][1]["content"], whole["content"]);
}

#[test]
fn reasons_to_end() {
    for (reason, finish) in [
        ("max_tokens", Finish::Length),
        ("refusal", Finish::Filtered),
        ("stop_sequence", Finish::Stop),
        ("pause_turn", Finish::Other("pause_turn".to_owned())),
        ("model_context_window_exceeded", Finish::Length),
    ] {
        let mut all = vec![
            start(json!({"input_tokens": 5, "output_tokens": 1})),
            begin(0, json!({"type": "text", "text": "Hi"})),
        ];
        all.extend(end(reason, json!(2)));
        assert_eq!(read(Anthropic, &events(&all)).completion().finish, finish);
    }
}

#[test]
fn overloaded_in_the_middle() {
    let all = [
        start(json!({"input_tokens": 5, "output_tokens": 1})),
        begin(0, json!({"type": "text", "text": "One "})),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ];
    let read = read(Anthropic, &events(&all));
    assert_eq!((read.fault().code, read.fault().passes), ("overloaded", true));
    assert_eq!(read.partial.unwrap().text(), "One ");
}

#[test]
fn blocks_at_places_that_cannot_be() {
    let all = [
        start(json!({"input_tokens": 5, "output_tokens": 1})),
        begin(u64::MAX, json!({"type": "text", "text": "far"})),
        delta(3, json!({"type": "text_delta", "text": "near"})),
        delta(3, json!({"type": "moon_delta"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    ];
    let read = read(Anthropic, &events(&all));
    assert_eq!(read.text, "near");
}
