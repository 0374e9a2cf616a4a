//! LibreChat's export of a conversation: messages with parent links, in a plain list or each within its parent.

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, Role};

use crate::attachment::attachment;
use crate::blocks::{Blocks, beside};
use crate::draft::Draft;
use crate::nested::flatten;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::{Report, short};
use crate::tree::Tree;
use crate::{Code, Conversation, Format, when};

/// Fields of a conversation that have a place of their own.
const PLACED: [&str; 8] =
    ["conversationId", "title", "messages", "exportAt", "branches", "recursive", "createdAt", "updatedAt"];
/// Fields of a message that have one, or that say nothing beside it.
const KNOWN: [&str; 13] = [
    "_id",
    "__v",
    "messageId",
    "conversationId",
    "parentMessageId",
    "createdAt",
    "updatedAt",
    "isCreatedByUser",
    "user",
    "endpoint",
    "model",
    "error",
    "children",
];
/// The parent of a conversation's first message.
const TOP: &str = "00000000-0000-0000-0000-000000000000";

/// Reads one conversation; says why where it cannot.
pub(super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let messages = fields.get("messages").filter(|raw| raw.starts_with('['));
    let (Some(id), Some(messages)) = (fields.string("conversationId"), messages) else {
        let reason = "a LibreChat conversation must have a `conversationId` and a list of `messages`";
        report.skip(place, Code::BadShape, reason);
        return None;
    };
    let (nodes, strays) = flatten(messages, "children");
    if strays > 0 {
        report.skip(place, Code::BadShape, format!("messages that are no objects ({strays})"));
    }
    if nodes.is_empty() {
        report.skip(place, Code::Empty, "a conversation without messages");
        return None;
    }
    let mut tree = Tree::new(Format::LibreChat.name(), &id);
    tree.title = fields.string("title");
    tree.created_at = fields.value("createdAt").as_ref().and_then(when::millis);
    tree.updated_at = fields.value("updatedAt").as_ref().and_then(when::millis);
    tree.extra = crate::extra(fields, &PLACED, place, report);
    tree.root_names.push(TOP.to_owned());
    if let Some(prompt) = fields.object("options").and_then(|options| options.string("promptPrefix"))
        && !prompt.is_empty()
    {
        tree.root.messages.push(Message::system(prompt));
    }
    for (at, node) in nodes.iter().enumerate() {
        let map = node.map(place, report);
        let local = text_of(&map, "messageId").map_or_else(|| format!("m{at}"), str::to_owned);
        let parent = match (node.parent, map.get("parentMessageId")) {
            (_, Some(Value::String(parent))) => Some(parent.clone()),
            (Some(up), _) => Some(tree.drafts[up].local.clone()),
            // A list without links: each message follows the one before it.
            (None, None) => tree.drafts.last().map(|draft| draft.local.clone()),
            (None, Some(_)) => None,
        };
        if let Some(up) = node.parent {
            tree.drafts[up].children.push(local.clone());
        }
        let mut draft = Draft { local, parent, ..Draft::default() };
        draft.made.created_at = map.get("createdAt").and_then(when::millis);
        draft.made.origin.model = text_of(&map, "model").map(str::to_owned);
        draft.made.messages = said(map, &draft.local, place, report);
        tree.drafts.push(draft);
    }
    Some(tree.finish(place, digest, report))
}

fn said(mut map: Map<String, Value>, local: &str, place: &str, report: &mut Report) -> Vec<Message> {
    let sender = text_of(&map, "sender").unwrap_or_default();
    let role = match map.get("isCreatedByUser") {
        Some(Value::Bool(true)) => Role::User,
        None if sender.eq_ignore_ascii_case("user") => Role::User,
        _ => Role::Assistant,
    };
    let (user, fails) = (role == Role::User, map.get("error") == Some(&Value::Bool(true)));
    let mut blocks = Blocks::of("librechat", role, local);
    let text = map.shift_remove("text");
    match map.shift_remove("content").filter(|content| !says_nothing(content)) {
        Some(Value::Array(parts)) => parts.into_iter().for_each(|part| add(part, &mut blocks)),
        Some(other) => blocks.content(other),
        None => match text {
            Some(Value::String(text)) => blocks.text(text),
            Some(other) => blocks.content(other),
            None => {
                let what = format!("{place}, node {}", short(local));
                report.warn(&what, Code::BadShape, "the message has neither `text` nor `content`; it comes in empty");
            }
        },
    }
    for name in ["files", "attachments"] {
        if let Some(Value::Array(files)) = map.shift_remove(name) {
            files.into_iter().for_each(|file| attachment(file, "text", &mut blocks));
        }
    }
    let mut messages = blocks.finish();
    if user {
        map.shift_remove("sender");
    }
    map.retain(|name, _| !KNOWN.contains(&name.as_str()));
    if fails && let Some(message) = messages.first_mut() {
        message.kind = Kind::Error { code: "CHAT_ERROR".to_owned(), reason: message.text().into_owned() };
    }
    beside(&mut messages, "librechat", map);
    messages
}

/// Adds a part: text, a thought, a call with what it gave, or something else.
fn add(part: Value, blocks: &mut Blocks) {
    let Value::Object(mut part) = part else { return blocks.block(part) };
    // Texts are strings or objects with a `value`.
    let inner = |value: Option<Value>| match value {
        Some(Value::Object(mut map)) => map.shift_remove("value"),
        value => value,
    };
    match text_of(&part, "type").unwrap_or_default() {
        "text" => match inner(part.shift_remove("text")) {
            Some(Value::String(text)) => blocks.text(text),
            other => blocks.content(other.unwrap_or_default()),
        },
        "think" => match inner(part.shift_remove("think")) {
            Some(Value::String(thought)) => blocks.reasoning(&thought),
            _ => blocks.part(part),
        },
        "tool_call" => match part.shift_remove("tool_call") {
            Some(Value::Object(mut call)) => {
                let mut function = match call.shift_remove("function") {
                    Some(Value::Object(function)) => function,
                    _ => Map::new(),
                };
                let mut take =
                    |name: &str| call.shift_remove(name).or_else(|| function.shift_remove(name)).unwrap_or_default();
                let (id, name, output) = (take("id"), take("name"), take("output"));
                let input = match take("args") {
                    Value::Null => take("arguments"),
                    args => args,
                };
                blocks.tool_call(id.clone(), name.clone(), input);
                if !output.is_null() {
                    blocks.tool_result(id, name, output, false);
                }
            }
            _ => blocks.part(part),
        },
        _ => blocks.part(part),
    }
}
