//! Groups: a history cut into what is kept whole or dropped whole, in the order in which a provider takes it.
//!
//! Goes in: the facts of each message. Comes out: entries in the order of the prompt, and groups of them. Every call gets a
//! result and every result has its call: results move behind their call in the order of the calls, calls without one get
//! one that says so, results without a call are left out. Left to others: which groups a budget keeps.

use serde_json::Value;

use crate::tokens::{Cost, Counter, cost};
use crate::{Content, Message, Part, Provider};

use super::budget::Figures;
use super::facts::{
    EMPTY, Fact, Facts, HIDDEN, IN_PARTS, NO_ID, NONE, OLD_CALL, OLD_RESULT, PINNED as PINNED_FLAG, SERVER, SPEAKS,
    THOUGHT, Who, answered, characters,
};
use super::preview::with_content;
use super::{Action, Item, System, rule};

/// A message in its place in the prompt, or left out where it would have been.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The message's place in the history; for what is put in, that of what it precedes.
    pub index: u32,
    /// The group; [`NONE`] for what is never in a prompt.
    pub group: u32,
    /// The message that is shown instead, in [`Groups::made`] or the facts' list; else [`NONE`].
    pub made: Made,
    /// Whether the history does not have it.
    pub injected: bool,
    pub before: u32,
    pub cost: Cost,
    pub chars: u32,
    pub mark: Option<(Action, &'static str)>,
}

/// Which message an entry shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// The history's own.
    No,
    /// One that was made when the history was read.
    Fact(u32),
    /// One that was made when it was grouped.
    Group(u32),
}

/// What is kept or dropped as one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// Its first entry.
    pub first: u32,
    /// Behind its last entry.
    pub end: u32,
    pub system: bool,
    pub pinned: bool,
    /// Whether the user speaks in it.
    pub user: bool,
    /// Whether the user's message is its first.
    pub opens: bool,
    /// Whether there are calls in it.
    pub calls: bool,
}

/// A history as groups.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    pub entries: Vec<Entry>,
    pub list: Vec<Group>,
    /// What all groups before each hold; one more than there are groups.
    pub sums: Vec<Figures>,
    /// The groups that are kept always for what they are: instructions, and what is marked as pinned.
    pub always: Vec<u32>,
    /// For each group, the user's message before it that must come along so that a prompt can begin there; else [`NONE`].
    pub openers: Vec<u32>,
    pub made: Vec<Message>,
    /// The group of each message of the history, or [`NONE`].
    pub of: Vec<u32>,
    /// The group of the user's newest message.
    pub newest_user: Option<u32>,
    /// The tool group that the model has not answered yet.
    pub open: Option<u32>,
}

/// A call, and what answers it.
struct Slot {
    id: u32,
    block: u32,
    /// The message that answers it, or [`NONE`].
    answer: u32,
    /// Whether the model's own server runs it.
    server: bool,
    /// Whether its answer is in the place of another message: behind all results of its block, or in the next block.
    elsewhere: bool,
    /// Which of the answers in a message's parts it is, where it has to become a message of its own; else [`NONE`].
    part: u32,
    /// The slot before this with the same id, or [`NONE`].
    older: u32,
}

/// A message that others may hang on.
struct Block {
    head: u32,
    slots: (u32, u32),
    /// Messages with answers in their parts, behind the results of this block.
    tail: Vec<u32>,
    /// Whether it is in one group with the block before.
    joins: bool,
}

struct Pairing<'a> {
    facts: &'a Facts,
    blocks: Vec<Block>,
    slots: Vec<Slot>,
    /// The newest slot of each call id, or [`NONE`].
    latest: Vec<u32>,
    /// The newest block with calls, or [`NONE`].
    calling: u32,
    /// Reasoning that waits for what follows it.
    held: Vec<u32>,
    /// What is never in a prompt, and why.
    out: Vec<(u32, Action, &'static str)>,
    /// Results that get the id of the call that they belong to: message, block, place in it.
    named: Vec<(u32, u32)>,
    /// Whether instructions are wanted, and whether the frame has its own in place of the first.
    system: bool,
    replaces: bool,
    /// Whether anything but instructions has come.
    began: bool,
    /// Messages in whose content results of no call are left out.
    stripped: Vec<(u32, Vec<u32>)>,
}

impl Pairing<'_> {
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
            return self.drop(index, Action::Dropped, rule::NOT_IN_CONTEXT);
        }
        if fact.who == Who::System && !(self.system && (self.began || !self.replaces)) {
            let why = if self.system { rule::REPLACED_BY_FRAME } else { rule::SYSTEM_EXCLUDED };
            return self.drop(index, Action::Dropped, why);
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

/// What grouping needs beside the facts.
pub(super) struct Grouping<'a, 'm> {
    pub facts: &'a Facts,
    pub items: &'a [Item<'m>],
    pub provider: Provider,
    pub live: bool,
    pub system: System,
    pub counter: &'a dyn Counter,
}

impl Grouping<'_, '_> {
    /// Cuts the history into groups.
    pub fn run(&self) -> Groups {
        let facts = &self.facts.list;
        let mut pairing = Pairing {
            facts: self.facts,
            blocks: Vec::with_capacity(facts.len()),
            slots: Vec::new(),
            latest: vec![NONE; self.facts.ids()],
            calling: NONE,
            held: Vec::new(),
            out: Vec::new(),
            named: Vec::new(),
            stripped: Vec::new(),
            system: self.system != System::Excluded,
            replaces: self.system == System::Replaced,
            began: false,
        };
        for (index, fact) in facts.iter().enumerate() {
            pairing.message(index as u32, fact);
        }
        for thought in std::mem::take(&mut pairing.held) {
            pairing.drop(thought, Action::Repaired, rule::REASONING_ALONE);
        }
        pairing.out.sort_unstable_by_key(|(index, ..)| *index);
        let mut groups = Groups { of: vec![NONE; facts.len()], ..Groups::default() };
        self.emit(&pairing, &mut groups);
        self.mend(&pairing, &mut groups);
        mark_moved(&mut groups.entries, facts);
        sum(&mut groups);
        groups
    }

    fn emit(&self, pairing: &Pairing, groups: &mut Groups) {
        let facts = &self.facts.list;
        let mut out = pairing.out.iter().peekable();
        for (at, block) in pairing.blocks.iter().enumerate() {
            if !block.joins || groups.list.is_empty() {
                while let Some((index, action, why)) = out.next_if(|(index, ..)| *index < block.head) {
                    groups.entries.push(left_out(*index, &facts[*index as usize], *action, why));
                }
                let first = groups.entries.len() as u32;
                let opens = facts[block.head as usize].who == Who::User;
                groups.list.push(Group {
                    first,
                    end: first,
                    system: self.system != System::Plain,
                    pinned: false,
                    user: false,
                    opens,
                    calls: false,
                });
            }
            self.real(block.head, groups);
            let mut injected = Vec::new();
            for slot in &pairing.slots[block.slots.0 as usize..block.slots.1 as usize] {
                if slot.answer == NONE && slot.server && at + 1 == pairing.blocks.len() {
                    // A turn that was paused here: the server goes on with it.
                } else if slot.answer == NONE {
                    injected.push((groups.entries.len(), slot));
                } else if slot.part != NONE {
                    self.extracted(block.head, slot, groups);
                } else if !slot.elsewhere {
                    self.real(slot.answer, groups);
                }
            }
            if !injected.is_empty() {
                let next = pairing.blocks[at + 1..].iter().find(|block| facts[block.head as usize].who != Who::System);
                let why = match next.map(|block| facts[block.head as usize].who) {
                    _ if !block.tail.is_empty() => rule::ABORTED_CALL,
                    Some(Who::User) => rule::CANCELLED_CALL,
                    None if self.live => rule::PENDING_CALL,
                    _ => rule::ABORTED_CALL,
                };
                let before = block.tail.first().copied().or(pairing.blocks.get(at + 1).map(|block| block.head));
                let before = before.unwrap_or(facts.len() as u32);
                for (shift, (place, slot)) in injected.into_iter().enumerate() {
                    let nth = slot.id;
                    let entry = self.injection(block.head, nth, why, before, groups);
                    groups.entries.insert(place + shift, entry);
                }
            }
            for index in &block.tail {
                self.real(*index, groups);
            }
            let end = groups.entries.len() as u32;
            if let Some(group) = groups.list.last_mut() {
                group.end = end;
                group.calls |= block.slots.0 < block.slots.1;
            }
        }
        for (index, action, why) in out {
            groups.entries.push(left_out(*index, &facts[*index as usize], *action, why));
        }
        let last = groups.list.iter().rposition(|group| !group.system);
        let speaks = |fact: &Fact| fact.who == Who::User && fact.is(SPEAKS);
        let mut newest = facts.iter().zip(&groups.of).rev();
        groups.newest_user = newest.find(|(fact, group)| speaks(fact) && **group != NONE).map(|(_, group)| *group);
        groups.open = last.filter(|at| self.is_open(&groups.list[*at], groups)).map(|at| at as u32);
    }

    /// Whether the model has not answered a tool group: it ends with a result.
    fn is_open(&self, group: &Group, groups: &Groups) -> bool {
        let last = groups.entries[group.first as usize..group.end as usize].last();
        let answers = |entry: &Entry| {
            let fact = self.facts.list.get(entry.index as usize);
            let result = |fact: &Fact| fact.who == Who::Tool || fact.is(IN_PARTS) && fact.who != Who::Assistant;
            entry.injected || fact.is_some_and(result)
        };
        group.calls && last.is_some_and(answers)
    }

    /// Adds a message of the history to the newest group.
    fn real(&self, index: u32, groups: &mut Groups) {
        let at = groups.list.len() as u32 - 1;
        let fact = &self.facts.list[index as usize];
        let group = &mut groups.list[at as usize];
        group.system &= fact.who == Who::System;
        group.pinned |= fact.is(PINNED_FLAG);
        group.user |= fact.who == Who::User && fact.is(SPEAKS);
        groups.of[index as usize] = at;
        groups.entries.push(Entry {
            index,
            group: at,
            made: if fact.made == NONE { Made::No } else { Made::Fact(fact.made) },
            injected: false,
            before: fact.before,
            cost: fact.cost,
            chars: fact.chars,
            mark: fact.mark,
        });
    }

    /// Adds a result that is part of a message behind a later block.
    fn extracted(&self, head: u32, slot: &Slot, groups: &mut Groups) {
        let fact = &self.facts.list[slot.answer as usize];
        let Content::Parts(parts) = &self.shown(slot.answer).content else { return };
        let mut answers = parts.iter().filter(|part| self.is_answer(part, fact));
        let Some(part) = answers.nth(slot.part as usize) else { return };
        let content = match part.0.get("content") {
            Some(Value::String(text)) => text.as_str().into(),
            Some(Value::Array(parts)) => {
                Content::Parts(parts.iter().filter_map(Value::as_object).cloned().map(Part).collect())
            }
            _ => "".into(),
        };
        let (id, name) = self.call(head, slot.id);
        let mut message = Message::tool(id, content);
        message.name = name;
        message.is_error = part.0.get("is_error") == Some(&Value::Bool(true));
        let entry = self.made(slot.answer, message, rule::MOVED_RESULT, groups);
        groups.entries.push(entry);
    }

    /// Whether a part answers a call of another message.
    fn is_answer(&self, part: &Part, fact: &Fact) -> bool {
        let refs = &self.facts.refs[fact.answers.0 as usize..fact.answers.1 as usize];
        answered(&part.0).is_some_and(|id| refs.contains(&self.facts.known(id).unwrap_or(NO_ID)))
    }

    /// An entry of the newest group for a message that the history does not have.
    fn made(&self, index: u32, message: Message, why: &'static str, groups: &mut Groups) -> Entry {
        let cost = cost(&message, self.provider, self.counter);
        let chars = u32::try_from(characters(&message)).unwrap_or(u32::MAX);
        groups.made.push(message);
        Entry {
            index,
            group: groups.list.len() as u32 - 1,
            made: Made::Group(groups.made.len() as u32 - 1),
            injected: true,
            before: 0,
            cost,
            chars,
            mark: Some((Action::Repaired, why)),
        }
    }

    /// A result for a call that has none.
    fn injection(&self, head: u32, id: u32, why: &'static str, before: u32, groups: &mut Groups) -> Entry {
        let text = match why {
            rule::CANCELLED_CALL => "Cancelled: the user spoke before this call had a result.",
            rule::PENDING_CALL => "Pending: this call is still running.",
            _ => "Aborted: this call has no result.",
        };
        let (id, name) = self.call(head, id);
        let mut message = Message::tool(id, text);
        message.name = name;
        message.is_error = why != rule::PENDING_CALL;
        self.made(before, message, why, groups)
    }

    /// The message of the history as it was read.
    fn shown(&self, index: u32) -> &Message {
        match self.facts.list[index as usize].made {
            NONE => self.items[index as usize].message,
            made => &self.facts.made[made as usize],
        }
    }

    /// The id and the tool's name of a call, as the message that makes it has them.
    fn call(&self, head: u32, id: u32) -> (String, Option<String>) {
        let message = self.shown(head);
        let is = |given: &str| self.facts.known(given) == Some(id);
        if let Some(call) = message.tool_calls.iter().find(|call| is(call.id())) {
            return (call.id().to_owned(), Some(call.name().to_owned()).filter(|name| !name.is_empty()));
        }
        let parts = if let Content::Parts(parts) = &message.content { parts.as_slice() } else { &[] };
        let text = |part: &Part, field: &str| part.0.get(field).and_then(|v| v.as_str()).map(str::to_owned);
        let part = parts.iter().find(|part| text(part, "id").is_some_and(|given| is(&given)));
        part.map_or((String::new(), None), |part| (text(part, "id").unwrap_or_default(), text(part, "name")))
    }

    /// Makes the messages that pairing changes: results without an id, and content with results of no call in it.
    fn mend(&self, pairing: &Pairing, groups: &mut Groups) {
        if pairing.named.is_empty() && pairing.stripped.is_empty() {
            return;
        }
        let mut made: Vec<(u32, Message, &'static str)> = Vec::new();
        for (index, slot) in &pairing.named {
            let slot = &pairing.slots[*slot as usize];
            let mut message = self.shown(*index).clone();
            message.tool_call_id = Some(self.call(pairing.blocks[slot.block as usize].head, slot.id).0);
            made.push((*index, message, rule::RESULT_ID));
        }
        for (index, orphans) in &pairing.stripped {
            let message = self.shown(*index);
            let Content::Parts(parts) = &message.content else { continue };
            let fact = &self.facts.list[*index as usize];
            let mut next = 0;
            let kept = parts.iter().filter(|part| {
                let answers = self.is_answer(part, fact);
                next += u32::from(answers);
                !answers || !orphans.contains(&(next - 1))
            });
            let content = Content::Parts(kept.cloned().collect());
            made.push((*index, with_content(message, content), rule::ORPHAN_RESULT));
        }
        made.sort_by_key(|(index, ..)| *index);
        for entry in groups.entries.iter_mut().filter(|entry| entry.group != NONE && !entry.injected) {
            let Ok(at) = made.binary_search_by_key(&entry.index, |(index, ..)| *index) else { continue };
            let (_, message, why) = &made[at];
            entry.cost = cost(message, self.provider, self.counter);
            entry.chars = u32::try_from(characters(message)).unwrap_or(u32::MAX);
            entry.mark = entry.mark.or(Some((Action::Repaired, why)));
            entry.made = Made::Group(groups.made.len() as u32);
            groups.made.push(message.clone());
        }
    }
}

fn left_out(index: u32, fact: &Fact, action: Action, why: &'static str) -> Entry {
    Entry {
        index,
        group: NONE,
        made: Made::No,
        injected: false,
        before: fact.before,
        cost: Cost::default(),
        chars: 0,
        mark: Some((action, why)),
    }
}

/// Marks the results that stand elsewhere than in the history: something that was before them is behind, or the reverse.
fn mark_moved(entries: &mut [Entry], facts: &[Fact]) {
    let stands = |entry: &&mut Entry| entry.group != NONE && !entry.injected;
    let mut least = u32::MAX;
    let mut moved = Vec::new();
    for entry in entries.iter_mut().rev().filter(stands) {
        moved.push(least < entry.index);
        least = least.min(entry.index);
    }
    let mut most = 0;
    for (entry, before_it) in entries.iter_mut().filter(stands).zip(moved.into_iter().rev()) {
        let answers = facts[entry.index as usize].answers;
        if answers.0 < answers.1 && (before_it || most > entry.index) {
            entry.mark = entry.mark.or(Some((Action::Repaired, rule::MOVED_RESULT)));
        }
        most = most.max(entry.index);
    }
}

fn sum(groups: &mut Groups) {
    let mut all = Figures::default();
    groups.sums.reserve(groups.list.len() + 1);
    groups.sums.push(all);
    for group in &groups.list {
        for entry in &groups.entries[group.first as usize..group.end as usize] {
            all.tokens += u64::from(entry.cost.total());
            all.messages += 1;
            all.chars += u64::from(entry.chars);
        }
        groups.sums.push(all);
    }
    let mut user = NONE;
    for (at, group) in groups.list.iter().enumerate() {
        if group.system || group.pinned {
            groups.always.push(at as u32);
        }
        // Instructions wait for what follows them to know who must open.
        if !group.system {
            let opener = if group.opens { NONE } else { user };
            groups.openers.resize(at + 1, opener);
        }
        if group.opens {
            user = at as u32;
        }
    }
    groups.openers.resize(groups.list.len() + 1, NONE);
}
