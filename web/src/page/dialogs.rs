//! Dialogs: what a deletion takes away, storage and privacy, keys, how to get an export.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};
use wasm_bindgen::JsCast;

use super::engine::State;
use super::signs::Sign;
use super::state::{Dialog, Page};
use super::storage::Storage;
use super::welcome::HowTo;
use crate::route::Route;
use crate::wire::{Ask, Reply, ThreadInfo};
use crate::{format, list};

/// The open dialog, if there is one.
#[component]
pub fn Dialogs() -> impl IntoView {
    let page = Page::of_context();
    move || {
        page.dialog.get().map(|dialog| {
            let (title, body) = match dialog {
                Dialog::DeleteThread(info) => ("Delete this thread?", view! { <DeleteThread info /> }.into_any()),
                Dialog::DeleteBranch { transcript, node } => {
                    ("Delete from here on?", view! { <DeleteBranch transcript node /> }.into_any())
                }
                Dialog::DeleteAll => ("Delete everything?", view! { <DeleteAll /> }.into_any()),
                Dialog::Storage => ("Storage and privacy", view! { <Storage /> }.into_any()),
                Dialog::Keys => ("Keys", view! { <Keys /> }.into_any()),
                Dialog::Help => ("How to get an export", view! { <HowTo /> }.into_any()),
            };
            view! { <Modal title body /> }
        })
    }
}

#[component]
fn Modal(title: &'static str, body: AnyView) -> impl IntoView {
    let page = Page::of_context();
    let dialog = NodeRef::<html::Dialog>::new();
    dialog.on_load(|dialog| {
        // Fails only for one that is open already.
        let _ = dialog.show_modal();
    });
    view! {
        <dialog
            node_ref=dialog
            aria-labelledby="dialog-title"
            data-testid="dialog"
            on:close=move |_| page.dialog.set(None)
            on:click=move |event| {
                // A click on the backdrop is one on the dialog itself.
                let on_backdrop = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlDialogElement>().ok());
                if on_backdrop.is_some() {
                    page.dialog.set(None);
                }
            }
        >
            <div class="dialog">
                <header>
                    <h2 id="dialog-title">{title}</h2>
                    <button
                        type="button"
                        class="icon"
                        title="Close"
                        aria-label="Close"
                        on:click=move |_| page.dialog.set(None)
                    >
                        <Sign name="close" />
                    </button>
                </header>
                {body}
            </div>
        </dialog>
    }
}

/// Deletes, says how it went, and closes the dialog.
fn delete(page: Page, ask: Ask, busy: RwSignal<bool>, done: impl Fn(u64) + 'static) {
    busy.set(true);
    spawn_local(async move {
        match page.engine.ask(ask).await {
            Ok(Reply::Number(messages)) => done(messages),
            Ok(_) => done(0),
            Err(error) => page.notices.fail(&error),
        }
        page.dialog.set(None);
        page.threads.refresh().await;
    });
}

#[component]
fn Choice(
    words: &'static str,
    export: Option<Callback<()>>,
    busy: RwSignal<bool>,
    confirm: Callback<()>,
) -> impl IntoView {
    let page = Page::of_context();
    view! {
        <div class="choice">
            {export
                .map(|export| {
                    view! {
                        <button type="button" class="first" data-testid="export-first" on:click=move |_| export.run(())>
                            <Sign name="export" />
                            <span>"Export first"</span>
                        </button>
                    }
                })}
            <button type="button" autofocus on:click=move |_| page.dialog.set(None)>
                "Keep"
            </button>
            <button
                type="button"
                class="danger"
                data-testid="confirm"
                disabled=move || busy.get()
                on:click=move |_| confirm.run(())
            >
                {words}
            </button>
        </div>
    }
}

#[component]
fn DeleteThread(info: ThreadInfo) -> impl IntoView {
    let page = Page::of_context();
    let busy = RwSignal::new(false);
    let words = format!(
        "{} in {} will be gone from this browser for good.",
        format::plural(info.messages.into(), "message"),
        format::plural(info.branches.into(), "branch")
    );
    let title = list::title(&info).to_owned();
    let keep = info.clone();
    let export = Callback::new(move |()| {
        let info = keep.clone();
        spawn_local(async move {
            page.export(Some(info)).await;
        });
    });
    let confirm = Callback::new(move |()| {
        let ask = Ask::DeleteThread(info.id.clone());
        delete(page, ask, busy, move |messages| {
            page.nav.go(Route::default());
            page.notices.say("Deleted", &format::plural(messages, "message"));
        });
    });
    view! {
        <p dir="auto">
            <strong>{title}</strong>
        </p>
        <p>{words}</p>
        <Choice words="Delete the thread" export=Some(export) busy confirm />
    }
}

#[component]
fn DeleteBranch(transcript: TranscriptId, node: MessageId) -> impl IntoView {
    let page = Page::of_context();
    let busy = RwSignal::new(false);
    let found = RwSignal::new(None::<(usize, usize)>);
    let (of, from) = (transcript.clone(), node.clone());
    let root = of.as_str() == from.as_str();
    spawn_local(async move {
        // What goes: the node and all that leads back to it.
        let Ok(Reply::Tree(nodes)) = page.engine.ask(Ask::Tree(of)).await else { return };
        let mut gone = vec![false; nodes.len()];
        let mut parents = vec![false; nodes.len()];
        for (at, one) in nodes.iter().enumerate() {
            let up = one.parent.map(|up| up as usize).filter(|up| *up < at);
            gone[at] = one.id == from || up.is_some_and(|up| gone[up]);
            if let Some(up) = up {
                parents[up] = true;
            }
        }
        let count = gone.iter().filter(|gone| **gone).count();
        let leaves = gone.iter().zip(&parents).filter(|(gone, parent)| **gone && !**parent).count();
        found.try_set(Some((count, leaves)));
    });
    let words = move || match found.get() {
        None => "Counting what follows…".to_owned(),
        Some((count, leaves)) => format!(
            "This message and everything after it will be gone for good: {} in {}. The messages before it and the other branches stay.",
            format::plural(count as u64, "node"),
            format::plural(leaves as u64, "branch")
        ),
    };
    let confirm = Callback::new(move |()| {
        let (ask, whole) =
            if root { (Ask::DeleteThread(transcript.clone()), true) } else { (Ask::DeleteBranch(node.clone()), false) };
        delete(page, ask, busy, move |messages| {
            page.notices.say("Deleted", &format::plural(messages, "message"));
            if whole {
                page.nav.go(Route::default());
            }
        });
    });
    view! {
        <p>{words}</p>
        <Choice words="Delete" export=None busy confirm />
    }
}

#[component]
fn DeleteAll() -> impl IntoView {
    let page = Page::of_context();
    let busy = RwSignal::new(false);
    let words = move || {
        page.threads.stats.get().map(|stats| {
            format!(
                "{} with {} will be gone from this browser for good. Only an export brings them back.",
                format::plural(stats.transcripts.into(), "thread"),
                format::plural(stats.messages, "message")
            )
        })
    };
    let export = Callback::new(move |()| {
        spawn_local(async move {
            page.export(None).await;
        });
    });
    let confirm = Callback::new(move |()| {
        delete(page, Ask::DeleteAll, busy, move |_| {
            page.nav.go(Route::default());
            page.notices.say("Everything is deleted", "This browser keeps nothing of it.");
        });
    });
    view! {
        <p>{words}</p>
        <Choice words="Delete everything" export=Some(export) busy confirm />
    }
}

#[component]
fn Keys() -> impl IntoView {
    let rows = [
        ("↑ ↓", "Move in the list of threads, or on the map"),
        ("Enter", "Open what is marked"),
        ("/", "Filter the threads"),
        ("j k", "Next and previous message"),
        ("[ ]", "Previous and next branch, at the focused message or the nearest fork above it"),
        ("Alt+← Alt+→", "The same, on a focused message"),
        ("Home End", "First and last message"),
        ("m", "Show or hide the map"),
        ("?", "This list"),
        ("Esc", "Close a dialog"),
    ];
    let rows = rows.map(|(keys, words)| {
        let keys = keys.split(' ').map(|key| view! { <kbd>{key}</kbd>" " }).collect_view();
        view! { <div><dt>{keys}</dt><dd>{words}</dd></div> }
    });
    view! { <dl class="facts keys">{rows.collect_view()}</dl> }
}

/// What is said when the engine cannot go on, over the whole page's width.
#[component]
pub fn EngineBanner() -> impl IntoView {
    let page = Page::of_context();
    let show = move |error: ErrorReply| {
        let words = crate::words::words(&error);
        let memory = words.memory.then(|| {
            view! {
                <button type="button" data-testid="use-memory" on:click=move |_| page.engine.restart(true)>
                    "Go on in memory"
                </button>
            }
        });
        view! {
            <div class="banner" role="alert" data-testid="engine-failed" data-code=error.code.clone()>
                <Sign name="warning" />
                <p>
                    <strong>{words.title}". "</strong>
                    {words.advice}
                    <span class="technical">{error.message.clone()}</span>
                </p>
                <span class="banner-acts">
                    {memory}
                    <button type="button" class="primary" data-testid="restart" on:click=move |_| page.engine.restart(false)>
                        <Sign name="restart" />
                        <span>"Restart"</span>
                    </button>
                </span>
            </div>
        }
    };
    move || match page.engine.state.get() {
        State::Failed(error) => Some(show(error).into_any()),
        State::Open { memory: true } => Some(
            view! {
                <div class="banner calm" role="note">
                    <Sign name="warning" />
                    <p>"Kept in memory only: all is gone when this tab closes. Export what you want to keep."</p>
                </div>
            }
            .into_any(),
        ),
        _ => None,
    }
}
