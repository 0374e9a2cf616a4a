//! The open thread: its head, its messages, and what happens when another one, another branch or another place is asked
//! for. The messages themselves are the canvas's.

use std::time::Duration;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};
use wasm_bindgen::prelude::*;

use super::canvas::{Action, Canvas, Start};
use super::dom;
use super::engine::State;
use super::map::MapPane;
use super::signs::Sign;
use super::state::{Dialog, Page};
use crate::route::Route;
use crate::wire::{Ask, Branch, Change, Reply, ThreadInfo};
use crate::words::{self, Words};
use crate::{format, list};

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
    asked: StoredValue<u32>,
    due: StoredValue<bool>,
}

impl Thread {
    fn canvas(self) -> Option<Canvas> {
        self.canvas.with_value(Clone::clone)
    }

    /// Shows what the address says.
    fn follow(self, route: &Route) {
        let Some(transcript) = &route.transcript else {
            self.asked.update_value(|asked| *asked += 1);
            if let Some(canvas) = self.canvas() {
                canvas.clear();
            }
            self.open.set(None);
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
            match answer {
                Ok(Reply::Branch(outline)) => self.show(*outline, &start),
                Ok(_) => self.shown.set(Shown::Missing),
                Err(error) if error.code == "missing-node" && leaf.is_some() => {
                    if self.open.with_untracked(Option::is_none) {
                        self.page.notices.say("That branch is gone", "The thread opens at its chosen branch.");
                    }
                    self.read(transcript, None, start);
                }
                Err(error) => {
                    self.open.set(None);
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
        if before.as_ref().is_some_and(|(id, leaf)| *id == open.info.id && *leaf != open.leaf) {
            // Another branch was looked at: the thread opens there next time.
            let (engine, leaf) = (self.page.engine, open.leaf.clone());
            spawn_local(async move {
                // Looking works without it.
                let _ = engine.ask(Ask::Choose(leaf)).await;
            });
        }
        self.page.leaf.set(Some(open.leaf.clone()));
        self.open.set(Some(open));
        self.shown.set(Shown::Thread);
        if let Some(canvas) = self.canvas() {
            canvas.show(outline, start);
        }
        // The address names the branch, so that a step back comes to the same one.
        self.page.nav.replace(route);
    }

    /// Something changed, here or in another tab.
    fn heard(self, events: &[Change]) {
        let running = self.page.imports.progress.get_untracked().is_some();
        self.page.threads.refresh_soon(Duration::from_millis(if running { 1500 } else { 120 }));
        let here = self.page.nav.now().transcript;
        let mut again = false;
        // Where the open branch was cut, what is left of it stays open.
        let mut left = None;
        for event in events {
            match event {
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
        if again && !self.due.get_value() {
            self.due.set_value(true);
            set_timeout(
                move || {
                    self.due.set_value(false);
                    self.page.tree.update(|tree| *tree += 1);
                    if let (Some(here), Some(open)) = (self.page.nav.now().transcript, self.open.get_untracked())
                        && here == open.info.id
                    {
                        self.read(here, Some(left.unwrap_or(open.leaf)), Start::Same);
                    }
                },
                Duration::from_millis(60),
            );
        }
    }

    fn act(self, action: Action) {
        let transcript = self.page.nav.now().transcript;
        match action {
            Action::Branch { leaf, row } => {
                self.start.set_value(Some(Start::Fork(row)));
                self.page.nav.go(Route { transcript, leaf: Some(leaf), at: None });
            }
            Action::Delete(node) => {
                if let Some(transcript) = transcript {
                    self.page.dialog.set(Some(Dialog::DeleteBranch { transcript, node }));
                }
            }
            Action::Copied(true) => self.page.notices.say("Copied", ""),
            Action::Copied(false) => {
                self.page.notices.say("Nothing was copied", "The browser does not let this page use the clipboard.");
            }
            Action::Failed(error) => self.page.notices.fail(&error),
        }
    }
}

/// The thread and, beside it, its map.
#[component]
pub fn ThreadPane() -> impl IntoView {
    let page = Page::of_context();
    let thread = Thread {
        page,
        shown: RwSignal::new(Shown::Reading),
        open: RwSignal::new(None),
        canvas: StoredValue::new_local(None),
        start: StoredValue::new(None),
        asked: StoredValue::new(0),
        due: StoredValue::new(false),
    };
    page.engine.listen(move |events| thread.heard(events));
    let scroller = NodeRef::<html::Div>::new();
    scroller.on_load(move |element| {
        let canvas = Canvas::new(element.clone().into(), page.engine, move |action| thread.act(action));
        // `toggle` does not bubble: it is caught on its way down.
        let toggled = {
            let canvas = canvas.clone();
            Closure::<dyn Fn(web_sys::Event)>::new(move |event: web_sys::Event| canvas.toggled(event.target()))
        };
        let listener = toggled.as_ref().unchecked_ref();
        let _ = element.add_event_listener_with_callback_and_bool("toggle", listener, true);
        toggled.forget();
        thread.canvas.set_value(Some(canvas));
    });
    let ready = Memo::new(move |_| matches!(page.engine.state.get(), State::Open { .. }));
    Effect::new(move |_| {
        let route = page.nav.route();
        if ready.get() && scroller.get().is_some() {
            thread.follow(&route);
        }
    });
    let with = move |act: fn(&Canvas)| {
        if let Some(canvas) = thread.canvas() {
            act(&canvas);
        }
    };
    // Heard everywhere, so that one can turn branches without first stepping into the thread; keys that mean something
    // elsewhere too count only in it.
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
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
    on_cleanup(move || keys.remove());
    let is_thread = move || thread.shown.get() == Shown::Thread;
    view! {
        <section class="pane thread" aria-label="Thread" data-testid="thread">
            <Show when=is_thread>
                <ThreadHead thread />
            </Show>
            <div
                class="scroller"
                id="messages"
                tabindex="0"
                role="region"
                aria-label="Messages"
                data-testid="messages"
                class:gone=move || !is_thread()
                node_ref=scroller
                on:scroll=move |_| with(Canvas::scrolled)
                on:click=move |event| {
                    if let Some(canvas) = thread.canvas() {
                        canvas.clicked(event.target());
                    }
                }
            ></div>
            {move || match thread.shown.get() {
                Shown::Thread => ().into_any(),
                Shown::Reading if matches!(page.engine.state.get(), State::Failed(_)) => ().into_any(),
                Shown::Reading => view! { <p class="reading" role="status">"Reading…"</p> }.into_any(),
                Shown::Nothing => view! { <super::welcome::Welcome /> }.into_any(),
                Shown::Missing => view! { <Missing /> }.into_any(),
                Shown::Failed(words) => {
                    view! {
                        <div class="message-page">
                            <h2>{words.title}</h2>
                            <p>{words.advice}</p>
                        </div>
                    }
                        .into_any()
                }
            }}
        </section>
        <Show when=move || page.map.get() && is_thread()>
            <MapPane />
        </Show>
    }
}

#[component]
fn Missing() -> impl IntoView {
    let page = Page::of_context();
    view! {
        <div class="message-page" data-testid="missing">
            <h2>"This thread is not here"</h2>
            <p>
                "The address names a thread that this browser does not keep: it was deleted, or the link comes from another browser or device. Threads never leave the browser they were imported into, so a link works only there."
            </p>
            <p>
                <button type="button" class="primary" on:click=move |_| page.nav.go(Route::default())>
                    "Show all threads"
                </button>
            </p>
        </div>
    }
}

#[component]
fn ThreadHead(thread: Thread) -> impl IntoView {
    let page = thread.page;
    // The list is newer than the outline once the title has changed.
    let info = Memo::new(move |_| {
        let open = thread.open.get()?;
        page.threads.find(&open.info.id).or(Some(open.info))
    });
    let title = Memo::new(move |_| {
        info.with(|info| info.as_ref().map(|info| list::title(info).to_owned())).unwrap_or_default()
    });
    Effect::new(move |_| document().set_title(&format!("{} · Threadkeep", title.get())));
    on_cleanup(|| document().set_title("Threadkeep"));
    let editing = RwSignal::new(false);
    let input = NodeRef::<html::Input>::new();
    input.on_load(|input| {
        let _ = input.focus();
        input.select();
    });
    let rename = move |text: String| {
        if !editing.get_untracked() {
            return;
        }
        editing.set(false);
        let Some(id) = info.with_untracked(|info| info.as_ref().map(|info| info.id.clone())) else { return };
        if text.trim() == title.get_untracked() {
            return;
        }
        spawn_local(async move {
            let ask = Ask::Rename { transcript: id, title: text.trim().to_owned() };
            match page.engine.ask(ask).await {
                Ok(_) => page.threads.refresh().await,
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    let facts = move || {
        info.get().map(|info| {
            let here = thread.open.with(|open| open.as_ref().map_or(0, |open| open.rows));
            let words = |time: i64| {
                view! {
                    <time datetime=dom::machine(time) title=dom::exact(time)>
                        {format::ago(time, dom::now())}
                    </time>
                }
            };
            let branches = (info.branches > 1).then(|| {
                let words = format!(
                    "{}, {} in this one",
                    format::plural(info.branches.into(), "branch"),
                    format::plural(here as u64, "node")
                );
                view! { <span title=words.clone()>{format::plural(info.branches.into(), "branch")}</span> }
            });
            view! {
                <span class="source">{format::source(&info.source).to_owned()}</span>
                {info.updated_at.map(words)}
                <span>{format::plural(info.messages.into(), "message")}</span>
                {branches}
            }
        })
    };
    let damage = move || thread.open.with(|open| open.as_ref().and_then(|open| open.damage.clone()));
    view! {
        <header class="thread-head">
            <button
                type="button"
                class="icon back"
                title="All threads"
                aria-label="All threads"
                data-testid="back"
                on:click=move |_| page.nav.go(Route::default())
            >
                <Sign name="back" />
            </button>
            <div class="thread-name">
                {move || {
                    if editing.get() {
                        view! {
                            <input
                                class="rename"
                                data-testid="rename-input"
                                aria-label="Title"
                                prop:value=title.get_untracked()
                                node_ref=input
                                on:blur=move |event| rename(event_target_value(&event))
                                on:keydown=move |event| match event.key().as_str() {
                                    "Enter" => rename(event_target_value(&event)),
                                    "Escape" => editing.set(false),
                                    _ => {}
                                }
                            />
                        }
                            .into_any()
                    } else {
                        view! {
                            <h2 dir="auto" title=move || title.get() data-testid="title">
                                {move || title.get()}
                            </h2>
                            <button
                                type="button"
                                class="icon"
                                title="Rename"
                                aria-label="Rename"
                                data-testid="rename"
                                on:click=move |_| editing.set(true)
                            >
                                <Sign name="edit" />
                            </button>
                        }
                            .into_any()
                    }
                }}
                <p class="thread-facts">{facts}</p>
            </div>
            <div class="thread-acts">
                <button
                    type="button"
                    class="quiet"
                    data-testid="map-toggle"
                    title="Map of the branches"
                    aria-pressed=move || page.map.get().to_string()
                    on:click=move |_| page.show_map(!page.map.get_untracked())
                >
                    <Sign name="map" />
                    <span class="wide-only">"Map"</span>
                </button>
                <button
                    type="button"
                    class="icon"
                    title="Export this thread"
                    aria-label="Export this thread"
                    data-testid="export-thread"
                    on:click=move |_| {
                        let info = info.get_untracked();
                        spawn_local(async move {
                            page.export(info).await;
                        });
                    }
                >
                    <Sign name="export" />
                </button>
                <button
                    type="button"
                    class="icon"
                    title="Delete this thread…"
                    aria-label="Delete this thread…"
                    data-testid="delete-thread"
                    on:click=move |_| page.dialog.set(info.get_untracked().map(Dialog::DeleteThread))
                >
                    <Sign name="trash" />
                </button>
            </div>
        </header>
        {move || {
            damage()
                .map(|damage| {
                    view! {
                        <p class="damage" role="note">
                            <Sign name="warning" />
                            <span>"Part of this branch is missing: " {damage} ". What can still be reached is shown."</span>
                        </p>
                    }
                })
        }}
    }
}
