//! A handle of any backend behind a pointer: the suite is compiled once, and not once for each backend.

use std::future::Future;
use std::pin::Pin;

use crate::{Commit, Record, Scan, Store, StoreError};

/// What one behaviour answers: nothing, or what went wrong in words.
pub(super) type Outcome = Result<(), String>;

/// What comes later.
pub(super) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A handle onto the place under test, with the methods of [`Store`].
pub(super) struct Handle(Box<dyn Erased>);

impl Handle {
    pub(super) fn new(store: impl Store + 'static) -> Self {
        Self(Box::new(store))
    }

    pub(super) fn get<'a>(&'a self, key: &'a str) -> Later<'a, Result<Option<Vec<u8>>, StoreError>> {
        self.0.get(key)
    }

    pub(super) fn scan<'a>(&'a self, scan: &'a Scan) -> Later<'a, Result<Vec<Record>, StoreError>> {
        self.0.scan(scan)
    }

    pub(super) fn commit(&self, commit: Commit) -> Later<'_, Result<(), StoreError>> {
        self.0.commit(commit)
    }

    pub(super) fn close(&self) -> Later<'_, Result<(), StoreError>> {
        self.0.close()
    }
}

/// [`Store`] in a form that a pointer can have.
trait Erased {
    fn get<'a>(&'a self, key: &'a str) -> Later<'a, Result<Option<Vec<u8>>, StoreError>>;
    fn scan<'a>(&'a self, scan: &'a Scan) -> Later<'a, Result<Vec<Record>, StoreError>>;
    fn commit(&self, commit: Commit) -> Later<'_, Result<(), StoreError>>;
    fn close(&self) -> Later<'_, Result<(), StoreError>>;
}

impl<S: Store> Erased for S {
    fn get<'a>(&'a self, key: &'a str) -> Later<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(Store::get(self, key))
    }

    fn scan<'a>(&'a self, scan: &'a Scan) -> Later<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(Store::scan(self, scan))
    }

    fn commit(&self, commit: Commit) -> Later<'_, Result<(), StoreError>> {
        Box::pin(Store::commit(self, commit))
    }

    fn close(&self) -> Later<'_, Result<(), StoreError>> {
        Box::pin(Store::close(self))
    }
}
