//! What stands in the place of a thread: the beginning of a conversation, and an address that leads nowhere.

use leptos::prelude::*;
use web_sys::Node;

use crate::page::state::{Dialog, Page};
use crate::page::view::{click, draw, markup};
use crate::route::Route;

/// Where a conversation begins.
pub(super) fn fresh(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page choose" data-testid="fresh">
            <h2>A new conversation</h2>
            <p>Say something below. Reply to any message later on, and the conversation forks there.</p>
            {}
            <p><button type="button" class="quiet back" onclick={}><svg sign="back"/>All threads</button></p>
        </div>"#,
        draw(move || page.connections.in_use().is_none(), move |none| none.then(|| choose_model(page))),
        click(move || page.nav.go(Route::default())),
    )
}

/// The way to a model, while there is none.
fn choose_model(page: Page) -> Node {
    markup!(
        r#"
        <p>It needs a model: one with a key, one of this machine, or the demo that answers without a network.</p>
        <p><button type="button" class="primary" data-testid="choose-model" onclick={}><svg sign="plug"/><span>Choose a model</span></button></p>"#,
        click(move || page.dialog.set(Some(Dialog::Connections))),
    )
}

/// What is said where an address leads nowhere.
pub(super) fn missing(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page" data-testid="missing">
            <h2>This thread is not here</h2>
            <p>
                The address names a thread that this browser does not keep: it was deleted, or the link comes from another
                browser or device. Threads never leave the browser they were imported into, so a link works only there.
            </p>
            <p><button type="button" class="primary" onclick={}>Show all threads</button></p>
        </div>"#,
        click(move || page.nav.go(Route::default())),
    )
}
