//! Where branches part. A node often holds a question and its answer; asked again, the same question stands in a sibling with
//! another answer. Such siblings differ in the answer alone, so their fork is there and not at the question.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use threadkeep_core::transcript::Placed;
use threadkeep_core::{Message, Node, Role, Transcript};

use crate::protocol::Fork;

/// Siblings that ask the same, oldest first.
pub(crate) type Group<'a> = Vec<&'a Placed>;

/// What a node asks before it answers: its first user messages. Empty for a node that holds no answer and awaits none.
fn question(node: &Node) -> &[Message] {
    let asked = node.messages.iter().take_while(|message| message.role == Role::User).count();
    if node.sealed && asked == node.messages.len() { &[] } else { &node.messages[..asked] }
}

/// Siblings by what they ask, in the order in which each question came first. One without a question stands alone.
pub(crate) fn groups<'a>(siblings: &[&'a Placed]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for placed in siblings {
        let asked = question(&placed.node);
        if asked.is_empty() {
            groups.push(vec![*placed]);
            continue;
        }
        let mut hasher = DefaultHasher::new();
        asked.iter().for_each(|message| message.text().hash(&mut hasher));
        let alike = known.entry(hasher.finish()).or_default();
        match alike.iter().find(|at| question(&groups[**at][0].node) == asked) {
            Some(at) => groups[*at].push(placed),
            None => {
                alike.push(groups.len());
                groups.push(vec![*placed]);
            }
        }
    }
    groups
}

/// The forks at a node: among the siblings that ask something else, and among those that answer the same question otherwise.
pub(crate) fn forks(tree: &Transcript, placed: &Placed) -> (Option<Fork>, Option<Fork>) {
    let siblings = tree.parent(placed).and_then(|parent| tree.children(&parent.node.id).ok());
    let groups = groups(&siblings.unwrap_or_default());
    let own = |one: &&Placed| one.node.id == placed.node.id;
    let Some(at) = groups.iter().position(|group| group.iter().any(&own)) else { return (None, None) };
    let newest: Vec<&Placed> = groups.iter().filter_map(|group| group.last().copied()).collect();
    let place = groups[at].iter().position(own).unwrap_or_default();
    (fork(tree, &newest, at), fork(tree, &groups[at], place))
}

fn fork(tree: &Transcript, among: &[&Placed], at: usize) -> Option<Fork> {
    let leaf = |at: usize| Some(tree.newest_leaf(&among.get(at)?.node.id)?.node.id.clone());
    (among.len() > 1).then(|| Fork {
        index: at as u32 + 1,
        count: among.len() as u32,
        previous: at.checked_sub(1).and_then(leaf),
        next: leaf(at + 1),
    })
}

/// The messages of a node that do not stand in an older sibling: all, or those after the question that was asked there first.
pub(crate) fn new_words(node: &Node, asked_before: bool) -> &[Message] {
    if asked_before { &node.messages[question(node).len()..] } else { &node.messages }
}
