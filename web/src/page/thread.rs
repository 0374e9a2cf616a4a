//! The open thread: its head, its messages, and what happens when another one, another branch or another place is asked
//! for. The messages themselves are the canvas's.

mod head;

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};
use wasm_bindgen::prelude::*;
use web_sys::{Event, KeyboardEvent, Node};

use super::canvas::{Action, Canvas, Start};
use super::engine::State;
use super::live::Live;
use super::state::{Dialog, Page, Target};
use super::talk::Step;
use super::view::{Spot, at_window, click, draw, follow, live, markup, on, soon};
use super::{bin, composer, dom, inspector, map, welcome};
use crate::route::Route;
use crate::wire::{Ask, Branch, Change, Recall, Removed, Reply, ThreadInfo, Turn};
use crate::words::{self, Words};

/// What the pane shows.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
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
struct Open {
    info: ThreadInfo,
    leaf: MessageId,
    damage: Option<String>,
    rows: usize,
}

#[derive(Clone, Copy)]
struct Thread {
    page: Page,
    shown: RwSignal<Shown>,
    open: RwSignal<Option<Open>>,
    canvas: StoredValue<Option<Canvas>, LocalStorage>,
    start: StoredValue<Option<Start>>,
    /// Counts what was asked for, so that a late answer does not replace a newer one.
    asked: StoredValue<usize>,
    /// The last of these that was answered.
    answered: StoredValue<usize>,
    due: StoredValue<bool>,
    /// Whether the answer that grows is being read, and must be again.
    growing: StoredValue<(bool, bool)>,
}

impl Thread {
    fn canvas(self) -> Option<Canvas> {
        self.canvas.with_value(Clone::clone)
    }

    /// Shows what the address says.
    fn follow(self, route: &Route) {
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

    fn read(self, transcript: TranscriptId, leaf: Option<MessageId>, start: Start) {
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
    async fn read_end(self, outline: &Branch) {
        let end = outline.rows.len() as u32;
        let ask = Ask::Rows { leaf: outline.leaf.clone(), start: end.saturating_sub(8), end };
        if let (Ok(Reply::Nodes(nodes)), Some(canvas)) = (self.page.engine.ask(ask).await, self.canvas()) {
            canvas.early(nodes);
        }
    }

    /// The turn that is under way came to something.
    fn step(self, step: Step) {
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
                }
                self.grown(true);
            }
        }
    }

    /// Reads what the answer has stored, and shows it in place of what was shown while it came.
    fn grown(self, over: bool) {
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
    fn take(self, turn: Turn) {
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

    fn show(self, outline: Branch, start: &Start) {
        let open = Open {
            info: outline.thread.clone(),
            leaf: outline.leaf.clone(),
            damage: outline.damage.clone(),
            rows: outline.rows.len(),
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
    fn show_line(self) {
        let leaf = self.page.nav.now().leaf;
        let on_the_way = leaf.is_some() && leaf != self.page.leaf.get_untracked();
        if let (Some(line), Some(canvas), false) = (self.page.card.get_untracked(), self.canvas(), on_the_way)
            && canvas.lead_to(&line)
        {
            self.page.card.set(None);
        }
    }

    /// Opens the newest branch that holds a message, where the chosen one does not.
    fn find(self, transcript: TranscriptId, id: MessageId) {
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

    /// Something changed, here or in another tab.
    fn heard(self, events: &[Change]) {
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

    /// Reads the open branch again in a moment; `left` is where it ends now, if not where it did.
    fn again_soon(self, left: Option<MessageId>) {
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

    /// Asks what stands for a selected message in prompts, where a compaction covers it.
    fn carry(self, node: &MessageId) {
        if let Some(canvas) = self.canvas().filter(|canvas| canvas.choose(node)) {
            self.ask_carrier(canvas, node.clone());
        }
    }

    fn ask_carrier(self, canvas: Canvas, node: MessageId) {
        let Some(leaf) = canvas.leaf() else { return };
        spawn_local(async move {
            let asked = Recall::Carried { leaf, node: node.clone() };
            // The thread is read without it.
            if let Ok(Reply::Carrier(carrier)) = self.page.engine.ask(Ask::Recall(Box::new(asked))).await {
                canvas.carry(&node, *carrier);
            }
        });
    }

    fn act(self, action: Action) {
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
            Action::Again(node) => self.take(Turn::Again(node)),
            Action::GoOn(node) => self.take(Turn::GoOn(node)),
            Action::Resume(node) => self.take(Turn::Resume(node)),
            Action::Failed(error) => self.page.notices.fail(&error),
        }
    }
}

/// The thread and, beside it, its map.
pub fn pane(page: Page) -> Node {
    let thread = Thread {
        page,
        shown: RwSignal::new(Shown::Reading),
        open: RwSignal::new(None),
        canvas: StoredValue::new_local(None),
        start: StoredValue::new(None),
        asked: StoredValue::new(0),
        answered: StoredValue::new(0),
        due: StoredValue::new(false),
        growing: StoredValue::new((false, false)),
    };
    page.talking.follow(move |step| thread.step(step));
    follow(move || {
        let aim = page.target.get().and_then(|target| target.edit.unwrap_or(Some(target.node)));
        if let Some(canvas) = thread.canvas() {
            canvas.aim(aim.as_ref());
        }
    });
    page.engine.listen(move |events| thread.heard(events));
    let scroller = Spot::new();
    follow(move || {
        let route = page.nav.route();
        if page.engine.is_open() {
            soon(move || thread.follow(&route));
        }
    });
    soon(move || {
        if let Some(element) = scroller.get() {
            thread.mount(element);
        }
    });
    // Heard everywhere, so that one can turn branches without first stepping into the thread; keys that mean something
    // elsewhere too count only in it.
    at_window("keydown", move |event| {
        let event: KeyboardEvent = event.unchecked_into();
        let elsewhere = dom::closest(event.target(), "input, select, textarea, dialog").is_some();
        if event.ctrl_key() || event.meta_key() || event.default_prevented() || elsewhere {
            return;
        }
        let inside = dom::closest(event.target(), "[data-testid=thread]").is_some();
        if !inside && !matches!(event.key().as_str(), "j" | "k" | "[" | "]") {
            return;
        }
        if let Some(canvas) = thread.canvas()
            && canvas.key(&event.key(), event.alt_key(), document().active_element())
        {
            event.prevent_default();
        }
    });
    follow(move || {
        page.inspector.changed.track();
        let Some(canvas) = thread.canvas() else { return };
        canvas.mark(page.inspector.marks());
        if let Some(place) = page.inspector.wanted() {
            canvas.show_place(place);
        }
    });
    follow(move || {
        if page.card.with(Option::is_some) {
            // Where its thread is open already, nothing else brings it on the screen.
            soon(move || thread.show_line());
        }
    });
    // What carries the selected message changes with a pin on it.
    follow(move || {
        page.inspector.pinned.track();
        if let Some(canvas) = thread.canvas()
            && let Some(node) = canvas.chosen_covered()
        {
            thread.ask_carrier(canvas, node);
        }
    });
    let is_thread = move || thread.shown.with(|shown| *shown == Shown::Thread);
    let scrolled = move || {
        if let Some(canvas) = thread.canvas() {
            canvas.scrolled();
        }
    };
    let clicked = move |event: Event| {
        if let Some(canvas) = thread.canvas() {
            canvas.clicked(event.target());
        }
    };
    let failed = move || matches!(page.engine.state.get(), State::Failed(_));
    let writes =
        move || page.engine.is_open() && thread.shown.with(|shown| matches!(shown, Shown::Thread | Shown::Nothing));
    let view = move |(shown, failed, is_fresh): &(Shown, bool, bool)| match shown {
        Shown::Thread => None,
        Shown::Reading if *failed => None,
        Shown::Reading => Some(markup!(r#"<p class="reading" role="status">Reading…</p>"#)),
        Shown::Nothing if *is_fresh => Some(fresh(page)),
        Shown::Nothing => Some(welcome::welcome(page)),
        Shown::Missing => Some(missing(page)),
        Shown::Failed(words) => Some(markup!(
            r#"<div class="message-page"><h2>{}</h2><p>{}</p></div>"#,
            words.title.clone(),
            words.advice.clone(),
        )),
    };
    markup!(
        r#"
        <section class="pane thread" aria-label="Thread" data-testid="thread">
            {}
            <div
                class="scroller"
                id="messages"
                tabindex="0"
                role="region"
                aria-label="Messages"
                data-testid="messages"
                class:gone={}
                ref={}
                onscroll={}
                onclick={}
            ></div>
            {}
            {}
        </section>
        {}{}"#,
        draw(is_thread, move |shown| shown.then(|| head::head(thread))),
        live(move || !is_thread()),
        scroller,
        click(scrolled),
        on(clicked),
        draw(move || (thread.shown.get(), failed(), page.nav.route().fresh), view),
        draw(writes, move |writes| writes.then(|| composer::composer(page))),
        draw(move || page.map.get() && is_thread(), move |shown| shown.then(|| map::pane(page))),
        draw(move || page.inspector.open.get() && is_thread(), move |shown| shown.then(|| inspector::pane(page)),),
    )
}

impl Thread {
    /// Puts the canvas into its scroller.
    fn mount(self, scroller: web_sys::HtmlElement) {
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

/// Where a conversation begins.
fn fresh(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page choose" data-testid="fresh">
            <h2>A new conversation</h2>
            <p>Say something below. Reply to any message later on, and the conversation forks there.</p>
            <p><button type="button" class="quiet back" onclick={}><svg sign="back"/>All threads</button></p>
        </div>"#,
        click(move || page.nav.go(Route::default())),
    )
}

fn missing(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page" data-testid="missing">
            <h2>This thread is not here</h2>
            <p>
                The address names a thread that this browser does not keep: it was deleted, or the link comes from another
                browser or device. Threads never leave the browser they were imported into, so a link works only there.
            </p>
            <p><button type="button" class="primary" onclick={}>Show all threads</button></p>
        </div>"#,
        click(move || page.nav.go(Route::default())),
    )
}
