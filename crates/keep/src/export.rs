//! Export, piece by piece: the logs as they are, in our own JSON Lines format, or conversations in a format of others.

use threadkeep_core::archive::own;
use threadkeep_core::archive::write::{Target, Writer, memory_files};
use threadkeep_core::{Entry, TranscriptId};
use threadkeep_store::{Scan, Store, StoreError};

use crate::log::{Log, from_json, numbered, record};
use crate::memory::archive_lines;
use crate::{Keep, KeepError, keys};

/// How many pages are read at a time.
const PAGES: usize = 20;

impl<S: Store> Keep<S> {
    /// Writes one transcript, or all of them in the order of their ids, as pieces of a `.threadkeep.jsonl` file, with what is remembered of
    /// them, and, of all, with what belongs to none. Importing
    /// it into an empty store restores everything, and exporting that gives the same bytes.
    ///
    /// # Errors
    /// `missing-transcript`; `corrupt` for a page that cannot be read; the store's.
    pub async fn export(
        &self,
        transcript: Option<&TranscriptId>,
        mut sink: impl FnMut(String),
    ) -> Result<(), KeepError> {
        sink(own::write_header());
        let store = &self.inner.store;
        if let Some(id) = transcript {
            self.export_one(id, &mut sink).await?;
            let episodes = store.scan(&keys::EPISODES.within(id)).await?;
            sink(archive_lines(&episodes, &store.scan(&keys::FACTS.within(id)).await?)?);
            return Ok(());
        }
        for (key, _) in self.inner.store.scan(&keys::records()).await? {
            if let Some(id) = keys::record_id(&key) {
                self.export_one(&id, &mut sink).await?;
            }
        }
        let episodes = store.scan(&keys::EPISODES.all()).await?;
        sink(archive_lines(&episodes, &store.scan(&keys::FACTS.all()).await?)?);
        Ok(())
    }

    /// Writes one transcript, or all of them in the order of their ids, in a format of others: the chosen branch of each, or
    /// all its branches. That does not restore everything: keep an [`export`](Self::export) for that.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn export_as(
        &self,
        transcript: Option<&TranscriptId>,
        target: Target,
        branches: bool,
        mut sink: impl FnMut(String),
    ) -> Result<(), KeepError> {
        let mut writer = Writer::new(target, branches);
        let ids = match transcript {
            Some(id) => vec![id.clone()],
            None => {
                let records = self.inner.store.scan(&keys::records()).await?;
                records.iter().filter_map(|(key, _)| keys::record_id(key)).collect()
            }
        };
        for id in ids {
            match Log::load(&self.inner.store, &id).await? {
                Some(log) => writer.transcript(&log.tree, &mut sink),
                None if transcript.is_some() => return Err(KeepError::MissingTranscript(id)),
                // Deleted in this moment.
                None => {}
            }
        }
        writer.finish(&mut sink);
        Ok(())
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
            None => {
                let records = self.inner.store.scan(&keys::records()).await?;
                let ids = records.iter().filter_map(|(key, _)| keys::record_id(key)).map(Some);
                ids.chain([None]).collect()
            }
        };
        for id in ids {
            let log = match &id {
                None => None,
                Some(id) => match Log::load(&self.inner.store, id).await? {
                    None if transcript.is_some() => return Err(KeepError::MissingTranscript(id.clone())),
                    // Deleted in this moment.
                    None => continue,
                    log => log,
                },
            };
            let episodes = known.episodes.iter().filter(|episode| episode.transcript == id).cloned().collect();
            let facts = known.facts.iter().filter(|fact| fact.transcript == id).cloned().collect();
            let folder = id.as_ref().map_or_else(|| "shared".to_owned(), |id| keys::escape(id.as_str()));
            for (name, text) in memory_files(log.as_ref().map(|log| &log.tree), episodes, facts) {
                sink(["memory/agents/", &folder, "/", name].concat(), text);
            }
        }
        Ok(())
    }

    async fn export_one(&self, id: &TranscriptId, sink: &mut impl FnMut(String)) -> Result<(), KeepError> {
        let record = record(&self.inner.store, id).await?;
        let record = record.ok_or_else(|| KeepError::MissingTranscript(id.clone()))?;
        let mut writer = own::TranscriptWriter::new(id);
        let mut range = keys::pages(id, &record.generation, 0).limit(PAGES);
        loop {
            let pages = self.inner.store.scan(&range).await?;
            for (key, lines) in &pages {
                let first = keys::page_seq(key).unwrap_or_default();
                for (seq, line) in numbered(lines, first) {
                    let corrupt =
                        |error: serde_json::Error| StoreError::Corrupt { key: key.clone(), why: error.to_string() };
                    writer.entry(seq, &from_json::<Entry>(line).map_err(corrupt)?);
                }
                sink(writer.take());
            }
            match pages.last() {
                Some((last, _)) if pages.len() == PAGES => range = Scan { start: format!("{last}\0"), ..range },
                _ => break,
            }
        }
        writer.end();
        sink(writer.take());
        Ok(())
    }
}
