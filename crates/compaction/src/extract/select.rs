//! Choosing: which units are said, so that they fit. Again and again the unit is taken that tells most for its length,
//! where words that were already said count less and less, and so do further sentences of one message. What says the same as
//! a statement that was chosen becomes a source of that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cues::NOT;
use super::lexicon::NONE;
use super::units::{From, Units};
use super::words::{DIGIT, hash};
use threadkeep_context::tokens::Counter;

/// A chosen unit.
pub(super) struct Pick {
    /// Which.
    pub unit: usize,
    /// The units that say the same.
    pub also: Vec<usize>,
}

/// What a line of a summary takes beside its text, in tokens: its mark and its end.
pub(super) const LINE: u32 = 2;
/// How many units may turn out too long before nothing that fits is looked for any more.
const TRIES: u32 = 300;

/// What is chosen so far.
pub(super) struct Choice<'u, 't> {
    units: &'u mut Units<'t>,
    counter: &'u dyn Counter,
    pub picks: Vec<Pick>,
    /// How much is chosen of each message; carried statements and tool groups count as none.
    taken: Vec<u32>,
    done: Vec<bool>,
    /// How many tokens the chosen take.
    pub used: u32,
    votes: Vec<(u32, u32)>,
    /// A hash of the text of each chosen unit.
    texts: Vec<u32>,
}

impl<'u, 't> Choice<'u, 't> {
    /// Nothing yet, of units of so many messages.
    pub fn new(units: &'u mut Units<'t>, messages: usize, counter: &'u dyn Counter) -> Self {
        let done = vec![false; units.list.len()];
        Self {
            units,
            counter,
            picks: Vec::new(),
            taken: vec![0; messages],
            done,
            used: 0,
            votes: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Chooses up to so many tokens in all; only what is carried, or of everything.
    pub fn fill(&mut self, limit: u32, carried_only: bool) {
        let wanted = |from: From| !carried_only || matches!(from, From::Carried(..));
        let mut heap: BinaryHeap<(u32, Reverse<u32>)> = (0..self.units.list.len())
            .filter(|unit| !self.done[*unit] && wanted(self.units.list[*unit].from))
            .map(|unit| (self.key(unit), Reverse(unit as u32)))
            .collect();
        let mut tries = TRIES;
        while let Some((before, Reverse(number))) = heap.pop() {
            let unit = number as usize;
            let key = self.key(unit);
            if key == 0 || tries == 0 || limit.saturating_sub(self.used) <= LINE {
                break;
            }
            // Keys only fall, so that one that is still ahead of the next is ahead of all.
            if key < before && heap.peek().is_some_and(|next| next.0 > key) {
                heap.push((key, Reverse(number)));
                continue;
            }
            if let Some(same) = self.same(unit) {
                self.done[unit] = true;
                self.picks[same].also.push(unit);
                continue;
            }
            let cost = self.counter.count(&self.units.list[unit].text).saturating_add(LINE);
            if cost > limit.saturating_sub(self.used) {
                tries -= 1;
                continue;
            }
            self.used += cost;
            self.take(unit);
        }
    }

    /// Where nothing tells anything, the first thing that was said and fits: a summary must not be empty.
    pub fn at_least_one(&mut self, limit: u32) {
        for unit in 0..self.units.list.len().min(TRIES as usize) {
            let cost = self.counter.count(&self.units.list[unit].text).saturating_add(LINE);
            if self.picks.is_empty() && cost <= limit {
                self.used = cost;
                self.take(unit);
            }
        }
    }

    /// What a unit tells for its length, after all that is chosen.
    fn key(&self, unit: usize) -> u32 {
        let unit = &self.units.list[unit];
        // A user who speaks of the same things again says something new about them.
        let most = if unit.user { 2 } else { 5 };
        let mut sum = 0;
        for word in &self.units.words[unit.words.clone()] {
            let entry = &self.units.lexicon.entries[*word as usize];
            sum += entry.weight * 4 / (1 + entry.said).min(most);
        }
        let taken = if let From::Piece(at) = unit.from { self.taken[at as usize] } else { 0 };
        let slower = if unit.user { 24 } else { 8 };
        let told = u64::from(sum) * u64::from(unit.worth) * slower / (slower + u64::from(taken));
        let length = unit.text.len() as u64 / 4 + 6;
        u32::try_from(told * 8 / length).unwrap_or(u32::MAX)
    }

    /// The chosen statement that says what this unit says, if there is one.
    fn same(&mut self, unit: usize) -> Option<usize> {
        let this = &self.units.list[unit];
        let text = hash(&this.text);
        let same_text =
            |pick: &usize| self.texts[*pick] == text && self.units.list[self.picks[*pick].unit].text == this.text;
        if let Some(pick) = (0..self.texts.len()).find(same_text) {
            return Some(pick);
        }
        self.votes.clear();
        let mut numbers = true;
        let mut whole = 0;
        for word in &self.units.words[this.words.clone()] {
            let entry = &self.units.lexicon.entries[*word as usize];
            whole += entry.weight;
            if entry.picked == NONE {
                numbers &= entry.like & DIGIT == 0;
                continue;
            }
            match self.votes.iter_mut().find(|(pick, _)| *pick == entry.picked) {
                Some((_, sum)) => *sum += entry.weight,
                None => self.votes.push((entry.picked, entry.weight)),
            }
        }
        let (pick, sum) = self.votes.iter().copied().max_by_key(|(pick, sum)| (*sum, *pick))?;
        let other = &self.units.list[self.picks.get(pick as usize)?.unit];
        // A number that nobody else has is news, and so is a "not".
        let alike = numbers && this.tells & NOT == other.tells & NOT && this.code == other.code;
        (alike && sum * 10 >= whole * 9).then_some(pick as usize)
    }

    fn take(&mut self, unit: usize) {
        self.done[unit] = true;
        let this = &self.units.list[unit];
        for word in &self.units.words[this.words.clone()] {
            let entry = &mut self.units.lexicon.entries[*word as usize];
            entry.said += 1;
            entry.picked = self.picks.len() as u32;
        }
        if let From::Piece(at) = this.from {
            self.taken[at as usize] += 1;
        }
        self.texts.push(hash(&this.text));
        self.picks.push(Pick { unit, also: Vec::new() });
    }
}
