//! How the index comes to be what the store has, and the store's index what the transcripts are.

use std::rc::Rc;

use threadkeep_core::TranscriptId;
use threadkeep_recall::Segment;
use threadkeep_store::{Commit, Scan, Store, StoreError, around};
use tokio::sync::MutexGuard;

use super::state::{State, busy, drop_segment, exchange_marker};
use crate::{Keep, KeepError, keys};

/// With so many transcripts or fewer, every search looks at all their counts; with more, what other tabs have written is
/// noticed after [`LOOK_AGAIN`] milliseconds.
const FEW: usize = 20;
const LOOK_AGAIN: i64 = 5000;
/// How often a change of the index that lost against another writer is tried again.
const TRIES: u32 = 100;

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
            let Some(marker) = marker(store).await? else {
                let marker = self.new_marker();
                let puts = vec![(keys::INDEX_MADE.to_owned(), Vec::new()), (marker, Vec::new())];
                let absent = vec![keys::INDEX_MADE.to_owned()];
                match store.commit(Commit { absent, puts, ..Commit::default() }).await {
                    Ok(()) | Err(StoreError::Conflict { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            };
            if state.marker.as_ref() == Some(&marker) {
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
            state.marker = Some(marker);
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

    pub(super) fn new_marker(&self) -> String {
        format!("{}{:016x}", keys::INDEX_MARK, self.random())
    }

    /// Adds to the commit that deletes something of `transcript` what deletes it from the index.
    pub(crate) async fn unindex(&self, transcript: &TranscriptId, commit: &mut Commit) -> Result<(), KeepError> {
        let store = &self.inner.store;
        let Some(known) = marker(store).await? else {
            commit.absent.push(keys::INDEX_MADE.to_owned());
            return Ok(());
        };
        exchange_marker(commit, &known, &self.new_marker());
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

/// The marker of the index's state; `None` where there is no index.
async fn marker(store: &impl Store) -> Result<Option<String>, KeepError> {
    Ok(around::scan(store, &Scan::prefix(keys::INDEX_MARK).limit(1)).await?.pop().map(|(key, _)| key))
}
