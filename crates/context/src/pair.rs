//! Pairs: which result answers which call, and which messages hang together by that.
//!
//! Goes in: the facts of each message, in the order of the history. Comes out: blocks (a message and the calls in it, each
//! with its answer) in the order of the prompt, and what is left out, with the rule. Nothing here reads a message. A history that grew is
//! read from where it had ended; [`Pairing::dirty`] says which blocks that changed.

use std::collections::HashMap;

use super::facts::{
    EMPTY, Fact, Facts, HIDDEN, IN_PARTS, INTERRUPTED, NO_ID, NONE, OLD_CALL, OLD_RESULT, SERVER, SPEAKS, THOUGHT,
    UNSAID, Who,
};
use super::{Action, System, rule};
use threadkeep_core::sort;

/// A call, and what answers it.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub id: u32,
    pub block: u32,
    /// The message that answers it, or [`NONE`].
    pub answer: u32,
    /// Whether the model's own server runs it.
    pub server: bool,
    /// Whether its answer is in the place of another message: behind all results of its block, or in the next block.
    pub elsewhere: bool,
    /// Which of the answers in a message's parts it is, where it has to become a message of its own; else [`NONE`].
    pub part: u32,
    /// The slot before this with the same id, or [`NONE`].
    older: u32,
}

/// A message that others may hang on.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub head: u32,
    pub slots: (u32, u32),
    /// Messages with answers in their parts, behind the results of this block.
    pub tail: Vec<u32>,
    /// Whether it is in one group with the block before.
    pub joins: bool,
}

/// What is left out of prompts: which message, and why.
pub(super) type Out = (u32, Action, &'static str);

#[derive(Debug, Clone, Default)]
pub(super) struct Pairing {
    pub blocks: Vec<Block>,
    pub slots: Vec<Slot>,
    /// How many messages were read.
    read: usize,
    /// The newest slot of each call id, or [`NONE`].
    latest: Vec<u32>,
    /// The newest block with calls, or [`NONE`].
    calling: u32,
    /// Where to look for a call of it that has no result: those before all have one.
    free: u32,
    /// The last block that is more than an assistant's message, counted from 1; 0 for none.
    others: u32,
    /// The blocks that were last made one group.
    joined: (u32, u32),
    /// Reasoning that waits for what follows it.
    held: Vec<u32>,
    /// What is never in a prompt, ascending.
    out: Vec<Out>,
    /// Results that get the id of the call that they belong to: by message, the slot.
    pub named: HashMap<u32, u32>,
    /// Messages in whose content results of no call are left out: by message, which.
    pub stripped: HashMap<u32, Vec<u32>>,
    /// Whether anything but instructions has come.
    began: bool,
    /// The first block that is not as it was before the history grew.
    dirty: u32,
}

impl Pairing {
    pub fn new() -> Self {
        Self { calling: NONE, ..Self::default() }
    }

    /// Pairs the calls and results of what a history has grown by. Gives the first block that changed.
    pub fn extend(&mut self, facts: &Facts, system: System) -> u32 {
        self.latest.resize(facts.ids(), NONE);
        // What a block looks like can depend on who speaks next.
        let speaks = |block: &Block| facts.list[block.head as usize].who != Who::System;
        self.dirty = self.blocks.iter().rposition(speaks).unwrap_or_default() as u32;
        for (index, fact) in facts.list.iter().enumerate().skip(self.read) {
            self.message(index as u32, fact, facts, system);
        }
        self.read = facts.list.len();
        self.dirty
    }

    /// What is left out from the message `first` on, ascending. Reasoning that nothing has followed is among it.
    pub fn out(&self, first: u32) -> Vec<Out> {
        let mut out = self.out[self.out.partition_point(|(index, ..)| *index < first)..].to_vec();
        let held = self.held.iter().filter(|index| **index >= first);
        out.extend(held.map(|index| (*index, Action::Repaired, rule::REASONING_ALONE)));
        sort::sort_by_key(&mut out, |(index, ..)| *index);
        out
    }

    fn drop(&mut self, index: u32, action: Action, why: &'static str) {
        // Almost always at the end.
        let at = self.out.len() - self.out.iter().rev().take_while(|(other, ..)| *other > index).count();
        self.out.insert(at, (index, action, why));
    }

    fn touch(&mut self, block: u32) {
        self.dirty = self.dirty.min(block);
    }

    /// The slot that a result of this call belongs to.
    fn slot(&mut self, id: u32) -> Result<u32, &'static str> {
        if id == NO_ID {
            let block = self.blocks.get(self.calling as usize).ok_or(rule::ORPHAN_RESULT)?;
            while self.free < block.slots.1 && self.slots[self.free as usize].answer != NONE {
                self.free += 1;
            }
            return if self.free < block.slots.1 { Ok(self.free) } else { Err(rule::ORPHAN_RESULT) };
        }
        let mut slot = self.latest.get(id as usize).copied().unwrap_or(NONE);
        let mut why = rule::ORPHAN_RESULT;
        // The same id may have been used before; only a few uses back are worth a look.
        for _ in 0..8 {
            let Some(found) = self.slots.get(slot as usize) else { break };
            if found.answer == NONE {
                return Ok(slot);
            }
            why = rule::DUPLICATE_RESULT;
            slot = found.older;
        }
        Err(why)
    }

    fn answer(&mut self, slot: u32, index: u32) {
        self.slots[slot as usize].answer = index;
        self.touch(self.slots[slot as usize].block);
    }

    fn result(&mut self, index: u32, id: u32) {
        match self.slot(id) {
            Ok(slot) => {
                self.answer(slot, index);
                if id == NO_ID {
                    self.named.insert(index, slot);
                }
            }
            Err(why) => self.drop(index, Action::Repaired, why),
        }
    }

    /// Takes the answers in a message's parts. Gives the block that it belongs behind (for an assistant's message, the first
    /// that it is in one group with).
    fn part_answers(&mut self, index: u32, fact: &Fact, facts: &Facts) -> Option<u32> {
        let mut found: Vec<(u32, Option<u32>)> = Vec::new();
        for at in fact.answers.0..fact.answers.1 {
            let id = facts.refs[at as usize];
            let slot = if id == NO_ID { None } else { self.slot(id).ok() };
            let slot = slot.filter(|slot| fact.who != Who::Assistant || self.only_assistants(*slot));
            if let Some(slot) = slot {
                self.answer(slot, index);
            }
            found.push((at - fact.answers.0, slot));
        }
        let blocks = || found.iter().filter_map(|(_, slot)| slot.map(|slot| self.slots[slot as usize].block));
        let place = if fact.who == Who::Assistant { blocks().min() } else { blocks().max() };
        let mut gone = Vec::new();
        for (part, slot) in found {
            let Some(slot) = slot.map(|slot| &mut self.slots[slot as usize]) else {
                gone.push(part);
                continue;
            };
            if fact.who == Who::Assistant || Some(slot.block) == place {
                slot.elsewhere = true;
            } else {
                // One message answers calls of several: what belongs behind an earlier one becomes a message there.
                slot.part = part;
                gone.push(part);
            }
        }
        if !gone.is_empty() && (place.is_some() || fact.is(SPEAKS)) {
            self.stripped.insert(index, gone);
        }
        place
    }

    /// Whether nobody but the model has spoken since the call.
    fn only_assistants(&self, slot: u32) -> bool {
        self.slots[slot as usize].block >= self.others
    }

    fn join(&mut self, first: u32, last: u32) {
        let start = if (self.joined.0..=self.joined.1).contains(&first) { self.joined.1 } else { first };
        for block in start + 1..=last {
            self.blocks[block as usize].joins = true;
        }
        self.joined = if start == first { (first, last) } else { (self.joined.0, last.max(self.joined.1)) };
        self.touch(first);
    }

    /// Whether the mark of an interrupted reply ends a block.
    fn is_interrupted(block: &Block, facts: &Facts) -> bool {
        let head = &facts.list[block.head as usize];
        block.tail.is_empty() && (head.is(INTERRUPTED) || head.is(UNSAID))
    }

    fn block(&mut self, index: u32, fact: &Fact, facts: &Facts) {
        let held = std::mem::take(&mut self.held);
        let follows = fact.who == Who::Assistant;
        let mut joins = false;
        for thought in held {
            if follows {
                self.blocks.push(Block { head: thought, slots: (0, 0), tail: Vec::new(), joins });
                joins = true;
            } else {
                self.drop(thought, Action::Repaired, rule::REASONING_ALONE);
            }
        }
        let block = self.blocks.len() as u32;
        let first = self.slots.len() as u32;
        for at in fact.calls.0..fact.calls.1 {
            let (id, server) = (facts.refs[at as usize] & !SERVER, facts.refs[at as usize] & SERVER != 0);
            let slot = self.slots.len() as u32;
            let older = self.latest.get_mut(id as usize).map_or(NONE, |latest| std::mem::replace(latest, slot));
            self.slots.push(Slot { id, block, answer: NONE, server, elsewhere: false, part: NONE, older });
        }
        let end = self.slots.len() as u32;
        if first < end {
            (self.calling, self.free) = (block, first);
        }
        if !follows {
            self.others = block + 1;
        }
        self.blocks.push(Block { head: index, slots: (first, end), tail: Vec::new(), joins });
    }

    fn message(&mut self, index: u32, fact: &Fact, facts: &Facts, system: System) {
        if fact.is(HIDDEN) {
            let (action, why) = covered(fact)
                .or(fact.mark.filter(|(action, _)| *action == Action::Dropped))
                .unwrap_or((Action::Dropped, rule::NOT_IN_CONTEXT));
            return self.drop(index, action, why);
        }
        match system {
            _ if fact.who != Who::System => {}
            System::Excluded => return self.drop(index, Action::Dropped, rule::SYSTEM_EXCLUDED),
            System::Replaced if !self.began => return self.drop(index, Action::Dropped, rule::REPLACED_BY_FRAME),
            System::Replaced | System::Kept | System::Plain => {}
        }
        self.began |= fact.who != Who::System;
        if fact.is(EMPTY) {
            return self.drop(index, Action::Repaired, rule::EMPTY_MESSAGE);
        }
        if fact.is(UNSAID) && self.blocks.last().is_some_and(|last| Self::is_interrupted(last, facts)) {
            return self.drop(index, Action::Repaired, rule::LLM_ERROR);
        }
        if fact.is(THOUGHT) {
            return self.held.push(index);
        }
        if fact.is(OLD_RESULT) {
            let last = self.blocks.last().map(|block| block.head);
            let called = last.is_some_and(|head| facts.list[head as usize].is(OLD_CALL));
            if !called {
                return self.drop(index, Action::Repaired, rule::ORPHAN_RESULT);
            }
            self.block(index, fact, facts);
            return self.join(self.blocks.len() as u32 - 2, self.blocks.len() as u32 - 1);
        }
        if fact.who == Who::Tool {
            return self.result(index, facts.refs[fact.answers.0 as usize]);
        }
        let answered = if fact.is(IN_PARTS) { self.part_answers(index, fact, facts) } else { None };
        match answered {
            // The results in an assistant's message belong to calls of its server that a message before made.
            Some(first) if fact.who == Who::Assistant => {
                self.block(index, fact, facts);
                self.join(first, self.blocks.len() as u32 - 1);
            }
            Some(block) => {
                self.blocks[block as usize].tail.push(index);
                self.others = self.others.max(block + 1);
                self.touch(block);
            }
            None if fact.is(IN_PARTS) && !fact.is(SPEAKS) => {
                self.drop(index, Action::Repaired, rule::ORPHAN_RESULT);
            }
            None => self.block(index, fact, facts),
        }
    }
}

/// What covers a message that a checkpoint does.
fn covered(fact: &Fact) -> Option<(Action, &'static str)> {
    fact.mark.filter(|(_, why)| matches!(*why, rule::CHECKPOINT | rule::SLIDING_WINDOW))
}
