//! The marks of the context inspector in the thread: a bar and a word on every message that is on the screen, and what is
//! dropped grows pale. A step of the inspector's slider touches what is built and nothing else.

use std::sync::Arc;

use web_sys::Element;

use super::{Action, Anchor, Canvas, State, TOP};
use crate::format;
use crate::inspect::Marks;
use crate::page::dom::{self, Build as _, el};
use crate::page::inspector::Selected;
use crate::pieces;

impl Canvas {
    /// Marks messages, or none.
    pub fn mark(&self, marks: Option<Arc<Marks>>) {
        let _ = self.canvas.class_list().toggle_with_force("inspected", marks.is_some());
        *self.marks.borrow_mut() = marks;
        let held = self.state.borrow();
        let Some(state) = held.as_ref() else { return };
        for built in state.built.iter().filter(|built| built.complete) {
            let mut next = built.element.first_element_child();
            while let Some(element) = next {
                next = element.next_element_sibling();
                self.mark_row(state, &element);
            }
        }
    }

    /// Marks one message as it is now.
    pub(super) fn mark_row(&self, state: &State, element: &Element) {
        let Some(row) = element.get_attribute("data-row").and_then(|row| row.parse::<usize>().ok()) else { return };
        let marks = self.marks.borrow();
        let marks = marks.as_ref().filter(|marks| marks.leaf == state.outline.leaf);
        let marked = marks.and_then(|marks| marks.of(*state.places.get(row)?..*state.places.get(row + 1)?));
        let badge = element.query_selector(":scope > .mark").ok().flatten();
        let Some(marked) = marked else {
            if let Some(badge) = badge {
                badge.remove();
                for name in ["data-mark", "data-leaving", "aria-description"] {
                    let _ = element.remove_attribute(name);
                }
            }
            return;
        };
        let words = [&marked.name, ": ", &marked.why].concat();
        if element.has_attribute("data-leaving") != marked.leaving {
            let _ = element.toggle_attribute_with_force("data-leaving", marked.leaving);
        }
        if badge.is_some() && element.get_attribute("aria-description").as_deref() == Some(&words) {
            return;
        }
        let _ = element.set_attribute("data-mark", marked.mark.name());
        let _ = element.set_attribute("aria-description", &words);
        let badge = badge.unwrap_or_else(|| {
            let badge = el("p").class("mark").attr("aria-hidden", "true");
            let badge = badge.child(el("span").class("mark-why")).child(el("span").class("mark-name"));
            let _ = element.append_child(&badge);
            badge
        });
        let _ = badge.set_attribute("title", &words);
        for (part, text) in [(badge.first_element_child(), &marked.why), (badge.last_element_child(), &marked.name)] {
            if let Some(part) = part {
                part.set_text_content(Some(text));
            }
        }
    }

    /// A message got the focus: it is the selected one.
    pub fn focused(&self, target: Option<web_sys::EventTarget>) {
        let row = dom::closest(target, "[data-row]");
        let row = row.and_then(|row| row.get_attribute("data-row")?.parse::<usize>().ok());
        let selected = row.and_then(|row| self.selection(row));
        if let Some(selected) = selected {
            (self.act)(Action::Selected(selected));
        }
    }

    fn selection(&self, row: usize) -> Option<Selected> {
        let held = self.state.borrow();
        let state = held.as_ref()?;
        let here = state.outline.rows.get(row)?;
        let said = state.nodes.get(&here.id).map(|node| pieces::copy_text(&node.messages)).unwrap_or_default();
        let said = format::line(&said, 90);
        let who = pieces::role_label(&here.role);
        let words = if said.trim().is_empty() { who.to_owned() } else { [who, ": ", &said].concat() };
        let places = (*state.places.get(row)?, *state.places.get(row + 1)?);
        Some(Selected { node: here.id.clone(), places, words })
    }

    /// The same message on the branch that is shown now; `None` where it is not on it.
    pub fn selected_again(&self, old: &Selected) -> Option<Selected> {
        let held = self.state.borrow();
        let state = held.as_ref()?;
        let row = state.outline.rows.iter().position(|row| row.id == old.node)?;
        let places = (*state.places.get(row)?, *state.places.get(row + 1)?);
        Some(Selected { places, ..old.clone() })
    }

    /// Brings the message at a place of the chain to the top, and gives it the focus.
    pub fn show_place(&self, place: u32) {
        let find = |state: &State| {
            let row = state.places.partition_point(|start| *start <= place).checked_sub(1)?;
            (row < state.outline.rows.len()).then_some(row)
        };
        let row = self.state.borrow().as_ref().and_then(find);
        if let Some(row) = row {
            // What is above it is of interest too.
            self.jump(Anchor::Row(row, 8.0 * TOP), Some(row));
        }
    }
}

/// Where the messages of each row begin in the chain, and after them how many there are.
pub(super) fn places(rows: &[threadkeep::protocol::Row]) -> Vec<u32> {
    let mut sum = 0;
    let before = |row: &threadkeep::protocol::Row| {
        sum += row.messages;
        sum
    };
    std::iter::once(0).chain(rows.iter().map(before)).collect()
}
