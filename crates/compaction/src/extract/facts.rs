//! What a summary says beside its statements: facts, the episode, tags. Goes in: the units, and which of them were chosen.

use super::cues::{DECIDE, ERROR, FILLER, INSTRUCT, NAME, NUMBER, OPEN, PREFER, QUESTION, REQUEST, SELF};
use super::lexicon::Entry;
use super::split::split;
use super::units::{From, Unit, Units};
use super::words::{CAPITAL, CODE, DIGIT, PAIR};
use crate::memory::{FactKind, Share};
use threadkeep_core::sort;

/// The most facts of one summary, tags of an episode, tags of a fact.
const FACTS: usize = 40;
const TAGS: usize = 8;
const FACT_TAGS: usize = 4;
/// The most sentences and bytes of an episode.
const SENTENCES: usize = 6;
const EPISODE: usize = 900;

/// A fact: a sentence of a unit.
pub(super) struct Found {
    /// Its unit, and a number that grows along the history.
    pub place: (usize, usize),
    pub text: String,
    pub kind: FactKind,
    pub confidence: Share,
    pub salience: Share,
}

/// The facts among all units, in their order: what users want, decided and must have, and who they are.
pub(super) fn facts(units: &Units) -> Vec<Found> {
    let mut all: Vec<Sentence> = Vec::new();
    for (at, unit) in units.list.iter().enumerate() {
        // Most units tell nothing of the kind; and what is to be looked at may be several sentences.
        if !unit.code && matches!(unit.from, From::Piece(_)) && unit.tells & (INSTRUCT | PREFER | DECIDE | SELF) != 0 {
            split(&unit.text, &mut |text, _| {
                let (tells, count) = units.tell(text);
                if let Some((kind, salience, confidence)) = fact(unit, tells).filter(|_| count > 2) {
                    all.push(Sentence { place: (at, all.len()), text, kind, salience, confidence });
                }
            });
        }
    }
    sort::sort_by_key(&mut all, |fact| {
        std::cmp::Reverse((fact.salience, fact.confidence, units.list[fact.place.0].worth))
    });
    let mut found: Vec<Found> = Vec::new();
    for fact in all {
        let text = one_line(fact.text);
        // Said again, it becomes no second one.
        if found.len() < FACTS && !found.iter().any(|other| other.text == text) {
            let (confidence, salience) = (Share::of(fact.confidence), Share::of(fact.salience));
            found.push(Found { place: fact.place, text, kind: fact.kind, confidence, salience });
        }
    }
    sort::sort_by_key(&mut found, |fact| fact.place);
    found
}

struct Sentence<'t> {
    place: (usize, usize),
    text: &'t str,
    kind: FactKind,
    salience: u16,
    confidence: u16,
}

fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// What kind of fact a sentence is, how much it matters and how sure it is.
fn fact(unit: &Unit, tells: u16) -> Option<(FactKind, u16, u16)> {
    if tells & (QUESTION | FILLER) != 0 {
        return None;
    }
    let plain = tells & REQUEST == 0;
    match unit.user {
        true if tells & INSTRUCT != 0 && plain => Some((FactKind::Constraint, 900, 850)),
        true if tells & PREFER != 0 && plain => Some((FactKind::Preference, 800, 800)),
        true if tells & DECIDE != 0 && tells & OPEN == 0 && plain => Some((FactKind::Decision, 750, 750)),
        true if tells & SELF != 0 && tells & (NAME | NUMBER) != 0 && plain => Some((FactKind::Other, 500, 650)),
        // A model says "we will" of much that nobody decided.
        false if tells & DECIDE != 0 && tells & (NAME | NUMBER) != 0 && tells & (OPEN | ERROR | INSTRUCT) == 0 => {
            Some((FactKind::Decision, 350, 450))
        }
        _ => None,
    }
}

/// What happened, in the sentences that tell most: the first that a user said, and the best of the rest, in order.
pub(super) fn episode(units: &Units, chosen: &[usize]) -> String {
    let mut best: Vec<usize> = chosen.iter().copied().filter(|at| !units.list[*at].code).collect();
    let first = best.iter().copied().find(|at| units.list[*at].user);
    sort::sort_by_key(&mut best, |at| std::cmp::Reverse((Some(*at) == first, value(units, *at))));
    let mut length = 0;
    best.truncate(SENTENCES);
    best.retain(|at| {
        length += units.list[*at].text.len() + 2;
        length <= EPISODE
    });
    sort::sort(&mut best);
    let mut out = String::new();
    for at in best {
        if !out.is_empty() {
            out.push(' ');
        }
        let text = &units.list[at].text;
        out.push_str(&one_line(text));
        if text.ends_with(char::is_alphanumeric) {
            out.push('.');
        }
    }
    out
}

fn value(units: &Units, at: usize) -> u64 {
    let unit = &units.list[at];
    let words = &units.words[unit.words.clone()];
    let sum: u32 = words.iter().map(|word| units.lexicon.entries[*word as usize].weight).sum();
    u64::from(sum.min(160)) * u64::from(unit.worth)
}

/// How much it matters what happened: the more was decided, asked for and failed, the more.
pub(super) fn salience(units: &Units, chosen: &[usize]) -> Share {
    let count = |cue: u16| chosen.iter().filter(|at| units.list[**at].tells & cue != 0).count().min(6) as u16;
    Share::of((300 + 40 * count(DECIDE) + 30 * count(INSTRUCT | PREFER) + 20 * count(ERROR)).min(900))
}

/// The words that are most telling of all.
pub(super) fn tags(units: &Units) -> Vec<String> {
    let mut best: Vec<usize> = (0..units.lexicon.entries.len()).filter(|at| nameable(units, *at)).collect();
    let value = |entry: &Entry| u64::from(entry.weight) * u64::from(entry.messages.min(64)) * name_factor(entry);
    sort::sort_by_key(&mut best, |at| (std::cmp::Reverse(value(&units.lexicon.entries[*at])), *at));
    best.truncate(TAGS);
    best.into_iter().map(|at| tag(units, at)).collect()
}

/// The words of one unit that are most telling.
pub(super) fn fact_tags(units: &Units, unit: usize) -> Vec<String> {
    let words = &units.words[units.list[unit].words.clone()];
    let mut best: Vec<usize> = words.iter().map(|word| *word as usize).filter(|at| nameable(units, *at)).collect();
    sort::sort_by_key(&mut best, |at| {
        let entry = &units.lexicon.entries[*at];
        (std::cmp::Reverse(u64::from(entry.weight) * name_factor(entry)), *at)
    });
    best.truncate(FACT_TAGS);
    best.into_iter().map(|at| tag(units, at)).collect()
}

fn name_factor(entry: &Entry) -> u64 {
    if entry.like & (CAPITAL | CODE) != 0 { 3 } else { 2 }
}

fn nameable(units: &Units, at: usize) -> bool {
    let entry = &units.lexicon.entries[at];
    let length = entry.first.2 - entry.first.1;
    entry.like & DIGIT == 0 && (entry.like & PAIR != 0 || (3..32).contains(&length))
}

/// A word as it was first written, lower case.
fn tag(units: &Units, at: usize) -> String {
    let (unit, from, to) = units.lexicon.entries[at].first;
    let text = &units.list[unit as usize].text;
    text.get(from as usize..to as usize).unwrap_or_default().to_lowercase()
}
