//! Our side of `bench/durability.mjs`: a writer whose every entry can be accounted for after a crash.
//!
//! In go appends, out comes the number of the entry once the store has acknowledged it; and after the crash, a check that
//! reads everything and says how much is there, or what is torn. Killing browsers is left to the script.

use threadkeep_store::idb::Beginning;
use threadkeep_store::{Commit, IdbStore, Record, Scan, Store, StoreError};
use wasm_bindgen::prelude::*;

/// How often a writer may lose to others for one entry before it gives up.
const TRIES: u32 = 10_000;

/// A writer of numbered entries, with the commit of an engine: the page, under a condition, and a counter beside it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Writer {
    store: IdbStore,
    name: u32,
}

fn thrown(error: StoreError) -> JsError {
    JsError::new(&format!("{}: {error}", error.code()))
}

fn key(number: u64) -> String {
    format!("p/log/1/{number:016x}")
}

/// The entry's bytes: who wrote it, its number among the writer's, and a filling that shows when it is cut or mixed.
fn page(name: u32, own: u32, number: u64) -> Vec<u8> {
    let mut bytes = [name.to_le_bytes(), own.to_le_bytes()].concat();
    bytes.extend(number.to_le_bytes());
    bytes.extend((0..600u64).map(|place| (place * 31 + number) as u8));
    bytes
}

/// The number after the greatest.
fn next(last: &[Record]) -> u64 {
    last.first().and_then(|(key, _)| u64::from_str_radix(key.rsplit('/').next()?, 16).ok()).map_or(0, |last| last + 1)
}

#[wasm_bindgen]
impl Writer {
    /// Opens the database; `name` tells this writer's entries from others'.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn open(database: String, name: u32) -> Result<Writer, JsError> {
        Ok(Self { store: IdbStore::open(&database).await.map_err(thrown)?, name })
    }

    /// What opening found: `existing`, `created`, or `wiped` with the browser's words.
    pub fn beginning(&self) -> String {
        match self.store.beginning() {
            Beginning::Existing => "existing".to_owned(),
            Beginning::Created => "created".to_owned(),
            Beginning::Wiped(words) => format!("wiped, {words}"),
        }
    }

    /// Appends one entry, the writer's `own`th, and returns the number that it was allotted.
    ///
    /// # Errors
    ///
    /// The store's; a conflict only when others won too many times.
    pub async fn append(&self, own: u32, guess: f64) -> Result<f64, JsError> {
        let mut number = guess as u64;
        for _ in 0..TRIES {
            let commit = Commit {
                absent: vec![key(number)],
                puts: vec![
                    (key(number), page(self.name, own, number)),
                    ("t/log".to_owned(), (number + 1).to_le_bytes().to_vec()),
                ],
                ..Commit::default()
            };
            match self.store.commit(commit).await {
                Ok(()) => return Ok(number as f64),
                Err(StoreError::Conflict { .. }) => {
                    let last = self.store.scan(&Scan::prefix("p/log/1/").reversed().limit(1)).await.map_err(thrown)?;
                    number = next(&last);
                }
                Err(error) => return Err(thrown(error)),
            }
        }
        Err(JsError::new("others were first too often"))
    }

    /// How many entries are there, after a look at each of them: numbers without a gap, contents whole, each writer's
    /// own entries in their order, and the counter in step.
    ///
    /// # Errors
    ///
    /// What is lost, doubled or torn; and the store's.
    pub async fn check(&self) -> Result<f64, JsError> {
        let pages = self.store.scan(&Scan::prefix("p/log/1/")).await.map_err(thrown)?;
        let mut own_next = std::collections::BTreeMap::new();
        for (place, (found, bytes)) in pages.iter().enumerate() {
            let number = place as u64;
            if *found != key(number) {
                return Err(JsError::new(&format!("entry {number} is missing: {found} follows")));
            }
            let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
            let (Some(name), Some(own)) = (word(0), word(4)) else {
                return Err(JsError::new(&format!("entry {number} is torn")));
            };
            if *bytes != page(name, own, number) {
                return Err(JsError::new(&format!("entry {number} is torn")));
            }
            let expected = own_next.entry(name).or_insert(0);
            if own != *expected {
                return Err(JsError::new(&format!("writer {name}: {own} where {expected} should be, at {number}")));
            }
            *expected += 1;
        }
        let counter = self.store.get("t/log").await.map_err(thrown)?.unwrap_or_default();
        let counter = counter.try_into().map_or(0, u64::from_le_bytes);
        if counter != pages.len() as u64 {
            return Err(JsError::new(&format!("the counter says {counter} of {} entries", pages.len())));
        }
        Ok(pages.len() as f64)
    }

    /// Writes one value of `size` bytes: for filling a disk.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn fill(&self, number: u32, size: u32) -> Result<(), JsError> {
        // Not constant: browsers may store what repeats in less room.
        let mut state = number | 1;
        let value = (0..size)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state as u8
            })
            .collect();
        let commit = Commit { puts: vec![(format!("fill/{number:08}"), value)], ..Commit::default() };
        self.store.commit(commit).await.map_err(thrown)
    }

    /// Removes what [`Writer::fill`] wrote.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn unfill(&self) -> Result<(), JsError> {
        let Scan { start, end, .. } = Scan::prefix("fill/");
        self.store.commit(Commit { delete_ranges: vec![(start, end)], ..Commit::default() }).await.map_err(thrown)
    }
}
