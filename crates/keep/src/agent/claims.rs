//! Who carries out which turn. A turn is carried out by one at a time: by whoever holds the claim on its node. A host that shares its
//! store with other programs brings claims that those programs respect too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use threadkeep_core::MessageId;
use tokio::sync::Mutex;

use super::Later;

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
pub struct Here(Rc<RefCell<HashMap<MessageId, Weak<Mutex<()>>>>>);

impl Here {
    fn of(&self, turn: &MessageId) -> Arc<Mutex<()>> {
        let mut all = self.0.borrow_mut();
        if let Some(known) = all.get(turn).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, claim| claim.strong_count() > 0);
        let new = Arc::new(Mutex::new(()));
        all.insert(turn.clone(), Arc::downgrade(&new));
        new
    }
}

impl Claims for Here {
    fn hold<'a>(&'a self, turn: &'a MessageId) -> Later<'a, Held> {
        let claim = self.of(turn);
        Box::pin(async move {
            let held = claim.lock_owned().await;
            Ok(Held::new(move || drop(held)))
        })
    }
}
