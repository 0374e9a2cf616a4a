//! The list of threads: filter, order, and a list box in which only the rows on the screen are built. Below the threads stand
//! the messages that have what is filtered for.

use leptos::html;
use leptos::prelude::*;
use web_sys::{KeyboardEvent, MouseEvent};

use super::basics::{Sign, Time, choices, drawn};
use super::dom;
use super::effects::{follow, soon};
use super::search::{Hits, Search, Searching};
use super::state::{Dialog, Page};
use super::theme::Colours;
use crate::format;
use crate::list::{self, Filter, Heading, Mark, Sort};
use crate::route::Route;
use crate::window::Heights;
use crate::wire::ThreadInfo;

/// The height of a row, as the style sheet has it.
const ROW: usize = 56;
/// The height of a heading.
const HEADING: usize = 28;
/// How many pixels above and below what is on the screen are built.
const MARGIN: f64 = 340.0;

/// The list. A handle: copies are the same.
#[derive(Clone, Copy)]
struct List {
    page: Page,
    search: Search,
    /// Which threads the filter leaves, in order; none while they have not been read.
    order: Memo<Option<Vec<usize>>>,
    /// The headings above some rows.
    headings: Memo<Vec<Heading>>,
    /// Where each row begins, its heading included.
    heights: Memo<Heights>,
    /// What is on the screen: from which pixel on, and how many.
    seen: RwSignal<(i32, i32)>,
    /// The row that the keys are at. Those after the threads are hits.
    active: RwSignal<usize>,
    field: NodeRef<html::Input>,
    scroller: NodeRef<html::Div>,
}

/// A thread's row.
#[derive(Clone)]
struct Row {
    key: String,
    info: ThreadInfo,
    at: usize,
    count: usize,
    /// How many pixels of the list are above it.
    top: usize,
    active: bool,
    selected: bool,
}

impl List {
    /// Begins to follow the threads and the address.
    fn start(page: Page) -> Self {
        let threads = page.threads;
        let order = Memo::new(move |_| {
            let sort = threads.sort.get();
            let (query, filter) = (threads.query.get(), threads.filter.get());
            threads.all.with(|all| all.as_ref().map(|all| list::arrange(all, &query, &filter, sort)))
        });
        let source = Memo::new(move |_| threads.filter.with(|filter| filter.source.clone()));
        let headings = Memo::new(move |_| {
            if threads.sort.get() != Sort::Newest {
                return Vec::new();
            }
            let times = |all: &[ThreadInfo], order: &[usize]| {
                let time = |at: &usize| all.get(*at).and_then(|info| info.updated_at);
                list::headings(order.iter().map(time), dom::now(), &dom::Local)
            };
            order.with(|order| {
                let order = order.as_deref().unwrap_or_default();
                threads.all.with(|all| all.as_ref().map(|all| times(all, order)).unwrap_or_default())
            })
        });
        let heights = Memo::new(move |_| {
            let mut rows = vec![ROW as f64; order.with(|order| order.as_ref().map_or(0, Vec::len))];
            headings.with(|headings| headings.iter().for_each(|heading| rows[heading.at] += HEADING as f64));
            Heights::new(rows)
        });
        let list = Self {
            page,
            search: Search::start(page, threads.query, source),
            order,
            headings,
            heights,
            seen: RwSignal::new((0, 900)),
            active: RwSignal::new(0),
            field: NodeRef::new(),
            scroller: NodeRef::new(),
        };
        follow(move || {
            order.track();
            page.resized.track();
            soon(move || list.measure());
        });
        follow(move || list.follow_route());
        list
    }

    /// Looks what is on the screen.
    fn measure(self) {
        if let Some(scroller) = self.scroller.get_untracked() {
            self.seen.set((scroller.scroll_top(), scroller.client_height()));
        }
    }

    /// How many threads are listed; tracks.
    fn count(self) -> usize {
        self.order.with(|order| order.as_ref().map_or(0, Vec::len))
    }

    /// The position of the hit that the keys are at; tracks.
    fn active_hit(self) -> Option<usize> {
        self.active.get().checked_sub(self.count())
    }

    /// What the thread pane shows is the active row, however it was opened; but for a hit, which stays so itself. Tracks.
    fn follow_route(self) {
        let route = self.page.nav.route();
        let hit = untrack(|| self.active_hit());
        if hit.and_then(|hit| self.search.thread(hit)).is_some_and(|thread| Some(thread) == route.transcript) {
            return;
        }
        let found = self.order.with(|order| {
            let order = order.as_ref()?;
            self.page.threads.all.with(|all| {
                let all = all.as_ref()?;
                let id = |at: &usize| all.get(*at).map(|info| &info.id);
                order.iter().position(|at| id(at) == route.transcript.as_ref())
            })
        });
        if let Some(found) = found {
            self.active.set(found);
        }
    }

    /// Opens a thread or a hit.
    fn open(self, at: usize) {
        if let Some(hit) = at.checked_sub(untrack(|| self.count())) {
            self.active.set(at);
            return self.search.open(hit);
        }
        let id = self.order.with_untracked(|order| {
            let place = *order.as_ref()?.get(at)?;
            self.page.threads.all.with_untracked(|all| Some(all.as_ref()?.get(place)?.id.clone()))
        });
        if let Some(id) = id {
            self.active.set(at);
            self.page.nav.go(Route::thread(id));
        }
    }

    /// A key in the filter or in the list.
    fn key(self, event: &KeyboardEvent) {
        let threads_here = untrack(|| self.count());
        let last = (threads_here + untrack(|| self.search.count())).saturating_sub(1);
        let now = self.active.get_untracked().min(last);
        let page_rows = (self.seen.get_untracked().1 as usize / ROW).max(1);
        let in_filter = dom::closest(event.target(), "input").is_some();
        let query = self.page.threads.query;
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "PageDown" => (now + page_rows).min(last),
            "PageUp" => now.saturating_sub(page_rows),
            "Home" if !in_filter => 0,
            "End" if !in_filter => last,
            "Escape" if query.with_untracked(|query| !query.is_empty()) => {
                event.prevent_default();
                if let Some(field) = self.field.get_untracked() {
                    field.set_value("");
                }
                self.active.set(0);
                return query.set(String::new());
            }
            "Enter" => {
                event.prevent_default();
                return self.open(now);
            }
            _ => return,
        };
        event.prevent_default();
        self.active.set(to);
        let Some(scroller) = self.scroller.get_untracked() else { return };
        match to.checked_sub(threads_here) {
            None => {
                let (top, height) = self.heights.with_untracked(|heights| (heights.top(to), heights.height(to)));
                dom::reveal(&scroller, top as usize, height as usize);
            }
            Some(hit) => {
                if let Some(hit) = dom::find(&format!("#hit-{hit}")) {
                    dom::reveal(&scroller, hit.offset_top() as usize, hit.offset_height() as usize);
                }
            }
        }
    }

    /// The rows that are on the screen, each with its key; tracks.
    fn rows(self) -> Vec<Row> {
        let (active, count, route) = (self.active.get(), self.count(), self.page.nav.route());
        let (scroll, height) = self.seen.get();
        let range = self.heights.with(|heights| heights.visible(scroll.into(), height.into(), MARGIN));
        let row = |at: usize, info: &ThreadInfo| {
            let (active, selected) = (active == at, route.transcript.as_ref() == Some(&info.id));
            let bottom = self.heights.with(|heights| heights.top(at + 1)) as usize;
            // All that the row may show is in its key.
            let key = format!("{at}/{count} {bottom} {active} {selected} {info:?}");
            Row { key, info: info.clone(), at, count, top: bottom - ROW, active, selected }
        };
        self.order.with(|order| {
            self.page.threads.all.with(|all| {
                let (Some(order), Some(all)) = (order, all) else { return Vec::new() };
                range.filter_map(|at| Some(row(at, all.get(*order.get(at)?)?))).collect()
            })
        })
    }

    /// The headings, and how many pixels of the list are above each; tracks.
    fn labels(self) -> Vec<(usize, String)> {
        let labels = |headings: &Vec<Heading>| {
            let top = |at| self.heights.with(|heights| heights.top(at)) as usize;
            headings.iter().map(|Heading { at, words }| (top(*at), words.clone())).collect()
        };
        self.headings.with(labels)
    }

    /// Says how many threads there are; tracks.
    fn tally(self) -> String {
        match (self.page.threads.all.with(|all| all.as_ref().map(|all| all.len())), self.count()) {
            (None, _) => String::new(),
            (Some(all), shown) if all == shown => format::plural(all as u64, "thread"),
            (Some(all), shown) => {
                // Hits may stand below, of threads whose titles say nothing of it.
                let what = if self.page.threads.query.with(String::is_empty) { "thread" } else { "title" };
                format!("{} of {}", format::count(shown as u64), format::plural(all as u64, what))
            }
        }
    }

    /// Something else is to be filtered for.
    fn filter(self, query: String) {
        self.page.threads.query.set(query);
        self.to_start();
    }

    /// Something else is listed: the first of it.
    fn to_start(self) {
        self.active.set(0);
        if let Some(scroller) = self.scroller.get_untracked() {
            scroller.set_scroll_top(0);
        }
    }

    /// The id of the row that the keys are at; tracks.
    fn active_id(self) -> Option<String> {
        match self.active_hit() {
            None => Some(format!("thread-{}", self.active.get())),
            Some(hit) => (hit < self.search.count()).then(|| format!("hit-{hit}")),
        }
    }

    /// Whether a filter leaves nothing; tracks.
    fn is_in_vain(self) -> bool {
        let threads = self.page.threads;
        let filtered =
            !threads.query.with(String::is_empty) || threads.filter.with(|filter| *filter != Filter::default());
        self.count() == 0 && self.search.in_vain() && filtered && !threads.none()
    }
}

/// The left pane: filter and list.
#[component]
pub fn Pane(page: Page) -> impl IntoView {
    let list = List::start(page);
    view! {
        <Filters list/>
        <div
            class="thread-list"
            id="thread-list"
            role="listbox"
            tabindex="0"
            aria-label="Threads"
            data-testid="thread-list"
            aria-activedescendant=move || list.active_id()
            node_ref=list.scroller
            on:scroll=move |_| list.measure()
            on:keydown=move |event| list.key(&event)
        >
            <div class="thread-rows" style:height=move || dom::px(list.heights.with(Heights::total))>
                <For each=move || list.labels() key=|(top, words)| format!("{top} {words}") children=label/>
                <For
                    each=move || list.rows()
                    key=|row| row.key.clone()
                    children=move |row| view! { <ThreadRow list row/> }
                />
            </div>
            <Hits
                search=list.search
                active=move || list.active_hit()
                open=move |hit| list.open(untrack(|| list.count()) + hit)
            />
            <Show when=move || list.is_in_vain()>
                <p class="no-match">"Nothing matches."</p>
            </Show>
        </div>
    }
}

/// What stands above the list: the filter, the order, and what limits the search.
#[component]
fn Filters(list: List) -> impl IntoView {
    let threads = list.page.threads;
    let orders = Sort::ALL.into_iter().map(|one| (one.key(), one.label()));
    let chosen = threads.sort.get_untracked().key();
    view! {
        <div class="filters">
            <label class="filter">
                <Sign name="search"/>
                <span class="for-readers">"Search threads and messages"</span>
                <input
                    type="search"
                    placeholder="Search threads and messages"
                    data-testid="filter"
                    autocomplete="off"
                    spellcheck="false"
                    aria-controls="thread-list"
                    node_ref=list.field
                    on:input=move |event| list.filter(event_target_value(&event))
                    on:keydown=move |event| list.key(&event)
                />
            </label>
            <div class="order">
                <span class="tally" role="status" data-testid="tally">{move || list.tally()}</span>
                <label class="sort">
                    <span class="for-readers">"Order"</span>
                    <select data-testid="sort" on:change=move |event| threads.order(Sort::of(&event_target_value(&event)))>
                        {choices(orders, chosen)}
                    </select>
                    <Sign name="down"/>
                </label>
            </div>
            <Kinds list/>
            <Searching search=list.search/>
        </div>
    }
}

/// Which kinds of threads are listed, and searched. Each choice is there where it tells threads apart.
#[component]
fn Kinds(list: List) -> impl IntoView {
    let threads = list.page.threads;
    let any = move |is: fn(&ThreadInfo) -> bool| threads.all.with(|all| all.iter().flat_map(|all| all.iter()).any(is));
    let names = move |of: fn(&[ThreadInfo]) -> Vec<String>| {
        Memo::new(move |_| threads.all.with(|all| all.as_ref().map(|all| of(all)).unwrap_or_default()))
    };
    let (sources, models) = (names(list::sources), names(list::models));
    let branched = Memo::new(move |_| threads.filter.with(|filter| filter.branched) || any(|info| info.branches > 1));
    let pictured = Memo::new(move |_| threads.filter.with(|filter| filter.pictured) || any(|info| info.images > 0));
    view! {
        <div class="chips" role="group" aria-label="Only threads">
            <Flag list there=branched name="only-branched" words="With branches" flag=|filter| &mut filter.branched/>
            <Flag list there=pictured name="only-pictured" words="With images" flag=|filter| &mut filter.pictured/>
            <OneOf list names=sources name="only-source" label="Only from" any="Any source" word=format::source one=|filter| &mut filter.source/>
            <OneOf list names=models name="only-model" label="Only with answers of" any="Any model" word=|name| name one=|filter| &mut filter.model/>
        </div>
    }
}

/// A button for threads that have something.
#[component]
fn Flag(
    list: List,
    there: Memo<bool>,
    name: &'static str,
    words: &'static str,
    flag: fn(&mut Filter) -> &mut bool,
) -> impl IntoView {
    let filter = list.page.threads.filter;
    let turn = move |_| {
        filter.update(|filter| *flag(filter) = !*flag(filter));
        list.to_start();
    };
    let pressed = move || (*flag(&mut filter.get())).to_string();
    view! {
        <Show when=move || there.get()>
            <button type="button" class="chip" data-testid=name aria-pressed=pressed on:click=turn>{words}</button>
        </Show>
    }
}

/// A choice among the names that threads have.
#[component]
fn OneOf(
    list: List,
    names: Memo<Vec<String>>,
    name: &'static str,
    label: &'static str,
    any: &'static str,
    word: fn(&str) -> &str,
    one: fn(&mut Filter) -> &mut String,
) -> impl IntoView {
    let filter = list.page.threads.filter;
    let chosen = move || std::mem::take(one(&mut filter.get_untracked()));
    follow(move || {
        // The last thread that has it is gone.
        let gone = names.with(|names| !names.contains(&chosen()));
        if gone && !chosen().is_empty() {
            filter.update(|filter| one(filter).clear());
        }
    });
    let choose = move |event| {
        filter.update(|filter| *one(filter) = event_target_value(&event));
        list.to_start();
    };
    move || {
        let (names, now) = (names.get(), chosen());
        let option = |name: String| {
            let (words, selected) = (drawn(word(&name)), name == now);
            view! { <option value=name selected=selected>{words}</option> }
        };
        (names.len() > 1).then(|| {
            view! {
                <label class="sort">
                    <span class="for-readers">{label}</span>
                    <select data-testid=name on:change=choose>
                        <option value="">{any}</option>
                        {names.into_iter().map(option).collect_view()}
                    </select>
                    <Sign name="down"/>
                </label>
            }
        })
    }
}

/// One thread.
#[component]
fn ThreadRow(list: List, row: Row) -> impl IntoView {
    let Row { info, at, count, top, active, selected, .. } = row;
    let title = list::title(&info).to_owned();
    let id = info.id.clone();
    let open = move |event: MouseEvent| {
        if event.ctrl_key() || event.meta_key() {
            let address = Route::thread(id.clone()).fragment();
            let _ = leptos::prelude::window().open_with_url_and_target(&address, "_blank");
        } else {
            list.open(at);
        }
    };
    view! {
        <div
            class="thread-row"
            class:active=active
            role="option"
            id=format!("thread-{at}")
            data-testid="thread-row"
            data-transcript=info.id.to_string()
            aria-selected=if selected { "true" } else { "false" }
            aria-setsize=count.to_string()
            aria-posinset=(at + 1).to_string()
            style:top=format!("{top}px")
            on:click=open
        >
            <p class="thread-title" dir="auto" title=title.clone()>{drawn(&title)}</p>
            <p class="thread-facts">
                {info.updated_at.map(|at| view! { <Time at=at/> })}
                {list::marks(&info).into_iter().map(mark).collect_view()}
                <span class="source">{drawn(format::source(&info.source))}</span>
            </p>
        </div>
    }
}

/// A heading, so many pixels below the first.
fn label((top, words): (usize, String)) -> impl IntoView {
    view! {
        <p class="thread-heading" aria-hidden="true" data-testid="thread-heading" style:top=format!("{top}px")>{words}</p>
    }
}

/// A sign with a short text.
fn mark(Mark { class, sign, text, noun, title }: Mark) -> impl IntoView {
    view! {
        <span class=format!("thread-mark {class}") title=title>
            <Sign name=sign/>
            {text}
            <span class="for-readers">{format!(" {noun}")}</span>
        </span>
    }
}

/// The foot of the left pane: what is stored, and the way to everything about it.
#[component]
pub fn Foot(page: Page) -> impl IntoView {
    let stored = move || match page.threads.stats.get() {
        Some(stats) => ["Storage and privacy: ", &format::plural(stats.messages, "message")].concat(),
        None => "Storage and privacy".to_owned(),
    };
    let memory = Dialog::Memory(None);
    view! {
        <Way page id="memory" sign="memory" name="Memory" about="What is remembered: episodes and facts" to=memory/>
        <Way page id="connections-open" sign="plug" name="Models" about="Models to talk to" to=Dialog::Connections/>
        <Way page id="storage" sign="disk" name="Storage" about=Signal::derive(stored) to=Dialog::Storage/>
        <button
            type="button"
            class="quiet"
            data-testid="export"
            title="Export everything"
            disabled=move || page.threads.none()
            on:click=move |_| page.export_soon(None)
        >
            <Sign name="export"/>
            <span>"Export"</span>
        </button>
        <Way page id="keys" sign="keys" name="Keys" about="Keys of this page" to=Dialog::Keys/>
        <Colours/>
    }
}

/// A button that opens a dialog.
#[component]
fn Way(
    page: Page,
    id: &'static str,
    sign: &'static str,
    name: &'static str,
    #[prop(into)] about: Signal<String>,
    to: Dialog,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="quiet"
            data-testid=id
            title=move || about.get()
            on:click=move |_| page.dialog.set(Some(to.clone()))
        >
            <Sign name=sign/>
            <span>{name}</span>
        </button>
    }
}
