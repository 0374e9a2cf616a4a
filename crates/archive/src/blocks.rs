//! Messages made of content blocks, as most programs write them: text becomes content, thinking `reasoning`, a tool's use a tool
//! call and its result a tool message. What a block has beyond that stays under a name of the format in `extra` (`claude`,
//! say): signatures and citations above all.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_core::message::DURATION;
use threadkeep_core::{Content, Message, Part, Role, ToolCall};
use threadkeep_json::own_text;

use super::raw::{says_nothing, text_of};
use super::report::Report;
use super::{Code, clean, unreadable};

/// Fields of blocks that only the page that showed them needs.
const SHOWN: [&str; 12] = [
    "start_timestamp",
    "stop_timestamp",
    "flags",
    "icon_name",
    "integration_icon_url",
    "display_content",
    "approval_options",
    "approval_key",
    "cache_control",
    "alternative_display_type",
    "is_mcp_app",
    "truncated",
];

/// Reads blocks, one after another, into messages.
#[derive(Debug)]
pub(super) struct Blocks {
    role: Role,
    /// The field of `extra` for what has no place of its own.
    space: &'static str,
    /// What made-up call ids begin with, where the archive has none.
    seed: String,
    calls: u32,
    /// The calls' ids and names; without, once they are answered.
    open: Vec<Option<(String, String)>>,
    /// The calls' places in that list, by id.
    by_id: HashMap<String, usize>,
    /// All calls before this one are answered.
    first_open: usize,
    current: Draft,
    done: Vec<Message>,
}

#[derive(Debug, Default)]
struct Draft {
    parts: Vec<Part>,
    reasoning: Vec<String>,
    calls: Vec<ToolCall>,
    extra: Map<String, Value>,
}

impl Blocks {
    /// For a message of `role`; `seed` is its id.
    pub fn new(role: Role, seed: &str) -> Self {
        Self::of("claude", role, seed)
    }

    /// The same for another format, whose name in `extra` is `space`.
    pub fn of(space: &'static str, role: Role, seed: &str) -> Self {
        Self {
            role,
            space,
            seed: seed.to_owned(),
            calls: 0,
            open: Vec::new(),
            by_id: HashMap::new(),
            first_open: 0,
            current: Draft::default(),
            done: Vec::new(),
        }
    }

    /// Adds all of a content field: text, or a list of blocks.
    pub fn content(&mut self, content: Value) {
        match content {
            Value::Null => {}
            Value::Array(blocks) => blocks.into_iter().for_each(|block| self.block(block)),
            one => self.block(one),
        }
    }

    /// Adds a block.
    pub fn block(&mut self, block: Value) {
        let mut block = match block {
            Value::Object(block) => block,
            Value::Null => return,
            Value::String(text) => return self.text(text),
            other => return self.text(own_text(&other)),
        };
        match text_of(&block, "type").unwrap_or_default() {
            "text" if block.get("text").is_some_and(Value::is_string) => {
                if let Some(Value::String(text)) = block.shift_remove("text") {
                    self.text(text);
                }
                if let Some(citations) = block.shift_remove("citations").filter(|list| !says_nothing(list)) {
                    self.keep("citations", citations);
                }
            }
            "thinking" => self.thinking(block),
            "redacted_thinking" => self.keep("thinking", Value::Object(block)),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(block),
            kind if kind == "tool_result" || kind.ends_with("_tool_result") => self.result(block),
            _ => self.part(block),
        }
    }

    /// Adds text.
    pub fn text(&mut self, text: String) {
        self.current.parts.push(Part::text(text));
    }

    /// Adds a part that is not text.
    pub fn part(&mut self, mut block: Map<String, Value>) {
        block.entry("type").or_insert_with(|| "unknown".into());
        self.current.parts.push(Part(block));
    }

    /// Adds to the lists under `extra["claude"]`.
    pub fn keep(&mut self, name: &str, value: Value) {
        let list = self.current.extra.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            match value {
                Value::Array(values) => list.extend(values),
                value => list.push(value),
            }
        }
    }

    fn thinking(&mut self, block: Map<String, Value>) {
        let text = text_of(&block, "thinking").or_else(|| text_of(&block, "text")).unwrap_or_default();
        if !text.trim().is_empty() {
            self.current.reasoning.push(text.to_owned());
        }
        if block.get("signature").is_some_and(|signature| !says_nothing(signature)) {
            self.keep("thinking", Value::Object(block));
        }
    }

    fn call(&mut self, mut block: Map<String, Value>) {
        self.calls += 1;
        let id = match block.shift_remove("id") {
            Some(Value::String(id)) if !id.is_empty() => id,
            _ => format!("call_{}_{}", self.seed, self.calls),
        };
        let name = match block.shift_remove("name") {
            Some(Value::String(name)) => name,
            _ => "unknown".to_owned(),
        };
        let arguments = match block.shift_remove("input") {
            Some(Value::String(text)) => text,
            Some(input) => own_text(&input),
            None => "{}".to_owned(),
        };
        if text_of(&block, "type") == Some("tool_use") {
            block.shift_remove("type");
        }
        self.by_id.insert(id.clone(), self.open.len());
        self.open.push(Some((id.clone(), name.clone())));
        self.keep_rest("calls", &id, block);
        self.current.calls.push(ToolCall::function(id, name, arguments));
    }

    fn result(&mut self, mut block: Map<String, Value>) {
        let name = text_of(&block, "name").map(str::to_owned);
        let given = match block.shift_remove("tool_use_id") {
            Some(Value::String(id)) if !id.is_empty() => Some(id),
            _ => None,
        };
        let answered = match &given {
            Some(id) => self.by_id.get(id).copied(),
            None => self.first_open_call(name.as_deref()),
        };
        let call = answered.and_then(|at| self.open[at].take());
        let id = given.or_else(|| call.map(|(id, _)| id));
        let mut message = Message::new(Role::Tool, result_content(block.shift_remove("content")));
        message.is_error = block.shift_remove("is_error") == Some(Value::Bool(true));
        message.name = name;
        block.shift_remove("name");
        if text_of(&block, "type") == Some("tool_result") {
            block.shift_remove("type");
        }
        block.retain(|field, value| !SHOWN.contains(&field.as_str()) && !says_nothing(value));
        if !block.is_empty() {
            message.extra.insert(self.space.to_owned(), Value::Object(block));
        }
        message.tool_call_id = id;
        self.flush();
        self.done.push(message);
    }

    /// For a result without an id: the first open call of that name among the next few, or else the first.
    fn first_open_call(&mut self, name: Option<&str>) -> Option<usize> {
        while self.open.get(self.first_open).is_some_and(Option::is_none) {
            self.first_open += 1;
        }
        let mut next = (self.first_open..self.open.len()).take(100);
        let of_name = |at: &usize| self.open[*at].as_ref().is_some_and(|(_, call)| Some(call.as_str()) == name);
        next.find(of_name).or(Some(self.first_open)).filter(|at| *at < self.open.len())
    }

    /// Adds what the model thought.
    pub fn reasoning(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.current.reasoning.push(text.to_owned());
        }
    }

    /// Adds a call that is not written as a block; an id and a name that are no strings are made up.
    pub fn tool_call(&mut self, id: Value, name: Value, input: Value) {
        let fields = [("type", "tool_use".into()), ("id", id), ("name", name), ("input", input)];
        self.call(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    }

    /// Adds a result that is not written as a block; one without an id answers the first open call.
    pub fn tool_result(&mut self, id: Value, name: Value, content: Value, is_error: bool) {
        let fields = [
            ("type", "tool_result".into()),
            ("tool_use_id", id),
            ("name", name),
            ("content", content),
            ("is_error", is_error.into()),
        ];
        self.result(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    }

    /// How long the tool ran of this call's result, or of the last one, in milliseconds. Gives whether there is that result.
    pub fn took(&mut self, id: Option<&str>, millis: u64) -> bool {
        let is_it = |message: &&mut Message| {
            message.role == Role::Tool && (id.is_none() || message.tool_call_id.as_deref() == id)
        };
        let found = self.done.iter_mut().rev().find(is_it);
        found.map(|result| result.extra.insert(DURATION.to_owned(), millis.into())).is_some()
    }

    /// Adds a whole message.
    pub fn message(&mut self, message: Message) {
        self.flush();
        self.done.push(message);
    }

    fn keep_rest(&mut self, list: &str, id: &str, mut block: Map<String, Value>) {
        block.retain(|field, value| !SHOWN.contains(&field.as_str()) && !says_nothing(value));
        if !block.is_empty() {
            block.shift_insert(0, "id".to_owned(), id.into());
            self.keep(list, Value::Object(block));
        }
    }

    fn flush(&mut self) {
        let Draft { parts, reasoning, calls, extra } = std::mem::take(&mut self.current);
        if parts.is_empty() && reasoning.is_empty() && calls.is_empty() && extra.is_empty() {
            return;
        }
        let mut message = Message::new(self.role.clone(), content(parts));
        message.reasoning = Some(reasoning.join("\n\n")).filter(|text| !text.is_empty());
        message.tool_calls = calls;
        if !extra.is_empty() {
            message.extra.insert(self.space.to_owned(), Value::Object(extra));
        }
        self.done.push(message);
    }

    /// The messages. At least one, be it empty.
    pub fn finish(mut self) -> Vec<Message> {
        self.flush();
        if self.done.is_empty() {
            self.done.push(Message::new(self.role, ""));
        }
        self.done
    }
}

/// Parts as content: one text is text, none is null.
pub(super) fn content(parts: Vec<Part>) -> Content {
    match parts.as_slice() {
        [] => Content::Null,
        [one] if one.kind() == "text" && one.0.len() == 2 => one.as_text().unwrap_or_default().into(),
        _ => Content::Parts(parts),
    }
}

/// What a tool answered: text, or parts.
pub(super) fn result_content(value: Option<Value>) -> Content {
    let list = match value {
        None | Some(Value::Null) => return "".into(),
        Some(Value::String(text)) => return text.into(),
        Some(Value::Array(list)) => list,
        Some(other) => return own_text(&other).into(),
    };
    let part = |value: Value| match value {
        Value::Object(mut block) => {
            block.retain(|field, value| field == "text" || field == "type" || !says_nothing(value));
            if text_of(&block, "type") == Some("text") {
                block.retain(|field, _| field != "uuid" && !SHOWN.contains(&field.as_str()));
            }
            block.entry("type").or_insert_with(|| "unknown".into());
            Part(block)
        }
        Value::String(text) => Part::text(text),
        other => Part::text(own_text(&other)),
    };
    let parts: Vec<Part> = list.into_iter().map(part).collect();
    if parts.is_empty() { "".into() } else { content(parts) }
}

/// Puts what is left of an archive's message beside the first of those that it became; what says nothing is left out.
pub(super) fn beside(messages: &mut [Message], space: &str, mut rest: Map<String, Value>) {
    rest.retain(|_, value| !says_nothing(value));
    if let (Some(first), false) = (messages.first_mut(), rest.is_empty()) {
        let own = first.extra.entry(space).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(own) = own {
            own.extend(rest);
        }
    }
}

/// Reads one entry of a list of messages as an object; says why where it is none.
pub(super) fn object(raw: &str, place: &str, report: &mut Report) -> Option<Map<String, Value>> {
    match clean::value(raw) {
        Ok(Value::Object(map)) => return Some(map),
        Ok(_) => report.skip(place, Code::BadShape, "a message must be an object"),
        Err(error) => {
            let (code, reason) = unreadable(&error);
            report.skip(place, code, format!("the message {reason}"));
        }
    }
    None
}
