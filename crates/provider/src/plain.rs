//! The same as JSON in and JSON out, for those outside Rust.

use serde_json::{Map, Value};

use super::json::{put, text};
use super::{Finding, Provider, ProviderError, RenderOptions, render, validate_messages, validate_payload};
use threadkeep_core::Message;

/// Renders messages: `{"payload": …, "notes": [{"index", "rule", "message"}]}`. The options are those of
/// [`RenderOptions::from_json`].
///
/// ```
/// use serde_json::json;
/// use threadkeep_provider::render_json;
/// let rendered = render_json(&json!([{"role": "user", "content": "hi"}]), "ollama", &json!({"model": "m"}))?;
/// assert_eq!(rendered["payload"], json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
/// assert!(render_json(&json!([]), "ollama", &json!({"modle": "m"})).is_err());
/// # Ok::<(), threadkeep_provider::ProviderError>(())
/// ```
///
/// # Errors
/// [`ProviderError`] when the provider, an option or a message is not one.
pub fn render_json(messages: &Value, provider: &str, options: &Value) -> Result<Value, ProviderError> {
    let provider = named(provider)?;
    let options = RenderOptions::from_json(options)?;
    let list = messages.as_array().ok_or(ProviderError::NotAList)?;
    let messages = list.iter().enumerate().map(|(index, value)| {
        Message::from_json(value.clone()).map_err(|error| ProviderError::Message { index, error })
    });
    let messages = messages.collect::<Result<Vec<Message>, _>>()?;
    let messages: Vec<&Message> = messages.iter().collect();
    let rendered = render(&messages, provider, &options);
    let notes = rendered.notes.iter().map(|note| said(Some(note.index), note.rule.name(), note.rule.words()));
    let notes = Value::Array(notes.collect());
    let mut both = Map::new();
    put(&mut both, "payload", rendered.payload);
    put(&mut both, "notes", notes);
    Ok(Value::Object(both))
}

/// A note or a finding.
fn said(index: Option<usize>, rule: &str, message: &str) -> Value {
    let mut map = Map::new();
    put(&mut map, "index", index.map_or(Value::Null, Value::from));
    put(&mut map, "rule", text(rule));
    put(&mut map, "message", text(message));
    Value::Object(map)
}

/// Validates a payload (an object) or messages (a list): `{"ok": bool, "errors": [{"index", "rule", "message"}]}`.
///
/// ```
/// use serde_json::json;
/// use threadkeep_provider::validate_json;
/// let said = validate_json(&json!([{"role": "tool", "tool_call_id": "c", "content": "42"}]), "openai-chat")?;
/// assert_eq!(said["errors"][0]["rule"], "orphan-result");
/// # Ok::<(), threadkeep_provider::ProviderError>(())
/// ```
///
/// # Errors
/// [`ProviderError::UnknownProvider`]. Whatever else is wrong is a finding.
pub fn validate_json(value: &Value, provider: &str) -> Result<Value, ProviderError> {
    let provider = named(provider)?;
    let findings = match value {
        Value::Array(list) => {
            let mut findings = Vec::new();
            let mut messages = Vec::with_capacity(list.len());
            let mut places = Vec::with_capacity(list.len());
            for (index, value) in list.iter().enumerate() {
                match Message::from_json(value.clone()) {
                    Ok(message) => {
                        messages.push(message);
                        places.push(index);
                    }
                    Err(error) => {
                        findings.push(Finding { index: Some(index), rule: "wrong-type", message: error.to_string() });
                    }
                }
            }
            let messages: Vec<&Message> = messages.iter().collect();
            let found = validate_messages(&messages, provider);
            let placed = found.into_iter().map(|finding| Finding {
                index: finding.index.and_then(|index| places.get(index).copied()),
                ..finding
            });
            findings.extend(placed);
            findings
        }
        payload => validate_payload(payload, provider),
    };
    let mut both = Map::new();
    put(&mut both, "ok", findings.is_empty().into());
    let errors = findings.iter().map(|finding| said(finding.index, finding.rule, &finding.message));
    put(&mut both, "errors", Value::Array(errors.collect()));
    Ok(Value::Object(both))
}

fn named(provider: &str) -> Result<Provider, ProviderError> {
    Provider::from_name(provider).ok_or_else(|| ProviderError::UnknownProvider(provider.to_owned()))
}
