//! Items of OpenAI's Responses, as Codex rollouts and Open WebUI's newer exports keep them: messages, reasoning, calls and what
//! they gave. Calls pair with results by `call_id`.

use serde_json::{Map, Value};
use threadkeep_json::own_text;

use super::blocks::Blocks;
use super::raw::{says_nothing, text_of};

/// Where an item belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// To what the model says.
    Model,
    /// To what tools answer.
    Tool,
    /// To no side: it is no item that says something.
    None,
}

/// The side of an item of this type, other than `message`.
pub(super) fn side(kind: &str) -> Side {
    match kind {
        "reasoning" | "tool_call" => Side::Model,
        "tool_result" => Side::Tool,
        _ if kind.ends_with("_output") => Side::Tool,
        _ if kind.ends_with("_call") || kind.contains("code_interpreter") => Side::Model,
        _ => Side::None,
    }
}

/// Adds an item to what was said so far.
pub(super) fn add(mut item: Map<String, Value>, blocks: &mut Blocks) {
    let kind = text_of(&item, "type").unwrap_or_default().to_owned();
    let mut take = |name: &str| item.shift_remove(name).unwrap_or_default();
    match kind.as_str() {
        "message" => content(take("content"), blocks),
        "reasoning" => {
            for list in [take("summary"), take("content")] {
                let Value::Array(list) = list else { continue };
                let texts: Vec<&str> = list.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                blocks.reasoning(&texts.join("\n\n"));
            }
        }
        "function_call" | "custom_tool_call" | "tool_call" | "tool_search_call" | "local_shell_call" => {
            let name = match take("name") {
                Value::Null => take("function").get("name").cloned().unwrap_or_else(|| kind.as_str().into()),
                name => name,
            };
            let id = match take("call_id") {
                Value::Null => take("id"),
                id => id,
            };
            let input = ["arguments", "input", "action"].iter().map(|name| take(name)).find(|input| !input.is_null());
            // What else there is stays beside the call.
            if let Some(own) = item.shift_remove("id").filter(|own| *own != id) {
                item.insert("item_id".to_owned(), own);
            }
            let fields = [("type", "tool_use".into()), ("id", id), ("name", name)];
            item.extend(fields.map(|(name, value)| (name.to_owned(), value)));
            item.insert("input".to_owned(), input.unwrap_or_else(|| "{}".into()));
            blocks.block(Value::Object(item));
        }
        "tool_result" => {
            let failed = item.get("result").and_then(|result| result.get("exitCode")).is_some_and(|code| *code != 0);
            let mut take = |name: &str| item.shift_remove(name).unwrap_or_default();
            blocks.tool_result(take("call_id"), take("name"), take("result"), failed);
        }
        _ if kind.ends_with("_output") => {
            let output = match take("output") {
                Value::Null => take("tools"),
                output => output,
            };
            let (output, failed) = match output {
                // `{content, success}`, or one part.
                Value::Object(mut map) if map.contains_key("content") => {
                    let failed = map.get("success") == Some(&Value::Bool(false));
                    (map.shift_remove("content").unwrap_or_default(), failed)
                }
                Value::Object(map) if map.contains_key("type") => (Value::Array(vec![Value::Object(map)]), false),
                other => (other, false),
            };
            let (id, name) = (take("call_id"), take("name"));
            blocks.tool_result(id, name, parts(output), failed);
        }
        // What the provider ran itself: searches, images.
        _ => {
            item.retain(|name, value| name == "type" || !says_nothing(value));
            blocks.part(item);
        }
    }
}

/// Adds a message's content: text, or a list of `input_text`, `output_text` and other parts.
pub(super) fn content(content: Value, blocks: &mut Blocks) {
    match parts(content) {
        Value::Array(list) => list.into_iter().for_each(|part| match part {
            Value::Object(part) if text_of(&part, "type") != Some("text") => blocks.part(part),
            part => blocks.block(part),
        }),
        Value::Null => {}
        Value::String(text) => blocks.text(text),
        other => blocks.text(own_text(&other)),
    }
}

/// Text parts in one form; images without an address, and other parts that say nothing, are left out.
fn parts(content: Value) -> Value {
    let Value::Array(list) = content else { return content };
    let part = |part: Value| {
        let Value::Object(mut part) = part else { return Some(part) };
        part.retain(|_, value| !says_nothing(value));
        let is_text = matches!(text_of(&part, "type"), Some("input_text" | "output_text" | "text" | "inputText"));
        if is_text {
            let text = part.shift_remove("text").unwrap_or_else(|| "".into());
            part.insert("type".to_owned(), "text".into());
            part.insert("text".to_owned(), if text.is_string() { text } else { own_text(&text).into() });
            return Some(Value::Object(part));
        }
        let empty = text_of(&part, "type") == Some("input_image") && !part.contains_key("image_url");
        (!empty).then_some(Value::Object(part))
    };
    Value::Array(list.into_iter().filter_map(part).collect())
}
