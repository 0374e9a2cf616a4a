//! Reads the rows that the built blocks lack, one request at a time, and lets go of those that are far.

use std::rc::Rc;

use leptos::task::spawn_local;

use super::{Action, Canvas, State};
use crate::items::rows_of;
use crate::wire::{Ask, Reply};

/// How many nodes are kept at hand, shown or not.
const KEPT: usize = 3000;

impl Canvas {
    /// Asks for the rows that the built blocks lack, one request at a time.
    pub(super) fn fetch(&self) {
        let (leaf, range, version) = {
            let mut held = self.state.borrow_mut();
            let Some(state) = held.as_mut() else { return };
            if state.asking {
                return;
            }
            let missing = |row: &usize| {
                let id = &state.outline.rows[*row].id;
                !state.nodes.contains_key(id) || state.stale.contains(id)
            };
            let mut wanted = state
                .built
                .iter()
                .filter(|built| !built.complete || self.is_stale(state, built.at))
                .filter_map(|built| rows_of(&state.items, &state.blocks[built.at], &state.outline.rows))
                .flatten()
                .filter(missing);
            let Some(first) = wanted.next() else { return };
            let last = wanted.next_back().unwrap_or(first).min(first + 400);
            state.asking = true;
            (state.outline.leaf.clone(), first..last + 1, state.version)
        };
        let canvas = self.clone();
        spawn_local(async move {
            let ask = Ask::Rows { leaf, start: range.start as u32, end: range.end as u32 };
            let answer = canvas.engine.ask(ask).await;
            let mut held = canvas.state.borrow_mut();
            let Some(state) = held.as_mut().filter(|state| state.version == version) else { return };
            state.asking = false;
            let got = match answer {
                Ok(Reply::Nodes(nodes)) => {
                    let before = state.nodes.len();
                    let mut renewed = false;
                    for node in nodes {
                        renewed |= state.stale.remove(&node.id);
                        state.nodes.insert(node.id.clone(), Rc::new(node));
                    }
                    if renewed {
                        // Made anew one by one as they are met; the others are as they were.
                        state.built.iter_mut().for_each(|built| built.complete = false);
                    }
                    trim(state);
                    renewed || state.nodes.len() != before || before >= KEPT
                }
                Ok(_) => false,
                Err(error) => {
                    drop(held);
                    return (canvas.act)(Action::Failed(error));
                }
            };
            drop(held);
            // Nothing new means that the branch changed underneath; its event brings a new outline.
            if got {
                canvas.update();
            }
        });
    }
}

/// Lets go of nodes far from what is built, when there are many.
fn trim(state: &mut State) {
    if state.nodes.len() <= KEPT {
        return;
    }
    let mut all = std::mem::take(&mut state.nodes);
    for built in &state.built {
        let Some(rows) = rows_of(&state.items, &state.blocks[built.at], &state.outline.rows) else { continue };
        let near = rows.start.saturating_sub(300)..(rows.end + 300).min(state.outline.rows.len());
        for row in &state.outline.rows[near] {
            if let Some(node) = all.remove(&row.id) {
                state.nodes.insert(row.id.clone(), node);
            }
        }
    }
}
