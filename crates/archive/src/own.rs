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
//! Behind the transcripts stands what is remembered: lines of the kinds `{"episode":{…}}` and `{"fact":{…}}`. Then come the settings, of
//! the keep, of a transcript (`of`) and of a head, and the journal: requests, and before them the options that they have in common.
//! ```jsonl
//! {"settings":{"policy":"stable"}}
//! {"settings":{"model":"m"},"of":"t1"}
//! {"settings":{"model":"m"},"of":"t1","head":"main"}
//! {"requestOptions":{"options":{}},"name":"44136fa355b3678a1146ad16f7e8649e"}
//! {"request":{"id":"t1:018bcfe568000000000a0"}}
//! ```
//! Deleted entries are not written; their numbers stay unused. [`read`] reads the lines, and [`settle`] makes a log of them
//! that holds, whatever is damaged or missing.

mod read;
mod settle;

use threadkeep_compaction::memory::Memory;
use threadkeep_core::{Entry, TranscriptId};
use threadkeep_json::own_text;

pub(super) use read::{Reading, is_line};

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
/// use threadkeep_archive::own;
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
        Memory::Episode(episode) => ("episode", own_text(episode)),
        Memory::Fact(fact) => ("fact", own_text(fact)),
    };
    ["{\"", kind, "\":", &record, "}\n"].concat()
}

/// The kind of a line with settings.
pub const SETTINGS: &str = "settings";
/// The kind of a line with the options of requests.
pub const OPTIONS: &str = "requestOptions";
/// The kind of a line with a request of the journal.
pub const REQUEST: &str = "request";

/// A line of one of these kinds: what it holds as JSON text, and names that belong to it.
///
/// ```
/// use threadkeep_archive::own;
/// let line = own::write_beside(own::SETTINGS, r#"{"policy":"stable"}"#, &[("of", "t1")]);
/// assert_eq!(line, "{\"settings\":{\"policy\":\"stable\"},\"of\":\"t1\"}\n");
/// ```
pub fn write_beside(kind: &str, json: &str, names: &[(&str, &str)]) -> String {
    let mut line = ["{\"", kind, "\":", json].concat();
    for (name, value) in names {
        line.push_str(&[",\"", name, "\":", &own_text(*value)].concat());
    }
    line + "}\n"
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
        Self { id: id.clone(), entries: 0, piece: format!("{{\"transcript\":{}}}\n", own_text(id)) }
    }

    /// Adds the entry with the number `seq`. A deleted one is left out.
    pub fn entry(&mut self, seq: u64, entry: &Entry) {
        if matches!(entry, Entry::Gone(_)) {
            return;
        }
        // An entry is an object of one field, its kind: the number goes in before it.
        let entry = own_text(entry);
        self.piece.push_str(&format!("{{\"seq\":{seq},"));
        self.piece.push_str(entry.strip_prefix('{').unwrap_or(&entry));
        self.piece.push('\n');
        self.entries += 1;
    }

    /// Closes the transcript.
    pub fn end(&mut self) {
        let (id, entries) = (own_text(&self.id), self.entries);
        self.piece.push_str(&format!("{{\"end\":{id},\"entries\":{entries}}}\n"));
    }

    /// The text since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.piece)
    }
}
