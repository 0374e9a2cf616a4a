//! The canvas's place in the thread, and what it asks of the page.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use wasm_bindgen::prelude::*;
use web_sys::Event;

use super::state::Thread;
use crate::page::canvas::{Action, Canvas, Start};
use crate::page::effects::soon;
use crate::page::state::{Dialog, Target};
use crate::page::{bin, compaction};
use crate::route::Route;
use crate::wire::{Ask, Recall, Removed, Reply, Turn};

impl Thread {
    /// Asks what stands for a selected message in prompts, where a compaction covers it.
    pub(super) fn carry(self, node: &MessageId) {
        if let Some(canvas) = self.canvas().filter(|canvas| canvas.choose(node)) {
            self.ask_carrier(canvas, node.clone());
        }
    }

    pub(super) fn ask_carrier(self, canvas: Canvas, node: MessageId) {
        let Some(leaf) = canvas.leaf() else { return };
        spawn_local(async move {
            let asked = Recall::Carried { leaf, node: node.clone() };
            // The thread is read without it.
            if let Ok(Reply::Carrier(carrier)) = self.page.engine.ask(Ask::Recall(Box::new(asked))).await {
                canvas.carry(&node, *carrier);
            }
        });
    }

    /// Does what the canvas asks for.
    pub(super) fn act(self, action: Action) {
        let transcript = self.page.nav.now().transcript;
        match action {
            Action::Branch { leaf, row } => {
                self.start.set_value(Some(Start::Fork(row)));
                self.page.nav.go(Route { transcript, leaf: Some(leaf), at: None, ..Route::default() });
            }
            Action::Delete(node) => {
                if let Some(transcript) = transcript {
                    // The root has all of the thread below it.
                    let node = Some(node).filter(|node| *node != transcript);
                    bin::delete(self.page, Removed { transcript, node });
                }
            }
            Action::Copied(true) => self.page.notices.say("Copied", ""),
            Action::Copied(false) => {
                self.page.notices.say("Nothing was copied", "The browser does not let this page use the clipboard.");
            }
            Action::Selected(selected) => {
                self.page.focused.set(Some(selected.node.clone()));
                self.carry(&selected.node);
                self.page.inspector.select(Some(selected));
            }
            Action::Epochs(checkpoint) => self.page.show_epochs(Some(checkpoint)),
            Action::UndoCompaction(checkpoint) => {
                if let Some(leaf) = self.page.leaf.get_untracked() {
                    compaction::undo(self.page, leaf, checkpoint);
                }
            }
            Action::Request(id) => self.page.show_request(id),
            Action::Memory => self.page.dialog.set(Some(Dialog::Memory(None))),
            Action::Reply { node, words } => self.page.target.set(Some(Target { node, edit: None, words })),
            Action::Edit { node, parent, text } => {
                self.page.target.set(Some(Target { node, edit: Some(parent), words: text }));
            }
            Action::Compare(other) => {
                if let (Some(transcript), Some(leaf)) = (transcript, self.page.leaf.get_untracked()) {
                    self.page.dialog.set(Some(Dialog::Compare { transcript, leaves: [leaf, other] }));
                }
            }
            Action::Pin(node, pinned) => spawn_local(async move {
                if let Err(error) = self.page.inspector.pin_at_once(node, pinned).await {
                    self.page.notices.fail(&error);
                }
            }),
            Action::Again(node) => self.take(Turn::Again(node)),
            Action::GoOn(node) => self.take(Turn::GoOn(node)),
            Action::Resume(node) => self.take(Turn::Resume(node)),
            Action::Failed(error) => self.page.notices.fail(&error),
        }
    }

    /// Puts the canvas into its scroller.
    pub(super) fn mount(self, scroller: web_sys::HtmlElement) {
        let canvas = Canvas::new(scroller.clone(), self.page.engine, move |action| self.act(action));
        // `toggle` does not bubble: it is caught on its way down.
        let toggled = {
            let canvas = canvas.clone();
            Closure::<dyn Fn(Event)>::new(move |event: Event| canvas.toggled(event.target()))
        };
        let listener = toggled.as_ref().unchecked_ref();
        let _ = scroller.add_event_listener_with_callback_and_bool("toggle", listener, true);
        toggled.forget();
        let focused = {
            let canvas = canvas.clone();
            Closure::<dyn Fn(Event)>::new(move |event: Event| {
                let (canvas, target) = (canvas.clone(), event.target());
                // Not at once: the canvas itself may be giving the focus.
                soon(move || canvas.focused(target));
            })
        };
        let _ = scroller.add_event_listener_with_callback("focusin", focused.as_ref().unchecked_ref());
        focused.forget();
        self.canvas.set_value(Some(canvas));
    }
}
