//! The store that lives as long as its value: for tests, for Node, for a page that must leave no trace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use crate::{Commit, Record, Scan, Store, StoreError};

/// A [`Store`] in memory. Clones share the data, as two tabs share a database; each closes for itself.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
    closed: RefCell<bool>,
}

impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        Self { records: Rc::clone(&self.records), closed: RefCell::new(false) }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if *self.closed.borrow() { Err(StoreError::Closed) } else { Ok(()) }
    }
}

impl Store for MemoryStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check_open()?;
        Ok(self.records.borrow().get(key).cloned())
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.check_open()?;
        if scan.start >= scan.end {
            return Ok(Vec::new());
        }
        let records = self.records.borrow();
        let range = records.range::<str, _>((Bound::Included(scan.start.as_str()), Bound::Excluded(scan.end.as_str())));
        let limit = scan.limit.unwrap_or(usize::MAX);
        let copy = |(key, value): (&String, &Vec<u8>)| (key.clone(), value.clone());
        Ok(if scan.reverse {
            range.rev().take(limit).map(copy).collect()
        } else {
            range.take(limit).map(copy).collect()
        })
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.check_open()?;
        let mut records = self.records.borrow_mut();
        if let Some(key) = commit.absent.iter().find(|key| records.contains_key(*key)) {
            return Err(StoreError::Conflict { key: key.clone() });
        }
        if let Some(key) = commit.present.iter().find(|key| !records.contains_key(*key)) {
            return Err(StoreError::Conflict { key: key.clone() });
        }
        for key in &commit.deletes {
            records.remove(key);
        }
        for (start, end) in &commit.delete_ranges {
            records.retain(|key, _| key < start || key >= end);
        }
        records.extend(commit.puts);
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        *self.closed.borrow_mut() = true;
        Ok(())
    }
}
