//! Strategies: what becomes of the old part, and whether what a summariser made of it may stand in for it.

use std::ops::Range;

use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::Statement;
use threadkeep_core::sort;

/// The highest level of statements; those of that level are summarised among themselves.
pub const TOP_LEVEL: u8 = 3;

/// How many tokens of `budget` the statements of a level may take in the strategy [`Strategy::Hierarchical`](threadkeep_core::checkpoint::Strategy::Hierarchical): half for level 0,
/// and half of what is left for each further one.
pub fn share(budget: u32, level: u8) -> u32 {
    budget >> (u32::from(level.min(TOP_LEVEL)) + 1)
}

/// The tokens of statements, each with its dash and line break.
pub fn tokens(statements: &[Statement], counter: &dyn Counter) -> u64 {
    statements.iter().map(|statement| u64::from(counter.count(&statement.text)) + 2).sum()
}

/// The statements of `level` that are to be summarised now, by their places: all but the `fresh` ones, which this compaction made,
/// when the level has outgrown its share. Fewer than two are not worth it.
pub fn outgrown(
    statements: &[Statement],
    level: u8,
    fresh: &Range<usize>,
    budget: u32,
    counter: &dyn Counter,
) -> Vec<usize> {
    let of_level = |at: &usize| statements[*at].level.min(TOP_LEVEL) == level;
    let mut places: Vec<usize> = (0..statements.len()).filter(of_level).collect();
    let all: u64 = places.iter().map(|at| tokens(&statements[*at..=*at], counter)).sum();
    places.retain(|at| !fresh.contains(at));
    if all > u64::from(share(budget, level)) && places.len() > 1 { places } else { Vec::new() }
}

/// Puts what was made of the statements at `places` in their stead, a level higher. Statements without sources get all of those
/// that they stand for. Gives the places at which they stand; `None`, and nothing is changed, where that would not be shorter.
pub fn merge(
    statements: &mut Vec<Statement>,
    places: &[usize],
    mut made: Vec<Statement>,
    counter: &dyn Counter,
) -> Option<Range<usize>> {
    let first = *places.first()?;
    let old: Vec<&Statement> = places.iter().map(|at| &statements[*at]).collect();
    let before: u64 = old.iter().map(|old| tokens(std::slice::from_ref(*old), counter)).sum();
    made.retain(|statement| !statement.text.trim().is_empty());
    if made.is_empty() || tokens(&made, counter) >= before {
        return None;
    }
    let level = old.iter().map(|old| old.level).max().unwrap_or_default().saturating_add(1).min(TOP_LEVEL);
    let mut sources: Vec<_> = old.iter().flat_map(|old| old.sources.iter().cloned()).collect();
    sort::sort(&mut sources);
    sources.dedup();
    for statement in &mut made {
        statement.level = level;
        if statement.sources.is_empty() {
            statement.sources.clone_from(&sources);
        }
    }
    let (end, mut place) = (first + made.len(), 0);
    statements.retain(|_| {
        place += 1;
        !places.contains(&(place - 1))
    });
    statements.splice(first..first, made);
    Some(first..end)
}

/// Why a summary may not stand in for what it was made of. The history stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is nothing in it.
    #[error("the summary is empty")]
    Empty,
    /// It calls tools instead of saying something.
    #[error("the summary calls tools")]
    CallsTools,
    /// It takes as many tokens as what it would replace, or more.
    #[error("the summary takes {after} tokens, and what it would replace {before}")]
    NotSmaller {
        /// The tokens of what it would replace.
        before: u64,
        /// Its own.
        after: u64,
    },
}

impl Refused {
    /// A short stable word: `empty`, `calls-tools` or `not-smaller`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::CallsTools => "calls-tools",
            Self::NotSmaller { .. } => "not-smaller",
        }
    }
}

/// What begins a text that is a call of a tool, in the forms in which models write them.
const CALLS: [&str; 6] =
    ["<tool_call", "<function_call", "<invoke ", "{\"tool_calls\"", "{\"function_call\"", "{\"type\":\"tool_use\""];

/// Whether a text is nothing but a call of a tool.
pub fn calls_tools(text: &str) -> bool {
    let text = text.trim_start();
    CALLS.iter().any(|begin| text.starts_with(begin))
}

/// Whether the statements of a summariser can stand in for something. Each that is nothing but a call is one too many: a model
/// that calls tools was not summarising.
///
/// # Errors
/// [`Refused::Empty`] or [`Refused::CallsTools`].
pub fn check(statements: &[Statement]) -> Result<(), Refused> {
    if statements.iter().all(|statement| statement.text.trim().is_empty()) {
        return Err(Refused::Empty);
    }
    if statements.iter().any(|statement| calls_tools(&statement.text)) {
        return Err(Refused::CallsTools);
    }
    Ok(())
}
