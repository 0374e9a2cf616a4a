//! The working context as JSON: the messages that the model is sent next, in the generic form with a `toolPayload`.
//!
//! ```json
//! {"messages": [
//!   {"role": "assistant", "content": null, "toolPayload": {"toolCalls": [{"id": "c1", "name": "list", "arguments": {"path": "src"}}]}},
//!   {"role": "tool", "content": null, "toolPayload": {"toolCallId": "c1", "toolName": "list", "toolResult": ["a"], "toolError": null}}
//! ]}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Content, Message, Role};
use threadkeep_json::own_text;

use crate::memory::turns::{arguments, content};

#[derive(Serialize, Deserialize)]
struct Whole {
    #[serde(default)]
    messages: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    role: String,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    tool_payload: Option<Payload>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<Call>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_error: Option<Value>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    id: String,
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// Writes messages in the generic form. Parts other than text are left out; the traces have them.
pub fn write_working_context(messages: &[Message]) -> String {
    let messages = messages.iter().map(Line::from).collect();
    own_text(&Whole { messages })
}

impl From<&Message> for Line {
    fn from(message: &Message) -> Self {
        let text = message.text();
        let said = message.role != Role::Tool && (!text.is_empty() || message.tool_calls.is_empty());
        Self {
            role: message.role.as_str().to_owned(),
            content: said.then(|| text.into_owned()),
            reasoning_content: message.reasoning.clone(),
            tool_payload: payload(message),
        }
    }
}

fn payload(message: &Message) -> Option<Payload> {
    if message.role == Role::Tool {
        let said = content(&message.content);
        let (result, error) = if message.is_error { (Value::Null, said) } else { (said, Value::Null) };
        return Some(Payload {
            tool_call_id: Some(message.tool_call_id.clone().unwrap_or_default()),
            tool_name: Some(message.name.clone().unwrap_or_default()),
            tool_result: Some(result),
            tool_error: Some(error),
            tool_calls: None,
        });
    }
    let calls = message.tool_calls.iter().map(|call| Call {
        id: call.id().to_owned(),
        name: call.name().to_owned(),
        arguments: arguments(call.arguments()),
    });
    let calls: Vec<Call> = calls.collect();
    (!calls.is_empty()).then(|| Payload { tool_calls: Some(calls), ..Payload::default() })
}

/// Reads what [`write_working_context`] writes, or a bare list of such messages.
///
/// # Errors
/// It is no JSON, or a message in it has no role.
pub fn read_working_context(text: &str) -> Result<Vec<Message>, serde_json::Error> {
    let is_list = text.trim_start().starts_with('[');
    let lines = if is_list { serde_json::from_str(text)? } else { serde_json::from_str::<Whole>(text)?.messages };
    Ok(lines.into_iter().map(Message::from).collect())
}

impl From<Line> for Message {
    fn from(line: Line) -> Self {
        let mut message = Self::new(Role::from(line.role.as_str()), line.content.map_or(Content::Null, Content::Text));
        message.reasoning = line.reasoning_content;
        let tools = line.tool_payload.unwrap_or_default();
        for Call { id, name, arguments } in tools.tool_calls.unwrap_or_default() {
            let arguments = text(arguments).unwrap_or_else(|| "{}".to_owned());
            message.tool_calls.push(ToolCall::function(id, name, arguments));
        }
        if message.role == Role::Tool {
            message.tool_call_id = tools.tool_call_id;
            message.name = tools.tool_name.filter(|name| !name.is_empty());
            message.is_error = tools.tool_error.is_some();
            let said = tools.tool_error.or(tools.tool_result).and_then(text);
            message.content = said.map_or(Content::Null, Content::Text);
        }
        message
    }
}

/// What a value says as text; `None` for `null`.
fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}
