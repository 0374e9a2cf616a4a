//! Undoes a compaction: from the notice that follows it, or later from its card.

use leptos::task::spawn_local;
use threadkeep_core::MessageId;

use crate::page::state::Page;
use crate::wire::{Ask, Recall};

/// Undoes the compaction of this checkpoint, on the branch that ends at `leaf`.
pub fn undo(page: Page, leaf: MessageId, checkpoint: String) {
    spawn_local(async move {
        match page.engine.ask(Ask::Recall(Box::new(Recall::UndoCompaction { leaf, checkpoint }))).await {
            Ok(_) => page.notices.say(
                "Compaction undone",
                "Prompts have the originals again. Facts and episodes that only it found are gone from Memory, unless you pinned or rewrote them.",
            ),
            Err(error) => page.notices.fail(&error),
        }
    });
}
