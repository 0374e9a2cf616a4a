//! What a newer or older export of a transcript has that the transcript here lacks. Goes in: both trees. Comes out: the
//! entries that bring one to where the other is, and what stays different. Nothing here is ever changed by a merge, and what points at
//! a branch moves along it only.

use std::collections::HashMap;

use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::entry::InfoPatch;
use threadkeep_core::sort;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Kind, Message, MessageId, Node, Role, Transcript};

/// What an export of a transcript has more.
#[derive(Default)]
pub(super) struct Difference {
    /// The entries that bring what is here to where the export is.
    pub entries: Vec<Entry>,
    /// How many nodes that came in damaged are whole in the export.
    pub restored: u32,
    /// What points at one branch here and at another one there, in words.
    pub diverged: Vec<String>,
    /// How many nodes say something else there.
    pub differing: usize,
}

impl Difference {
    /// Nodes that `tree` lacks, growth of unsealed ones, nodes that came in damaged, checkpoints, aliases, heads. A head and the
    /// chosen branch move on where they only lag behind.
    /// The chosen branch also changes to another one where this import has `made` the transcript: then the file says it all.
    pub fn between(tree: &Transcript, incoming: &Transcript, made: bool) -> Self {
        let mut found = Self::default();
        found.nodes(tree, incoming);
        found.differing = incoming.nodes().filter(|theirs| says_otherwise(tree, theirs)).count();
        let more = !found.entries.is_empty();
        let mut aliases: Vec<_> = incoming.aliases().filter(|(id, _)| tree.resolve(id).is_none()).collect();
        sort::sort(&mut aliases);
        let alias = |(id, node): (&MessageId, &MessageId)| Entry::Alias { id: id.clone(), node: node.clone() };
        found.entries.extend(aliases.into_iter().map(alias));
        found.heads(tree, incoming);
        // Whoever removed a pin here does not get it back.
        let pins = incoming.pins().filter(|node| tree.pinned(node).is_none());
        found.entries.extend(pins.map(|node| Entry::Pin(node.clone())));
        let mut undone: Vec<_> = incoming.withdrawn().difference(tree.withdrawn()).collect();
        sort::sort(&mut undone);
        found.entries.extend(undone.into_iter().map(|id| Entry::Withdrawn(id.clone())));
        found.shown(tree, incoming, more, made);
        found
    }

    fn heads(&mut self, tree: &Transcript, incoming: &Transcript) {
        let mut heads: Vec<_> = incoming.heads().iter().collect();
        sort::sort(&mut heads);
        for (name, theirs) in heads {
            let head = || Entry::Head { name: name.clone(), node: Some(theirs.clone()) };
            match tree.heads().get(name) {
                None => {
                    self.entries.push(head());
                    let strategy = incoming.strategy(name);
                    let chosen = |strategy| Entry::Strategy { name: name.clone(), strategy: Some(strategy) };
                    self.entries.extend(strategy.map(chosen));
                }
                Some(ours) => match lies(tree, ours, incoming, theirs) {
                    Lies::Before => self.entries.push(head()),
                    Lies::HereOrBehind => {}
                    Lies::Beside => self.diverged.push(format!("the head {name:?}")),
                },
            }
        }
    }

    /// Keeps the shown branch, or moves it on.
    fn shown(&mut self, tree: &Transcript, incoming: &Transcript, more: bool, made: bool) {
        let end = |tree: &Transcript| Some(tree.newest_leaf(&tree.info().leaf?)?.node.id.clone());
        let (Some(ours), Some(theirs)) = (end(tree), end(incoming)) else { return };
        let leaf = match lies(tree, &ours, incoming, &theirs) {
            Lies::Before => theirs,
            Lies::Beside if made => theirs,
            Lies::HereOrBehind => ours,
            Lies::Beside => {
                if more {
                    self.diverged.push("the branch that is shown".to_owned());
                }
                ours
            }
        };
        if more {
            let updated_at = incoming.info().updated_at;
            self.entries.push(Entry::Info(InfoPatch { leaf: Some(leaf), updated_at, ..InfoPatch::default() }));
        }
    }

    /// The nodes and checkpoints.
    fn nodes(&mut self, tree: &Transcript, incoming: &Transcript) {
        let mut turn = tree.next_turn();
        let fresh = &mut self.entries;
        // The turns of nodes that come in, where they get other numbers here.
        let mut turns: HashMap<&MessageId, u32> = HashMap::new();
        // One that came in before it was known what such a summary came from is told anew.
        let sourced = |checkpoint: &Checkpoint| checkpoint.statements.iter().any(|said| !said.sources.is_empty());
        let told: HashMap<&str, bool> =
            tree.every_checkpoint().map(|(_, known)| (known.id.as_str(), sourced(known))).collect();
        let known = |new: &Checkpoint| told.get(new.id.as_str()).is_some_and(|told| *told || !sourced(new));
        let mut checkpoints = incoming.every_checkpoint().filter(|(_, checkpoint)| !known(checkpoint)).peekable();
        for placed in incoming.nodes() {
            // Each comes where it was made, since that says to which prompts it belongs.
            while let Some((_, checkpoint)) = checkpoints.next_if(|(seq, _)| *seq < placed.seq) {
                fresh.push(numbered(checkpoint, tree, incoming, &turns));
            }
            let node = &placed.node;
            match tree.get(&node.id) {
                None => {
                    let mut node = node.clone();
                    let opened = node.opened_turns();
                    node.turn = if opened > 0 { turn } else { 0 };
                    turn = turn.saturating_add(opened);
                    turns.insert(&placed.node.id, node.turn);
                    fresh.push(Entry::Node(Box::new(node)));
                }
                Some(known) if can_be_restored(&known.node, node) => {
                    self.restored += 1;
                    fresh.push(Entry::Restored(Box::new(node.clone())));
                }
                Some(known) if !known.node.sealed && known.is_leaf() && !node.is_salvaged() => {
                    let have = known.node.messages.len();
                    if node.messages.len() > have && node.messages[..have] == known.node.messages[..] {
                        let messages = node.messages[have..].to_vec();
                        let opened = messages.iter().filter(|message| message.role == Role::User).count() as u32;
                        let first = if opened > 0 { turn } else { 0 };
                        turn = turn.saturating_add(opened);
                        fresh.push(Entry::Extend { node: node.id.clone(), messages, turn: first });
                    }
                    if node.sealed {
                        fresh.push(Entry::Seal { node: node.id.clone() });
                    }
                }
                Some(_) => {}
            }
        }
        fresh.extend(checkpoints.map(|(_, checkpoint)| numbered(checkpoint, tree, incoming, &turns)));
    }
}

/// Whether the whole node `theirs` can take the place of `ours`, which came in damaged: nothing that was said since is lost.
fn can_be_restored(ours: &Node, theirs: &Node) -> bool {
    let kept = |message: &Message| message.stands_in() || theirs.messages.contains(message);
    ours.is_salvaged() && !theirs.is_salvaged() && ours.messages.iter().all(kept)
}

/// Whether the node of the same id in `tree` says something that `theirs` neither says nor adds to.
fn says_otherwise(tree: &Transcript, theirs: &Placed) -> bool {
    let Some(known) = tree.get(&theirs.node.id) else { return false };
    if theirs.node.is_salvaged() || can_be_restored(&known.node, &theirs.node) {
        return false;
    }
    let (have, there) = (&known.node.messages, &theirs.node.messages);
    let is_summary = |message: &Message| matches!(message.kind, Kind::Summary { .. });
    // A summary says the same whether it stands in prompts itself or a checkpoint in its stead.
    let same = |ours: &Message, theirs: &Message| {
        ours == theirs || is_summary(ours) && is_summary(theirs) && ours.content == theirs.content
    };
    let differs = have.iter().zip(there).any(|(ours, theirs)| !same(ours, theirs));
    let closed = known.node.sealed || !known.is_leaf();
    differs || closed && there.len() > have.len()
}

/// Where one end of a branch lies, as seen from another one.
enum Lies {
    /// The other one only goes on.
    Before,
    /// It is the same, or further on.
    HereOrBehind,
    /// They are on two branches.
    Beside,
}

/// Where `ours`, in `tree`, lies as seen from `theirs`, in `incoming`.
fn lies(tree: &Transcript, ours: &MessageId, incoming: &Transcript, theirs: &MessageId) -> Lies {
    if is_above(tree, theirs, ours) {
        Lies::HereOrBehind
    } else if is_above(incoming, ours, theirs) {
        Lies::Before
    } else {
        Lies::Beside
    }
}

/// Whether the node `upper` is `lower`, or is above it.
fn is_above(tree: &Transcript, upper: &MessageId, lower: &MessageId) -> bool {
    let (Some(upper), Some(mut here)) = (tree.get(upper), tree.get(lower)) else { return false };
    // A node's number grows from the root to the leaf.
    while here.seq > upper.seq {
        let Some(up) = tree.parent(here) else { return false };
        here = up;
    }
    here.seq == upper.seq
}

/// A checkpoint that comes in, with the numbers that the turns which it covers have here.
fn numbered(
    checkpoint: &Checkpoint,
    tree: &Transcript,
    incoming: &Transcript,
    turns: &HashMap<&MessageId, u32>,
) -> Entry {
    let mut checkpoint = checkpoint.clone();
    let (mut first, mut last) = (u32::MAX, 0);
    for placed in incoming.chain(&checkpoint.anchor).unwrap_or_default() {
        let node = &placed.node;
        let turn = turns.get(&node.id).copied().or_else(|| tree.get(&node.id).map(|known| known.node.turn));
        if let Some(turn) = turn.filter(|turn| *turn > 0) {
            first = first.min(turn);
            last = last.max(turn.saturating_add(node.opened_turns().saturating_sub(1)));
        }
    }
    // What covers no more than the one before it has the numbers of that.
    if last > 0 && checkpoint.cleared.is_empty() {
        (checkpoint.covers.first_turn, checkpoint.covers.last_turn) = (first, last);
    }
    Entry::Checkpoint(Box::new(checkpoint))
}
