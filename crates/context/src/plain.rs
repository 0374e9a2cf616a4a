//! Pins and contexts as JSON, for those outside Rust.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use threadkeep_core::read::Plain;

use super::{Context, Item, Kinds, Line};

/// Why options cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A pin names a message that is not in the history.
    #[error("pins[{at}] names no message of the history")]
    Pin {
        /// The pin's place in its list.
        at: usize,
    },
}

/// A message of a chain: its place, from 0; or all messages of a node, by its id; or one message of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "number | string | { node: string, index: number }"))]
pub enum MessageRef {
    /// By its place in the history: a number.
    Index(usize),
    /// All messages of a node: its id.
    Node(String),
    /// A message of a node, by its place in it: `{"node", "index"}`.
    InNode(String, usize),
}

impl Serialize for MessageRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Index(place) => serializer.serialize_u64(*place as u64),
            Self::Node(id) => serializer.serialize_str(id),
            Self::InNode(id, index) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("node", id)?;
                map.serialize_entry("index", index)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for MessageRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(value) = Plain::deserialize(deserializer)?;
        message_ref(&value).ok_or_else(|| D::Error::custom("must be a place, a node's id, or { node, index }"))
    }
}

fn message_ref(value: &Value) -> Option<MessageRef> {
    let place = |value: &Value| value.as_u64().and_then(|place| usize::try_from(place).ok());
    match value {
        Value::Number(_) => place(value).map(MessageRef::Index),
        Value::String(id) => Some(MessageRef::Node(id.clone())),
        Value::Object(map) if map.len() == 2 => {
            Some(MessageRef::InNode(map.get("node")?.as_str()?.to_owned(), place(map.get("index")?)?))
        }
        _ => None,
    }
}

/// The places in a history of the messages that are pinned.
///
/// # Errors
/// [`OptionError::Pin`] for a reference that leads to no message.
pub fn pins(refs: &[MessageRef], items: &[Item]) -> Result<Vec<usize>, OptionError> {
    let mut places = Vec::with_capacity(refs.len());
    for (at, wanted) in refs.iter().enumerate() {
        let before = places.len();
        match wanted {
            MessageRef::Index(place) => places.extend(Some(*place).filter(|place| *place < items.len())),
            MessageRef::Node(id) | MessageRef::InNode(id, _) => {
                let node = |place: &usize| items[*place].node.is_some_and(|node| node.as_str() == id);
                let mut found = (0..items.len()).filter(node);
                match wanted {
                    MessageRef::InNode(_, index) => places.extend(found.nth(*index)),
                    _ => places.extend(found),
                }
            }
        }
        if places.len() == before {
            return Err(OptionError::Pin { at });
        }
    }
    Ok(places)
}

fn object(fields: &mut [(&str, Value)]) -> Value {
    let mut map = Map::with_capacity(fields.len());
    for (name, value) in fields {
        map.insert((*name).to_owned(), value.take());
    }
    Value::Object(map)
}

impl Line {
    /// The line as JSON: `{node?, index, action, rule, tokensBefore, tokensAfter, memory?}`.
    pub fn to_json(&self) -> Value {
        let mut line = object(&mut [
            ("index", self.index.into()),
            ("action", self.action.name().into()),
            ("rule", self.rule.into()),
            ("tokensBefore", self.tokens_before.into()),
            ("tokensAfter", self.tokens_after.into()),
        ]);
        if let (Some(node), Value::Object(line)) = (&self.node, &mut line) {
            line.shift_insert(0, "node".to_owned(), node.as_str().into());
        }
        if let (Some(memory), Value::Object(line)) = (&self.memory, &mut line) {
            line.insert("memory".to_owned(), memory.as_str().into());
        }
        line
    }
}

impl Kinds {
    /// The tokens as JSON: `{system, user, assistant, reasoning, calls, results, injected, tools, memory}`.
    pub fn to_json(&self) -> Value {
        object(&mut [
            ("system", self.system.into()),
            ("user", self.user.into()),
            ("assistant", self.assistant.into()),
            ("reasoning", self.reasoning.into()),
            ("calls", self.calls.into()),
            ("results", self.results.into()),
            ("injected", self.injected.into()),
            ("tools", self.tools.into()),
            ("memory", self.memory.into()),
        ])
    }
}

impl Context<'_> {
    /// The context as JSON, with everything but the payload: `{messages, ledger, tokens, budget, overBudget, warnings, kinds,
    /// figures, limits}`. `budget` is the limit of tokens, `null` where there is none; `figures` and `limits` have
    /// messages and characters too.
    pub fn to_json(&self) -> Value {
        let limit = |limit: Option<u64>| limit.map_or(Value::Null, Value::from);
        let limits = &self.limits;
        object(&mut [
            ("messages", self.messages.iter().map(|message| message.to_json()).collect()),
            ("ledger", self.ledger.iter().map(Line::to_json).collect()),
            ("tokens", self.figures.tokens.into()),
            ("budget", limit(limits.tokens)),
            ("overBudget", self.over_budget.into()),
            ("warnings", self.warnings.iter().map(|warning| Value::from(*warning)).collect()),
            ("kinds", self.kinds.to_json()),
            (
                "figures",
                object(&mut [
                    ("tokens", self.figures.tokens.into()),
                    ("messages", self.figures.messages.into()),
                    ("chars", self.figures.chars.into()),
                ]),
            ),
            (
                "limits",
                object(&mut [
                    ("tokens", limit(limits.tokens)),
                    ("messages", limit(limits.messages)),
                    ("chars", limit(limits.chars)),
                ]),
            ),
        ])
    }
}
