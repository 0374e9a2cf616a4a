//! Reads what the address says and puts it on the screen.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};

use super::state::{Open, Shown, Thread};
use crate::page::canvas::Start;
use crate::page::state::Target;
use crate::route::Route;
use crate::wire::{Ask, Branch, Reply};
use crate::words;

impl Thread {
    /// Shows what the address says.
    pub(super) fn follow(self, route: &Route) {
        let Some(transcript) = &route.transcript else {
            self.asked.update_value(|asked| *asked += 1);
            self.answered.set_value(self.asked.get_value());
            if let Some(canvas) = self.canvas() {
                canvas.clear();
            }
            self.open.set(None);
            self.page.thread.set(None);
            self.page.leaf.set(None);
            return self.shown.set(Shown::Nothing);
        };
        let same = self.open.with_untracked(|open| {
            open.as_ref().is_some_and(|open| {
                open.info.id == *transcript && route.leaf.as_ref().is_none_or(|leaf| *leaf == open.leaf)
            })
        });
        if same && self.shown.get_untracked() == Shown::Thread {
            if let (Some(canvas), Some(at)) = (self.canvas(), &route.at) {
                canvas.reveal(at, true);
            }
            if route.leaf.is_none() {
                // The address names the branch, as it does after reading.
                let leaf = self.open.with_untracked(|open| open.as_ref().map(|open| open.leaf.clone()));
                self.page.nav.replace(Route { leaf, ..route.clone() });
            }
            return;
        }
        let start = self.start.try_update_value(Option::take).flatten();
        let start = start.or_else(|| route.at.clone().map(Start::At)).unwrap_or(Start::Top);
        self.read(transcript.clone(), route.leaf.clone(), start);
    }

    /// Reads a branch and shows it.
    pub(super) fn read(self, transcript: TranscriptId, leaf: Option<MessageId>, start: Start) {
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        if self.open.with_untracked(Option::is_none) {
            self.shown.set(Shown::Reading);
        }
        let engine = self.page.engine;
        // The first rows are asked for together with the outline: the list knows where a thread's branch ends.
        let end = leaf.clone().or_else(|| {
            self.page
                .threads
                .all
                .with_untracked(|all| all.as_ref()?.iter().find(|info| info.id == transcript)?.leaf.clone())
        });
        if let (Start::Top, Some(end), Some(canvas)) = (&start, end, self.canvas()) {
            spawn_local(async move {
                let rows = engine.ask(Ask::Rows { leaf: end, start: 0, end: 24 }).await;
                if let Ok(Reply::Nodes(nodes)) = rows {
                    canvas.early(nodes);
                }
            });
        }
        spawn_local(async move {
            let answer = engine.ask(Ask::Branch { transcript: transcript.clone(), leaf: leaf.clone() }).await;
            if self.asked.get_value() != number {
                return;
            }
            // Who opens a compacted thread wants to go on; what is summarised is one press away.
            let compacted = |outline: &Branch| outline.cards.iter().any(|card| card.cleared == 0);
            let start = match &answer {
                Ok(Reply::Branch(outline)) if start == Start::Top && compacted(outline) => Start::End,
                _ => start,
            };
            if let (Ok(Reply::Branch(outline)), Start::End) = (&answer, &start) {
                self.read_end(outline).await;
                if self.asked.get_value() != number {
                    return;
                }
            }
            self.answered.set_value(number);
            match answer {
                Ok(Reply::Branch(outline)) => {
                    self.show(*outline, &start);
                }
                Ok(_) => self.shown.set(Shown::Missing),
                Err(error) if error.code == "missing-node" && leaf.is_some() => {
                    if self.open.with_untracked(Option::is_none) {
                        self.page.notices.say("That branch is gone", "The thread opens at its chosen branch.");
                    }
                    self.read(transcript, None, start);
                }
                Err(error) => {
                    self.open.set(None);
                    self.page.thread.set(None);
                    self.page.leaf.set(None);
                    if let Some(canvas) = self.canvas() {
                        canvas.clear();
                    }
                    self.shown.set(match error.code.as_str() {
                        "missing-transcript" | "missing-node" => Shown::Missing,
                        _ => Shown::Failed(words::words(&error)),
                    });
                }
            }
        });
    }

    /// Reads the last messages of a branch before it is shown, so that its end is there at once.
    pub(super) async fn read_end(self, outline: &Branch) {
        let end = outline.rows.len() as u32;
        let ask = Ask::Rows { leaf: outline.leaf.clone(), start: end.saturating_sub(8), end };
        if let (Ok(Reply::Nodes(nodes)), Some(canvas)) = (self.page.engine.ask(ask).await, self.canvas()) {
            canvas.early(nodes);
        }
    }

    /// Reads the open branch again in a moment; `left` is where it ends now, if not where it did.
    pub(super) fn again_soon(self, left: Option<MessageId>) {
        let again = move || {
            // Another branch is on its way: to read the one that is left now would bring it back.
            if self.asked.get_value() != self.answered.get_value() {
                return self.again_soon(left);
            }
            self.due.set_value(false);
            self.page.tree.update(|tree| *tree += 1);
            if let (Some(here), Some(open)) = (self.page.nav.now().transcript, self.open.get_untracked())
                && here == open.info.id
            {
                self.read(here, Some(left.unwrap_or(open.leaf)), Start::Same);
            }
        };
        set_timeout(again, Duration::from_millis(60));
    }

    /// Opens the newest branch that holds a message, where the chosen one does not.
    pub(super) fn find(self, transcript: TranscriptId, id: MessageId) {
        let number = self.asked.get_value();
        spawn_local(async move {
            let Ok(Reply::Tree(nodes)) = self.page.engine.ask(Ask::Tree(transcript.clone())).await else { return };
            let mut below = vec![false; nodes.len()];
            for (at, one) in nodes.iter().enumerate() {
                let up = one.parent.map(|up| up as usize).filter(|up| *up < at);
                below[at] = one.id == id || up.is_some_and(|up| below[up]);
            }
            // The last node of all that follow it has none below it.
            if let Some(leaf) = below.iter().rposition(|below| *below)
                && self.asked.get_value() == number
            {
                self.read(transcript, Some(nodes[leaf].id.clone()), Start::At(id));
            }
        });
    }

    /// Shows a branch that was read.
    pub(super) fn show(self, outline: Branch, start: &Start) {
        let open = Open {
            info: outline.thread.clone(),
            leaf: outline.leaf.clone(),
            damage: outline.damage.clone(),
            rows: outline.rows.len(),
            covered: (outline.cards.iter())
                .rfind(|card| card.cleared == 0 && !card.statements.is_empty())
                .map(|card| card.messages),
        };
        let before =
            self.open.with_untracked(|open| open.as_ref().map(|open| (open.info.id.clone(), open.leaf.clone())));
        let route = Route { leaf: Some(open.leaf.clone()), ..self.page.nav.now() };
        if before.as_ref().is_none_or(|(id, _)| *id != open.info.id) {
            self.page.focused.set(None);
        }
        if before.as_ref().is_some_and(|(id, leaf)| *id == open.info.id && *leaf != open.leaf) {
            // Another branch was looked at: the thread opens there next time.
            let (engine, leaf) = (self.page.engine, open.leaf.clone());
            spawn_local(async move {
                // Looking works without it.
                let _ = engine.ask(Ask::Choose(leaf)).await;
            });
        }
        let leaf = open.leaf.clone();
        let grown = before.and_then(|(_, old)| outline.rows.iter().any(|row| row.id == old).then_some(old));
        self.page.grown_from.set_value(grown);
        self.page.thread.set(Some(open.info.id.clone()));
        self.open.set(Some(open));
        self.shown.set(Shown::Thread);
        if let Start::At(id) = start
            && !outline.rows.iter().any(|row| row.id == *id)
        {
            self.find(outline.thread.id.clone(), id.clone());
        }
        let gone = |target: &Target| !outline.rows.iter().any(|row| row.id == target.node);
        if self.page.target.with_untracked(|target| target.as_ref().is_some_and(gone)) {
            self.page.target.set(None);
        }
        if let Some(canvas) = self.canvas() {
            canvas.show(outline, start);
            let live = self.page.talking.is_in(&leaf);
            let tail = self.page.talking.with_live(|live| live.element().clone());
            canvas.set_tail(tail.as_ref().filter(|_| live));
            self.look();
            let old = self.page.inspector.selected();
            let again = old.as_ref().and_then(|old| canvas.selected_again(old));
            if old != again {
                self.page.inspector.select(again);
            }
        }
        self.page.leaf.set(Some(leaf));
        self.show_line();
        // The address names the branch, so that a step back comes to the same one.
        self.page.nav.replace(route);
    }

    /// Shows the line of a card that somebody looked for, if it is on this branch.
    pub(super) fn show_line(self) {
        let leaf = self.page.nav.now().leaf;
        let on_the_way = leaf.is_some() && leaf != self.page.leaf.get_untracked();
        if let (Some(line), Some(canvas), false) = (self.page.card.get_untracked(), self.canvas(), on_the_way)
            && canvas.lead_to(&line)
        {
            self.page.card.set(None);
        }
    }
}
