//! Our side of `bench/store.mjs`: the IndexedDB store with the engine's layout, driven from JavaScript.
//!
//! In go messages once, before the clock runs, and then calls that append or load some of them; out come promises. The
//! measured work is the engine's: messages become JSON bytes, a page and the transcript's info go into one commit with its
//! conditions, and back. Keys, generation and the info's fields are those of the engine; deciding when to measure is
//! left to the script.

use serde::{Deserialize, Serialize};
use threadkeep_store::{Commit, Durability, IdbStore, Scan, Store, StoreError};
use wasm_bindgen::prelude::*;

/// One entry of a transcript's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    id: String,
    parent: Option<String>,
    seq: u64,
    created_at: f64,
    message: Message,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Message {
    role: String,
    content: String,
}

/// What the list of transcripts shows of one.
#[derive(Debug, Serialize, Deserialize)]
struct Info {
    id: String,
    title: String,
    messages: u64,
    updated_at: f64,
    generation: u32,
    first_page: String,
}

/// The store under measurement, with the messages that are to be written.
#[wasm_bindgen]
#[derive(Debug)]
pub struct OurStore {
    store: IdbStore,
    entries: Vec<Entry>,
    durability: Durability,
}

fn thrown(error: StoreError) -> JsError {
    JsError::new(&format!("{}: {error}", error.code()))
}

fn page_key(transcript: &str, first: u64) -> String {
    format!("p/{transcript}/1/{first:016x}")
}

#[wasm_bindgen]
impl OurStore {
    /// Opens the database `name`. `entries` is the JSON text of the entries to write, `relaxed` the durability of appends.
    ///
    /// # Errors
    ///
    /// The store's, and text that is no array of entries.
    pub async fn open(name: String, entries: String, relaxed: bool) -> Result<OurStore, JsError> {
        let entries = serde_json::from_str(&entries)?;
        let durability = if relaxed { Durability::Relaxed } else { Durability::Strict };
        Ok(Self { store: IdbStore::open(&name).await.map_err(thrown)?, entries, durability })
    }

    /// Deletes the database `name`.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn delete(name: String) -> Result<(), JsError> {
        IdbStore::delete(&name).await.map_err(thrown)
    }

    /// Appends the entries `first..first + count` to `transcript` in one commit: a page, the info, and the conditions
    /// that keep another tab from doing the same.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn append(&self, transcript: String, first: u32, count: u32) -> Result<(), JsError> {
        let commit = self.commit(&transcript, first, count)?;
        self.store.commit(commit).await.map_err(thrown)
    }

    /// Loads the whole `transcript`; how many messages it has, and how many characters they have.
    ///
    /// # Errors
    ///
    /// The store's, and a page that is none.
    pub async fn load(&self, transcript: String) -> Result<Vec<f64>, JsError> {
        let pages = self.store.scan(&Scan::prefix(&format!("p/{transcript}/1/"))).await.map_err(thrown)?;
        let mut entries: Vec<Entry> = Vec::new();
        for (_, page) in &pages {
            entries.append(&mut serde_json::from_slice::<Vec<Entry>>(page)?);
        }
        let characters: usize = entries.iter().map(|entry| entry.message.content.len()).sum();
        Ok(vec![entries.len() as f64, characters as f64])
    }

    /// Reads the list of transcripts; how many there are, and how many messages they have.
    ///
    /// # Errors
    ///
    /// The store's, and an info that is none.
    pub async fn list(&self) -> Result<Vec<f64>, JsError> {
        let infos = self.store.scan(&Scan::prefix("t/")).await.map_err(thrown)?;
        let infos: Vec<Info> = infos.iter().map(|(_, info)| serde_json::from_slice(info)).collect::<Result<_, _>>()?;
        let messages: u64 = infos.iter().map(|info| info.messages).sum();
        Ok(vec![infos.len() as f64, messages as f64])
    }

    /// Writes `transcripts` transcripts of `pages` pages with `count` entries each, with the names `<prefix><number>`
    /// from `from` up, in one commit: what an import does, and how a large database is made.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn fill(
        &self,
        prefix: String,
        from: u32,
        transcripts: u32,
        pages: u32,
        count: u32,
    ) -> Result<(), JsError> {
        let mut all = Commit { durability: self.durability, ..Commit::default() };
        for number in from..from + transcripts {
            let transcript = format!("{prefix}{number:06}");
            for page in 0..pages {
                all.puts.extend(self.commit(&transcript, page * count, count)?.puts);
            }
        }
        self.store.commit(all).await.map_err(thrown)
    }

    /// Lets go of the database.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn close(&self) -> Result<(), JsError> {
        self.store.close().await.map_err(thrown)
    }

    fn commit(&self, transcript: &str, first: u32, count: u32) -> Result<Commit, serde_json::Error> {
        let from = first as usize % self.entries.len().max(1);
        let entries = self.entries.get(from..from + count as usize).unwrap_or_default();
        let key = page_key(transcript, u64::from(first));
        let first_page = page_key(transcript, 0);
        let info = Info {
            id: transcript.to_owned(),
            title: format!("A conversation by the name of {transcript}"),
            messages: u64::from(first + count),
            updated_at: entries.last().map_or(0.0, |entry| entry.created_at),
            generation: 1,
            first_page: first_page.clone(),
        };
        let puts =
            vec![(key.clone(), serde_json::to_vec(entries)?), (format!("t/{transcript}"), serde_json::to_vec(&info)?)];
        let present = if first == 0 { Vec::new() } else { vec![first_page] };
        Ok(Commit { absent: vec![key], present, puts, durability: self.durability, ..Commit::default() })
    }
}
