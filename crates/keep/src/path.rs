//! Paths: the way from a root to a leaf by the places of its nodes, kept between calls. A node's parent never changes and one that has a
//! child never grows, so a path is what it was: a chain of thousands is walked once, and later only from its end to what is known.

use std::rc::Rc;

use threadkeep_context::{History, Item};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{MessageId, Transcript};

use crate::KeepError;

/// A node of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Its place in the tree, as this reading of the log has it.
    slot: u32,
    /// Its sequence number, which is never used again.
    pub(crate) seq: u64,
    /// How many messages stand before it.
    start: usize,
}

/// Where a path ends: what names it, within a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    seq: u64,
    /// How many messages there are.
    pub(crate) messages: usize,
}

/// The way from a root to a leaf.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    reading: u64,
    stops: Vec<Stop>,
    messages: usize,
}

fn count(tree: &Transcript, slot: u32) -> usize {
    tree.at(slot).map_or(0, |placed| placed.node.messages.len())
}

impl Path {
    /// The path to a leaf, which goes on from one that is known if it can.
    /// `reading` names the reading of the log.
    pub(crate) fn of(
        (tree, reading): (&Transcript, u64),
        leaf: &MessageId,
        known: &mut Vec<Rc<Self>>,
        most: usize,
    ) -> Result<Rc<Self>, KeepError> {
        let missing = || KeepError::from(threadkeep_core::transcript::ChainError::MissingNode(leaf.clone()));
        let (mut up, mut slot, mut found) = (Vec::new(), tree.index(leaf).ok_or_else(missing)?, None);
        loop {
            let joins = |path: &Rc<Self>| if path.reading == reading { path.place(slot) } else { None };
            found = found.or_else(|| known.iter().enumerate().rev().find_map(|(at, path)| Some((at, joins(path)?))));
            if found.is_some() {
                break;
            }
            up.push(slot);
            match tree.at(slot).and_then(|placed| tree.parent_index(placed)) {
                Some(parent) => slot = parent,
                None => {
                    // A root; or a node whose parent is missing, of which the tree says so.
                    if tree.at(slot).is_some_and(|placed| placed.node.parent.is_some()) {
                        tree.chain(leaf)?;
                    }
                    break;
                }
            }
        }
        let mut path = match found {
            Some((at, place)) if place + 1 == known[at].stops.len() => known.remove(at),
            Some((at, place)) => {
                let stops = known[at].stops[..=place].to_vec();
                Rc::new(Self { reading, stops, messages: 0 })
            }
            None => Rc::new(Self { reading, stops: Vec::with_capacity(up.len()), messages: 0 }),
        };
        let end = path.stops.last().map_or(0, |last| last.start + count(tree, last.slot));
        if !up.is_empty() || path.messages != end {
            let path = Rc::make_mut(&mut path);
            path.messages = end;
            for slot in up.into_iter().rev() {
                let seq = tree.at(slot).map_or(0, |placed| placed.seq);
                path.stops.push(Stop { slot, seq, start: path.messages });
                path.messages += count(tree, slot);
            }
        }
        known.drain(..(known.len() + 1).saturating_sub(most));
        known.push(Rc::clone(&path));
        Ok(path)
    }

    /// The place of a node in the path, by its place in the tree: a parent stands before its children in both.
    fn place(&self, slot: u32) -> Option<usize> {
        self.stops.binary_search_by_key(&slot, |stop| stop.slot).ok()
    }

    /// The messages of a node on the path, by its sequence number: the place of the first, and of what follows the last.
    pub(crate) fn range(&self, seq: u64) -> Option<(usize, usize)> {
        let at = self.stops.binary_search_by_key(&seq, |stop| stop.seq).ok()?;
        let end = self.stops.get(at + 1).map_or(self.messages, |next| next.start);
        Some((self.stops[at].start, end))
    }

    /// Its end.
    pub(crate) fn end(&self) -> End {
        self.end_before(self.messages)
    }

    /// The end of the part of it that has so many messages.
    pub(crate) fn end_before(&self, messages: usize) -> End {
        let at = self.stops.partition_point(|stop| stop.start < messages).max(1) - 1;
        End { seq: self.stops.get(at).map_or(0, |stop| stop.seq), messages }
    }

    /// Whether a path that ends so is the beginning of this one.
    pub(crate) fn goes_on(&self, end: End) -> bool {
        self.range(end.seq).is_some_and(|(start, behind)| (start..=behind).contains(&end.messages))
    }

    /// How many messages at the beginning this path has in common with the first `end` of another.
    pub(crate) fn common(&self, other: &Self, end: usize) -> usize {
        let same = self.stops.iter().zip(&other.stops).take_while(|(a, b)| a.seq == b.seq).count();
        let behind = |path: &Self| path.stops.get(same).map_or(path.messages, |stop| stop.start);
        behind(self).min(behind(other)).min(end)
    }

    /// The nodes, from the root.
    pub(crate) fn nodes<'a>(&self, tree: &'a Transcript) -> Vec<&'a Placed> {
        self.stops.iter().filter_map(|stop| tree.at(stop.slot)).collect()
    }
}

/// The messages of a path in its tree, or of its beginning.
pub(crate) struct Walk<'a, 'p> {
    pub(crate) tree: &'a Transcript,
    pub(crate) path: &'p Path,
    pub(crate) messages: usize,
}

impl<'a> History<'a> for Walk<'a, '_> {
    fn len(&self) -> usize {
        self.messages
    }

    fn item(&self, index: usize) -> Option<Item<'a>> {
        let at = self.path.stops.partition_point(|stop| stop.start <= index).checked_sub(1)?;
        let stop = self.path.stops[at];
        let node = &self.tree.at(stop.slot)?.node;
        let message = node.messages.get(index - stop.start)?;
        Some(Item { node: Some(&node.id), ..Item::new(message) })
    }
}
