//! Files that are attached to messages.

use serde_json::{Map, Value};

use super::blocks::Blocks;
use super::raw::{says_nothing, text_of};
use super::report::short;

/// Adds one attached file, whose text is in the field `text`.
pub(super) fn attachment(file: Value, text: &str, blocks: &mut Blocks) {
    let Value::Object(mut file) = file else { return };
    let content = match file.shift_remove(text) {
        Some(Value::String(content)) if !content.is_empty() => Some(content),
        _ => None,
    };
    file.retain(|field, value| !field.ends_with("_asset") && !field.ends_with("_url") && !says_nothing(value));
    let name = text_of(&file, "file_name").or_else(|| text_of(&file, "name")).map(str::to_owned);
    let mut part = Map::new();
    match content {
        Some(content) => {
            let head = name.map(|name| format!("{}:\n\n", short(&name))).unwrap_or_default();
            part.insert("type".to_owned(), "text".into());
            part.insert("text".to_owned(), format!("{head}{content}").into());
            part.insert("attachment".to_owned(), Value::Object(file));
        }
        None => {
            part.insert("type".to_owned(), "attachment".into());
            part.insert("attachment".to_owned(), Value::Object(file));
        }
    }
    blocks.part(part);
}
