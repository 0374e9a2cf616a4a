//! What the epochs dialog knows, and what is chosen in it.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::epochs::Step;
use threadkeep_core::MessageId;

use crate::page::state::Page;
use crate::route::Route;
use crate::wire::{Epoch, Question};

/// Which prompt is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Difference,
    Before,
    After,
}

/// What is shown of the epoch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Reading,
    Failed(String),
    Step(usize, Arc<Step>),
    /// A payload as it is shown, words about its size, and its warnings.
    Payload(String, String, Vec<String>),
}

#[derive(Clone, Copy)]
pub(super) struct Scrub {
    pub(super) page: Page,
    /// What is asked about, and words for what the inspector is set to.
    pub(super) question: StoredValue<(Question, String)>,
    pub(super) epochs: RwSignal<Option<Arc<Vec<Epoch>>>>,
    pub(super) at: RwSignal<usize>,
    pub(super) view: RwSignal<View>,
    pub(super) shown: RwSignal<Shown>,
    /// The step of the epoch, once it was read.
    pub(super) step: RwSignal<Option<(usize, Arc<Step>)>>,
    /// Whether an answer is on its way, and whether something else was asked meanwhile.
    pub(super) busy: StoredValue<bool>,
    pub(super) again: StoredValue<bool>,
}

impl Scrub {
    /// Over the branch that ends at `leaf`.
    pub(super) fn new(page: Page, leaf: MessageId) -> Self {
        Self {
            page,
            question: StoredValue::new(page.inspector.question_about(leaf)),
            epochs: RwSignal::new(None),
            at: RwSignal::new(0),
            view: RwSignal::new(View::Difference),
            shown: RwSignal::new(Shown::Reading),
            step: RwSignal::new(None),
            busy: StoredValue::new(false),
            again: StoredValue::new(false),
        }
    }

    /// An epoch by its place; tracks.
    pub(super) fn epoch(self, at: usize) -> Option<Epoch> {
        self.epochs.with(|epochs| epochs.as_ref()?.get(at).cloned())
    }

    /// The place of the last epoch; tracks.
    pub(super) fn last(self) -> usize {
        self.epochs.with(|epochs| epochs.as_ref().map_or(0, |epochs| epochs.len().saturating_sub(1)))
    }

    /// Goes to another epoch.
    pub(super) fn go(self, at: usize) {
        if at != self.at.get_untracked() {
            self.at.set(at);
            if at == 0 && self.view.get_untracked() == View::Before {
                self.view.set(View::Difference);
            }
            self.ask();
        }
    }

    /// Looks at another prompt of the epoch.
    pub(super) fn look(self, view: View) {
        self.view.set(view);
        self.ask();
    }

    /// Shows a message in the thread.
    pub(super) fn show(self, node: MessageId) {
        let route = Route { at: Some(node), ..self.page.nav.now() };
        self.page.dialog.set(None);
        self.page.nav.go(route);
    }
}
