//! ChatGPT's data export: a conversation is a `mapping` of nodes with parent links, and the end of the chosen branch.
//!
//! Each entry of the mapping becomes one node (the empty one at the top is the root). What the nodes say is read in
//! [`message`].

mod message;

use std::fmt;

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::draft::{Draft, Made};
use crate::raw::{Fields, Key};
use crate::report::{Report, short};
use crate::tree::Tree;
use crate::{Code, Conversation, Format, when};

/// Fields of a conversation that have a place of their own.
const PLACED: [&str; 7] = ["mapping", "title", "create_time", "update_time", "current_node", "conversation_id", "id"];

/// The entries of a `mapping` by their keys; nothing for what is no object.
pub(super) type Mapping<'a> = Fields<'a, Option<Entry<'a>>>;

/// The fields of any value. If it is a conversation of ChatGPT, its mapping, which is nearly all of it, is read at once.
pub(super) struct Outer<'a> {
    /// With anything in the place of a mapping that was read.
    pub fields: Fields<'a>,
    pub mapping: Option<Mapping<'a>>,
}

/// An entry of the mapping.
#[derive(Debug, Deserialize)]
pub(super) struct Entry<'a> {
    #[serde(borrow)]
    message: Option<Fields<'a>>,
    parent: Option<String>,
    #[serde(default)]
    children: Vec<String>,
    /// Whether its message is no object.
    #[serde(skip)]
    odd: bool,
}

/// Reads one conversation; says why where it cannot.
pub(super) fn read(
    fields: &Fields,
    mapping: Option<Mapping>,
    place: &str,
    digest: u64,
    report: &mut Report,
) -> Option<Conversation> {
    let Some(id) = fields.string("conversation_id").or_else(|| fields.string("id")) else {
        report.skip(place, Code::BadShape, "a ChatGPT conversation without `conversation_id` or `id`");
        return None;
    };
    let Some(mapping) = mapping.or_else(|| fields.object("mapping").map(odd_mapping)) else {
        let is = if fields.get("mapping").is_none() { "is missing" } else { "is not an object" };
        let reason = format!("the conversation's `mapping`, which holds its messages, {is} in the export");
        report.skip(place, Code::BadShape, reason);
        return None;
    };
    let mut tree = Tree::new(Format::ChatGpt.name(), &id);
    tree.title = fields.string("title");
    tree.created_at = fields.value("create_time").as_ref().and_then(when::millis);
    tree.updated_at = fields.value("update_time").as_ref().and_then(when::millis);
    tree.leaf = fields.string("current_node");
    tree.extra = crate::extra(fields, &PLACED, place, report);
    let mut tops = Vec::new();
    for (key, entry) in mapping.0 {
        match entry {
            Some(Entry { message: None, parent: None, children, odd: false }) => {
                tops.push(Draft { local: key.into_owned(), children, ..Draft::default() });
            }
            Some(entry) => tree.drafts.push(draft(key.into_owned(), entry, place, report)),
            None => {
                let what = format!("{place}, node {}", short(&key));
                report.skip(&what, Code::BadShape, "the entry of `mapping` is not an object");
            }
        }
    }
    // An empty entry without a parent is the root itself, unless another entry calls it its child.
    let names: HashSet<&str> = tops.iter().map(|top| top.local.as_str()).collect();
    let mut claims = HashSet::new();
    claims.extend(tree.drafts.iter().flat_map(|draft| &draft.children).filter(|child| names.contains(child.as_str())));
    let claimed: Vec<bool> = tops.iter().map(|top| claims.contains(&top.local)).collect();
    for (mut top, claimed) in tops.into_iter().zip(claimed) {
        if claimed {
            top.made.label("hidden", "true");
            tree.drafts.push(top);
        } else {
            tree.root_names.push(top.local);
            tree.root_children.extend(top.children);
        }
    }
    message::pair(&mut tree.drafts);
    Some(tree.finish(place, digest, report))
}

impl<'a> Outer<'a> {
    /// Reads the outer layer of an object.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        // Fails on an odd mapping too, whose entries are read one by one.
        serde_json::from_str(text).or_else(|_| Ok(Self { fields: Fields::parse(text)?, mapping: None }))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Outer<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Both;
        impl<'de> Visitor<'de> for Both {
            type Value = Outer<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut outer = Outer { fields: Fields::default(), mapping: None };
                while let Some(Key(key)) = map.next_key()? {
                    let value = if key == "mapping" {
                        outer.mapping = Some(map.next_value()?);
                        RawValue::TRUE
                    } else {
                        map.next_value()?
                    };
                    outer.fields.0.push((key, value));
                }
                Ok(outer)
            }
        }
        deserializer.deserialize_map(Both)
    }
}

/// A mapping of which not all is as it should be.
fn odd_mapping(mapping: Fields) -> Mapping {
    Fields(
        mapping
            .0
            .into_iter()
            .map(|(key, raw)| (key, Fields::parse(raw.get()).ok().map(|fields| odd_entry(&fields))))
            .collect(),
    )
}

/// An entry of which not all is as it should be.
fn odd_entry<'a>(fields: &Fields<'a>) -> Entry<'a> {
    let children = fields.array("children").unwrap_or_default();
    let message = fields.object("message");
    Entry {
        odd: message.is_none() && fields.get("message").is_some(),
        message,
        parent: fields.string("parent"),
        children: children.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect(),
    }
}

fn draft(local: String, entry: Entry, place: &str, report: &mut Report) -> Draft {
    let Entry { message, parent, children, odd } = entry;
    let what = || format!("{place}, node {}", short(&local));
    let mut made = Made::default();
    if odd {
        report.warn(&what(), Code::BadShape, "its `message` is not an object; the node comes in empty");
    }
    match message.map(|message| message::read(&local, &message)) {
        None => {}
        Some(Ok(read)) => made = read,
        Some(Err(error)) => {
            let (code, reason) = crate::unreadable(&error);
            report.warn(&what(), code, format!("its `message` {reason}; the node comes in empty"));
        }
    }
    if made.messages.is_empty() {
        made.label("hidden", "true");
    }
    Draft { local, parent, children, made, ..Draft::default() }
}
