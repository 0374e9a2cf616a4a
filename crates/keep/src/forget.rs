//! Forgets an episode or a fact, and takes that back. An id in, and out the records as they were; the store's memory changes in between.

use std::collections::HashSet;

use threadkeep_compaction::memory::{Fact, Memory};
use threadkeep_store::Store;

use crate::memory::{Memories, MemoryChange};
use crate::{Keep, KeepError};

/// What a deletion took and changed, as it was: the record, then the facts that hold again since.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forgotten(Vec<Memory>);

impl Forgotten {
    /// Whether nothing was there to be deleted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<S: Store> Keep<S> {
    /// Deletes an episode or a fact, for good. A fact that it superseded holds again, unless another one superseded it. What it gives
    /// can bring the record back, and is empty if there was none.
    ///
    /// # Errors
    /// The store's.
    pub async fn forget_memory(&self, id: &str) -> Result<Forgotten, KeepError> {
        let mut forgotten = Forgotten::default();
        let mut plan = |known: &Memories| {
            let mut change = MemoryChange::default();
            change.gone_episodes.extend(known.episode(id).ok().cloned());
            change.gone_facts.extend(known.fact(id).ok().cloned());
            change.facts.extend(known.revived(&HashSet::from([id])));
            let episodes = change.gone_episodes.iter().cloned().map(Memory::Episode);
            let facts = change.gone_facts.iter().cloned().map(Memory::Fact);
            let revived = change.facts.iter().filter_map(|fact| known.fact(&fact.id).ok().cloned().map(Memory::Fact));
            forgotten = Forgotten(episodes.chain(facts).chain(revived).collect());
            Ok(change)
        };
        self.change(&mut plan).await?;
        Ok(forgotten)
    }

    /// Brings back what was forgotten, and supersedes again what it superseded. What has come under its id meanwhile stays. Whether it
    /// is back.
    ///
    /// # Errors
    /// The store's.
    pub async fn unforget_memory(&self, forgotten: &Forgotten) -> Result<bool, KeepError> {
        let mut is_back = false;
        let mut plan = |known: &Memories| {
            let mut change = MemoryChange::default();
            let Some((first, others)) = forgotten.0.split_first() else { return Ok(change) };
            match first {
                Memory::Episode(episode) if known.episode(&episode.id).is_err() => {
                    change.episodes.push(episode.clone())
                }
                Memory::Fact(fact) if known.fact(&fact.id).is_err() => change.facts.push(fact.clone()),
                _ => return Ok(change),
            }
            is_back = true;
            for other in others {
                // It may have been edited, superseded by another or deleted since.
                if let Memory::Fact(before) = other
                    && let Ok(now) = known.fact(&before.id)
                    && now.superseded_by.is_none()
                {
                    change.facts.push(Fact { superseded_by: before.superseded_by.clone(), ..now.clone() });
                }
            }
            Ok(change)
        };
        self.change(&mut plan).await?;
        Ok(is_back)
    }
}
