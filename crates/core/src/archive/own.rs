//! Our own format: JSON Lines that restore a store to the byte.
//!
//! The first line names the version. Then, for each transcript: a line that opens it, a line for each entry of its log with
//! its sequence number, a line for each head, and a line that closes it with the counts, so that a cut is noticed.
//! ```jsonl
//! {"threadkeep":1}
//! {"transcript":"t1"}
//! {"seq":0,"node":{"id":"t1","messages":[{"role":"system","content":"be brief"}],"sealed":true}}
//! {"head":"main","node":"t1"}
//! {"end":"t1","entries":1,"heads":1}
//! ```
//! Deleted entries are not written; their numbers stay unused.

use serde::Serialize;

use crate::{Entry, MessageId, TranscriptId};

/// The version that is written, and the newest that is read.
pub const VERSION: u64 = 1;

/// The first line of a file.
pub fn write_header() -> String {
    format!("{{\"threadkeep\":{VERSION}}}\n")
}

/// A transcript as text, in pieces of about a megabyte at most (one entry larger than that is one piece). `entries` come with
/// their sequence numbers, ascending; `heads` with the nodes that they point at.
///
/// ```
/// use threadkeep_core::archive::own;
/// use threadkeep_core::{Entry, MessageId, Node};
/// let id = MessageId::new("t1")?;
/// let log = [(0, Entry::Node(Box::new(Node::new(id.clone(), None, vec![]))))];
/// let text: String = own::write_transcript(&id, log.iter().map(|(seq, entry)| (*seq, entry)), &[]).collect();
/// assert!(text.starts_with("{\"transcript\":\"t1\"}\n"));
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
pub fn write_transcript<'a>(
    id: &TranscriptId,
    entries: impl IntoIterator<Item = (u64, &'a Entry)>,
    heads: &[(String, MessageId)],
) -> impl Iterator<Item = String> {
    let mut writer = TranscriptWriter::new(id);
    let mut entries = entries.into_iter();
    let mut tail = Some(heads.to_vec());
    std::iter::from_fn(move || {
        while tail.is_some() && writer.piece.len() < PIECE {
            match entries.next() {
                Some((seq, entry)) => writer.entry(seq, entry),
                None => writer.end(&tail.take()?),
            }
        }
        let piece = std::mem::take(&mut writer.piece);
        (!piece.is_empty()).then_some(piece)
    })
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

    /// Closes the transcript, with the heads that point into it.
    pub fn end(&mut self, heads: &[(String, MessageId)]) {
        for (head, node) in heads {
            self.piece.push_str(&format!("{{\"head\":{},\"node\":{}}}\n", json(head), json(node)));
        }
        let (id, entries) = (json(&self.id), self.entries);
        self.piece.push_str(&format!("{{\"end\":{id},\"entries\":{entries},\"heads\":{}}}\n", heads.len()));
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
