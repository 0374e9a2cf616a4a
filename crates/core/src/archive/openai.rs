//! OpenAI chat messages: `{"messages":[…]}` a line, arrays of such objects, or bare lists of messages.
//!
//! There are no node ids, so a node's id is made of its position and all that was said up to there: a longer version of the
//! same conversation gives the same ids as far as they agree, and another ending becomes a branch. Leading system messages are
//! the root. Without an id of its own, a conversation is known by what it says up to the first answer.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::digest::Digest;
use super::format::messages_field;
use super::raw::{Fields, json_text};
use super::report::Report;
use super::tree::{Draft, Tree};
use super::{Code, Conversation, Format, clean, when};
use crate::{Message, MessageError, Role};

const IDS: [&str; 5] = ["conversation_id", "conversationId", "id", "uuid", "session_id"];
const TIMES: [&str; 5] = ["created_at", "create_time", "created", "timestamp", "date"];

/// The conversations of a file that have no ids: what they begin with, and for each of those how the threads end so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    beginnings: HashMap<String, usize>,
    threads: Vec<Vec<(u64, usize)>>,
}

impl Known {
    /// The number of the thread, among those that begin alike, that `chain` (a digest for each prefix) continues or begins.
    fn thread(&mut self, key: u64, chain: &[u64]) -> usize {
        let at = *self.beginnings.entry(format!("{key:016x}")).or_insert(self.threads.len());
        if at == self.threads.len() {
            self.threads.push(Vec::new());
        }
        let threads = &mut self.threads[at];
        let last = (chain.last().copied().unwrap_or_default(), chain.len());
        let same = |(end, len): &(u64, usize)| *len > 0 && chain.get(len - 1) == Some(end);
        let at = threads.iter().position(same).unwrap_or(threads.len());
        if at == threads.len() {
            threads.push(last);
        } else {
            threads[at] = last;
        }
        at + 1
    }
}

/// Reads an object that holds a list of messages.
pub(super) fn read(
    fields: &Fields,
    place: &str,
    digest: u64,
    known: &mut Known,
    report: &mut Report,
) -> Option<Conversation> {
    let name = messages_field(fields)?;
    let mut messages = Messages::default();
    for raw in fields.array(name).unwrap_or_default() {
        messages.add(raw, place, report);
    }
    let text_or_number = |name: &&str| match fields.value(name) {
        Some(Value::String(id)) if !id.is_empty() => Some(id),
        Some(Value::Number(id)) => Some(id.as_str().to_owned()),
        _ => None,
    };
    let id = IDS.iter().find_map(text_or_number);
    let placed: Vec<&str> = IDS.iter().filter(|_| id.is_some()).chain([&name, &"title"]).copied().collect();
    let extra = super::extra(fields, &placed, place, report);
    let mut tree = messages.tree(id, place, known, report)?;
    tree.title = fields.string("title");
    tree.created_at = TIMES.iter().find_map(|name| fields.value(name).as_ref().and_then(when::millis));
    tree.extra = extra;
    Some(tree.finish(place, digest, report))
}

/// Messages that arrive one by one.
#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<Message>,
    given: u64,
}

impl Messages {
    /// Takes the next message; what is none is reported.
    pub fn add(&mut self, raw: &RawValue, place: &str, report: &mut Report) {
        self.given += 1;
        let place = if place.is_empty() { String::new() } else { format!("{place}, ") };
        let place = format!("{place}message {}", self.given);
        match clean::value(raw.get()) {
            Ok(Value::Object(message)) => match lenient(message, &place, report) {
                Ok(message) => self.list.push(message),
                Err(error) => report.skip(&place, Code::BadShape, error.to_string()),
            },
            Ok(_) => report.skip(&place, Code::BadShape, MessageError::NotAnObject.to_string()),
            Err(error) => {
                let (code, reason) = super::unreadable(&error);
                report.skip(&place, code, format!("the message {reason}"));
            }
        }
    }

    /// The conversation that they make, once all are there.
    pub fn conversation(
        self,
        place: &str,
        digest: u64,
        known: &mut Known,
        report: &mut Report,
    ) -> Option<Conversation> {
        Some(self.tree(None, place, known, report)?.finish(place, digest, report))
    }

    fn tree(self, id: Option<String>, place: &str, known: &mut Known, report: &mut Report) -> Option<Tree> {
        if self.list.is_empty() {
            report.skip(place, Code::Empty, "a conversation without messages");
            return None;
        }
        let mut chain = Vec::with_capacity(self.list.len());
        let mut sum = Digest::new();
        for message in &self.list {
            // Messages have string keys only, so this gives text.
            sum = sum.with(serde_json::to_string(message).unwrap_or_default().as_bytes());
            chain.push(sum.0);
        }
        let id = id.unwrap_or_else(|| {
            let first_answer = self.list.iter().position(|message| message.role == Role::Assistant);
            let key = chain[first_answer.unwrap_or(chain.len() - 1)];
            match known.thread(key, &chain) {
                1 => format!("{key:016x}"),
                n => format!("{key:016x}~{n}"),
            }
        });
        let mut tree = Tree::new(Format::OpenAiMessages.name(), &id);
        let mut parent = None;
        for (at, message) in self.list.into_iter().enumerate() {
            let created_at = TIMES.iter().find_map(|name| message.extra.get(*name).and_then(when::millis));
            if parent.is_none() && matches!(message.role, Role::System | Role::Developer) {
                tree.root.created_at = created_at;
                tree.root.messages.push(message);
                continue;
            }
            let local = format!("{at}-{:016x}", chain[at]);
            let mut draft = Draft { local: local.clone(), parent: parent.replace(local), ..Draft::default() };
            draft.made.created_at = created_at;
            draft.made.messages.push(message);
            tree.drafts.push(draft);
        }
        tree.leaf = parent;
        Some(tree)
    }
}

/// Reads a message; a field of a type that the chat form does not know is put aside under `extra["openai"]`.
fn lenient(mut map: Map<String, Value>, place: &str, report: &mut Report) -> Result<Message, MessageError> {
    let mut aside = Map::new();
    for field in ["content", "name", "tool_call_id", "tool_calls"] {
        if map.get(field).is_some_and(|value| !fits(field, value))
            && let Some(value) = map.shift_remove(field)
        {
            aside.insert(field.to_owned(), value);
        }
    }
    let mut message = Message::from_json(Value::Object(map))?;
    if !aside.is_empty() {
        let names: Vec<&str> = aside.keys().map(String::as_str).collect();
        let reason = format!(
            "its {} has a type that chat messages do not have; it is kept beside the message",
            names.join(", ")
        );
        report.warn(place, Code::BadShape, reason);
        let text = |value: &Value| value.as_str().map_or_else(|| json_text(value), str::to_owned);
        message.content = match aside.get("content") {
            Some(Value::Array(parts)) => parts.iter().map(text).collect::<Vec<_>>().join("\n").into(),
            Some(other) => text(other).into(),
            None => message.content,
        };
        message.extra.insert("openai".to_owned(), Value::Object(aside));
    }
    Ok(message)
}

/// Whether [`Message::from_json`] takes a field of this value.
fn fits(field: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(_) => field != "tool_calls",
        Value::Array(values) => matches!(field, "content" | "tool_calls") && values.iter().all(Value::is_object),
        _ => false,
    }
}
