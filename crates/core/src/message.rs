//! One message of a conversation: a superset of the OpenAI chat message that turns back into it without loss.
//!
//! Goes in: a JSON object. Comes out: a [`Message`] with the fields that Threadkeep reads in typed form and all others in
//! [`Message::extra`], untouched. [`Message::from_json`] followed by [`Message::to_json`] gives the same JSON value.
//! What a provider accepts is decided elsewhere (rendering and validation); here everything that has a role is kept.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use threadkeep_json::{Name, own_value, within};

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions above the conversation.
    System,
    /// OpenAI's newer name for instructions.
    Developer,
    /// The person, or whatever speaks to the agent.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
    /// Any other role, kept as it came.
    Other(String),
}

impl Role {
    /// The role as providers write it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(role) => role,
        }
    }

    /// Whether a message of this role counts towards [depth](crate::depth): user and assistant do.
    pub fn counts(&self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

impl From<&str> for Role {
    fn from(role: &str) -> Self {
        match role {
            "system" => Self::System,
            "developer" => Self::Developer,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// One part of a content list: any JSON object with a `type`, such as `{"type":"text","text":"…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(pub Map<String, Value>);

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Map::from_iter([("type".into(), "text".into()), ("text".into(), Value::String(text.into()))]))
    }

    /// The part's `type`, or `""`.
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it is an image, in any provider's form: `image_url`, `image`, `input_image` and the like.
    pub fn is_image(&self) -> bool {
        self.kind().contains("image")
    }

    /// The part's `text`, if it has one.
    pub fn as_text(&self) -> Option<&str> {
        self.0.get("text").and_then(Value::as_str)
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Content {
    /// No `content` field at all.
    #[default]
    Absent,
    /// `"content": null`, as assistants that only call tools write it.
    Null,
    /// Plain text.
    Text(String),
    /// A list of parts: text, images, files.
    Parts(Vec<Part>),
}

impl Content {
    /// The text in it, parts joined by a newline; borrowed where it can be.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Absent | Self::Null => "".into(),
            Self::Text(text) => text.into(),
            Self::Parts(parts) => {
                let texts: Vec<_> = parts.iter().filter_map(Part::as_text).collect();
                texts.join("\n").into()
            }
        }
    }

    /// Whether there is nothing in it: absent, null, `""`, or a list without parts.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Absent | Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A call of a tool, in OpenAI's form: `{"id", "type": "function", "function": {"name", "arguments"}}`. It is kept as the
/// object that came, so that other kinds of call and unknown fields survive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolCall(pub Map<String, Value>);

impl ToolCall {
    /// A function call; `arguments` is the JSON text that the model wrote.
    pub fn function(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let function = Map::from_iter([
            ("name".to_owned(), Value::String(name.into())),
            ("arguments".to_owned(), Value::String(arguments.into())),
        ]);
        Self(Map::from_iter([
            ("id".to_owned(), Value::String(id.into())),
            ("type".to_owned(), "function".into()),
            ("function".to_owned(), Value::Object(function)),
        ]))
    }

    /// The call's id, or `""`.
    pub fn id(&self) -> &str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// The tool's name, or `""`.
    pub fn name(&self) -> &str {
        self.inner("name")
    }

    /// The arguments as the model wrote them (JSON text for functions, free text for custom tools), or `""`.
    pub fn arguments(&self) -> &str {
        let arguments = self.inner("arguments");
        if arguments.is_empty() { self.inner("input") } else { arguments }
    }

    fn inner(&self, field: &str) -> &str {
        let kind = self.0.get("type").and_then(Value::as_str).unwrap_or("function");
        self.0.get(kind).and_then(|call| call.get(field)).and_then(Value::as_str).unwrap_or_default()
    }
}

/// What sort of event a message records, beside its role.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// Something said, called or answered.
    #[default]
    Plain,
    /// The model failed here. The content is what it had written until then.
    Error {
        /// A short stable word for the failure, such as `LLM_ERROR`.
        code: String,
        /// The failure in words.
        reason: String,
    },
    /// A summary that stands for earlier messages, which are kept.
    Summary {
        /// The first node that it covers, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<crate::MessageId>,
        /// The last node that it covers, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<crate::MessageId>,
    },
    /// A program that was run: `{"type": "code_turn", …}` with the fields of [`CodeTurn`](crate::CodeTurn).
    CodeTurn(crate::CodeTurn),
}

impl Kind {
    /// Reads the JSON form of a kind other than plain; `None` for anything that would not be written just like that.
    fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let text = |field: &str| map.get(field).and_then(Value::as_str).map(str::to_owned);
        let id = |field: &str| match map.get(field) {
            None => Some(None),
            Some(id) => crate::MessageId::new(id.as_str()?).ok().map(Some),
        };
        let (kind, fields) = match map.get("type")?.as_str()? {
            "error" => (Self::Error { code: text("code")?, reason: text("reason")? }, 3),
            "summary" => {
                let (from, to) = (id("from")?, id("to")?);
                let fields = 1 + usize::from(from.is_some()) + usize::from(to.is_some());
                (Self::Summary { from, to }, fields)
            }
            "code_turn" => (Self::CodeTurn(crate::CodeTurn::from_map(map.clone()).ok()?), map.len()),
            _ => return None,
        };
        (map.len() == fields).then_some(kind)
    }
}

/// One message. Build it with [`Message::new`] and its sisters, or read it with [`Message::from_json`].
///
/// ```
/// use threadkeep_core::Message;
/// let json = serde_json::json!({"role": "user", "content": "hi", "x_unknown": [1, 2.50]});
/// let message = Message::from_json(json.clone())?;
/// assert_eq!(message.text(), "hi");
/// assert_eq!(message.to_json(), json);
/// # Ok::<(), threadkeep_core::MessageError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The speaker's or tool's name.
    pub name: Option<String>,
    /// What the model thought before it spoke (`reasoning`).
    pub reasoning: Option<String>,
    /// The tools that an assistant calls.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<String>,
    /// Whether a tool message reports a failure.
    pub is_error: bool,
    /// Whether prompts may contain it; `false` for what only people see. JSON may also name it `includeInContext`.
    pub include_in_context: bool,
    /// Whether trimming must keep it.
    pub pinned: bool,
    /// What sort of event it is.
    pub kind: Kind,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// Every other field, as it came.
    pub extra: Map<String, Value>,
}

crate::in_typescript!(Message, "Message");

/// So many lists and objects lie inside one another in a message at most, the message among them. A log's line has it inside a few more,
/// and 128 are as many as are read.
pub const DEEPEST: usize = 100;

/// The field of a tool's result that says how long the tool ran, in milliseconds. It is in [`Message::extra`] and in no prompt.
pub const DURATION: &str = "duration";

/// The code of the failure that [`Message::stand_in`] records.
pub const STAND_IN: &str = "UNREADABLE";

/// Why a JSON value is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The value is not an object.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// A field is missing or has the wrong type.
    #[error("a message's {field:?} must be {expected}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

impl Message {
    /// A message of `role` that says `content`.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self::saying(role, content.into())
    }

    #[inline(never)]
    fn saying(role: Role, content: Content) -> Self {
        Self {
            role,
            content,
            name: None,
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: false,
            include_in_context: true,
            pinned: false,
            kind: Kind::Plain,
            tags: Vec::new(),
            extra: Map::new(),
        }
    }

    /// A system message.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// A user message.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// An assistant message.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The result of the tool call `call_id`.
    pub fn tool(call_id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, content) }
    }

    /// The note that takes the place of a message that could not be read from a damaged file. People and models see it as a
    /// failure with the code [`STAND_IN`].
    pub fn stand_in() -> Self {
        let reason = "a message here could not be read from the imported file".to_owned();
        Self { kind: Kind::Error { code: STAND_IN.to_owned(), reason }, ..Self::new(Role::Assistant, Content::Absent) }
    }

    /// Whether this is such a note.
    pub fn stands_in(&self) -> bool {
        matches!(&self.kind, Kind::Error { code, .. } if code == STAND_IN)
    }

    /// The text of the content, parts joined by a newline.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        self.content.text()
    }

    /// Whether more than [`DEEPEST`] lists and objects lie inside one another.
    pub fn is_too_deep(&self) -> bool {
        let deeper =
            |fields: &Map<String, Value>, above: usize| !fields.values().all(|value| within(value, DEEPEST - above));
        let in_parts = |parts: &[Part]| parts.iter().any(|part| deeper(&part.0, 3));
        matches!(&self.content, Content::Parts(parts) if in_parts(parts))
            || self.tool_calls.iter().any(|call| deeper(&call.0, 3))
            || matches!(&self.kind, Kind::CodeTurn(turn) if deeper(&turn.0, 2))
            || deeper(&self.extra, 1)
    }

    /// Reads a message. Known fields that carry nothing (`null`, `[]`, `false`) and extensions in a form that is not ours
    /// stay in [`Message::extra`], so that [`Message::to_json`] gives them back.
    ///
    /// # Errors
    /// [`MessageError`] when the value is no object, has no string `role`, or a field of the chat form has a type that
    /// the form does not know (`content` a number, say).
    pub fn from_json(value: Value) -> Result<Self, MessageError> {
        let Value::Object(map) = value else { return Err(MessageError::NotAnObject) };
        Self::from_map(map)
    }

    fn from_map(mut fields: Map<String, Value>) -> Result<Self, MessageError> {
        let (role, content) = (fields.shift_remove("role"), fields.shift_remove("content"));
        Self::from_fields(role, content, fields)
    }

    /// Makes a message of its fields, in the order in which the others than role and content came.
    fn from_fields(
        role: Option<Value>,
        content: Option<Value>,
        others: Map<String, Value>,
    ) -> Result<Self, MessageError> {
        let role = match role {
            Some(Value::String(role)) => Role::from(role.as_str()),
            _ => return Err(MessageError::Field { field: "role", expected: "a string" }),
        };
        let content = match content {
            None => Content::Absent,
            Some(Value::Null) => Content::Null,
            Some(Value::String(text)) => Content::Text(text),
            Some(Value::Array(parts)) => Content::Parts(objects(parts, "content")?.map(Part).collect()),
            Some(_) => {
                return Err(MessageError::Field { field: "content", expected: "text, null or a list of objects" });
            }
        };
        let mut message = Self::new(role, content);
        // The others are either lifted into a typed field or stay in `extra`, in the order they came.
        for (field, value) in others {
            if let Some(value) = message.lift(&field, value)? {
                message.extra.insert(field, value);
            }
        }
        if message.is_hidden_in_camel_case() {
            if !message.include_in_context {
                message.extra.insert("include_in_context".to_owned(), false.into());
            }
            message.include_in_context = false;
        }
        Ok(message)
    }

    /// Whether it came with `includeInContext: false`. That field stays in [`Message::extra`] and is written as it came.
    fn is_hidden_in_camel_case(&self) -> bool {
        self.extra.get("includeInContext") == Some(&Value::Bool(false))
    }

    /// Takes one field other than role and content; gives the value back where it belongs into `extra`.
    fn lift(&mut self, field: &str, value: Value) -> Result<Option<Value>, MessageError> {
        match (field, value) {
            ("name", Value::String(name)) => self.name = Some(name),
            ("tool_call_id", Value::String(id)) => self.tool_call_id = Some(id),
            ("reasoning", Value::String(text)) => self.reasoning = Some(text),
            ("name" | "tool_call_id", value) if !value.is_null() => {
                let field = if field == "name" { "name" } else { "tool_call_id" };
                return Err(MessageError::Field { field, expected: "a string or null" });
            }
            ("tool_calls", Value::Array(calls)) if !calls.is_empty() => {
                self.tool_calls = objects(calls, "tool_calls")?.map(ToolCall).collect();
            }
            ("tool_calls", value) if !value.is_null() && !value.is_array() => {
                return Err(MessageError::Field { field: "tool_calls", expected: "a list of objects or null" });
            }
            ("is_error", Value::Bool(true)) => self.is_error = true,
            ("include_in_context", Value::Bool(false)) => self.include_in_context = false,
            ("pinned", Value::Bool(true)) => self.pinned = true,
            ("tags", Value::Array(tags)) if !tags.is_empty() && tags.iter().all(Value::is_string) => {
                self.tags = tags.into_iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
            }
            ("kind", value) => match Kind::read(&value) {
                Some(kind) => self.kind = kind,
                None => return Ok(Some(value)),
            },
            (_, value) => return Ok(Some(value)),
        }
        Ok(None)
    }

    /// The message as a JSON object: the OpenAI chat form with our extensions where they say something.
    pub fn to_json(&self) -> Value {
        own_value(self)
    }

    /// Appends the same as JSON text to `out`. Answers have thousands of messages, and this crate is compiled for speed.
    ///
    /// # Errors
    /// None: a message has string keys only, and other keys are all that writing JSON can fail on.
    pub fn write(&self, out: &mut String) -> Result<(), serde_json::Error> {
        threadkeep_json::write(self, out)
    }
}

fn objects(values: Vec<Value>, field: &'static str) -> Result<impl Iterator<Item = Map<String, Value>>, MessageError> {
    if values.iter().all(Value::is_object) {
        Ok(values.into_iter().filter_map(|value| if let Value::Object(map) = value { Some(map) } else { None }))
    } else {
        Err(MessageError::Field { field, expected: "a list of objects" })
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", self.role.as_str())?;
        match &self.content {
            Content::Absent => {}
            Content::Null => map.serialize_entry("content", &())?,
            Content::Text(text) => map.serialize_entry("content", text)?,
            Content::Parts(parts) => map.serialize_entry("content", parts)?,
        }
        if let Some(name) = &self.name {
            map.serialize_entry("name", name)?;
        }
        if let Some(reasoning) = &self.reasoning {
            map.serialize_entry("reasoning", reasoning)?;
        }
        if !self.tool_calls.is_empty() {
            map.serialize_entry("tool_calls", &self.tool_calls)?;
        }
        if let Some(id) = &self.tool_call_id {
            map.serialize_entry("tool_call_id", id)?;
        }
        if self.is_error {
            map.serialize_entry("is_error", &true)?;
        }
        if !self.include_in_context && !self.is_hidden_in_camel_case() {
            map.serialize_entry("include_in_context", &false)?;
        }
        if self.pinned {
            map.serialize_entry("pinned", &true)?;
        }
        if self.kind != Kind::Plain {
            map.serialize_entry("kind", &self.kind)?;
        }
        if !self.tags.is_empty() {
            map.serialize_entry("tags", &self.tags)?;
        }
        for (field, value) in &self.extra {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Message;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message, A::Error> {
                let (mut role, mut content, mut others) = (None, None, Map::new());
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "role" => role = Some(map.next_value()?),
                        "content" => content = Some(map.next_value()?),
                        _ => drop(others.insert(name.into_owned(), map.next_value()?)),
                    }
                }
                Message::from_fields(role, content, others).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round(value: Value) -> Message {
        let message = Message::from_json(value.clone()).unwrap();
        assert_eq!(message.to_json(), value);
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        message
    }

    #[test]
    fn openai_chat_forms_come_back_equal() {
        round(json!({"role": "system", "content": "be brief"}));
        round(json!({"role": "developer", "content": "", "name": "rules"}));
        round(
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]}),
        );
        let called =
            round(json!({"role": "assistant", "content": null, "refusal": null, "audio": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}, "index": 0},
            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free"}}]}));
        assert_eq!(called.tool_calls[0].name(), "f");
        assert_eq!(called.tool_calls[1].arguments(), "free");
        round(json!({"role": "tool", "tool_call_id": "c1", "content": "42"}));
        round(json!({"role": "function", "name": "old", "content": "x"}));
        round(json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}));
    }

    #[test]
    fn fields_that_carry_nothing_or_are_not_ours_survive() {
        round(json!({"role": "user", "content": "x", "name": null, "tool_calls": [], "tool_call_id": null}));
        round(json!({"role": "user", "content": "x", "is_error": false, "pinned": "yes", "tags": [], "kind": "odd"}));
        round(json!({"role": "user", "content": "x", "kind": {"type": "plain"}, "tags": [1], "reasoning": {"a": 1}}));
        let all = round(
            json!({"role": "tool", "content": "x", "is_error": true, "include_in_context": false, "pinned": true,
            "tags": ["a"], "kind": {"type": "error", "code": "LLM_ERROR", "reason": "r"}, "reasoning": "hm"}),
        );
        assert!(all.is_error && !all.include_in_context && all.pinned && all.extra.is_empty());
    }

    #[test]
    fn include_in_context_is_read_in_camel_case_too_and_comes_back_as_it_was() {
        let hidden = |value: Value| !round(value).include_in_context;
        assert!(hidden(json!({"role": "user", "content": "x", "includeInContext": false})));
        assert!(hidden(
            json!({"role": "user", "content": "x", "includeInContext": false, "include_in_context": false})
        ));
        assert!(hidden(json!({"role": "user", "content": "x", "includeInContext": true, "include_in_context": false})));
        assert!(hidden(json!({"role": "user", "content": "x", "includeInContext": false, "include_in_context": true})));
        assert!(!hidden(json!({"role": "user", "content": "x", "includeInContext": true})));
        assert!(!hidden(json!({"role": "user", "content": "x", "includeInContext": "false"})));
    }

    #[test]
    fn numbers_are_64_bit_integers_and_doubles() {
        let text = r#"{"role":"user","content":"x","id":18446744073709551615,"neg":-9223372036854775808,"f":0.1,"t":5e-324,"whole":1.0,"long":0.1000000000000000055511151231257827,"big":340282366920938463463374607431768211456}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        let doubles = text.replace("0.1000000000000000055511151231257827", "0.1");
        let doubles = doubles.replace("340282366920938463463374607431768211456", "3.402823669209385e+38");
        assert_eq!(serde_json::to_string(&message).unwrap(), doubles);
    }

    #[test]
    fn of_a_field_that_comes_twice_the_last_counts_as_in_any_json() {
        let text = r#"{"name":"x","role":"user","content":[],"pinned":true,"a":1,"content":"b","name":null,"role":"tool","pinned":1,"a":2}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(message, Message::from_json(serde_json::from_str(text).unwrap()).unwrap());
        assert_eq!(message.to_json(), json!({"role": "tool", "content": "b", "name": null, "pinned": 1, "a": 2}));
    }

    #[test]
    fn a_message_is_too_deep_from_101_levels_on_wherever_they_are() {
        // As many lists as the message, the field and what is around it leave room for, and one more.
        let nested = |levels: usize| (0..levels).fold(json!(1), |inside, _| json!([inside]));
        let deep = |above: usize, make: fn(Value) -> Value| {
            let at = |levels| Message::from_json(make(nested(levels))).unwrap().is_too_deep();
            assert!(!at(DEEPEST - above) && at(DEEPEST - above + 1));
        };
        deep(1, |value| json!({"role": "user", "content": "x", "mine": value}));
        deep(3, |value| json!({"role": "user", "content": [{"type": "data", "data": value}]}));
        deep(3, |value| json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "mine", "mine": value}]}));
        deep(
            2,
            |value| json!({"role": "assistant", "content": "", "kind": {"type": "code_turn", "program": "", "mine": value}}),
        );
    }

    #[test]
    fn wrong_types_are_named() {
        let check = |value: Value, field: &str| {
            let error = Message::from_json(value).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        };
        check(json!([1]), "object");
        check(json!({"content": "x"}), "role");
        check(json!({"role": 5}), "role");
        check(json!({"role": "user", "content": 5}), "content");
        check(json!({"role": "user", "content": ["x"]}), "content");
        check(json!({"role": "user", "name": 5}), "name");
        check(json!({"role": "user", "tool_calls": {}}), "tool_calls");
        check(json!({"role": "user", "tool_calls": [1]}), "tool_calls");
    }
}
