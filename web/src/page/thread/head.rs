//! The head of the open thread: its title, which can be changed in place, its facts, and what can be done with it.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Thread;
use crate::page::dom;
use crate::page::signs::Sign;
use crate::page::state::Dialog;
use crate::route::Route;
use crate::wire::Ask;
use crate::{format, list};

/// The head.
#[component]
pub fn ThreadHead(thread: Thread) -> impl IntoView {
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
