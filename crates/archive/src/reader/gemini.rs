//! Gemini's three: the activity log of Google Takeout, the prompts of AI Studio, and the sessions of Gemini CLI.

pub(crate) mod activity;
pub(super) mod cli;
pub(super) mod studio;

use serde_json::{Map, Value};

use crate::blocks::Blocks;
use crate::raw::{says_nothing, text_of};

/// The fields of a part that are files.
const FILES: [&str; 9] = [
    "inlineFile",
    "inlineImage",
    "inlineData",
    "driveDocument",
    "driveImage",
    "driveVideo",
    "driveAudio",
    "youtubeVideo",
    "fileData",
];

/// Adds one of Gemini's parts: text, a thought, code that was run and what it gave, a file.
fn part(mut part: Map<String, Value>, blocks: &mut Blocks) {
    if let Some(code) = part.shift_remove("executableCode").filter(|code| !says_nothing(code)) {
        blocks.tool_call(Value::Null, "code_execution".into(), code);
    }
    if let Some(mut result) = part.shift_remove("codeExecutionResult").filter(|result| !says_nothing(result)) {
        let failed = result.get("outcome").is_some_and(|outcome| outcome != "OUTCOME_OK");
        let output = result.get_mut("output").map(Value::take).unwrap_or_default();
        blocks.tool_result(Value::Null, "code_execution".into(), output, failed);
    }
    match part.shift_remove("text") {
        Some(Value::String(text)) if part.get("thought") == Some(&Value::Bool(true)) => blocks.reasoning(&text),
        Some(Value::String(text)) if !text.is_empty() => blocks.text(text),
        _ => {}
    }
    for name in FILES {
        let Some(Value::Object(mut file)) = part.shift_remove(name) else { continue };
        let mime = text_of(&file, "mimeType").unwrap_or_default();
        let kind = if mime.starts_with("image/") && file.contains_key("data") { "image" } else { "attachment" };
        if kind == "attachment" {
            file = Map::from_iter([("attachment".to_owned(), Value::Object(file)), ("from".to_owned(), name.into())]);
        }
        file.shift_insert(0, "type".to_owned(), kind.into());
        blocks.part(file);
    }
    for name in ["functionCall", "functionResponse"] {
        let Some(mut call) = part.shift_remove(name) else { continue };
        let mut take = |name: &str| call.get_mut(name).map(Value::take).unwrap_or_default();
        match name {
            "functionCall" => blocks.tool_call(take("id"), take("name"), take("args")),
            _ => {
                let (output, failed) = response(take("response"));
                blocks.tool_result(take("id"), take("name"), output, failed);
            }
        }
    }
}

/// What a function's response says, and whether it failed.
fn response(mut response: Value) -> (Value, bool) {
    let take = |response: &mut Value, name: &str| match response {
        Value::Object(map) if map.len() == 1 => map.shift_remove(name),
        _ => None,
    };
    if let Some(output) = take(&mut response, "output") {
        return (output, false);
    }
    match take(&mut response, "error") {
        Some(error) => (error, true),
        None => (response, false),
    }
}
