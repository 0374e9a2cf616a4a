//! Export, piece by piece: the logs as they are, in our own JSON Lines format, or conversations in a format of others.

mod beside;

use std::collections::HashMap;

use threadkeep_archive::own;
use threadkeep_archive::share::{Secret, Sharer, Sharing};
use threadkeep_archive::write::{Target, Writer, memory_files};
use threadkeep_compaction::memory::{Episode, Fact};
use threadkeep_core::sort;
use threadkeep_core::{Entry, TranscriptId};
use threadkeep_store::{Store, StoreError, around};

use crate::log::{numbered, record};
use crate::{Keep, KeepError, keys};

/// How many pages are read at a time.
const PAGES: usize = 20;

impl<S: Store> Keep<S> {
    /// Writes one transcript, or all of them in the order of their ids, as pieces of a `.threadkeep.jsonl` file, with what is remembered of
    /// them, their settings and their requests, and, of all, with what belongs to none and the settings of the keep. Importing
    /// it into an empty store restores everything, and exporting that gives the same bytes.
    ///
    /// # Errors
    /// `missing-transcript`; the store's. What cannot be read is left out, and [`Stats::damaged`](crate::protocol::Stats::damaged) tells.
    pub async fn export(
        &self,
        transcript: Option<&TranscriptId>,
        mut sink: impl FnMut(String),
    ) -> Result<(), KeepError> {
        sink(own::write_header());
        if let Some(id) = transcript {
            self.export_one(id, &mut sink).await?;
            sink(self.archive_lines(&keys::EPISODES.within(id), &keys::FACTS.within(id)).await?);
            sink(self.settings_lines(Some(id)).await?);
            return self.export_requests(id, &mut sink).await;
        }
        let ids = self.ids().await?;
        for id in &ids {
            self.export_one(id, &mut sink).await?;
        }
        sink(self.archive_lines(&keys::EPISODES.all(), &keys::FACTS.all()).await?);
        sink(self.settings_lines(None).await?);
        for id in &ids {
            self.export_requests(id, &mut sink).await?;
        }
        Ok(())
    }

    /// Writes one transcript, or all of them in the order of their ids, in a format of others: the chosen branch of each, or
    /// all its branches. That does not restore everything: keep an [`export`](Self::export) for that. With `sharing` it has nothing that
    /// looks like a secret. Gives what was found of that, in order.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn export_as(
        &self,
        transcript: Option<&TranscriptId>,
        target: Target,
        branches: bool,
        sharing: Option<&Sharing>,
        mut sink: impl FnMut(String),
    ) -> Result<Vec<Secret>, KeepError> {
        let mut sharer = sharing.map(Sharer::new);
        let mut writer = Writer::new(target, branches);
        for id in self.chosen(transcript).await? {
            if let Some(sharer) = &mut sharer {
                let lines = self.lines_of(&id).await?;
                writer.transcript(&sharer.transcript(&id, &lines).map_err(unsearched)?, &mut sink);
                continue;
            }
            match self.load(&id).await? {
                Some(log) => writer.transcript(&log.tree, &mut sink),
                None if transcript.is_some() => return Err(KeepError::MissingTranscript(id)),
                // Deleted in this moment.
                None => {}
            }
        }
        writer.finish(&mut sink);
        Ok(sharer.map(|sharer| sharer.found).unwrap_or_default())
    }

    /// [`export`](Self::export) for others: threads alone, without memory, settings and requests, and without what looks like a secret.
    /// Gives what was found, in order.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn export_shared(
        &self,
        transcript: Option<&TranscriptId>,
        sharing: &Sharing,
        mut sink: impl FnMut(String),
    ) -> Result<Vec<Secret>, KeepError> {
        let mut sharer = Sharer::new(sharing);
        sink(own::write_header());
        for id in self.chosen(transcript).await? {
            let lines = self.lines_of(&id).await?;
            sink(sharer.lines(&lines).map_err(unsearched)?);
        }
        Ok(sharer.found)
    }

    /// One transcript, or all of them in the order of their ids.
    async fn chosen(&self, transcript: Option<&TranscriptId>) -> Result<Vec<TranscriptId>, KeepError> {
        match transcript {
            Some(id) => Ok(vec![id.clone()]),
            None => self.ids().await,
        }
    }

    /// The lines of one transcript.
    async fn lines_of(&self, id: &TranscriptId) -> Result<String, KeepError> {
        let mut lines = String::new();
        self.export_one(id, &mut |piece: String| lines.push_str(&piece)).await?;
        Ok(lines)
    }

    /// Writes the chosen branch of one transcript, or of all in the order of their ids, as the files of an agent's memory: a folder each, named
    /// for the transcript, with traces, episodes, facts and the working context; of all, also what is remembered of none. The sink
    /// gets each file whole, with its path.
    ///
    /// # Errors
    /// `missing-transcript`; `corrupt`; the store's.
    pub async fn export_memory(
        &self,
        transcript: Option<&TranscriptId>,
        mut sink: impl FnMut(String, String),
    ) -> Result<(), KeepError> {
        let known = self.memories().await?;
        let ids = match transcript {
            Some(id) => vec![Some(id.clone())],
            None => self.ids().await?.into_iter().map(Some).chain([None]).collect(),
        };
        // The records of each transcript, by their ids.
        let mut records: HashMap<Option<TranscriptId>, (Vec<Episode>, Vec<Fact>)> = HashMap::new();
        for episode in known.episodes.values() {
            records.entry(episode.transcript.clone()).or_default().0.push(episode.clone());
        }
        for fact in known.facts.iter() {
            records.entry(fact.transcript.clone()).or_default().1.push(fact.clone());
        }
        for id in ids {
            let log = match &id {
                None => None,
                Some(id) => match self.load(id).await? {
                    None if transcript.is_some() => return Err(KeepError::MissingTranscript(id.clone())),
                    // Deleted in this moment.
                    None => continue,
                    log => log,
                },
            };
            let (episodes, mut facts) = records.remove(&id).unwrap_or_default();
            sort::sort_by(&mut facts, |a, b| a.id.cmp(&b.id));
            let folder = id.as_ref().map_or("shared".into(), |id| threadkeep_store::escape(id.as_str()));
            for (name, text) in memory_files(log.as_ref().map(|log| &log.tree), episodes, facts) {
                sink(["memory/agents/", &folder, "/", name].concat(), text);
            }
        }
        Ok(())
    }

    /// The ids of all transcripts, in their order.
    async fn ids(&self) -> Result<Vec<TranscriptId>, KeepError> {
        Ok(self.keys_of(&keys::records()).await?.iter().filter_map(|key| keys::record_id(key)).collect())
    }

    async fn export_one(&self, id: &TranscriptId, sink: &mut impl FnMut(String)) -> Result<(), KeepError> {
        let generation = match record(&self.inner.store, id).await {
            Ok(record) => record.map(|record| record.generation),
            Err(KeepError::Store(StoreError::Corrupt { .. })) => self.load(id).await?.map(|log| log.generation),
            Err(error) => return Err(error),
        };
        let generation = generation.ok_or_else(|| KeepError::MissingTranscript(id.clone()))?;
        let mut writer = own::TranscriptWriter::new(id);
        let mut range = keys::pages(id, &generation, 0).limit(PAGES);
        loop {
            let pages = around::scan(&self.inner.store, &range).await?;
            let more = pages.len() == PAGES;
            let last = pages.last().map(|(key, _)| format!("{key}\0"));
            for (key, lines) in pages {
                let first = keys::page_seq(&key).unwrap_or_default();
                let lines = self.sound(&key, lines).unwrap_or_default();
                for (seq, line) in numbered(&lines, first) {
                    if let Some(entry) = self.sound(&key, Entry::parse(line)) {
                        writer.entry(seq, &entry);
                    }
                }
                sink(writer.take());
            }
            match last {
                Some(last) if more => range.start = last,
                _ => break,
            }
        }
        writer.end();
        sink(writer.take());
        Ok(())
    }
}

/// What could not be searched for secrets may not leave.
fn unsearched(error: serde_json::Error) -> KeepError {
    StoreError::Other(format!("a line could not be searched for secrets: {error}")).into()
}
