//! The messages of an agent's mailbox that it works on in this moment. Each is taken once, those of one conversation one after the other,
//! and the number up to which all have their place in a chain is known.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use tokio::sync::Notify;

use crate::mailbox::Mail;

/// What was taken, by number.
#[derive(Default)]
pub(super) struct Inbox {
    works: RefCell<BTreeMap<u64, Work>>,
    /// The highest number that has its place in a chain.
    highest: Cell<u64>,
    changed: Notify,
}

struct Work {
    conversation: Option<String>,
    stage: Stage,
}

/// How far the work on a message is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// It has no place in a chain yet.
    Waiting,
    /// It has one, and its turn is under way.
    Filed,
    /// Nothing is left to do, but an earlier message still waits.
    Done,
    /// The store failed before it had a place, or the work was dropped: the next one who looks takes it again.
    Failed,
}

impl Stage {
    fn is_under_way(self) -> bool {
        matches!(self, Self::Waiting | Self::Filed)
    }
}

impl Inbox {
    /// Takes a message; `None` if somebody works on it, or has done so.
    pub(super) fn take(&self, mail: &Mail) -> Option<Taken<'_>> {
        let mut works = self.works.borrow_mut();
        if works.get(&mail.number).is_some_and(|work| work.stage != Stage::Failed) {
            return None;
        }
        works.insert(mail.number, Work { conversation: mail.conversation.clone(), stage: Stage::Waiting });
        Some(Taken { inbox: self, number: mail.number })
    }

    /// Whether somebody works on any of these messages.
    pub(super) fn is_busy(&self, numbers: &[u64]) -> bool {
        is_busy(&self.works.borrow(), numbers)
    }

    /// Waits until nobody works on any of these messages.
    pub(super) async fn over(&self, numbers: &[u64]) {
        self.until(|works| !is_busy(works, numbers)).await;
    }

    async fn until(&self, enough: impl Fn(&BTreeMap<u64, Work>) -> bool) {
        loop {
            // Made before the look: it hears of whatever changes after it.
            let changed = self.changed.notified();
            if enough(&self.works.borrow()) {
                return;
            }
            changed.await;
        }
    }

    fn set(&self, number: u64, stage: Stage) {
        if let Some(work) = self.works.borrow_mut().get_mut(&number) {
            work.stage = stage;
        }
        self.changed.notify_waiters();
    }

    fn end(&self, number: u64) {
        self.set(number, Stage::Done);
        self.placed();
    }

    /// The number up to which all messages have their place; what is done up to there is forgotten.
    fn placed(&self) -> u64 {
        let mut works = self.works.borrow_mut();
        let mut open = works.iter().filter(|(_, work)| matches!(work.stage, Stage::Waiting | Stage::Failed));
        let placed = open.next().map_or(u64::MAX, |(number, _)| number.saturating_sub(1)).min(self.highest.get());
        works.retain(|number, work| *number > placed || work.stage != Stage::Done);
        placed
    }
}

fn is_busy(works: &BTreeMap<u64, Work>, numbers: &[u64]) -> bool {
    numbers.iter().any(|number| works.get(number).is_some_and(|work| work.stage.is_under_way()))
}

/// A message that was taken. If it is dropped before its work is done, others may take it.
pub(super) struct Taken<'a> {
    inbox: &'a Inbox,
    number: u64,
}

impl Taken<'_> {
    /// Waits until the earlier messages of its conversation are answered.
    pub(super) async fn first(&self) {
        self.inbox
            .until(|works| {
                let Some(own) = works.get(&self.number).filter(|own| own.conversation.is_some()) else { return true };
                let same = |work: &Work| work.stage.is_under_way() && work.conversation == own.conversation;
                !works.range(..self.number).any(|(_, work)| same(work))
            })
            .await;
    }

    /// It has its place in a chain. Gives the number up to which all have one.
    pub(super) fn filed(&self) -> u64 {
        self.inbox.highest.set(self.inbox.highest.get().max(self.number));
        self.inbox.set(self.number, Stage::Filed);
        self.inbox.placed()
    }

    /// Nothing is left to do.
    pub(super) fn done(self) {
        self.inbox.end(self.number);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let stage = self.inbox.works.borrow().get(&self.number).map(|work| work.stage);
        match stage {
            Some(Stage::Waiting) => self.inbox.set(self.number, Stage::Failed),
            // Its turn can be resumed, and nobody takes its number again.
            Some(Stage::Filed) => self.inbox.end(self.number),
            _ => {}
        }
    }
}
