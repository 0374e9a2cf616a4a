//! What if: questions that the context inspector asks of a prepared history, answered without reading a text.

use super::budget::{Budget, Figures, Policy};
use super::facts::NONE;
use super::fit::{Fitting, Plan, token_step};
use super::{Context, Prepared};

impl Prepared {
    /// The smallest `max_tokens` at which a message of the history is in the prompt and the prompt is not over its budget,
    /// everything else being as planned. `None` for a message that no such budget brings in: it is out of context, or
    /// another limit is in the way. In a history with importances, a smaller one may do as well.
    pub fn smallest_budget(&self, plan: &Plan, index: usize) -> Option<u64> {
        let group = *self.groups.of.get(index).filter(|group| **group != NONE)?;
        let with = |tokens: u64| Plan { budget: Budget { max_tokens: Some(tokens), ..plan.budget }, ..plan.clone() };
        let kept = |tokens: u64| {
            let plan = with(tokens);
            let fit = Fitting::new(self, &plan).fit();
            !fit.over_budget && fit.keeps(group)
        };
        // With room for everything, only other limits could be in the way.
        let free = with(u64::MAX);
        let all = Fitting::new(self, &free).cost(0).tokens;
        if plan.policy == Policy::Newest {
            return bisect(0, all, &kept);
        }
        // Among limits with the same grid, more room keeps more; with a coarser grid it can keep less.
        let mut low = 0;
        while low <= all {
            let step = token_step(low, &plan.frame);
            let coarser = |limit: u64| limit > all || token_step(limit, &plan.frame) > step;
            let high = bisect(low, all + 1, &coarser).unwrap_or(all + 1) - 1;
            if let Some(found) = bisect(low, high, &kept) {
                return Some(found);
            }
            low = high + 1;
        }
        None
    }

    /// The messages of the history that `tokens` more tokens at its end would push out of the prompt, in its order.
    pub fn pushed_out(&self, plan: &Plan, tokens: u64) -> Vec<usize> {
        let now = self.fit(plan);
        let reserve = plan.reserve.plus(Figures { tokens, ..Figures::default() });
        let then = self.fit(&Plan { reserve, ..plan.clone() });
        let leaves = |group: u32| now.keeps(group) && !then.keeps(group);
        let gone = self.groups.entries.iter().filter(|entry| !entry.injected && leaves(entry.group));
        gone.map(|entry| entry.index as usize).collect()
    }
}

/// The smallest number from `low` to `high` that `holds`, where it holds for all numbers after the first that it holds for.
fn bisect(mut low: u64, mut high: u64, holds: &dyn Fn(u64) -> bool) -> Option<u64> {
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// How many tokens at the beginning of two prompts are the same: those of the leading messages that are equal. It is what a
/// provider's prompt cache can serve of the second after the first.
pub fn shared_tokens(first: &Context, second: &Context) -> u64 {
    let same = first.messages.iter().zip(&second.messages).take_while(|(a, b)| std::ptr::eq(&***a, &***b) || a == b);
    let count = same.count();
    second.costs.iter().take(count).map(|tokens| u64::from(*tokens)).sum()
}
