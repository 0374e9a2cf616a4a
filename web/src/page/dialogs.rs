//! Dialogs: what a deletion takes away, storage and privacy, keys, how to get an export.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};
use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, Node};

use super::engine::State;
use super::panels;
use super::state::{Dialog, Page};
use super::storage::storage;
use super::view::{Slot, Spot, click, draw, live, markup, on, soon};
use super::welcome::how_to;
use crate::route::Route;
use crate::wire::{Ask, Reply, ThreadInfo};
use crate::words::words;
use crate::{format, list};

/// The open dialog, if there is one.
pub fn dialogs(page: Page) -> Slot {
    let view = move |dialog: &Option<Dialog>| {
        let (title, body) = match dialog.as_ref()? {
            Dialog::DeleteThread(info) => ("Delete this thread?", delete_thread(page, info)),
            Dialog::DeleteBranch { transcript, node } => {
                ("Delete from here on?", delete_branch(page, transcript, node))
            }
            Dialog::DeleteAll => ("Delete everything?", delete_all(page)),
            Dialog::Compact(leaf) => {
                let leaf = leaf.clone();
                ("Compact this branch?", panels::later(Box::new(move |panels| panels.compaction(page, &leaf))))
            }
            Dialog::Epochs { leaf, checkpoint } => {
                let (leaf, checkpoint) = (leaf.clone(), checkpoint.clone());
                let make = move |panels: &dyn panels::Panels| panels.epochs(page, &leaf, checkpoint.as_deref());
                ("Epochs", panels::later(Box::new(make)))
            }
            Dialog::Compare { transcript, leaves } => {
                let (transcript, leaves) = (transcript.clone(), leaves.clone());
                let make = move |panels: &dyn panels::Panels| panels.compare(page, &transcript, leaves.clone());
                ("Two branches", panels::later(Box::new(make)))
            }
            Dialog::Check { transcript, leaf } => {
                let (transcript, leaf) = (transcript.clone(), leaf.clone());
                let make = move |panels: &dyn panels::Panels| panels.check(page, &transcript, &leaf);
                ("Check this branch", panels::later(Box::new(make)))
            }
            Dialog::Memory(at) => {
                let at = at.clone();
                ("Memory", panels::later(Box::new(move |panels| panels.memory(page, at.clone()))))
            }
            Dialog::Connections => ("Connections", panels::later(Box::new(move |panels| panels.connections(page)))),
            Dialog::Storage => ("Storage and privacy", storage(page)),
            Dialog::Keys => ("Keys", keys()),
            Dialog::Help => ("How to get an export", how_to()),
        };
        Some(modal(page, title, body))
    };
    draw(move || page.dialog.get(), view)
}

fn modal(page: Page, title: &'static str, body: Node) -> Node {
    let dialog = Spot::new();
    let as_dialog = |target: Option<web_sys::EventTarget>| target?.dyn_into::<HtmlDialogElement>().ok();
    soon(move || {
        if let Some(dialog) = as_dialog(dialog.get().map(Into::into)) {
            // Fails only for one that is open already.
            let _ = dialog.show_modal();
        }
    });
    let clicked = move |event: web_sys::Event| {
        // A click on the backdrop is one on the dialog itself.
        if as_dialog(event.target()).is_some() {
            page.dialog.set(None);
        }
    };
    markup!(
        r#"
        <dialog ref={} aria-labelledby="dialog-title" data-testid="dialog" onclose={} onclick={}>
            <div class="dialog">
                <header>
                    <h2 id="dialog-title">{}</h2>
                    <button type="button" class="icon" title="Close" aria-label="Close" onclick={}>
                        <svg sign="close"/>
                    </button>
                </header>
                {}
            </div>
        </dialog>"#,
        dialog,
        click(move || page.dialog.set(None)),
        on(clicked),
        title,
        click(move || page.dialog.set(None)),
        body,
    )
}

/// Deletes, says how it went, and closes the dialog.
fn delete(page: Page, ask: Ask, busy: RwSignal<bool>, done: Box<dyn Fn(u64)>) {
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

/// The words of a deletion, and its buttons: export first where `export` says what, keep, delete.
fn choice(
    page: Page,
    about: Slot,
    export: Option<Box<dyn Fn()>>,
    words: &'static str,
    busy: RwSignal<bool>,
    confirm: impl Fn() + 'static,
) -> Node {
    let export = export.map(|export| {
        markup!(
            r#"
            <button type="button" class="first" data-testid="export-first" onclick={}>
                <svg sign="export"/>
                <span>Export first</span>
            </button>"#,
            click(export),
        )
    });
    markup!(
        r#"
        <p>{}</p>
        <div class="choice">
            {}
            <button type="button" autofocus onclick={}>Keep</button>
            <button type="button" class="danger" data-testid="confirm" disabled={} onclick={}>{}</button>
        </div>"#,
        about,
        export,
        click(move || page.dialog.set(None)),
        live(move || busy.get()),
        click(confirm),
        words,
    )
}

fn delete_thread(page: Page, info: &ThreadInfo) -> Node {
    let busy = RwSignal::new(false);
    let about = format!(
        "{} in {} will be gone from this browser for good.",
        format::plural(info.messages.into(), "message"),
        format::plural(info.branches.into(), "branch")
    );
    let (keep, id) = (info.clone(), info.id.clone());
    let confirm = move || {
        let gone = move |messages| {
            page.nav.go(Route::default());
            page.notices.say("Deleted", &format::plural(messages, "message"));
        };
        delete(page, Ask::DeleteThread(id.clone()), busy, Box::new(gone));
    };
    let export: Box<dyn Fn()> = Box::new(move || page.export_soon(Some(keep.clone())));
    markup!(
        r#"<p dir="auto"><strong>{}</strong></p>{}"#,
        list::title(info).to_owned(),
        choice(page, about.into(), Some(export), "Delete the thread", busy, confirm),
    )
}

fn delete_branch(page: Page, transcript: &TranscriptId, node: &MessageId) -> Node {
    let busy = RwSignal::new(false);
    let found = RwSignal::new(None::<(usize, usize)>);
    let root = transcript.as_str() == node.as_str();
    let (of, from) = (transcript.clone(), node.clone());
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
    let about = move || match found.get() {
        None => "Counting what follows…".to_owned(),
        Some((count, leaves)) => format!(
            "This message and everything after it will be gone for good: {} in {}. The messages before it and the other branches stay.",
            format::plural(count as u64, "node"),
            format::plural(leaves as u64, "branch")
        ),
    };
    let ask = if root { Ask::DeleteThread(transcript.clone()) } else { Ask::DeleteBranch(node.clone()) };
    let confirm = move || {
        let gone = move |messages| {
            page.notices.say("Deleted", &format::plural(messages, "message"));
            if root {
                page.nav.go(Route::default());
            }
        };
        delete(page, ask.clone(), busy, Box::new(gone));
    };
    choice(page, live(about), None, "Delete", busy, confirm)
}

fn delete_all(page: Page) -> Node {
    let busy = RwSignal::new(false);
    let about = move || {
        page.threads.stats.get().map(|stats| {
            format!(
                "{} with {} will be gone from this browser for good. Only an export brings them back.",
                format::plural(stats.transcripts.into(), "thread"),
                format::plural(stats.messages, "message")
            )
        })
    };
    let confirm = move || {
        let gone = move |_| {
            page.nav.go(Route::default());
            page.notices.say("Everything is deleted", "This browser keeps nothing of it.");
        };
        delete(page, Ask::DeleteAll, busy, Box::new(gone));
    };
    let export: Box<dyn Fn()> = Box::new(move || page.export_soon(None));
    choice(page, live(about), Some(export), "Delete everything", busy, confirm)
}

fn keys() -> Node {
    markup!(
        r#"
        <dl class="facts keys">
            <div><dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>Move in the list of threads, or on the map</dd></div>
            <div><dt><kbd>Enter</kbd></dt><dd>Open what is marked</dd></div>
            <div><dt><kbd>/</kbd></dt><dd>Search threads and messages; <kbd>Esc</kbd> there ends it</dd></div>
            <div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>Next and previous message</dd></div>
            <div>
                <dt><kbd>[</kbd> <kbd>]</kbd></dt>
                <dd>Previous and next branch, at the focused message or the nearest fork above it</dd>
            </div>
            <div><dt><kbd>Alt+←</kbd> <kbd>Alt+→</kbd></dt><dd>The same, on a focused message</dd></div>
            <div><dt><kbd>Home</kbd> <kbd>End</kbd></dt><dd>First and last message</dd></div>
            <div><dt><kbd>r</kbd></dt><dd>Reply to the focused message; <kbd>Esc</kbd> leaves that again</dd></div>
            <div><dt><kbd>Enter</kbd></dt><dd>Send what you wrote; <kbd>Shift+Enter</kbd> is a new line</dd></div>
            <div><dt><kbd>m</kbd></dt><dd>Show or hide the map</dd></div>
            <div><dt><kbd>c</kbd></dt><dd>Show or hide the context inspector</dd></div>
            <div><dt><kbd>e</kbd></dt><dd>Prompts before and after each compaction</dd></div>
            <div><dt><kbd>p</kbd></dt><dd>Pin the selected message in it, or unpin it</dd></div>
            <div><dt><kbd>?</kbd></dt><dd>This list</dd></div>
            <div><dt><kbd>Esc</kbd></dt><dd>Close a dialog</dd></div>
        </dl>"#
    )
}

/// What is said when the engine cannot go on, over the whole page's width.
pub fn engine_banner(page: Page) -> Slot {
    let view = move |state: &State| match state {
        State::Failed(error) => {
            let words = words(error);
            let memory = words.memory.then(|| {
                markup!(
                    r#"<button type="button" data-testid="use-memory" onclick={}>Go on in memory</button>"#,
                    click(move || page.engine.restart(true)),
                )
            });
            Some(markup!(
                r#"
                <div class="banner" role="alert" data-testid="engine-failed" data-code={}>
                    <svg sign="warning"/>
                    <p><strong>{}. </strong>{}<span class="technical">{}</span></p>
                    <span class="banner-acts">
                        {}
                        <button type="button" class="primary" data-testid="restart" onclick={}>
                            <svg sign="restart"/>
                            <span>Restart</span>
                        </button>
                    </span>
                </div>"#,
                error.code.clone(),
                words.title,
                words.advice,
                error.message.clone(),
                memory,
                click(move || page.engine.restart(false)),
            ))
        }
        State::Open { memory: true } => Some(markup!(
            r#"
            <div class="banner calm" role="note">
                <svg sign="warning"/>
                <p>Kept in memory only: all is gone when this tab closes. Export what you want to keep.</p>
            </div>"#
        )),
        _ => None,
    };
    draw(move || page.engine.state.get(), view)
}
