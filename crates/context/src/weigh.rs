//! Importance: what a budget keeps where messages say how important they are. A message's `importance` is a number from 0 to 1; one without
//! counts as 0.5. Histories in which no message has another one are fitted without this.
//!
//! **Newest.** Groups come in by their importance, the newest first among equals. What does not fit is left out. The usual ones end at the
//! first that does not fit, as without importance, and then nothing less important comes in.
//!
//! **Stable.** What was decided must stay as the history grows. Where not all fits, less important groups are out for good, but for the
//! user's messages, which open turns. More important ones stay before the cut, in half of the room; those that outgrow it leave in large
//! steps, the oldest first.

use std::cmp::Reverse;

use threadkeep_core::sort;

use super::budget::{Figures, Limits, Policy};
use super::facts::NONE;
use super::fit::{Fitting, Kept, Summed, UNITS};
use super::importance::{UNSAID, USUAL};

impl Fitting<'_> {
    fn importance(&self, group: u32) -> u8 {
        match self.groups.list[group as usize].importance {
            UNSAID => USUAL,
            said => said,
        }
    }

    /// Whether importance decides: some group has another than the usual, and not all fit.
    pub(super) fn is_weighed(&self, start: u32) -> bool {
        start > 0 && !self.groups.uneven.is_empty() && !self.plan.strict
    }

    /// Makes more important groups stay and takes out less important ones, before the stable policy cuts.
    pub(super) fn settle(&mut self, limits: &Limits) {
        let uneven = self.groups.uneven.iter().copied().filter(|group| !self.must.has(*group));
        let (high, low): (Vec<u32>, Vec<u32>) = uneven.partition(|group| self.importance(*group) > USUAL);
        let low = low.into_iter().filter(|group| !self.groups.list[*group as usize].opens).collect();
        self.set_gone(low);
        let all = Summed::new(high, &|group| self.figures(group));
        let mut from = 0;
        for (unit, limit) in UNITS.iter().zip([limits.tokens, limits.messages, limits.chars]) {
            let Some(limit) = limit else { continue };
            let room = limit.saturating_sub((unit.of)(&self.plan.frame)) / 2;
            let over = all.sums.last().map_or(0, unit.of).saturating_sub(room);
            let step = (room / 3).max(1);
            let point = over.div_ceil(step).saturating_mul(step);
            from = from.max(all.sums.partition_point(|sum| (unit.of)(sum) < point));
        }
        let usual = self.must.groups.clone();
        let mut must = usual.clone();
        must.extend(&all.groups[from.min(all.groups.len())..]);
        must.extend(self.opener_of(&must));
        self.set_must(must);
        if !limits.hold(self.least()) {
            self.set_must(usual);
        }
    }

    /// What is kept by importance, the newest first among equals.
    fn ranked(&mut self, limits: &Limits) -> (Vec<bool>, Figures) {
        let mut kept = vec![false; self.groups.list.len()];
        self.must.groups.iter().for_each(|group| kept[*group as usize] = true);
        let mut figures = self.least();
        let mut first = self.must.groups.iter().copied().find(|group| !self.groups.list[*group as usize].system);
        let mut order: Vec<u32> = (0..self.end()).filter(|group| !kept[*group as usize]).collect();
        sort::sort_by_key(&mut order, |group| Reverse((self.importance(*group), *group)));
        let (mut ended, mut short) = (false, self.short.groups.clone());
        for group in order {
            let importance = self.importance(group);
            if kept[group as usize] || ended && importance <= USUAL {
                continue;
            }
            let opens = self.opens && first.is_none_or(|first| group < first);
            let opener = Some(self.groups.openers[group as usize]).filter(|opener| opens && *opener != NONE);
            let opener = opener.filter(|opener| !kept[*opener as usize]);
            let beside = opener.map_or(Figures::default(), |opener| self.figures(opener));
            let mut with = figures.plus(self.figures(group)).plus(beside);
            let saving = self.saving(group, group + 1);
            if !limits.hold(with) && saving != Figures::default() {
                with = with.minus(saving);
                short.push(group);
            }
            if limits.hold(with) {
                figures = with;
                for group in [Some(group), opener].into_iter().flatten() {
                    kept[group as usize] = true;
                    if !self.groups.list[group as usize].system {
                        first = Some(first.map_or(group, |first| first.min(group)));
                    }
                }
            } else if importance == USUAL {
                ended = true;
            }
        }
        sort::sort(&mut short);
        self.short.groups = short;
        (kept, figures)
    }

    /// What is kept by importance; `cut` is where the policy would have cut.
    pub(super) fn weigh(&mut self, limits: &Limits, cut: u32) -> Kept {
        let mut opener = NONE;
        let (kept, cost) = if self.plan.policy == Policy::Newest {
            self.ranked(limits)
        } else {
            let mut kept: Vec<bool> = (0..self.end()).map(|group| group >= cut && !self.gone(group)).collect();
            opener = self.opener(cut);
            let more = Some(opener).filter(|opener| *opener != NONE);
            self.must.groups.iter().copied().chain(more).for_each(|group| kept[group as usize] = true);
            (kept, self.cost(cut))
        };
        let start = kept.iter().rposition(|kept| !kept).map_or(0, |last| last as u32 + 1);
        let before = (0..start).filter(|group| kept[*group as usize]).collect();
        Kept { cost, start, before, opener, whole: start, cut: Some(cut) }
    }
}
