//! Open WebUI's export: chats, each with a `history` of messages by id and the end of the chosen branch.
//!
//! What a model thought and called lies in `output`, a list of items; in older chats, in `<details>` within the text.

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, Role};

use crate::blocks::{Blocks, beside, object};
use crate::draft::Draft;
use crate::html::entities;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::{Report, short};
use crate::tree::Tree;
use crate::{Code, Conversation, Format, items, when};

/// Fields of a chat that have a place of their own.
const PLACED: [&str; 7] = ["id", "title", "chat", "created_at", "updated_at", "history", "messages"];
/// Fields of a message that have one.
const KNOWN: [&str; 8] = ["id", "parentId", "childrenIds", "role", "timestamp", "model", "done", "error"];

/// Reads one chat; says why where it cannot.
pub(super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let inner = fields.object("chat");
    let chat = inner.as_ref().unwrap_or(fields);
    let id = fields.string("id").filter(|id| !id.is_empty()).or_else(|| chat.string("id").filter(|id| !id.is_empty()));
    let mut tree = Tree::new(Format::OpenWebUi.name(), &id.unwrap_or_else(|| format!("{digest:016x}")));
    tree.title = fields.string("title").or_else(|| chat.string("title"));
    let time = |name: &str| fields.value(name).as_ref().and_then(when::millis);
    (tree.created_at, tree.updated_at) = (time("created_at").or_else(|| time("timestamp")), time("updated_at"));
    tree.extra = crate::extra(fields, &PLACED, place, report);
    if let Some(chat) = &inner {
        tree.extra.extend(crate::extra(chat, &[&PLACED[..], &["timestamp"]].concat(), place, report));
    }
    let system = chat.object("params").and_then(|params| params.string("system")).or_else(|| chat.string("system"));
    if let Some(system) = system.filter(|text| !text.is_empty()) {
        tree.root.messages.push(Message::system(system));
    }
    let history = chat.object("history");
    tree.leaf = history.as_ref().and_then(|history| history.string("currentId"));
    let mapping = history.as_ref().and_then(|history| history.object("messages"));
    match (&mapping, chat.array("messages")) {
        (Some(mapping), _) => {
            for (key, raw) in &mapping.0 {
                draft(key, false, raw.get(), place, &mut tree, report);
            }
        }
        // Older chats: a plain list.
        (None, Some(list)) => {
            for (at, raw) in list.into_iter().enumerate() {
                draft(&format!("m{at}"), true, raw.get(), place, &mut tree, report);
            }
        }
        (None, None) => {
            report.skip(place, Code::BadShape, "the chat has no `history` with `messages`");
            return None;
        }
    }
    if tree.drafts.is_empty() {
        report.skip(place, Code::Empty, "a conversation without messages");
        return None;
    }
    Some(tree.finish(place, digest, report))
}

/// Adds a message: under its key in the history, or, in a plain list, under its own id and after the one before it.
fn draft(key: &str, listed: bool, raw: &str, place: &str, tree: &mut Tree, report: &mut Report) {
    let what = format!("{place}, node {}", short(key));
    let Some(map) = object(raw, &what, report) else { return };
    let local = if listed { text_of(&map, "id").unwrap_or(key) } else { key }.to_owned();
    let previous = tree.drafts.last().filter(|_| listed).map(|draft| draft.local.clone());
    let parent = text_of(&map, "parentId").map(str::to_owned).or(previous);
    let children = map.get("childrenIds").and_then(Value::as_array).into_iter().flatten();
    let children = children.filter_map(|child| child.as_str().map(str::to_owned)).collect();
    let mut draft = Draft { local, parent, children, ..Draft::default() };
    draft.made.created_at = map.get("timestamp").and_then(when::millis);
    draft.made.origin.model = text_of(&map, "model").map(str::to_owned);
    draft.made.messages = said(map, &draft.local);
    tree.drafts.push(draft);
}

fn said(mut map: Map<String, Value>, local: &str) -> Vec<Message> {
    let role = text_of(&map, "role").map_or(Role::Other("unknown".to_owned()), Role::from);
    let mut blocks = Blocks::of("open-webui", role.clone(), local);
    let content = map.shift_remove("content").unwrap_or_default();
    match map.shift_remove("output") {
        Some(Value::Array(output)) if !output.is_empty() => {
            for item in output {
                match item {
                    Value::Object(item) => items::add(item, &mut blocks),
                    other => blocks.block(other),
                }
            }
        }
        _ => match content {
            Value::String(text) if role == Role::Assistant => details(&text, &mut blocks),
            Value::String(text) => blocks.text(text),
            other => items::content(other, &mut blocks),
        },
    }
    if let Some(Value::Array(files)) = map.shift_remove("files") {
        files.into_iter().for_each(|file| attach(file, &mut blocks));
    }
    let mut messages = blocks.finish();
    let reason = match map.get("error") {
        Some(Value::Object(error)) => text_of(error, "content").or_else(|| text_of(error, "detail")),
        Some(Value::String(error)) => Some(error.as_str()),
        _ => None,
    };
    if let (Some(reason), Some(message)) = (reason, messages.last_mut()) {
        message.kind = Kind::Error { code: "CHAT_ERROR".to_owned(), reason: reason.to_owned() };
    }
    map.retain(|name, _| !KNOWN.contains(&name.as_str()));
    beside(&mut messages, "open-webui", map);
    messages
}

/// An attached file; an image's address makes it one.
fn attach(file: Value, blocks: &mut Blocks) {
    let Value::Object(mut file) = file else { return };
    let url = text_of(&file, "url").filter(|url| url.starts_with("data:image/") || url.starts_with("http"));
    match url.filter(|_| text_of(&file, "type") == Some("image")) {
        Some(url) => {
            let address = Map::from_iter([("url".to_owned(), url.into())]);
            let fields = [("type".to_owned(), "image_url".into()), ("image_url".to_owned(), Value::Object(address))];
            blocks.part(Map::from_iter(fields));
        }
        None => {
            file.retain(|_, value| !says_nothing(value));
            let fields = [("type".to_owned(), "attachment".into()), ("attachment".to_owned(), Value::Object(file))];
            blocks.part(Map::from_iter(fields));
        }
    }
}

/// Adds a text in which `<details type="…">` holds what the model thought and called.
fn details(text: &str, blocks: &mut Blocks) {
    let mut rest = text;
    while let Some(start) = rest.find("<details type=\"") {
        let Some(head) = rest[start..].find('>').map(|at| start + at) else { break };
        let Some(end) = rest[head..].find("</details>").map(|at| head + at) else { break };
        let attribute = |name: &str| {
            let at = rest[start..head].find(&format!(" {name}=\""))? + start + name.len() + 3;
            rest[at..head].split('"').next().map(entities)
        };
        let inner = &rest[head + 1..end];
        let inner = inner.split_once("</summary>").map_or(inner, |(_, inner)| inner);
        plain(&rest[..start], blocks);
        match attribute("type").as_deref() {
            Some("reasoning") => {
                let lines: Vec<String> = entities(inner).trim().lines().map(unquoted).collect();
                blocks.reasoning(&lines.join("\n"));
            }
            Some("tool_calls") if attribute("name").is_some() => {
                let value = |name: &str| attribute(name).map_or(Value::Null, Value::String);
                let (id, name) = (value("id"), value("name"));
                blocks.tool_call(id.clone(), name.clone(), decoded(value("arguments")));
                let result = decoded(value("result"));
                if !result.is_null() {
                    blocks.tool_result(id, name, result, false);
                }
            }
            _ => blocks.text(rest[start..end + "</details>".len()].to_owned()),
        }
        rest = &rest[end + "</details>".len()..];
    }
    plain(rest, blocks);
}

fn plain(text: &str, blocks: &mut Blocks) {
    if !text.trim().is_empty() {
        blocks.text(text.trim_matches('\n').to_owned());
    }
}

fn unquoted(line: &str) -> String {
    line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line).to_owned()
}

/// A string that is itself written as JSON in the attribute.
fn decoded(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    }
}
