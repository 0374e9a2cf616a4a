//! Compaction cards: what stands in prompts for the messages above, at the place of the last of them. The messages stay where
//! they are, set back; a chosen statement lights up those that it came from.

use threadkeep_core::MessageId;
use web_sys::Element;

use super::{Anchor, Canvas, State, TOP};
use crate::epochs::made_by;
use crate::format;
use crate::page::dom::{self, Build as _, el, sign};
use crate::wire::{Card, Said};

/// A chosen statement: the card's place among the cards, and its own among its statements.
pub type Lit = (usize, usize);

/// Appends the cards of those rows.
pub fn append(state: &State, rows: std::ops::Range<usize>, into: &Element) {
    for (at, card) in state.outline.cards.iter().enumerate() {
        if state.outline.rows[rows.clone()].iter().any(|row| row.id == card.anchor) {
            let _ = into.append_child(&view(state, card, at));
        }
    }
}

/// Whether a statement came from the message that the reader has selected.
pub fn cites(state: &State, said: &Said) -> bool {
    state.chosen.as_ref().is_some_and(|chosen| said.sources.contains(chosen))
}

/// How many rows are covered by the last card that covers any.
pub fn covered(state: &State) -> usize {
    let Some(last) = state.outline.cards.iter().rfind(|card| card.cleared == 0) else { return 0 };
    state.outline.rows.iter().position(|row| row.id == last.anchor).map_or(0, |at| at + 1)
}

/// The nodes that a chosen statement came from.
pub fn sources(state: &State) -> &[MessageId] {
    let said = state.lit.and_then(|(card, statement)| state.outline.cards.get(card)?.statements.get(statement));
    said.map_or(&[], |said| &said.sources)
}

fn view(state: &State, card: &Card, at: usize) -> Element {
    let (heading, what) = match u64::from(card.cleared) {
        0 => ("Compacted", ["first ", &format::plural(card.messages.into(), "message")].concat()),
        cleared => ("Cleared", format::plural(cleared, "tool result")),
    };
    let tokens = format!("{} → {} tokens", format::count(card.before), format::count(card.after));
    let facts = el("p")
        .class("thread-facts")
        .child(el("span").text(&what))
        .child(el("span").attr("data-testid", "compaction-tokens").text(&tokens))
        .child(el("span").text(&made_by(card)))
        .child(dom::time(card.created_at));
    let epochs = act("epochs", "compaction-epochs", "Before and after").attr("data-checkpoint", &card.id);
    let undo = act("undo-compaction", "undo-compaction", "Undo").attr("data-checkpoint", &card.id);
    let mut acts = el("p").class("card-acts").child(epochs);
    if card.cleared == 0 {
        acts = acts.child(act("originals", "originals", "Show the originals"));
    }
    acts = acts.child(undo.attr("title", "Prompts have the originals again"));
    let list = el("ol").class("statements");
    for (place, said) in card.statements.iter().enumerate() {
        // Fails only where an element would hold itself.
        let _ = list.append_child(&el("li").child(statement(state, said, (at, place))));
    }
    el("section")
        .class("compaction")
        .attr("aria-label", "Compaction")
        .attr("data-testid", "compaction")
        .attr("data-checkpoint", &card.id)
        .child(el("header").child(sign("fold")).child(el("h3").text(heading)).child(facts).child(acts))
        .child(list)
}

/// A small button of a card.
pub fn act(action: &str, id: &str, words: &str) -> Element {
    el("button").class("quiet small").attr("type", "button").attr("data-do", action).attr("data-testid", id).text(words)
}

/// A line of a summary, which `action` acts on.
pub fn line(action: &str, id: &str, title: &str, (card, place): Lit, text: &str) -> Element {
    el("button")
        .class("statement")
        .attr("type", "button")
        .attr("dir", "auto")
        .attr("data-do", action)
        .attr("data-card-at", &card.to_string())
        .attr("data-place", &place.to_string())
        .attr("data-testid", id)
        .attr("title", title)
        .text(text)
}

fn statement(state: &State, said: &Said, at: Lit) -> Element {
    let class = if cites(state, said) { "statement cites" } else { "statement" };
    line("statement", "statement", "Show where it comes from", at, &said.text)
        .class(class)
        .attr("aria-pressed", &(state.lit == Some(at)).to_string())
}

impl Canvas {
    /// Lights up what a statement came from, or lets it go dark again. Goes there where nothing of it is on the screen.
    pub(super) fn light(&self, chosen: Lit) {
        let mut away = None;
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.lit = if state.lit == Some(chosen) { None } else { Some(chosen) };
            let edge = self.scroller.get_bounding_client_rect();
            let seen = |row: usize| {
                self.row_element(row).is_some_and(|element| {
                    let rect = element.get_bounding_client_rect();
                    rect.bottom() > edge.top() + 40.0 && rect.top() < edge.bottom() - 40.0
                })
            };
            let lit = sources(state);
            let rows: Vec<usize> =
                (0..state.outline.rows.len()).filter(|row| lit.contains(&state.outline.rows[*row].id)).collect();
            if !rows.iter().any(|row| seen(*row)) {
                away = rows.first().copied();
            }
            self.dress_all(state);
        }
        if let Some(row) = away {
            self.jump(Anchor::Row(row, TOP), Some(row));
        }
    }

    /// Shows the first of the messages that cards cover.
    pub fn originals(&self) {
        let first =
            self.state.borrow().as_ref().and_then(|state| state.outline.rows.iter().position(|row| !row.hidden));
        if let Some(row) = first {
            self.jump(Anchor::Row(row, TOP), Some(row));
        }
    }
}
