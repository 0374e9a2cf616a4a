//! A chain, prepared: everything that can be known of it once, so that a decision about a budget reads no text.
//!
//! [`Prepared::new`] reads each message once (or takes the count that is known); [`Prepared::fit`] then decides by
//! bisection over prefix sums, [`Prepared::marks`] says what became of each message, and [`crate::Context`] puts
//! the prompt together.

use std::cell::RefCell;

use threadkeep_core::Message;

use crate::tokens::{Cost, Counter};

use super::budget::Figures;
use super::facts::{Fact, Facts, NONE, Reading};
use super::fit::{Fit, Fitting, Plan};
use super::group::{Entry, Group, Grouping, Groups, Made};
use super::item::History;
use super::pair::Pairing;
use super::{Action, Item, Preparing, rule};

/// What becomes of the history's own instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum System {
    /// They stay.
    #[default]
    Kept,
    /// Those with which the history begins give way to the frame's.
    Replaced,
    /// None stays.
    Excluded,
    /// They are messages like others, and go when the budget says so.
    Plain,
}

/// A message that stands in the place of one of the history (a code turn that became what it defined).
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The place in the history.
    pub index: usize,
    /// What stands there.
    pub message: Message,
    /// What that is: [`Action::Compressed`], or [`Action::Summarised`] for the summary of a checkpoint, which always stays.
    pub action: Action,
    /// The rule by which it does.
    pub rule: &'static str,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The message's place in the history; for what is put in, that of what it precedes.
    pub index: usize,
    /// What was done.
    pub action: Action,
    /// The rule that decided.
    pub rule: &'static str,
    /// What it costs as it is stored, in tokens.
    pub tokens_before: u32,
    /// What it costs in the prompt, in tokens.
    pub tokens_after: u32,
    /// Whether the prompt has it.
    pub kept: bool,
    /// Whether the history does not have it.
    pub injected: bool,
}

/// Tokens by what they are for. Their sum is the prompt's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "TokenKinds"))]
pub struct Kinds {
    /// Instructions.
    pub system: u64,
    /// What the user said.
    pub user: u64,
    /// What the model said.
    pub assistant: u64,
    /// What it thought.
    pub reasoning: u64,
    /// What it called.
    pub calls: u64,
    /// What came of the calls.
    pub results: u64,
    /// What the history does not have: the frame beyond the system prompt and what is remembered, repairs, and what the reply begins with.
    pub injected: u64,
    /// The tools' schemas.
    pub tools: u64,
    /// What is remembered.
    pub memory: u64,
}

impl Kinds {
    /// One by one.
    fn zip(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            system: with(self.system, other.system),
            user: with(self.user, other.user),
            assistant: with(self.assistant, other.assistant),
            reasoning: with(self.reasoning, other.reasoning),
            calls: with(self.calls, other.calls),
            results: with(self.results, other.results),
            injected: with(self.injected, other.injected),
            tools: with(self.tools, other.tools),
            memory: with(self.memory, other.memory),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { system, user, assistant, reasoning, calls, results, injected, tools, memory } = *self;
        system + user + assistant + reasoning + calls + results + injected + tools + memory
    }
}

/// A history, ready for decisions. It holds no reference to the messages: hand in the same ones again for the prompt.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) preparing: Preparing,
    pub(super) facts: Facts,
    pairing: Pairing,
    pub(super) groups: Groups,
}

impl Prepared {
    /// Reads and counts every message of a history, and groups them.
    pub fn new(items: &[Item], preparing: Preparing, counter: &dyn Counter) -> Self {
        Self::with_replaced(items, &[], preparing, counter)
    }

    /// Like [`Prepared::new`], with other messages in the place of some, by ascending place.
    pub fn with_replaced(
        items: &[Item],
        replaced: &[Replacement],
        preparing: Preparing,
        counter: &dyn Counter,
    ) -> Self {
        let mut prepared = Self::empty(preparing);
        prepared.read(&items, replaced, counter);
        prepared
    }

    fn empty(preparing: Preparing) -> Self {
        Self { preparing, facts: Facts::default(), pairing: Pairing::new(), groups: Groups::default() }
    }

    /// Reads what a history has grown by. `items` is the whole of it; those that were read before must be the same and are
    /// not read again. Where messages were replaced, prepare anew instead: growth can change which.
    pub fn extend(&mut self, items: &[Item], counter: &dyn Counter) {
        self.read(&items, &[], counter);
    }

    /// [`Prepared::extend`] for a history that is no list: only the items that are new, and those of groups that the new ones change, are
    /// looked at.
    pub fn grow(&mut self, history: &dyn History, counter: &dyn Counter) {
        self.read(history, &[], counter);
    }

    fn read(&mut self, items: &dyn History, replaced: &[Replacement], counter: &dyn Counter) {
        if items.len() < self.facts.list.len() {
            // Not the history that was read.
            *self = Self::empty(self.preparing.clone());
        }
        let Preparing { provider, previews, live, system, ref selection, .. } = self.preparing;
        self.facts.read(items, replaced, Reading { provider, previews, selection }, counter);
        let dirty = self.pairing.extend(&self.facts, system);
        let (facts, pairing, answering) = (&self.facts, &self.pairing, RefCell::new((NONE, Vec::new())));
        let grouping = Grouping { facts, pairing, items, provider, live, system, counter, answering };
        grouping.run(dirty, &mut self.groups);
    }

    /// How many messages the history has.
    pub fn len(&self) -> usize {
        self.facts.list.len()
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let figures = 2 * size_of::<Figures>() + size_of::<Kinds>() + size_of::<Group>();
        self.facts.list.len() * size_of::<Fact>()
            + self.groups.entries.len() * size_of::<Entry>()
            + self.groups.list.len() * figures
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.facts.list.is_empty()
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups.list.len()
    }

    /// The group of a message, counted from the beginning; `None` for a message that no prompt can have.
    pub fn group(&self, index: usize) -> Option<usize> {
        self.groups.of.get(index).filter(|group| **group != NONE).map(|group| *group as usize)
    }

    /// What each message of the history costs as it is stored: what [`Item::cost`] can be the next time.
    pub fn stored_costs(&self) -> impl Iterator<Item = Cost> + '_ {
        self.facts.list.iter().map(|fact| fact.before)
    }

    /// What the whole history holds, as prompts show it.
    pub fn figures(&self) -> Figures {
        self.groups.sums.last().copied().unwrap_or_default()
    }

    /// Decides what is kept.
    pub fn fit(&self, plan: &Plan) -> Fit {
        Fitting::new(self, plan).fit()
    }

    /// What must stay of the history under a plan, with the plan's frame: what even the smallest budget gets.
    pub fn least(&self, plan: &Plan) -> Figures {
        Fitting::new(self, plan).least()
    }

    /// What became of each message, in the order of the prompt.
    pub fn marks<'a>(&'a self, fit: &'a Fit) -> impl Iterator<Item = Mark> + 'a {
        self.entries(fit).map(|(_, mark)| mark)
    }

    pub(super) fn entries<'a>(&'a self, fit: &'a Fit) -> impl Iterator<Item = (&'a Entry, Mark)> + 'a {
        // What is put into a group that is dropped is neither in the history nor in the prompt.
        let shown = |(entry, mark): &(&Entry, Mark)| mark.kept || !entry.injected;
        self.groups.entries.iter().map(|entry| (entry, self.mark(entry, fit))).filter(shown)
    }

    pub(super) fn mark(&self, entry: &Entry, fit: &Fit) -> Mark {
        if !fit.keeps(entry.group) {
            let (action, rule) = match entry.mark {
                Some(mark) if entry.group == NONE => mark,
                _ => (Action::Dropped, fit.why_dropped(entry.group)),
            };
            return entry.as_mark(action, rule, None);
        }
        if self.short(entry, fit).is_some() {
            let (action, rule) = (Action::Previewed, rule::TOOL_RESULT_PREVIEW);
            return entry.as_mark(action, rule, Some(self.cost(entry, fit).total()));
        }
        let (action, rule) = entry.mark.unwrap_or_else(|| self.why_kept(entry.group, fit));
        entry.as_mark(action, rule, Some(entry.cost.total()))
    }

    /// The preview that stands for an entry.
    fn short(&self, entry: &Entry, fit: &Fit) -> Option<&super::facts::Short> {
        self.facts.shorts.get(entry.short as usize).filter(|_| fit.shortens(entry.group))
    }

    /// What an entry of the prompt costs.
    fn cost(&self, entry: &Entry, fit: &Fit) -> Cost {
        self.short(entry, fit).map_or(entry.cost, |short| short.cost)
    }

    /// The entries that the prompt has, with their places among all.
    pub(super) fn in_prompt<'a>(&'a self, fit: &'a Fit) -> impl Iterator<Item = (usize, &'a Entry)> + 'a {
        let groups = fit.before.iter().copied().chain(fit.start..self.groups.list.len() as u32);
        groups.flat_map(move |group| {
            let group = &self.groups.list[group as usize];
            let (first, end) = (group.first as usize, group.end as usize);
            (first..).zip(self.groups.entries.range(first, end)).filter(|(_, entry)| entry.group != NONE)
        })
    }

    fn why_kept(&self, group: u32, fit: &Fit) -> (Action, &'static str) {
        let this = &self.groups.list[group as usize];
        let rule = match () {
            () if this.pinned || fit.pinned.binary_search(&group).is_ok() => return (Action::Pinned, rule::PINNED),
            () if this.system => rule::SYSTEM,
            () if fit.must && self.groups.newest_user == Some(group) => rule::NEWEST_USER,
            () if fit.must && self.groups.open == Some(group) => rule::OPEN_TOOL_GROUP,
            () if fit.cut.is_some_and(|cut| group < cut) && fit.opener != group && self.groups.is_uneven(group) => {
                rule::IMPORTANT
            }
            () if fit.opener == group || group < fit.cut.unwrap_or(fit.start) => rule::OPENS_TURN,
            () if fit.policy == super::Policy::Stable => rule::STABLE,
            () => rule::NEWEST,
        };
        (Action::Kept, rule)
    }

    /// The message that an entry shows; `None` for the history's own.
    pub(super) fn made(&self, entry: &Entry, fit: &Fit) -> Option<&Message> {
        if let Some(short) = self.short(entry, fit) {
            return Some(&short.message);
        }
        match entry.made {
            Made::No => None,
            Made::Fact(at) => self.facts.made.get(at as usize),
            Made::Group(at) => self.groups.made.get(at as usize),
        }
    }

    /// The tokens of what is kept, by what they are for; the frame's are not among them.
    pub fn kinds(&self, fit: &Fit) -> Kinds {
        let at = |group: u32| self.groups.kinds.get(group as usize).copied().unwrap_or_default();
        let mut kinds = at(self.groups.list.len() as u32).minus(at(fit.start));
        for group in &fit.before {
            kinds = kinds.plus(at(group + 1).minus(at(*group)));
        }
        let long = self.groups.long.iter().filter(|group| fit.keeps(**group) && fit.shortens(**group));
        for group in long {
            let group = &self.groups.list[*group as usize];
            for entry in self.groups.entries.range(group.first as usize, group.end as usize) {
                if let Some(short) = self.short(entry, fit) {
                    let (mut whole, mut part) = (Kinds::default(), Kinds::default());
                    entry.add_kinds(entry.cost, &mut whole);
                    entry.add_kinds(short.cost, &mut part);
                    kinds = kinds.plus(part).minus(whole);
                }
            }
        }
        kinds
    }
}
