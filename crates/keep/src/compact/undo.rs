//! Undoing a compaction: its checkpoint is withdrawn, and what it alone remembered is deleted, in one commit.

use std::collections::HashSet;

use threadkeep_compaction::memory::{Fact, MemoryOrigin, Share};
use threadkeep_core::checkpoint::{Checkpoint, Source};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Transcript};
use threadkeep_store::{Commit, Store, StoreError};

use super::TRIES;
use crate::keep::Write;
use crate::memory::{Memories, MemoryChange};
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// Undoes a compaction: its checkpoint stands in for nothing any more, so that prompts have the originals again, or the checkpoint
    /// before it. Without `id` it is the one that the chain uses. `None` where the chain has no such checkpoint; one that was undone before
    /// is none.
    ///
    /// Episodes and facts that only this compaction gave are deleted. Those that were pinned, rewritten or said again since stay. A request that
    /// was made with the checkpoint can still be made again, since the log keeps it.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn undo_compaction(&self, at: &str, id: Option<&str>) -> Result<Option<Checkpoint>, KeepError> {
        let _writing = self.writing().await;
        let (transcript, leaf) = self.place(at).await?;
        for _ in 0..TRIES {
            let known = self.memories().await?;
            let mut forgotten = None;
            let written = self.write(&transcript, |log| {
                let chain = log.tree.chain(&leaf)?;
                let mut all = log.tree.checkpoints_on(&chain).into_iter().map(|(_, _, checkpoint)| checkpoint);
                let Some(found) = all.rfind(|checkpoint| id.is_none_or(|id| checkpoint.id == id)) else {
                    return Ok(Write::new(Vec::new(), None));
                };
                let mut extra = Commit::default();
                let change = given_by(found, &log.tree, &chain, &known);
                forgotten = Some(known.commit(change, self.random(), &mut extra)?);
                let mut write = Write::new(vec![Entry::Withdrawn(found.id.clone())], Some(found.clone()));
                write.extra = extra;
                Ok(write)
            });
            let found = match written.await {
                Err(KeepError::Store(StoreError::Conflict { key })) if keys::is_memory_mark(&key) => continue,
                written => written?.flatten(),
            };
            if let (Some(checkpoint), Some(forgotten)) = (&found, forgotten) {
                self.changed(&transcript, vec![checkpoint.anchor.clone()]);
                self.remembered(forgotten);
            }
            return Ok(found);
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }
}

/// What goes with a checkpoint: episodes and facts that no other compaction gave, and that nobody has changed since.
fn given_by(checkpoint: &Checkpoint, tree: &Transcript, chain: &[&Placed], known: &Memories) -> MemoryChange {
    let others = tree.checkpoints().map(|(_, other)| other).filter(|other| other.id != checkpoint.id);
    let elsewhere: HashSet<&String> = others.flat_map(|other| other.episodes.iter().chain(&other.facts)).collect();
    let end = tree.place_on(chain, &checkpoint.anchor);
    let covered = |source: &Source| tree.place_on(chain, &source.node).is_some_and(|place| Some(place) <= end);
    let alone = |id: &&String| !elsewhere.contains(id);
    let episodes = checkpoint.episodes.iter().filter(alone).filter_map(|id| known.episode(id).ok());
    // Another text is its user's own.
    let episodes = episodes.filter(|episode| !episode.pinned && episode.worth() != MemoryOrigin::User);
    let facts = checkpoint.facts.iter().filter(alone).filter_map(|id| known.fact(id).ok());
    let rewritten = |fact: &Fact| fact.worth() == MemoryOrigin::User && fact.confidence == Share::of(1000);
    let facts = facts.filter(|fact| {
        let new = fact.created_at >= checkpoint.created_at && fact.sources.iter().all(covered);
        new && !fact.pinned && !rewritten(fact)
    });
    let (gone_episodes, gone_facts): (Vec<_>, Vec<_>) = (episodes.cloned().collect(), facts.cloned().collect());
    let ids = gone_facts.iter().map(|fact| fact.id.as_str()).collect();
    let facts = known.revived(&ids).collect();
    MemoryChange { facts, gone_episodes, gone_facts, ..MemoryChange::default() }
}
