//! Asks what the requests of the branch took, for the feet of its answers. It needs a part of the module that reading does not, so it waits
//! until the branch has been on the screen for a moment.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::state::Thread;
use crate::page::effects::follow;
use crate::wire::{Ask, Journal, Reply};

/// How long the branch must stay as it is.
const PAUSE: Duration = Duration::from_millis(700);

impl Thread {
    /// Follows the branch on the screen.
    pub(super) fn follow_requests(self) {
        let changes = StoredValue::new(0_u32);
        follow(move || {
            self.page.leaf.track();
            self.page.tree.track();
            let number = changes.get_value().wrapping_add(1);
            changes.set_value(number);
            let ask = move || {
                if changes.try_get_value() == Some(number) {
                    self.ask_requests();
                }
            };
            set_timeout(ask, PAUSE);
        });
    }

    fn ask_requests(self) {
        let Some(leaf) = self.page.leaf.get_untracked() else { return };
        spawn_local(async move {
            let asked = Ask::Journal(Journal::List(leaf.clone()));
            // The thread is read without it.
            if let Ok(Reply::Requests(all)) = self.page.engine.ask(asked).await
                && self.page.leaf.get_untracked().as_ref() == Some(&leaf)
                && let Some(canvas) = self.canvas()
            {
                canvas.stand(&all);
            }
        });
    }
}
