//! Has a summariser make of the material what the strategy asks for, piece after piece.

use std::ops::Range;

use threadkeep_compaction::strategy::{TOP_LEVEL, check, merge, outgrown, share, tokens};
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_context::tokens::Counter;
use threadkeep_core::Role;
use threadkeep_core::checkpoint::{Statement, Strategy};
use threadkeep_store::Store;

use super::cancel::unless;
use super::job::{Held, Job};
use super::summariser::one_call;
use super::{Answered, CompactOptions, Sending, Spent, Summariser};
use crate::{Keep, KeepError};

/// What the summariser made.
#[derive(Default)]
pub(super) struct Made {
    pub(super) statements: Vec<Statement>,
    pub(super) episodes: Vec<(Range<usize>, Summary)>,
    pub(super) spent: Spent,
    pub(super) warnings: Vec<String>,
    /// The names of those who made it, each once.
    pub(super) by: Vec<String>,
}

impl<S: Store> Keep<S> {
    /// Has the material summarised as the strategy says.
    pub(super) async fn summarised(
        &self,
        job: &Job,
        options: &CompactOptions,
        summariser: &dyn Summariser,
        counter: &dyn Counter,
    ) -> Result<Made, KeepError> {
        let mut made = Made { statements: job.carried.clone(), ..Made::default() };
        let levels = !job.carries_on();
        let mut fresh = 0;
        for chunk in &job.chunks(summariser) {
            let carried = if levels { Vec::new() } else { std::mem::take(&mut made.statements) };
            let material = job.material(chunk, &carried);
            let given = job.held[chunk.clone()].iter().map(|held| held.tokens).sum::<u64>() + tokens(&carried, counter);
            let summary = made.ask(summariser, &material, given, options, counter).await?;
            let mut statements = summary.statements.clone();
            statements.retain(|statement| !statement.text.trim().is_empty());
            if levels {
                fresh += statements.len();
                made.statements.extend(statements);
            } else {
                made.statements = statements;
            }
            made.episodes.push((chunk.clone(), summary));
        }
        let mut fresh = made.statements.len() - fresh..made.statements.len();
        for level in (0..=TOP_LEVEL).filter(|_| levels) {
            let places = outgrown(&made.statements, level, &fresh, job.budget, counter);
            if places.is_empty() {
                fresh = 0..0;
                continue;
            }
            let carried: Vec<Statement> = places.iter().map(|at| made.statements[*at].clone()).collect();
            let budget = share(job.budget, level.saturating_add(1)).max(16);
            let material = Material { carried: &carried, pieces: Vec::new(), budget };
            let given = tokens(&carried, counter);
            let summary = made.ask(summariser, &material, given, options, counter).await?;
            fresh = merge(&mut made.statements, &places, summary.statements, counter).unwrap_or(0..0);
        }
        if job.strategy != Strategy::SlidingWindow {
            check(&made.statements)?;
        }
        Ok(made)
    }
}

impl Job {
    /// Whether the summariser of a piece gets the statements of the pieces before. Statements in levels stay apart.
    pub(super) fn carries_on(&self) -> bool {
        self.strategy != Strategy::Hierarchical
    }

    /// The pieces in which the material is summarised.
    fn chunks(&self, summariser: &dyn Summariser) -> Vec<Range<usize>> {
        match self.strategy {
            Strategy::SlidingWindow => Vec::new(),
            _ => chunks(&self.held, summariser.input_tokens()),
        }
    }

    fn material<'a>(&'a self, chunk: &Range<usize>, carried: &'a [Statement]) -> Material<'a> {
        let share = (self.budget / 2) / (self.held.len().max(1) as u32) * chunk.len() as u32;
        let budget = if self.carries_on() { self.budget } else { share.max(16) };
        Material { carried, pieces: self.held[chunk.clone()].iter().map(Held::piece).collect(), budget }
    }

    /// What the summariser would send; `None` if nothing leaves the machine.
    pub(super) fn would_send(&self, summariser: &dyn Summariser, counter: &dyn Counter) -> Option<Sending> {
        let mut all: Option<Sending> = None;
        for chunk in self.chunks(summariser) {
            let carried = if self.carries_on() { &self.carried } else { &[][..] };
            let more = summariser.would_send(&self.material(&chunk, carried), counter)?;
            all = Some(match all {
                None => more,
                Some(all) => Sending {
                    requests: all.requests + more.requests,
                    messages: all.messages + more.messages,
                    tokens: all.tokens + more.tokens,
                    ..all
                },
            });
        }
        all
    }
}

impl Made {
    /// Asks for one summary, and notes what it took; until it is cancelled.
    async fn ask(
        &mut self,
        summariser: &dyn Summariser,
        material: &Material<'_>,
        given: u64,
        options: &CompactOptions,
        counter: &dyn Counter,
    ) -> Result<Summary, KeepError> {
        let answer = unless(options.cancel.as_ref(), summariser.summarise(material, counter)).await?;
        let Answered { summary, warnings, by, spent } = answer.map_err(KeepError::Summariser)?;
        check(&summary.statements)?;
        self.spent.add(spent.unwrap_or_else(|| one_call(given, &summary, counter)));
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let by = by.unwrap_or_else(|| summariser.name());
        if !self.by.iter().any(|known| known == by) {
            self.by.push(by.to_owned());
        }
        Ok(summary)
    }
}

/// Cuts what is to be summarised into pieces of at most `limit` tokens: between turns where that can be, else before
/// a message that is no tool's result. A message that is larger alone stays alone.
fn chunks(held: &[Held], limit: Option<u64>) -> Vec<Range<usize>> {
    let limit = limit.unwrap_or(u64::MAX);
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < held.len() {
        let (mut end, mut sum) = (start, 0);
        while end < held.len() && (end == start || held[end].tokens <= limit - sum) {
            sum = held[end].tokens.saturating_add(sum).min(limit);
            end += 1;
        }
        if end < held.len() {
            let turns = (start + 1..=end).rev().find(|at| held[*at].turn != held[*at - 1].turn);
            let free = |at: &usize| held[*at].message.role != Role::Tool;
            end = turns.or_else(|| (start + 1..=end).rev().find(free)).unwrap_or(end);
        }
        chunks.push(start..end);
        start = end;
    }
    chunks
}
