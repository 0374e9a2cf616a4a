//! The lines of an export that are no part of a log and no memory: settings, and the journal of requests.

use std::collections::HashSet;

use threadkeep_archive::own;
use threadkeep_core::{TranscriptId, sort};
use threadkeep_store::{Scan, Store};

use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// The lines of the settings of a transcript and its heads; without one, of all there are.
    pub(super) async fn settings_lines(&self, transcript: Option<&TranscriptId>) -> Result<String, KeepError> {
        let mut lines = String::new();
        if let Some(id) = transcript {
            lines += &self.settings_line(keys::settings_of(id), Some(id), None).await?;
            let heads = self.glance(id, |log| Ok(log.tree.heads().keys().cloned().collect()));
            let mut heads: Vec<String> = heads.await?;
            sort::sort(&mut heads);
            for head in heads {
                lines += &self.settings_line(keys::settings_at(&head), Some(id), Some(&head)).await?;
            }
            return Ok(lines);
        }
        lines += &self.settings_line(keys::SETTINGS.to_owned(), None, None).await?;
        let [transcripts, heads] = keys::settings_within();
        for key in self.keys_of(&transcripts).await? {
            let id = keys::settings_place(&key).and_then(|id| TranscriptId::new(id).ok());
            lines += &self.settings_line(key, id.as_ref(), None).await?;
        }
        for key in self.keys_of(&heads).await? {
            let Some(head) = keys::settings_place(&key) else { continue };
            let id = self.stored_head(&head).await?;
            lines += &self.settings_line(key, id.as_ref(), Some(&head)).await?;
        }
        Ok(lines)
    }

    /// The line of the settings with a key; empty where there are none, or none that can be read.
    async fn settings_line(
        &self,
        key: String,
        of: Option<&TranscriptId>,
        head: Option<&str>,
    ) -> Result<String, KeepError> {
        let settings = match self.stored_settings(key).await {
            Ok(settings) => settings,
            Err(KeepError::Store(threadkeep_store::StoreError::Corrupt { .. })) => return Ok(String::new()),
            Err(error) => return Err(error),
        };
        if settings.is_empty() {
            return Ok(String::new());
        }
        let names: Vec<_> = [("of", of.map(TranscriptId::as_str)), ("head", head)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        Ok(own::write_beside(own::SETTINGS, &settings.to_json().to_string(), &names))
    }

    /// Writes the requests of a transcript, and before them the options that they have in common.
    pub(super) async fn export_requests(
        &self,
        id: &TranscriptId,
        sink: &mut impl FnMut(String),
    ) -> Result<(), KeepError> {
        let prefix = keys::requests_of(id);
        let mut written = HashSet::new();
        for (key, bytes) in self.scan_whole(&Scan::prefix(&prefix)).await? {
            let Ok(json) = String::from_utf8(bytes) else { continue };
            if keys::request_seq(&key).is_some() {
                sink(own::write_beside(own::REQUEST, &json, &[]));
            } else if let Some((_, name)) = key.rsplit_once("/o")
                && written.insert(name.to_owned())
            {
                sink(own::write_beside(own::OPTIONS, &json, &[("name", name)]));
            }
        }
        Ok(())
    }
}
