//! Gemini `generateContent`: the expected payloads.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Gemini;
use threadkeep_provider::{CLOSING, OPENING, RenderOptions, ToolSchema};

use crate::support::{PICTURE, broken, call, check, check_with, weather};

fn text(text: &str) -> Value {
    json!({"text": text})
}

fn response(id: &str, name: &str, field: &str, words: &str) -> Value {
    json!({"functionResponse": {"id": id, "name": name, "response": {field: words}}})
}

#[test]
fn as_many_responses_as_calls_by_name() {
    let payload = json!({"systemInstruction": {"parts": [text("Be brief.")]}, "contents": [
        {"role": "user", "parts": [text("Weather in Oslo and Bergen?")]},
        {"role": "model", "parts": [text("I will look."),
            {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}},
            {"functionCall": {"id": "call_2", "name": "weather", "args": {"city": "Bergen"}}}]},
        {"role": "user", "parts": [response("call_1", "weather", "output", "7 degrees"),
            response("call_2", "weather", "error", "no such station")]},
        {"role": "model", "parts": [text("Oslo: 7 degrees. Bergen: unknown.")]},
        {"role": "user", "parts": [text("Thanks")]},
    ]});
    check(Gemini, weather(), payload, "");
}

#[test]
fn the_sdks_arguments_and_the_bodys_fields() {
    let options = RenderOptions {
        model: Some("gemini-2.5-pro".into()),
        max_output_tokens: Some(7),
        stream: Some(true),
        tools: vec![ToolSchema { name: "now".into(), description: None, parameters: json!(null), strict: Some(true) }],
        ..RenderOptions::default()
    };
    let messages = json!([{"role": "system", "content": "A"}, {"role": "user", "content": "u"}]);
    let tools = json!([{"functionDeclarations": [{"name": "now"}]}]);
    let contents = json!([{"role": "user", "parts": [text("u")]}]);
    let body = json!({"systemInstruction": {"parts": [text("A")]}, "tools": tools,
        "generationConfig": {"maxOutputTokens": 7}, "contents": contents});
    check_with(Gemini, &options, messages.clone(), body, "");
    let sdk = json!({"model": "gemini-2.5-pro", "contents": contents,
        "config": {"systemInstruction": {"parts": [text("A")]}, "tools": tools, "maxOutputTokens": 7}});
    check_with(Gemini, &RenderOptions { sdk: true, ..options }, messages, sdk, "");
}

#[test]
fn signatures_go_back_where_they_were() {
    let parts = json!([{"text": "Which?", "thought": true}, {"text": "Both."},
        {"functionCall": {"name": "f", "args": {"n": 1}}, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "f", "args": {"n": 2}}},
        {"text": "", "thoughtSignature": "bGFzdA=="}]);
    let messages = |text: &str| {
        json!([{"role": "user", "content": "u"},
            {"role": "assistant", "content": text, "tool_calls": [call("c1", "f", "{}"), call("c2", "f", "{}")], "gemini": parts},
            {"role": "tool", "tool_call_id": "c1", "content": "1"}, {"role": "tool", "tool_call_id": "c2", "content": "2"}])
    };
    let result = |n: &str| json!({"functionResponse": {"name": "f", "response": {"output": n}}});
    let payload = json!({"contents": [{"role": "user", "parts": [text("u")]}, {"role": "model", "parts": parts},
        {"role": "user", "parts": [result("1"), result("2")]}]});
    check(Gemini, messages("Both."), payload, "");

    // The form of the OpenAI-compatible endpoint; and what Gemini 3 gets where nobody has a signature.
    let mut signed = call("c2", "f", "{}");
    signed["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    let steps = json!([{"role": "user", "content": "u"},
        {"role": "assistant", "content": null, "tool_calls": [call("c1", "f", "{}")]}, {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "assistant", "content": null, "tool_calls": [signed]}, {"role": "tool", "tool_call_id": "c2", "content": "2"}]);
    let call = |id: &str, signature: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}, "thoughtSignature": signature});
    let contents = json!([{"role": "user", "parts": [text("u")]},
        {"role": "model", "parts": [call("c1", "skip_thought_signature_validator")]},
        {"role": "user", "parts": [response("c1", "f", "output", "1")]},
        {"role": "model", "parts": [call("c2", "c2ln")]}, {"role": "user", "parts": [response("c2", "f", "output", "2")]}]);
    let options =
        RenderOptions { model: Some("models/gemini-3-pro-preview".into()), sdk: true, ..RenderOptions::default() };
    let payload = json!({"model": "models/gemini-3-pro-preview", "contents": contents});
    check_with(Gemini, &options, steps, payload, "1 missing-signature");
}

#[test]
fn images_inline_by_address_and_behind_results() {
    let image = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let there = json!({"type": "image_url", "image_url": {"url": "https://x.example/a.JPG?x=1"}});
    let unknown = json!({"type": "image_url", "image_url": {"url": "https://x.example/picture"}});
    let audio = json!({"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}});
    let messages = json!([
        {"role": "user", "content": [image, there, unknown, audio]},
        {"role": "assistant", "content": "Look:", "tool_calls": [call("c1", "shot", "{}"), call("c2", "shot", "{}")]},
        {"role": "tool", "tool_call_id": "c1", "content": [image, {"type": "text", "text": "a"}]},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
    ]);
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let payload = json!({"contents": [
        {"role": "user", "parts": [inline, {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://x.example/a.JPG?x=1"}},
            text("[image: https://x.example/picture]"), audio]},
        {"role": "model", "parts": [text("Look:"), {"functionCall": {"id": "c1", "name": "shot", "args": {}}},
            {"functionCall": {"id": "c2", "name": "shot", "args": {}}}]},
        {"role": "user", "parts": [response("c1", "shot", "output", "a"), response("c2", "shot", "output", "b"), inline]},
    ]});
    check(Gemini, messages, payload, "0 image");
}

#[test]
fn turns_alternate_begin_and_end_with_the_user() {
    let messages = json!([
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "one"}, {"role": "system", "content": "French."}, {"role": "user", "content": "two"},
        {"role": "assistant", "content": "Oui", "reasoning": "hm"},
    ]);
    let payload = json!({"contents": [
        {"role": "user", "parts": [text(OPENING)]}, {"role": "model", "parts": [text("Hello")]},
        {"role": "user", "parts": [text("one"), text("<system>\nFrench.\n</system>"), text("two")]},
        {"role": "model", "parts": [text("Oui")]}, {"role": "user", "parts": [text(CLOSING)]}]});
    check(Gemini, messages, payload, "0 opening, 2 late-system, 4 reasoning, 5 closing");
}

#[test]
fn a_stranger_sees() {
    let found = |contents: Value| broken(Gemini, json!({ "contents": contents }));
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let u = user(json!([text("u")]));
    let called = model(json!([{"functionCall": {"name": "f", "args": {}}}]));
    let result = json!({"functionResponse": {"name": "f", "response": {}}});
    assert_eq!(found(json!([u, called, user(json!([result]))])), "");
    assert_eq!(found(json!([u, called, u])), "1 unanswered-call");
    assert_eq!(found(json!([u, called])), "1 last-role, 1 unanswered-call");
    assert_eq!(found(json!([u, called, user(json!([result, result]))])), "2 repeated-result");
    assert_eq!(found(json!([user(json!([result]))])), "0 orphan-result");
    assert_eq!(
        found(json!([u, called, user(json!([{"functionResponse": {"name": "g", "response": {}}}]))])),
        "1 unanswered-call, 2 orphan-result"
    );
    assert_eq!(found(json!([called, user(json!([result]))])), "0 first-role");
    assert_eq!(found(json!([u, u])), "1 alternation");
    assert_eq!(found(json!([u, model(json!([text("m")]))])), "1 last-role");
    assert_eq!(found(json!([{"role": "system", "parts": [text("s")]}, u])), "0 late-system");
    assert_eq!(found(json!([{"role": "assistant", "parts": [text("s")]}, u])), "0 unknown-role");
    assert_eq!(found(json!([user(json!([]))])), "0 empty-content");
    assert_eq!(found(json!([user(json!([text("")]))])), "0 empty-content");
    assert_eq!(found(json!([user(json!([{"type": "text"}]))])), "0 unknown-type");
    assert_eq!(found(json!([user(json!([{"text": "a", "inlineData": {}}]))])), "0 wrong-type");
    assert_eq!(found(json!([user(json!([{"functionCall": {"name": "f"}}]))])), "0 misplaced-block");
    assert_eq!(found(json!([user(json!([{"inlineData": {"data": "AAAA"}}]))])), "0 bad-image");
    let odd = model(json!([{"functionCall": {"name": "1 f", "args": "{}"}}]));
    let answer = user(json!([{"functionResponse": {"name": "1 f", "response": {}}}]));
    assert_eq!(found(json!([u, odd, answer])), "1 bad-name, 1 bad-arguments, 2 bad-name");
    let unsigned = json!({"model": "gemini-3-flash", "contents": [u, called, user(json!([result]))]});
    assert_eq!(broken(Gemini, unsigned), "1 missing-signature");
    let with = |schema: Value| {
        broken(
            Gemini,
            json!({"contents": [u], "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]}),
        )
    };
    assert_eq!(with(json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}})), "");
    assert_eq!(with(json!({"type": "OBJECT", "additionalProperties": false})), "- bad-schema");
    assert_eq!(with(json!({"type": "OBJECT", "properties": {"a": {"type": ["STRING"]}}})), "- bad-schema");
}
