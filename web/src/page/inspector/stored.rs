//! Settings and instructions: stored when they are set, read when they are needed.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::{Inner, Inspector};
use crate::inspect::{Instructions, Settings};
use crate::page::dom;
use crate::wire::{Ask, Inspect, Reply};

/// How tokens are counted: the place in [`ENCODINGS`](crate::inspect::ENCODINGS).
const ENCODING: &str = "threadkeep.inspector.encoding";
/// Where settings were before keeps had them; they move over.
const OLD_SETTINGS: &str = "threadkeep.inspector.settings";

impl Inspector {
    /// Takes what the reader has set, and stores it: at once, or when the slider has been still for a moment.
    pub(super) fn set(self, settings: Settings, dragged: bool) {
        let number = self.with(|inner| {
            (inner.settings, inner.unsaved) = (settings, true);
            inner.asked.wrapping_add(1)
        });
        dom::remember(ENCODING, &settings.encoding().to_string());
        let save = move || {
            if self.with(|inner| inner.asked) == number {
                spawn_local(self.save());
            }
        };
        self.ask();
        if dragged { set_timeout(save, Duration::from_millis(250)) } else { save() }
    }

    /// Reads the stored settings, unless that was done. It needs a part of the module that most pages load later.
    pub async fn ready(self) -> Settings {
        if !self.with(|inner| std::mem::replace(&mut inner.loaded, true)) {
            self.load().await;
        }
        self.settings()
    }

    /// Stores what is not stored yet: what is shown is what the agent sends.
    pub async fn save(self) {
        let saving = self.with(|inner| Arc::clone(&inner.saving));
        let _alone = saving.lock().await;
        let settings = self.ready().await;
        if self.with(|inner| std::mem::take(&mut inner.unsaved)) {
            // Before it is stored: the news of it comes back here, too.
            let before = self.with(|inner| std::mem::replace(&mut inner.stored, settings));
            match self.engine.ask(Ask::Inspect(Inspect::Set(settings))).await {
                Ok(_) if before != settings => {
                    self.with(|inner| inner.earlier.push(before));
                    self.draw_undo();
                }
                Ok(_) => {}
                Err(error) => {
                    self.with(|inner| (inner.stored, inner.unsaved) = (before, true));
                    self.fail(&error);
                }
            }
        }
        if let Some(instructions) = self.with(|inner| inner.instructions.take())
            && let Err(error) = self.engine.ask(Ask::Inspect(Inspect::Instruct(instructions.clone()))).await
        {
            self.with(|inner| {
                inner.instructions.get_or_insert(instructions);
            });
            self.fail(&error);
        }
    }

    /// Reads what is stored, and shows it. On the first start with keeps that have settings, what this browser has moves over.
    async fn load(self) {
        let old = dom::remembered(OLD_SETTINGS).unwrap_or_default();
        let before = self.settings();
        let Ok(Reply::Settings(stored)) = self.engine.ask(Ask::Inspect(Inspect::Settings(old))).await else { return };
        dom::forget(OLD_SETTINGS);
        let encoding = dom::remembered(ENCODING).and_then(|place| place.parse().ok());
        let stored = stored.with("encoding", encoding.or(stored.get("encoding")));
        dom::remember(ENCODING, &stored.encoding().to_string());
        // What somebody else has set is not for this page to take back.
        if self.with(|inner| std::mem::replace(&mut inner.stored, stored) != stored) {
            self.with(|inner| inner.earlier.clear());
        }
        // The reader may have gone on meanwhile, and what was read is older then.
        let newer = |inner: &Inner| inner.unsaved || inner.settings != before;
        if !self.with(|inner| newer(inner) || std::mem::replace(&mut inner.settings, stored) == stored) {
            self.show_settings();
        }
    }

    /// Whether a change of the settings can be taken back.
    pub(super) fn can_undo(self) -> bool {
        self.with(|inner| !inner.earlier.is_empty())
    }

    /// Takes the last change of the settings back.
    pub(super) fn undo(self) {
        let before = self.with(|inner| {
            let before = inner.earlier.pop()?;
            inner.stored = before;
            Some(before)
        });
        if let Some(before) = before {
            self.set(before, false);
            self.show_settings();
            self.draw_undo();
        }
    }

    /// Shows what is stored of the instructions, where they are open. What the reader writes meanwhile stays.
    pub(super) fn show_instructions(self) {
        if dom::find("[data-testid=instructions][open]").is_none() {
            return;
        }
        spawn_local(async move {
            let saving = self.with(|inner| Arc::clone(&inner.saving));
            let _alone = saving.lock().await;
            match self.engine.ask(Ask::Inspect(Inspect::Instructions)).await {
                Ok(Reply::Instructions(instructions)) => {
                    let writing = dom::find("[data-testid=instructions] :is(textarea, select):focus").is_some();
                    if !writing && self.with(|inner| inner.instructions.is_none()) {
                        Self::fill(&instructions);
                    }
                }
                Ok(_) => {}
                Err(error) => self.fail(&error),
            }
        });
    }

    /// Takes instructions, stores them, and shows what becomes of the prompt.
    pub(super) fn instruct(self, instructions: Instructions) {
        self.with(|inner| inner.instructions = Some(instructions));
        spawn_local(async move {
            self.save().await;
            self.ask();
        });
    }

    /// Reads the settings again: somebody changed them.
    pub fn reload(self) {
        self.show_instructions();
        if self.with(|inner| inner.loaded && !inner.unsaved) {
            self.with(|inner| inner.loaded = false);
            self.changed.update(|times| *times += 1);
            self.ask();
        }
    }
}
