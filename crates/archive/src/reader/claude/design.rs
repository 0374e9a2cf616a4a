//! The design chats of Claude.ai's newer exports: a plain list of messages, each with blocks of its own kind.

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, Role};
use threadkeep_json::own_text;

use super::Blocks;
use crate::attachment::attachment;
use crate::draft::Draft;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Conversation, Format, clean, extra, unreadable, when};

/// Fields of a chat that have a place of their own.
const PLACED: [&str; 6] = ["uuid", "title", "name", "created_at", "updated_at", "messages"];

/// Reads one chat; says why where it cannot.
pub(super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let (Some(id), Some(messages)) = (fields.string("uuid"), fields.array("messages")) else {
        report.skip(place, Code::BadShape, "a design chat must have a `uuid` and a list of `messages`");
        return None;
    };
    if messages.is_empty() {
        report.skip(place, Code::Empty, "a conversation without messages");
        return None;
    }
    let mut tree = Tree::new(Format::ClaudeAi.name(), &id);
    tree.title = fields.string("title").or_else(|| fields.string("name"));
    tree.created_at = fields.value("created_at").as_ref().and_then(when::millis);
    tree.updated_at = fields.value("updated_at").as_ref().and_then(when::millis);
    tree.extra = extra(fields, &PLACED, place, report);
    let mut previous = None;
    for (at, raw) in messages.iter().enumerate() {
        let what = format!("{place}, message {}", at + 1);
        let message = match clean::value(raw.get()) {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                report.skip(&what, Code::BadShape, "a message must be an object");
                continue;
            }
            Err(error) => {
                let (code, reason) = unreadable(&error);
                report.skip(&what, code, format!("the message {reason}"));
                continue;
            }
        };
        let local = text_of(&message, "uuid").map_or_else(|| format!("m{at}"), str::to_owned);
        let mut draft = Draft { local: local.clone(), parent: previous.replace(local.clone()), ..Draft::default() };
        let inner = |name: &str| message.get("content").and_then(|content| content.get(name));
        let time = message.get("created_at").and_then(when::millis);
        draft.made.created_at = time.or_else(|| inner("timestamp").and_then(when::millis));
        draft.made.messages = said(message, &local);
        tree.drafts.push(draft);
    }
    Some(tree.finish(place, digest, report))
}

fn said(mut message: Map<String, Value>, local: &str) -> Vec<Message> {
    let role = text_of(&message, "role").map_or(Role::Other("unknown".to_owned()), Role::from);
    let mut blocks = Blocks::new(role.clone(), local);
    let mut content = match message.shift_remove("content") {
        Some(Value::Object(content)) => content,
        Some(other) => {
            blocks.content(other);
            return blocks.finish();
        }
        None => Map::new(),
    };
    let mut take = |name: &str| content.shift_remove(name).filter(|value| !says_nothing(value));
    let (text, list, files) = (take("content"), take("contentBlocks"), take("attachments"));
    match list {
        Some(Value::Array(list)) => list.into_iter().for_each(|block| add(block, &role, &mut blocks)),
        Some(other) => blocks.content(other),
        None => blocks.content(text.unwrap_or_default()),
    }
    if let Some(Value::Array(files)) = files {
        files.into_iter().for_each(|file| attachment(file, "content", &mut blocks));
    }
    let mut messages = blocks.finish();
    let known = ["id", "role", "timestamp"];
    content.retain(|field, value| !known.contains(&field.as_str()) && !says_nothing(value));
    if let (Some(first), false) = (messages.first_mut(), content.is_empty()) {
        let extra = first.extra.entry("claude").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(extra) = extra {
            extra.extend(content);
        }
    }
    messages
}

fn add(block: Value, role: &Role, blocks: &mut Blocks) {
    let Value::Object(mut object) = block else { return blocks.block(block) };
    match text_of(&object, "type").unwrap_or_default() {
        "tool_call" => {
            let Some(Value::Object(mut call)) = object.shift_remove("toolCall") else { return blocks.part(object) };
            let output = call.shift_remove("output");
            let result = Map::from_iter([
                ("type".to_owned(), "tool_result".into()),
                ("tool_use_id".to_owned(), call.get("id").cloned().unwrap_or_default()),
                ("name".to_owned(), call.get("name").cloned().unwrap_or_default()),
                ("content".to_owned(), output.clone().unwrap_or_default()),
            ]);
            if let Some(kind) = call.insert("type".to_owned(), "tool_use".into()) {
                call.insert("kind".to_owned(), kind);
            }
            blocks.block(Value::Object(call));
            if output.is_some() {
                blocks.block(Value::Object(result));
            }
        }
        "error" => {
            let reason = match object.shift_remove("message") {
                Some(Value::String(reason)) => reason,
                Some(other) => own_text(&other),
                None => "unknown".to_owned(),
            };
            let mut message = Message::new(role.clone(), "");
            message.kind = Kind::Error { code: "CHAT_ERROR".to_owned(), reason };
            message.include_in_context = false;
            object.shift_remove("type");
            if !object.is_empty() {
                message.extra.insert("claude".to_owned(), Value::Object(object));
            }
            blocks.message(message);
        }
        _ => blocks.block(Value::Object(object)),
    }
}
