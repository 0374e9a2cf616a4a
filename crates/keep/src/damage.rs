//! What is damaged in a store: calls over the whole keep read around it, and it is remembered for those who ask.
//!
//! Goes in: what could not be read. Comes out: an event for each thing that was not known yet, and the list in [`Stats::damaged`].
//! A call for one thing that is damaged fails; it never gives half of it.
//!
//! [`Stats::damaged`]: crate::protocol::Stats::damaged

use std::cell::RefCell;
use std::collections::BTreeMap;

use threadkeep_core::{MessageId, Transcript, TranscriptId};
use threadkeep_store::around;
use threadkeep_store::{Record, Scan, Store, StoreError};

use crate::log::Log;
use crate::protocol::{Damage, Event};
use crate::{Keep, KeepError, keys};

/// So much is remembered at most: of a store that is one ruin, the first things tell enough.
const MOST: usize = 1_000;

/// The damage that was met since the keep was opened.
#[derive(Default)]
pub(crate) struct Known(RefCell<BTreeMap<String, Damage>>);

impl<S: Store> Keep<S> {
    /// The records of a range, without those that cannot be read, which are remembered as damage.
    pub(crate) async fn scan_whole(&self, range: &Scan) -> Result<Vec<Record>, KeepError> {
        let mut records = Vec::new();
        for (key, value) in around::scan(&self.inner.store, range).await? {
            if let Some(value) = self.sound(&key, value) {
                records.push((key, value));
            }
        }
        Ok(records)
    }

    /// The keys of a range, also of records that cannot be read, which are remembered as damage.
    pub(crate) async fn keys_of(&self, range: &Scan) -> Result<Vec<String>, KeepError> {
        let mut keys = Vec::new();
        for (key, value) in around::scan(&self.inner.store, range).await? {
            self.sound(&key, value);
            keys.push(key);
        }
        Ok(keys)
    }

    /// What could be read of a record; else `None`, and the damage is remembered.
    pub(crate) fn sound<T>(&self, key: &str, read: Result<T, impl std::fmt::Display>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(why) => {
                let error = StoreError::Corrupt { key: key.to_owned(), why: why.to_string() };
                self.damaged(keys::owner(key), error.to_string());
                None
            }
        }
    }

    /// What was read of one record; `None` also where it is damaged, which is remembered.
    pub(crate) fn if_sound<T>(&self, read: Result<Option<T>, KeepError>) -> Result<Option<T>, KeepError> {
        match read {
            Err(KeepError::Store(StoreError::Corrupt { key, why })) => Ok(self.sound(&key, Err(why))),
            read => read,
        }
    }

    /// Remembers damage, and tells of it if it is new.
    pub(crate) fn damaged(&self, transcript: Option<TranscriptId>, what: String) {
        let mut known = self.inner.damaged.0.borrow_mut();
        if known.len() >= MOST || known.contains_key(&what) {
            return;
        }
        let damage = Damage { transcript, what };
        known.insert(damage.what.clone(), damage.clone());
        drop(known);
        self.emit(&Event::Damage { damage });
    }

    /// The damage that was met since the keep was opened.
    pub(crate) fn all_damage(&self) -> Vec<Damage> {
        self.inner.damaged.0.borrow().values().cloned().collect()
    }

    /// Reads a transcript from the store; `None` where there is none. What of it is damaged is remembered.
    pub(crate) async fn load(&self, id: &TranscriptId) -> Result<Option<Log>, KeepError> {
        let log = Log::load(&self.inner.store, id).await?;
        if let Some(log) = &log {
            if let Some(why) = &log.lost_record {
                self.sound::<()>(&keys::record(id), Err(why));
            }
            for what in log.tree.damage() {
                self.damaged(Some(id.clone()), format!("transcript {id:?}: {what}"));
            }
        }
        Ok(log)
    }

    /// The transcript for which `holds` says so, where the record that should name it cannot be read: all of them are read for that.
    pub(crate) async fn find_by_reading(
        &self,
        holds: &dyn Fn(&Transcript) -> bool,
    ) -> Result<Option<TranscriptId>, KeepError> {
        for key in self.keys_of(&keys::records()).await? {
            let Some(id) = keys::record_id(&key) else { continue };
            if self.load(&id).await?.is_some_and(|log| holds(&log.tree)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The transcript that the record under `key` names; `None` where there is no record. One that cannot be read is made up for by
    /// reading all transcripts until one `holds` what the record is about.
    pub(crate) async fn pointer(
        &self,
        key: String,
        holds: &dyn Fn(&Transcript) -> bool,
    ) -> Result<Option<TranscriptId>, KeepError> {
        let named = match self.inner.store.get(&key).await {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => pointed(&bytes).ok_or_else(|| "it names no transcript".to_owned()),
            Err(StoreError::Corrupt { key: damaged, why }) if damaged == key => Err(why),
            Err(error) => return Err(error.into()),
        };
        match named {
            Ok(transcript) => Ok(Some(transcript)),
            Err(why) => {
                let found = self.find_by_reading(holds).await?;
                self.sound::<()>(&key, Err(&why));
                Ok(Some(found.ok_or(StoreError::Corrupt { key, why })?))
            }
        }
    }
}

/// The transcript that a pointer names.
pub(crate) fn pointed(bytes: &[u8]) -> Option<TranscriptId> {
    MessageId::new(std::str::from_utf8(bytes).ok()?).ok()
}
