//! The search inside messages: what is typed into the filter is looked for there too, a moment after the last key. Goes in: the
//! filter's words, chosen roles, and the list's source. Comes out: hits below the threads, each of which opens the branch that holds it.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::TranscriptId;

use super::basics::{Time, drawn};
use super::effects::follow;
use super::state::{Dialog, Line, Page};
use crate::list;
use crate::route::Route;
use crate::wire::{Ask, EPISODE, FACT, Find, Found, Hit, Reply, SUMMARY};
use crate::{format, pieces, words};

/// How long after the last key is searched, in milliseconds.
const PAUSE: u64 = 180;

/// Whose words can be looked for: the role, and its name on a chip.
const ROLES: [(&str, &str); 3] = [("user", "You"), ("assistant", "Assistant"), ("tool", "Tools")];

/// The search. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Search {
    page: Page,
    /// What is looked for.
    query: RwSignal<String>,
    /// The kind of archive that it must come from; any where it is empty.
    source: Memo<String>,
    found: RwSignal<Option<Arc<Found>>>,
    busy: RwSignal<bool>,
    failed: RwSignal<Option<String>>,
    role: RwSignal<String>,
    /// Counts what was asked, so that a late answer does not replace a newer one.
    asked: StoredValue<usize>,
}

/// A line below the threads.
#[derive(Clone)]
struct Row {
    key: String,
    /// The hit that it shows; without one it is the heading above those that are no messages.
    shown: Option<Shown>,
}

/// A hit as it is shown.
#[derive(Clone)]
struct Shown {
    hit: Hit,
    at: usize,
    title: String,
    /// Whether the keys are at it.
    active: bool,
    /// Whether it is what the thread pane shows.
    chosen: bool,
}

/// Whether words are enough to look for: two letters, or one of a script that has words of one.
fn enough(query: &str) -> bool {
    query.chars().nth(1).is_some() || !query.is_ascii()
}

impl Search {
    /// Begins to follow the words of `query`, and `source`.
    pub fn start(page: Page, query: RwSignal<String>, source: Memo<String>) -> Self {
        let search = Self {
            page,
            query,
            source,
            found: RwSignal::new(None),
            busy: RwSignal::new(false),
            failed: RwSignal::new(None),
            role: RwSignal::new(String::new()),
            asked: StoredValue::new(0),
        };
        follow(move || search.changed());
        search
    }

    /// Something that decides what is found has changed: the words, the chips, or the threads.
    fn changed(self) {
        let query = self.query.with(|query| query.trim().to_owned());
        let find = Find { query, role: self.role.get(), source: self.source.get() };
        self.page.threads.all.track();
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        if !enough(&find.query) || !self.page.engine.is_open() {
            self.found.set(None);
            self.failed.set(None);
            return self.busy.set(false);
        }
        self.busy.set(true);
        let ask = move || {
            if self.is_newest(number) {
                spawn_local(self.look(find, number));
            }
        };
        set_timeout(ask, Duration::from_millis(PAUSE));
    }

    /// Whether no question is newer. There is none any more once the search is gone.
    fn is_newest(self, number: usize) -> bool {
        self.asked.try_get_value() == Some(number)
    }

    /// Searches, and goes on as long as there are messages that are not indexed.
    async fn look(self, find: Find, number: usize) {
        let mut indexed = None;
        loop {
            let answer = self.page.engine.ask(Ask::Find(find.clone())).await;
            if !self.is_newest(number) {
                return;
            }
            let more = match answer {
                Ok(Reply::Found(found)) => {
                    // Where nothing was added, asking once more adds nothing either.
                    let more = found.indexed < found.messages && indexed.replace(found.indexed) != Some(found.indexed);
                    self.found.set(Some(Arc::new(*found)));
                    self.failed.set(None);
                    more
                }
                Ok(_) => false,
                Err(error) => {
                    self.found.set(None);
                    self.failed.set(Some(words::words(&error).title));
                    false
                }
            };
            if !more {
                return self.busy.set(false);
            }
        }
    }

    /// How many hits are listed; tracks.
    pub fn count(self) -> usize {
        self.found.with(|found| found.as_ref().map_or(0, |found| found.hits.len()))
    }

    /// Whether it looked everywhere and found nothing; tracks.
    pub fn in_vain(self) -> bool {
        !self.busy.get() && self.count() == 0
    }

    /// The hits, the best first; tracks.
    pub fn hits(self) -> Vec<Hit> {
        self.found.with(|found| found.as_ref().map(|found| found.hits.clone()).unwrap_or_default())
    }

    fn hit(self, at: usize) -> Option<Hit> {
        self.found.with_untracked(|found| found.as_ref()?.hits.get(at).cloned())
    }

    /// The thread of a hit.
    pub fn thread(self, at: usize) -> Option<TranscriptId> {
        self.hit(at)?.transcript
    }

    /// Opens a hit: a message in its thread, on the branch that holds it; a summary at the line that has the words; what is
    /// remembered in the memory.
    pub fn open(self, at: usize) {
        let Some(Hit { id, transcript, leaf, node, role, snippet, .. }) = self.hit(at) else { return };
        match (role.as_str(), id) {
            (EPISODE | FACT, Some(id)) => self.page.dialog.set(Some(Dialog::Memory(Some(id)))),
            (SUMMARY, Some(card)) => {
                let words = snippet.into_iter().skip(1).step_by(2).collect();
                // The address first: the line is shown where it leads.
                self.page.nav.go(Route { transcript, leaf, at: node, ..Route::default() });
                self.page.card.set(Some(Line { card, words }));
            }
            _ => self.page.nav.go(Route { transcript, leaf, at: node, ..Route::default() }),
        }
    }

    /// What it does, in words.
    fn words(self) -> String {
        if let Some(failed) = self.failed.get() {
            return format!("The search failed. {failed}");
        }
        let busy = self.busy.get();
        self.found.with(|found| match found {
            None if busy => "Searching in messages…".to_owned(),
            None => String::new(),
            Some(found) if busy && found.indexed < found.messages => {
                let (indexed, all) = (format::count(found.indexed), format::plural(found.messages, "message"));
                format!("Reading for the first search: {indexed} of {all}")
            }
            Some(found) if found.hits.is_empty() => "No message has these words.".to_owned(),
            Some(found) => {
                let messages = found.hits.iter().filter(|hit| hit.id.is_none()).count();
                let others = found.hits.len() - messages;
                let more = if others > 0 { format!(", {others} in summaries and memory") } else { String::new() };
                format!("{}{more} found", format::plural(messages as u64, "message"))
            }
        })
    }

    /// Whether there is something to search for; tracks.
    fn active(self) -> bool {
        self.query.with(|query| enough(query.trim())) && !self.page.threads.none()
    }

    /// The title of what holds a hit; tracks.
    pub fn title(self, hit: &Hit) -> String {
        let Some(thread) = &hit.transcript else { return "Memory".to_owned() };
        self.page.threads.find(thread).as_ref().map_or(list::UNTITLED, list::title).to_owned()
    }

    /// The lines below the threads, each with its key; tracks. `active` is the position of the hit that the keys are at.
    fn rows(self, active: Option<usize>) -> Vec<Row> {
        let route = self.page.nav.route();
        let Some(found) = self.found.get() else { return Vec::new() };
        let others = found.hits.iter().position(|hit| hit.id.is_some());
        let mut rows = Vec::new();
        for (at, hit) in found.hits.iter().enumerate() {
            if others == Some(at) {
                rows.push(Row { key: "others".to_owned(), shown: None });
            }
            let title = self.title(hit);
            let chosen = hit.id.is_none() && hit.node.is_some() && route.at == hit.node;
            let active = active == Some(at);
            let id = hit.id.as_deref().or(hit.node.as_ref().map(|node| node.as_str()));
            let key = format!("{at} {active} {chosen} {id:?} {} {title}", hit.snippet.join("\u{0}"));
            rows.push(Row { key, shown: Some(Shown { hit: hit.clone(), at, title, active, chosen }) });
        }
        rows
    }

    /// Whether the first hit is a message; tracks.
    fn has_messages(self) -> bool {
        self.found.with(|found| found.as_ref().and_then(|found| found.hits.first()).is_some_and(|hit| hit.id.is_none()))
    }
}

/// What stands below the filter while one searches: how it goes, and chips that limit it.
#[component]
pub fn Searching(search: Search) -> impl IntoView {
    view! {
        <div class="searching">
            <Show when=move || search.active()>
                <Limits search/>
                <p class="search-state" role="status" data-testid="search-state">{move || drawn(&search.words())}</p>
            </Show>
        </div>
    }
}

/// Whose words are looked for.
#[component]
fn Limits(search: Search) -> impl IntoView {
    let chip = move |(role, name): (&'static str, &'static str)| {
        let chosen = move || search.role.with(|now| now == role);
        let turn = move |_| search.role.set(if untrack(chosen) { String::new() } else { role.to_owned() });
        view! {
            <button
                type="button"
                class="chip"
                data-testid=format!("only-{role}")
                aria-pressed=move || if chosen() { "true" } else { "false" }
                on:click=turn
            >
                {name}
            </button>
        }
    };
    view! {
        <div class="chips" role="group" aria-label="Only in messages of">
            {ROLES.into_iter().map(chip).collect_view()}
        </div>
    }
}

/// The hits. `active` is the position of the one that the keys are at, `open` opens one.
#[component]
pub fn Hits(
    search: Search,
    active: impl Fn() -> Option<usize> + Send + 'static,
    open: impl Fn(usize) + Copy + Send + 'static,
) -> impl IntoView {
    let line = move |row: Row| match row.shown {
        Some(shown) => view! { <HitRow shown open/> }.into_any(),
        None => view! { <p class="hits-head" aria-hidden="true">"In summaries and memory"</p> }.into_any(),
    };
    view! {
        <div role="group" aria-label="In messages" class="hits" hidden=move || search.count() == 0>
            <p class="hits-head" aria-hidden="true" hidden=move || !search.has_messages()>"In messages"</p>
            <div data-testid="hits">
                <For each=move || search.rows(active()) key=|row| row.key.clone() children=line/>
            </div>
        </div>
    }
}

/// One hit.
#[component]
fn HitRow(shown: Shown, open: impl Fn(usize) + 'static) -> impl IntoView {
    let Shown { hit, at, title, active, chosen } = shown;
    let piece = |(at, text): (usize, &String)| {
        let text = drawn(text);
        if at % 2 == 0 { text.into_any() } else { view! { <mark>{text}</mark> }.into_any() }
    };
    let name = match hit.role.as_str() {
        SUMMARY => "Summary",
        EPISODE => "Episode",
        FACT => "Fact",
        role => pieces::role_label(role),
    };
    view! {
        <div
            class="hit"
            class:active=active
            role="option"
            id=format!("hit-{at}")
            data-testid="hit"
            data-found=if hit.id.is_some() { hit.role.clone() } else { "message".to_owned() }
            data-node=hit.node.as_ref().map(|node| node.to_string()).unwrap_or_default()
            aria-selected=if chosen { "true" } else { "false" }
            on:click=move |_| open(at)
        >
            <p class="thread-title" dir="auto">{drawn(&title)}</p>
            <p class="hit-text" dir="auto">{hit.snippet.iter().enumerate().map(piece).collect_view()}</p>
            <p class="thread-facts">
                <span class:found-kind=hit.id.is_some()>{drawn(name)}</span>
                {hit.created_at.map(|at| view! { <Time at=at/> })}
                <span class="source" data-testid="hit-why" title=hit.why.clone()>{drawn(&hit.why)}</span>
            </p>
        </div>
    }
}
