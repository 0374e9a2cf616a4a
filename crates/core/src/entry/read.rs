//! Reads any entry. Most kinds of entry have a few of the same fields, which are read as one structure: a derived reader for each kind would
//! be twice as large. So would be readers that take lists for structures, too, which [`Object`] leaves out.

use std::fmt;
use std::num::NonZeroU64;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Entry;
use crate::checkpoint::Strategy;
use crate::read::Object;
use crate::{Message, MessageId};
use threadkeep_json::Name;

/// The names of the kinds.
const KINDS: &[&str] = &[
    "node",
    "extend",
    "seal",
    "alias",
    "head",
    "strategy",
    "info",
    "checkpoint",
    "withdrawn",
    "removed",
    "pin",
    "unpin",
    "restored",
    "gone",
];

/// What the smaller kinds have, each some of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    node: Option<MessageId>,
    messages: Option<Vec<Message>>,
    #[serde(default)]
    turn: u32,
    id: Option<MessageId>,
    context: Option<String>,
    strategy: Option<Strategy>,
    next_turn: Option<u32>,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kind;
        impl<'de> Visitor<'de> for Kind {
            type Value = Entry;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("an entry")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let Some(Name(kind)) = map.next_key()? else { return Err(A::Error::custom("an entry has no kind")) };
                // The code that reads a type is there as often as it is named here.
                let entry = match &*kind {
                    "node" | "restored" => {
                        let Object(node) = map.next_value()?;
                        let node = Box::new(node);
                        if kind == "node" { Entry::Node(node) } else { Entry::Restored(node) }
                    }
                    "pin" | "unpin" => {
                        let node = map.next_value()?;
                        if kind == "pin" { Entry::Pin(node) } else { Entry::Unpin(node) }
                    }
                    "info" => Entry::Info(map.next_value::<Object<_>>()?.0),
                    "checkpoint" => Entry::Checkpoint(Box::new(map.next_value::<Object<_>>()?.0)),
                    "withdrawn" => Entry::Withdrawn(map.next_value()?),
                    "gone" => Entry::Gone(map.next_value::<NonZeroU64>()?.get()),
                    kind if KINDS.contains(&kind) => {
                        small(kind, map.next_value::<Object<_>>()?.0).map_err(A::Error::missing_field)?
                    }
                    kind => return Err(A::Error::unknown_variant(kind, KINDS)),
                };
                match map.next_key::<IgnoredAny>()? {
                    None => Ok(entry),
                    Some(_) => Err(A::Error::custom("an entry has one kind")),
                }
            }
        }
        deserializer.deserialize_map(Kind)
    }
}

/// An entry of one of the smaller kinds.
///
/// # Errors
/// The name of a field that is missing.
fn small(kind: &str, fields: Fields) -> Result<Entry, &'static str> {
    let Fields { node, messages, turn, id, context, strategy, next_turn } = fields;
    let name = context.ok_or("context");
    Ok(match kind {
        "head" => Entry::Head { name: name?, node },
        "strategy" => Entry::Strategy { name: name?, strategy },
        "removed" => Entry::Removed { next_turn: next_turn.ok_or("nextTurn")? },
        kind => {
            let node = node.ok_or("node")?;
            match kind {
                "extend" => Entry::Extend { node, messages: messages.ok_or("messages")?, turn },
                "alias" => Entry::Alias { id: id.ok_or("id")?, node },
                _ => Entry::Seal { node },
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Node;
    use crate::entry::InfoPatch;

    #[test]
    fn each_kind_comes_back_as_it_was_written() {
        let id = |text: &str| MessageId::new(text).unwrap();
        let (a, name) = (id("a"), || "main".to_owned());
        let node = || Box::new(Node { sealed: false, ..Node::new(id("a"), None, vec![Message::user("hi")]) });
        let title = Some("Plans".to_owned());
        let all = [
            Entry::Node(node()),
            Entry::Extend { node: a.clone(), messages: vec![Message::assistant("yes")], turn: 3 },
            Entry::Seal { node: a.clone() },
            Entry::Alias { id: id("out"), node: a.clone() },
            Entry::Head { name: name(), node: Some(a.clone()) },
            Entry::Head { name: name(), node: None },
            Entry::Strategy { name: name(), strategy: Some(Strategy::default()) },
            Entry::Strategy { name: name(), strategy: None },
            Entry::Info(InfoPatch { title, ..InfoPatch::default() }),
            Entry::Removed { next_turn: 4 },
            Entry::Pin(a.clone()),
            Entry::Withdrawn("ckpt_1".to_owned()),
            Entry::Unpin(a.clone()),
            Entry::Restored(node()),
            Entry::Gone(u64::MAX),
        ];
        for entry in all {
            let mut line = String::new();
            entry.write(&mut line).unwrap();
            assert_eq!(Entry::parse(line.as_bytes()).unwrap(), entry, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_no_entry_says_why() {
        let lacking =
            ["seal", "alias", "extend", "head", "strategy", "removed", "node"].map(|kind| json!({ kind: {} }));
        let others =
            [json!({}), json!("seal"), json!({"sealed": {}}), json!({"gone": 0}), json!({"pin": "a", "gone": 1})];
        let words = ["no kind", "expected an entry", "unknown variant `sealed`", "nonzero", "one kind"];
        let words = ["missing field"; 7].into_iter().chain(words);
        for (line, words) in lacking.into_iter().chain(others).zip(words) {
            let said = Entry::parse(line.to_string().as_bytes()).unwrap_err().to_string();
            assert!(said.contains(words), "{line}: {said}");
        }
    }
}
