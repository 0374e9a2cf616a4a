//! What stands below answers: what their requests took and cost, and the way to them.

use web_sys::Element;

use super::{Canvas, State};
use crate::page::dom::{Build as _, el};
use crate::requests;
use crate::wire::Asked;

impl Canvas {
    /// Shows below each answer of the branch what its requests took.
    pub fn stand(&self, all: &[Asked]) {
        let held = self.state.borrow();
        let Some(state) = held.as_ref() else { return };
        let branch: Vec<_> = state.outline.rows.iter().map(|row| &row.id).collect();
        *self.feet.borrow_mut() = requests::feet(all, &branch);
        for built in state.built.iter().filter(|built| built.complete) {
            let mut next = built.element.first_element_child();
            while let Some(element) = next {
                next = element.next_element_sibling();
                self.stand_row(state, &element);
            }
        }
    }

    /// Puts below one message what its requests took.
    pub(super) fn stand_row(&self, state: &State, element: &Element) {
        let row = element.get_attribute("data-row").and_then(|row| state.outline.rows.get(row.parse::<usize>().ok()?));
        let feet = self.feet.borrow();
        let foot = row.and_then(|row| feet.get(&row.id));
        let old = element.query_selector(":scope > .answer-foot").ok().flatten();
        match (foot, old) {
            (None, Some(old)) => old.remove(),
            (Some(foot), Some(old)) if old.get_attribute("data-words").as_deref() == Some(&foot.words) => {}
            (Some(foot), old) => {
                let press = el("button").attr("type", "button").class("quiet small").attr("data-do", "request");
                let press = press.attr("data-testid", "view-request").attr("data-id", &foot.request);
                let words = el("span").text(&foot.words);
                let made = el("p").class("answer-foot").attr("data-testid", "answer-foot");
                let made = made.attr("data-words", &foot.words).child(words).child(press.text("View request"));
                match old {
                    Some(old) => drop(old.replace_with_with_node_1(&made)),
                    None => drop(element.append_child(&made)),
                }
            }
            (None, None) => {}
        }
    }
}
