//! The head of the open thread: its title, which can be changed in place, its facts, and what can be done with it.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::KeyboardEvent;

use super::state::Thread;
use crate::beside::Side;
use crate::page::basics::{IconButton, Sign, Time, drawn};
use crate::page::bin;
use crate::page::effects::{follow, soon};
use crate::page::sides::test_id;
use crate::page::state::{Dialog, Page};
use crate::route::Route;
use crate::wire::{Ask, Removed, ThreadInfo};
use crate::{format, list};

/// What is known of the open thread; tracks. The list is newer than the outline once the title has changed.
fn info(thread: Thread) -> Option<ThreadInfo> {
    let open = thread.open.get()?;
    thread.page.threads.find(&open.info.id).or(Some(open.info))
}

/// The title; tracks.
fn title(thread: Thread) -> String {
    info(thread).map(|info| list::title(&info).to_owned()).unwrap_or_default()
}

/// The head.
#[component]
pub fn Head(thread: Thread) -> impl IntoView {
    let page = thread.page;
    follow(move || document().set_title(&format!("{} · Threadkeep", title(thread))));
    on_cleanup(|| document().set_title("Threadkeep"));
    let rows = move || thread.open.with(|open| open.as_ref().map_or(0, |open| open.rows));
    let facts = Memo::new(move |_| (info(thread), rows()));
    let damage = move || thread.open.with(|open| open.as_ref().and_then(|open| open.damage.clone()));
    view! {
        <p class="for-readers phone-heading" role="heading" prop:ariaLevel="1">"Threadkeep"</p>
        <header class="thread-head">
            <IconButton class="icon back" sign="back" words="All threads" testid="back" press=move |()| page.nav.go(Route::default())/>
            <div class="thread-name">
                <Name thread/>
                <p class="thread-facts">
                    {move || {
                        let (info, rows) = facts.get();
                        info.map(|info| view! { <Facts info rows/> })
                    }}
                </p>
            </div>
            <Acts thread/>
        </header>
        {move || {
            damage().map(|damage| {
                view! {
                    <p class="damage" role="note">
                        <Sign name="warning"/>
                        <span>
                            "Part of this branch is missing: "{drawn(&damage)}". What can still be reached is shown."
                        </span>
                    </p>
                }
            })
        }}
    }
}

/// The title, or the field in which it is changed.
#[component]
fn Name(thread: Thread) -> impl IntoView {
    let editing = RwSignal::new(false);
    move || {
        if editing.get() {
            view! { <Field thread editing/> }.into_any()
        } else {
            view! {
                <h2 dir="auto" title=move || title(thread) data-testid="title">{move || drawn(&title(thread))}</h2>
                <IconButton sign="edit" words="Rename" testid="rename" press=move |()| editing.set(true)/>
            }
            .into_any()
        }
    }
}

#[component]
fn Field(thread: Thread, editing: RwSignal<bool>) -> impl IntoView {
    let page = thread.page;
    let input = NodeRef::<html::Input>::new();
    soon(move || {
        if let Some(input) = input.get_untracked() {
            let _ = input.focus();
            input.select();
        }
    });
    let rename = move || {
        // The browser sends blur too when the field is taken away; then there is nothing to store any more.
        let Some(input) = input.try_get_untracked().flatten().filter(|_| editing.try_get_untracked() == Some(true))
        else {
            return;
        };
        let text = input.value().trim().to_owned();
        editing.set(false);
        let Some(ThreadInfo { id, .. }) = untrack(|| info(thread)) else { return };
        if text == untrack(|| title(thread)) {
            return;
        }
        spawn_local(async move {
            match page.engine.ask(Ask::Rename { transcript: id, title: text }).await {
                Ok(_) => page.threads.refresh().await,
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    let key = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => rename(),
        "Escape" => editing.set(false),
        _ => {}
    };
    view! {
        <input
            class="rename"
            data-testid="rename-input"
            aria-label="Title"
            value=untrack(|| title(thread))
            node_ref=input
            on:blur=move |_| rename()
            on:keydown=key
        />
    }
}

/// What can be done with the thread, and shown beside it.
#[component]
fn Acts(thread: Thread) -> impl IntoView {
    let page = thread.page;
    let compact = move || page.dialog.set(page.leaf.get_untracked().map(Dialog::Compact));
    let check = move || {
        let transcript = untrack(|| info(thread)).map(|info| info.id);
        let branch = transcript.zip(page.leaf.get_untracked());
        page.dialog.set(branch.map(|(transcript, leaf)| Dialog::Check { transcript, leaf }));
    };
    let delete = move || {
        if let Some(info) = untrack(|| info(thread)) {
            bin::delete(page, Removed { transcript: info.id, node: None });
        }
    };
    let export = move || page.export_soon(untrack(|| info(thread)));
    let share = move || page.dialog.set(untrack(|| info(thread)).map(|info| Dialog::Share(Box::new(info))));
    view! {
        <div class="thread-acts">
            <Show when=move || page.sides.shown().is_empty()>
                <Opener page side=Side::Context sign="gauge" about="Context: what a model would see"/>
                <Opener page side=Side::Requests sign="rules" about="Requests: what models were sent"/>
                <Opener page side=Side::Map sign="map" about="Map of the branches"/>
            </Show>
            <button
                type="button"
                class="icon more"
                title="More"
                aria-label="More"
                data-testid="more"
                popovertarget="thread-more"
            >
                <Sign name="more"/>
            </button>
            <div class="more-acts" id="thread-more" popover>
                <Details page/>
                <Act id="compact" sign="fold" words="Compact this branch…" press=Callback::new(move |()| compact())/>
                <Act id="check-branch" sign="check" words="Check this branch…" press=Callback::new(move |()| check())/>
                <Act id="share-thread" sign="share" words="Share this thread…" press=Callback::new(move |()| share())/>
                <Act id="export-thread" sign="export" words="Export this thread" press=Callback::new(move |()| export())/>
                <Act id="delete-thread" sign="trash" words="Delete this thread" press=Callback::new(move |()| delete())/>
            </div>
        </div>
    }
}

/// A button that opens a panel beside the thread, where it becomes a tab.
#[component]
fn Opener(page: Page, side: Side, sign: &'static str, about: &'static str) -> impl IntoView {
    view! {
        <button
            type="button"
            class="quiet"
            data-testid=test_id(side)
            title=about
            aria-label=side.name()
            on:click=move |_| page.sides.open(side)
        >
            <Sign name=sign/>
            <span class="wide-only">{side.name()}</span>
        </button>
    }
}

/// The switch for the details of each message: its depth in its reply chain, its turn, its id.
#[component]
fn Details(page: Page) -> impl IntoView {
    let words = "Show depth, turn and id of messages";
    view! {
        <button
            type="button"
            class="icon"
            title=words
            aria-label=words
            aria-pressed=move || page.details.get().to_string()
            data-testid="details"
            on:click=move |_| page.turn_details()
        >
            <Sign name="depth"/>
            <span class="menu-only">{words}</span>
        </button>
    }
}

/// A button that shows a sign, and in the menu of a phone its words too. A press there closes the menu.
#[component]
fn Act(id: &'static str, sign: &'static str, words: &'static str, press: Callback<()>) -> impl IntoView {
    view! {
        <button
            type="button"
            class="icon"
            title=words
            aria-label=words
            data-testid=id
            popovertarget="thread-more"
            popovertargetaction="hide"
            on:click=move |_| press.run(())
        >
            <Sign name=sign/>
            <span class="menu-only">{words}</span>
        </button>
    }
}

/// Where it comes from, when it changed, how much it holds.
#[component]
fn Facts(info: ThreadInfo, rows: usize) -> impl IntoView {
    let branches = (info.branches > 1).then(|| {
        let branches = format::plural(info.branches.into(), "branch");
        let here = format!("{branches}, {} in this one", format::plural(rows as u64, "node"));
        view! { <span title=here>{branches}</span> }
    });
    view! {
        <span class="source">{drawn(format::source(&info.source))}</span>
        {info.updated_at.map(|at| view! { <Time at/> })}
        <span>{format::plural(info.messages.into(), "message")}</span>
        {branches}
    }
}
