//! What the reader does in the thread: keys, clicks, cards that open. Events in; changes of the canvas and [`Action`]s out.

use std::rc::Rc;

use leptos::task::spawn_local;
use threadkeep::protocol::Fork;
use threadkeep_core::{Message, MessageId};
use wasm_bindgen::prelude::*;
use web_sys::Element;

use super::build::focus;
use super::{Action, Anchor, Canvas, TOP};
use crate::format;
use crate::items::{self, Item};
use crate::page::article;
use crate::page::dom::{self, closest};
use crate::pieces::{self, Piece};
use crate::wire::Node;

impl Canvas {
    /// A key was pressed in the thread. Says whether it meant something here.
    pub fn key(&self, key: &str, alt: bool, focused: Option<Element>) -> bool {
        let row = focused
            .and_then(|element| element.closest("[data-row]").ok().flatten())
            .and_then(|element| element.get_attribute("data-row")?.parse::<usize>().ok());
        match (key, alt) {
            ("Home", false) => self.jump(Anchor::Row(0, TOP), None),
            ("End", false) => self.jump(Anchor::End, None),
            ("j" | "k", false) => self.step(row, key == "j"),
            ("r", false) if row.is_some() => self.talk("reply", row.unwrap_or_default()),
            ("[", false) => return self.turn(row, false),
            ("]", false) => return self.turn(row, true),
            // Anywhere but on a message these are the browser's.
            ("ArrowLeft", true) if row.is_some() => return self.turn(row, false),
            ("ArrowRight", true) if row.is_some() => return self.turn(row, true),
            _ => return false,
        }
        true
    }

    fn step(&self, from: Option<usize>, forward: bool) {
        let visible = self.first_visible().map(|(row, _)| row);
        let next = {
            let held = self.state.borrow();
            let Some(state) = held.as_ref() else { return };
            let rows =
                state.items.iter().filter_map(|item| if let Item::Row { row, .. } = item { Some(*row) } else { None });
            match (from, forward) {
                (None, _) => visible,
                (Some(from), true) => rows.into_iter().find(|row| *row > from),
                (Some(from), false) => rows.into_iter().take_while(|row| *row < from).last(),
            }
        };
        if let Some(row) = next {
            self.jump(Anchor::Row(row, TOP), Some(row));
        }
    }

    /// Turns to the branch beside the one at `row`, or at the nearest fork above it.
    fn turn(&self, row: Option<usize>, forward: bool) -> bool {
        let Some(row) = row.or_else(|| self.first_visible().map(|(row, _)| row)) else { return false };
        let action = {
            let held = self.state.borrow();
            let Some(state) = held.as_ref() else { return false };
            let rows = &state.outline.rows;
            let fork =
                (0..=row.min(rows.len().saturating_sub(1))).rev().find(|at| items::last_fork(&rows[*at]).is_some());
            let leaf = |at: usize| {
                let fork = items::last_fork(&rows[at])?;
                if forward { fork.next.clone() } else { fork.previous.clone() }
            };
            fork.and_then(|at| Some(Action::Branch { leaf: leaf(at)?, row: at }))
        };
        match action {
            Some(action) => {
                (self.act)(action);
                true
            }
            None => false,
        }
    }

    /// A click in the thread.
    pub fn clicked(&self, target: Option<web_sys::EventTarget>) {
        let Some(button) = closest(target, "[data-do]") else { return };
        let action = button.get_attribute("data-do").unwrap_or_default();
        let number = |name: &str| button.get_attribute(name).and_then(|text| text.parse::<usize>().ok());
        let answers = button.get_attribute("data-between").as_deref() == Some("answers");
        let row = button.closest("[data-row]").ok().flatten();
        let row = row.and_then(|element| element.get_attribute("data-row")?.parse::<usize>().ok());
        match action.as_str() {
            "code" => {
                let code =
                    button.closest(".code").ok().flatten().and_then(|code| code.query_selector("pre").ok().flatten());
                self.copy(code.and_then(|code| code.text_content()).unwrap_or_default(), button);
            }
            "copy" => {
                let node = row.and_then(|row| self.node(row));
                self.copy(node.map(|node| pieces::copy_text(&node.messages)).unwrap_or_default(), button);
            }
            "delete" => {
                if let Some(node) = row.and_then(|row| self.node(row)) {
                    (self.act)(Action::Delete(node.id.clone()));
                }
            }
            "pin" => {
                let node = row.and_then(|row| self.node(row)).map(|node| node.id.clone());
                let pinned = node.as_ref().and_then(|node| self.is_pinned(node));
                if let (Some(node), Some(pinned)) = (node, pinned) {
                    (self.act)(Action::Pin(node, !pinned));
                }
            }
            "reply" | "edit" | "again" | "go-on" | "resume" => {
                if let Some(row) = row {
                    self.talk(&action, row);
                }
            }
            "statement" => {
                if let (Some(card), Some(place)) = (number("data-card-at"), number("data-place")) {
                    self.light((card, place));
                }
            }
            "originals" => self.originals(),
            "carrier" => {
                if let (Some(card), Some(place)) = (number("data-card-at"), number("data-place")) {
                    self.lead((card, place));
                }
            }
            "request" => (self.act)(Action::Request(button.get_attribute("data-id").unwrap_or_default())),
            "memory" => (self.act)(Action::Memory),
            "epochs" => (self.act)(Action::Epochs(button.get_attribute("data-checkpoint").unwrap_or_default())),
            "undo-compaction" => {
                (self.act)(Action::UndoCompaction(button.get_attribute("data-checkpoint").unwrap_or_default()));
            }
            "compare" => {
                let beside = number("data-of").and_then(|of| self.beside(of, answers));
                if let Some(leaf) = beside {
                    (self.act)(Action::Compare(leaf));
                }
            }
            "previous" | "next" => {
                if let Some(of) = number("data-of") {
                    self.turn_at(of, answers, action == "next");
                }
            }
            "hidden" => {
                if let (Some(start), Some(state)) = (number("data-start"), self.state.borrow_mut().as_mut()) {
                    match state.unfolded.iter().position(|open| *open == start) {
                        Some(open) => drop(state.unfolded.remove(open)),
                        None => state.unfolded.push(start),
                    }
                    self.relay(state);
                }
                self.update();
                if let Some(start) = number("data-start")
                    && let Ok(Some(again)) = self.window.query_selector(&format!("[data-start=\"{start}\"]"))
                {
                    focus(&again);
                }
            }
            "whole" => {
                if let (Some(row), Some(message), Some(piece)) = (row, number("data-message"), number("data-piece"))
                    && let Some(state) = self.state.borrow_mut().as_mut()
                {
                    let id = state.outline.rows[row].id.clone();
                    state.opened.whole.push((id, message, piece));
                    let item = items::item_of(&state.items, row).unwrap_or(0);
                    let block = state.blocks.partition_point(|block| block.items.end <= item);
                    if let Some(built) = state.built.iter().find(|built| built.at == block) {
                        self.fill(state, block, &built.element, true);
                    }
                }
                self.update();
            }
            _ => {}
        }
    }

    /// Something is to be said or answered at a row.
    fn talk(&self, action: &str, row: usize) {
        let Some(node) = self.node(row) else { return };
        let action = match action {
            "reply" => {
                // What it says last: that is what one replies to.
                let spoken = |message: &&Message| message.role.counts() && !message.text().trim().is_empty();
                let last = node.messages.iter().rfind(spoken).or(node.messages.last());
                let said = last.map(|last| format::line(&pieces::copy_text(std::slice::from_ref(last)), 90));
                let who = last.map_or("", |last| pieces::role_label(last.role.as_str()));
                let words = [who, ": ", &said.unwrap_or_default()].concat();
                Action::Reply { node: node.id.clone(), words }
            }
            "edit" => {
                let held = self.state.borrow();
                let above = held.as_ref().and_then(|state| state.outline.rows.get(row.checked_sub(1)?));
                let parent = above.map(|row| row.id.clone());
                let text = node.messages.first().map(|first| first.text().into_owned()).unwrap_or_default();
                Action::Edit { node: node.id.clone(), parent, text }
            }
            "again" => Action::Again(node.id.clone()),
            "go-on" => Action::GoOn(node.id.clone()),
            _ => Action::Resume(node.id.clone()),
        };
        (self.act)(action);
    }

    /// Whether a message of the branch is pinned.
    fn is_pinned(&self, node: &MessageId) -> Option<bool> {
        let held = self.state.borrow();
        held.as_ref().map(|state| state.outline.pins.contains(node))
    }

    /// The fork at a row: between its answers, or between its questions.
    fn fork_at(&self, row: usize, answers: bool) -> Option<Fork> {
        let held = self.state.borrow();
        let row = held.as_ref()?.outline.rows.get(row)?;
        if answers { row.answers.clone() } else { row.fork.clone() }
    }

    /// The end of the branch beside the one at a fork.
    fn beside(&self, row: usize, answers: bool) -> Option<threadkeep_core::MessageId> {
        let fork = self.fork_at(row, answers)?;
        fork.previous.or(fork.next)
    }

    fn turn_at(&self, row: usize, answers: bool, forward: bool) {
        let leaf = self.fork_at(row, answers).and_then(|fork| if forward { fork.next } else { fork.previous });
        if let Some(leaf) = leaf {
            (self.act)(Action::Branch { leaf, row });
        }
    }

    fn node(&self, row: usize) -> Option<Rc<Node>> {
        let held = self.state.borrow();
        let state = held.as_ref()?;
        state.nodes.get(&state.outline.rows.get(row)?.id).cloned()
    }

    fn copy(&self, text: String, button: Element) {
        let act = Rc::clone(&self.act);
        spawn_local(async move {
            let done = dom::copy(&text).await;
            if done {
                let _ = button.class_list().add_1("done");
                let back = Closure::once_into_js(move || {
                    let _ = button.class_list().remove_1("done");
                });
                let window = leptos::prelude::window();
                let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(back.unchecked_ref(), 1500);
            }
            act(Action::Copied(done));
        });
    }

    /// A card was opened or closed.
    pub fn toggled(&self, target: Option<web_sys::EventTarget>) {
        let Some(details) = target.and_then(|target| target.dyn_into::<Element>().ok()) else { return };
        if !details.has_attribute("data-card") {
            return;
        }
        let number = |name: &str| details.get_attribute(name).and_then(|text| text.parse::<usize>().ok());
        let article = details.closest("[data-row]").ok().flatten();
        let row = article.and_then(|element| element.get_attribute("data-row")?.parse::<usize>().ok());
        let (Some(row), Some(message), Some(piece)) = (row, number("data-message"), number("data-piece")) else {
            return;
        };
        let Some(node) = self.node(row) else { return };
        let open = details.has_attribute("open");
        if let Some(state) = self.state.borrow_mut().as_mut() {
            let place = (node.id.clone(), message, piece);
            state.opened.cards.retain(|card| *card != place);
            if open {
                state.opened.cards.push(place);
            }
        }
        if open
            && let Some(stretch) = self.state.borrow().as_ref().and_then(|state| state.stretch(row))
            && let Some(Piece::Card(card)) = stretch.pieces(message).get(piece)
        {
            article::fill_card(&details, card);
        }
        self.update();
    }
}
