//! Raw traces: what was said, called and answered, one line each, and the way between them and messages.
//!
//! A message becomes one trace, an assistant's with calls one for its text (if any) and one for each call; they share the
//! message's `correlation_id`, by which [`messages`] puts them together again. System prompts are no traces.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use threadkeep_core::message::{Part, ToolCall};
use threadkeep_core::node::turn_name;
use threadkeep_core::read::or_default;
use threadkeep_core::{Content, Message, Role};

use super::{millis, put, seconds};
use crate::memory::Step;
use crate::memory::turns::{arguments, content};

/// What a trace records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceType {
    /// A user's input.
    User,
    /// A model's answer.
    Assistant,
    /// A model's call of a tool.
    ToolCall,
    /// A tool's answer.
    ToolResult,
}

impl TraceType {
    /// Its name: `user`, `assistant`, `tool_call` or `tool_result`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
        }
    }

    /// The event from which traces of the kind come.
    pub const fn event(self) -> &'static str {
        match self {
            Self::User => "LLMUserMessageReadyEvent",
            Self::Assistant => "LLMCompleteResponseReceivedEvent",
            Self::ToolCall => "PendingToolInvocationEvent",
            Self::ToolResult => "ToolResultEvent",
        }
    }
}

/// One line of `raw_traces.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawTrace {
    /// Its id.
    pub id: String,
    /// When it was made, in seconds since 1970 with a fraction.
    pub ts: Number,
    /// The turn, such as `turn_0001`.
    pub turn_id: String,
    /// Its place in the turn, from 1.
    pub seq: u64,
    /// What it records.
    pub trace_type: TraceType,
    /// The text; may be empty for tools.
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    /// The event that it came from.
    #[serde(default, deserialize_with = "or_default")]
    pub source_event: String,
    /// The optional fields and those that we do not know, in the order in which they came: `media`, `tool_name`,
    /// `tool_call_id`, `tool_args`, `tool_result`, `tool_error`, `correlation_id`, `tags`, `tool_result_ref`, …
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Reads a line.
///
/// # Errors
/// It is no JSON, or a required field is missing or of another type.
pub fn read_trace(line: &str) -> Result<RawTrace, serde_json::Error> {
    serde_json::from_str(line)
}

impl RawTrace {
    /// The time in milliseconds since 1970 (UTC); `None` for what is no time.
    pub fn millis(&self) -> Option<i64> {
        millis(&self.ts)
    }

    fn text(&self, name: &str) -> &str {
        self.more.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The traces of a chain. Their ids are made of the node's: the same chain gives the same lines.
pub fn traces(steps: &[Step]) -> Vec<RawTrace> {
    let mut traces: Vec<RawTrace> = Vec::new();
    // A turn's number says nothing of how many there are: an import may have brought any.
    let mut seqs: HashMap<u32, u64> = HashMap::new();
    // Of calls that share an id, the last.
    let calls = steps.iter().flat_map(|step| &step.message.tool_calls);
    let called: HashMap<&str, &str> = calls.map(|call| (call.id(), call.name())).collect();
    for step in steps {
        let message = step.message;
        let place = [step.node.as_str(), "/", &step.index.to_string()].concat();
        let seq = seqs.entry(step.turn).or_default();
        let mut add = |kind: TraceType, id: String, mut more: Map<String, Value>| {
            *seq += 1;
            put(&mut more, "correlation_id", place.as_str());
            if !message.tags.is_empty() {
                put(&mut more, "tags", message.tags.clone());
            }
            let content =
                if matches!(kind, TraceType::User | TraceType::Assistant) { message.text() } else { "".into() };
            traces.push(RawTrace {
                id,
                ts: seconds(step.created_at.unwrap_or_default()),
                turn_id: turn_name(step.turn),
                seq: *seq,
                trace_type: kind,
                content: content.into_owned(),
                source_event: kind.event().to_owned(),
                more,
            });
        };
        match message.role {
            Role::User => add(TraceType::User, place.clone(), media(message)),
            Role::Tool => {
                let mut more = Map::new();
                let name = message.name.as_deref().or_else(|| called.get(message.tool_call_id.as_deref()?).copied());
                put(&mut more, "tool_name", name.unwrap_or_default());
                put(&mut more, "tool_call_id", message.tool_call_id.as_deref().unwrap_or_default());
                if message.is_error {
                    put(&mut more, "tool_error", message.text().into_owned());
                } else {
                    put(&mut more, "tool_result", content(&message.content));
                }
                add(TraceType::ToolResult, place.clone(), more);
            }
            Role::Assistant => {
                if !message.content.is_empty() || message.tool_calls.is_empty() {
                    add(TraceType::Assistant, place.clone(), media(message));
                }
                for (at, call) in message.tool_calls.iter().enumerate() {
                    let mut more = Map::new();
                    put(&mut more, "tool_name", call.name());
                    put(&mut more, "tool_call_id", call.id());
                    put(&mut more, "tool_args", arguments(call.arguments()));
                    add(TraceType::ToolCall, [&place, "/", &at.to_string()].concat(), more);
                }
            }
            _ => {}
        }
    }
    traces
}

/// The `media` of a message with parts other than text.
fn media(message: &Message) -> Map<String, Value> {
    let mut more = Map::new();
    let Content::Parts(parts) = &message.content else { return more };
    let mut lists: [Vec<Value>; 3] = Default::default();
    for part in parts {
        for (list, kind) in lists.iter_mut().zip(MEDIA) {
            let url = part.0.get(kind.1).and_then(|inner| inner.get("url").or(inner.as_str().map(|_| inner)));
            list.extend(url.filter(|_| part.kind() == kind.1).cloned());
        }
    }
    if lists.iter().any(|list| !list.is_empty()) {
        let names = MEDIA.iter().map(|(name, _)| (*name).to_owned());
        more.insert("media".to_owned(), Value::Object(names.zip(lists.into_iter().map(Value::Array)).collect()));
    }
    more
}

const MEDIA: [(&str, &str); 3] = [("images", "image_url"), ("audio", "audio_url"), ("video", "video_url")];

/// A message as traces tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The id of the first trace of it.
    pub id: String,
    /// The turn's name.
    pub turn_id: String,
    /// When it was traced, in milliseconds since 1970 (UTC).
    pub created_at: Option<i64>,
    /// The message.
    pub message: Message,
}

/// The messages that traces make, each with its turn's name and its time: in the order of the traces (archive first, then
/// the active file).
pub fn messages(traces: &[RawTrace]) -> Vec<(String, Option<i64>, Message)> {
    told(traces).into_iter().map(|told| (told.turn_id, told.created_at, told.message)).collect()
}

/// The same with the ids of the traces.
pub fn told(traces: &[RawTrace]) -> Vec<Told> {
    let mut made: Vec<Told> = Vec::new();
    // What the last message was made of, so that the calls of one answer come together again.
    let mut last: Option<&RawTrace> = None;
    for trace in traces {
        let mut message = match trace.trace_type {
            TraceType::User => Message::user(spoken(trace)),
            TraceType::Assistant => Message::assistant(spoken(trace)),
            TraceType::ToolCall => {
                let args = match trace.more.get("tool_args") {
                    None | Some(Value::Null) => "{}".to_owned(),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                let call = ToolCall::function(call_id(trace), trace.text("tool_name"), args);
                if let Some(before) = made.last_mut().filter(|_| belongs(last, trace)) {
                    before.message.tool_calls.push(call);
                    last = Some(trace);
                    continue;
                }
                let content = if trace.content.is_empty() { Content::Null } else { trace.content.as_str().into() };
                Message { tool_calls: vec![call], ..Message::assistant(content) }
            }
            TraceType::ToolResult => {
                let error = trace.more.get("tool_error").filter(|error| !error.is_null());
                let said = error.or_else(|| trace.more.get("tool_result"));
                let said: Content = match said {
                    None | Some(Value::Null) => trace.content.as_str().into(),
                    Some(Value::String(text)) => text.as_str().into(),
                    Some(other) => other.to_string().into(),
                };
                let mut message = Message::tool(call_id(trace), said);
                message.is_error = error.is_some();
                message.name = Some(trace.text("tool_name").to_owned()).filter(|name| !name.is_empty());
                message
            }
        };
        if let Some(Value::Array(tags)) = trace.more.get("tags") {
            message.tags = tags.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
        }
        last = Some(trace);
        let (id, turn_id) = (trace.id.clone(), trace.turn_id.clone());
        made.push(Told { id, turn_id, created_at: trace.millis(), message });
    }
    made
}

/// Whether a call belongs to the message of the trace before it.
fn belongs(last: Option<&RawTrace>, call: &RawTrace) -> bool {
    let Some(last) = last.filter(|last| last.turn_id == call.turn_id) else { return false };
    let tie = call.text("correlation_id");
    match last.trace_type {
        TraceType::ToolCall => tie == last.text("correlation_id"),
        TraceType::Assistant => !tie.is_empty() && tie == last.text("correlation_id"),
        _ => false,
    }
}

/// The call's id; where the layout's writer left it out, the call's number within the turn stands in for it, so that
/// results can be paired: the turn and the tool's name.
fn call_id(trace: &RawTrace) -> String {
    match trace.text("tool_call_id") {
        "" => match trace.text("correlation_id") {
            "" => [trace.turn_id.as_str(), "/", trace.text("tool_name")].concat(),
            tie => tie.to_owned(),
        },
        id => id.to_owned(),
    }
}

/// The content of a trace: its text, with its media as parts.
fn spoken(trace: &RawTrace) -> Content {
    let mut parts = Vec::new();
    for (name, kind) in MEDIA {
        let Some(Value::Array(urls)) = trace.more.get("media").and_then(|media| media.get(name)) else { continue };
        for url in urls {
            let inner = Value::Object(Map::from_iter([("url".to_owned(), url.clone())]));
            parts.push(Part(Map::from_iter([("type".to_owned(), kind.into()), (kind.to_owned(), inner)])));
        }
    }
    if parts.is_empty() {
        return trace.content.as_str().into();
    }
    if !trace.content.is_empty() {
        parts.insert(0, Part::text(trace.content.as_str()));
    }
    Content::Parts(parts)
}
