//! Who writes when: writers in the order in which they called, and side by side where they cannot get into each other's way.
//!
//! Most writes are appends at a head, and appends at different heads touch different transcripts, or different places of one. They go on
//! side by side, so that a store can bring many of them to the disk at once. Appends at one head, and all other writes, wait for those
//! before them.

use tokio::sync::{OwnedMutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::locks::Locks;

/// The turns of a keep's writers.
#[derive(Default)]
pub(crate) struct Turns {
    /// Shared by those who append; serves in the order of asking.
    all: RwLock<()>,
    /// Those who append at each head.
    heads: Locks<String>,
}

/// A writer's turn, which ends when it is dropped.
pub(crate) struct Writing<'a> {
    _kind: Kind<'a>,
}

enum Kind<'a> {
    Alone { _all: RwLockWriteGuard<'a, ()> },
    AtHead { _turn: OwnedMutexGuard<()>, _all: RwLockReadGuard<'a, ()> },
}

impl Turns {
    /// The turn of a writer who writes alone.
    pub(crate) async fn alone(&self) -> Writing<'_> {
        Writing { _kind: Kind::Alone { _all: self.all.write().await } }
    }

    /// The turn of a writer who appends at a head.
    pub(crate) async fn at(&self, name: &str) -> Writing<'_> {
        // First this, so that who asks to write alone later waits for those who wait at a head, too.
        let all = self.all.read().await;
        let turn = self.heads.lock(name).await;
        Writing { _kind: Kind::AtHead { _turn: turn, _all: all } }
    }
}
