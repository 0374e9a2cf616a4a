//! Builds the blocks near the viewport, measures them, and drops those that are far.

use std::ops::Range;

use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement};

use super::{Built, Canvas, State, cards, dress};
use crate::format;
use crate::items::{self, Item};
use crate::page::article::{self, Parts};
use crate::page::dom::{Build as _, el, length, sign};
use crate::window::Heights;

impl Canvas {
    pub(super) fn lay_out(&self, state: &mut State) {
        let width = f64::from(self.scroller.client_width()).min(860.0) - 64.0;
        let letters = width / 7.6;
        state.items = items::items(&state.outline.rows, &state.unfolded);
        state.blocks = items::blocks(&state.items, &state.outline.rows, letters);
        state.heights = Heights::new(state.blocks.iter().map(|block| block.guess).collect());
    }

    pub(super) fn drop_blocks(&self, built: Vec<Built>) {
        for block in built {
            if let Some(observer) = self.observer.borrow().as_ref() {
                observer.unobserve(&block.element);
            }
            block.element.remove();
        }
    }

    /// Builds what is near the viewport, drops the rest, corrects heights, and holds the anchor still.
    pub(super) fn update(&self) {
        let mut held = self.state.borrow_mut();
        let Some(state) = held.as_mut() else { return };
        self.notice(state);
        self.settle(state);
        if self.reach(state) {
            self.settle(state);
        }
        if let Some(row) = state.focus
            && let Some(element) = self.row_element(row)
        {
            state.focus = None;
            focus(&element);
        }
        if let Some(row) = state.sought
            && let Some(element) = self.row_element(row)
        {
            state.sought = None;
            let _ = element.class_list().add_1("sought");
        }
        drop(held);
        self.fetch();
    }

    pub(super) fn settle(&self, state: &mut State) {
        let viewport = f64::from(self.scroller.client_height()).max(200.0);
        for _ in 0..6 {
            // Where the anchor's block is far from what is built, go there first.
            if state.set < 0.0 {
                self.go(state, viewport);
            }
            let scroll = f64::from(self.scroller.scroll_top());
            let range = state.heights.visible(scroll, viewport, viewport);
            let changed = self.build(state, &range);
            self.measure(state);
            self.place(state, &range);
            let moved = self.hold(state);
            if !changed && !moved {
                break;
            }
        }
    }

    /// Drops blocks outside `range` and builds those in it that are missing or incomplete. Says whether anything changed.
    pub(super) fn build(&self, state: &mut State, range: &Range<usize>) -> bool {
        let (near, far) = std::mem::take(&mut state.built).into_iter().partition(|built| range.contains(&built.at));
        state.built = near;
        let far: Vec<Built> = far;
        let mut changed = !far.is_empty();
        self.drop_blocks(far);
        // Every block of the range is built in its turn, so its place in the range is its place in the list.
        for (place, at) in range.clone().enumerate() {
            let ready = self.ready(state, at);
            let here = state.built.get(place).filter(|built| built.at == at);
            // What is complete stays, and so does what would wait again.
            if here.is_none_or(|built| ready && !built.complete) {
                if here.is_none() {
                    let element = el("div").class("block");
                    let next = state.built.get(place).map(|built| built.element.as_ref());
                    let _ = self.window.insert_before(&element, next);
                    if let Some(observer) = self.observer.borrow().as_ref() {
                        observer.observe(&element);
                    }
                    state.built.insert(place, Built { at, element, complete: false });
                }
                self.fill(state, at, &state.built[place].element, ready);
                state.built[place].complete = ready;
                changed = true;
            }
        }
        changed
    }

    /// Whether a block holds a row that changed since it was read.
    pub(super) fn is_stale(&self, state: &State, at: usize) -> bool {
        let stale = |item: &Item| match item {
            Item::Row { row, .. } => state.stale.contains(&state.outline.rows[*row].id),
            Item::Hidden { .. } => false,
        };
        !state.stale.is_empty() && state.items[state.blocks[at].items.clone()].iter().any(stale)
    }

    pub(super) fn ready(&self, state: &State, at: usize) -> bool {
        let has = |row: usize| state.nodes.contains_key(&state.outline.rows[row].id);
        let own = |item: &Item| match item {
            Item::Row { row, .. } => items::near(&state.outline.rows, *row).all(has),
            Item::Hidden { .. } => true,
        };
        state.items[state.blocks[at].items.clone()].iter().all(own)
    }

    pub(super) fn fill(&self, state: &State, at: usize, element: &Element, ready: bool) {
        element.set_text_content(None);
        if !ready {
            element.set_class_name("block waiting");
            length(element, "min-height", state.heights.height(at));
            return;
        }
        element.set_class_name("block");
        length(element, "min-height", 0.0);
        for item in &state.items[state.blocks[at].items.clone()] {
            let made = match item {
                Item::Hidden { rows, open, level } => hidden_line(rows, *open, *level),
                Item::Row { row, level } => {
                    let here = &state.outline.rows[*row];
                    let Some(stretch) = state.stretch(*row) else { continue };
                    let stretch = &stretch;
                    let fork = items::fork(&state.outline.rows, *row, &state.unfolded);
                    let (opened, last) = (&state.opened, *row + 1 == state.outline.rows.len());
                    article::article(&Parts { at: *row, row: here, level: *level, fork, stretch, opened, last })
                }
            };
            self.mark_row(state, &made);
            self.stand_row(state, &made);
            let _ = element.append_child(&made);
            match item {
                Item::Row { row, .. } => {
                    dress::dress(state, *row, &made);
                    cards::append(state, *row..*row + 1, element);
                }
                Item::Hidden { rows, open: false, .. } => cards::append(state, rows.clone(), element),
                Item::Hidden { .. } => {}
            }
        }
    }

    pub(super) fn measure(&self, state: &mut State) -> bool {
        let found = state.built.iter().map(|built| (built.at, built.element.get_bounding_client_rect().height()));
        // Nothing is that low: it is not on the screen at all, and says nothing.
        let found: Vec<(usize, f64)> = found.filter(|(_, height)| *height >= 1.0).collect();
        state.heights.measure(found)
    }

    pub(super) fn place(&self, state: &State, range: &Range<usize>) {
        length(&self.canvas, "height", state.heights.total());
        length(&self.window, "top", state.heights.top(range.start));
    }

    pub(super) fn row_element(&self, row: usize) -> Option<Element> {
        self.window.query_selector(&format!("[data-row=\"{row}\"]")).ok()?
    }

    /// Lays out again after a run was opened or closed.
    pub(super) fn relay(&self, state: &mut State) {
        let built = std::mem::take(&mut state.built);
        self.drop_blocks(built);
        self.lay_out(state);
    }
}

fn hidden_line(rows: &Range<usize>, open: bool, level: u32) -> Element {
    let words = format!("{} hidden", format::plural(rows.len() as u64, "message"));
    let line = el("button")
        .attr("type", "button")
        .class("hidden-line")
        .attr("data-testid", "hidden")
        .attr("data-do", "hidden")
        .attr("data-start", &rows.start.to_string())
        .attr("aria-expanded", if open { "true" } else { "false" });
    el("div")
        .class(&format!("hidden-run level-{}", level.min(6)))
        .child(line.child(sign("eye")).child(el("span").text(&words)).child(sign("down")))
}

pub(super) fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let how = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&how, &"preventScroll".into(), &JsValue::TRUE);
        // `focus` with options is not among the typed bindings of every version.
        if let Ok(call) = js_sys::Reflect::get(element, &"focus".into())
            && let Some(call) = call.dyn_ref::<js_sys::Function>()
        {
            let _ = call.call1(element, &how);
        }
    }
}
