//! The same as JSON in and JSON out, for those outside Rust.

use serde::Serialize;
use serde_json::Value;
use threadkeep_core::Message;
use threadkeep_json::own_value;

use super::{Finding, Note, Provider, ProviderError, RenderOptions, render, validate_messages, validate_payload};

/// What rendering had to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct RenderNote {
    /// The message's place in the list, from 0; for what is put at the end, the list's length.
    pub index: usize,
    /// A short stable word.
    pub rule: &'static str,
    /// What was done, in words.
    pub message: &'static str,
}

/// Messages as the body of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Rendered"))]
pub struct RenderReply {
    /// The request's body.
    #[cfg_attr(feature = "ts", ts(type = "Payload<P, F>"))]
    pub payload: Value,
    /// What is not as it was in the messages.
    pub notes: Vec<RenderNote>,
}

/// Whether a provider would take messages or a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Validation {
    /// Whether nothing was found.
    pub ok: bool,
    /// What was found.
    pub errors: Vec<Finding>,
}

/// Renders messages: a [`RenderReply`] as JSON, `{"payload": …, "notes": [{"index", "rule", "message"}]}`. The options are those of
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
    let note = |note: &Note| RenderNote { index: note.index, rule: note.rule.name(), message: note.rule.words() };
    let notes = rendered.notes.iter().map(note).collect();
    Ok(own_value(&RenderReply { payload: rendered.payload, notes }))
}

/// Validates a payload (an object) or messages (a list): a [`Validation`] as JSON, `{"ok": bool, "errors": [{"index", "rule", "message"}]}`.
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
    let errors = match value {
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
    Ok(own_value(&Validation { ok: errors.is_empty(), errors }))
}

fn named(provider: &str) -> Result<Provider, ProviderError> {
    Provider::from_name(provider).ok_or_else(|| ProviderError::UnknownProvider(provider.to_owned()))
}
