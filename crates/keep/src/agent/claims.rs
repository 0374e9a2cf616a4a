//! Claims: an agent carries out a turn only while it holds the claim on the turn's node. So no turn runs twice at the same time. A host
//! that shares its store with other programs brings claims that those programs respect too.

use std::rc::Rc;

use threadkeep_core::MessageId;
use threadkeep_store::Store;

use super::Later;
use crate::Keep;
use crate::locks::Locks;

/// A claim that is held. Dropping it gives it back.
pub struct Held(Option<Box<dyn FnOnce()>>);

impl Held {
    /// A claim that `end` gives back.
    pub fn new(end: impl FnOnce() + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// The claims on an agent's turns.
pub trait Claims {
    /// Waits until nobody else holds the claim on this turn, and takes it.
    fn hold<'a>(&'a self, turn: &'a MessageId) -> Later<'a, Held>;
}

/// Claims among agents that share this value. They are given in the order of asking.
#[derive(Clone, Default)]
pub struct Here(Rc<Locks<MessageId>>);

impl Here {
    /// The claims that all agents of a keep share.
    pub(super) fn of<S: Store>(keep: &Keep<S>) -> Self {
        Self(Rc::clone(&keep.inner.claims))
    }
}

impl Claims for Here {
    fn hold<'a>(&'a self, turn: &'a MessageId) -> Later<'a, Held> {
        Box::pin(async move {
            let held = self.0.lock(turn).await;
            Ok(Held::new(move || drop(held)))
        })
    }
}
