//! Fit: which groups a budget keeps.
//!
//! What must stay (instructions, pins, the user's newest message, the open tool group) and the frame come first; the rest
//! of the budget goes to the newest groups, as a suffix of the history. What a suffix costs never falls as it grows, so its
//! beginning is found by bisection over prefix sums, and no text is read.

use super::budget::{Budget, Figures, Limits, Policy};
use super::facts::NONE;
use super::group::Groups;
use super::{Prepared, rule};
use threadkeep_core::sort;

/// What is to be kept of a history.
#[derive(Debug, Clone, Default)]
pub struct Plan<'a> {
    /// What the caller allows.
    pub budget: Budget,
    /// Which groups go first.
    pub policy: Policy,
    /// Messages, by their place in the history, that are kept with their whole groups.
    pub pins: &'a [usize],
    /// What the frame takes of the budget.
    pub frame: Figures,
    /// Room to leave for what is not there yet.
    pub reserve: Figures,
    /// Whether what is kept must begin with a user's message, as some providers ask: the one before the first group that is
    /// kept comes along. The stable policy always does so, since that message stays the same while the newest one changes.
    pub opens_with_user: bool,
    /// Whether the limits come before what must stay: then nothing is over budget, and even the user's newest message can go.
    pub strict: bool,
}

/// What is kept, and by how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// What is kept and the frame, together.
    pub figures: Figures,
    /// The limits that held.
    pub limits: Limits,
    /// Whether what must stay is over them.
    pub over_budget: bool,
    /// Which groups went first.
    pub policy: Policy,
    /// The first group of the suffix.
    pub(super) start: u32,
    /// Groups before it that are kept too, in order.
    pub(super) before: Vec<u32>,
    /// Groups that this fit pinned, in order.
    pub(super) pinned: Vec<u32>,
    /// The user's message that came along to open the suffix, or [`NONE`].
    pub(super) opener: u32,
    /// The first group that each limit leaves room for: tokens, messages, characters.
    pub(super) reach: [u32; 3],
    /// Whether the user's newest message and the open group were kept for what they are.
    pub(super) must: bool,
    /// From this group on large results are whole; in the suffix before it previews stand for them.
    pub(super) whole: u32,
    /// Groups in which previews stand for large results wherever they are, in order.
    pub(super) short: Vec<u32>,
    /// Where the policy would have cut, if importance decided; else `None`.
    pub(super) cut: Option<u32>,
}

impl Fit {
    /// Whether a group is dropped.
    pub(super) fn drops(&self) -> bool {
        self.start as usize > self.before.len()
    }

    /// Whether a group is kept.
    pub(super) fn keeps(&self, group: u32) -> bool {
        group != NONE && (group >= self.start || self.before.binary_search(&group).is_ok())
    }

    /// Whether previews stand for a group's large results.
    pub(super) fn shortens(&self, group: u32) -> bool {
        (self.start..self.whole).contains(&group) || self.short.binary_search(&group).is_ok()
    }

    /// Why a group is not.
    pub(super) fn why_dropped(&self, group: u32) -> &'static str {
        let [tokens, messages, chars] = self.reach.map(|reach| group < reach);
        match () {
            () if tokens => rule::OVER_MAX_TOKENS,
            () if messages => rule::OVER_MAX_MESSAGES,
            () if chars => rule::OVER_MAX_CHARS,
            () if self.cut.is_some_and(|cut| group >= cut) => rule::LESS_IMPORTANT,
            () => rule::STABLE_CUT,
        }
    }
}

/// One of the three units.
pub(super) struct Unit {
    /// Reads it from figures.
    pub of: fn(&Figures) -> u64,
    /// About how much of it a request adds to an agent's history.
    growth: u64,
}

pub(super) const UNITS: [Unit; 3] = [
    Unit { of: |figures| figures.tokens, growth: 1_000 },
    Unit { of: |figures| figures.messages, growth: 4 },
    Unit { of: |figures| figures.chars, growth: 4_000 },
];

impl Unit {
    /// The stable policy's step under a limit, with `room` for the history: `2 * growth * limit`'s root, at most a third of
    /// the room, of which the first three binary digits count.
    ///
    /// A step leaves half of itself unused on average, and every step's worth of growth costs one whole prompt that is not
    /// as it was; for a growth of `g` a request the two together are least at the root of `2 * g * limit`. A third of the
    /// room is the most, so that two thirds stay at least, and five sixths on average. Three digits, so that slightly
    /// different limits have the same steps. Never falls as the limit grows.
    fn step(&self, limit: u64, frame: &Figures) -> u64 {
        let room = limit.saturating_sub((self.of)(frame)) / 3;
        let best = (2 * self.growth).saturating_mul(limit).isqrt().min(room).max(1);
        let rest = best.ilog2().saturating_sub(2);
        best >> rest << rest
    }
}

/// The stable policy's step for a limit of tokens beside a frame.
pub(super) fn token_step(limit: u64, frame: &Figures) -> u64 {
    UNITS[0].step(limit, frame)
}

/// Groups, with what all of them before each hold.
#[derive(Default)]
pub(super) struct Summed {
    pub groups: Vec<u32>,
    pub sums: Vec<Figures>,
}

impl Summed {
    pub fn new(mut groups: Vec<u32>, figures: &dyn Fn(u32) -> Figures) -> Self {
        sort::sort(&mut groups);
        groups.dedup();
        let mut sums = vec![Figures::default()];
        for group in &groups {
            let last = sums[sums.len() - 1];
            sums.push(last.plus(figures(*group)));
        }
        Self { groups, sums }
    }

    pub fn has(&self, group: u32) -> bool {
        self.groups.binary_search(&group).is_ok()
    }

    fn before(&self, start: u32) -> Figures {
        let place = self.groups.partition_point(|group| *group < start);
        self.sums.get(place).copied().unwrap_or_default()
    }
}

/// What a fit keeps, and what that costs with the frame and the reserve. The fields are those of [`Fit`].
pub(super) struct Kept {
    pub cost: Figures,
    pub start: u32,
    pub before: Vec<u32>,
    pub opener: u32,
    pub whole: u32,
    pub cut: Option<u32>,
}

/// A fit in the making.
pub(super) struct Fitting<'a> {
    pub groups: &'a Groups,
    pub plan: &'a Plan<'a>,
    pub must: Summed,
    /// Groups in which previews stand for large results wherever they are, with what that saves.
    pub short: Summed,
    /// Groups that are out, also in the suffix.
    out: Summed,
    pub pinned: Vec<u32>,
    pub opens: bool,
}

impl<'a> Fitting<'a> {
    pub(super) fn new(prepared: &'a Prepared, plan: &'a Plan<'a>) -> Self {
        let groups = &prepared.groups;
        let group = |index: &usize| groups.of.get(*index).copied().filter(|group| *group != NONE);
        let mut pinned: Vec<u32> = plan.pins.iter().filter_map(group).collect();
        sort::sort(&mut pinned);
        pinned.dedup();
        let opens = plan.opens_with_user || plan.policy == Policy::Stable;
        let mut must = groups.always.clone();
        must.extend(&pinned);
        if !plan.strict {
            must.extend(groups.newest_user);
            must.extend(groups.open);
        }
        let (out, none) = (Summed::default(), Summed::default());
        let mut fitting = Self { groups, plan, must: Summed::default(), short: none, out, pinned, opens };
        must.extend(fitting.opener_of(&must));
        fitting.set_must(must);
        fitting.shorten();
        fitting
    }

    pub(super) fn set_must(&mut self, must: Vec<u32>) {
        self.must = Summed::new(must, &|group| self.figures(group));
    }

    /// The user's message that must come along with the first of these groups, where prompts begin with one.
    pub(super) fn opener_of(&self, must: &[u32]) -> Option<u32> {
        let first = must.iter().copied().filter(|group| !self.groups.list[*group as usize].system).min();
        first.filter(|_| self.opens).map(|first| self.groups.openers[first as usize]).filter(|opener| *opener != NONE)
    }

    /// Takes groups out, also of the suffix.
    pub(super) fn set_gone(&mut self, gone: Vec<u32>) {
        self.out = Summed::new(gone, &|group| self.figures(group));
    }

    /// Whether a group was taken out.
    pub(super) fn gone(&self, group: u32) -> bool {
        self.out.has(group)
    }

    /// Says where previews stand for large results whatever else is kept: where what must stay does not fit otherwise; and, where not all fits whole,
    /// so that the stable policy's cuts stay where they are, in all groups that would take more than a third of the room.
    fn shorten(&mut self) {
        if self.groups.long.is_empty() {
            return;
        }
        let limits = self.plan.budget.limits();
        let mut short = Vec::new();
        if self.plan.policy == Policy::Stable && !limits.hold(self.cost(0)) {
            let most = |limit: Option<u64>, of: fn(&Figures) -> u64| {
                limit.map_or(u64::MAX, |limit| limit.saturating_sub(of(&self.plan.frame)) / 3)
            };
            let (tokens, chars) = (most(limits.tokens, |all| all.tokens), most(limits.chars, |all| all.chars));
            let large = |group: &&u32| {
                let figures = self.groups.figures(**group);
                (figures.tokens > tokens || figures.chars > chars) && !self.must.has(**group)
            };
            short.extend(self.groups.long.iter().filter(large));
        }
        if !limits.hold(self.least()) {
            short.extend(self.must.groups.iter().filter(|group| self.groups.long.binary_search(group).is_ok()));
        }
        if !short.is_empty() {
            self.short = Summed::new(short, &|group| self.groups.saving(group));
            let must = std::mem::take(&mut self.must.groups);
            self.set_must(must);
        }
    }

    /// What must stay, with the frame.
    pub(super) fn least(&self) -> Figures {
        self.cost(self.end())
    }

    pub(super) fn end(&self) -> u32 {
        self.groups.list.len() as u32
    }

    /// What a group holds, with previews where they stand anyway.
    pub(super) fn figures(&self, group: u32) -> Figures {
        let figures = self.groups.figures(group);
        if self.short.has(group) { figures.minus(self.groups.saving(group)) } else { figures }
    }

    /// What all groups before `group` hold.
    fn before(&self, group: u32) -> Figures {
        self.groups.sums[group as usize].minus(self.short.before(group)).minus(self.out.before(group))
    }

    /// What all groups from `start` on hold.
    fn from(&self, start: u32) -> Figures {
        self.before(self.end()).minus(self.before(start))
    }

    /// What previews save from `start` to before `end`, beyond where they stand anyway.
    pub(super) fn saving(&self, start: u32, end: u32) -> Figures {
        if start >= end {
            return Figures::default();
        }
        let all = self.groups.saved[end as usize].minus(self.groups.saved[start as usize]);
        all.minus(self.short.before(end).minus(self.short.before(start)))
    }

    /// The user's message that must come along when the suffix begins at `start`.
    pub(super) fn opener(&self, start: u32) -> u32 {
        if self.opens { self.groups.openers[start as usize] } else { NONE }
    }

    /// What a suffix costs, with everything that stays beside it.
    pub(super) fn cost(&self, start: u32) -> Figures {
        let opener = self.opener(start);
        let alone = opener != NONE && !self.must.has(opener);
        let opener = if alone { self.figures(opener) } else { Figures::default() };
        self.plan.frame.plus(self.plan.reserve).plus(self.from(start)).plus(self.must.before(start)).plus(opener)
    }

    /// The longest suffix that stays within a limit, of which the large results before `whole` are previews.
    fn reach(&self, unit: &Unit, limit: u64, whole: u32) -> u32 {
        let (mut low, mut high) = (0, self.end());
        while low < high {
            let middle = low.midpoint(high);
            let cost = self.cost(middle).minus(self.saving(middle, whole));
            if (unit.of)(&cost) <= limit { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// The stable policy's beginning for a suffix that could begin at `reach`: the next point of a grid over the history's
    /// prefix sums, so that it moves only when a whole step has been added.
    fn grid(&self, unit: &Unit, limit: u64, reach: u32) -> u32 {
        let at = |group: u32| (unit.of)(&self.before(group));
        if reach == 0 || reach >= self.end() {
            return reach;
        }
        let step = unit.step(limit, &self.plan.frame);
        let point = at(reach).div_ceil(step).saturating_mul(step);
        // The group in which the point lies: it is not before `reach`, so it fits.
        let (mut low, mut high) = (reach, self.end() - 1);
        while low < high {
            let middle = low.midpoint(high + 1);
            if at(middle) <= point { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// Where the suffix begins: for each limit alone, and for all under the policy; and from where on large results are whole.
    pub(super) fn start(&self, limits: &Limits) -> ([u32; 3], u32, u32) {
        let limits = [limits.tokens, limits.messages, limits.chars];
        let (mut reach, mut start) = ([0; 3], 0);
        for (at, limit) in limits.into_iter().enumerate() {
            let Some(limit) = limit else { continue };
            reach[at] = self.reach(&UNITS[at], limit, 0);
            let cut = match self.plan.policy {
                Policy::Newest => reach[at],
                Policy::Stable => self.grid(&UNITS[at], limit, reach[at]),
            };
            start = start.max(cut);
        }
        let whole = start;
        if self.plan.policy == Policy::Newest && self.saving(0, whole) != Figures::default() {
            // What would not fit whole comes as previews.
            for (at, limit) in limits.into_iter().enumerate() {
                reach[at] = limit.map_or(0, |limit| self.reach(&UNITS[at], limit, whole));
            }
            start = reach.into_iter().max().unwrap_or_default();
        }
        (reach, start, whole)
    }

    pub(super) fn fit(mut self) -> Fit {
        let limits = self.plan.budget.limits();
        let (mut reach, mut start, mut whole) = self.start(&limits);
        let held = |fitting: &Self, start, whole| limits.hold(fitting.cost(start).minus(fitting.saving(start, whole)));
        if self.plan.strict && !held(&self, start, whole) {
            self.set_must(Vec::new());
            self.pinned.clear();
            (reach, start, whole) = self.start(&limits);
        }
        let kept = if self.is_weighed(start) {
            if self.plan.policy == Policy::Stable {
                self.settle(&limits);
                (reach, start, _) = self.start(&limits);
            }
            self.weigh(&limits, start)
        } else {
            self.suffix(start, whole)
        };
        let Kept { cost, start, before, opener, whole, cut } = kept;
        Fit {
            figures: cost.minus(self.plan.reserve),
            limits,
            over_budget: !limits.hold(cost),
            policy: self.plan.policy,
            start,
            before,
            pinned: self.pinned,
            opener,
            reach,
            must: !self.plan.strict,
            whole,
            short: self.short.groups,
            cut,
        }
    }

    /// The suffix that begins at `start`, with what stays before it. From `whole` on large results are whole.
    fn suffix(&self, start: u32, whole: u32) -> Kept {
        let cost = self.cost(start).minus(self.saving(start, whole));
        let opener = self.opener(start);
        let mut before = self.must.groups.clone();
        before.truncate(before.partition_point(|group| *group < start));
        if opener != NONE
            && let Err(at) = before.binary_search(&opener)
        {
            before.insert(at, opener);
        }
        Kept { cost, start, before, opener, whole, cut: None }
    }
}

impl Groups {
    /// What a group holds.
    pub(super) fn figures(&self, group: u32) -> Figures {
        self.sums[group as usize + 1].minus(self.sums[group as usize])
    }
}
