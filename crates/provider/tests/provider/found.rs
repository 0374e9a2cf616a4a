//! What fuzzing found, each under its bug's name; and what the designs want of every renderer.

use serde_json::{Value, json};
use threadkeep_provider::{Provider, RenderOptions};

use crate::support::{rendered, weather};

fn user(part: &Value) -> Value {
    json!([{"role": "user", "content": [{"type": "text", "text": "see"}, part]}])
}

#[test]
fn fuzz_inline_data_that_is_no_base64_is_not_sent_to_gemini() {
    for data in [json!(true), json!({"a": 1}), json!("no base64!"), json!(""), Value::Null] {
        let part = json!({"inlineData": {"mimeType": "audio/mp3", "data": data}});
        let payload = rendered(user(&part), Provider::Gemini, &RenderOptions::default()).payload;
        assert!(!payload.to_string().contains("inlineData"), "{payload}");
    }
    let part = json!({"inlineData": {"mimeType": "audio/mp3", "data": "QUJD"}});
    let payload = rendered(user(&part), Provider::Gemini, &RenderOptions::default()).payload;
    assert_eq!(payload["contents"][0]["parts"][1], part);
}

#[test]
fn fuzz_an_image_at_no_http_address_is_sent_to_gemini_only() {
    for uri in ["gs://bucket/a", "files/abc", "tool_calls", "data:,"] {
        let part = json!({"fileData": {"mimeType": "image/png", "fileUri": uri}});
        for provider in Provider::ALL {
            let payload = rendered(user(&part), provider, &RenderOptions::default()).payload;
            let sent = payload.to_string().contains("fileUri");
            assert_eq!(sent, provider == Provider::Gemini, "{payload}");
        }
    }
    let part = json!({"fileData": {"mimeType": "image/png", "fileUri": ""}});
    rendered(user(&part), Provider::Gemini, &RenderOptions::default());
}

#[test]
fn fuzz_own_items_that_lost_a_field_are_not_sent_back() {
    let message = |name: &str, items: Value| {
        let mut message = json!({"role": "assistant", "content": "said"});
        message[name] = items;
        json!([{"role": "user", "content": "hi"}, message, {"role": "user", "content": "and?"}])
    };
    // OpenAI's reasoning without a summary or an id, Gemini's text that is none.
    let reasoning = |item: Value| {
        rendered(message("openai-responses", json!([item])), Provider::OpenAiResponses, &RenderOptions::default())
    };
    for item in [json!({"type": "reasoning", "id": "rs_1"}), json!({"type": "reasoning", "summary": []})] {
        let rendered = reasoning(item);
        assert_eq!(rendered.notes.len(), 1);
        assert!(!rendered.payload.to_string().contains("reasoning"), "{}", rendered.payload);
    }
    assert!(reasoning(json!({"type": "reasoning", "id": "rs_1", "summary": []})).notes.is_empty());
    let parts = message("gemini", json!([{"text": false, "thoughtSignature": "c2ln"}]));
    let payload = rendered(parts, Provider::Gemini, &RenderOptions::default()).payload;
    assert_eq!(payload["contents"][1]["parts"], json!([{"text": "said"}]));
}

#[test]
fn fuzz_own_calls_that_lost_a_field_are_written_anew() {
    let call = |items: (&str, Value)| {
        let called = json!([{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]);
        let mut message = json!({"role": "assistant", "content": null, "tool_calls": called});
        message[items.0] = json!([items.1]);
        json!([{"role": "user", "content": "hi"}, message, {"role": "tool", "tool_call_id": "c", "content": "ok"}])
    };
    let whole =
        json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{\"at\":1}"});
    let used = json!({"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}});
    for (provider, whole, fields) in
        [(Provider::OpenAiResponses, whole, ["name", "arguments"]), (Provider::Anthropic, used, ["name", "input"])]
    {
        assert!(rendered(call((provider.name(), whole.clone())), provider, &RenderOptions::default()).notes.is_empty());
        for field in fields {
            let mut torn = whole.clone();
            torn.as_object_mut().unwrap().remove(field);
            // It holds the payload against the validator.
            let rendered = rendered(call((provider.name(), torn)), provider, &RenderOptions::default());
            assert_eq!(rendered.notes.len(), 1, "{provider:?} without {field}");
            assert!(rendered.payload.to_string().contains("look"));
        }
    }
}

#[test]
fn deterministic_formatting_and_stable_ordering() {
    for provider in Provider::ALL {
        let once = rendered(weather(), provider, &RenderOptions::default()).payload.to_string();
        let twice = rendered(weather(), provider, &RenderOptions::default()).payload.to_string();
        assert_eq!(once, twice);
        // The order of the conversation is the payload's.
        let place = |text: &str| once.find(text).unwrap_or_else(|| panic!("{text} is not in {once}"));
        let said = ["Oslo and Bergen?", "I will look.", "7 degrees", "no such station", "Bergen: unknown.", "Thanks"];
        assert!(said.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{once}");
    }
}

#[test]
fn round_trip_every_payload_has_the_fields_of_calls_and_results() {
    let fields: [(Provider, &[&str]); 5] = [
        (
            Provider::OpenAiChat,
            &["\"tool_calls\"", "\"arguments\":\"{", "\"tool_call_id\":\"call_1\"", "\"role\":\"tool\""],
        ),
        (Provider::OpenAiResponses, &["\"function_call\"", "\"function_call_output\"", "\"call_id\":\"call_1\""]),
        (Provider::Anthropic, &["\"tool_use\"", "\"input\":{", "\"tool_use_id\":\"call_1\"", "\"is_error\":true"]),
        (Provider::Gemini, &["\"functionCall\"", "\"args\":{", "\"functionResponse\"", "\"response\":{"]),
        (Provider::Ollama, &["\"tool_calls\"", "\"arguments\":{", "\"tool_name\":\"weather\"", "\"role\":\"tool\""]),
    ];
    for (provider, wanted) in fields {
        let payload = rendered(weather(), provider, &RenderOptions::default()).payload.to_string();
        for field in wanted {
            assert!(payload.contains(field), "{field} is not in {payload}");
        }
    }
}
