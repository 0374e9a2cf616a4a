//! Compaction cards: what stands in prompts for the messages above, at the place of the last of them. The messages stay where
//! they are, set back; a chosen statement lights up those that it came from.

use threadkeep_core::MessageId;
use web_sys::{Element, Node};

use super::{Anchor, Canvas, State, TOP};
use crate::epochs::made_by;
use crate::format;
use crate::page::dom;
use crate::page::view::markup;
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

fn view(state: &State, card: &Card, at: usize) -> Node {
    let statement = |(place, said): (usize, &Said)| {
        markup!(
            r#"
            <li>
                <button type="button" class="statement" class:cites={} dir="auto" data-do="statement" data-card-at={} data-place={} data-testid="statement" title="Show where it comes from" aria-pressed={}>{}</button>
            </li>"#,
            cites(state, said),
            at.to_string(),
            place.to_string(),
            (state.lit == Some((at, place))).to_string(),
            said.text.clone(),
        )
    };
    let originals = (card.cleared == 0).then(|| {
        markup!(
            r#"<button type="button" class="quiet small" data-do="originals" data-testid="originals">Show the originals</button>"#
        )
    });
    let (heading, what) = match u64::from(card.cleared) {
        0 => ("Compacted", ["first ", &format::plural(card.messages.into(), "message")].concat()),
        cleared => ("Cleared", format::plural(cleared, "tool result")),
    };
    markup!(
        r#"
        <section class="compaction" aria-label="Compaction" data-testid="compaction" data-checkpoint={}>
            <header>
                <svg sign="fold"/>
                <h3>{}</h3>
                <p class="thread-facts"><span>{}</span><span data-testid="compaction-tokens">{}</span><span>{}</span>{}</p>
                <p class="card-acts">
                    <button type="button" class="quiet small" data-do="epochs" data-checkpoint={} data-testid="compaction-epochs">Before and after</button>
                    {}
                </p>
            </header>
            <ol class="statements">{}</ol>
        </section>"#,
        card.id.clone(),
        heading,
        what,
        format!("{} → {} tokens", format::count(card.before), format::count(card.after)),
        made_by(card),
        dom::time(card.created_at),
        card.id.clone(),
        originals,
        card.statements.iter().enumerate().map(statement).collect::<Vec<Node>>(),
    )
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
    pub(super) fn originals(&self) {
        let first =
            self.state.borrow().as_ref().and_then(|state| state.outline.rows.iter().position(|row| !row.hidden));
        if let Some(row) = first {
            self.jump(Anchor::Row(row, TOP), Some(row));
        }
    }
}
