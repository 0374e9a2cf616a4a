//! Reading what is remembered: lists of episodes and facts, and the best of them for a prompt. Whose records a reader gets is decided here.
//!
//! **Owners.** A list holds all records, unless it names an agent: then it holds what that agent sees, its own records and the shared ones.
//! A prompt's bundle holds the shared ones, and an agent's own where it names the agent. Of an own fact and a shared one that contradict each
//! other, or say the same, an agent sees one: see `Facts::overruled_for`.

use threadkeep_compaction::memory::{BundleLimits, Episode, Fact, MemoryBundle, bundle};
use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::sort;
use threadkeep_store::Store;

use crate::memory::Memories;
use crate::protocol::MemoryFilter;
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// What happened, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn episodes(&self, filter: &MemoryFilter) -> Result<Vec<Episode>, KeepError> {
        let mut episodes: Vec<Episode> = episodes_in(&*self.memories().await?, filter).cloned().collect();
        sort::sort_by(&mut episodes, |a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(episodes.split_off(surplus(filter, episodes.len())))
    }

    /// What holds, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn facts(&self, filter: &MemoryFilter) -> Result<Vec<Fact>, KeepError> {
        let mut facts: Vec<Fact> = facts_in(&*self.memories().await?, filter).cloned().collect();
        sort::sort_by(&mut facts, |a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(facts.split_off(surplus(filter, facts.len())))
    }

    /// The best of what is remembered for a prompt, by [`threadkeep_compaction::memory::bundle`]'s formula. Without an agent in the filter
    /// it holds shared records only. `limits` says how many records, and the filter's own limit counts for nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn retrieve(
        &self,
        filter: &MemoryFilter,
        query: Option<&str>,
        limits: BundleLimits,
    ) -> Result<MemoryBundle, KeepError> {
        if limits.episodes == 0 && limits.facts == 0 {
            return Ok(MemoryBundle::default());
        }
        let known = self.memories().await?;
        let is_ours = |owner: &Option<String>| owner.is_none() || filter.agent.is_some();
        let episodes: Vec<&Episode> = episodes_in(&known, filter).filter(|it| is_ours(&it.agent)).collect();
        let facts: Vec<&Fact> = facts_in(&known, filter).filter(|it| is_ours(&it.agent)).collect();
        Ok(bundle(&episodes, &facts, query, limits, self.now()))
    }
}

/// The episodes that are asked for, in no order.
fn episodes_in<'a>(known: &'a Memories, filter: &'a MemoryFilter) -> impl Iterator<Item = &'a Episode> {
    known
        .episodes
        .values()
        .filter(|it| sees(filter, it.agent.as_deref()) && admits(filter, it.transcript.as_ref(), &it.sources, &it.tags))
}

/// The facts that are asked for, in no order.
fn facts_in<'a>(known: &'a Memories, filter: &'a MemoryFilter) -> impl Iterator<Item = &'a Fact> {
    let overruled = filter.agent.as_deref().map(|agent| known.overruled_for(agent)).unwrap_or_default();
    known.facts.iter().filter(move |it| {
        let holds = it.superseded_by.is_none() && !overruled.contains(it.id.as_str());
        (filter.superseded || holds)
            && sees(filter, it.agent.as_deref())
            && admits(filter, it.transcript.as_ref(), &it.sources, &it.tags)
    })
}

/// Whether a record of that owner is among those that are asked for.
fn sees(filter: &MemoryFilter, owner: Option<&str>) -> bool {
    filter.agent.is_none() || owner.is_none() || owner == filter.agent.as_deref()
}

/// Whether a record is among those that are asked for.
fn admits(filter: &MemoryFilter, transcript: Option<&TranscriptId>, sources: &[Source], tags: &[String]) -> bool {
    filter.transcript.as_ref().is_none_or(|wanted| transcript == Some(wanted))
        && filter.source.as_ref().is_none_or(|wanted| sources.iter().any(|source| source.node == *wanted))
        && filter.tag.as_ref().is_none_or(|wanted| tags.contains(wanted))
}

/// How many of `count` records, the oldest, are too many.
fn surplus(filter: &MemoryFilter, count: usize) -> usize {
    count.saturating_sub(filter.limit.unwrap_or(usize::MAX))
}
