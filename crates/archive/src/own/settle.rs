//! From the lines of a transcript to a log that holds, whatever is damaged or missing. Goes in: the entries that could be
//! read, and what is known of those that could not. Comes out: entries that can happen one after the other, in the order
//! of their numbers.
//!
//! What could not be read must not take with it what follows. A stand-in takes the place of a lost message: a node with the
//! same id, or a note in a node that grew. What hangs from a message of which nothing is known comes below the last message that
//! could be read. [`Message::stands_in`] tells a stand-in, so that a later import of the whole file puts the message there.
//!
//! A number can be damaged as well, so the order is only a guess. No guess loses a message. One that comes after its stand-in takes the
//! stand-in's place. One whose id is taken gets another id. Growth of a complete node becomes a node below it.

use std::collections::{BTreeSet, HashMap, HashSet};

use threadkeep_core::message::STAND_IN;
use threadkeep_core::node::{LAST_TURN, SALVAGED};
use threadkeep_core::sort;
use threadkeep_core::{Entry, Message, MessageId, Node, Role, TranscriptId};

use super::super::Code;
use super::super::digest::Digest;
use super::super::report::{Report, short};

/// The last number that an entry of a file may have. It leaves as many numbers again for what is appended, and all of
/// them are exact in JavaScript.
pub(super) const LAST_SEQ: u64 = 1 << 52;

/// How many nodes, the last ones, are held against an id that is nowhere, to see whether it is one of theirs with a wrong
/// character.
const NEAR: usize = 64;
/// How many numbers of lost entries a report names.
const NAMED: usize = 10;

/// An entry that could be read.
#[derive(Debug)]
pub(super) struct Line {
    pub seq: u64,
    pub entry: Entry,
}

/// An entry that could not be read.
#[derive(Debug)]
pub(super) struct Lost {
    pub seq: u64,
    pub what: What,
}

/// What an unreadable entry was.
#[derive(Debug)]
pub(super) enum What {
    Node {
        id: MessageId,
        parent: Option<MessageId>,
    },
    Extend {
        node: MessageId,
    },
    /// Nothing that was said.
    Other,
    Unknown,
}

impl Lost {
    /// What can be told of a line that is no JSON, or not what it should be. Our lines begin with what matters.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        // Two ids, each escaped in full, are shorter.
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(8192)]).into_owned();
        let rest = head.split_once("\"seq\":")?.1;
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (seq, rest) = (rest[..digits].parse().ok()?, &rest[digits..]);
        let other = || QUIET.iter().any(|kind| rest.starts_with(kind)).then_some(What::Other);
        let what = peek_node(rest).or_else(|| peek_extend(rest)).or_else(other).unwrap_or(What::Unknown);
        Some(Self { seq, what })
    }
}

/// How entries go on that say nothing.
const QUIET: [&str; 9] = [
    ",\"alias\":",
    ",\"head\":",
    ",\"seal\":",
    ",\"info\":",
    ",\"strategy\":",
    ",\"pin\":",
    ",\"unpin\":",
    ",\"checkpoint\":",
    ",\"removed\":",
];

fn peek_node(text: &str) -> Option<What> {
    let (id, rest) = string(text.strip_prefix(",\"node\":{\"id\":")?)?;
    let parent = rest.strip_prefix(",\"parent\":").and_then(string).map(|(parent, _)| parent);
    Some(What::Node { id, parent })
}

fn peek_extend(text: &str) -> Option<What> {
    let (node, _) = string(text.strip_prefix(",\"extend\":{\"node\":")?)?;
    Some(What::Extend { node })
}

/// The id at the beginning of a text, as a JSON string, and what follows it.
fn string(text: &str) -> Option<(MessageId, &str)> {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<MessageId>();
    let id = strings.next()?.ok()?;
    Some((id, &text[strings.byte_offset()..]))
}

/// Makes the log of a transcript.
pub(super) fn settle(
    transcript: &TranscriptId,
    lines: Vec<Line>,
    lost: Vec<Lost>,
    place: &str,
    report: &mut Report,
) -> Vec<(u64, Entry)> {
    let mut lines = in_order(lines, place, report);
    name_root(transcript, &mut lines);
    let mut log = Log {
        transcript,
        place,
        nodes: HashMap::new(),
        aliases: HashMap::new(),
        salvaged: HashSet::new(),
        recent: Vec::new(),
        entries: Vec::with_capacity(lines.len()),
        next_turn: 1,
        stand_ins: BTreeSet::new(),
        continued: HashMap::new(),
        moved: Vec::new(),
    };
    let mut lost = lost;
    sort::sort_by_key(&mut lost, |lost| lost.seq);
    let mut lost = lost.into_iter().peekable();
    for Line { seq, entry } in lines {
        while let Some(lost) = lost.next_if(|lost| lost.seq <= seq) {
            if lost.seq < seq {
                log.lost(lost);
            }
        }
        log.take(seq, entry, report);
    }
    lost.for_each(|lost| log.lost(lost));
    log.say(report);
    log.entries
}

/// Gives the root its transcript's id, unless others call it as it calls itself.
fn name_root(transcript: &TranscriptId, lines: &mut [Line]) {
    let Some((Line { entry: Entry::Node(root), .. }, others)) = lines.split_first_mut() else { return };
    let names = |line: &Line| matches!(&line.entry, Entry::Node(node) if node.parent.as_ref() == Some(&root.id));
    if root.parent.is_none() && !others.iter().any(names) {
        root.id = transcript.clone();
    }
}

/// The entries by their numbers, each number once.
fn in_order(lines: Vec<Line>, place: &str, report: &mut Report) -> Vec<Line> {
    if lines.first().is_none_or(can_be_first) && lines.windows(2).all(|pair| pair[0].seq < pair[1].seq) {
        return lines;
    }
    // Where each number occurs first.
    let mut first: HashMap<u64, usize> = HashMap::new();
    let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        let at = *first.entry(line.seq).or_insert(kept.len());
        match kept.get(at) {
            Some(known) if known.entry == line.entry => {
                report.skip(place, Code::DuplicateId, format!("entry {} occurs again", line.seq));
            }
            _ => kept.push(line),
        }
    }
    renumber(&mut kept);
    sort::sort_by_key(&mut kept, |line| line.seq);
    after_all(kept, place, report)
}

/// Whether a line can have its number without others before it: a root has 0, and nothing else does.
fn can_be_first(line: &Line) -> bool {
    line.seq > 0 || matches!(&line.entry, Entry::Node(node) if node.parent.is_none())
}

/// Puts lines whose numbers are taken after all others, so that nothing that they say is lost.
fn after_all(lines: Vec<Line>, place: &str, report: &mut Report) -> Vec<Line> {
    let (mut next, mut taken) = (lines.last().map_or(0, |line| line.seq.saturating_add(line.entry.span())), Vec::new());
    let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
    for mut line in lines {
        if kept.last().map_or(can_be_first(&line), |before| before.seq < line.seq) {
            kept.push(line);
        } else if next <= LAST_SEQ {
            let reason = format!("the number of entry {} is another entry's; it comes after all others", line.seq);
            report.warn(place, Code::DuplicateId, reason);
            line.seq = next;
            next = next.saturating_add(line.entry.span());
            taken.push(line);
        }
    }
    kept.extend(taken);
    kept
}

/// Gives a line whose number is out of order the number that is missing where it stands: then the number is what is damaged.
fn renumber(lines: &mut [Line]) {
    let mut used: HashMap<u64, u32> = HashMap::new();
    lines.iter().for_each(|line| *used.entry(line.seq).or_default() += 1);
    let has = |seq: Option<u64>| seq.is_some_and(|seq| used.contains_key(&seq));
    // A line between whose neighbours nothing else belongs was only moved.
    let moved = |seq: u64| used.get(&seq) == Some(&1) && has(seq.checked_sub(1)) && has(seq.checked_add(1));
    for at in 0..lines.len() {
        let here = lines[at].seq;
        let before = at.checked_sub(1).map(|before| lines[before].seq);
        let after = lines.get(at + 1).map(|line| line.seq);
        // Two lines that changed places are in order otherwise.
        let swapped = at < 2 || lines[at - 2].seq < here;
        let behind = before.is_some_and(|before| here <= before) && !swapped;
        let odd = behind || after.is_some_and(|after| here >= after);
        let missing = before.map_or(0, |before| before + 1);
        // Only a root is the first.
        let fits = missing > 0 || matches!(&lines[at].entry, Entry::Node(node) if node.parent.is_none());
        if odd && fits && !moved(here) && !has(Some(missing)) && after.is_none_or(|after| missing < after) {
            lines[at].seq = missing;
        }
    }
}

/// What the log has made so far, as far as it decides whether the next entry can happen: the rules of
/// [`Transcript::check`](threadkeep_core::Transcript::check), without the messages.
struct Log<'a> {
    transcript: &'a TranscriptId,
    place: &'a str,
    nodes: HashMap<MessageId, Known>,
    aliases: HashMap<MessageId, MessageId>,
    /// Nodes that came in damaged.
    salvaged: HashSet<MessageId>,
    /// The nodes in their order.
    recent: Vec<MessageId>,
    entries: Vec<(u64, Entry)>,
    next_turn: u32,
    /// The numbers of stand-ins.
    stand_ins: BTreeSet<u64>,
    /// Closed nodes that grew nevertheless, and the nodes below them that hold what they grew by.
    continued: HashMap<MessageId, MessageId>,
    /// The numbers of nodes that hang elsewhere than they say.
    moved: Vec<u64>,
}

/// What is known of a node.
struct Known {
    /// The place of its entry among all.
    at: usize,
    /// Whether it is sealed, or others continue it.
    closed: bool,
}

impl Log<'_> {
    fn has(&self, id: &MessageId) -> bool {
        self.nodes.contains_key(id) || self.aliases.contains_key(id)
    }

    fn resolve<'a>(&'a self, id: &'a MessageId) -> &'a MessageId {
        if self.nodes.contains_key(id) { id } else { self.aliases.get(id).unwrap_or(id) }
    }

    /// A number before `seq` that nothing has.
    fn free(&self, seq: u64) -> Option<u64> {
        let next = self.entries.last().map_or(0, |(last, _)| last + 1);
        (next < seq).then_some(next)
    }

    /// The node that `id` means: itself, or one of the last whose id differs in one character. Only our own ids are so random
    /// that they are alike for no other reason.
    fn near(&self, id: &MessageId) -> Option<MessageId> {
        let alike = |known: &&MessageId| {
            let (known, id) = (known.as_str().as_bytes(), id.as_str().as_bytes());
            known.len() == id.len() && known.iter().zip(id).filter(|(a, b)| a != b).count() == 1
        };
        if self.has(id) || id.as_str().len() != self.transcript.as_str().len() || self.transcript.home().is_none() {
            return Some(id.clone()).filter(|id| self.has(id));
        }
        self.recent.iter().rev().take(NEAR).find(alike).cloned()
    }

    /// Whether a node is there and can grow.
    fn is_open(&self, id: &MessageId) -> bool {
        self.nodes.get(id).is_some_and(|known| !known.closed)
    }

    /// An id that nothing has, for what the entry `seq` says under the id of something else.
    fn another(&self, id: &MessageId, seq: u64) -> MessageId {
        let mut digest = Digest::new().with(id.as_str().as_bytes()).with(&seq.to_le_bytes());
        loop {
            let another = MessageId::mint(self.transcript, digest.0);
            if !self.has(&another) {
                return another;
            }
            digest = digest.with(&[0]);
        }
    }

    /// Lets an entry happen, if it can.
    fn take(&mut self, seq: u64, entry: Entry, report: &mut Report) {
        let Some(mut entry) = self.possible(seq, entry, report) else { return };
        if let Err((code, reason)) = self.admit(seq, &mut entry) {
            return report.skip(self.place, code, format!("entry {seq} cannot follow: {reason}"));
        }
        self.number(seq, &mut entry, report);
        self.entries.push((seq, entry));
    }

    /// What an entry that says something can be, so that nothing said is lost. `None` if nothing more is to come of it.
    fn possible(&mut self, seq: u64, entry: Entry, report: &mut Report) -> Option<Entry> {
        match entry {
            Entry::Node(node) if self.has(&node.id) => self.again(seq, *node, report),
            Entry::Restored(node) => match self.near(&node.id) {
                Some(id) if self.salvaged.contains(self.resolve(&id)) => Some(Entry::Restored(node)),
                Some(_) => self.again(seq, *node, report),
                None => Some(Entry::Node(node)),
            },
            Entry::Extend { node, messages, turn } => Some(self.growth(seq, node, messages, turn, report)),
            quiet => Some(quiet),
        }
    }

    /// A node whose id is there already. It takes the place of its stand-in, if it has one; else it gets an id of its own.
    fn again(&mut self, seq: u64, mut node: Node, report: &mut Report) -> Option<Entry> {
        let id = node.id.clone();
        let place = self.nodes.get(&id).map(|known| known.at);
        match place.map(|at| (at, &self.entries[at])) {
            Some((at, (number, Entry::Node(_)))) if self.stand_ins.contains(number) => {
                self.take_place(at, node, report).then_some(Entry::Seal { node: id })
            }
            Some((_, (_, Entry::Node(known)))) if known.messages == node.messages => {
                report.skip(self.place, Code::DuplicateId, format!("the message {} occurs again", short(id.as_str())));
                None
            }
            _ => {
                let reason =
                    format!("entry {seq} has the id of another message ({}); it gets another id", short(id.as_str()));
                report.warn(self.place, Code::DuplicateId, reason);
                node.id = self.another(&id, seq);
                Some(Entry::Node(Box::new(node)))
            }
        }
    }

    /// Puts a node into the place of its stand-in. Whether it is still to be sealed: it may have grown since.
    fn take_place(&mut self, at: usize, mut node: Node, report: &mut Report) -> bool {
        let earlier = |parent: &&MessageId| self.nodes.get(*parent).is_some_and(|known| known.at < at);
        let parent = node.parent.as_ref().map(|parent| self.resolve(parent)).filter(earlier).cloned();
        let sealed = std::mem::take(&mut node.sealed);
        let number = self.entries[at].0;
        if let Entry::Node(note) = &self.entries[at].1 {
            if parent.is_none() && note.parent.is_some() {
                node.labels.insert(SALVAGED.to_owned(), "its parent comes after it".to_owned());
                self.moved.push(number);
            }
            node.parent = parent.or_else(|| note.parent.clone());
        }
        if !node.is_salvaged() {
            self.salvaged.remove(&node.id);
        }
        self.stand_ins.remove(&number);
        let mut entry = Entry::Node(Box::new(node));
        self.number(number, &mut entry, report);
        self.entries[at].1 = entry;
        sealed
    }

    /// Growth of a node. If the node is nowhere, the last node is that one under a damaged id, if it was growing; else what it grew by
    /// begins a node. What a closed node grew by comes below it.
    fn growth(&mut self, seq: u64, node: MessageId, messages: Vec<Message>, turn: u32, report: &mut Report) -> Entry {
        self.root(seq);
        let begun = |id: MessageId, parent: Option<MessageId>, messages: Vec<Message>| {
            Entry::Node(Box::new(Node { turn, sealed: false, ..Node::new(id, parent, messages) }))
        };
        let Some(known) = self.near(&node).map(|known| self.resolve(&known).clone()) else {
            let Some(last) = self.recent.last().filter(|_| self.free(seq).is_none()).cloned() else {
                return Entry::Extend { node, messages, turn };
            };
            let noted = |known: &Known| self.stand_ins.contains(&self.entries[known.at].0);
            if !self.is_open(&last) || self.nodes.get(&last).is_some_and(noted) {
                return begun(node, None, messages);
            }
            self.moved.push(seq);
            return Entry::Extend { node: last, messages, turn };
        };
        let end = self.continued.get(&known).unwrap_or(&known).clone();
        if self.is_open(&end) {
            return Entry::Extend { node: end, messages, turn };
        }
        let reason =
            format!("entry {seq} adds to the message {}, which is complete; it comes below it", short(known.as_str()));
        report.warn(self.place, Code::BadShape, reason);
        let id = self.another(&known, seq);
        self.continued.insert(known, id.clone());
        begun(id, Some(end), messages)
    }

    fn admit(&mut self, seq: u64, entry: &mut Entry) -> Result<(), (Code, String)> {
        match entry {
            Entry::Node(node) => {
                self.hang(seq, node);
                self.add(node);
            }
            Entry::Restored(node) => {
                self.know(&mut node.id)?;
                self.salvaged.remove(&node.id);
                if let Some(parent) = &mut node.parent {
                    self.know(parent)?;
                }
                self.close(&node.id, node.sealed);
            }
            Entry::Extend { node, messages, .. } => {
                self.expect(seq, node);
                self.know(node)?;
                if messages.iter().any(Message::stands_in) {
                    self.salvaged.insert(node.clone());
                }
            }
            Entry::Seal { node } => {
                self.know(node)?;
                let node = self.resolve(node).clone();
                self.close(&node, true);
            }
            Entry::Alias { id, node } => {
                self.know(node)?;
                if self.has(id) {
                    return Err((Code::DuplicateId, format!("the id {} is taken", short(id.as_str()))));
                }
                self.aliases.insert(id.clone(), node.clone());
            }
            Entry::Head { name, node } => {
                let name = MessageId::new(name.as_str());
                name.map_err(|error| (Code::BadId, format!("the name of a head: {error}")))?;
                if let Some(node) = node {
                    self.expect(seq, node);
                    self.know(node)?;
                }
            }
            Entry::Checkpoint(checkpoint) => self.know(&mut checkpoint.anchor)?,
            Entry::Pin(node) | Entry::Unpin(node) => self.know(node)?,
            Entry::Gone(_) | Entry::Withdrawn(_) | Entry::Strategy { .. } | Entry::Info(_) | Entry::Removed { .. } => {}
        }
        Ok(())
    }

    /// Puts a stand-in below the last node for one that an entry speaks of, if it is nowhere and something is missing here.
    fn expect(&mut self, seq: u64, node: &MessageId) {
        if self.near(node).is_none() {
            self.root(seq);
        }
        if self.near(node).is_none()
            && let Some(free) = self.free(seq)
        {
            let parent = self.recent.last().cloned();
            self.stand_in(free, node.clone(), parent);
        }
    }

    /// Makes a reference lead somewhere.
    fn know(&self, id: &mut MessageId) -> Result<(), (Code, String)> {
        let near = self.near(id);
        let near = near.ok_or_else(|| (Code::MissingParent, format!("node {} is not there", short(id.as_str()))))?;
        *id = self.resolve(&near).clone();
        Ok(())
    }

    /// Finds a place for a node.
    fn hang(&mut self, seq: u64, node: &mut Node) {
        let Some(last) = self.recent.last().cloned() else { return self.hang_first(seq, node) };
        let mut below = None;
        if let Some(parent) = node.parent.as_ref().filter(|parent| **parent != node.id) {
            if self.has(parent) {
                node.parent = Some(self.resolve(parent).clone());
                return;
            }
            below = self.near(parent);
            if let (None, Some(free)) = (&below, self.free(seq)) {
                return self.stand_in(free, parent.clone(), Some(last));
            }
        }
        if below.is_none() {
            node.labels.insert(SALVAGED.to_owned(), "its parent could not be read".to_owned());
            self.moved.push(seq);
        }
        node.parent = Some(below.unwrap_or(last));
    }

    /// Finds a place for the first node: below a stand-in for the root, if it is not the root.
    fn hang_first(&mut self, seq: u64, node: &mut Node) {
        let Some(parent) = node.parent.clone() else {
            return;
        };
        if node.id == *self.transcript {
            node.parent = None;
        } else if self.root(seq) {
            if parent != *self.transcript {
                self.hang(seq, node);
            }
        } else {
            node.parent = None;
            self.moved.push(seq);
        }
    }

    /// Puts a stand-in where the root is missing; whether there is a root now.
    fn root(&mut self, seq: u64) -> bool {
        if let (true, Some(free)) = (self.recent.is_empty(), self.free(seq)) {
            self.stand_in(free, self.transcript.clone(), None);
        }
        !self.recent.is_empty()
    }

    fn add(&mut self, node: &Node) {
        if let Some(parent) = &node.parent {
            let parent = self.resolve(parent).clone();
            self.close(&parent, true);
        }
        self.nodes.insert(node.id.clone(), Known { at: self.entries.len(), closed: node.sealed });
        if node.is_salvaged() {
            self.salvaged.insert(node.id.clone());
        }
        self.recent.push(node.id.clone());
    }

    fn close(&mut self, id: &MessageId, closed: bool) {
        if let Some(known) = self.nodes.get_mut(id) {
            known.closed |= closed;
        }
    }

    /// Puts a node that says that it could not be read where one is missing.
    fn stand_in(&mut self, seq: u64, id: MessageId, parent: Option<MessageId>) {
        let role = if parent.is_some() { Role::Assistant } else { Role::System };
        let note = Message { role, ..Message::stand_in() };
        let node = Node { sealed: false, ..Node::new(id, parent, vec![note]) };
        self.add(&node);
        self.entries.push((seq, Entry::Node(Box::new(node))));
        self.stand_ins.insert(seq);
    }

    /// Lets something stand in for a lost entry, as far as it is known what it was.
    fn lost(&mut self, lost: Lost) {
        let free = self.entries.last().is_none_or(|(last, _)| *last < lost.seq);
        if !free || lost.seq > LAST_SEQ {
            return;
        }
        match lost.what {
            What::Node { id, parent } if !self.has(&id) => {
                if id != *self.transcript {
                    self.root(lost.seq);
                }
                let parent = parent.and_then(|parent| self.near(&parent));
                let parent = parent.or_else(|| self.recent.last().cloned());
                if parent.is_some() || id == *self.transcript {
                    self.stand_in(lost.seq, id, parent);
                }
            }
            What::Extend { node } => self.grow(lost.seq, node),
            // If the last node was growing, that was probably it.
            What::Unknown => self.recent.last().cloned().into_iter().for_each(|node| self.grow(lost.seq, node)),
            What::Node { .. } | What::Other => {}
        }
    }

    /// Turns count up from 1. A number that could not have come about gives way to the next one.
    fn number(&mut self, seq: u64, entry: &mut Entry, report: &mut Report) {
        let opens = |messages: &[Message]| messages.iter().filter(|message| message.role == Role::User).count() as u32;
        let (turn, opened) = match entry {
            Entry::Node(node) | Entry::Restored(node) => {
                let opened = node.opened_turns();
                (&mut node.turn, opened)
            }
            Entry::Extend { messages, turn, .. } => {
                let opened = opens(messages);
                (turn, opened)
            }
            Entry::Removed { next_turn } => (next_turn, 0),
            _ => return,
        };
        if *turn > LAST_TURN {
            let reason = format!(
                "entry {seq} has the turn {turn}, more than {LAST_TURN}: it gets the number {}",
                self.next_turn
            );
            report.warn(self.place, Code::BadShape, reason);
            *turn = self.next_turn;
        }
        if *turn > 0 {
            self.next_turn = self.next_turn.max(turn.saturating_add(opened)).min(LAST_TURN);
        }
    }

    /// Puts a note into a node that was growing.
    fn grow(&mut self, seq: u64, node: MessageId) {
        if self.is_open(&node) {
            self.salvaged.insert(node.clone());
            self.entries.push((seq, Entry::Extend { node, messages: vec![Message::stand_in()], turn: 0 }));
            self.stand_ins.insert(seq);
        }
    }

    fn say(&self, report: &mut Report) {
        let list = |seqs: &mut dyn ExactSizeIterator<Item = &u64>| {
            let more = if seqs.len() > NAMED { ", …" } else { "" };
            let named: Vec<String> = seqs.take(NAMED).map(u64::to_string).collect();
            named.join(", ") + more
        };
        if !self.stand_ins.is_empty() {
            let reason = format!(
                "{} of its messages could not be read; a note ({STAND_IN}) stands in the place of each (entries {}). \
                 Import a whole copy of the file to fill them in",
                self.stand_ins.len(),
                list(&mut self.stand_ins.iter())
            );
            report.warn(self.place, Code::Salvaged, reason);
        }
        if !self.moved.is_empty() {
            let reason = format!(
                "{} of its messages name no parent that could be read; each comes below the last message before it (entries {})",
                self.moved.len(),
                list(&mut self.moved.iter())
            );
            report.warn(self.place, Code::Salvaged, reason);
        }
    }
}
