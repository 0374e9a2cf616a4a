//! What the messages and statements in the document show of the reader's selection: classes, and the strip below a selected message.

use wasm_bindgen::JsCast;
use web_sys::Element;

use super::cards::{cites, covered, sources};
use super::{Canvas, State, carried};

/// Shows on a message whether it is covered, and whether it lights up.
pub fn dress(state: &State, row: usize, element: &Element) {
    let set = |class, on| {
        let _ = element.class_list().toggle_with_force(class, on);
    };
    set("covered", row < covered(state));
    let target = state.target.as_ref().and_then(|id| state.outline.rows.iter().position(|row| row.id == *id));
    set("beyond", target.is_some_and(|target| row > target));
    set("target", target == Some(row));
    // The message in focus and all that leads to it.
    let chosen = state.chosen.as_ref().and_then(|id| state.outline.rows.iter().position(|row| row.id == *id));
    set("in-chain", chosen.is_some_and(|chosen| row <= chosen));
    let id = state.outline.rows.get(row).map(|row| &row.id);
    set("lit", id.is_some_and(|id| sources(state).contains(id)));
    let pinned = id.is_some_and(|id| state.outline.pins.contains(id));
    set("pinned", pinned);
    if let Ok(Some(button)) = element.query_selector(":scope > .message-head [data-do=pin]") {
        let _ = button.set_attribute("aria-pressed", if pinned { "true" } else { "false" });
    }
    carried::dress(state, id, element);
}

impl Canvas {
    /// Does so on all that is in the document.
    pub(super) fn dress_all(&self, state: &State) {
        let Ok(all) = self.window.query_selector_all("[data-row], [data-do=statement]") else { return };
        for at in 0..all.length() {
            let Some(element) = all.get(at).and_then(|node| node.dyn_into::<Element>().ok()) else {
                continue;
            };
            let number = |name: &str| element.get_attribute(name).and_then(|text| text.parse::<usize>().ok());
            if let Some(row) = number("data-row") {
                dress(state, row, &element);
            } else if let (Some(card), Some(place)) = (number("data-card-at"), number("data-place")) {
                let pressed = state.lit == Some((card, place));
                let _ = element.set_attribute("aria-pressed", if pressed { "true" } else { "false" });
                let said = state.outline.cards.get(card).and_then(|card| card.statements.get(place));
                let cites = said.is_some_and(|said| cites(state, said));
                let _ = element.class_list().toggle_with_force("cites", cites);
            }
        }
    }
}
