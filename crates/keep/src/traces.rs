//! The turns of a head, and what was recorded in them, in the form of agents' memory logs. Read from the chain with all its
//! originals: a compaction takes nothing from it.

use std::collections::HashSet;

use threadkeep_compaction::memory::jsonl::{RawTrace, traces};
use threadkeep_compaction::memory::{MemoryBundle, RAW_TAIL_TURNS, Step, build_snapshot, raw_tail, steps};
use threadkeep_core::node::turn_name;
use threadkeep_core::sort;
use threadkeep_core::{Message, Role};
use threadkeep_store::Store;

use crate::protocol::Counting;
use crate::{Keep, KeepError};

/// Turns of a chain, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turns {
    /// These.
    These(Vec<u32>),
    /// The last ones.
    Tail {
        /// How many.
        turns: usize,
        /// One that does not count: the current one, say.
        exclude: Option<u32>,
    },
}

/// What a compaction snapshot holds beside what is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The system prompt, if there is one.
    pub system_prompt: Option<String>,
    /// How many of the last turns.
    pub tail_turns: usize,
    /// A turn that does not count among them: the current one, say.
    pub exclude: Option<u32>,
    /// The most tokens of all but the system prompt; `None` for any number.
    pub budget: Option<u32>,
    /// How they are counted.
    pub encoding: Counting,
}

impl Turns {
    fn of(&self, steps: &[Step]) -> Vec<u32> {
        match self {
            Self::These(turns) => turns.clone(),
            Self::Tail { turns, exclude } => {
                let mut all = all(steps);
                all.retain(|turn| Some(*turn) != *exclude);
                all.split_off(all.len().saturating_sub(*turns))
            }
        }
    }
}

/// The turns of a chain, each once, ascending.
fn all(steps: &[Step]) -> Vec<u32> {
    let mut turns: Vec<u32> = steps.iter().map(|step| step.turn).filter(|turn| *turn > 0).collect();
    sort::sort(&mut turns);
    turns.dedup();
    turns
}

impl<S: Store> Keep<S> {
    /// The name that the next turn at a head gets, `turn_0001` where there is no such head: that of the user message that is
    /// appended next, if nobody else is first.
    ///
    /// # Errors
    /// `damaged`; the store's.
    pub async fn next_turn(&self, name: &str) -> Result<String, KeepError> {
        let next = self.at_head(name, |tree, _| Ok(tree.next_turn())).await?;
        Ok(turn_name(next.unwrap_or(1)))
    }

    /// What was recorded at a head in some turns, in order; nothing where there is no such head.
    ///
    /// # Errors
    /// `damaged`; those of a chain; the store's.
    pub async fn raw_traces(&self, name: &str, turns: &Turns) -> Result<Vec<RawTrace>, KeepError> {
        let found = self.at_head(name, |tree, node| {
            let chain = tree.chain(node)?;
            let steps = steps(chain.iter().map(|placed| &placed.node));
            let wanted: HashSet<String> = turns.of(&steps).into_iter().map(turn_name).collect();
            let mut traces = traces(&steps);
            traces.retain(|trace| wanted.contains(&trace.turn_id));
            Ok(traces)
        });
        Ok(found.await?.unwrap_or_default())
    }

    /// The compaction snapshot of a head as messages: the system prompt, then what is remembered with the last turns as one message.
    /// Nothing is stored.
    ///
    /// # Errors
    /// `vocabulary-missing` with a budget; `damaged`; those of a chain; the store's.
    pub async fn build_snapshot(
        &self,
        name: &str,
        bundle: &MemoryBundle,
        how: &Snapshot,
    ) -> Result<Vec<Message>, KeepError> {
        // Nothing is counted without a budget.
        let encoding = if how.budget.is_some() { how.encoding } else { Counting::Estimate };
        let counter = self.counter(encoding)?;
        let found = self.at_head(name, |tree, node| {
            let chain = tree.chain(node)?;
            let steps = steps(chain.iter().map(|placed| &placed.node));
            let tail = raw_tail(&steps, how.tail_turns, how.exclude);
            Ok(build_snapshot(how.system_prompt.as_deref(), bundle, &tail, how.budget, counter.as_ref()))
        });
        let made = found.await?;
        let alone = || build_snapshot(how.system_prompt.as_deref(), bundle, &[], how.budget, counter.as_ref());
        Ok(made.unwrap_or_else(alone))
    }

    /// The turns at a head that a compaction would cover now, by name: whole turns, oldest first, without the last `tail_turns`
    /// ([`RAW_TAIL_TURNS`] without it), the live turn (the newest, until it is answered), and what a checkpoint covers already.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn compaction_turns(&self, name: &str, tail_turns: Option<u32>) -> Result<Vec<String>, KeepError> {
        if self.head(name).await?.is_none() {
            return Ok(Vec::new());
        }
        let covered = self.checkpoints(name).await?.last().map_or(0, |last| last.covers.last_turn);
        let found = self.at_head(name, |tree, node| {
            let chain = tree.chain(node)?;
            let steps = steps(chain.iter().map(|placed| &placed.node));
            let mut said = steps.iter().rev().map(|step| step.message).filter(|message| message.include_in_context);
            let answered = said.next().is_some_and(|last| last.role == Role::Assistant && last.tool_calls.is_empty());
            Ok((all(&steps), answered))
        });
        let (mut turns, answered) = found.await?.unwrap_or_default();
        let tail = tail_turns.map_or(RAW_TAIL_TURNS, |turns| turns as usize);
        let kept = (tail + usize::from(!answered)).max(1);
        turns.truncate(turns.len().saturating_sub(kept));
        turns.retain(|turn| *turn > covered);
        Ok(turns.into_iter().map(turn_name).collect())
    }
}
