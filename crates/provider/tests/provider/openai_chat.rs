//! OpenAI Chat Completions: the expected payloads.

use serde_json::json;
use threadkeep_provider::Provider::OpenAiChat;
use threadkeep_provider::{RenderOptions, ToolSchema};

use crate::support::{PICTURE, broken, call, check, check_with, weather};

#[test]
fn parallel_calls_are_answered_in_the_order_of_the_calls() {
    let payload = json!({"messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo and Bergen?"},
        {"role": "assistant", "content": "I will look.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
            {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Bergen\"}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "7 degrees"},
        {"role": "tool", "tool_call_id": "call_2", "content": "no such station"},
        {"role": "assistant", "content": "Oslo: 7 degrees. Bergen: unknown."},
        {"role": "user", "content": "Thanks"},
    ]});
    check(OpenAiChat, weather(), payload, "");
}

#[test]
fn options_and_tools() {
    let options = RenderOptions {
        model: Some("gpt-5".into()),
        max_output_tokens: Some(200),
        stream: Some(true),
        tools: vec![
            ToolSchema {
                name: "weather".into(),
                description: Some("Looks.".into()),
                parameters: json!({"type": "object"}),
                strict: Some(true),
            },
            ToolSchema { name: "now".into(), description: None, parameters: json!(null), strict: None },
            ToolSchema { name: "now".into(), description: None, parameters: json!(null), strict: None },
        ],
        ..RenderOptions::default()
    };
    let payload = json!({"model": "gpt-5", "max_completion_tokens": 200, "stream": true, "tools": [
        {"type": "function", "function": {"name": "weather", "description": "Looks.", "parameters": {"type": "object"}, "strict": true}},
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}],
        "messages": [{"role": "user", "content": "hi"}]});
    check_with(OpenAiChat, &options, json!([{"role": "user", "content": "hi"}]), payload, "0 repeated-tool");
}

#[test]
fn images_stay_with_the_user_and_move_behind_results() {
    let image = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let anthropic =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, anthropic]},
        {"role": "assistant", "content": null, "tool_calls": [call("c1", "look", "{}"), call("c2", "look", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "seen"}, image]},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing"},
        {"role": "assistant", "content": [{"type": "text", "text": "A dot:"}, image]},
    ]);
    let payload = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen\n[image: in the next message]"},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing"},
        {"role": "user", "content": [{"type": "text", "text": "Images of the tools' results:"}, image]},
        {"role": "assistant", "content": "A dot:\n[image: image/png]"},
    ]});
    check(OpenAiChat, messages, payload, "2 moved-image, 4 image");
}

#[test]
fn reasoning_stays_home_and_own_fields_go_along() {
    let messages = json!([
        {"role": "user", "content": "2+2?", "name": "ada"},
        {"role": "assistant", "content": "4", "reasoning": "two and two"},
        {"role": "user", "content": "3+3?", "name": "Ada Lovelace"},
        {"role": "assistant", "content": "6", "reasoning": "x", "openai-chat": {"reasoning_content": "three and three", "role": "no"}},
    ]);
    let payload = json!({"messages": [
        {"role": "user", "content": "2+2?", "name": "ada"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "3+3?"},
        {"role": "assistant", "content": "6", "reasoning_content": "three and three"},
    ]});
    check(OpenAiChat, messages, payload, "1 reasoning, 2 name");
}

#[test]
fn custom_and_old_calls_and_broken_arguments() {
    let messages = json!([
        {"role": "user", "content": "run"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}},
            call("c2", "f", "{\"a\": "), call("c3", "browser.open", ""),
            {"id": "c4", "type": "function", "function": {"name": "g", "arguments": {"b": [1]}}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "."}, {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "tool", "tool_call_id": "c3", "content": "", "is_error": true}, {"role": "tool", "tool_call_id": "c4", "content": "ok"},
        {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "done"},
        {"role": "user", "content": "and?"},
    ]);
    let payload = json!({"messages": [
        {"role": "user", "content": "run"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}},
            {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{\"a\": "}},
            {"id": "c3", "type": "function", "function": {"name": "browser_open", "arguments": "{}"}},
            {"id": "c4", "type": "function", "function": {"name": "g", "arguments": "{\"b\":[1]}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "."}, {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "tool", "tool_call_id": "c3", "content": "Error"}, {"role": "tool", "tool_call_id": "c4", "content": "ok"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_6_0", "type": "function", "function": {"name": "old", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_6_0", "content": "done"},
        {"role": "user", "content": "and?"},
    ]});
    check(OpenAiChat, messages, payload, "1 mapped-name, 6 mapped-id");
}

#[test]
fn nothing_to_say_and_nothing_known() {
    let messages = json!([
        {"role": "user", "content": ""}, {"role": "assistant", "content": "  "},
        {"role": "critic", "content": "too long"},
        {"role": "user", "content": "hidden", "include_in_context": false},
        {"role": "user", "content": [{"type": "attachment", "attachment": {"file_name": "plan.pdf"}}]},
        {"role": "assistant", "content": null, "kind": {"type": "error", "code": "LLM_ERROR", "reason": "timeout"}},
        {"role": "assistant", "content": null, "refusal": "I cannot."},
    ]);
    let payload = json!({"messages": [
        {"role": "user", "content": "too long"},
        {"role": "user", "content": "[attachment: plan.pdf]"},
        {"role": "user", "content": "[The previous reply was interrupted.]"},
        {"role": "assistant", "content": "I cannot."},
    ]});
    check(OpenAiChat, messages, payload, "0 empty-message, 1 empty-message, 2 unknown-role, 4 part, 5 interrupted");
    let opening =
        json!({"messages": [{"role": "user", "content": "(The conversation goes on from an earlier point.)"}]});
    check(OpenAiChat, json!([]), opening, "0 opening");
}

#[test]
fn a_stranger_sees() {
    let found = |messages: serde_json::Value| broken(OpenAiChat, json!({ "messages": messages }));
    let called = json!({"role": "assistant", "content": null, "tool_calls": [call("c", "f", "{}")]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "1"});
    let user = json!({"role": "user", "content": "u"});
    assert_eq!(found(json!([user, called, result])), "");
    assert_eq!(found(json!([user, called])), "1 unanswered-call");
    assert_eq!(found(json!([user, called, user, result])), "1 unanswered-call, 3 misplaced-result");
    assert_eq!(found(json!([user, result])), "1 orphan-result");
    assert_eq!(found(json!([user, called, result, result])), "3 repeated-result");
    assert_eq!(found(json!([])), "- empty-prompt");
    assert_eq!(found(json!([{"role": "ipython", "content": ""}])), "0 unknown-role");
    assert_eq!(found(json!([{"role": "user", "content": 5}])), "0 wrong-type");
    assert_eq!(found(json!([{"role": "user", "content": []}])), "0 empty-content");
    assert_eq!(found(json!([{"role": "assistant", "content": null}])), "0 empty-content");
    assert_eq!(found(json!([{"role": "assistant", "content": "x", "tool_calls": []}])), "0 wrong-type");
    assert_eq!(found(json!([{"role": "user", "content": [{"type": "tool_result"}]}])), "0 unknown-type");
    assert_eq!(
        found(json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/a.png"}}]}])),
        "0 bad-image"
    );
    let twice = json!({"role": "assistant", "tool_calls": [call("c", "f", "{}"), call("c", "f", "{}")]});
    assert_eq!(found(json!([user, twice, result])), "1 repeated-call-id");
    let odd = json!({"role": "assistant", "tool_calls": [
        {"id": "x".repeat(41), "type": "function", "function": {"name": "a.b", "arguments": {}}}, {"id": "c", "type": "fn"},
        {"id": "d", "type": "function", "function": {"arguments": "{}"}}]});
    let answers = ["c", "d", &"x".repeat(41)].map(|id| json!({"role": "tool", "tool_call_id": id, "content": ""}));
    let all = json!([odd, answers[0], answers[1], answers[2]]);
    assert_eq!(found(all), "0 bad-id, 0 bad-name, 0 bad-arguments, 0 unknown-type, 0 nameless-call");
    assert_eq!(broken(OpenAiChat, json!([])), "- wrong-type");
    assert_eq!(broken(OpenAiChat, json!({"messages": [user], "tools": [{"name": "f"}]})), "- bad-tool");
    let f = json!({"type": "function", "function": {"name": "f"}});
    assert_eq!(broken(OpenAiChat, json!({"messages": [user], "tools": [f, f]})), "- repeated-tool");
}
