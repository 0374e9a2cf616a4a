//! Locks by name: those who ask for the same name get it one after the other, in the order of asking.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// A lock for each name, which is kept while somebody holds it or waits for it.
pub(crate) struct Locks<N>(RefCell<HashMap<N, Weak<Mutex<()>>>>);

impl<N> Default for Locks<N> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<N: Hash + Eq> Locks<N> {
    /// Waits until nobody holds the lock of this name, and takes it.
    pub(crate) async fn lock<Q>(&self, name: &Q) -> OwnedMutexGuard<()>
    where
        N: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = N> + ?Sized,
    {
        self.of(name).lock_owned().await
    }

    fn of<Q>(&self, name: &Q) -> Arc<Mutex<()>>
    where
        N: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = N> + ?Sized,
    {
        let mut all = self.0.borrow_mut();
        if let Some(known) = all.get(name).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, lock| lock.strong_count() > 0);
        let new = Arc::new(Mutex::new(()));
        all.insert(name.to_owned(), Arc::downgrade(&new));
        new
    }
}
