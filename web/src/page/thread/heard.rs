//! What happens around the open thread: an answer that grows, changes here or in another tab.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::state::Thread;
use crate::page::canvas::Start;
use crate::page::inspector;
use crate::page::live::Live;
use crate::page::state::Dialog;
use crate::page::talk::Step;
use crate::route::Route;
use crate::wire::{Ask, Change, Reply, Turn};

impl Thread {
    /// The turn that is under way came to something.
    pub(super) fn step(self, step: Step) {
        match step {
            Step::Began(transcript, node) => {
                let now = self.page.nav.now().transcript;
                let open = self.open.with_untracked(|open| open.as_ref().is_some_and(|open| open.leaf == node));
                if open {
                    // The question was stored, and so shown, before this was heard: it is not interrupted, and its answer belongs below it.
                    if let Some(canvas) = self.canvas() {
                        canvas.forget(std::slice::from_ref(&node));
                    }
                    return self.read(transcript, Some(node), Start::End);
                }
                // Who has gone to another thread meanwhile stays there.
                if now.is_none() || now.as_ref() == Some(&transcript) {
                    self.start.set_value(Some(Start::End));
                    self.page.nav.go(Route { transcript: Some(transcript), leaf: Some(node), ..Route::default() });
                }
            }
            Step::Grew => {
                if let Some(canvas) = self.canvas() {
                    canvas.follow_end();
                }
            }
            Step::Stored => self.grown(false),
            Step::Ended(ending) => {
                if ending.node.is_none()
                    && let Some(canvas) = self.canvas()
                {
                    canvas.set_tail(None);
                    self.look();
                }
                self.grown(true);
            }
        }
    }

    /// Reads what the answer has stored, and shows it in place of what was shown while it came.
    pub(super) fn grown(self, over: bool) {
        let (busy, again) = self.growing.get_value();
        if busy {
            return self.growing.set_value((true, again || over));
        }
        self.growing.set_value((true, false));
        if self.asked.get_value() != self.answered.get_value() {
            // The branch of the answer is on its way.
            let later = move || {
                self.growing.set_value((false, false));
                self.grown(over);
            };
            return set_timeout(later, Duration::from_millis(16));
        }
        spawn_local(async move {
            let number = self.asked.get_value();
            if let Some(open) = self.open.get_untracked() {
                let ask = Ask::Branch { transcript: open.info.id.clone(), leaf: Some(open.leaf.clone()) };
                if let Ok(Reply::Branch(outline)) = self.page.engine.ask(ask).await {
                    self.read_end(&outline).await;
                    let same = self.open.with_untracked(|now| now.as_ref().is_some_and(|now| now.leaf == open.leaf));
                    if same && self.asked.get_value() == number {
                        self.show(*outline, &Start::Same);
                    }
                }
            }
            self.page.talking.with_live(Live::drop_stored);
            if let Some(canvas) = self.canvas() {
                canvas.follow_end();
            }
            let (_, again) = self.growing.get_value();
            self.growing.set_value((false, false));
            if again {
                self.grown(true);
            }
        });
    }

    /// Takes a turn at a message.
    pub(super) fn take(self, turn: Turn) {
        let page = self.page;
        if untrack(|| page.talking.lack()).is_some() {
            return page.dialog.set(Some(Dialog::Connections));
        }
        if page.talking.running.with_untracked(Option::is_some) {
            return page.notices.say("An answer is under way", "Stop it, or wait until it is there.");
        }
        page.talking.take(turn, move |result| {
            if let Err(error) = result {
                page.notices.fail(&error);
            }
        });
    }

    /// Something changed, here or in another tab.
    pub(super) fn heard(self, events: &[Change]) {
        let running = self.page.imports.progress.get_untracked().is_some();
        self.page.threads.refresh_soon(Duration::from_millis(if running { 1500 } else { 120 }));
        let here = self.page.nav.now().transcript;
        let (mut again, mut remembered) = (false, false);
        // Where the open branch was cut, what is left of it stays open.
        let mut left = None;
        for event in events {
            if let Change::Deleted { transcript, nodes } = event {
                self.page.talking.deleted(transcript, nodes);
            }
            match event {
                Change::Deleted { transcript, nodes } if nodes.is_empty() => {
                    inspector::forget_pins(transcript.as_str())
                }
                Change::Cleared => {
                    inspector::forget_pins("");
                    self.page.talking.stop();
                }
                Change::Settings => self.page.inspector.reload(),
                _ => {}
            }
            // With messages go the records that came from them.
            if !matches!(event, Change::Changed { .. } | Change::Settings) {
                remembered = true;
            }
            match event {
                // The answer that is being given is read when it says that it has grown.
                Change::Changed { nodes, .. } if nodes.iter().all(|node| self.page.talking.is_in(node)) => {}
                Change::Changed { transcript, nodes } if Some(transcript) == here.as_ref() && !nodes.is_empty() => {
                    if let Some(canvas) = self.canvas() {
                        canvas.forget(nodes);
                    }
                    again = true;
                }
                Change::Deleted { transcript, nodes } if Some(transcript) == here.as_ref() => {
                    again = true;
                    left = self.canvas().and_then(|canvas| canvas.surviving(nodes));
                }
                Change::Cleared if here.is_some() => self.page.nav.go(Route::default()),
                _ => {}
            }
        }
        if remembered {
            self.page.memories.update(|times| *times += 1);
            // Prompts quote what is remembered.
            self.page.inspector.ask();
        }
        if again && !self.due.get_value() {
            self.due.set_value(true);
            self.again_soon(left);
        }
    }
}
