//! Ollama `/api/chat`: the expected payloads.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Ollama;
use threadkeep_provider::{RenderOptions, ToolSchema};

use crate::support::{PICTURE, broken, call, check, check_with, weather};

#[test]
fn results_bear_their_tools_name() {
    let payload = json!({"messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo and Bergen?"},
        {"role": "assistant", "content": "I will look.", "tool_calls": [
            {"function": {"name": "weather", "arguments": {"city": "Oslo"}}},
            {"function": {"name": "weather", "arguments": {"city": "Bergen"}}}]},
        {"role": "tool", "content": "7 degrees", "tool_name": "weather"},
        {"role": "tool", "content": "no such station", "tool_name": "weather"},
        {"role": "assistant", "content": "Oslo: 7 degrees. Bergen: unknown."},
        {"role": "user", "content": "Thanks"},
    ]});
    check(Ollama, weather(), payload, "");
}

#[test]
fn thinking_images_and_options() {
    let options = RenderOptions {
        model: Some("qwen3".into()),
        max_output_tokens: Some(5),
        stream: Some(false),
        tools: vec![ToolSchema {
            name: "a b".into(),
            description: Some("x".into()),
            parameters: json!(null),
            strict: None,
        }],
        ..RenderOptions::default()
    };
    let image = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let there = json!({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}});
    let messages = json!([
        {"role": "developer", "content": "A"},
        {"role": "user", "content": [{"type": "text", "text": "See"}, image, there], "name": "ada"},
        {"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [call("c1", "a b", "nonsense")]},
        {"role": "tool", "tool_call_id": "c1", "content": [image]},
    ]);
    let payload = json!({"model": "qwen3", "stream": false, "options": {"num_predict": 5},
    "tools": [{"type": "function", "function": {"name": "a b", "description": "x", "parameters": {"type": "object", "properties": {}}}}],
    "messages": [
        {"role": "system", "content": "A"},
        {"role": "user", "content": "See\n[image: https://x.example/a.png]", "images": ["iVBORw0KGgo="]},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
            {"function": {"name": "a b", "arguments": {"arguments": "nonsense"}}}]},
        {"role": "tool", "content": "", "images": ["iVBORw0KGgo="], "tool_name": "a b"},
    ]});
    check_with(Ollama, &options, messages, payload, "1 image, 1 name, 2 wrapped-arguments");
}

#[test]
fn results_without_ids_go_to_the_call_of_their_name() {
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "a", "arguments": {"n": 1}}}, {"function": {"name": "b", "arguments": {}}}]},
        {"role": "tool", "name": "b", "content": "of b"}, {"role": "tool", "content": "of a"},
    ]);
    let payload = json!({"messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "a", "arguments": {"n": 1}}}, {"function": {"name": "b", "arguments": {}}}]},
        {"role": "tool", "content": "of a", "tool_name": "a"}, {"role": "tool", "content": "of b", "tool_name": "b"},
    ]});
    check(Ollama, messages, payload, "1 mapped-id");
}

#[test]
fn a_stranger_sees() {
    let found = |messages: Value| broken(Ollama, json!({ "messages": messages }));
    let user = json!({"role": "user", "content": "u"});
    let called =
        json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]});
    let result = json!({"role": "tool", "content": "1", "tool_name": "f"});
    assert_eq!(found(json!([user, called, result])), "");
    assert_eq!(found(json!([user, called, {"role": "tool", "content": "1"}])), "");
    assert_eq!(found(json!([user, called, user])), "1 unanswered-call");
    assert_eq!(found(json!([user, result])), "1 orphan-result");
    assert_eq!(found(json!([user, called, result, result])), "3 repeated-result");
    assert_eq!(found(json!([user, called, user, result])), "1 unanswered-call, 3 orphan-result");
    assert_eq!(found(json!([{"role": "developer", "content": "x"}])), "0 unknown-role");
    assert_eq!(found(json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}])), "0 wrong-type");
    assert_eq!(found(json!([{"role": "user", "content": ""}])), "0 empty-content");
    assert_eq!(found(json!([{"role": "user", "content": "", "images": [PICTURE]}])), "0 bad-image");
    let odd = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "{}"}}]});
    assert_eq!(found(json!([odd, {"role": "tool", "content": ""}])), "0 nameless-call, 0 bad-arguments");
    assert_eq!(found(json!([{"role": "user", "content": "x", "tool_calls": [1]}])), "0 misplaced-block");
}
