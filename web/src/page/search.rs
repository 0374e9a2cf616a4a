//! The search inside messages: what is typed into the filter is looked for there too, a moment after the last key. Goes in: the
//! filter's words, chosen roles and sources. Comes out: hits below the threads, each of which opens the branch that holds it.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::TranscriptId;
use web_sys::Node;

use super::dom::{self, Build as _};
use super::state::{Dialog, Line, Page};
use super::view::{click, draw, follow, live, markup, on, rows};
use crate::route::Route;
use crate::wire::{Ask, EPISODE, FACT, Find, Found, Hit, Reply, SUMMARY, ThreadInfo};
use crate::{format, list, pieces, words};

/// How long after the last key is searched, in milliseconds.
const PAUSE: u64 = 180;

/// Whose words can be looked for: the role, and its name on a chip.
const ROLES: [(&str, &str); 3] = [("user", "You"), ("assistant", "Assistant"), ("tool", "Tools")];

/// The search. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Search {
    page: Page,
    found: RwSignal<Option<Arc<Found>>>,
    busy: RwSignal<bool>,
    failed: RwSignal<Option<String>>,
    role: RwSignal<String>,
    source: RwSignal<String>,
    /// Counts what was asked, so that a late answer does not replace a newer one.
    asked: StoredValue<usize>,
}

/// Whether words are enough to look for: two letters, or one of a script that has words of one.
fn enough(query: &str) -> bool {
    query.chars().nth(1).is_some() || !query.is_ascii()
}

impl Search {
    /// Begins to follow the filter.
    pub fn start(page: Page) -> Self {
        let search = Self {
            page,
            found: RwSignal::new(None),
            busy: RwSignal::new(false),
            failed: RwSignal::new(None),
            role: RwSignal::new(String::new()),
            source: RwSignal::new(String::new()),
            asked: StoredValue::new(0),
        };
        follow(move || search.changed());
        search
    }

    /// Something that decides what is found has changed: the words, the chips, or the threads.
    fn changed(self) {
        let query = self.page.threads.query.with(|query| query.trim().to_owned());
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
            if self.asked.get_value() == number {
                spawn_local(self.look(find, number));
            }
        };
        set_timeout(ask, Duration::from_millis(PAUSE));
    }

    /// Searches, and goes on as long as there are messages that are not indexed.
    async fn look(self, find: Find, number: usize) {
        let mut indexed = None;
        loop {
            let answer = self.page.engine.ask(Ask::Find(find.clone())).await;
            if self.asked.get_value() != number {
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
        self.page.threads.query.with(|query| enough(query.trim())) && !self.page.threads.none()
    }

    /// What stands below the filter while one searches: how it goes, and chips that limit it.
    pub fn bar(self) -> Node {
        let chip = move |(role, name): (&'static str, &'static str)| {
            let chosen = move || self.role.with(|now| now == role);
            markup!(
                r#"<button type="button" class="chip" data-testid={} aria-pressed={} onclick={}>{}</button>"#,
                format!("only-{role}"),
                live(move || chosen().to_string()),
                click(move || self.role.set(if untrack(chosen) { String::new() } else { role.to_owned() })),
                name,
            )
        };
        let view = move |active: &bool| {
            active.then(|| {
                markup!(
                    r#"
                    <div class="chips" role="group" aria-label="Only in messages of">{}{}</div>
                    <p class="search-state" role="status" data-testid="search-state">{}</p>"#,
                    ROLES.map(chip).to_vec(),
                    draw(move || self.sources(), move |sources| self.source_field(sources)),
                    live(move || self.words()),
                )
            })
        };
        markup!(r#"<div class="searching">{}</div>"#, draw(move || self.active(), view))
    }

    /// The kinds of archives that the threads come from; tracks.
    fn sources(self) -> Vec<String> {
        let mut sources: Vec<String> = self.page.threads.all.with(|all| {
            all.iter()
                .flat_map(|all| all.iter())
                .map(|info| info.source.clone())
                .filter(|one| !one.is_empty())
                .collect()
        });
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    fn source_field(self, sources: &[String]) -> Option<Node> {
        if sources.len() < 2 {
            return None;
        }
        let now = self.source.get_untracked();
        let option = |one: &String| {
            markup!(
                "<option value={} selected={}>{}</option>",
                one.clone(),
                *one == now,
                format::source(one).to_owned()
            )
        };
        let options: Vec<Node> = sources.iter().map(option).collect();
        Some(markup!(
            r#"
            <label class="sort">
                <span class="for-readers">Only from</span>
                <select data-testid="only-source" onchange={}><option value="">Any source</option>{}</select>
                <svg sign="down"/>
            </label>"#,
            on(move |event| self.source.set(dom::entered(&event))),
            options,
        ))
    }

    /// The hits. `active` is the position of the one that the keys are at, `open` opens one.
    pub fn hits(self, active: impl Fn() -> Option<usize> + 'static, open: impl Fn(usize) + Copy + 'static) -> Node {
        let each = rows(move |row| {
            let (active, route) = (active(), self.page.nav.route());
            let Some(found) = self.found.get() else { return };
            let others = found.hits.iter().position(|hit| hit.id.is_some());
            for (at, hit) in found.hits.iter().enumerate() {
                if others == Some(at) {
                    row("others".to_owned(), &mut || {
                        markup!(r#"<p class="hits-head" aria-hidden="true">In summaries and memory</p>"#)
                    });
                }
                let title = hit.transcript.as_ref().map(|thread| {
                    let info = self.page.threads.find(thread);
                    info.as_ref().map_or(list::UNTITLED, |info: &ThreadInfo| list::title(info)).to_owned()
                });
                let title = title.unwrap_or_else(|| "Memory".to_owned());
                let chosen = hit.id.is_none() && hit.node.is_some() && route.at == hit.node;
                let (active, id) =
                    (active == Some(at), hit.id.as_deref().or(hit.node.as_ref().map(|node| node.as_str())));
                let key = format!("{at} {active} {chosen} {id:?} {} {title}", hit.snippet.join("\u{0}"));
                row(key, &mut || hit_row(hit, at, title.clone(), active, chosen, move || open(at)));
            }
        });
        markup!(
            r#"
            <div role="group" aria-label="In messages" class="hits" hidden={}>
                <p class="hits-head" aria-hidden="true" hidden={}>In messages</p>
                <div data-testid="hits">{}</div>
            </div>"#,
            live(move || self.count() == 0),
            live(move || self.found.with(|found| found
                .as_ref()
                .is_none_or(|found| found.hits.first().is_none_or(|hit| hit.id.is_some())))),
            each,
        )
    }
}

fn hit_row(hit: &Hit, at: usize, title: String, active: bool, chosen: bool, open: impl Fn() + 'static) -> Node {
    let piece = |(at, text): (usize, &String)| -> Node {
        if at % 2 == 0 { dom::text(text) } else { dom::el("mark").text(text).into() }
    };
    let snippet: Vec<Node> = hit.snippet.iter().enumerate().map(piece).collect();
    let name = match hit.role.as_str() {
        SUMMARY => "Summary",
        EPISODE => "Episode",
        FACT => "Fact",
        role => pieces::role_label(role),
    };
    markup!(
        r#"
        <div class="hit" class:active={} role="option" id={} data-testid="hit" data-found={} data-node={} aria-selected={} onclick={}>
            <p class="thread-title" dir="auto">{}</p>
            <p class="hit-text" dir="auto">{}</p>
            <p class="thread-facts"><span class:found-kind={}>{}</span>{}<span class="source" data-testid="hit-why" title={}>{}</span></p>
        </div>"#,
        active,
        format!("hit-{at}"),
        if hit.id.is_some() { hit.role.clone() } else { "message".to_owned() },
        hit.node.as_ref().map(|node| node.to_string()).unwrap_or_default(),
        if chosen { "true" } else { "false" },
        click(open),
        title,
        snippet,
        hit.id.is_some(),
        name.to_owned(),
        hit.created_at.map(dom::time),
        hit.why.clone(),
        hit.why.clone(),
    )
}
