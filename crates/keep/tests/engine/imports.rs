//! How an import goes through its files.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use threadkeep::{Keep, Options, Source};
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::agent_support::breath;
use crate::{TestHost, run};

/// A file that counts how often it was asked for a slice.
struct Asked(String, Rc<Cell<usize>>);

impl Source for Asked {
    fn name(&self) -> &str {
        "chats.jsonl"
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        self.1.set(self.1.get() + 1);
        let start = offset as usize;
        Ok(self.0.as_bytes()[start..self.0.len().min(start + len)].to_vec())
    }
}

/// A store in which a commit takes a moment, and notes how many slices were asked for by then.
struct Slow {
    store: MemoryStore,
    asked: Rc<Cell<usize>>,
    noted: Rc<RefCell<Vec<usize>>>,
}

impl Store for Slow {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(key).await
    }
    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.store.scan(scan).await
    }
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        breath().await;
        self.noted.borrow_mut().push(self.asked.get());
        self.store.commit(commit).await
    }
    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn the_next_slice_is_read_while_the_conversations_of_one_are_stored() {
    // A line is a conversation and about as long as a slice, so that each slice but the first ends one.
    let line =
        |at: usize| format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{at} {}\"}}]}}\n", "x".repeat(250_000));
    let file: String = (0..5).map(line).collect();
    let (asked, noted) = (Rc::default(), Rc::default());
    let store = Slow { store: MemoryStore::new(), asked: Rc::clone(&asked), noted: Rc::clone(&noted) };
    let keep = run(Keep::open(store, TestHost::default(), Options::default())).unwrap();
    let report = run(keep.import(vec![Asked(file, Rc::clone(&asked))], None, |_| {})).unwrap();
    assert_eq!((report.added, asked.get()), (5, 5));
    // The last slice has none after it, and the last commit says when the import ended.
    assert_eq!(*noted.borrow(), [2, 3, 4, 5, 5, 5]);
}
