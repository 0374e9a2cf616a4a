//! The built-in summariser: it quotes. Goes in: messages, what an earlier summary said, a budget in tokens. Comes out: the
//! sentences and lines that tell most, each with its sources, in the order of the history; beside them facts, an episode and
//! tags. No model, no clock, no chance: the same material gives the same summary. It takes time in proportion to the text.
//!
//! ```text
//! messages ─► split ─► units (words, cues, worth) ─► select (most news a token) ─► statements
//!     └─► tools: a line a tool group ──┘                     └─► facts, episode, tags
//! ```

mod cues;
mod facts;
mod lexicon;
mod places;
mod select;
mod split;
mod tools;
mod units;
mod words;

use std::borrow::Cow;

use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::sort;

use super::summary::{FoundFact, Material, Summary};

pub(super) use places::Places;
use select::{Choice, Pick};
use units::{From, Units};

/// How many sources a statement has at most: whoever says the same later is not one more.
const SOURCES: usize = 8;

/// Summarises without a model.
///
/// Every statement is an exact quote of one of its sources (leading marks of lists and headings left out), a carried
/// statement, or a line that stands for a tool group: `name(arguments) → ok: first words`. All statements together, with two
/// tokens each for the line that they become, fit [`Material::budget`]. Messages that are not for prompts are left out.
///
/// Carried statements get a fair share of the room: as much of it as the messages behind them are of all messages, at least
/// a quarter and at most two thirds; beyond that they compete with the rest. One that is cut to a sentence, or merged with
/// another that says the same, is a level higher.
///
/// ```
/// use threadkeep_compaction::extract::extract;
/// use threadkeep_compaction::summary::{Material, Piece};
/// use threadkeep_core::{Message, MessageId};
/// use threadkeep_context::tokens::Estimate;
/// let node = MessageId::new("n1")?;
/// let message = Message::user("Hello there. Always answer in French. The weather is fine.");
/// let pieces = vec![Piece { node: &node, index: 0, turn: 1, message: &message }];
/// let summary = extract(&Material { carried: &[], pieces, budget: 10 }, &Estimate);
/// assert_eq!(summary.statements[0].text, "Always answer in French.");
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
pub fn extract(material: &Material, counter: &dyn Counter) -> Summary {
    let texts: Vec<Cow<str>> = material.pieces.iter().map(|piece| piece.message.text()).collect();
    let lines = tools::lines(&material.pieces);
    let mut units = Units::of(material, &texts, &lines);
    let mut choice = Choice::new(&mut units, material.pieces.len(), counter);
    if !material.carried.is_empty() {
        choice.fill(carried_share(material), true);
    }
    choice.fill(material.budget, false);
    choice.at_least_one(material.budget);
    let mut picks = choice.picks;
    sort::sort_by_key(&mut picks, |pick| pick.unit);
    let sources = |unit: usize| match units.list[unit].from {
        From::Piece(at) => vec![source(material, at)],
        From::Line(at) => lines[at as usize].pieces.iter().map(|at| source(material, *at)).collect(),
        From::Carried(at, _) => material.carried[at as usize].sources.clone(),
    };
    let statements = picks.iter().map(|pick| statement(&units, pick, material, &sources)).collect();
    let chosen: Vec<usize> = picks.iter().map(|pick| pick.unit).collect();
    let found = facts::facts(&units).into_iter().map(|found| FoundFact {
        kind: found.kind,
        tags: facts::fact_tags(&units, found.place.0),
        fact: found.text,
        confidence: found.confidence,
        salience: found.salience,
        sources: sources(found.place.0),
    });
    Summary {
        statements,
        episode: facts::episode(&units, &chosen),
        tags: facts::tags(&units),
        salience: facts::salience(&units, &chosen),
        facts: found.collect(),
    }
}

/// Calls `each` with the sentences of a text.
pub(super) fn sentences(text: &str, each: &mut dyn FnMut(&str)) {
    split::split(text, &mut |sentence, _| each(sentence));
}

fn source(material: &Material, at: u32) -> Source {
    let piece = &material.pieces[at as usize];
    Source { node: piece.node.clone(), index: piece.index }
}

/// How many tokens carried statements may take before the rest is looked at.
fn carried_share(material: &Material) -> u32 {
    let mut behind: Vec<&Source> = material.carried.iter().flat_map(|statement| &statement.sources).collect();
    sort::sort(&mut behind);
    behind.dedup();
    let (carried, new) = (behind.len().max(material.carried.len()) as u64, material.pieces.len() as u64);
    let budget = u64::from(material.budget);
    let share = budget * carried / (carried + new).max(1);
    // It is at most two thirds of a 32-bit number.
    if new == 0 { material.budget } else { share.clamp(budget / 4, budget * 2 / 3) as u32 }
}

fn statement(units: &Units, pick: &Pick, material: &Material, sources_of: &dyn Fn(usize) -> Vec<Source>) -> Statement {
    let unit = &units.list[pick.unit];
    let mut sources = sources_of(pick.unit);
    let mut level = 0;
    if let From::Carried(at, whole) = unit.from {
        level = material.carried[at as usize].level;
        let merged = pick.also.iter().any(|also| match units.list[*also].from {
            From::Carried(other, _) => other != at,
            _ => false,
        });
        level = level.saturating_add(u8::from(!whole || merged));
    }
    for also in &pick.also {
        for source in sources_of(*also) {
            if sources.len() < SOURCES && !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    Statement { text: unit.text.clone().into_owned(), sources, level }
}
