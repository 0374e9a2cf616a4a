//! Reading what is being said: the pieces of drafts that lie beside a log. What a draft is stands in [`draft`](crate::draft).

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_core::message::Kind;
use threadkeep_core::{Message, MessageId, Transcript};
use threadkeep_store::Record;

use crate::json::from_json;
use crate::keys;

/// The code of a message that is not whole: it is still being said, or whoever said it was interrupted.
const UNFINISHED: &str = "unfinished";

/// Takes the drafts out of what was read of a log, and gives them to the tree.
pub(crate) fn take_drafts(records: &mut Vec<Record>, tree: &mut Transcript) {
    let mut drafts: HashMap<MessageId, (String, String)> = HashMap::new();
    records.retain(|(key, bytes)| {
        let Some(node) = keys::draft_node(key) else { return true };
        // A piece that cannot be read is left out: what was really said is in the log.
        let fields: Map<String, Value> = from_json(bytes).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (said, thought) = drafts.entry(node).or_default();
        said.push_str(text("text"));
        thought.push_str(text("reasoning"));
        false
    });
    let message = |(said, thought): (String, String)| Message {
        kind: Kind::Error { code: UNFINISHED.to_owned(), reason: "the answer is not complete".to_owned() },
        reasoning: Some(thought).filter(|thought| !thought.is_empty()),
        ..Message::assistant(said)
    };
    tree.set_drafts(drafts.into_iter().map(|(node, said)| (node, message(said))).collect());
}
