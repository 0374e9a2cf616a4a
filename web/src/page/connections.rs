//! The dialog of connections: what there is, which is in use, adding from presets, editing, testing, removing, and keys that are kept
//! under a passphrase. What a test finds out is the worker's business; keys are [`keys`](super::keys)'.

mod editor;
mod fields;
mod form;
mod list;
mod outcome;
mod panel;

use leptos::prelude::*;

use self::editor::Editor;
use self::list::List;
use self::panel::{Panel, View};
use super::state::Page;

/// The dialog's body.
#[component]
pub fn ConnectionsPanel(page: Page) -> impl IntoView {
    let panel = Panel::new(page);
    let shown = Memo::new(move |_| panel.view.get());
    view! {
        <div class="connections-panel" data-testid="connections">
            {move || match shown.get() {
                View::List => view! { <List panel/> }.into_any(),
                View::Edit(one) => view! { <Editor panel one/> }.into_any(),
            }}
        </div>
    }
}
