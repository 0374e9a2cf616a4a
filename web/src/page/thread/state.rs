//! What the thread's pane knows. Reading, what is heard and what the reader does change it; the views show it.

use leptos::prelude::*;
use threadkeep_core::MessageId;

use crate::page::canvas::{Canvas, Start};
use crate::page::state::Page;
use crate::wire::ThreadInfo;
use crate::words::Words;

/// What the pane shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    /// Nothing is chosen.
    Nothing,
    /// Something is being read, for the first time.
    Reading,
    /// The thread.
    Thread,
    /// The address leads nowhere.
    Missing,
    /// It could not be read.
    Failed(Words),
}

/// The branch that is on the screen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    pub(super) info: ThreadInfo,
    pub(super) leaf: MessageId,
    pub(super) damage: Option<String>,
    pub(super) rows: usize,
    /// How many messages a summary stands for in prompts, from the first on.
    pub(super) covered: Option<u32>,
}

#[derive(Clone, Copy)]
pub(super) struct Thread {
    pub(super) page: Page,
    pub(super) shown: RwSignal<Shown>,
    pub(super) open: RwSignal<Option<Open>>,
    pub(super) canvas: StoredValue<Option<Canvas>, LocalStorage>,
    pub(super) start: StoredValue<Option<Start>>,
    /// Counts what was asked for, so that a late answer does not replace a newer one.
    pub(super) asked: StoredValue<usize>,
    /// The last of these that was answered.
    pub(super) answered: StoredValue<usize>,
    pub(super) due: StoredValue<bool>,
    /// Whether the reader is above the end of an answer that grows.
    pub(super) behind: RwSignal<bool>,
    /// Whether the answer that grows is being read, and must be again.
    pub(super) growing: StoredValue<(bool, bool)>,
}

impl Thread {
    /// With nothing on the screen.
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            shown: RwSignal::new(Shown::Reading),
            open: RwSignal::new(None),
            canvas: StoredValue::new_local(None),
            start: StoredValue::new(None),
            asked: StoredValue::new(0),
            answered: StoredValue::new(0),
            due: StoredValue::new(false),
            behind: RwSignal::new(false),
            growing: StoredValue::new((false, false)),
        }
    }

    /// Notes whether the reader is above the end of an answer that grows.
    pub(super) fn look(self) {
        let behind = self.canvas().is_some_and(|canvas| canvas.is_behind());
        if behind != self.behind.get_untracked() {
            self.behind.set(behind);
        }
    }

    /// What the messages are drawn by, once it is in the document.
    pub(super) fn canvas(self) -> Option<Canvas> {
        self.canvas.with_value(Clone::clone)
    }
}
