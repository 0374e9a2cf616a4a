//! Dialogs: deleting everything, storage and privacy, keys, how to get an export.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, Node};

use super::engine::State;
use super::panels;
use super::state::{Dialog, Page};
use super::storage::storage;
use super::view::{Slot, Spot, click, draw, live, markup, on, soon};
use super::welcome::how_to;
use crate::format;
use crate::route::Route;
use crate::wire::{Ask, Remove};
use crate::words::words;

/// The open dialog, if there is one.
pub fn dialogs(page: Page) -> Slot {
    let view = move |dialog: &Option<Dialog>| {
        let (title, body) = match dialog.as_ref()? {
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
            Dialog::Bin => ("Bin", panels::later(Box::new(move |panels| panels.bin(page)))),
            Dialog::Connections => ("Models", panels::later(Box::new(move |panels| panels.connections(page)))),
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

fn delete_all(page: Page) -> Node {
    let busy = RwSignal::new(false);
    let about = move || {
        page.threads.stats.get().map(|stats| {
            format!(
                "{} with {} will be gone from this browser for good, and the bin too. Only an export brings them back.",
                format::plural(stats.transcripts.into(), "thread"),
                format::plural(stats.messages, "message")
            )
        })
    };
    let confirm = move || {
        busy.set(true);
        spawn_local(async move {
            match page.engine.ask(Ask::Remove(Remove::All)).await {
                Ok(_) => {
                    page.nav.go(Route::default());
                    page.notices.say("Everything is deleted", "This browser keeps nothing of it.");
                }
                Err(error) => page.notices.fail(&error),
            }
            page.dialog.set(None);
            page.threads.refresh().await;
        });
    };
    markup!(
        r#"
        <p>{}</p>
        <div class="choice">
            <button type="button" class="first" data-testid="export-first" onclick={}>
                <svg sign="export"/>
                <span>Export first</span>
            </button>
            <button type="button" autofocus onclick={}>Keep</button>
            <button type="button" class="danger" data-testid="confirm" disabled={} onclick={}>Delete everything</button>
        </div>"#,
        live(about),
        click(move || page.export_soon(None)),
        click(move || page.dialog.set(None)),
        live(move || busy.get()),
        click(confirm),
    )
}

fn keys() -> Node {
    markup!(
        r#"
        <dl class="facts keys">
            <div><dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>Move in the list of threads, or on the map</dd></div>
            <div><dt><kbd>Enter</kbd></dt><dd>Open what is marked</dd></div>
            <div><dt><kbd>/</kbd> <kbd>Ctrl+K</kbd></dt><dd>Search threads and messages; <kbd>Esc</kbd> there ends it</dd></div>
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
            <div><dt><kbd>q</kbd></dt><dd>Show or hide the requests</dd></div>
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
