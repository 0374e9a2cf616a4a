//! Any model as a summariser, without I/O. Goes in: the material and how much a request to that model may hold. Comes out:
//! the requests, and from the model's answers a [`Summary`]. Sending, time limits and trying again are the engine's; where
//! an answer cannot be used, [`or_extract`] falls back to the summariser that needs no model.
//!
//! ```text
//! material ─► chunks ─► prompt (a request each) ─► …the model… ─► parse ─► merge ─► summary
//! ```

mod ask;
mod read;

use super::extract::extract;
use super::summary::{Material, Summary};
use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::Source;

pub use ask::{Chunk, chunks, prompt};
pub use read::parse;

/// The most facts and tags of a merged summary.
const FACTS: usize = 60;
const TAGS: usize = 8;
/// What a line of a summary takes beside its text, in tokens; as [`extract`] counts it.
const LINE: u32 = 2;

/// Why a model's answer is no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModelAnswerError {
    /// It calls tools.
    #[error("the model called a tool where a summary was asked for")]
    ToolCalls,
    /// There is nothing in it.
    #[error("the model's summary is empty")]
    Empty,
    /// There is no JSON object with a summary in it.
    #[error("the model's answer holds no JSON object with a summary")]
    NoJson,
}

/// One summary from the answers to all [`chunks`], in their order. Statements that together take more than the budget are
/// chosen from as [`extract`] does; what is said twice is said once, with the sources of both.
pub fn merge(answers: Vec<Summary>, material: &Material, counter: &dyn Counter) -> Summary {
    let mut merged = Summary::default();
    for answer in answers {
        for statement in answer.statements {
            match merged.statements.iter_mut().find(|known| known.text == statement.text) {
                Some(known) => join(&mut known.sources, statement.sources),
                None => merged.statements.push(statement),
            }
        }
        if !merged.episode.is_empty() && !answer.episode.is_empty() {
            merged.episode.push(' ');
        }
        merged.episode.push_str(&answer.episode);
        merged.salience = merged.salience.max(answer.salience);
        for tag in answer.tags {
            if merged.tags.len() < TAGS && !merged.tags.contains(&tag) {
                merged.tags.push(tag);
            }
        }
        for fact in answer.facts {
            let full = merged.facts.len() >= FACTS;
            match merged.facts.iter_mut().find(|known| known.fact == fact.fact) {
                Some(known) => join(&mut known.sources, fact.sources),
                None if full => {}
                None => merged.facts.push(fact),
            }
        }
    }
    let costs = merged.statements.iter().map(|statement| counter.count(&statement.text).saturating_add(LINE));
    if costs.fold(0, u32::saturating_add) > material.budget {
        let said = Material { carried: &merged.statements, pieces: Vec::new(), budget: material.budget };
        merged.statements = extract(&said, counter).statements;
    }
    merged
}

fn join(sources: &mut Vec<Source>, more: Vec<Source>) {
    for source in more {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
}

/// The model's summary, or the built-in one with a warning that says why. A failed or late request is an error of the caller's
/// own, as words.
pub fn or_extract(
    made: Result<Summary, &str>,
    material: &Material,
    counter: &dyn Counter,
) -> (Summary, Option<String>) {
    match made {
        Ok(summary) => (summary, None),
        Err(why) => {
            let warning = ["summarised without a model: ", why].concat();
            (extract(material, counter), Some(warning))
        }
    }
}
