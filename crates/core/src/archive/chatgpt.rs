//! ChatGPT's data export: a conversation is a `mapping` of nodes with parent links, and the end of the chosen branch.
//!
//! Each entry of the mapping becomes one node (the empty one at the top is the root). What the nodes say is read in
//! [`message`].

mod message;

use std::borrow::Cow;

use foldhash::{HashSet, HashSetExt as _};

use super::raw::Fields;
use super::report::{Report, short};
use super::tree::{Draft, Tree};
use super::{Code, Conversation, Format, when};

/// Fields of a conversation that have a place of their own.
const PLACED: [&str; 7] = ["mapping", "title", "create_time", "update_time", "current_node", "conversation_id", "id"];

/// Reads one conversation; says why where it cannot.
pub(super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let Some(id) = fields.string("conversation_id").or_else(|| fields.string("id")) else {
        report.skip(place, Code::BadShape, "a ChatGPT conversation without `conversation_id` or `id`");
        return None;
    };
    let Some(mapping) = fields.get("mapping").and_then(entries) else {
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
    tree.extra = super::extra(fields, &PLACED, place, report);
    let mut tops = Vec::new();
    for (key, entry) in &mapping {
        match entry {
            Some(entry) if entry.get("message").is_none() && entry.get("parent").is_none() => {
                tops.push(Draft { local: key.clone().into_owned(), children: children(entry), ..Draft::default() });
            }
            Some(entry) => tree.drafts.push(draft(key, entry, place, report)),
            None => {
                let what = format!("{place}, node {}", short(key));
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

/// The entries of a `mapping`, each with its fields; without, where it is no object. `None` where the mapping is none.
fn entries(mapping: &str) -> Option<Vec<(Cow<'_, str>, Option<Fields<'_>>)>> {
    // Where all are objects, as nearly always, the text is gone through once.
    if let Ok(Fields(all)) = serde_json::from_str::<Fields<Fields>>(mapping) {
        return Some(all.into_iter().map(|(key, entry)| (key, Some(entry))).collect());
    }
    let Fields(all) = Fields::parse(mapping).ok()?;
    Some(all.into_iter().map(|(key, raw)| (key, Fields::parse(raw.get()).ok())).collect())
}

fn children(entry: &Fields) -> Vec<String> {
    let list = entry.array("children").unwrap_or_default();
    list.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect()
}

fn draft(key: &str, entry: &Fields, place: &str, report: &mut Report) -> Draft {
    let mut draft =
        Draft { local: key.to_owned(), parent: entry.string("parent"), children: children(entry), ..Draft::default() };
    let what = || format!("{place}, node {}", short(key));
    match entry.get("message") {
        None => {}
        Some(raw) if !raw.starts_with('{') => {
            report.warn(&what(), Code::BadShape, "its `message` is not an object; the node comes in empty");
        }
        Some(raw) => match Fields::parse(raw).and_then(|message| message::read(key, &message)) {
            Ok(made) => draft.made = made,
            Err(error) => {
                let (code, reason) = super::unreadable(&error);
                report.warn(&what(), code, format!("its `message` {reason}; the node comes in empty"));
            }
        },
    }
    if draft.made.messages.is_empty() {
        draft.made.label("hidden", "true");
    }
    draft
}
