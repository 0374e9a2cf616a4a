//! The slider over the epochs.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, Node};

use super::Scrub;
use crate::page::dom;
use crate::page::view::{click, follow, live, markup, on};

impl Scrub {
    /// Names the epoch at which the slider is.
    pub(super) fn place(self) -> String {
        let at = self.at.get();
        let of = format!("Epoch {} of {}", at + 1, self.last() + 1);
        match self.epoch(at).and_then(|epoch| epoch.card) {
            Some(card) => format!("{of}: checkpoint of {}", dom::exact(card.created_at)),
            None => format!("{of}: the original, without a checkpoint"),
        }
    }

    /// The slider over the epochs, with a button for each direction.
    pub(super) fn slider(self) -> Node {
        let moved = move |event: Event| {
            if let Ok(at) = dom::entered(&event).parse() {
                self.go(at);
            }
        };
        let step = move |forward: bool| {
            let at = self.at.get_untracked();
            self.go(if forward { (at + 1).min(untrack(|| self.last())) } else { at.saturating_sub(1) });
        };
        let stops = (0..=untrack(|| self.last())).map(|at| markup!("<option value={}></option>", at.to_string()));
        markup!(
            r#"
            <div class="scrub">
                <button type="button" class="icon" title="Earlier epoch" aria-label="Earlier epoch" data-testid="epoch-earlier" disabled={} onclick={}>
                    <svg sign="left"/>
                </button>
                <input type="range" list="epoch-stops" aria-label="Epoch" aria-describedby="epoch-place" data-testid="epoch-slider" min="0" max={} step="1" value={} aria-valuetext={} oninput={}/>
                <datalist id="epoch-stops">{}</datalist>
                <button type="button" class="icon" title="Later epoch" aria-label="Later epoch" data-testid="epoch-later" disabled={} onclick={}>
                    <svg sign="right"/>
                </button>
            </div>"#,
            live(move || self.at.get() == 0),
            click(move || step(false)),
            untrack(|| self.last()).to_string(),
            untrack(|| self.at.get()).to_string(),
            live(move || self.place()),
            on(moved),
            stops.collect::<Vec<Node>>(),
            live(move || self.at.get() == self.last()),
            click(move || step(true)),
        )
    }

    /// The buttons step past the slider, which must follow.
    pub(super) fn follow_slider(self) {
        follow(move || {
            let at = self.at.get().to_string();
            if let Some(slider) = dom::find("[data-testid=epoch-slider]") {
                let slider: HtmlInputElement = slider.unchecked_into();
                if slider.value() != at {
                    slider.set_value(&at);
                }
            }
        });
    }
}
