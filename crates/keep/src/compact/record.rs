//! What a compaction stores: the checkpoint, its episodes and facts, and that the request for it was carried out, all in one commit.

use threadkeep_compaction::Refused;
use threadkeep_compaction::memory::{Episode, MemoryOrigin, Remembered, Whose};
use threadkeep_compaction::summary::FoundFact;
use threadkeep_context::tokens::{Counter, cost};
use threadkeep_core::checkpoint::{Checkpoint, Strategy, summary_message};
use threadkeep_core::{Entry, TranscriptId};
use threadkeep_store::{Commit, Store, StoreError};

use super::job::{Held, Job};
use super::sources::Read;
use super::summarise::Made;
use super::{CompactOptions, Compacted, Summariser, TRIES};
use crate::keep::Write;
use crate::log::Log;
use crate::memory::{Memories, MemoryChange};
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// What a job comes to, with a checkpoint that is not stored yet, and the facts that were found.
    pub(super) async fn drawn_up(
        &self,
        transcript: &TranscriptId,
        job: &Job,
        options: &CompactOptions,
        summariser: &dyn Summariser,
        counter: &dyn Counter,
    ) -> Result<(Compacted, Vec<(FoundFact, MemoryOrigin)>), KeepError> {
        let made = self.summarised(job, options, summariser, counter).await?;
        options.go_on()?;
        let message = summary_message(&made.statements, &job.covers, &job.window.anchor);
        let after = message.as_ref().map_or(0, |message| u64::from(cost(message, options.provider, counter).total()));
        if after >= job.before {
            return Err(Refused::NotSmaller { before: job.before, after }.into());
        }
        let (mut done, found) = self.records(transcript, job, made, after, options);
        done.summary_messages = message.into_iter().collect();
        Ok((done, found))
    }

    /// The records that a compaction stores, and the facts that are to be merged into what is remembered.
    fn records(
        &self,
        transcript: &TranscriptId,
        job: &Job,
        made: Made,
        after: u64,
        options: &CompactOptions,
    ) -> (Compacted, Vec<(FoundFact, MemoryOrigin)>) {
        let now = self.now();
        let (mut episodes, mut found) = (Vec::new(), Vec::new());
        let read = Read::new(job);
        for (chunk, summary) in made.episodes {
            if let Some(told) = read.episode(&chunk, &summary, &options.remember_from) {
                let held = || told.held.iter().map(|at| &job.held[*at]);
                let mut turns: Vec<u32> = held().map(|held| held.turn).filter(|turn| *turn > 0).collect();
                turns.dedup();
                episodes.push(Episode {
                    id: self.minted("ep_"),
                    created_at: now,
                    transcript: Some(transcript.clone()),
                    turns,
                    sources: held().map(Held::source).collect(),
                    summary: told.summary,
                    tags: told.tags,
                    salience: summary.salience,
                    pinned: false,
                    agent: options.agent.clone(),
                    origin: Some(told.origin),
                });
            }
            found.extend(read.facts(&chunk, summary.facts, &options.remember_from));
        }
        let by =
            if job.strategy == Strategy::SlidingWindow { job.strategy.name().to_owned() } else { made.by.join(", ") };
        let checkpoint = Checkpoint {
            id: self.minted("cp_"),
            anchor: job.window.anchor.clone(),
            covers: job.covers.clone(),
            statements: made.statements,
            episodes: episodes.iter().map(|episode| episode.id.clone()).collect(),
            facts: Vec::new(),
            strategy: job.strategy,
            summariser: by,
            policy: job.chosen.clone(),
            tokens_before: job.before,
            tokens_after: after,
            created_at: now,
            cleared: Vec::new(),
            previous: job.previous.clone(),
            cost: Some(made.spent),
            warnings: made.warnings.iter().map(|warning| without_queries(warning)).collect(),
        };
        let done = Compacted {
            checkpoint: Some(checkpoint),
            summary_messages: Vec::new(),
            compacted_range: 0..job.window.end,
            tokens_before: job.history,
            tokens_after: job.rest + after,
            cost: made.spent,
            episodes,
            facts: Vec::new(),
            warnings: made.warnings,
            would_send: None,
        };
        (done, found)
    }

    /// Merges the found facts into what is remembered.
    pub(super) fn merge_facts(
        &self,
        transcript: &TranscriptId,
        known: &Memories,
        found: &[(FoundFact, MemoryOrigin)],
        options: &CompactOptions,
        done: &mut Compacted,
    ) {
        let whose = Whose { agent: options.agent.as_deref(), transcript: Some(transcript) };
        let Remembered { changed, ids } = self.merged(known, found.to_vec(), whose);
        done.facts = changed;
        if let Some(checkpoint) = &mut done.checkpoint {
            checkpoint.facts = ids.into_iter().flatten().collect();
        }
    }

    /// Stores the checkpoint with what comes with it. `false`, and nothing is stored, where its anchor is gone, or another writer
    /// has made one for the same anchor since the window was chosen.
    pub(super) async fn store_checkpoint(
        &self,
        transcript: &TranscriptId,
        job: &Job,
        found: &[(FoundFact, MemoryOrigin)],
        options: &CompactOptions,
        done: &mut Compacted,
    ) -> Result<bool, KeepError> {
        let _writing = self.writing().await;
        for _ in 0..TRIES {
            let known = self.memories().await?;
            options.go_on()?;
            self.merge_facts(transcript, &known, found, options, done);
            let Some(checkpoint) = &done.checkpoint else { return Ok(false) };
            let (episodes, facts) = (done.episodes.clone(), done.facts.clone());
            let change = MemoryChange { episodes, facts, ..MemoryChange::default() };
            let mut extra = Commit::default();
            let remembered = known.commit(change, self.random(), &mut extra)?;
            drop(known);
            extra.puts.push(job.settled.clone());
            // Asked again, somebody else has written; perhaps to what is remembered, which is read again then.
            let mut asked = false;
            let written = self.write(transcript, |log: &Log| {
                let mut since = log.tree.checkpoints().filter(|(seq, _)| *seq >= job.seen);
                let overtaken = since.any(|(_, other)| other.anchor == checkpoint.anchor);
                let gone = log.generation != job.generation || log.tree.get(&checkpoint.anchor).is_none();
                if overtaken || gone || std::mem::replace(&mut asked, true) {
                    return Ok(Write::new(Vec::new(), Some(!overtaken && !gone)));
                }
                let mut write = Write::new(vec![Entry::Checkpoint(Box::new(checkpoint.clone()))], None);
                write.extra = extra.clone();
                Ok(write)
            });
            let written = match written.await {
                Err(KeepError::Store(StoreError::Conflict { key })) if keys::is_memory_mark(&key) => continue,
                written => written?,
            };
            match written {
                Some(None) => {
                    self.changed(transcript, vec![checkpoint.anchor.clone()]);
                    self.remembered(remembered);
                    return Ok(true);
                }
                Some(Some(true)) => {}
                Some(Some(false)) | None => return Ok(false),
            }
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    fn minted(&self, kind: &str) -> String {
        format!("{kind}{:016x}", self.random())
    }
}

/// A warning as it may stay: without what follows the `?` of addresses in it, where some services have their keys.
fn without_queries(warning: &str) -> String {
    let mut words = Vec::new();
    for word in warning.split(' ') {
        words.push(match word.split_once('?') {
            Some((address, _)) if address.contains("://") => address,
            _ => word,
        });
    }
    words.join(" ")
}
