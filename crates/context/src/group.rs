//! Groups: a history cut into what is kept whole or dropped whole, in the order in which a provider takes it.
//!
//! Goes in: the facts of each message. Comes out: entries in the order of the prompt, and groups of them. Every call gets a
//! result and every result has its call: results move behind their call in the order of the calls, calls without one get
//! one that says so, results without a call are left out. Left to others: which groups a budget keeps.
//!
//! A history that grew is cut anew from the first group that changed: almost always its last.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;
use threadkeep_core::{Content, Message, MessageId, Part};
use threadkeep_provider::{Provider, interruption};

use crate::tokens::{Cost, Counter, cost};

use super::budget::Figures;
use super::chunked::Chunked;
use super::facts::{
    Fact, Facts, IN_PARTS, INTERRUPTED, NO_ID, NONE, PINNED as PINNED_FLAG, SPEAKS, Who, answered, characters,
};
use super::item::History;
use super::pair::{Block, Out, Pairing, Slot};
use super::preview::with_content;
use super::{Action, Kinds, Mark, System, importance, rule};

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
    /// The preview that can stand for it, in [`Facts::shorts`]; else [`NONE`].
    pub short: u32,
    pub who: Who,
    pub node: Option<MessageId>,
}

impl Entry {
    /// What became of it; `tokens` for what is in the prompt.
    pub fn as_mark(&self, action: Action, rule: &'static str, tokens: Option<u32>) -> Mark {
        Mark {
            index: self.index as usize,
            action,
            rule,
            tokens_before: self.before,
            tokens_after: tokens.unwrap_or_default(),
            kept: tokens.is_some(),
            injected: self.injected,
        }
    }

    /// Its tokens by what they are for, at a cost that may be a preview's.
    pub fn add_kinds(&self, cost: Cost, kinds: &mut Kinds) {
        let summarised = matches!(self.mark, Some((Action::Summarised, _)));
        let text = match self.who {
            _ if self.injected || summarised => &mut kinds.injected,
            Who::System => &mut kinds.system,
            Who::Assistant => &mut kinds.assistant,
            Who::Tool => &mut kinds.results,
            Who::User | Who::Other => &mut kinds.user,
        };
        *text += u64::from(cost.content) + u64::from(cost.frame);
        kinds.reasoning += u64::from(cost.reasoning);
        kinds.calls += u64::from(cost.tool_calls);
    }
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
    /// Whether the user's message is its first.
    pub opens: bool,
    /// Whether there are calls in it.
    pub calls: bool,
    /// The most that one of its messages says, in hundredths; see [`importance`].
    pub importance: u8,
    /// How many messages were made for the groups before it.
    made: u32,
    /// The latest message of the history that stands in a group before it.
    most: u32,
}

/// A history as groups.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    pub entries: Chunked<Entry>,
    pub list: Vec<Group>,
    /// What all groups before each hold; one more than there are groups.
    pub sums: Vec<Figures>,
    /// What previews would save in all groups before each.
    pub saved: Vec<Figures>,
    /// The tokens of all groups before each, by what they are for.
    pub kinds: Vec<Kinds>,
    /// The groups in which a preview can stand for something.
    pub long: Vec<u32>,
    /// The groups that are kept always for what they are: instructions, and what is marked as pinned.
    pub always: Vec<u32>,
    /// The groups that are more or less important than usual.
    pub uneven: Vec<u32>,
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

impl Groups {
    /// Takes off the groups from `group` on.
    fn truncate(&mut self, group: usize) {
        let Some(first) = self.list.get(group).copied() else { return };
        self.entries.truncate(first.first as usize);
        self.made.truncate(first.made as usize);
        self.list.truncate(group);
        self.sums.truncate(group + 1);
        self.saved.truncate(group + 1);
        self.kinds.truncate(group + 1);
        self.openers.truncate(group);
        for places in [&mut self.always, &mut self.long, &mut self.uneven] {
            places.truncate(places.partition_point(|place| (*place as usize) < group));
        }
    }

    /// Whether a group is more or less important than usual.
    pub fn is_uneven(&self, group: u32) -> bool {
        self.uneven.binary_search(&group).is_ok()
    }

    /// What a group saves when previews stand for its large results.
    pub fn saving(&self, group: u32) -> Figures {
        self.saved[group as usize + 1].minus(self.saved[group as usize])
    }
}

/// What grouping needs beside the facts.
pub(super) struct Grouping<'a, 'm> {
    pub facts: &'a Facts,
    pub pairing: &'a Pairing,
    pub items: &'a dyn History<'m>,
    pub provider: Provider,
    pub live: bool,
    pub system: System,
    pub counter: &'a dyn Counter,
    /// The message whose answers were looked for last, and their places in it.
    pub answering: RefCell<(u32, Vec<usize>)>,
}

/// The calls of a message by the numbers of their ids: their ids and the tools' names.
type Calls = HashMap<u32, (String, Option<String>)>;

impl Grouping<'_, '_> {
    /// Cuts the history into groups; those before the block `dirty` are as they were.
    pub fn run(&self, dirty: u32, groups: &mut Groups) {
        let facts = &self.facts.list;
        let blocks = &self.pairing.blocks;
        let mut start = (dirty as usize).min(blocks.len());
        while start > 0 && blocks.get(start).is_some_and(|block| block.joins) {
            start -= 1;
        }
        let group =
            blocks.get(start).and_then(|block| groups.of.get(block.head as usize)).filter(|group| **group != NONE);
        match group {
            Some(group) => groups.truncate(*group as usize),
            // Only what is left out was there, or nothing.
            None => groups.entries.truncate(groups.list.last().map_or(0, |group| group.end as usize)),
        }
        let kept = groups.list.len();
        groups.of.resize(facts.len(), NONE);
        self.emit(start, groups);
        let entries = groups.list.get(kept).map_or(groups.entries.len(), |group| group.first as usize);
        mark_moved(groups, entries, kept, facts);
        sum(groups, kept, self.facts);
    }

    /// Puts blocks and what is left out in the order of the prompt.
    fn emit(&self, start: usize, groups: &mut Groups) {
        let facts = &self.facts.list;
        let first = match self.pairing.blocks.get(start) {
            _ if groups.list.is_empty() && groups.entries.len() == 0 => 0,
            Some(block) => block.head,
            None => 0,
        };
        let out = self.pairing.out(first);
        let mut out = out.iter().peekable();
        for (at, block) in self.pairing.blocks.iter().enumerate().skip(start) {
            if !block.joins || groups.list.is_empty() {
                while let Some(left) = out.next_if(|(index, ..)| *index < block.head) {
                    groups.entries.push(self.left_out(left));
                }
                let first = groups.entries.len() as u32;
                let opens = facts[block.head as usize].who == Who::User;
                let (system, made) = (self.system != System::Plain, groups.made.len() as u32);
                let (pinned, calls, most) = (false, false, 0);
                let importance = importance::UNSAID;
                groups.list.push(Group { first, end: first, system, pinned, opens, calls, importance, made, most });
            }
            self.real(block.head, groups);
            self.results(at, groups);
            for index in &block.tail {
                self.real(*index, groups);
            }
            if facts[block.head as usize].is(INTERRUPTED) {
                let next = self.pairing.blocks.get(at + 1).map_or(facts.len() as u32, |block| block.head);
                let entry = self.made(next, interruption().clone(), rule::INTERRUPTED, groups);
                groups.entries.push(entry);
            }
            let end = groups.entries.len() as u32;
            if let Some(group) = groups.list.last_mut() {
                group.end = end;
                group.calls |= block.slots.0 < block.slots.1;
            }
        }
        for left in out {
            groups.entries.push(self.left_out(left));
        }
        let last = groups.list.iter().rposition(|group| !group.system);
        let speaks = |fact: &Fact| fact.who == Who::User && fact.is(SPEAKS);
        let mut newest = facts.iter().zip(&groups.of).rev();
        groups.newest_user = newest.find(|(fact, group)| speaks(fact) && **group != NONE).map(|(_, group)| *group);
        groups.open = last.filter(|at| self.is_open(&groups.list[*at], groups)).map(|at| at as u32);
    }

    /// Adds the results of a block's calls, in the order of the calls; for calls without one, a result that says so.
    fn results(&self, at: usize, groups: &mut Groups) {
        let block = &self.pairing.blocks[at];
        if block.slots.0 == block.slots.1 {
            return;
        }
        let why = self.why_missing(at);
        let next = block.tail.first().copied().or(self.pairing.blocks.get(at + 1).map(|block| block.head));
        let next = next.unwrap_or(self.facts.list.len() as u32);
        let is_last = at + 1 == self.pairing.blocks.len();
        let mut calls: Option<Calls> = None;
        for slot in &self.pairing.slots[block.slots.0 as usize..block.slots.1 as usize] {
            match slot.answer {
                // A turn that was paused here: the server goes on with it.
                NONE if slot.server && is_last => {}
                NONE => {
                    let calls = calls.get_or_insert_with(|| self.calls(block.head));
                    let entry = self.injection(calls, slot.id, why, next, groups);
                    groups.entries.push(entry);
                }
                _ if slot.part != NONE => {
                    let calls = calls.get_or_insert_with(|| self.calls(block.head));
                    self.extracted(calls, slot, groups);
                }
                _ if slot.elsewhere => {}
                answer => self.real(answer, groups),
            }
        }
    }

    /// Why calls of a block that have no result have none: by who speaks next.
    fn why_missing(&self, at: usize) -> &'static str {
        let blocks = &self.pairing.blocks;
        let who = |block: &Block| self.facts.list[block.head as usize].who;
        match blocks[at + 1..].iter().map(who).find(|who| *who != Who::System) {
            _ if !blocks[at].tail.is_empty() => rule::ABORTED_CALL,
            Some(Who::User) => rule::CANCELLED_CALL,
            None if self.live => rule::PENDING_CALL,
            _ => rule::ABORTED_CALL,
        }
    }

    /// Whether the model has not answered a tool group: it ends with a result.
    fn is_open(&self, group: &Group, groups: &Groups) -> bool {
        let last = groups.entries.get((group.end as usize).wrapping_sub(1));
        let answers = |entry: &Entry| {
            let fact = self.facts.list.get(entry.index as usize);
            let result = |fact: &Fact| fact.who == Who::Tool || fact.is(IN_PARTS) && fact.who != Who::Assistant;
            entry.injected || fact.is_some_and(result)
        };
        group.calls && last.is_some_and(answers)
    }

    fn node(&self, index: u32) -> Option<MessageId> {
        self.items.item(index as usize).and_then(|item| item.node).cloned()
    }

    fn left_out(&self, (index, action, why): &Out) -> Entry {
        let fact = &self.facts.list[*index as usize];
        Entry {
            index: *index,
            group: NONE,
            made: Made::No,
            injected: false,
            before: fact.before.total(),
            cost: Cost::default(),
            chars: 0,
            mark: Some((*action, *why)),
            short: NONE,
            who: fact.who,
            node: self.node(*index),
        }
    }

    /// Adds a message of the history to the newest group, as pairing left it.
    fn real(&self, index: u32, groups: &mut Groups) {
        let at = groups.list.len() as u32 - 1;
        let fact = &self.facts.list[index as usize];
        let group = &mut groups.list[at as usize];
        group.system &= fact.who == Who::System;
        group.pinned |= fact.is(PINNED_FLAG);
        group.importance = importance::more(group.importance, fact.importance);
        groups.of[index as usize] = at;
        let mut entry = Entry {
            index,
            group: at,
            made: if fact.made == NONE { Made::No } else { Made::Fact(fact.made) },
            injected: false,
            before: fact.before.total(),
            cost: fact.cost,
            chars: fact.chars,
            mark: fact.mark,
            short: fact.short,
            who: fact.who,
            node: self.node(index),
        };
        if let Some((message, why)) = self.mended(index) {
            entry.cost = cost(&message, self.provider, self.counter);
            entry.chars = u32::try_from(characters(&message)).unwrap_or(u32::MAX);
            entry.mark = entry.mark.or(Some((Action::Repaired, why)));
            entry.made = Made::Group(groups.made.len() as u32);
            entry.short = NONE;
            groups.made.push(message);
        }
        groups.entries.push(entry);
    }

    /// The message that pairing changes: a result without an id, or content with results of no call in it.
    fn mended(&self, index: u32) -> Option<(Message, &'static str)> {
        if let Some(orphans) = self.pairing.stripped.get(&index) {
            let message = self.shown(index)?;
            let Content::Parts(parts) = &message.content else { return None };
            let answers = self.answers(index);
            let gone: Vec<usize> = orphans.iter().filter_map(|orphan| answers.get(*orphan as usize).copied()).collect();
            let kept = parts.iter().enumerate().filter(|(at, _)| gone.binary_search(at).is_err());
            let content = Content::Parts(kept.map(|(_, part)| part.clone()).collect());
            return Some((with_content(message, content), rule::ORPHAN_RESULT));
        }
        let slot = &self.pairing.slots[*self.pairing.named.get(&index)? as usize];
        let mut message = self.shown(index)?.clone();
        message.tool_call_id = self.facts.name(slot.id).map(str::to_owned);
        Some((message, rule::RESULT_ID))
    }

    /// The places among a message's parts of those that answer calls of other messages.
    fn answers(&self, index: u32) -> Vec<usize> {
        let fact = &self.facts.list[index as usize];
        let Some(Content::Parts(parts)) = self.shown(index).map(|message| &message.content) else { return Vec::new() };
        let refs = &self.facts.refs[fact.answers.0 as usize..fact.answers.1 as usize];
        let mut wanted = refs.iter().peekable();
        let mut places = Vec::with_capacity(refs.len());
        // They were read in this order; between them can be results of calls in the message itself.
        for (at, part) in parts.iter().enumerate() {
            let Some(id) = answered(&part.0) else { continue };
            let id = self.facts.known(id).unwrap_or(NO_ID);
            if wanted.next_if(|wanted| **wanted == id).is_some() {
                places.push(at);
            }
        }
        places
    }

    /// Adds a result that is part of a message behind a later block.
    fn extracted(&self, calls: &Calls, slot: &Slot, groups: &mut Groups) {
        let Some(message) = self.shown(slot.answer) else { return };
        let Content::Parts(parts) = &message.content else { return };
        let place = {
            let mut known = self.answering.borrow_mut();
            if known.0 != slot.answer {
                *known = (slot.answer, self.answers(slot.answer));
            }
            known.1.get(slot.part as usize).copied()
        };
        let Some(part) = place.and_then(|place| parts.get(place)) else { return };
        let content = match part.0.get("content") {
            Some(Value::String(text)) => text.as_str().into(),
            Some(Value::Array(parts)) => {
                Content::Parts(parts.iter().filter_map(Value::as_object).cloned().map(Part).collect())
            }
            _ => "".into(),
        };
        let (id, name) = calls.get(&slot.id).cloned().unwrap_or_default();
        let mut message = Message::tool(id, content);
        message.name = name;
        message.is_error = part.0.get("is_error") == Some(&Value::Bool(true));
        let entry = self.made(slot.answer, message, rule::MOVED_RESULT, groups);
        groups.entries.push(entry);
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
            short: NONE,
            who: Who::Other,
            node: None,
        }
    }

    /// A result for a call that has none.
    fn injection(&self, calls: &Calls, id: u32, why: &'static str, before: u32, groups: &mut Groups) -> Entry {
        let text = match why {
            rule::CANCELLED_CALL => "Cancelled: the user spoke before this call had a result.",
            rule::PENDING_CALL => "Pending: this call is still running.",
            _ => "Aborted: this call has no result.",
        };
        let (id, name) = calls.get(&id).cloned().unwrap_or_default();
        let mut message = Message::tool(id, text);
        message.name = name;
        message.is_error = why != rule::PENDING_CALL;
        self.made(before, message, why, groups)
    }

    /// The message of the history as it was read.
    fn shown(&self, index: u32) -> Option<&Message> {
        match self.facts.list[index as usize].made {
            NONE => self.items.item(index as usize).map(|item| item.message),
            made => self.facts.made.get(made as usize),
        }
    }

    /// The calls of a message as it has them; the first, where an id comes twice.
    fn calls(&self, head: u32) -> Calls {
        let mut calls = Calls::new();
        let Some(message) = self.shown(head) else { return calls };
        let mut add = |id: &str, name: Option<&str>| {
            if let Some(known) = self.facts.known(id) {
                calls.entry(known).or_insert_with(|| (id.to_owned(), name.map(str::to_owned)));
            }
        };
        for call in &message.tool_calls {
            add(call.id(), Some(call.name()).filter(|name| !name.is_empty()));
        }
        let parts = if let Content::Parts(parts) = &message.content { parts.as_slice() } else { &[] };
        for part in parts {
            let text = |field: &str| part.0.get(field).and_then(Value::as_str);
            if let Some(id) = text("id") {
                add(id, text("name"));
            }
        }
        calls
    }
}

/// Marks the results that stand elsewhere than in the history: something that was before them is behind, or the reverse. Entries
/// before `first`, and groups before `kept`, were marked before.
fn mark_moved(groups: &mut Groups, first: usize, kept: usize, facts: &[Fact]) {
    let stands = |entry: &&Entry| entry.group != NONE && !entry.injected;
    let mut most = match kept.checked_sub(1).and_then(|last| groups.list.get(last)) {
        None => 0,
        Some(last) => {
            let own = groups.entries.range(last.first as usize, last.end as usize).filter(stands);
            own.map(|entry| entry.index).max().unwrap_or_default().max(last.most)
        }
    };
    let mut least = u32::MAX;
    let mut moved = Vec::new();
    for at in (first..groups.entries.len()).rev() {
        let Some(entry) = groups.entries.get(at).filter(stands) else { continue };
        if least < entry.index {
            moved.push(at);
        }
        least = least.min(entry.index);
    }
    let mut group = kept;
    for at in first..groups.entries.len() {
        while groups.list.get(group).is_some_and(|next| next.first as usize <= at) {
            groups.list[group].most = most;
            group += 1;
        }
        let Some(entry) = groups.entries.get(at).filter(stands) else { continue };
        let before_it = moved.last() == Some(&at);
        if before_it {
            moved.pop();
        }
        let (index, answers) = (entry.index, facts[entry.index as usize].answers);
        if answers.0 < answers.1
            && (before_it || most > index)
            && let Some(entry) = groups.entries.get_mut(at)
        {
            entry.mark = entry.mark.or(Some((Action::Repaired, rule::MOVED_RESULT)));
        }
        most = most.max(index);
    }
}

/// Adds up the groups from `kept` on.
fn sum(groups: &mut Groups, kept: usize, facts: &Facts) {
    let mut all = groups.sums.get(kept).copied().unwrap_or_default();
    let mut saved = groups.saved.get(kept).copied().unwrap_or_default();
    let mut kinds = groups.kinds.get(kept).copied().unwrap_or_default();
    if kept == 0 {
        (groups.sums, groups.saved, groups.kinds) = (vec![all], vec![saved], vec![kinds]);
    }
    for (at, group) in groups.list.iter().enumerate().skip(kept) {
        let before = saved;
        for entry in groups.entries.range(group.first as usize, group.end as usize) {
            all.tokens += u64::from(entry.cost.total());
            all.messages += 1;
            all.chars += u64::from(entry.chars);
            entry.add_kinds(entry.cost, &mut kinds);
            if let Some(short) = facts.shorts.get(entry.short as usize) {
                saved.tokens += u64::from(entry.cost.total()).saturating_sub(u64::from(short.cost.total()));
                saved.chars += u64::from(entry.chars).saturating_sub(u64::from(short.chars));
            }
        }
        groups.sums.push(all);
        groups.saved.push(saved);
        groups.kinds.push(kinds);
        if saved != before {
            groups.long.push(at as u32);
        }
    }
    // The user's message before a group: what opens the last one that is no instruction, or what it itself opens with.
    let last = groups.list[..kept].iter().rposition(|group| !group.system);
    let mut user = match last {
        Some(last) if groups.list[last].opens => last as u32,
        Some(last) => groups.openers[last],
        None => NONE,
    };
    for (at, group) in groups.list.iter().enumerate().skip(kept) {
        if group.system || group.pinned {
            groups.always.push(at as u32);
        }
        if !matches!(group.importance, importance::UNSAID | importance::USUAL) {
            groups.uneven.push(at as u32);
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
