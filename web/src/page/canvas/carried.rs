//! What stands for a message in prompts, below the message while it is selected: the lines of the summary that came from it,
//! which lead to their card, and how many records of the memory did. The way back from a message, as a chosen
//! statement is the way to one.

use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use super::build::focus;
use super::cards::{Lit, act, covered, line};
use super::{Anchor, Canvas, State, TOP};
use crate::format;
use crate::page::dom::{self, Build as _, el, sign};
use crate::page::state::Line;
use crate::wire::{Carrier, Memory, Said};

/// How many lines are listed.
const LINES: usize = 6;

/// Puts the strip below the selected message, once it is known what stands for it.
pub fn dress(state: &State, id: Option<&MessageId>, element: &Element) {
    let there = element.query_selector(":scope > .carried").ok().flatten();
    let carrier = state.carrier.as_ref().filter(|_| id.is_some() && id == state.chosen.as_ref());
    match (carrier, there) {
        (None, Some(old)) => old.remove(),
        (Some(carrier), None) => {
            if let Some(id) = id {
                // Fails only where an element would hold itself.
                let _ = element.append_child(&strip(state, id, carrier));
            }
        }
        _ => {}
    }
}

/// The lines of a card that came from a message.
fn citing(state: &State, card: usize, id: &MessageId) -> Vec<Lit> {
    let Some(card_here) = state.outline.cards.get(card) else { return Vec::new() };
    let lines = card_here.statements.iter().enumerate().filter(|(_, said)| said.sources.contains(id));
    lines.map(|(place, _)| (card, place)).collect()
}

fn strip(state: &State, id: &MessageId, carrier: &Carrier) -> Element {
    let cards = &state.outline.cards;
    let at = cards.iter().position(|card| carrier.checkpoint.as_ref() == Some(&card.id));
    let now = at.map(|at| citing(state, at, id)).unwrap_or_default();
    // What an earlier summary said of it, where the present one says nothing any more.
    let earlier = || (0..at.unwrap_or(0)).rev().map(|card| citing(state, card, id)).find(|lines| !lines.is_empty());
    let earlier = if now.is_empty() { earlier().unwrap_or_default() } else { Vec::new() };
    let summarised = at.is_some_and(|at| !cards[at].statements.is_empty());
    let words = match (carrier.raw > 0, now.len() as u64) {
        (true, _) => {
            "It is in prompts as it is: instructions, pinned messages and open tool calls are never summarised."
                .to_owned()
        }
        (false, 0) if !summarised => "It left prompts with this compaction, and nothing stands in for it.".to_owned(),
        (false, 0) => "It left prompts with this compaction. No line of the summary came from it.".to_owned(),
        (false, 1) => "In prompts, one line of the summary stands for it:".to_owned(),
        (false, many) => format!("In prompts, {many} lines of the summary stand for it:"),
    };
    let made = el("div").class("carried").attr("role", "note").attr("aria-label", "In prompts");
    let mut made = made.attr("data-testid", "carried").child(el("p").text(&words));
    if !earlier.is_empty() {
        let many = format::plural(earlier.len() as u64, "line");
        made = made.child(el("p").text(&format!("An earlier summary had {many} on it:")));
    }
    let lines = if now.is_empty() { &earlier } else { &now };
    let list = el("ul");
    for (card, place) in lines.iter().take(LINES) {
        let said = cards.get(*card).and_then(|card| card.statements.get(*place));
        let text = said.map_or("", |said| &said.text);
        let line = line("carrier", "carrier-line", "Show it in its summary", (*card, *place), text);
        // Fails only where an element would hold itself.
        let _ = list.append_child(&el("li").child(line));
    }
    made = made.child(list);
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        made = made.child(el("p").text(&format!("and {}", format::plural(more as u64, "more line"))));
    }
    let mut acts = el("p").class("carried-acts");
    if let Some(at) = at.filter(|_| lines.is_empty()) {
        let show = act("carrier", "carrier-card", "Show the compaction");
        acts = acts.child(show.attr("data-card-at", &at.to_string()).attr("data-place", "0"));
    }
    if let Some(words) = remembered(&carrier.memories) {
        acts = acts.child(act("memory", "carrier-memory", "").child(sign("memory")).child(dom::text(&words)));
    }
    made.child(acts)
}

/// How much is remembered of it.
fn remembered(memories: &[Memory]) -> Option<String> {
    let episodes = memories.iter().filter(|one| one.episode).count();
    let facts = memories.len() - episodes;
    let counted = |many: usize, noun: &str| (many > 0).then(|| format::plural(many as u64, noun));
    let parts: Vec<String> = [counted(facts, "fact"), counted(episodes, "episode")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Remembered: {}", parts.join(", ")))
}

impl Canvas {
    /// A message was selected. Says whether a compaction covers it, so that somebody should ask what stands for it.
    pub fn choose(&self, id: &MessageId) -> bool {
        let mut held = self.state.borrow_mut();
        let Some(state) = held.as_mut() else { return false };
        let row = state.outline.rows.iter().position(|row| row.id == *id);
        let is_covered = row.is_some_and(|row| row < covered(state));
        if state.chosen.as_ref() == Some(id) && state.carrier.is_some() {
            return false;
        }
        state.chosen = Some(id.clone());
        state.carrier = None;
        self.dress_all(state);
        is_covered
    }

    /// The selected message, where a compaction covers it.
    pub fn chosen_covered(&self) -> Option<MessageId> {
        let held = self.state.borrow();
        let state = held.as_ref()?;
        let row = state.outline.rows.iter().position(|row| Some(&row.id) == state.chosen.as_ref())?;
        (row < covered(state)).then(|| state.chosen.clone()).flatten()
    }

    /// What stands for the selected message. Replaces what was said of it before.
    pub fn carry(&self, id: &MessageId, carrier: Carrier) {
        if let Some(state) = self.state.borrow_mut().as_mut()
            && state.chosen.as_ref() == Some(id)
            && state.carrier.as_ref() != Some(&carrier)
        {
            state.carrier = None;
            self.dress_all(state);
            state.carrier = Some(carrier).filter(|carrier| carrier.checkpoint.is_some());
            self.dress_all(state);
        }
        self.update();
    }

    /// The end of the branch that is shown.
    pub fn leaf(&self) -> Option<MessageId> {
        self.state.borrow().as_ref().map(|state| state.outline.leaf.clone())
    }

    /// Leads to the line of a card that has one of some words. `false` where the card is not on this branch.
    pub fn lead_to(&self, line: &Line) -> bool {
        let found = self.state.borrow().as_ref().and_then(|state| {
            let card = state.outline.cards.iter().position(|card| card.id == line.card)?;
            let has = |said: &Said| line.words.iter().any(|word| said.text.contains(word.as_str()));
            Some((card, state.outline.cards[card].statements.iter().position(has).unwrap_or(0)))
        });
        if let Some(to) = found {
            self.lead(to);
        }
        found.is_some()
    }

    /// Leads to a statement: lights it up, and brings its card on the screen.
    pub(super) fn lead(&self, to: Lit) {
        let mut row = None;
        if let Some(state) = self.state.borrow_mut().as_mut() {
            let anchor = state.outline.cards.get(to.0).map(|card| &card.anchor);
            row = state.outline.rows.iter().position(|row| Some(&row.id) == anchor);
            state.led = row.map(|_| to);
            state.lit = Some(to);
            self.dress_all(state);
        }
        if let Some(row) = row {
            self.jump(Anchor::Row(row, TOP), None);
        }
    }

    /// Brings the last card that says something on the screen, and gives its first statement the focus.
    pub fn to_summary(&self) {
        let found = self.state.borrow().as_ref().and_then(|state| {
            let card = state.outline.cards.iter().rposition(|card| !card.statements.is_empty())?;
            let anchor = &state.outline.cards[card].anchor;
            Some((card, state.outline.rows.iter().position(|row| row.id == *anchor)?))
        });
        let Some((card, row)) = found else { return };
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.led = Some((card, 0));
        }
        self.jump(Anchor::Row(row, TOP), None);
    }

    /// Brings the statement to which somebody is led on the screen, and gives it the focus. Says whether the anchor moved.
    pub(super) fn reach(&self, state: &mut State) -> bool {
        let Some((card, place)) = state.led else { return false };
        let find = |selector: &str| self.window.query_selector(selector).ok().flatten();
        let Some(id) = state.outline.cards.get(card).map(|card| card.id.clone()) else { return false };
        let Some(section) = find(&["[data-testid=compaction][data-checkpoint=\"", &id, "\"]"].concat()) else {
            return false;
        };
        let Anchor::Row(row, _) = state.anchor else { return false };
        let Some(top) = self.row_element(row).map(|row| row.get_bounding_client_rect().top()) else { return false };
        state.led = None;
        state.anchor = Anchor::Row(row, TOP - (section.get_bounding_client_rect().top() - top));
        state.set = -1.0;
        let statement = find(&format!("[data-testid=statement][data-card-at=\"{card}\"][data-place=\"{place}\"]"));
        if let Some(statement) = statement {
            // The card scrolls by itself where it has many lines.
            if let (Some(line), Some(list)) =
                (statement.dyn_ref::<HtmlElement>(), statement.closest(".statements").ok().flatten())
            {
                let list_top = list.dyn_ref::<HtmlElement>().map_or(0, HtmlElement::offset_top);
                list.set_scroll_top(line.offset_top() - list_top - 8);
            }
            focus(&statement);
        }
        true
    }
}
