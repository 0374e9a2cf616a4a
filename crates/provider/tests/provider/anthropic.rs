//! Anthropic Messages: the expected payloads.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Anthropic;
use threadkeep_provider::{CLOSING, OPENING, RenderOptions};

use crate::support::{PICTURE, broken, call, check, check_with, weather};

fn payload(messages: Value) -> Value {
    json!({"max_tokens": 4096, "messages": messages})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn all_results_of_a_turn_are_in_the_one_user_message_behind_it() {
    let expected = json!({"max_tokens": 4096, "system": "Be brief.", "messages": [
        {"role": "user", "content": [text("Weather in Oslo and Bergen?")]},
        {"role": "assistant", "content": [text("I will look."),
            {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "call_2", "name": "weather", "input": {"city": "Bergen"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "7 degrees"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "no such station", "is_error": true}]},
        {"role": "assistant", "content": [text("Oslo: 7 degrees. Bergen: unknown.")]},
        {"role": "user", "content": [text("Thanks")]},
    ]});
    check(Anthropic, weather(), expected, "");
}

#[test]
fn signed_thinking_goes_back_unchanged_before_the_call() {
    let thinking = json!({"type": "thinking", "thinking": "I need the file.", "signature": "EqQB"});
    let hidden = json!({"type": "redacted_thinking", "data": "EmwK"});
    let messages = json!([
        {"role": "user", "content": "Read it"},
        {"role": "assistant", "content": "Reading.", "reasoning": "I need the file.", "tool_calls": [call("toolu_1", "read", "{}")],
            "claude": {"thinking": [thinking, hidden, {"type": "thinking", "thinking": "unsigned"}], "model": "x"}},
        {"role": "tool", "tool_call_id": "toolu_1", "content": ""},
        {"role": "assistant", "content": "Empty.", "reasoning": "unsigned"},
        {"role": "user", "content": "ok"},
    ]);
    let expected = payload(json!([
        {"role": "user", "content": [text("Read it")]},
        {"role": "assistant", "content": [thinking, hidden, text("Reading."),
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]},
        {"role": "assistant", "content": [text("Empty.")]},
        {"role": "user", "content": [text("ok")]},
    ]));
    check(Anthropic, messages, expected, "3 reasoning");
}

#[test]
fn a_responses_own_blocks_go_back_as_they_came() {
    let blocks = json!([
        {"type": "thinking", "thinking": "Search first.", "signature": "AAAA"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://x.example", "title": "X", "encrypted_content": "e"}]},
        {"type": "text", "text": "Found. Now the file.", "citations": null},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ]);
    let messages = |calls: Value| {
        json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "Found. Now the file.", "tool_calls": calls, "anthropic": blocks},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "text"},
        ])
    };
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}]});
    let expected =
        payload(json!([{"role": "user", "content": [text("go")]}, {"role": "assistant", "content": blocks}, result]));
    check(Anthropic, messages(json!([call("toolu_1", "read", "{\"path\":\"a\"}")])), expected, "");
    // Other calls than those of the blocks: the message was changed, and signatures would not fit it.
    let expected = payload(json!([{"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [text("Found. Now the file."), {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "The call was cancelled: there is no result.", "is_error": true}]}]));
    let two = json!([call("toolu_1", "read", "{}"), call("toolu_2", "read", "{}")]);
    check(Anthropic, messages(two), expected, "1 unanswered-call, 1 stale-items");
}

#[test]
fn images_and_documents() {
    let image = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let there = json!({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}});
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello"}});
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "See"}, image, there, document,
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2Zz4="}}]},
        {"role": "assistant", "content": null, "tool_calls": [call("c1", "shot", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": " "}, image]},
    ]);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let expected = payload(json!([
        {"role": "user", "content": [text("See"), {"type": "image", "source": source},
            {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}, document, text("[image: image/svg+xml]")]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "shot", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "image", "source": source}]}]},
    ]));
    check(Anthropic, messages, expected, "0 image");
}

#[test]
fn ids_and_arguments_that_anthropic_refuses() {
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call("call:1", "browser.open", "{\"a\": 1"), call("c", "f", "[1]"),
            {"id": "s", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
        {"role": "tool", "tool_call_id": "call:1", "content": "1"}, {"role": "tool", "tool_call_id": "c", "content": "2"},
        {"role": "tool", "tool_call_id": "s", "content": "", "is_error": true},
        {"role": "assistant", "content": "", "tool_calls": [call("c", "f", "{}")]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
    ]);
    let expected = payload(json!([
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_1_95b5b0995da20468", "name": "browser_open", "input": {"arguments": "{\"a\": 1"}},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"arguments": [1]}},
            {"type": "tool_use", "id": "s", "name": "sh", "input": {"input": "ls"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1_95b5b0995da20468", "content": "1"},
            {"type": "tool_result", "tool_use_id": "c", "content": "2"},
            {"type": "tool_result", "tool_use_id": "s", "content": "Error", "is_error": true}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c_2", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c_2", "content": "3"}]},
    ]));
    check(Anthropic, messages, expected, "1 mapped-id, 1 mapped-name, 1 wrapped-arguments, 5 mapped-id");
}

#[test]
fn turns_alternate_begin_and_end_with_the_user() {
    let messages = json!([
        {"role": "developer", "content": "A"}, {"role": "system", "content": "B"},
        {"role": "assistant", "content": "Hello"}, {"role": "assistant", "content": "there"},
        {"role": "user", "content": "one"}, {"role": "user", "content": " \n"}, {"role": "user", "content": "two"},
        {"role": "system", "content": "In French now."},
        {"role": "assistant", "content": "Oui. \n"},
    ]);
    let start = json!([
        {"role": "user", "content": [text(OPENING)]},
        {"role": "assistant", "content": [text("Hello"), text("there")]},
        {"role": "user", "content": [text("one"), text("two"), text("<system>\nIn French now.\n</system>")]},
    ]);
    let with = |last: &[Value]| {
        let all: Vec<Value> = start.as_array().unwrap().iter().chain(last).cloned().collect();
        json!({"max_tokens": 4096, "system": [text("A"), text("B")], "messages": all})
    };
    let closed = with(&[
        json!({"role": "assistant", "content": [text("Oui. \n")]}),
        json!({"role": "user", "content": [text(CLOSING)]}),
    ]);
    check(Anthropic, messages.clone(), closed, "0 opening, 5 empty-message, 7 late-system, 9 closing");
    let prefilled = with(&[json!({"role": "assistant", "content": [text("Oui.")]})]);
    let options = RenderOptions { prefill: true, ..RenderOptions::default() };
    check_with(Anthropic, &options, messages, prefilled, "0 opening, 5 empty-message, 7 late-system");
}

#[test]
fn a_stranger_sees() {
    let found = |messages: Value| broken(Anthropic, payload(messages));
    let user = json!({"role": "user", "content": "u"});
    let called = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "1"});
    let results = |blocks: Value| json!({"role": "user", "content": blocks});
    assert_eq!(found(json!([user, called, results(json!([result]))])), "");
    assert_eq!(found(json!([user, called])), "1 unanswered-call");
    assert_eq!(found(json!([user, called, user])), "1 unanswered-call");
    assert_eq!(found(json!([results(json!([result]))])), "0 orphan-result");
    assert_eq!(found(json!([user, called, results(json!([result, result]))])), "2 repeated-result");
    assert_eq!(found(json!([user, called, results(json!([text("x"), result]))])), "2 misplaced-result");
    let late = json!([user, called, results(json!([text("x")])), {"role": "assistant", "content": "y"}, results(json!([result]))]);
    assert_eq!(found(late), "1 unanswered-call, 4 misplaced-result");
    assert_eq!(found(json!([called, results(json!([result]))])), "0 first-role");
    assert_eq!(found(json!([user, user])), "1 alternation");
    assert_eq!(found(json!([{"role": "system", "content": "s"}, user])), "0 late-system");
    assert_eq!(found(json!([user, {"role": "system", "content": "s"}])), "");
    assert_eq!(found(json!([{"role": "tool", "content": "s"}])), "0 unknown-role");
    assert_eq!(found(json!([{"role": "user", "content": [text(" ")]}])), "0 empty-content");
    assert_eq!(found(json!([{"role": "user", "content": []}])), "0 empty-content");
    assert_eq!(found(json!([user, {"role": "assistant", "content": "Yes "}])), "1 trailing-whitespace");
    let assistant = |blocks: Value| found(json!([user, {"role": "assistant", "content": blocks}, user]));
    let thinking = json!({"type": "thinking", "thinking": "t", "signature": "s"});
    assert_eq!(assistant(json!([thinking, text("x")])), "");
    assert_eq!(assistant(json!([text("x"), thinking, text("y")])), "1 thinking-order");
    assert_eq!(assistant(json!([thinking])), "1 thinking-order");
    assert_eq!(assistant(json!([{"type": "thinking", "thinking": "t"}, text("x")])), "1 unsigned-thinking");
    assert_eq!(assistant(json!([result])), "1 misplaced-block");
    assert_eq!(assistant(json!([{"type": "image_url"}])), "1 unknown-type");
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let hits = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    assert_eq!(assistant(json!([search, hits, text("x")])), "");
    assert_eq!(assistant(json!([search, text("x")])), "1 unanswered-call");
    assert_eq!(assistant(json!([hits, text("x")])), "1 orphan-result");
    assert_eq!(assistant(json!([search, hits, hits])), "1 repeated-result");
    // A turn that was paused at a server-side call goes on from there.
    assert_eq!(found(json!([user, {"role": "assistant", "content": [search]}])), "");
    let odd =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a:b", "name": "f.g", "input": "{}"}]});
    let answer = results(json!([{"type": "tool_result", "tool_use_id": "a:b", "is_error": true}]));
    assert_eq!(found(json!([user, odd, answer])), "1 bad-id, 1 bad-name, 1 bad-arguments, 2 empty-content");
    let again = json!([user, called, results(json!([result])), called, results(json!([result]))]);
    assert_eq!(found(again), "3 repeated-call-id, 4 misplaced-result");
    let image = |source: Value| found(json!([{"role": "user", "content": [{"type": "image", "source": source}]}]));
    assert_eq!(image(json!({"type": "base64", "media_type": "image/tiff", "data": "AAAA"})), "0 bad-image");
    let with = |field: &str, value: Value| broken(Anthropic, json!({"messages": [user], field: value}));
    assert_eq!(with("system", json!([{"type": "text", "text": ""}])), "- empty-content");
    assert_eq!(with("max_tokens", json!("9")), "- wrong-type");
    assert_eq!(with("tools", json!([{"name": "f", "input_schema": {"type": "string"}}])), "- bad-schema");
    assert_eq!(with("tools", json!([{"type": "bash_20250124", "name": "bash"}])), "");
}
