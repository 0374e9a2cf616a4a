//! The question before everything is deleted.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::basics::Sign;
use super::effects::soon;
use super::state::Page;
use crate::format;
use crate::route::Route;
use crate::wire::{Ask, Remove};

/// The dialog's body.
#[component]
pub fn DeleteAll(page: Page) -> impl IntoView {
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
    let confirm = move |_| {
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
    // Enter keeps everything.
    let keep = NodeRef::<html::Button>::new();
    soon(move || {
        if let Some(keep) = keep.get_untracked() {
            let _ = keep.focus();
        }
    });
    view! {
        <p>{about}</p>
        <div class="choice">
            <button type="button" class="first" data-testid="export-first" on:click=move |_| page.export_soon(None)>
                <Sign name="export"/>
                <span>"Export first"</span>
            </button>
            <button type="button" autofocus node_ref=keep on:click=move |_| page.dialog.set(None)>"Keep"</button>
            <button
                type="button"
                class="danger"
                data-testid="confirm"
                disabled=move || busy.get()
                on:click=confirm
            >
                "Delete everything"
            </button>
        </div>
    }
}
