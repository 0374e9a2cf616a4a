//! ShareGPT data: `{"id", "conversations": [{"from", "value"}]}`, in arrays or a line each; and Chatbot UI's history, whose
//! conversations are plain lists too.

use serde_json::{Map, Value};
use threadkeep_core::{Message, Role};
use threadkeep_json::own_text;

use super::openai::{Messages, own_id, own_time};
use crate::blocks::{Blocks, beside, object};
use crate::digest::Sum;
use crate::list::{Known, List};
use crate::raw::{Fields, text_of};
use crate::report::{Report, short};
use crate::{Code, Conversation, Format, when};

/// Fields of a conversation that have a place of their own.
const PLACED: [&str; 8] =
    ["conversations", "system", "title", "id", "conversation_id", "conversationId", "uuid", "session_id"];

/// Reads one conversation.
pub(super) fn read(
    fields: &Fields,
    place: &str,
    digest: u64,
    known: &mut Known,
    report: &mut Report,
) -> Option<Conversation> {
    let mut list = List::default();
    if let Some(system) = fields.string("system").filter(|text| !text.is_empty()) {
        list.message(Message::system(system), None);
    }
    for (at, raw) in fields.array("conversations").unwrap_or_default().into_iter().enumerate() {
        let what = format!("{place}{}message {}", if place.is_empty() { "" } else { ", " }, at + 1);
        let Some(turn) = object(raw.get(), &what, report) else { continue };
        let time = turn.get("timestamp").and_then(when::millis);
        match said(turn, at) {
            Some(message) => list.message(message, time),
            None => report.skip(&what, Code::BadShape, "the message has no `value`"),
        }
    }
    let mut tree = list.tree(Format::ShareGpt, own_id(fields), place, known, report)?;
    tree.title = fields.string("title");
    tree.created_at = own_time(fields);
    tree.extra = crate::extra(fields, &PLACED, place, report);
    Some(tree.finish(place, digest, report))
}

fn said(mut turn: Map<String, Value>, at: usize) -> Option<Message> {
    let mut take = |names: [&str; 3]| names.iter().find_map(|name| turn.shift_remove(*name)).filter(|v| !v.is_null());
    let from = take(["from", "role", "user"]);
    let value = match take(["value", "content", "text"])? {
        Value::String(text) => text,
        other => own_text(&other),
    };
    let from = from.as_ref().and_then(Value::as_str).unwrap_or("unknown");
    let role = match from {
        "human" | "user" | "prompter" => Role::User,
        "gpt" | "assistant" | "chatgpt" | "bing" | "bard" | "model" | "bot" | "function_call" => Role::Assistant,
        "system" => Role::System,
        "tool" | "observation" | "function_response" | "function" => Role::Tool,
        other => Role::Other(other.to_owned()),
    };
    let mut message = match (from, serde_json::from_str::<Value>(&value)) {
        // A call is written as JSON with the tool's name.
        ("function_call", Ok(Value::Object(call))) if text_of(&call, "name").is_some() => {
            let mut blocks = Blocks::of("sharegpt", role, &at.to_string());
            let input = call.get("arguments").or_else(|| call.get("parameters")).cloned();
            blocks.tool_call(Value::Null, call.get("name").cloned().unwrap_or_default(), input.unwrap_or_default());
            blocks.finish().swap_remove(0)
        }
        _ => Message::new(role, value),
    };
    turn.shift_remove("timestamp");
    beside(std::slice::from_mut(&mut message), "sharegpt", turn);
    Some(message)
}

/// Reads Chatbot UI's export: a history of conversations, each a list of chat messages.
pub(super) fn chatbot_ui(fields: &Fields, place: &str, known: &mut Known, report: &mut Report) {
    for (at, raw) in fields.array("history").unwrap_or_default().into_iter().enumerate() {
        let mut what = format!("{place}{}conversation {}", if place.is_empty() { "" } else { ", " }, at + 1);
        let chat = match Fields::parse(raw.get()) {
            Ok(chat) => chat,
            Err(_) => {
                report.skip(&what, Code::BadShape, "a conversation must be an object");
                continue;
            }
        };
        let title = chat.string("name");
        if let Some(title) = &title {
            what.push_str(&format!(" \"{}\"", short(title)));
        }
        let mut messages = Messages::default();
        if let Some(prompt) = chat.string("prompt").filter(|prompt| !prompt.is_empty()) {
            messages.list.message(Message::system(prompt), None);
        }
        for raw in chat.array("messages").unwrap_or_default() {
            messages.add(raw, &what, report);
        }
        let Some(mut tree) = messages.list.tree(Format::ChatbotUi, own_id(&chat), &what, known, report) else {
            continue;
        };
        let model = chat.object("model").and_then(|model| model.string("id"));
        let answers = |message: &Message| message.role == Role::Assistant;
        for draft in tree.drafts.iter_mut().filter(|draft| draft.made.messages.iter().any(answers)) {
            draft.made.origin.model.clone_from(&model);
        }
        tree.title = title;
        tree.extra = crate::extra(&chat, &["id", "name", "prompt", "messages"], &what, report);
        let made = tree.finish(&what, Sum::default().with(raw.get().as_bytes()).0, report);
        report.conversation(made);
    }
}
