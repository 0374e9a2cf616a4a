//! OpenAI Responses: the expected payloads.

use serde_json::{Value, json};
use threadkeep_provider::Provider::OpenAiResponses;
use threadkeep_provider::{OPENING, RenderOptions, ToolSchema};

use crate::support::{PICTURE, broken, call, check, check_with, weather};

#[test]
fn calls_and_outputs_are_items() {
    let payload = json!({"instructions": "Be brief.", "input": [
        {"role": "user", "content": "Weather in Oslo and Bergen?"},
        {"role": "assistant", "content": "I will look."},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
        {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": "{\"city\":\"Bergen\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "7 degrees"},
        {"type": "function_call_output", "call_id": "call_2", "output": "no such station"},
        {"role": "assistant", "content": "Oslo: 7 degrees. Bergen: unknown."},
        {"role": "user", "content": "Thanks"},
    ]});
    check(OpenAiResponses, weather(), payload, "");
}

#[test]
fn options_tools_and_late_instructions() {
    let options = RenderOptions {
        model: Some("gpt-5".into()),
        max_output_tokens: Some(9),
        stream: Some(false),
        tools: vec![ToolSchema { name: "now".into(), description: None, parameters: json!(null), strict: None }],
        ..RenderOptions::default()
    };
    let messages = json!([{"role": "system", "content": "A"}, {"role": "developer", "content": "B"},
        {"role": "user", "content": "u"}, {"role": "developer", "content": "C"}]);
    let payload = json!({"model": "gpt-5", "max_output_tokens": 9, "stream": false, "instructions": "A\n\nB",
        "tools": [{"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "input": [{"role": "user", "content": "u"}, {"role": "developer", "content": "C"}]});
    check_with(OpenAiResponses, &options, messages, payload, "");
    let payload = json!({"instructions": "A", "input": [{"role": "user", "content": OPENING}]});
    check(OpenAiResponses, json!([{"role": "system", "content": "A"}]), payload, "1 opening");
}

#[test]
fn images_go_to_users_and_results() {
    let image = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let file = json!({"type": "input_file", "file_id": "file-1"});
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "See"}, image, file]},
        {"role": "assistant", "content": [image], "tool_calls": [call("c1", "shot", "")]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "here"}, image]},
    ]);
    let sent = json!({"type": "input_image", "image_url": PICTURE, "detail": "auto"});
    let payload = json!({"input": [
        {"role": "user", "content": [{"type": "input_text", "text": "See"}, sent, file]},
        {"role": "assistant", "content": "[image: image/png]"},
        {"type": "function_call", "call_id": "c1", "name": "shot", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "here"}, sent]},
    ]});
    check(OpenAiResponses, messages, payload, "1 image");
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

#[test]
fn reasoning_goes_with_what_it_belongs_to() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "1"});
    let messages = |items: Value| {
        json!([{"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "tool_calls": [call("c1", "f", "{}")], "openai-responses": items}, result])
    };
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "1"});
    let user = json!({"role": "user", "content": "u"});
    // All items of the response, or the reasoning alone.
    let payload = json!({"input": [user, reasoning("rs_1"), item, output]});
    check(OpenAiResponses, messages(json!([reasoning("rs_1"), item])), payload, "");
    let bare = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
    let payload = json!({"input": [user, reasoning("rs_1"), bare, output]});
    check(OpenAiResponses, messages(json!([reasoning("rs_1")])), payload, "");
    // Without its reasoning, a call goes without its item's id.
    let payload =
        json!({"input": [user, {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}, output]});
    check(OpenAiResponses, messages(json!([item])), payload.clone(), "");
    // Reasoning can be left out as a whole.
    let options = RenderOptions { reasoning: false, ..RenderOptions::default() };
    check_with(OpenAiResponses, &options, messages(json!([reasoning("rs_1"), item])), payload, "");
}

#[test]
fn custom_calls_and_server_side_items() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Found.", "annotations": []}]});
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "Found.", "openai-responses": [reasoning("rs_1"), search, said]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]);
    let payload = json!({"input": [{"role": "user", "content": "u"}, reasoning("rs_1"), search, said,
        {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"}]});
    check(OpenAiResponses, messages, payload, "");
}

#[test]
fn a_stranger_sees() {
    let found = |items: Value| broken(OpenAiResponses, json!({ "input": items }));
    let user = json!({"role": "user", "content": "u"});
    let said = json!({"role": "assistant", "content": "a"});
    let called = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "1"});
    assert_eq!(found(json!([user, called, output])), "");
    assert_eq!(found(json!([user, called, user, output])), "");
    assert_eq!(found(json!([user, called])), "1 unanswered-call");
    assert_eq!(found(json!([user, output])), "1 orphan-result");
    assert_eq!(found(json!([user, called, output, output])), "3 repeated-result");
    assert_eq!(found(json!([user, called, called, output])), "2 repeated-call-id");
    assert_eq!(
        found(json!([user, called, {"type": "custom_tool_call_output", "call_id": "c", "output": "1"}])),
        "1 unanswered-call, 2 orphan-result"
    );
    assert_eq!(found(json!([user, reasoning("r"), said])), "");
    assert_eq!(found(json!([user, reasoning("r"), user])), "1 lone-reasoning");
    assert_eq!(found(json!([user, reasoning("r")])), "1 lone-reasoning");
    assert_eq!(found(json!([user, reasoning("r"), said, reasoning("r"), said])), "3 repeated-item");
    let own = json!({"type": "function_call", "id": "fc_2", "call_id": "c", "name": "f", "arguments": "{}"});
    assert_eq!(found(json!([user, reasoning("r"), said, user, own, output])), "4 call-without-reasoning");
    assert_eq!(found(json!([user, own, output])), "");
    assert_eq!(found(json!([])), "- empty-prompt");
    assert_eq!(found(json!(null)), "- wrong-type");
    assert_eq!(found(json!("hello")), "");
    assert_eq!(found(json!([{"type": "tool_result"}])), "0 unknown-type");
    assert_eq!(found(json!([{"role": "tool", "content": "x"}])), "0 unknown-role");
    assert_eq!(
        found(json!([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}])),
        "0 unknown-type"
    );
    assert_eq!(found(json!([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])), "0 bad-image");
    let odd = json!({"type": "function_call", "call_id": "", "name": "a b", "arguments": {}});
    assert_eq!(
        found(json!([odd, {"type": "function_call_output", "call_id": "", "output": ""}])),
        "0 bad-id, 0 bad-name, 0 bad-arguments"
    );
    let continued = json!({"previous_response_id": "resp_1", "input": [output]});
    assert_eq!(broken(OpenAiResponses, continued), "");
    assert_eq!(broken(OpenAiResponses, json!({"instructions": 5, "input": "x"})), "- wrong-type");
}
