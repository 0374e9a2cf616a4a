//! Open Assistant's message trees: a prompt and, within each message, its replies. The best-ranked way down is the chosen branch.

use serde_json::Value;
use threadkeep_core::{Message, Role};

use crate::blocks::beside;
use crate::draft::Draft;
use crate::nested::flatten;
use crate::raw::{Fields, text_of};
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Conversation, Format, when};

/// Reads one tree; says why where it cannot.
pub(super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let prompt = fields.get("prompt").filter(|raw| raw.starts_with('{'));
    let (Some(id), Some(prompt)) = (fields.string("message_tree_id"), prompt) else {
        report.skip(place, Code::BadShape, "a message tree must have a `message_tree_id` and a `prompt`");
        return None;
    };
    let mut tree = Tree::new(Format::Oasst.name(), &id);
    tree.extra = crate::extra(fields, &["message_tree_id", "prompt"], place, report);
    let (nodes, strays) = flatten(prompt, "replies");
    if strays > 0 {
        report.skip(place, Code::BadShape, format!("replies that are no objects ({strays})"));
    }
    // For each message, the best rank among its replies, and which that is.
    let mut best: Vec<Option<(i64, usize)>> = vec![None; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let mut map = node.map(place, report);
        let local = text_of(&map, "message_id").map_or_else(|| format!("m{at}"), str::to_owned);
        let parent = node.parent.map(|up| tree.drafts[up].local.clone());
        let mut draft = Draft { local, parent, ..Draft::default() };
        let role = match text_of(&map, "role") {
            Some("prompter") => Role::User,
            Some(role) => Role::from(role),
            None => Role::Other("unknown".to_owned()),
        };
        draft.made.created_at = map.get("created_date").and_then(when::millis);
        draft.made.origin.model = text_of(&map, "model_name").map(str::to_owned);
        let text = match map.shift_remove("text") {
            Some(Value::String(text)) => text,
            _ => {
                let what = format!("{place}, node {}", crate::report::short(&draft.local));
                report.warn(&what, Code::BadShape, "the message has no `text`; it comes in empty");
                String::new()
            }
        };
        if let Some(up) = node.parent {
            let rank = map.get("rank").and_then(Value::as_i64).unwrap_or(i64::MAX);
            if best[up].is_none_or(|(known, _)| rank < known) {
                best[up] = Some((rank, at));
            }
        }
        for name in ["message_id", "parent_id", "role", "created_date", "model_name"] {
            map.shift_remove(name);
        }
        draft.made.messages.push(Message::new(role, text));
        beside(&mut draft.made.messages, "oasst", map);
        tree.drafts.push(draft);
    }
    let mut leaf = 0;
    while let Some((_, next)) = best.get(leaf).copied().flatten() {
        leaf = next;
    }
    tree.leaf = tree.drafts.get(leaf).map(|draft| draft.local.clone());
    let first = tree.drafts.first().and_then(|draft| draft.made.messages.first());
    tree.title = first.map(|message| message.text().lines().next().unwrap_or_default().chars().take(80).collect());
    Some(tree.finish(place, digest, report))
}
