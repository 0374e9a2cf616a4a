//! Pairs: which result answers which call, and which messages hang together by that.
//!
//! Goes in: the facts of each message, in the order of the history. Comes out: blocks (a message and the calls in it, each
//! with its answer) in the order of the prompt, and what is left out, with the rule. Nothing here reads a message.

use super::facts::{
    EMPTY, Fact, Facts, HIDDEN, IN_PARTS, NO_ID, NONE, OLD_CALL, OLD_RESULT, SERVER, SPEAKS, THOUGHT, Who,
};
use super::{Action, System, rule};

/// A call, and what answers it.
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
pub(super) struct Block {
    pub head: u32,
    pub slots: (u32, u32),
    /// Messages with answers in their parts, behind the results of this block.
    pub tail: Vec<u32>,
    /// Whether it is in one group with the block before.
    pub joins: bool,
}

pub(super) struct Pairing<'a> {
    facts: &'a Facts,
    pub blocks: Vec<Block>,
    pub slots: Vec<Slot>,
    /// The newest slot of each call id, or [`NONE`].
    latest: Vec<u32>,
    /// The newest block with calls, or [`NONE`].
    calling: u32,
    /// Reasoning that waits for what follows it.
    held: Vec<u32>,
    /// What is never in a prompt, and why.
    pub out: Vec<(u32, Action, &'static str)>,
    /// Results that get the id of the call that they belong to: message, block, place in it.
    pub named: Vec<(u32, u32)>,
    /// What becomes of instructions.
    system: System,
    /// Whether anything but instructions has come.
    began: bool,
    /// Messages in whose content results of no call are left out.
    pub stripped: Vec<(u32, Vec<u32>)>,
}

impl<'a> Pairing<'a> {
    /// Pairs the calls and results of a history.
    pub fn of(facts: &'a Facts, system: System) -> Self {
        let mut pairing = Self {
            facts,
            blocks: Vec::with_capacity(facts.list.len()),
            slots: Vec::new(),
            latest: vec![NONE; facts.ids()],
            calling: NONE,
            held: Vec::new(),
            out: Vec::new(),
            named: Vec::new(),
            stripped: Vec::new(),
            system,
            began: false,
        };
        for (index, fact) in facts.list.iter().enumerate() {
            pairing.message(index as u32, fact);
        }
        for thought in std::mem::take(&mut pairing.held) {
            pairing.drop(thought, Action::Repaired, rule::REASONING_ALONE);
        }
        pairing.out.sort_unstable_by_key(|(index, ..)| *index);
        pairing
    }

    fn drop(&mut self, index: u32, action: Action, why: &'static str) {
        self.out.push((index, action, why));
    }

    /// The slot that a result of this call belongs to.
    fn slot(&self, id: u32) -> Result<u32, &'static str> {
        if id == NO_ID {
            let block = self.blocks.get(self.calling as usize).ok_or(rule::ORPHAN_RESULT)?;
            let free = (block.slots.0..block.slots.1).find(|slot| self.slots[*slot as usize].answer == NONE);
            return free.ok_or(rule::ORPHAN_RESULT);
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

    fn result(&mut self, index: u32, id: u32) {
        match self.slot(id) {
            Ok(slot) => {
                self.slots[slot as usize].answer = index;
                if id == NO_ID {
                    self.named.push((index, slot));
                }
            }
            Err(why) => self.drop(index, Action::Repaired, why),
        }
    }

    /// Takes the answers in a message's parts. Gives the block that it belongs behind (for an assistant's message, the first
    /// that it is in one group with).
    fn part_answers(&mut self, index: u32, fact: &Fact) -> Option<u32> {
        let mut found: Vec<(u32, Option<u32>)> = Vec::new();
        for at in fact.answers.0..fact.answers.1 {
            let id = self.facts.refs[at as usize];
            let slot = if id == NO_ID { None } else { self.slot(id).ok() };
            let slot = slot.filter(|slot| fact.who != Who::Assistant || self.only_assistants(*slot));
            if let Some(slot) = slot {
                self.slots[slot as usize].answer = index;
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
            self.stripped.push((index, gone));
        }
        place
    }

    /// Whether nobody but the model has spoken since the call.
    fn only_assistants(&self, slot: u32) -> bool {
        let since = &self.blocks[self.slots[slot as usize].block as usize..];
        since.iter().all(|block| block.tail.is_empty() && self.facts.list[block.head as usize].who == Who::Assistant)
    }

    fn join(&mut self, first: u32, last: u32) {
        for block in first + 1..=last {
            self.blocks[block as usize].joins = true;
        }
    }

    fn block(&mut self, index: u32, fact: &Fact) {
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
            let (id, server) = (self.facts.refs[at as usize] & !SERVER, self.facts.refs[at as usize] & SERVER != 0);
            let slot = self.slots.len() as u32;
            let older = self.latest.get_mut(id as usize).map_or(NONE, |latest| std::mem::replace(latest, slot));
            self.slots.push(Slot { id, block, answer: NONE, server, elsewhere: false, part: NONE, older });
        }
        let end = self.slots.len() as u32;
        if first < end {
            self.calling = block;
        }
        self.blocks.push(Block { head: index, slots: (first, end), tail: Vec::new(), joins });
    }

    fn message(&mut self, index: u32, fact: &Fact) {
        if fact.is(HIDDEN) {
            let (action, why) = covered(fact).unwrap_or((Action::Dropped, rule::NOT_IN_CONTEXT));
            return self.drop(index, action, why);
        }
        match self.system {
            _ if fact.who != Who::System => {}
            System::Excluded => return self.drop(index, Action::Dropped, rule::SYSTEM_EXCLUDED),
            System::Replaced if !self.began => return self.drop(index, Action::Dropped, rule::REPLACED_BY_FRAME),
            System::Replaced | System::Kept | System::Plain => {}
        }
        self.began |= fact.who != Who::System;
        if fact.is(EMPTY) {
            return self.drop(index, Action::Repaired, rule::EMPTY_MESSAGE);
        }
        if fact.is(THOUGHT) {
            return self.held.push(index);
        }
        if fact.is(OLD_RESULT) {
            let last = self.blocks.last().map(|block| block.head);
            let called = last.is_some_and(|head| self.facts.list[head as usize].is(OLD_CALL));
            if !called {
                return self.drop(index, Action::Repaired, rule::ORPHAN_RESULT);
            }
            self.block(index, fact);
            return self.join(self.blocks.len() as u32 - 2, self.blocks.len() as u32 - 1);
        }
        if fact.who == Who::Tool {
            return self.result(index, self.facts.refs[fact.answers.0 as usize]);
        }
        let answered = if fact.is(IN_PARTS) { self.part_answers(index, fact) } else { None };
        match answered {
            // The results in an assistant's message belong to calls of its server that a message before made.
            Some(first) if fact.who == Who::Assistant => {
                self.block(index, fact);
                self.join(first, self.blocks.len() as u32 - 1);
            }
            Some(block) => self.blocks[block as usize].tail.push(index),
            None if fact.is(IN_PARTS) && !fact.is(SPEAKS) => {
                self.drop(index, Action::Repaired, rule::ORPHAN_RESULT);
            }
            None => self.block(index, fact),
        }
    }
}

/// What covers a message that a checkpoint does.
fn covered(fact: &Fact) -> Option<(Action, &'static str)> {
    fact.mark.filter(|(_, why)| matches!(*why, rule::CHECKPOINT | rule::SLIDING_WINDOW))
}
