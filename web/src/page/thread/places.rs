//! What stands in the place of a thread: the beginning of a conversation, and an address that leads nowhere.

use leptos::prelude::*;

use crate::page::basics::Sign;
use crate::page::state::{Dialog, Page};
use crate::route::Route;

/// Where a conversation begins.
#[component]
pub(super) fn Fresh(page: Page) -> impl IntoView {
    view! {
        <div class="message-page choose" data-testid="fresh">
            <h2>"A new conversation"</h2>
            <p>"Say something below. Reply to any message later on, and the conversation forks there."</p>
            <Show when=move || page.connections.in_use().is_none()>
                <ChooseModel page/>
            </Show>
            <p>
                <button type="button" class="quiet back" on:click=move |_| page.nav.go(Route::default())>
                    <Sign name="back"/>
                    "All threads"
                </button>
            </p>
        </div>
    }
}

/// The way to a model, while there is none.
#[component]
fn ChooseModel(page: Page) -> impl IntoView {
    view! {
        <p>"It needs a model: one with a key, one of this machine, or the demo that answers without a network."</p>
        <p>
            <button
                type="button"
                class="primary"
                data-testid="choose-model"
                on:click=move |_| page.dialog.set(Some(Dialog::Connections))
            >
                <Sign name="plug"/>
                <span>"Choose a model"</span>
            </button>
        </p>
    }
}

/// What is said where an address leads nowhere.
#[component]
pub(super) fn Missing(page: Page) -> impl IntoView {
    view! {
        <div class="message-page" data-testid="missing">
            <h2>"This thread is not here"</h2>
            <p>
                "The address names a thread that this browser does not keep: it was deleted, or the link comes from another browser or device. Threads never leave the browser they were imported into, so a link works only there."
            </p>
            <p>
                <button type="button" class="primary" on:click=move |_| page.nav.go(Route::default())>
                    "Show all threads"
                </button>
            </p>
        </div>
    }
}
