//! The slider over the epochs.

use leptos::html;
use leptos::prelude::*;

use super::scrub::Scrub;
use crate::page::basics::Sign;
use crate::page::dom;
use crate::page::effects::soon;

impl Scrub {
    /// Names the epoch at which the slider is; tracks.
    pub(super) fn place(self) -> String {
        let at = self.at.get();
        let of = format!("Epoch {} of {}", at + 1, self.last() + 1);
        match self.epoch(at).and_then(|epoch| epoch.card) {
            Some(card) => format!("{of}: checkpoint of {}", dom::exact(card.created_at)),
            None => format!("{of}: the original, without a checkpoint"),
        }
    }
}

/// The slider over the epochs, with a button for each direction.
#[component]
pub(super) fn Slider(scrub: Scrub) -> impl IntoView {
    let last = untrack(|| scrub.last());
    let slider = NodeRef::<html::Input>::new();
    // It comes later than the dialog, which has given the focus to its first button.
    soon(move || {
        if let Some(slider) = slider.get_untracked() {
            let _ = slider.focus();
        }
    });
    let moved = move |event| {
        if let Ok(at) = event_target_value(&event).parse() {
            scrub.go(at);
        }
    };
    view! {
        <div class="scrub">
            <button
                type="button"
                class="icon"
                title="Earlier epoch"
                aria-label="Earlier epoch"
                data-testid="epoch-earlier"
                disabled=move || scrub.at.get() == 0
                on:click=move |_| scrub.go(scrub.at.get_untracked().saturating_sub(1))
            >
                <Sign name="left"/>
            </button>
            <input
                type="range"
                list="epoch-stops"
                aria-label="Epoch"
                aria-describedby="epoch-place"
                data-testid="epoch-slider"
                min="0"
                max=last.to_string()
                step="1"
                node_ref=slider
                prop:value=move || scrub.at.get().to_string()
                aria-valuetext=move || scrub.place()
                on:input=moved
            />
            <datalist id="epoch-stops">
                {(0..=last).map(|at| view! { <option value=at.to_string()></option> }).collect_view()}
            </datalist>
            <button
                type="button"
                class="icon"
                title="Later epoch"
                aria-label="Later epoch"
                data-testid="epoch-later"
                disabled=move || scrub.at.get() == last
                on:click=move |_| scrub.go((scrub.at.get_untracked() + 1).min(last))
            >
                <Sign name="right"/>
            </button>
        </div>
    }
}
