//! JSON in, JSON out.

use serde_json::{Value, json};
use threadkeep_provider::{ProviderError, render_json, validate_json};

#[test]
fn renders_and_says_what_it_did() {
    let messages = json!([{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "hi"}]);
    let options = json!({"model": "claude-x", "maxOutputTokens": 10, "stream": null, "tools": [{"name": "f"}]});
    let rendered = render_json(&messages, "anthropic", &options).unwrap();
    assert_eq!(rendered["payload"]["max_tokens"], 10);
    assert_eq!(
        rendered["payload"]["tools"],
        json!([{"name": "f", "input_schema": {"type": "object", "properties": {}}}])
    );
    assert_eq!(
        rendered["notes"],
        json!([{"index": 0, "rule": "opening", "message": "the provider wants the user to begin: a user message is put first"}])
    );
    assert!(rendered.to_string().ends_with(
        r#""notes":[{"index":0,"rule":"opening","message":"the provider wants the user to begin: a user message is put first"}]}"#
    ));
    assert_eq!(render_json(&messages, "ollama", &Value::Null).unwrap()["notes"], json!([]));
}

#[test]
fn tools_in_every_form() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let forms = [
        json!({"name": "f", "description": "d", "parameters": schema}),
        json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}),
        json!({"type": "function", "name": "f", "description": "d", "parameters": schema}),
        json!({"name": "f", "description": "d", "input_schema": schema}),
        json!({"name": "f", "description": "d", "inputSchema": schema}),
    ];
    for form in forms {
        let rendered = render_json(&json!([]), "anthropic", &json!({"tools": [form]})).unwrap();
        assert_eq!(rendered["payload"]["tools"], json!([{"name": "f", "description": "d", "input_schema": schema}]));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let check = |messages: Value, provider: &str, options: Value, argument: &str, words: &str| {
        let error = render_json(&messages, provider, &options).unwrap_err();
        assert_eq!(error.argument(), argument);
        assert!(error.to_string().contains(words), "{error}");
    };
    check(json!([]), "openai", json!({}), "provider", "openai-chat");
    check(json!([]), "gemini", json!({"modle": "x"}), "options", "modle");
    check(json!([]), "gemini", json!([]), "options", "an object");
    check(json!([]), "gemini", json!({"model": 5}), "options", "model must be text");
    check(json!([]), "gemini", json!({"maxOutputTokens": -1}), "options", "maxOutputTokens must be a whole number");
    check(json!([]), "gemini", json!({"prefill": 1}), "options", "prefill must be true or false");
    check(json!([]), "gemini", json!({"tools": {}}), "options", "tools must be a list");
    check(json!([]), "gemini", json!({"tools": [{"name": ""}]}), "options", "tools[0] must be named");
    check(json!([]), "gemini", json!({"tools": [{"name": "f"}, {"name": "g", "extra": 1}]}), "options", "tools[1]");
    check(json!({}), "gemini", json!({}), "messages", "a list");
    check(json!([{"role": "user"}, {"content": "x"}]), "gemini", json!({}), "messages", "message 1");
    let unknown = validate_json(&json!([]), "llama").unwrap_err();
    assert_eq!(unknown, ProviderError::UnknownProvider("llama".into()));
}

#[test]
fn validates_messages_and_payloads() {
    let said = |value: Value, provider: &str| {
        let said = validate_json(&value, provider).unwrap();
        let errors = said["errors"].as_array().unwrap();
        assert_eq!(said["ok"], errors.is_empty());
        errors.iter().map(|e| format!("{} {}", e["index"], e["rule"].as_str().unwrap())).collect::<Vec<_>>().join(", ")
    };
    let user = json!({"role": "user", "content": "u"});
    assert_eq!(said(json!([user]), "anthropic"), "");
    assert_eq!(said(json!([]), "anthropic"), "null empty-prompt");
    assert_eq!(said(json!([5, {"role": "tool", "content": ""}]), "anthropic"), "0 wrong-type, 1 orphan-result");
    let late = json!([user, {"role": "assistant", "content": ""}, {"role": "system", "content": "s"}, {"role": "moderator", "content": "m"}]);
    assert_eq!(said(late.clone(), "openai-chat"), "1 empty-content, 3 unknown-role");
    assert_eq!(said(late, "gemini"), "1 empty-content, 2 late-system, 3 unknown-role");
    let called = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "", "arguments": "{"}}, {"id": "", "type": "function", "function": {"name": "f"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
    assert_eq!(said(json!([called, result, user]), "openai-chat"), "0 nameless-call, 0 bad-id");
    assert_eq!(said(json!([called, result]), "anthropic"), "0 first-role, 0 nameless-call, 0 bad-arguments, 0 bad-id");
    assert_eq!(
        said(json!([result, user, called]), "openai-chat"),
        "0 misplaced-result, 2 nameless-call, 2 bad-id, 2 unanswered-call"
    );
    assert_eq!(said(json!([user, {"role": "assistant", "content": "a"}]), "gemini"), "1 last-role");
    assert_eq!(said(json!({"messages": [user]}), "ollama"), "");
    assert_eq!(said(json!({"messages": [user]}), "gemini"), "null wrong-type");
    assert_eq!(said(json!("text"), "gemini"), "null wrong-type");
    let text = validate_json(&json!([]), "anthropic").unwrap().to_string();
    assert!(text.starts_with(r#"{"ok":false,"errors":[{"index":null,"rule":"empty-prompt","message":""#), "{text}");
}
