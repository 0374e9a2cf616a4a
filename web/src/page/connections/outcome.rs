//! What a test of a connection said.

use leptos::prelude::*;

use super::panel::Test;
use crate::page::basics::drawn;

/// What the last test said, if there was one.
#[component]
pub(super) fn Outcome(test: Memo<Option<Test>>) -> impl IntoView {
    move || {
        let (class, words) = match test.get()? {
            Test::Running => ("tested", "Asking the model for a word…".to_owned()),
            Test::Done(tested) => (if tested.ok { "tested good" } else { "tested bad" }, drawn(&tested.words)),
        };
        Some(view! { <p class=class role="status" data-testid="connection-result">{words}</p> })
    }
}
