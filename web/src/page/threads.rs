//! The list of threads: filter, order, and a list box in which only the rows on the screen are built. Below the threads stand
//! the messages that have what is filtered for.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, MouseEvent, Node};

use super::search::Search;
use super::state::{Dialog, Page};
use super::view::{Slot, Spot, click, draw, follow, live, markup, on, rows, soon};
use super::{dom, theme};
use crate::list::{self, Mark, Sort};
use crate::route::Route;
use crate::wire::ThreadInfo;
use crate::{format, window};

/// The height of a row, as the style sheet has it.
const ROW: usize = 56;

/// The left pane: name, filter, list, storage.
pub fn pane(page: Page) -> Node {
    let threads = page.threads;
    let order = Memo::new(move |_| {
        let sort = threads.sort.get();
        threads.query.with(|query| threads.all.with(|all| all.as_ref().map(|all| list::arrange(all, query, sort))))
    });
    let scroller = Spot::new();
    // What is on the screen: from which pixel on, and how many.
    let seen = RwSignal::new((0, 900));
    let active = RwSignal::new(0_usize);
    let search = Search::start(page);
    let measure = move || {
        if let Some(scroller) = scroller.get() {
            seen.set((scroller.scroll_top(), scroller.client_height()));
        }
    };
    follow(move || {
        order.track();
        page.resized.track();
        soon(measure);
    });
    let count = move || order.with(|order| order.as_ref().map_or(0, Vec::len));
    let range = move || {
        let (scroll, height) = seen.get();
        window::fixed(count(), ROW as f64, scroll.into(), height.into(), 6)
    };
    // What the thread pane shows is the active row, however it was opened; but for a hit, which stays so itself.
    follow(move || {
        let route = page.nav.route();
        let hit = active.get_untracked().checked_sub(untrack(count));
        if hit.and_then(|hit| search.thread(hit)).is_some_and(|thread| Some(thread) == route.transcript) {
            return;
        }
        let found = order.with(|order| {
            let order = order.as_ref()?;
            threads.all.with(|all| {
                let all = all.as_ref()?;
                order.iter().position(|at| Some(&all[*at].id) == route.transcript.as_ref())
            })
        });
        if let Some(found) = found {
            active.set(found);
        }
    });
    let open = move |at: usize| {
        if let Some(hit) = at.checked_sub(untrack(count)) {
            active.set(at);
            return search.open(hit);
        }
        let id = order.with_untracked(|order| {
            let place = *order.as_ref()?.get(at)?;
            threads.all.with_untracked(|all| Some(all.as_ref()?.get(place)?.id.clone()))
        });
        if let Some(id) = id {
            active.set(at);
            page.nav.go(Route::thread(id));
        }
    };
    let keys = move |event: Event| {
        let event: KeyboardEvent = event.unchecked_into();
        let threads_here = untrack(count);
        let last = (threads_here + untrack(|| search.count())).saturating_sub(1);
        let now = active.get_untracked().min(last);
        let page_rows = (seen.get_untracked().1 as usize / ROW).max(1);
        let in_filter = dom::closest(event.target(), "input").is_some();
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "PageDown" => (now + page_rows).min(last),
            "PageUp" => now.saturating_sub(page_rows),
            "Home" if !in_filter => 0,
            "End" if !in_filter => last,
            "Escape" if threads.query.with_untracked(|query| !query.is_empty()) => {
                event.prevent_default();
                if let Some(field) = dom::find(".filter input") {
                    field.unchecked_into::<HtmlInputElement>().set_value("");
                }
                active.set(0);
                return threads.query.set(String::new());
            }
            "Enter" => {
                event.prevent_default();
                return open(now);
            }
            _ => return,
        };
        event.prevent_default();
        active.set(to);
        let Some(scroller) = scroller.get() else { return };
        match to.checked_sub(threads_here) {
            None => dom::reveal(&scroller, to * ROW, ROW),
            Some(hit) => {
                if let Some(hit) = dom::find(&format!("#hit-{hit}")) {
                    dom::reveal(&scroller, hit.offset_top() as usize, hit.offset_height() as usize);
                }
            }
        }
    };
    let each = rows(move |row| {
        let (active, count, route) = (active.get(), count(), page.nav.route());
        order.with(|order| {
            threads.all.with(|all| {
                let (Some(order), Some(all)) = (order, all) else { return };
                for at in range() {
                    let Some(info) = order.get(at).and_then(|place| all.get(*place)) else { continue };
                    let (active, selected) = (active == at, route.transcript.as_ref() == Some(&info.id));
                    // All that the row may show is in its key.
                    let key = format!("{at}/{count} {active} {selected} {info:?}");
                    let opened = move || open(at);
                    row(key, &mut || thread_row(info, at, count, active, selected, opened));
                }
            });
        });
    });
    let status = move || match (threads.all.with(|all| all.as_ref().map(|all| all.len())), count()) {
        (None, _) => String::new(),
        (Some(all), shown) if all == shown => format::plural(all as u64, "thread"),
        (Some(all), shown) => format!("{} of {}", format::count(shown as u64), format::plural(all as u64, "thread")),
    };
    let filtered = move |event: Event| {
        threads.query.set(dom::entered(&event));
        active.set(0);
        if let Some(scroller) = scroller.get() {
            scroller.set_scroll_top(0);
        }
    };
    let sort = threads.sort.get_untracked();
    let option = |one: Sort| markup!("<option value={} selected={}>{}</option>", one.key(), one == sort, one.label());
    let no_match = move || count() == 0 && search.in_vain() && !threads.query.with(String::is_empty) && !threads.none();
    markup!(
        r#"
        <div class="filters">
            <label class="filter">
                <svg sign="search"/>
                <span class="for-readers">Search threads and messages</span>
                <input
                    type="search"
                    placeholder="Search threads and messages"
                    data-testid="filter"
                    autocomplete="off"
                    spellcheck="false"
                    aria-controls="thread-list"
                    oninput={}
                    onkeydown={}
                />
            </label>
            <div class="order">
                <span class="tally" role="status" data-testid="tally">{}</span>
                <label class="sort">
                    <span class="for-readers">Order</span>
                    <select data-testid="sort" onchange={}>{}</select>
                    <svg sign="down"/>
                </label>
            </div>
            {}
        </div>
        <div
            class="thread-list"
            id="thread-list"
            role="listbox"
            tabindex="0"
            aria-label="Threads"
            data-testid="thread-list"
            aria-activedescendant={}
            ref={}
            onscroll={}
            onkeydown={}
        >
            <div class="thread-rows" style:height={}>{}</div>
            {}{}
        </div>"#,
        on(filtered),
        on(keys),
        live(status),
        on(move |event| threads.order(Sort::of(&dom::entered(&event)))),
        Sort::ALL.map(option).to_vec(),
        search.bar(),
        live(move || {
            let (at, count) = (active.get(), count());
            match at.checked_sub(count) {
                None => Some(format!("thread-{at}")),
                Some(hit) => (hit < search.count()).then(|| format!("hit-{hit}")),
            }
        }),
        scroller,
        click(measure),
        on(keys),
        live(move || format!("{}px", count() * ROW)),
        each,
        search.hits(move || active.get().checked_sub(count()), open),
        draw(no_match, |shown| shown.then(|| markup!(r#"<p class="no-match">Nothing matches.</p>"#))),
    )
}

fn thread_row(
    info: &ThreadInfo,
    at: usize,
    count: usize,
    active: bool,
    selected: bool,
    open: impl Fn() + 'static,
) -> Node {
    let title = list::title(info).to_owned();
    let id = info.id.clone();
    let clicked = move |event: Event| {
        let event: MouseEvent = event.unchecked_into();
        if event.ctrl_key() || event.meta_key() {
            let _ = leptos::prelude::window().open_with_url_and_target(&Route::thread(id.clone()).fragment(), "_blank");
        } else {
            open();
        }
    };
    markup!(
        r#"
        <div
            class="thread-row"
            class:active={}
            role="option"
            id={}
            data-testid="thread-row"
            data-transcript={}
            aria-selected={}
            aria-setsize={}
            aria-posinset={}
            style:top={}
            onclick={}
        >
            <p class="thread-title" dir="auto" title={}>{}</p>
            <p class="thread-facts">
                {}
                {}
                <span class="source">{}</span>
            </p>
        </div>"#,
        active,
        format!("thread-{at}"),
        info.id.to_string(),
        if selected { "true" } else { "false" },
        count.to_string(),
        (at + 1).to_string(),
        format!("{}px", at * ROW),
        on(clicked),
        title.clone(),
        title,
        info.updated_at.map(dom::time),
        list::marks(info).into_iter().map(mark).collect::<Vec<_>>(),
        format::source(&info.source).to_owned(),
    )
}

fn mark(Mark { class, sign, text, noun, title }: Mark) -> Node {
    markup!(
        r#"<span class={} title={}><svg sign={}/>{}<span class="for-readers">{}</span></span>"#,
        format!("thread-mark {class}"),
        title,
        sign,
        text,
        format!(" {noun}"),
    )
}

/// The foot of the left pane: what is stored, and the way to everything about it.
pub fn foot(page: Page) -> Node {
    let stats = move || match page.threads.stats.get() {
        Some(stats) => ["Storage and privacy: ", &format::plural(stats.messages, "message")].concat(),
        None => "Storage and privacy".to_owned(),
    };
    let line = |id: &'static str, sign: &'static str, name: &'static str, about: Slot, open: Dialog| {
        markup!(
            r#"
            <button type="button" class="quiet" data-testid={} title={} onclick={}>
                <svg sign={}/>
                <span>{}</span>
            </button>"#,
            id,
            about,
            click(move || page.dialog.set(Some(open.clone()))),
            sign,
            name,
        )
    };
    markup!(
        r#"
        {}{}{}
        <button type="button" class="quiet" data-testid="export" title="Export everything" disabled={} onclick={}>
            <svg sign="export"/>
            <span>Export</span>
        </button>
        {}{}"#,
        line("memory", "memory", "Memory", "What is remembered: episodes and facts".into(), Dialog::Memory(None)),
        line("connections-open", "plug", "Models", "Models to talk to".into(), Dialog::Connections),
        line("storage", "disk", "Storage", live(stats), Dialog::Storage),
        live(move || page.threads.none()),
        click(move || page.export_soon(None)),
        line("keys", "keys", "Keys", "Keys of this page".into(), Dialog::Keys),
        theme::button(),
    )
}
