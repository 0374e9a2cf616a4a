//! OpenAI chat messages: `{"messages":[…]}` a line, arrays of such objects, or bare lists of messages. They have no node ids;
//! what stands in for them is made in [`list`](crate::list).

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use threadkeep_core::{Message, MessageError};
use threadkeep_json::own_text;

use crate::format::messages_field;
use crate::list::{Known, List};
use crate::raw::Fields;
use crate::report::Report;
use crate::{Code, Conversation, Format, clean, when};

const IDS: [&str; 5] = ["conversation_id", "conversationId", "id", "uuid", "session_id"];
const TIMES: [&str; 6] = ["created_at", "createdAt", "create_time", "created", "timestamp", "date"];

/// The id that an object gives its conversation: text or a number.
pub(super) fn own_id(fields: &Fields) -> Option<String> {
    IDS.iter().find_map(|name| match fields.value(name) {
        Some(Value::String(id)) if !id.is_empty() => Some(id),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    })
}

/// When an object says that its conversation began.
pub(super) fn own_time(fields: &Fields) -> Option<i64> {
    TIMES.iter().find_map(|name| fields.value(name).as_ref().and_then(when::millis))
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
    let id = own_id(fields);
    let placed: Vec<&str> = IDS.iter().filter(|_| id.is_some()).chain([&name, &"title"]).copied().collect();
    let extra = crate::extra(fields, &placed, place, report);
    let mut tree = messages.list.tree(Format::OpenAiMessages, id, place, known, report)?;
    tree.title = fields.string("title");
    tree.created_at = own_time(fields);
    tree.extra = extra;
    Some(tree.finish(place, digest, report))
}

/// Messages that arrive one by one.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub list: List,
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
                Ok(message) => {
                    let time = time(&message, &place, report);
                    self.list.message(message, time);
                }
                Err(error) => report.skip(&place, Code::BadShape, error.to_string()),
            },
            Ok(_) => report.skip(&place, Code::BadShape, MessageError::NotAnObject.to_string()),
            Err(error) => {
                let (code, reason) = crate::unreadable(&error);
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
        let tree = self.list.tree(Format::OpenAiMessages, None, place, known, report)?;
        Some(tree.finish(place, digest, report))
    }
}

/// When a message says that it was made. A time that cannot be read stays with the message as it came, and is reported.
fn time(message: &Message, place: &str, report: &mut Report) -> Option<i64> {
    let given = || TIMES.iter().filter_map(|name| Some((*name, message.extra.get(*name)?)));
    let time = given().find_map(|(_, value)| when::millis(value));
    if time.is_none()
        && let Some((name, _)) = given().find(|(_, value)| !value.is_null())
    {
        let reason = format!(
            "its {name} is no time: it must be ISO 8601 text, or a number of milliseconds or seconds since 1970"
        );
        report.warn(place, Code::BadShape, reason);
    }
    time
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
        let text = |value: &Value| value.as_str().map_or_else(|| own_text(value), str::to_owned);
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
