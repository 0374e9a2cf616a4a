//! A transcript: a tree of nodes, made by applying its log.
//!
//! Goes in: entries, in order. Comes out: chains (root to leaf), children, depths, turns, aliases and a summary
//! ([`Info`]). Branches share their prefix: a node is stored once and found by its parent link. The tree decides what may
//! happen to it ([`Transcript::check`]); ids and times come from outside; storing the log is the engine's.

mod chain;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::{Checkpoint, Strategy};
use crate::entry::{Entry, InfoPatch};
use crate::message::DEEPEST;
use crate::node::MOST_TURNS;
use crate::sort;
use crate::{Content, Message, MessageId, Node, Role, TranscriptId};

pub use chain::{ChainError, Part, assemble, assemble_lenient};

/// Why an entry cannot happen to a transcript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    /// There is no such node.
    #[error("no node {0:?}")]
    MissingNode(MessageId),
    /// The parent of a new node is not there.
    #[error("node {node:?} names the parent {parent:?}, which is not there")]
    MissingParent {
        /// The new node.
        node: MessageId,
        /// The parent that is missing.
        parent: MessageId,
    },
    /// The id is taken, by a node or by an alias of another node.
    #[error("the id {0:?} is taken")]
    Taken(MessageId),
    /// The node is sealed (or has children, which seals it), so it cannot grow.
    #[error("node {0:?} is sealed and cannot grow: continue it with a new node")]
    Sealed(MessageId),
    /// The transcript has a root already.
    #[error("node {0:?} has no parent, but the transcript has a root already")]
    SecondRoot(MessageId),
    /// Too many lists and objects lie inside one another in a message, or in what an archive says about a conversation.
    #[error("what {0:?} holds is nested too deeply: {DEEPEST} levels are the most")]
    TooDeep(MessageId),
}

/// What a list of transcripts shows of one: small, kept beside the log, derived from it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Info {
    /// The archive's title, yours, or the beginning of the first user message.
    pub title: String,
    /// The kind of archive that it came from, such as `chatgpt`; empty for what began here.
    pub source: String,
    /// When it began, in milliseconds since 1970 (UTC); `null` where that is not known.
    pub created_at: Option<i64>,
    /// When it last changed, in milliseconds since 1970 (UTC); `null` where that is not known.
    pub updated_at: Option<i64>,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many messages they hold.
    pub messages: u32,
    /// How many checkpoints it has; left out for none.
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<u32>"))]
    pub checkpoints: u32,
    /// How many leaves it has: 1 for a plain conversation.
    pub branches: u32,
    /// The models that answered, in the order in which they came, at most eight; left out for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub models: Vec<String>,
    /// How many images its messages have; left out for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<u32>"))]
    pub images: u32,
    /// How many entries its log has: it grows with every change, a deletion too. 0 for a transcript that did not change since an earlier version.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub entries: u64,
    /// The end of the chosen branch; without a choice, the newest leaf.
    pub leaf: Option<MessageId>,
    /// Whatever else the archive said about the conversation.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
    pub extra: Map<String, Value>,
}

/// As many models of a transcript are named.
const MOST_MODELS: usize = 8;

fn images(messages: &[Message]) -> u32 {
    let of = |message: &Message| match &message.content {
        Content::Parts(parts) => parts.iter().filter(|part| part.is_image()).count() as u32,
        _ => 0,
    };
    messages.iter().map(of).sum()
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A node in its place in the tree.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The node, with everything that it grew by.
    pub node: Node,
    /// The sequence number of the entry that began it.
    pub seq: u64,
    /// User and assistant messages from the root to the end of this node.
    pub depth: u32,
    /// The turn at the end of this node: its own last one, else its parent's. Zero before the first.
    pub turn: u32,
    /// How many nodes are above it.
    pub level: u32,
    /// How many messages they hold.
    pub messages_above: u32,
    parent: Option<u32>,
    children: Vec<u32>,
    /// A node further up, for [climbing](Transcript::climb); itself where it has no parent.
    jump: u32,
}

/// The stretch of a chain in which the same checkpoint was used.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch<'a> {
    /// The checkpoint; `None` before the first.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The place of the first message that its prompts have raw, pinned ones and instructions apart.
    pub start: usize,
    /// The place behind the last message that was there when the next checkpoint was made; the chain's end for the last epoch.
    pub end: usize,
    /// The node that was the chain's end then.
    pub leaf: MessageId,
}

/// A tree as it was before some entries, for [`Transcript::take_back`].
#[derive(Debug)]
pub struct Before {
    nodes: usize,
    /// The heads that the entries move, and where they pointed.
    heads: Vec<(String, Option<MessageId>)>,
    next_seq: u64,
    next_turn: u32,
    messages: u32,
    /// How many models were named.
    models: usize,
    images: u32,
    leaves: u32,
    span: Option<(i64, i64)>,
    bytes: usize,
}

/// What a run of entries will have changed, while it is checked.
#[derive(Default)]
struct Coming<'a> {
    ids: foldhash::HashMap<&'a MessageId, Change>,
    /// Whether nothing comes after the entry that is looked at, so that nothing need be remembered of it.
    last: bool,
}

/// What becomes of an id.
#[derive(Default)]
struct Change {
    /// It is a new node.
    node: bool,
    /// It is a new alias.
    alias: bool,
    /// The node will be sealed or have children.
    grown_past: bool,
}

impl<'a> Coming<'a> {
    fn of(&self, id: &MessageId) -> &Change {
        const NONE: Change = Change { node: false, alias: false, grown_past: false };
        self.ids.get(id).unwrap_or(&NONE)
    }

    fn note(&mut self, id: &'a MessageId, note: impl FnOnce(&mut Change)) {
        if !self.last {
            note(self.ids.entry(id).or_default());
        }
    }

    /// Whether a node comes before the one that is looked at.
    fn any_node(&self) -> bool {
        self.ids.values().any(|change| change.node)
    }
}

/// A tree of nodes in memory.
///
/// ```
/// use threadkeep_core::{Entry, Message, MessageId, Node, Transcript};
/// let root = MessageId::new("root")?;
/// let mut tree = Transcript::new(root.clone());
/// tree.apply(Entry::Node(Box::new(Node::new(root.clone(), None, vec![Message::system("be brief")]))))?;
/// for id in ["a", "b"] {
///     let node = Node::new(MessageId::new(id)?, Some(root.clone()), vec![Message::user("hi")]);
///     tree.apply(Entry::Node(Box::new(node)))?;
/// }
/// assert_eq!(tree.children(&root)?.len(), 2);
/// assert_eq!(tree.chain(&MessageId::new("b")?)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transcript {
    id: TranscriptId,
    slots: Vec<Placed>,
    // A log of thousands is looked up in these four times a node: SipHash would be a tenth of reading it.
    by_id: foldhash::HashMap<MessageId, u32>,
    aliases: foldhash::HashMap<MessageId, MessageId>,
    heads: HashMap<String, MessageId>,
    /// How the chains at heads are compacted, where that was chosen.
    strategies: HashMap<String, Strategy>,
    /// Nodes that were ever pinned, in the order in which they were, and whether they still are.
    pins: Vec<(MessageId, bool)>,
    patch: InfoPatch,
    /// With the sequence numbers of their entries.
    checkpoints: Vec<(u64, Checkpoint)>,
    /// The models that answered, in the order in which they came.
    models: Vec<String>,
    images: u32,
    /// The places of checkpoints, by their ids.
    checkpoint_of_id: HashMap<String, usize>,
    /// The ids of checkpoints whose compactions were undone.
    withdrawn: HashSet<String>,
    /// The place of the first node in which a user says something.
    first_said: Option<u32>,
    damage: Vec<String>,
    next_seq: u64,
    next_turn: u32,
    messages: u32,
    leaves: u32,
    /// The earliest and the latest time of a node.
    span: Option<(i64, i64)>,
    bytes: usize,
    /// What is being said in nodes that grow; no part of the log.
    drafts: HashMap<MessageId, Message>,
}

impl Placed {
    /// Whether the node has no children.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// How many children the node has.
    pub fn child_count(&self) -> usize {
        self.children.len()
    }
}

impl Transcript {
    /// A tree without nodes.
    pub fn new(id: TranscriptId) -> Self {
        Self {
            id,
            slots: Vec::new(),
            by_id: foldhash::HashMap::default(),
            aliases: foldhash::HashMap::default(),
            heads: HashMap::new(),
            strategies: HashMap::new(),
            pins: Vec::new(),
            patch: InfoPatch::default(),
            checkpoints: Vec::new(),
            models: Vec::new(),
            images: 0,
            checkpoint_of_id: HashMap::new(),
            withdrawn: HashSet::new(),
            first_said: None,
            damage: Vec::new(),
            next_seq: 0,
            next_turn: 1,
            messages: 0,
            leaves: 0,
            span: None,
            bytes: 0,
            drafts: HashMap::new(),
        }
    }

    /// What was said so far of the message that a node gets next, as it was last stored. It is no part of the log, and no chain has it: the
    /// whole message takes its place.
    pub fn draft(&self, node: &MessageId) -> Option<&Message> {
        self.drafts.get(node)
    }

    /// Puts the drafts that are stored now in the place of those that were known.
    pub fn set_drafts(&mut self, drafts: HashMap<MessageId, Message>) {
        self.drafts = drafts;
    }

    /// The transcript's id.
    pub fn id(&self) -> &TranscriptId {
        &self.id
    }

    /// The sequence number that the next entry gets. Counts up with every entry and never goes back.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The number that the next turn gets, from 1.
    pub fn next_turn(&self) -> u32 {
        self.next_turn
    }

    /// About how many bytes of memory the tree takes, as a cache counts them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What was wrong with the log when it was [replayed](Transcript::replay), in words; empty for a sound one.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Whether `entries` could happen now, one after the other.
    ///
    /// # Errors
    /// [`TranscriptError`] says what stands against the first that could not.
    pub fn check<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> Result<(), TranscriptError> {
        let mut coming = Coming::default();
        let mut entries = entries.into_iter().peekable();
        while let Some(entry) = entries.next() {
            coming.last = entries.peek().is_none();
            self.check_one(entry, &mut coming)?;
        }
        Ok(())
    }

    fn check_one<'a>(&self, entry: &'a Entry, coming: &mut Coming<'a>) -> Result<(), TranscriptError> {
        let missing = |id: &MessageId| TranscriptError::MissingNode(id.clone());
        let known = |coming: &Coming, id: &MessageId| coming.of(id).node || self.slot(id).is_some();
        let is_new = |coming: &Coming, id: &MessageId| {
            let change = coming.of(id);
            !change.node && !change.alias && self.resolve(id).is_none()
        };
        match entry {
            Entry::Node(node) => {
                if !is_new(coming, &node.id) {
                    return Err(TranscriptError::Taken(node.id.clone()));
                }
                match &node.parent {
                    None if !self.slots.is_empty() || coming.any_node() => {
                        return Err(TranscriptError::SecondRoot(node.id.clone()));
                    }
                    Some(parent) if !known(coming, parent) => {
                        return Err(TranscriptError::MissingParent { node: node.id.clone(), parent: parent.clone() });
                    }
                    Some(parent) => coming.note(parent, |change| change.grown_past = true),
                    None => {}
                }
                coming.note(&node.id, |change| {
                    change.node = true;
                    change.grown_past |= node.sealed;
                });
            }
            Entry::Restored(node) => {
                if !known(coming, &node.id) {
                    return Err(missing(&node.id));
                }
                if self.get(&node.id).is_some_and(|placed| !placed.node.is_salvaged()) {
                    return Err(TranscriptError::Taken(node.id.clone()));
                }
                if let Some(parent) = node.parent.as_ref().filter(|parent| !known(coming, parent)) {
                    return Err(TranscriptError::MissingParent { node: node.id.clone(), parent: parent.clone() });
                }
                if node.sealed {
                    coming.note(&node.id, |change| change.grown_past = true);
                }
            }
            Entry::Extend { node, .. } => {
                if !known(coming, node) {
                    return Err(missing(node));
                }
                let sealed = self.get(node).is_some_and(|placed| placed.node.sealed || !placed.children.is_empty());
                if sealed || coming.of(node).grown_past {
                    return Err(TranscriptError::Sealed(node.clone()));
                }
            }
            Entry::Seal { node } => {
                if !known(coming, node) {
                    return Err(missing(node));
                }
                coming.note(node, |change| change.grown_past = true);
            }
            Entry::Alias { id, node } => {
                if !known(coming, node) {
                    return Err(missing(node));
                }
                let same = self.aliases.get(id) == Some(node);
                if !same && !is_new(coming, id) {
                    return Err(TranscriptError::Taken(id.clone()));
                }
                coming.note(id, |change| change.alias |= !same);
            }
            Entry::Head { node: Some(node), .. } | Entry::Pin(node) | Entry::Unpin(node) if !known(coming, node) => {
                return Err(missing(node));
            }
            Entry::Checkpoint(checkpoint) if !known(coming, &checkpoint.anchor) => {
                return Err(missing(&checkpoint.anchor));
            }
            Entry::Checkpoint(_)
            | Entry::Withdrawn(_)
            | Entry::Head { .. }
            | Entry::Strategy { .. }
            | Entry::Pin(_)
            | Entry::Unpin(_)
            | Entry::Info(_)
            | Entry::Removed { .. }
            | Entry::Gone(_) => {}
        }
        Ok(())
    }

    /// Lets `entries` happen, one after the other, so that they can be stored.
    ///
    /// # Errors
    /// Those of [`Transcript::check`], and [`TranscriptError::TooDeep`]; the tree is unchanged then.
    pub fn apply_all(&mut self, entries: Vec<Entry>) -> Result<(), TranscriptError> {
        self.check(&entries)?;
        if let Some(place) = entries.iter().find_map(|entry| entry.too_deep(&self.id)) {
            return Err(TranscriptError::TooDeep(place.clone()));
        }
        entries.into_iter().for_each(|entry| self.take(entry));
        Ok(())
    }

    /// Lets `entry` happen.
    ///
    /// # Errors
    /// Those of [`Transcript::apply_all`]; the tree is unchanged then.
    pub fn apply(&mut self, entry: Entry) -> Result<(), TranscriptError> {
        self.apply_all(vec![entry])
    }

    /// What [`Transcript::take_back`] needs to undo `entries`, which are about to be applied. `None` unless all of them are new
    /// nodes and heads that are made or moved, as in every append.
    pub fn before(&self, entries: &[Entry]) -> Option<Before> {
        let mut heads = Vec::new();
        for entry in entries {
            match entry {
                Entry::Node(_) => {}
                Entry::Head { name, node: Some(_) } => heads.push((name.clone(), self.heads.get(name).cloned())),
                _ => return None,
            }
        }
        Some(Before {
            nodes: self.slots.len(),
            heads,
            next_seq: self.next_seq,
            next_turn: self.next_turn,
            messages: self.messages,
            models: self.models.len(),
            images: self.images,
            leaves: self.leaves,
            span: self.span,
            bytes: self.bytes,
        })
    }

    /// Makes the tree what it was `before` entries that were applied since. Nothing else may have been applied.
    pub fn take_back(&mut self, before: Before) {
        self.first_said = self.first_said.filter(|at| (*at as usize) < before.nodes);
        while self.slots.len() > before.nodes {
            let Some(placed) = self.slots.pop() else { break };
            self.by_id.remove(&placed.node.id);
            // The newest node is the last of its parent's children.
            if let Some(up) = placed.parent.and_then(|up| self.slots.get_mut(up as usize)) {
                up.children.pop();
            }
        }
        // The first note on a head is the oldest.
        for (name, node) in before.heads.into_iter().rev() {
            match node {
                Some(node) => self.heads.insert(name, node),
                None => self.heads.remove(&name),
            };
        }
        self.next_seq = before.next_seq;
        self.next_turn = before.next_turn;
        self.messages = before.messages;
        self.models.truncate(before.models);
        self.images = before.images;
        self.leaves = before.leaves;
        self.span = before.span;
        self.bytes = before.bytes;
    }

    /// Takes out nodes of which the log has holes now: whole branches, with their aliases and the heads that point at them. `false`, and
    /// nothing is changed, where only the log can say what is left: a chosen leaf, a checkpoint or a head's strategy may have been another
    /// one before.
    pub fn prune(&mut self, gone: &HashSet<&MessageId>) -> bool {
        let chosen = self.patch.leaf.as_ref().is_some_and(|leaf| gone.contains(leaf));
        let compacted = self.checkpoints.iter().any(|(_, checkpoint)| gone.contains(&checkpoint.anchor));
        if chosen || compacted || !self.strategies.is_empty() {
            return false;
        }
        let slots = std::mem::take(&mut self.slots);
        self.by_id.clear();
        (self.messages, self.images, self.leaves, self.span, self.first_said) = (0, 0, 0, None, None);
        self.models.clear();
        for placed in slots {
            self.bytes = self.bytes.saturating_sub(node_bytes(&placed.node));
            if gone.contains(&placed.node.id) {
                continue;
            }
            let (seq, depth, turn) = (placed.seq, placed.depth, placed.turn);
            self.place(placed.node);
            if let Some(slot) = self.slots.last_mut() {
                (slot.seq, slot.depth, slot.turn) = (seq, depth, turn);
            }
        }
        self.aliases.retain(|id, node| {
            let stays = !gone.contains(node);
            self.bytes = self.bytes.saturating_sub(if stays { 0 } else { alias_bytes(id) });
            stays
        });
        self.heads.retain(|_, node| !gone.contains(node));
        self.pins.retain(|(node, _)| !gone.contains(node));
        self.drafts.retain(|node, _| !gone.contains(node));
        true
    }

    /// Makes room for so many nodes at once. A tree that grows by itself hashes and moves each node twice.
    pub fn reserve(&mut self, nodes: usize) {
        self.slots.reserve(nodes);
        self.by_id.reserve(nodes);
    }

    /// Lets `entry` happen as the log says that it did, even where that cannot be: a node whose parent is missing hangs
    /// loose, what makes no sense is passed over, and [`Transcript::damage`] says so. For reading what is stored.
    pub fn replay(&mut self, seq: u64, mut entry: Entry) {
        if seq != self.next_seq {
            self.damage.push(format!("entries {}..{seq} of the log are missing", self.next_seq));
            self.next_seq = seq;
        }
        if let Some(turn) = entry.turn_mut().filter(|turn| **turn > MOST_TURNS) {
            self.damage.push(format!("entry {seq} has the turn {turn}, more than {MOST_TURNS}"));
            *turn = 0;
        }
        match self.check([&entry]) {
            Ok(()) => self.take(entry),
            Err(error) => {
                self.damage.push(format!("entry {seq}: {error}"));
                let loose = matches!(error, TranscriptError::MissingParent { .. } | TranscriptError::SecondRoot(_));
                let loose = loose && matches!(entry, Entry::Node(_));
                self.take(if loose { entry } else { Entry::Gone(1) });
            }
        }
    }

    /// Passes over the entry `seq` of a stored log, which cannot be read because of `why`.
    pub fn skip(&mut self, seq: u64, why: impl std::fmt::Display) {
        self.replay(seq, Entry::Gone(1));
        self.damage.push(format!("entry {seq} cannot be read: {why}"));
    }

    fn take(&mut self, entry: Entry) {
        let span = entry.span();
        match entry {
            Entry::Node(node) => self.place(*node),
            Entry::Restored(node) => self.restore(*node),
            Entry::Extend { node, messages, turn } => self.grow(&node, messages, turn),
            Entry::Seal { node } => {
                if let Some(at) = self.by_id.get(&node) {
                    self.slots[*at as usize].node.sealed = true;
                }
            }
            Entry::Alias { id, node } => {
                self.bytes += alias_bytes(&id);
                self.aliases.insert(id, node);
            }
            Entry::Head { name, node: Some(node) } => {
                self.heads.insert(name, node);
            }
            Entry::Head { name, node: None } => {
                self.heads.remove(&name);
                self.strategies.remove(&name);
            }
            Entry::Strategy { name, strategy } => {
                // A head that is not here (an import left it out, say) has none.
                match strategy.filter(|_| self.heads.contains_key(&name)) {
                    Some(strategy) => self.strategies.insert(name, strategy),
                    None => self.strategies.remove(&name),
                };
            }
            Entry::Checkpoint(checkpoint) => {
                self.bytes += checkpoint.bytes();
                let known = self.checkpoint_of_id.get(&checkpoint.id);
                match known.and_then(|place| self.checkpoints.get_mut(*place)) {
                    // The same one, told more fully: it was made when it was made.
                    Some((_, known)) => {
                        self.bytes -= known.bytes();
                        *known = *checkpoint;
                    }
                    None => {
                        self.checkpoint_of_id.insert(checkpoint.id.clone(), self.checkpoints.len());
                        self.checkpoints.push((self.next_seq, *checkpoint));
                    }
                }
            }
            // A file may name any, and as many as it likes.
            Entry::Withdrawn(id) if self.checkpoint_of_id.contains_key(&id) => drop(self.withdrawn.insert(id)),
            Entry::Withdrawn(_) => {}
            Entry::Pin(node) => self.note_pin(node, true),
            Entry::Unpin(node) => self.note_pin(node, false),
            Entry::Info(patch) => self.describe(patch),
            Entry::Removed { next_turn } => self.next_turn = self.next_turn.max(next_turn),
            Entry::Gone(_) => {}
        }
        self.next_seq = self.next_seq.saturating_add(span);
    }

    fn note_model(&mut self, model: Option<&String>) {
        if let Some(model) = model.filter(|model| self.models.len() < MOST_MODELS && !self.models.contains(model)) {
            self.models.push(model.clone());
        }
    }

    fn note_pin(&mut self, node: MessageId, pinned: bool) {
        let node = self.aliases.get(&node).cloned().unwrap_or(node);
        self.pins.retain(|(known, _)| *known != node);
        self.pins.push((node, pinned));
    }

    fn place(&mut self, node: Node) {
        let at = self.slots.len() as u32;
        let parent = node.parent.as_ref().and_then(|id| self.slot(id));
        let (mut depth, mut turn) = (0, 0);
        // A first child continues its parent's branch; any other opens a new one.
        let mut opens_branch = true;
        if let Some(up) = parent {
            let up = &mut self.slots[up as usize];
            opens_branch = !up.children.is_empty();
            up.children.push(at);
            (depth, turn) = (up.depth, up.turn);
        }
        self.leaves += u32::from(opens_branch);
        depth += node.counted();
        if node.turn > 0 {
            turn = last_turn(node.turn, node.opened_turns());
            self.next_turn = self.next_turn.max(turn.saturating_add(1));
        }
        self.note_time(node.created_at);
        self.messages += node.messages.len() as u32;
        self.note_model(node.origin.model.as_ref());
        // Messages that are text still have no parts.
        if node.messages.unread().is_none() {
            self.images += images(&node.messages);
        }
        self.bytes += node_bytes(&node);
        self.by_id.insert(node.id.clone(), at);
        if self.first_said.is_none() && node.opened_turns() > 0 && node.messages.iter().any(is_said) {
            self.first_said = Some(at);
        }
        let (level, messages_above, jump) = self.above(parent, at);
        let seq = self.next_seq;
        self.slots.push(Placed { node, seq, depth, turn, level, messages_above, parent, children: Vec::new(), jump });
    }

    fn grow(&mut self, id: &MessageId, messages: Vec<Message>, turn: u32) {
        let Some(at) = self.by_id.get(id) else { return };
        let placed = &mut self.slots[*at as usize];
        let opened = messages.iter().filter(|message| message.role == Role::User).count() as u32;
        self.messages += messages.len() as u32;
        self.images += images(&messages);
        self.bytes += messages.iter().map(message_bytes).sum::<usize>();
        placed.depth += messages.iter().filter(|message| message.role.counts()).count() as u32;
        if messages.iter().any(is_said) {
            self.first_said = Some(self.first_said.map_or(*at, |first| first.min(*at)));
        }
        placed.node.messages.change(|all| all.extend(messages));
        if turn > 0 {
            if placed.node.turn == 0 {
                placed.node.turn = turn;
            }
            placed.turn = last_turn(turn, opened);
            self.next_turn = self.next_turn.max(placed.turn.saturating_add(1));
        }
    }

    /// Puts a whole node in the place of one that came in damaged. It keeps its number in the log. It moves below the parent
    /// that it names if that was made before it.
    fn restore(&mut self, mut node: Node) {
        let Some(at) = self.by_id.get(&node.id).copied() else { return };
        let known = &self.slots[at as usize];
        let (old, mut sealed) = (known.parent, node.sealed);
        sealed |= !known.children.is_empty();
        let named = node.parent.as_ref().and_then(|id| self.by_id.get(self.resolve(id)?)).copied();
        let new = named.filter(|up| *up < at && old.is_some()).or(old);
        node.parent = new.map(|up| self.slots[up as usize].node.id.clone());
        node.sealed = sealed;
        let (have, came) = (node_bytes(&known.node), node_bytes(&node));
        self.bytes = (self.bytes + came).saturating_sub(have);
        self.messages = self.messages - known.node.messages.len() as u32 + node.messages.len() as u32;
        self.images = (self.images + images(&node.messages)).saturating_sub(images(&known.node.messages));
        self.note_model(node.origin.model.as_ref());
        self.note_time(node.created_at);
        if new != old {
            if let Some(old) = old {
                let children = &mut self.slots[old as usize].children;
                children.retain(|child| *child != at);
                self.leaves += u32::from(children.is_empty());
            }
            if let Some(new) = new {
                let children = &mut self.slots[new as usize].children;
                self.leaves -= u32::from(children.is_empty());
                children.insert(children.partition_point(|child| *child < at), at);
            }
        }
        self.slots[at as usize].parent = new;
        self.slots[at as usize].node = node;
        self.measure(at, new != old);
    }

    /// Takes anew what a node and all below it have from those above them. Only a node that `moved` has other nodes above it: else those
    /// below a node that stays as it was stay too. A file that heals many nodes of a long chain would take the square of its length.
    fn measure(&mut self, top: u32, moved: bool) {
        let mut open = vec![top];
        while let Some(at) = open.pop() {
            let placed = &self.slots[at as usize];
            let before = (placed.depth, placed.turn, placed.messages_above);
            let up = placed.parent.map(|up| &self.slots[up as usize]);
            let (mut depth, mut turn) = up.map_or((0, 0), |up| (up.depth, up.turn));
            depth += placed.node.counted();
            if placed.node.turn > 0 {
                turn = last_turn(placed.node.turn, placed.node.opened_turns());
                self.next_turn = self.next_turn.max(turn.saturating_add(1));
            }
            let (level, messages_above, jump) = self.above(placed.parent, at);
            let placed = &mut self.slots[at as usize];
            (placed.depth, placed.turn) = (depth, turn);
            (placed.level, placed.messages_above, placed.jump) = (level, messages_above, jump);
            if moved || at == top || before != (depth, turn, messages_above) {
                open.extend(&placed.children);
            }
        }
    }

    fn note_time(&mut self, at: Option<i64>) {
        if let Some(at) = at {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
    }

    fn describe(&mut self, patch: InfoPatch) {
        let own = &mut self.patch;
        own.title = patch.title.or(own.title.take());
        own.source = patch.source.or(own.source.take());
        own.created_at = patch.created_at.or(own.created_at);
        own.updated_at = patch.updated_at.or(own.updated_at);
        own.leaf = patch.leaf.or(own.leaf.take());
        own.extra.extend(patch.extra);
    }

    /// The place of a node. What comes next in a log mostly follows the last node, which is found without a hash of its id.
    fn slot(&self, id: &MessageId) -> Option<u32> {
        match self.slots.last() {
            Some(last) if last.node.id == *id => Some(self.slots.len() as u32 - 1),
            _ => self.by_id.get(id).copied(),
        }
    }

    /// The node's own id for an id that may be an alias; `None` where neither is known here.
    pub fn resolve<'a>(&'a self, id: &'a MessageId) -> Option<&'a MessageId> {
        if self.by_id.contains_key(id) { Some(id) } else { self.aliases.get(id) }
    }

    /// The node `id`, or the one that the alias `id` points at.
    pub fn get(&self, id: &MessageId) -> Option<&Placed> {
        let at = self.by_id.get(self.resolve(id)?)?;
        self.slots.get(*at as usize)
    }

    /// The node that the entry `seq` began.
    pub fn at_seq(&self, seq: u64) -> Option<&Placed> {
        let at = self.slots.binary_search_by_key(&seq, |placed| placed.seq).ok()?;
        self.slots.get(at)
    }

    /// The node that an alias stands for; `None` where there is no such alias.
    pub fn alias(&self, id: &MessageId) -> Option<&MessageId> {
        self.aliases.get(id)
    }

    /// The place of a node, or of the one that an alias points at, in [`Transcript::nodes`].
    pub fn index(&self, id: &MessageId) -> Option<u32> {
        self.by_id.get(self.resolve(id)?).copied()
    }

    /// The node at a place in [`Transcript::nodes`].
    pub fn at(&self, index: u32) -> Option<&Placed> {
        self.slots.get(index as usize)
    }

    /// All nodes in the order in which they came.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Placed> + ExactSizeIterator {
        self.slots.iter()
    }

    /// The root, once there is one.
    pub fn root(&self) -> Option<&Placed> {
        self.slots.first()
    }

    /// The aliases: other id, node id; in no order.
    pub fn aliases(&self) -> impl Iterator<Item = (&MessageId, &MessageId)> {
        self.aliases.iter()
    }

    /// The heads in this tree, in no order, and where they point.
    pub fn heads(&self) -> &HashMap<String, MessageId> {
        &self.heads
    }

    /// How the chain at a head is compacted; `None` where that was not chosen.
    pub fn strategy(&self, name: &str) -> Option<Strategy> {
        self.strategies.get(name).copied()
    }

    /// The pinned nodes, in the order in which they were pinned.
    pub fn pins(&self) -> impl Iterator<Item = &MessageId> {
        self.pins.iter().filter(|(_, pinned)| *pinned).map(|(node, _)| node)
    }

    /// Whether a node is pinned; `None` if it never was.
    pub fn pinned(&self, node: &MessageId) -> Option<bool> {
        self.pins.iter().find(|(known, _)| known == node).map(|(_, pinned)| *pinned)
    }

    /// The checkpoint of this id, a withdrawn one, too.
    pub fn checkpoint(&self, id: &str) -> Option<&Checkpoint> {
        self.checkpoints.get(*self.checkpoint_of_id.get(id)?).map(|(_, checkpoint)| checkpoint)
    }

    /// All checkpoints that were not withdrawn, oldest first, with the sequence numbers of their entries.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = (u64, &Checkpoint)> {
        self.every_checkpoint().filter(|(_, checkpoint)| !self.withdrawn.contains(&checkpoint.id))
    }

    /// The same with those that were withdrawn.
    pub fn every_checkpoint(&self) -> impl DoubleEndedIterator<Item = (u64, &Checkpoint)> {
        self.checkpoints.iter().map(|(seq, checkpoint)| (*seq, checkpoint))
    }

    /// The ids of checkpoints that were withdrawn, in no order.
    pub fn withdrawn(&self) -> &HashSet<String> {
        &self.withdrawn
    }

    /// The checkpoints whose anchors are on a chain of this tree and that were not withdrawn, with the places of the anchors in it and the sequence numbers of
    /// their entries: those that cover least first, and of those that cover the same the oldest.
    pub fn checkpoints_on(&self, chain: &[&Placed]) -> Vec<(usize, u64, &Checkpoint)> {
        let mut found = Vec::new();
        for (seq, checkpoint) in self.checkpoints() {
            found.extend(self.place_on(chain, &checkpoint.anchor).map(|place| (place, seq, checkpoint)));
        }
        sort::sort_by_key(&mut found, |(place, seq, checkpoint)| (checkpoint.end(*place), *seq));
        found
    }

    /// The place of a node in a chain of this tree.
    pub fn place_on(&self, chain: &[&Placed], node: &MessageId) -> Option<usize> {
        let seq = self.get(node)?.seq;
        // A node's number grows from the root to the leaf.
        chain.binary_search_by_key(&seq, |placed| placed.seq).ok()
    }

    /// The checkpoint that a chain uses: of those whose anchors are on it, the one that covers most; the newest, where several do.
    pub fn checkpoint_of(&self, chain: &[&Placed]) -> Option<&Checkpoint> {
        self.checkpoints_on(chain).pop().map(|(_, _, checkpoint)| checkpoint)
    }

    /// The epochs of a chain: the stretch before its first checkpoint was made, and one for each checkpoint that it came to use.
    ///
    /// # Errors
    /// Those of [`Transcript::chain`].
    pub fn epochs(&self, leaf: &MessageId) -> Result<Vec<Epoch<'_>>, ChainError> {
        let chain = self.chain(leaf)?;
        let mut sums = vec![0; chain.len() + 1];
        for (at, placed) in chain.iter().enumerate() {
            sums[at + 1] = sums[at] + placed.node.messages.len();
        }
        let messages = |end: usize| sums[end.min(chain.len())];
        let mut made = self.checkpoints_on(&chain);
        // In the order in which they were made; one that covers less than one before it was never used.
        sort::sort_by_key(&mut made, |(_, seq, _)| *seq);
        let mut epochs = vec![Epoch { checkpoint: None, start: 0, end: messages(chain.len()), leaf: leaf.clone() }];
        let mut deepest = None;
        for (place, seq, checkpoint) in made {
            let end = checkpoint.end(place);
            if deepest.is_some_and(|deepest| end < deepest) {
                continue;
            }
            deepest = Some(end);
            let before = chain.partition_point(|placed| placed.seq < seq);
            if let (Some(last), Some(end)) = (epochs.last_mut(), before.checked_sub(1)) {
                last.end = messages(before);
                last.leaf = chain[end].node.id.clone();
            }
            let (start, end) = (messages(end), messages(chain.len()));
            epochs.push(Epoch { checkpoint: Some(checkpoint), start, end, leaf: leaf.clone() });
        }
        Ok(epochs)
    }

    /// The node and everything below it, parents first; empty where there is no such node.
    pub fn subtree(&self, id: &MessageId) -> Vec<&Placed> {
        let mut found: Vec<&Placed> = self.get(id).into_iter().collect();
        let mut next = 0;
        while let Some(placed) = found.get(next) {
            found.extend(placed.children.iter().map(|at| &self.slots[*at as usize]));
            next += 1;
        }
        found
    }

    /// The node's children, oldest first.
    ///
    /// # Errors
    /// [`ChainError::MissingNode`].
    pub fn children(&self, id: &MessageId) -> Result<Vec<&Placed>, ChainError> {
        let placed = self.get(id).ok_or_else(|| ChainError::MissingNode(id.clone()))?;
        Ok(placed.children.iter().map(|at| &self.slots[*at as usize]).collect())
    }

    /// From `id` down by the newest child each time, to a leaf.
    pub fn newest_leaf(&self, id: &MessageId) -> Option<&Placed> {
        let mut placed = self.get(id)?;
        while let Some(at) = placed.children.last() {
            placed = &self.slots[*at as usize];
        }
        Some(placed)
    }

    /// The kind of archive that it came from, such as `chatgpt`; empty for what began here.
    pub fn source(&self) -> &str {
        self.patch.source.as_deref().unwrap_or_default()
    }

    /// The summary of this tree as it is now.
    pub fn info(&self) -> Info {
        let patch = &self.patch;
        let (first, last) = self.span.unzip();
        let leaf = patch.leaf.clone().filter(|leaf| self.resolve(leaf).is_some());
        let newest = || self.slots.iter().rev().find(|placed| placed.children.is_empty()).map(|p| p.node.id.clone());
        Info {
            title: patch.title.clone().filter(|title| !title.trim().is_empty()).unwrap_or_else(|| self.first_words()),
            source: patch.source.clone().unwrap_or_default(),
            created_at: patch.created_at.or(first),
            updated_at: last.max(patch.updated_at).or(patch.created_at),
            nodes: self.slots.len() as u32,
            messages: self.messages,
            checkpoints: self.checkpoints().count() as u32,
            branches: self.leaves,
            models: self.models.clone(),
            images: self.images,
            entries: self.next_seq,
            leaf: leaf.or_else(newest),
            extra: patch.extra.clone(),
        }
    }

    fn first_words(&self) -> String {
        let first = self.first_said.and_then(|at| self.slots.get(at as usize));
        let first = first.and_then(|placed| placed.node.messages.iter().find(|message| is_said(message)));
        let line = first.map(|message| message.text().trim().lines().next().unwrap_or_default().to_owned());
        line.unwrap_or_default().chars().take(80).collect()
    }
}

/// Whether a user says something in the message.
fn is_said(message: &Message) -> bool {
    message.role == Role::User && !message.text().trim().is_empty()
}

/// The number of the last of so many turns.
fn last_turn(first: u32, opened: u32) -> u32 {
    first.saturating_add(opened.saturating_sub(1))
}

fn node_bytes(node: &Node) -> usize {
    256 + match node.messages.unread() {
        // As many as they will take.
        Some(text) => text + node.messages.len() * size_of::<Message>(),
        None => node.messages.iter().map(message_bytes).sum(),
    }
}

fn alias_bytes(id: &MessageId) -> usize {
    64 + id.as_str().len()
}

fn message_bytes(message: &Message) -> usize {
    let text = match &message.content {
        crate::Content::Text(text) => text.len(),
        crate::Content::Parts(parts) => parts.iter().map(|part| map_bytes(&part.0)).sum(),
        _ => 0,
    };
    let calls: usize = message.tool_calls.iter().map(|call| map_bytes(&call.0)).sum();
    size_of::<Message>() + text + calls + message.reasoning.as_ref().map_or(0, String::len) + map_bytes(&message.extra)
}

fn map_bytes(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| 64 + key.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| 32 + value_bytes(value)).sum(),
        Value::Object(map) => map_bytes(map),
        _ => 16,
    }
}
