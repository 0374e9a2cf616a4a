//! Claude.ai's data export: a conversation is a list of messages with parent links (older exports: a plain list).

use serde_json::{Map, Value};
use threadkeep_core::{Message, Role};

use super::Blocks;
use crate::attachment::attachment;
use crate::draft::Draft;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Conversation, Format, clean, extra, unreadable, when};

/// Fields of a conversation that have a place of their own.
const PLACED: [&str; 6] = ["uuid", "name", "created_at", "updated_at", "current_leaf_message_uuid", "chat_messages"];

/// The parent of a conversation's first message.
const TOP: &str = "00000000-0000-4000-8000-000000000000";

/// Reads one conversation; says why where it cannot.
pub(in super::super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    if !fields.has("chat_messages") && fields.has("messages") {
        return super::design::read(fields, place, digest, report);
    }
    let Some(id) = fields.string("uuid") else {
        report.skip(place, Code::BadShape, "a Claude.ai conversation without `uuid`");
        return None;
    };
    let Some(messages) = fields.array("chat_messages") else {
        let is = if fields.get("chat_messages").is_none() { "are missing" } else { "are not a list" };
        report.skip(place, Code::BadShape, format!("the conversation's messages (`chat_messages`) {is} in the export"));
        return None;
    };
    if messages.is_empty() {
        report.skip(place, Code::Empty, "a conversation without messages");
        return None;
    }
    let mut tree = Tree::new(Format::ClaudeAi.name(), &id);
    tree.title = fields.string("name");
    tree.created_at = fields.value("created_at").as_ref().and_then(when::millis);
    tree.updated_at = fields.value("updated_at").as_ref().and_then(when::millis);
    tree.leaf = fields.string("current_leaf_message_uuid").filter(|leaf| !leaf.is_empty());
    tree.extra = extra(fields, &PLACED, place, report);
    tree.root_names.push(TOP.to_owned());
    let mut previous: Option<String> = None;
    for (at, raw) in messages.iter().enumerate() {
        let what = || format!("{place}, message {}", at + 1);
        let message = match clean::value(raw.get()) {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                report.skip(&what(), Code::BadShape, "a message must be an object");
                continue;
            }
            Err(error) => {
                let (code, reason) = unreadable(&error);
                report.skip(&what(), code, format!("the message {reason}"));
                continue;
            }
        };
        let local = text_of(&message, "uuid").map_or_else(|| format!("m{at}"), str::to_owned);
        // Older exports have no parents: each message follows the one before it.
        let parent = match message.get("parent_message_uuid") {
            None => previous.clone(),
            Some(parent) => parent.as_str().map(str::to_owned),
        };
        let mut draft = Draft { local: local.clone(), parent, ..Draft::default() };
        draft.made.created_at = message.get("created_at").and_then(when::millis);
        draft.made.messages = said(message, &local, &what, report);
        tree.drafts.push(draft);
        previous = Some(local);
    }
    Some(tree.finish(place, digest, report))
}

/// What a message says.
fn said(mut message: Map<String, Value>, local: &str, what: &dyn Fn() -> String, report: &mut Report) -> Vec<Message> {
    let role = match text_of(&message, "sender").or_else(|| text_of(&message, "role")) {
        Some("human") => Role::User,
        Some(sender) => Role::from(sender),
        None => {
            report.warn(&what(), Code::BadShape, "the message does not say who sent it");
            Role::Other("unknown".to_owned())
        }
    };
    let mut blocks = Blocks::new(role, local);
    let text = message.shift_remove("text");
    match message.shift_remove("content") {
        Some(content) if !says_nothing(&content) => blocks.content(content),
        _ => blocks.content(text.unwrap_or_default()),
    }
    attachments(&mut message, &mut blocks);
    let mut messages = blocks.finish();
    let known = ["uuid", "sender", "role", "created_at", "updated_at", "index", "parent_message_uuid", "truncated"];
    message.retain(|field, value| !known.contains(&field.as_str()) && !says_nothing(value));
    if let (Some(first), false) = (messages.first_mut(), message.is_empty()) {
        let extra = first.extra.entry("claude").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(extra) = extra {
            extra.extend(message);
        }
    }
    messages
}

/// Attached files: what was extracted from them is text that the model read; of the others the names are kept.
fn attachments(message: &mut Map<String, Value>, blocks: &mut Blocks) {
    let mut list = |name: &str| match message.shift_remove(name) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    for file in list("attachments") {
        attachment(file, "extracted_content", blocks);
    }
    let (newer, older) = (list("files_v2"), list("files"));
    let mut seen: Vec<String> = Vec::new();
    for file in newer.into_iter().chain(older) {
        let id = ["file_uuid", "uuid", "file_name"].iter().find_map(|name| file.get(name).and_then(Value::as_str));
        if let Some(id) = id.map(str::to_owned) {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
        }
        attachment(file, "extracted_content", blocks);
    }
}
