//! The working context as JSON: the messages that the model is sent next, in the generic form with a `toolPayload`.
//!
//! ```json
//! {"messages": [
//!   {"role": "assistant", "content": null, "toolPayload": {"toolCalls": [{"id": "c1", "name": "list", "arguments": {"path": "src"}}]}},
//!   {"role": "tool", "content": null, "toolPayload": {"toolCallId": "c1", "toolName": "list", "toolResult": ["a"], "toolError": null}}
//! ]}
//! ```

use serde_json::{Map, Value};

use super::put;
use crate::memory::turns::{arguments, content};
use threadkeep_core::json::{Object, Wrong, wrong};
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Content, Message, Role};

/// Writes messages in the generic form. Parts other than text are left out; the traces have them.
pub fn write_working_context(messages: &[Message]) -> String {
    let mut list = Vec::with_capacity(messages.len());
    for message in messages {
        let mut map = Map::new();
        put(&mut map, "role", message.role.as_str());
        let text = message.text();
        let said = message.role != Role::Tool && (!text.is_empty() || message.tool_calls.is_empty());
        put(&mut map, "content", if said { Value::from(text.as_ref()) } else { Value::Null });
        if let Some(reasoning) = &message.reasoning {
            put(&mut map, "reasoningContent", reasoning.as_str());
        }
        put(&mut map, "toolPayload", payload(message));
        list.push(Value::Object(map));
    }
    let mut whole = Map::new();
    put(&mut whole, "messages", list);
    Value::Object(whole).to_string()
}

fn payload(message: &Message) -> Value {
    let mut map = Map::new();
    if message.role == Role::Tool {
        put(&mut map, "toolCallId", message.tool_call_id.as_deref().unwrap_or_default());
        put(&mut map, "toolName", message.name.as_deref().unwrap_or_default());
        let said = content(&message.content);
        let (result, error) = if message.is_error { (Value::Null, said) } else { (said, Value::Null) };
        put(&mut map, "toolResult", result);
        put(&mut map, "toolError", error);
    } else if !message.tool_calls.is_empty() {
        let mut calls = Vec::new();
        for call in &message.tool_calls {
            let mut map = Map::new();
            put(&mut map, "id", call.id());
            put(&mut map, "name", call.name());
            put(&mut map, "arguments", arguments(call.arguments()));
            calls.push(Value::Object(map));
        }
        put(&mut map, "toolCalls", calls);
    } else {
        return Value::Null;
    }
    Value::Object(map)
}

/// Reads what [`write_working_context`] writes, or a bare list of such messages.
///
/// # Errors
/// It is no JSON, or a message in it has no role.
pub fn read_working_context(text: &str) -> Result<Vec<Message>, Wrong> {
    let value = serde_json::from_str(text).map_err(|error| wrong("working context", &format!("JSON ({error})")))?;
    let list = match value {
        Value::Array(list) => list,
        value => Object::of(value, "working context")?.list("messages")?,
    };
    let mut messages = Vec::with_capacity(list.len());
    for value in list {
        let mut fields = Object::of(value, "message")?;
        let role = Role::from(fields.text("role")?.as_str());
        let mut tools = fields.object("toolPayload")?;
        let mut message = Message::new(role, "");
        message.content = fields.maybe_text("content")?.map_or(Content::Null, Content::Text);
        message.reasoning = fields.maybe_text("reasoningContent")?;
        for call in tools.list("toolCalls")? {
            let mut call = Object::of(call, "toolCalls")?;
            let args = match call.take("arguments") {
                Value::String(text) => text,
                Value::Null => "{}".to_owned(),
                other => other.to_string(),
            };
            message.tool_calls.push(ToolCall::function(call.text("id")?, call.text("name")?, args));
        }
        if message.role == Role::Tool {
            message.tool_call_id = tools.maybe_text("toolCallId")?;
            message.name = tools.maybe_text("toolName")?.filter(|name| !name.is_empty());
            let (result, error) = (tools.take("toolResult"), tools.take("toolError"));
            message.is_error = !error.is_null();
            message.content = match if message.is_error { error } else { result } {
                Value::String(text) => Content::Text(text),
                Value::Null => Content::Null,
                other => Content::Text(other.to_string()),
            };
        }
        messages.push(message);
    }
    Ok(messages)
}
