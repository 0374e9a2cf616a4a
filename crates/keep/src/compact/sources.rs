//! What a compaction remembers, by where it comes from. Goes in: the messages that were summarised with their origins, and what the
//! summariser found. Comes out: facts with their origins, and episodes, as far as the caller agrees to remember them.
//!
//! A fact takes the weakest origin among its sources. A fact may name no sources, or not say what they say. It then takes the weakest
//! origin among all messages that the summariser read. A web page may have told the summariser what to find. For a later piece, that
//! includes the pieces before it if their statements are carried on. An episode may rest on messages that are not to be remembered. It then keeps only
//! the sentences whose every word stands in one of the other messages.

use std::collections::BTreeMap;
use std::ops::Range;

use threadkeep_compaction::memory::{MemoryOrigin, RememberFrom, is_said_in, rests_on, still_said};
use threadkeep_compaction::summary::{FoundFact, Summary};

use super::job::{Held, Job};
use crate::memory::everything_said;

/// What a summariser read.
pub(super) struct Read<'a> {
    job: &'a Job,
    places: BTreeMap<(&'a str, u32), usize>,
}

/// What is remembered of an episode.
pub(super) struct Told {
    pub(super) summary: String,
    pub(super) tags: Vec<String>,
    /// The messages that it rests on.
    pub(super) held: Vec<usize>,
    pub(super) origin: MemoryOrigin,
}

impl<'a> Read<'a> {
    pub(super) fn new(job: &'a Job) -> Self {
        let held = job.held.iter().enumerate();
        Self { job, places: held.map(|(at, held)| ((held.node.as_str(), held.index), at)).collect() }
    }

    /// The weakest origin of a piece's messages, and of what its summariser was given beside them: what was said of those before.
    fn weakest(&self, chunk: &Range<usize>) -> MemoryOrigin {
        let carries_on = self.job.carries_on();
        let start = if carries_on { 0 } else { chunk.start };
        let held = self.job.held[start..chunk.end].iter().map(|held| &held.origin);
        let carried = self.job.carried_origins.values().filter(|_| carries_on);
        held.chain(carried).min().copied().unwrap_or(MemoryOrigin::User)
    }

    fn held(&self, at: usize) -> &'a Held {
        &self.job.held[at]
    }

    /// The facts of a summary of these messages that are to be remembered.
    pub(super) fn facts(
        &self,
        chunk: &Range<usize>,
        found: Vec<FoundFact>,
        from: &RememberFrom,
    ) -> Vec<(FoundFact, MemoryOrigin)> {
        let weakest = self.weakest(chunk);
        let facts = found.into_iter().map(|fact| {
            let origin = self.origin(&fact).unwrap_or(weakest);
            (fact, origin)
        });
        facts.filter(|(_, origin)| from.admits(*origin)).collect()
    }

    /// The weakest origin of a fact's sources; `None` where it does not rest on them.
    fn origin(&self, fact: &FoundFact) -> Option<MemoryOrigin> {
        let mut texts: Vec<String> = Vec::new();
        let mut origins: Vec<MemoryOrigin> = Vec::new();
        for source in &fact.sources {
            if let Some(at) = self.places.get(&(source.node.as_str(), source.index)) {
                origins.push(self.held(*at).origin);
                texts.push(everything_said(&self.held(*at).message));
            } else {
                origins.push(self.job.carried_origins.get(source).copied().unwrap_or(MemoryOrigin::Import));
                let carried = self.job.carried.iter().filter(|statement| statement.sources.contains(source));
                texts.extend(carried.map(|statement| statement.text.clone()));
            }
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        origins.into_iter().min().filter(|_| rests_on(&fact.fact, &texts))
    }

    /// What of the episode of a summary of these messages is to be remembered; `None` for nothing.
    pub(super) fn episode(&self, chunk: &Range<usize>, summary: &Summary, from: &RememberFrom) -> Option<Told> {
        let weakest = self.weakest(chunk);
        let mut told = Told {
            summary: summary.episode.trim().to_owned(),
            tags: summary.tags.clone(),
            held: chunk.clone().collect(),
            origin: weakest,
        };
        if !from.admits(weakest) {
            told.held.retain(|at| from.admits(self.held(*at).origin));
            told.origin = told.held.iter().map(|at| self.held(*at).origin).min()?;
            let texts: Vec<String> = told.held.iter().map(|at| everything_said(&self.held(*at).message)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            told.summary = still_said(&told.summary, &texts);
            told.tags.retain(|tag| is_said_in(tag, &texts));
        }
        if told.summary.is_empty() { None } else { Some(told) }
    }
}
