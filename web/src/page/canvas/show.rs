//! Shows a branch: where one begins to read, and what stays of the branch that was shown.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use threadkeep::protocol::Row;
use threadkeep_core::MessageId;

use super::{Anchor, Built, Canvas, Start, State, TOP, marks};
use crate::items::{self, Block, Item};
use crate::page::article::{Opened, Stretch};
use crate::window::Heights;
use crate::wire::{Branch, Node};

impl State {
    /// A branch of which nothing is built yet.
    fn of(outline: Branch, version: u64) -> Self {
        Self {
            places: marks::places(&outline.rows),
            outline,
            items: Vec::new(),
            blocks: Vec::new(),
            heights: Heights::default(),
            nodes: HashMap::new(),
            built: Vec::new(),
            unfolded: Vec::new(),
            opened: Opened::default(),
            anchor: Anchor::Row(0, TOP),
            set: -1.0,
            focus: None,
            sought: None,
            lit: None,
            led: None,
            chosen: None,
            carrier: None,
            target: None,
            stale: HashSet::new(),
            asking: false,
            version,
        }
    }

    /// Goes to where one begins to read.
    fn begin(&mut self, start: &Start) {
        match start {
            Start::End => self.anchor = Anchor::End,
            Start::Fork(row) => self.focus = Some(*row),
            Start::At(id) => {
                if let Some(row) = self.outline.rows.iter().position(|row| row.id == *id) {
                    self.anchor = Anchor::Row(row, TOP);
                    self.sought = Some(row);
                    self.focus = Some(row);
                }
            }
            Start::Top | Start::Same => {}
        }
        if let Anchor::Row(row, _) = self.anchor {
            if row > 0 && row >= self.outline.rows.len() {
                self.anchor = Anchor::End;
            }
            self.unfold_for(row);
        }
    }

    /// The node of a row with those near it, as far as they were read.
    pub(super) fn stretch(&self, row: usize) -> Option<Stretch> {
        let rows = &self.outline.rows;
        let near = items::near(rows, row);
        let read = |rows: &[Row]| rows.iter().filter_map(|row| self.nodes.get(&row.id).cloned()).collect::<Vec<_>>();
        let before = read(&rows[near.start..row]);
        let own = before.len();
        let node = self.nodes.get(&rows[row].id)?.clone();
        let after = read(&rows[row + 1..near.end]);
        Some(Stretch { nodes: [before, vec![node], after].concat(), own })
    }

    /// Opens the run that hides a row. Says whether there was one that was closed.
    pub(super) fn unfold_for(&mut self, row: usize) -> bool {
        let run = items::run_of(&self.outline.rows, row).filter(|run| !self.unfolded.contains(run));
        self.unfolded.extend(run);
        run.is_some()
    }
}

impl Canvas {
    /// Shows a branch.
    pub fn show(&self, outline: Branch, start: &Start) {
        let version = self.version.get() + 1;
        self.version.set(version);
        let early = self.early.take();
        let (old, at_end) = (self.state.borrow_mut().take(), self.is_at_end(8));
        let mut state = State::of(outline, version);
        let mut before = None;
        if let Some(mut old) = old {
            if old.outline.thread.id == state.outline.thread.id {
                self.keep(&mut old, &mut state, start, at_end);
                before = Some(old);
            } else {
                self.drop_blocks(old.built);
            }
        }
        state.stale.retain(|id| !early.contains_key(id));
        state.nodes.extend(early);
        state.begin(start);
        // What is hidden cannot be measured; the page shows the scroller a moment later than it says so.
        let _ = self.scroller.class_list().remove_1("gone");
        self.lay_out(&mut state);
        if let Some(old) = before {
            self.take_over(old, &mut state);
        }
        *self.state.borrow_mut() = Some(state);
        self.update();
    }

    /// What stays as it was where another branch of the same thread is shown, or the same one again.
    fn keep(&self, old: &mut State, state: &mut State, start: &Start, at_end: bool) {
        // Runs keep their place as long as the way to them is the same.
        let same =
            |at: &usize| old.outline.rows.get(*at).map(|row| &row.id) == state.outline.rows.get(*at).map(|row| &row.id);
        state.unfolded = old.unfolded.iter().copied().filter(same).collect();
        state.opened = std::mem::take(&mut old.opened);
        state.target = old.target.take();
        state.stale = std::mem::take(&mut old.stale);
        state.chosen = old.chosen.take().filter(|id| state.outline.rows.iter().any(|row| row.id == *id));
        // Nobody asks for it again where the compactions are as they were. Where a pin has changed it, the new one is on its way.
        let alike = state.chosen.is_some() && old.outline.cards == state.outline.cards;
        state.carrier = old.carrier.take().filter(|_| alike);
        match start {
            Start::Fork(row) => state.anchor = Anchor::Row(*row, self.offset_of(*row).unwrap_or(TOP)),
            // Where an answer grows, its end is followed for as long as the reader is there.
            Start::Same if at_end && self.has_tail() => state.anchor = Anchor::End,
            Start::Same => state.anchor = old.anchor,
            Start::Top | Start::At(_) | Start::End => {}
        }
        state.nodes.clone_from(&old.nodes);
    }

    /// Keeps what is built where it would be built alike, so that an answer that grows makes its own block anew and no other.
    fn take_over(&self, old: State, state: &mut State) {
        for at in 0..old.blocks.len().min(state.blocks.len()) {
            if old.blocks[at].items == state.blocks[at].items
                && let Some(height) = old.heights.measured(at)
            {
                state.heights.measure([(at, height)]);
            }
        }
        let alike = old.outline.cards == state.outline.cards;
        let (keep, gone): (Vec<Built>, Vec<Built>) = (old.built.into_iter()).partition(|built| {
            alike
                && built.complete
                && same_block((&old.items, &old.blocks, &old.outline, &old.unfolded, &old.nodes), state, built.at)
        });
        self.drop_blocks(gone);
        state.built = keep;
    }
}

/// What was shown before: items, blocks, the branch, what is unfolded, and the nodes.
type Before<'a> = (&'a [Item], &'a [Block], &'a Branch, &'a [usize], &'a HashMap<MessageId, Rc<Node>>);

/// Whether a block would be built as it was.
fn same_block((items, blocks, outline, unfolded, nodes): Before<'_>, state: &State, at: usize) -> bool {
    let (Some(old), Some(new)) = (blocks.get(at), state.blocks.get(at)) else { return false };
    if old.items != new.items || items[old.items.clone()] != state.items[new.items.clone()] {
        return false;
    }
    let (before, now) = (&outline.rows, &state.outline.rows);
    items[old.items.clone()].iter().all(|item| match item {
        Item::Hidden { .. } => true,
        Item::Row { row, .. } => {
            let same = before[*row] == now[*row] && (*row + 1 == before.len()) == (*row + 1 == now.len());
            let near = items::near(now, *row);
            let node = |nodes: &HashMap<MessageId, Rc<Node>>, row: &Row| nodes.get(&row.id).map(Rc::as_ptr);
            let as_read = |row: &Row| node(nodes, row) == node(&state.nodes, row);
            same && near == items::near(before, *row)
                && now[near.clone()].iter().zip(&before[near]).all(|(now, before)| now.id == before.id && as_read(now))
                && items::fork(before, *row, unfolded) == items::fork(now, *row, &state.unfolded)
        }
    })
}
