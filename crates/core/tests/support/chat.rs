//! Reads a chat of the BEAM set: batches of turns of messages, each with a number.

use serde_json::Value;
use threadkeep_core::Message;

/// The messages in a chat, in order, with their numbers.
pub fn messages(value: &Value, out: &mut Vec<(Option<u64>, Message)>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| messages(value, out)),
        Value::Object(map) => {
            match (map.get("role").and_then(Value::as_str), map.get("content").and_then(Value::as_str)) {
                (Some(role), Some(text)) => {
                    let message = if role == "user" { Message::user(text) } else { Message::assistant(text) };
                    out.push((map.get("id").and_then(Value::as_u64), message));
                }
                _ => map.values().for_each(|value| messages(value, out)),
            }
        }
        _ => {}
    }
}
