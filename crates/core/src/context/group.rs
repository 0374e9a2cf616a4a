//! Groups: a history cut into what is kept whole or dropped whole, in the order in which a provider takes it.
//!
//! Goes in: the facts of each message. Comes out: entries in the order of the prompt, and groups of them. Every call gets a
//! result and every result has its call: results move behind their call in the order of the calls, calls without one get
//! one that says so, results without a call are left out. Left to others: which groups a budget keeps.

use serde_json::Value;

use crate::tokens::{Cost, Counter, cost};
use crate::{Content, Message, Part, Provider};

use super::budget::Figures;
use super::facts::{Fact, Facts, IN_PARTS, NO_ID, NONE, PINNED as PINNED_FLAG, SPEAKS, Who, answered, characters};
use super::pair::{Block, Pairing, Slot};
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
        let pairing = Pairing::of(self.facts, self.system);
        let mut groups = Groups { of: vec![NONE; facts.len()], ..Groups::default() };
        self.emit(&pairing, &mut groups);
        self.mend(&pairing, &mut groups);
        mark_moved(&mut groups.entries, facts);
        sum(&mut groups);
        groups
    }

    /// Puts blocks and what is left out in the order of the prompt.
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
                let system = self.system != System::Plain;
                let (pinned, user, calls) = (false, false, false);
                groups.list.push(Group { first, end: first, system, pinned, user, opens, calls });
            }
            self.real(block.head, groups);
            self.results(at, pairing, groups);
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

    /// Adds the results of a block's calls, in the order of the calls; for calls without one, a result that says so.
    fn results(&self, at: usize, pairing: &Pairing, groups: &mut Groups) {
        let block = &pairing.blocks[at];
        let why = self.why_missing(at, pairing);
        let next = block.tail.first().copied().or(pairing.blocks.get(at + 1).map(|block| block.head));
        let next = next.unwrap_or(self.facts.list.len() as u32);
        let is_last = at + 1 == pairing.blocks.len();
        for slot in &pairing.slots[block.slots.0 as usize..block.slots.1 as usize] {
            match slot.answer {
                // A turn that was paused here: the server goes on with it.
                NONE if slot.server && is_last => {}
                NONE => {
                    let entry = self.injection(block.head, slot.id, why, next, groups);
                    groups.entries.push(entry);
                }
                _ if slot.part != NONE => self.extracted(block.head, slot, groups),
                _ if slot.elsewhere => {}
                answer => self.real(answer, groups),
            }
        }
    }

    /// Why calls of a block that have no result have none: by who speaks next.
    fn why_missing(&self, at: usize, pairing: &Pairing) -> &'static str {
        let who = |block: &Block| self.facts.list[block.head as usize].who;
        match pairing.blocks[at + 1..].iter().map(who).find(|who| *who != Who::System) {
            _ if !pairing.blocks[at].tail.is_empty() => rule::ABORTED_CALL,
            Some(Who::User) => rule::CANCELLED_CALL,
            None if self.live => rule::PENDING_CALL,
            _ => rule::ABORTED_CALL,
        }
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
            before: fact.before.total(),
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
        before: fact.before.total(),
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
