//! Where the reader is: what stays in its place while heights change, what follows the end of an answer, jumps to a message.

use threadkeep_core::MessageId;
use wasm_bindgen::prelude::*;
use web_sys::Element;

use super::{Anchor, Canvas, State, TOP};
use crate::items::{self, Item};
use crate::page::dom::length;

impl Canvas {
    /// Puts what is being answered below the messages, or takes it away.
    pub fn set_tail(&self, tail: Option<&Element>) {
        let there = self.canvas.next_element_sibling();
        match (there, tail) {
            (Some(there), Some(tail)) if there == *tail => return,
            (there, tail) => {
                if let Some(there) = there {
                    there.remove();
                }
                if let Some(tail) = tail {
                    // As far to the right as what it follows.
                    let held = self.state.borrow();
                    let level = held.as_ref().and_then(|state| match state.items.last()? {
                        Item::Row { level, .. } | Item::Hidden { level, .. } => Some(*level),
                    });
                    let level = level.unwrap_or_default().min(6);
                    tail.set_class_name(&format!("message role-assistant live level-{level}"));
                    let _ = self.scroller.append_child(tail);
                }
            }
        }
        self.follow_end();
    }

    pub(super) fn has_tail(&self) -> bool {
        self.canvas.next_element_sibling().is_some()
    }

    /// Whether the end of all is on the screen, but for so many pixels.
    pub(super) fn is_at_end(&self, about: i32) -> bool {
        let seen = self.scroller.scroll_top() + self.scroller.client_height();
        seen + about >= self.scroller.scroll_height()
    }

    /// Whether an answer grows below what is on the screen.
    pub fn is_behind(&self) -> bool {
        self.has_tail() && !self.is_at_end(120)
    }

    /// Goes to the end of all, and follows it.
    pub fn to_end(&self) {
        self.jump(Anchor::End, None);
    }

    /// What is below the messages has grown: its end stays on the screen where the reader is at the end.
    pub fn follow_end(&self) {
        if let Some(state) = self.state.borrow_mut().as_mut()
            && state.anchor == Anchor::End
        {
            // Who has just scrolled up is told of later: they must not be pulled back before.
            if f64::from(self.scroller.scroll_top()) < state.set - 2.0 {
                return self.notice(state);
            }
            self.scroll(state, f64::from(self.scroller.scroll_height()));
        }
    }

    /// Scrolls to about where the anchor must be.
    pub(super) fn go(&self, state: &mut State, viewport: f64) {
        let target = match state.anchor {
            Anchor::End => state.heights.total() - viewport,
            Anchor::Row(0, offset) if offset >= TOP => 0.0,
            Anchor::Row(row, offset) => {
                let item = items::item_of(&state.items, row).unwrap_or(0);
                let block = state.blocks.partition_point(|block| block.items.end <= item);
                state.heights.top(block) - offset
            }
        };
        length(&self.canvas, "height", state.heights.total());
        self.scroll(state, target);
    }

    pub(super) fn scroll(&self, state: &mut State, target: f64) {
        self.scroller.set_scroll_top(target.max(0.0).round() as i32);
        state.set = f64::from(self.scroller.scroll_top());
    }

    /// Puts the anchor back where it was. Says whether the scroll position changed.
    pub(super) fn hold(&self, state: &mut State) -> bool {
        let before = f64::from(self.scroller.scroll_top());
        match state.anchor {
            Anchor::End => self.scroll(state, f64::from(self.scroller.scroll_height())),
            Anchor::Row(row, offset) => {
                let Some(now) = self.offset_of(row) else {
                    if state.set < 0.0 {
                        state.set = before;
                    }
                    return false;
                };
                if (now - offset).abs() < 1.0 {
                    return false;
                }
                self.scroll(state, before + now - offset);
            }
        }
        (f64::from(self.scroller.scroll_top()) - before).abs() >= 1.0
    }

    pub(super) fn offset_of(&self, row: usize) -> Option<f64> {
        let element = self.row_element(row)?;
        Some(element.get_bounding_client_rect().top() - self.scroller.get_bounding_client_rect().top())
    }

    /// The reader scrolled, or the page did.
    pub fn scrolled(&self) {
        self.update();
    }

    /// Where the reader has scrolled since this module last did, what is there now is what must stay.
    pub(super) fn notice(&self, state: &mut State) {
        let now = f64::from(self.scroller.scroll_top());
        if state.set < 0.0 || (now - state.set).abs() < 2.0 {
            return;
        }
        let down = now > state.set;
        state.set = now;
        // Where an answer grows, the end has moved on a little since the reader scrolled there.
        if self.has_tail() && self.is_at_end(if down { 120 } else { 8 }) {
            state.anchor = Anchor::End;
            return;
        }
        if let Some((row, offset)) = self.first_visible() {
            state.anchor = Anchor::Row(row, offset);
            return;
        }
        // Only what is below the messages is on the screen: the last of them stays where it is above.
        if self.has_tail()
            && let Some(row) = state.outline.rows.len().checked_sub(1)
            && let Some(offset) = self.offset_of(row)
        {
            state.anchor = Anchor::Row(row, offset);
            return;
        }
        // Scrolled beyond what is built: the block at this place becomes the anchor.
        let block = state.heights.at(now);
        let item = state.blocks.get(block).map_or(0, |block| block.items.start);
        let first = state.items[item..].iter().find_map(|item| match item {
            Item::Row { row, .. } => Some(*row),
            Item::Hidden { .. } => None,
        });
        if let Some(row) = first {
            state.anchor = Anchor::Row(row, state.heights.top(block) - now);
        }
    }

    pub(super) fn first_visible(&self) -> Option<(usize, f64)> {
        let edge = self.scroller.get_bounding_client_rect();
        let rows = self.window.query_selector_all("[data-row]").ok()?;
        for at in 0..rows.length() {
            let Some(element) = rows.get(at).and_then(|node| node.dyn_into::<Element>().ok()) else { continue };
            let rect = element.get_bounding_client_rect();
            if rect.bottom() > edge.top() + 1.0 {
                let row = element.get_attribute("data-row")?.parse().ok()?;
                return (rect.top() < edge.bottom()).then(|| (row, rect.top() - edge.top()));
            }
        }
        None
    }

    pub(super) fn resized(&self) {
        // Not at once: what is built in here would be observed in here.
        let canvas = self.clone();
        leptos::prelude::request_animation_frame(move || {
            if canvas.scroller.client_height() > 0 {
                canvas.update();
            }
        });
    }

    /// Brings a row to the top, or to the end of the branch, and gives it the focus if asked.
    pub(super) fn jump(&self, anchor: Anchor, with_focus: Option<usize>) {
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.anchor = anchor;
            state.set = -1.0;
            state.focus = with_focus;
            if let Anchor::Row(row, _) = anchor
                && state.unfold_for(row)
            {
                self.relay(state);
            }
        }
        self.update();
    }

    /// Shows a message of this branch. `false` where it is not on it.
    pub fn reveal(&self, id: &MessageId, with_focus: bool) -> bool {
        let find = |state: &State| state.outline.rows.iter().position(|row| row.id == *id);
        let Some(row) = self.state.borrow().as_ref().and_then(find) else { return false };
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.sought = Some(row);
        }
        self.jump(Anchor::Row(row, TOP), with_focus.then_some(row));
        true
    }
}
