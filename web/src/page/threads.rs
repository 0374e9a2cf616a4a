//! The list of threads: filter, order, and a list box in which only the rows on the screen are built.

use leptos::ev;
use leptos::html;
use leptos::prelude::*;

use super::dom;
use super::signs::Sign;
use super::state::{Dialog, Page};
use crate::list::{self, Sort};
use crate::route::Route;
use crate::wire::ThreadInfo;
use crate::{format, window};

/// The height of a row, as the style sheet has it.
const ROW: f64 = 56.0;

/// The left pane: name, filter, list, storage.
#[component]
pub fn ThreadsPane() -> impl IntoView {
    let page = Page::of_context();
    let threads = page.threads;
    let order = Memo::new(move |_| {
        let sort = threads.sort.get();
        threads.query.with(|query| threads.all.with(|all| all.as_ref().map(|all| list::arrange(all, query, sort))))
    });
    let scroller = NodeRef::<html::Div>::new();
    let scroll = RwSignal::new(0.0);
    let height = RwSignal::new(900.0);
    let active = RwSignal::new(0_usize);
    let measure = move || {
        if let Some(scroller) = scroller.get_untracked() {
            scroll.set(f64::from(scroller.scroll_top()));
            height.set(f64::from(scroller.client_height()));
        }
    };
    std::mem::forget(window_event_listener(ev::resize, move |_| measure()));
    Effect::new(move |_| {
        order.track();
        if scroller.get().is_some() {
            measure();
        }
    });
    let count = move || order.with(|order| order.as_ref().map_or(0, Vec::len));
    let range = Memo::new(move |_| window::fixed(count(), ROW, scroll.get(), height.get(), 6));
    // What the thread pane shows is the active row, however it was opened.
    Effect::new(move |_| {
        let route = page.nav.route();
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
    let rows = move || {
        let range = range.get();
        order.with(|order| {
            threads.all.with(|all| {
                let (Some(order), Some(all)) = (order, all) else { return Vec::new() };
                let get = |at: usize| Some((at, all.get(*order.get(at)?)?.clone()));
                range.filter_map(get).collect::<Vec<_>>()
            })
        })
    };
    let reveal = move |at: usize| {
        active.set(at);
        if let Some(scroller) = scroller.get_untracked() {
            let (top, view) = (at as f64 * ROW, f64::from(scroller.client_height()));
            let now = f64::from(scroller.scroll_top());
            if top < now {
                scroller.set_scroll_top(top as i32);
            } else if top + ROW > now + view {
                scroller.set_scroll_top((top + ROW - view) as i32);
            }
        }
    };
    let open = move |at: usize| {
        let id = order.with_untracked(|order| {
            let place = *order.as_ref()?.get(at)?;
            threads.all.with_untracked(|all| Some(all.as_ref()?.get(place)?.id.clone()))
        });
        if let Some(id) = id {
            active.set(at);
            page.nav.go(Route::thread(id));
        }
    };
    let keys = move |event: ev::KeyboardEvent| {
        let last = count().saturating_sub(1);
        let now = active.get_untracked().min(last);
        let page_rows = ((height.get_untracked() / ROW) as usize).max(1);
        let in_filter = dom::closest(event.target(), "input").is_some();
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "PageDown" => (now + page_rows).min(last),
            "PageUp" => now.saturating_sub(page_rows),
            "Home" if !in_filter => 0,
            "End" if !in_filter => last,
            "Enter" => {
                event.prevent_default();
                return open(now);
            }
            _ => return,
        };
        event.prevent_default();
        reveal(to);
    };
    let row_id = |at: usize| format!("thread-{at}");
    let status = move || match (threads.all.with(|all| all.as_ref().map(|all| all.len())), count()) {
        (None, _) => String::new(),
        (Some(all), shown) if all == shown => format::plural(all as u64, "thread"),
        (Some(all), shown) => format!("{} of {}", format::count(shown as u64), format::plural(all as u64, "thread")),
    };
    view! {
        <div class="filters">
            <label class="filter">
                <Sign name="search" />
                <span class="for-readers">"Filter threads"</span>
                <input
                    type="search"
                    placeholder="Filter threads"
                    data-testid="filter"
                    autocomplete="off"
                    spellcheck="false"
                    aria-controls="thread-list"
                    prop:value=move || threads.query.get()
                    on:input=move |event| {
                        threads.query.set(event_target_value(&event));
                        active.set(0);
                        if let Some(scroller) = scroller.get_untracked() {
                            scroller.set_scroll_top(0);
                        }
                    }
                    on:keydown=keys
                />
            </label>
            <div class="order">
                <span class="tally" role="status" data-testid="tally">{status}</span>
                <label class="sort">
                    <span class="for-readers">"Order"</span>
                    <select
                        data-testid="sort"
                        on:change=move |event| threads.order(Sort::of(&event_target_value(&event)))
                    >
                        {Sort::ALL
                            .into_iter()
                            .map(|sort| {
                                view! {
                                    <option value=sort.key() prop:selected=move || threads.sort.get() == sort>
                                        {sort.label()}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                    <Sign name="down" />
                </label>
            </div>
        </div>
        <div
            class="thread-list"
            id="thread-list"
            role="listbox"
            tabindex="0"
            aria-label="Threads"
            data-testid="thread-list"
            aria-activedescendant=move || (count() > 0).then(|| row_id(active.get()))
            node_ref=scroller
            on:scroll=move |_| measure()
            on:keydown=keys
        >
            <div class="thread-rows" style:height=move || format!("{}px", count() as f64 * ROW)>
                <For
                    each=rows
                    key=|(at, info)| (*at, info.id.clone(), info.updated_at, info.messages, info.title.clone())
                    children=move |(at, info)| {
                        let id = info.id.clone();
                        let selected = Memo::new(move |_| page.nav.route().transcript.as_ref() == Some(&id));
                        view! {
                            <ThreadRow
                                info
                                at
                                count=Signal::derive(count)
                                active=Signal::derive(move || active.get() == at)
                                selected
                                open=Callback::new(open)
                            />
                        }
                    }
                />
            </div>
            <Show when=move || { count() == 0 && !threads.query.with(String::is_empty) && !threads.none() }>
                <p class="no-match">"No thread matches."</p>
            </Show>
        </div>
    }
}

#[component]
fn ThreadRow(
    info: ThreadInfo,
    at: usize,
    count: Signal<usize>,
    active: Signal<bool>,
    selected: Memo<bool>,
    open: Callback<usize>,
) -> impl IntoView {
    let title = list::title(&info).to_owned();
    let id = info.id.clone();
    let time = info.updated_at.map(|time| {
        view! {
            <time datetime=dom::machine(time) title=dom::exact(time)>
                {format::ago(time, dom::now())}
            </time>
        }
    });
    let branches = (info.branches > 1).then(|| {
        view! {
            <span class="branches" title=format::plural(info.branches.into(), "branch")>
                <Sign name="map" />
                {format::count(info.branches.into())}
                <span class="for-readers">" branches"</span>
            </span>
        }
    });
    view! {
        <div
            class="thread-row"
            class:active=active
            role="option"
            id=format!("thread-{at}")
            data-testid="thread-row"
            data-transcript=id.to_string()
            aria-selected=move || selected.get().to_string()
            aria-setsize=move || count.get().to_string()
            aria-posinset=(at + 1).to_string()
            style:top=format!("{}px", at as f64 * ROW)
            on:click=move |event| {
                if event.ctrl_key() || event.meta_key() {
                    let _ = window().open_with_url_and_target(&Route::thread(id.clone()).fragment(), "_blank");
                } else {
                    open.run(at);
                }
            }
        >
            <p class="thread-title" dir="auto" title=title.clone()>{title.clone()}</p>
            <p class="thread-facts">
                {time}
                <span class="messages" title=format::plural(info.messages.into(), "message")>
                    <Sign name="message" />
                    {format::count(info.messages.into())}
                    <span class="for-readers">" messages"</span>
                </span>
                {branches}
                <span class="source">{format::source(&info.source).to_owned()}</span>
            </p>
        </div>
    }
}

/// The foot of the left pane: what is stored, and the way to everything about it.
#[component]
pub fn ThreadsFoot() -> impl IntoView {
    let page = Page::of_context();
    let words = move || match page.threads.stats.get() {
        Some(stats) => format::plural(stats.messages, "message"),
        None => "…".to_owned(),
    };
    view! {
        <button
            type="button"
            class="quiet"
            data-testid="storage"
            title="Storage and privacy"
            on:click=move |_| page.dialog.set(Some(Dialog::Storage))
        >
            <Sign name="disk" />
            <span>{words}</span>
        </button>
        <button
            type="button"
            class="icon"
            data-testid="export"
            title="Export everything"
            aria-label="Export everything"
            disabled=move || page.threads.none()
            on:click=move |_| {
                leptos::task::spawn_local(async move {
                    page.export(None).await;
                });
            }
        >
            <Sign name="export" />
        </button>
        <button
            type="button"
            class="icon"
            title="Keys"
            aria-label="Keys"
            on:click=move |_| page.dialog.set(Some(Dialog::Keys))
        >
            <Sign name="keys" />
        </button>
        <super::theme::ThemeButton />
    }
}
