//! The index as far as it is in memory, and how it comes to be what the store has.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_recall::{Doc, Index, Segment};
use threadkeep_store::{Commit, Scan, Store, StoreError, around};
use tokio::sync::{Mutex, MutexGuard};

use super::beside::{REMEMBERED, Remembered};
use super::vectors::Vectors;
use crate::protocol::{Found, IndexProgress};
use crate::{Keep, KeepError, keys};

/// With so many transcripts or fewer, every search looks at all their counts; with more, what other tabs have written is
/// noticed after [`LOOK_AGAIN`] milliseconds.
const FEW: usize = 20;
const LOOK_AGAIN: i64 = 5000;
/// How often a change of the index that lost against another writer is tried again.
const TRIES: u32 = 100;

/// The index as far as it is in memory, and whether transcripts may have changed since it was last compared with them.
#[derive(Default)]
pub(crate) struct Search {
    state: Mutex<State>,
    /// Set by every change made through this engine.
    pub(crate) stale: Cell<bool>,
}

#[derive(Default)]
pub(super) struct State {
    /// The mark of the state that `segments` are of; `None` before the index was read.
    pub(super) mark: Option<String>,
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
    counts: HashMap<TranscriptId, (u32, u32)>,
    /// When counts were compared last, over how many transcripts with how many messages.
    looked: Option<i64>,
    transcripts: usize,
    messages: u64,
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
        places.sort_unstable();
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

impl<S: Store> Keep<S> {
    /// The index as the store has it, compared with the transcripts.
    pub(super) async fn indexed_state(&self) -> Result<MutexGuard<'_, State>, KeepError> {
        let mut state = self.inner.search.state.lock().await;
        self.sync(&mut state).await?;
        let now = self.now();
        let stale = self.inner.search.stale.replace(false) || state.transcripts <= FEW;
        if stale || state.looked.is_none_or(|looked| !(looked..looked + LOOK_AGAIN).contains(&now)) {
            let looked = match self.compare(&mut state).await {
                Ok(()) => self.remember_all(&mut state).await,
                failed => failed,
            };
            if looked.is_err() {
                self.inner.search.stale.set(true);
            }
            looked?;
            state.looked = Some(now);
        }
        Ok(state)
    }

    /// Reads what the store has of the index, if that is not what memory has. Makes an empty one where there is none.
    pub(super) async fn sync(&self, state: &mut State) -> Result<(), KeepError> {
        let store = &self.inner.store;
        for _ in 0..TRIES {
            let Some(mark) = mark(store).await? else {
                let mark = self.new_mark();
                let puts = vec![(keys::INDEX_MADE.to_owned(), Vec::new()), (mark, Vec::new())];
                let absent = vec![keys::INDEX_MADE.to_owned()];
                match store.commit(Commit { absent, puts, ..Commit::default() }).await {
                    Ok(()) | Err(StoreError::Conflict { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            };
            if state.mark.as_ref() == Some(&mark) {
                return Ok(());
            }
            let listed = around::scan(store, &Scan::prefix(keys::INDEX_OWNERS)).await?;
            let ids =
                listed.iter().filter_map(|(key, owners)| Some((key.strip_prefix(keys::INDEX_OWNERS)?, owners.is_ok())));
            let known = std::mem::take(&mut state.segments);
            // Reading them all takes one request.
            let segments = Scan::prefix(keys::INDEX_SEGMENT);
            let all = if known.is_empty() { around::scan(store, &segments).await? } else { Vec::new() };
            let mut all = all.into_iter().peekable();
            let (mut segments, mut damaged) = (Vec::new(), Vec::new());
            for (id, sound) in ids {
                if !sound {
                    damaged.push(id.to_owned());
                    continue;
                }
                let key = [keys::INDEX_SEGMENT, id].concat();
                while all.next_if(|(other, _)| *other < key).is_some() {}
                if let Some((_, segment)) = known.iter().find(|(known, _)| known == id) {
                    segments.push((id.to_owned(), Rc::clone(segment)));
                    continue;
                }
                let bytes = match all.next_if(|(other, _)| *other == key) {
                    Some((_, bytes)) => bytes.ok(),
                    None => match store.get(&key).await {
                        Err(StoreError::Corrupt { .. }) => None,
                        read => read?,
                    },
                };
                match bytes.map(Segment::read) {
                    Some(Ok(segment)) => segments.push((id.to_owned(), Rc::new(segment))),
                    // Gone since, or not to be read: then it is made anew.
                    _ => damaged.push(id.to_owned()),
                }
            }
            state.segments = segments;
            state.mark = Some(mark);
            state.fresh = None;
            state.looked = None;
            state.pending.clear();
            state.rebuild();
            if damaged.is_empty() || self.replace(state, &damaged, None).await? {
                return Ok(());
            }
        }
        Err(busy())
    }

    /// Compares how many messages and summaries transcripts have with how many are indexed.
    pub(super) async fn compare(&self, state: &mut State) -> Result<(), KeepError> {
        let transcripts = self.transcripts().await?;
        state.transcripts = transcripts.len();
        state.messages = transcripts.iter().map(|known| u64::from(known.info.messages)).sum();
        let missing = transcripts.into_iter().filter(|known| {
            let (messages, summaries) = state.counts.get(&known.id).copied().unwrap_or_default();
            messages != known.info.messages || summaries != known.info.checkpoints
        });
        state.pending = missing.map(|known| (known.id, known.info.messages)).collect();
        Ok(())
    }

    pub(super) fn new_mark(&self) -> String {
        format!("{}{:016x}", keys::INDEX_MARK, self.random())
    }

    /// Adds to the commit that deletes something of `transcript` what deletes it from the index.
    pub(crate) async fn unindex(&self, transcript: &TranscriptId, commit: &mut Commit) -> Result<(), KeepError> {
        let store = &self.inner.store;
        let Some(known) = mark(store).await? else {
            commit.absent.push(keys::INDEX_MADE.to_owned());
            return Ok(());
        };
        exchange_mark(commit, &known, &self.new_mark());
        let vectors = Scan::prefix(&keys::vectors(transcript));
        commit.delete_ranges.push((vectors.start, vectors.end));
        let record = keys::record(transcript);
        for (key, owners) in around::scan(store, &Scan::prefix(keys::INDEX_OWNERS)).await? {
            // Of one that cannot be read nobody knows; what else it held is indexed again.
            let holds = |owners: Vec<u8>| owners.split(|byte| *byte == b'\n').any(|owner| owner == record.as_bytes());
            if owners.ok().is_none_or(holds)
                && let Some(id) = key.strip_prefix(keys::INDEX_OWNERS)
            {
                drop_segment(commit, id);
            }
        }
        Ok(())
    }
}

/// The mark of the index's state; `None` where there is no index.
async fn mark(store: &impl Store) -> Result<Option<String>, KeepError> {
    Ok(around::scan(store, &Scan::prefix(keys::INDEX_MARK).limit(1)).await?.pop().map(|(key, _)| key))
}

pub(super) fn exchange_mark(commit: &mut Commit, known: &str, new: &str) {
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
