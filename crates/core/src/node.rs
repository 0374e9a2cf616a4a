//! A node: what one step adds to a conversation, and where it hangs. A node is to a transcript what a commit is to git:
//! it has one parent, it never changes once it is sealed, and branches are nodes that share a parent.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::json::{Name, Object, Wrong, wrong};
use crate::{Message, MessageId};

/// The label of a node whose parent could not be read from a damaged file: it hangs where it was put.
pub const SALVAGED: &str = "salvaged";
/// The highest number of a turn that an archive may bring.
pub const LAST_TURN: u32 = 1 << 30;

/// The highest number of a turn that a log may have: what an archive may bring, and as many again that were counted up here. A higher one
/// is damage.
pub const MOST_TURNS: u32 = 2 * LAST_TURN;

/// Where a node came from. Every field is what the outside said; none is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Origin {
    /// The sender of the inbound message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its number in the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The mode in which the turn ran: chat, agent or run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The workflow that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The agent that wrote it, where a sub-agent did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// As `NodeInfo.unknownReply`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(type = "true"))]
    pub unknown_reply: bool,
}

impl Origin {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads what it writes.
    ///
    /// # Errors
    /// A field is of another type.
    pub fn read(mut fields: Object) -> Result<Self, Wrong> {
        Ok(Self {
            from: fields.maybe_text("from")?,
            number: fields.maybe_count("number")?,
            mode: fields.maybe_text("mode")?,
            run: fields.maybe_text("run")?,
            workflow: fields.maybe_text("workflow")?,
            agent: fields.maybe_text("agent")?,
            model: fields.maybe_text("model")?,
            unknown_reply: fields.flag("unknownReply")?,
        })
    }
}

crate::read_by_hand!(Origin, |value| Object::of(value, "origin").and_then(Self::read));

/// Names and values, sorted by name. A node has few, if any, so that a list does.
///
/// ```
/// let mut labels = threadkeep_core::node::Labels::default();
/// labels.insert("hidden".to_owned(), "true".to_owned());
/// assert_eq!(labels.get("hidden"), Some("true"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(Vec<(String, String)>);

crate::in_typescript!(Labels, "Record<string, string>");

impl Labels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Gives a name a value, instead of the one that it had.
    pub fn insert(&mut self, name: String, value: String) {
        match self.0.binary_search_by(|(known, _)| known.as_str().cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Reads what it writes; `null` is none.
    ///
    /// # Errors
    /// It is no object of strings.
    pub fn read(value: Value) -> Result<Self, Wrong> {
        let mut labels = Self::default();
        let mut all = Map::new();
        match value {
            Value::Null => {}
            Value::Object(map) => all = map,
            _ => return Err(wrong("labels", "an object of strings")),
        }
        for (name, value) in all {
            let Value::String(text) = value else { return Err(wrong("labels", "an object of strings")) };
            labels.insert(name, text);
        }
        Ok(labels)
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

crate::read_by_hand!(Labels, Self::read);

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// One node of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The node's id, unique over all transcripts.
    pub id: MessageId,
    /// The node that it follows; `None` for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// When it was made, in milliseconds since 1970 (UTC), where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// Where it came from.
    #[serde(skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
    /// Names and values of the host's or the importer's choosing, such as `hidden: "true"`.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The number of the turn that its first user message opens; further user messages open the next ones. Zero where it
    /// has none: then it belongs to its parent's turn.
    #[serde(skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// What this step adds, in order. May be empty.
    pub messages: Vec<Message>,
    /// Whether it can still grow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Node;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("a node")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let (mut id, mut parent, mut created_at, mut messages) = (None, None, None, None);
                let (mut turn, mut sealed) = (None::<u32>, None);
                let (mut origin, mut labels) = (Origin::default(), Labels::default());
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "id" => id = Some(map.next_value()?),
                        "parent" => parent = map.next_value()?,
                        "createdAt" => created_at = map.next_value()?,
                        "origin" => origin = map.next_value::<Option<_>>()?.unwrap_or_default(),
                        "labels" => labels = map.next_value()?,
                        "turn" => turn = map.next_value()?,
                        "messages" => messages = Some(map.next_value()?),
                        "sealed" => sealed = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Node {
                    id: id.ok_or_else(|| A::Error::missing_field("id"))?,
                    parent,
                    created_at,
                    origin,
                    labels,
                    turn: turn.unwrap_or_default(),
                    messages: messages.ok_or_else(|| A::Error::missing_field("messages"))?,
                    sealed: sealed.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Takes the field `messages` from an object.
///
/// # Errors
/// It is no list, or one in it is no message.
pub fn read_messages(fields: &mut Object) -> Result<Vec<Message>, Wrong> {
    let Value::Array(list) = fields.take("messages") else { return Err(wrong("messages", "a list")) };
    let mut messages = Vec::with_capacity(list.len());
    for value in list {
        messages.push(Message::from_json(value).map_err(|error| wrong("messages", &format!("messages: {error}")))?);
    }
    Ok(messages)
}

impl Node {
    /// A sealed node without origin or labels.
    pub fn new(id: MessageId, parent: Option<MessageId>, messages: Vec<Message>) -> Self {
        Self {
            id,
            parent,
            created_at: None,
            origin: Origin::default(),
            labels: Labels::default(),
            turn: 0,
            messages,
            sealed: true,
        }
    }

    /// The messages that count towards [depth](crate::depth): user and assistant.
    pub fn counted(&self) -> u32 {
        self.messages.iter().filter(|message| message.role.counts()).count() as u32
    }

    /// Whether a whole copy of the file that it came from has more to say: a message of it could not be read, or its parent.
    pub fn is_salvaged(&self) -> bool {
        self.labels.get(SALVAGED).is_some() || self.messages.iter().any(Message::stands_in)
    }

    /// The user messages, each of which opens a turn.
    pub fn opened_turns(&self) -> u32 {
        self.messages.iter().filter(|message| message.role == crate::Role::User).count() as u32
    }
}

/// A turn's name: `turn_0001` for 1.
pub fn turn_name(turn: u32) -> String {
    format!("turn_{turn:04}")
}
