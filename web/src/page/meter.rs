//! What the next request of the branch has, beside the field in which it is written: tokens, pins, memory. It is counted once the reader turns
//! to the field, since counting needs parts of the module that reading does not.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::basics::drawn;
use super::effects::follow;
use super::state::Page;
use crate::beside::Side;

/// The meter. `awake` says whether the reader has turned to the field.
#[component]
pub fn Meter(page: Page, awake: RwSignal<bool>) -> impl IntoView {
    let said = RwSignal::new(None::<Vec<String>>);
    let asked = StoredValue::new(0_u32);
    follow(move || {
        // What changes the next request.
        page.tree.track();
        page.inspector.changed.track();
        page.inspector.pinned.track();
        page.connections.book.track();
        if page.leaf.get().is_none() {
            return said.set(None);
        }
        if !awake.get() {
            return;
        }
        asked.update_value(|number| *number += 1);
        let number = asked.get_value();
        let is_newest = move || asked.try_get_value() == Some(number);
        let count = move || {
            if is_newest() {
                spawn_local(async move {
                    let along = page.inspector.along().await;
                    if is_newest() {
                        said.set(along);
                    }
                });
            }
        };
        set_timeout(count, Duration::from_millis(250));
    });
    move || {
        said.get().map(|along| {
            let parts = along.iter().map(|part| view! { <span>{drawn(part)}</span> }).collect_view();
            view! {
                <button
                    type="button"
                    class="quiet small meter"
                    title="The next request without your words. Opens Context"
                    data-testid="composer-meter"
                    on:click=move |_| page.sides.open(Side::Context)
                >
                    {parts}
                </button>
            }
        })
    }
}
