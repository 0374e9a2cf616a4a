//! Our own format: JSON Lines that restore a store to the byte.
//!
//! The first line names the version. Then, for each transcript: a line that opens it, a line for each entry of its log with
//! its sequence number, and a line that closes it with the count, so that a cut is noticed.
//! ```jsonl
//! {"threadkeep":1}
//! {"transcript":"t1"}
//! {"seq":0,"node":{"id":"t1","messages":[{"role":"system","content":"be brief"}],"sealed":true}}
//! {"end":"t1","entries":1}
//! ```
//! Behind the transcripts stands what is remembered: lines of the kinds `{"episode":{…}}` and `{"fact":{…}}`.
//! Deleted entries are not written; their numbers stay unused.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::digest::Digest;
use super::raw::Fields;
use super::report::{Report, short};
use super::{Code, Conversation};
use crate::json::Wrong;
use crate::memory::{Episode, Fact, Memory};
use crate::{Entry, MessageId, TranscriptId};

/// The version that is written, and the newest that is read.
pub const VERSION: u64 = 1;

/// The first line of a file.
pub fn write_header() -> String {
    format!("{{\"threadkeep\":{VERSION}}}\n")
}

/// A transcript as text, in pieces of about a megabyte at most (one entry larger than that is one piece). `entries` come with
/// their sequence numbers, ascending.
///
/// ```
/// use threadkeep_core::archive::own;
/// use threadkeep_core::{Entry, MessageId, Node};
/// let id = MessageId::new("t1")?;
/// let log = [(0, Entry::Node(Box::new(Node::new(id.clone(), None, vec![]))))];
/// let text: String = own::write_transcript(&id, log.iter().map(|(seq, entry)| (*seq, entry))).collect();
/// assert!(text.starts_with("{\"transcript\":\"t1\"}\n"));
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
pub fn write_transcript<'a>(
    id: &TranscriptId,
    entries: impl IntoIterator<Item = (u64, &'a Entry)>,
) -> impl Iterator<Item = String> {
    let mut writer = TranscriptWriter::new(id);
    let mut entries = entries.into_iter();
    let mut open = true;
    std::iter::from_fn(move || {
        while open && writer.piece.len() < PIECE {
            match entries.next() {
                Some((seq, entry)) => writer.entry(seq, entry),
                None => {
                    writer.end();
                    open = false;
                }
            }
        }
        let piece = std::mem::take(&mut writer.piece);
        (!piece.is_empty()).then_some(piece)
    })
}

/// The line of an episode or a fact.
pub fn write_memory(memory: &Memory) -> String {
    let (kind, record) = match memory {
        Memory::Episode(episode) => ("episode", json(episode)),
        Memory::Fact(fact) => ("fact", json(fact)),
    };
    ["{\"", kind, "\":", &record, "}\n"].concat()
}

const PIECE: usize = 1 << 20;

/// Writes a transcript piece by piece, for a caller that reads its entries in pages.
#[derive(Debug)]
pub struct TranscriptWriter {
    id: TranscriptId,
    entries: u64,
    piece: String,
}

impl TranscriptWriter {
    /// Opens a transcript.
    pub fn new(id: &TranscriptId) -> Self {
        Self { id: id.clone(), entries: 0, piece: format!("{{\"transcript\":{}}}\n", json(id)) }
    }

    /// Adds the entry with the number `seq`. A deleted one is left out.
    pub fn entry(&mut self, seq: u64, entry: &Entry) {
        if *entry == Entry::Gone {
            return;
        }
        // An entry is an object of one field, its kind: the number goes in before it.
        let entry = json(entry);
        self.piece.push_str(&format!("{{\"seq\":{seq},"));
        self.piece.push_str(entry.strip_prefix('{').unwrap_or(&entry));
        self.piece.push('\n');
        self.entries += 1;
    }

    /// Closes the transcript.
    pub fn end(&mut self) {
        let (id, entries) = (json(&self.id), self.entries);
        self.piece.push_str(&format!("{{\"end\":{id},\"entries\":{entries}}}\n"));
    }

    /// The text since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.piece)
    }
}

fn json(value: &impl Serialize) -> String {
    // Ids, entries and messages have string keys only, the one thing that serialising to text can fail on.
    serde_json::to_string(value).unwrap_or_default()
}

/// The kinds of lines that are remembered, and how they are read.
type ReadMemory = fn(Value) -> Result<Memory, Wrong>;
const MEMORIES: [(&str, ReadMemory); 2] = [
    ("episode", |value| Episode::read(value).map(Memory::Episode)),
    ("fact", |value| Fact::read(value).map(Memory::Fact)),
];

/// Reads our format line by line.
#[derive(Debug, Default)]
pub(super) struct Reading {
    refused: bool,
    open: Option<Open>,
}

/// A transcript that is being read.
#[derive(Debug)]
struct Open {
    made: Conversation,
    seqs: Vec<u64>,
    sum: Digest,
    known: Known,
    place: String,
}

impl Reading {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        if self.refused {
            return;
        }
        if fields.has("threadkeep") {
            return self.header(fields, report);
        }
        if fields.has("transcript") {
            return self.begin(fields, bytes, place, report);
        }
        for (kind, read) in MEMORIES {
            if fields.has(kind) {
                self.finish(report);
                match read(fields.value(kind).unwrap_or_default()) {
                    Ok(memory) => report.memory(memory),
                    Err(wrong) => report.skip(place, Code::BadShape, wrong.to_string()),
                }
                return;
            }
        }
        let Some(open) = &mut self.open else {
            report.skip(place, Code::BadShape, "the line belongs to no transcript");
            return;
        };
        open.sum = open.sum.with(bytes);
        let place = format!("{}, {}", open.place, if place.is_empty() { "line 1" } else { place });
        if fields.has("seq") {
            open.entry(fields, &place, report);
        } else if fields.has("end") {
            self.end(fields, report);
        } else {
            report.skip(&place, Code::BadShape, "a line of a kind that this release does not know");
        }
    }

    fn header(&mut self, fields: &Fields, report: &mut Report) {
        let version = fields.value("threadkeep").as_ref().and_then(Value::as_u64);
        if version.is_none_or(|version| version == 0 || version > VERSION) {
            let version = fields.get("threadkeep").unwrap_or("null");
            let reason =
                format!("an archive of version {version}; this release reads up to {VERSION}: update Threadkeep");
            report.skip("", Code::NewerVersion, reason);
            self.refused = true;
        }
    }

    fn begin(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.finish(report);
        let id = fields.string("transcript").unwrap_or_default();
        match MessageId::new(&id) {
            Ok(transcript) => {
                let made = Conversation { transcript, digest: 0, entries: Vec::new(), seqs: None };
                self.open = Some(Open {
                    made,
                    seqs: Vec::new(),
                    sum: Digest::new().with(bytes),
                    known: Known::default(),
                    place: format!("transcript {}", short(&id)),
                });
            }
            Err(error) => report.skip(place, Code::BadId, error.to_string()),
        }
    }

    fn end(&mut self, fields: &Fields, report: &mut Report) {
        let Some(open) = self.open.take() else { return };
        let count = fields.value("entries").as_ref().and_then(Value::as_u64);
        if let Some(count) = count.filter(|count| *count != open.seqs.len() as u64) {
            let reason = format!("{} of its {count} entries could be read", open.seqs.len());
            report.warn(&open.place, Code::Truncated, reason);
        }
        open.emit(report);
    }

    /// The file ends, or the next transcript begins: what is open was cut.
    pub fn finish(&mut self, report: &mut Report) {
        if let Some(open) = self.open.take() {
            let reason = format!("its last line is missing; {} entries could be read", open.seqs.len());
            report.warn(&open.place, Code::Truncated, reason);
            open.emit(report);
        }
    }
}

impl Open {
    fn entry(&mut self, fields: &Fields, place: &str, report: &mut Report) {
        let Some(seq) = fields.value("seq").as_ref().and_then(Value::as_u64) else {
            return report.skip(place, Code::BadShape, "an entry's `seq` must be a whole number");
        };
        if self.seqs.last().is_some_and(|last| seq <= *last) {
            return report.skip(place, Code::DuplicateId, format!("entry {seq} comes out of order"));
        }
        let kinds: Vec<_> = fields.0.iter().filter(|(name, _)| name != "seq").collect();
        let [(kind, raw)] = kinds.as_slice() else {
            return report.skip(place, Code::BadShape, format!("entry {seq} is not of one kind"));
        };
        let text = format!("{{{}:{}}}", json(kind), raw.get());
        let entry: Entry = match serde_json::from_str(&text) {
            Ok(entry) => entry,
            Err(error) => {
                return report.skip(place, Code::BadShape, format!("entry {seq} cannot be read: {error}"));
            }
        };
        match self.known.admit(&entry) {
            Ok(()) => {
                self.seqs.push(seq);
                self.made.entries.push(entry);
            }
            Err(reason) => report.skip(place, Code::MissingParent, format!("entry {seq} cannot follow: {reason}")),
        }
    }

    fn emit(mut self, report: &mut Report) {
        if self.made.entries.is_empty() {
            report.skip(&self.place, Code::Empty, "a transcript without entries");
            return;
        }
        self.made.digest = self.sum.of_reading();
        self.made.seqs = Some(self.seqs);
        report.conversation(self.made);
    }
}

/// What a log has made so far, as far as it decides whether the next entry can happen: the rules of
/// [`Transcript::check`](crate::Transcript::check), without the messages.
#[derive(Debug, Default)]
struct Known {
    /// Nodes, each with 1 when it is closed (sealed, or continued by others).
    nodes: HashMap<MessageId, u32>,
    aliases: HashMap<MessageId, MessageId>,
}

impl Known {
    fn has(&self, id: &MessageId) -> bool {
        self.nodes.contains_key(id) || self.aliases.contains_key(id)
    }

    fn admit(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Node(node) => {
                if self.has(&node.id) {
                    return Err(format!("the id {} is taken", node.id));
                }
                match &node.parent {
                    None if !self.nodes.is_empty() => return Err("there is a root already".to_owned()),
                    None => {}
                    Some(parent) => match self.nodes.get_mut(parent) {
                        Some(closed) => *closed = 1,
                        None => return Err(format!("its parent {parent} is not there")),
                    },
                }
                self.nodes.insert(node.id.clone(), u32::from(node.sealed));
            }
            Entry::Extend { node, .. } => match self.nodes.get(self.resolve(node)) {
                Some(0) => {}
                Some(_) => return Err(format!("node {node} is complete")),
                None => return Err(format!("node {node} is not there")),
            },
            Entry::Seal { node } => match self.nodes.get_mut(node) {
                Some(closed) => *closed = 1,
                None => return Err(format!("node {node} is not there")),
            },
            Entry::Alias { id, node } => {
                if !self.nodes.contains_key(node) {
                    return Err(format!("node {node} is not there"));
                }
                if self.has(id) && self.resolve(id) != node {
                    return Err(format!("the id {id} is taken"));
                }
                self.aliases.insert(id.clone(), node.clone());
            }
            Entry::Head { node: Some(node), .. } if !self.has(node) => return Err(format!("node {node} is not there")),
            Entry::Checkpoint(checkpoint) if !self.has(&checkpoint.anchor) => {
                return Err(format!("node {} is not there", checkpoint.anchor));
            }
            Entry::Checkpoint(_)
            | Entry::Head { .. }
            | Entry::Strategy { .. }
            | Entry::Info(_)
            | Entry::Removed { .. }
            | Entry::Gone => {}
        }
        Ok(())
    }

    fn resolve<'a>(&'a self, id: &'a MessageId) -> &'a MessageId {
        if self.nodes.contains_key(id) { id } else { self.aliases.get(id).unwrap_or(id) }
    }
}
