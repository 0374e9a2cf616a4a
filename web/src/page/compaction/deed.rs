//! Carries out what was chosen, or cancels it.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;

use super::asking::Asking;
use super::undo::undo;
use crate::format;
use crate::page::state::Page;
use crate::route::Route;
use crate::wire::{Compacted, Reply};

impl Asking {
    /// Compacts as it is chosen, then leads to the card.
    pub(super) fn carry_out(self) {
        self.busy.set(true);
        self.page.engine.compacting.set(None);
        self.part.set(None);
        let (leaf, page) = (self.leaf.get_value(), self.page);
        spawn_local(async move {
            if self.loads.try_get_untracked() == Some(true) {
                if self.open_browser().await.is_none() {
                    return;
                }
                self.use_browser();
                if self.browser.with_value(Option::is_none) {
                    // It cannot be had. What the built-in one would do is not what was asked for.
                    self.busy.set(false);
                    return self.preview();
                }
            }
            // Cancelled in the same moment, it was never asked.
            if self.cancelled.try_get_untracked() != Some(false) {
                return page.dialog.set(None);
            }
            match page.engine.ask(self.recall(false)).await {
                Ok(Reply::Compacted(done)) => compacted(page, leaf, *done),
                Ok(_) => {}
                Err(error) if error.code == "cancelled" => {
                    page.notices.say("Cancelled", "Nothing was stored. Prompts are as they were.");
                }
                Err(error) => page.notices.fail(&error),
            }
            // Unless the reader has closed it.
            if self.busy.try_get_untracked().is_some() {
                page.dialog.set(None);
            }
        });
    }

    /// Cancels what is carried out, or else leaves.
    pub(super) fn cancel(self) {
        if self.busy.get_untracked() {
            self.cancelled.set(true);
            self.page.engine.stop_compaction();
        } else {
            self.page.dialog.set(None);
        }
    }
}

/// It is done: the reader comes to the card.
fn compacted(page: Page, leaf: MessageId, done: Compacted) {
    let Some(card) = done.card else {
        return page.notices.say("Nothing was compacted", "Another tab was faster, or nothing was left to do.");
    };
    let words =
        format!("{} → {} tokens. Every message is still there.", format::count(done.before), format::count(done.after));
    let (at, id) = (leaf.clone(), card.id.clone());
    page.notices.offer("Compacted", &words, "Undo", move || undo(page, at.clone(), id.clone()));
    for warning in &done.warnings {
        page.notices.say("About the summary", warning);
    }
    page.nav.go(Route {
        transcript: page.nav.now().transcript,
        leaf: Some(leaf),
        at: Some(card.anchor),
        ..Route::default()
    });
}
