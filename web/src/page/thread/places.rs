//! What stands in the place of a thread: the beginning of a conversation, and an address that leads nowhere.

use web_sys::Node;

use crate::page::state::Page;
use crate::page::view::{click, markup};
use crate::route::Route;

/// Where a conversation begins.
pub(super) fn fresh(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page choose" data-testid="fresh">
            <h2>A new conversation</h2>
            <p>Say something below. Reply to any message later on, and the conversation forks there.</p>
            <p><button type="button" class="quiet back" onclick={}><svg sign="back"/>All threads</button></p>
        </div>"#,
        click(move || page.nav.go(Route::default())),
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
