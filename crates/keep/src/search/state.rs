//! The index as far as it is in memory.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use threadkeep_core::sort;
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_recall::{Doc, Index, Segment};
use threadkeep_store::{Commit, StoreError};
use tokio::sync::Mutex;

use super::remembered::{REMEMBERED, Remembered};
use super::vector_set::Vectors;
use crate::protocol::{Found, IndexProgress};
use crate::{KeepError, keys};

/// The index as far as it is in memory, and whether transcripts may have changed since it was last compared with them.
#[derive(Default)]
pub(crate) struct Search {
    pub(super) state: Mutex<State>,
    /// Set by every change made through this engine.
    pub(crate) stale: Cell<bool>,
}

#[derive(Default)]
pub(super) struct State {
    /// The marker of the state that `segments` are of; `None` before the index was read.
    pub(super) marker: Option<String>,
    pub(super) segments: Vec<(String, Rc<Segment>)>,
    /// New documents that are not written yet.
    pub(super) fresh: Option<Rc<Segment>>,
    pub(super) index: Rc<Index>,
    /// What is remembered.
    pub(super) remembered: Rc<Remembered>,
    /// How often the index was made anew, and the vectors beside it.
    pub(super) made: u64,
    pub(super) vectors: Rc<Vectors>,
    /// How many messages and summaries of each transcript are indexed.
    pub(super) counts: HashMap<TranscriptId, (u32, u32)>,
    /// When counts were compared last, over how many transcripts with how many messages.
    pub(super) looked: Option<i64>,
    pub(super) transcripts: usize,
    pub(super) messages: u64,
    /// Transcripts of which something is missing, and how many messages they have.
    pub(super) pending: Vec<(TranscriptId, u32)>,
}

impl State {
    /// Makes the index of the segments as they are now.
    pub(super) fn rebuild(&mut self) {
        let all = self.segments.iter().map(|(_, segment)| segment).chain(&self.fresh).chain(&self.remembered.segment);
        self.index = Rc::new(Index::new(all.cloned().collect()));
        self.made += 1;
        self.counts.clear();
        for segment in self.index.segments() {
            let mut counts = vec![(0, 0); segment.owners().len()];
            for doc in segment.docs().iter().filter(|doc| doc.index != REMEMBERED) {
                let (messages, summaries) = &mut counts[doc.owner as usize];
                *if doc.kind == Found::Message as u8 { messages } else { summaries } += 1;
            }
            for (owner, (messages, summaries)) in segment.owners().iter().zip(counts) {
                if let Ok(id) = MessageId::new(owner.as_str()) {
                    let known = self.counts.entry(id).or_default();
                    *known = (known.0 + messages, known.1 + summaries);
                }
            }
        }
    }

    /// The places of a transcript's messages and summaries that are indexed, ascending.
    pub(super) fn places(&self, transcript: &TranscriptId) -> Vec<(u64, u32)> {
        let mut places = Vec::new();
        if !self.counts.contains_key(transcript) {
            return places;
        }
        for segment in self.index.segments() {
            let Some(owner) = segment.owners().iter().position(|owner| owner == transcript.as_str()) else { continue };
            let is_mine = |doc: &&Doc| doc.owner as usize == owner && doc.index != REMEMBERED;
            let mine = segment.docs().iter().filter(is_mine);
            places.extend(mine.map(|doc| (doc.seq, doc.index)));
        }
        sort::sort(&mut places);
        places
    }

    pub(super) fn progress(&self) -> IndexProgress {
        let indexed: u64 = self.counts.values().map(|(messages, _)| u64::from(*messages)).sum();
        IndexProgress {
            indexed: if self.pending.is_empty() { self.messages } else { indexed.min(self.messages) },
            messages: self.messages,
            bytes: self.index.bytes() as u64,
        }
    }
}

pub(super) fn exchange_marker(commit: &mut Commit, known: &str, new: &str) {
    commit.present.push(known.to_owned());
    commit.deletes.push(known.to_owned());
    commit.puts.push((new.to_owned(), Vec::new()));
}

pub(super) fn drop_segment(commit: &mut Commit, id: &str) {
    commit.deletes.push([keys::INDEX_OWNERS, id].concat());
    commit.deletes.push([keys::INDEX_SEGMENT, id].concat());
}

pub(super) fn busy() -> KeepError {
    StoreError::Transient("other writers were always first".to_owned()).into()
}
