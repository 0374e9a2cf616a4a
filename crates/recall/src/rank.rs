//! Ranks documents for a query: BM25 over stems, where a message also has the words of the messages near it.
//!
//! A clause weighs `ln(1 + (N - n + 0.5) / (n + 0.5))`, where `n` of `N` documents have it. A document that has it `f` times gets
//! `f (k1 + 1) / (f + k1 (1 - b + b · length / mean length))` of that; `f` and `length` count the messages near it, too
//! ([`Context::gather`]). Single floats, the four operations and the square root only, so that every platform ranks alike.
//! docs/dev/search.md says what was measured.

use crate::clause::Hits;
use crate::context::Context;
use crate::find::{Filter, Found, close};
use crate::index::Index;
use crate::query::Query;
use crate::times::nearness;
use crate::tuning::Tuning;

/// A word in more documents than this, and in more than a sixteenth of all, says little of the messages near them and of their sessions:
/// it counts for the documents alone that have it. That bounds the work of a query.
const COMMON: usize = 4096;
/// Among so many documents, the first, it counts how close words are to each other.
const CLOSELY: usize = 100;

/// The sums of a query.
struct Sums {
    scores: Vec<f32>,
    /// Whether a document has a word itself, and whether it is short and answers one that has: others are not found.
    own: Vec<bool>,
    answers: Vec<bool>,
    /// What words of the query each session has.
    sessions: Vec<f32>,
    /// For one clause: how often it is in each document, whether a document is done, and how often it is in each session.
    often: Vec<f32>,
    done: Vec<bool>,
    inside: Vec<f32>,
}

impl Index {
    /// The documents that fit best, at most `limit`, best first.
    pub fn find(&self, query: &Query, filter: &Filter<'_>, limit: usize) -> Vec<Found<'_>> {
        let count = self.docs();
        // Required and excluded clauses that a document passed; those that fail one are out.
        let mut open = vec![true; count];
        self.pass(filter, &mut open);
        let mut sums = Sums {
            scores: vec![0.0; count],
            own: vec![false; count],
            answers: vec![false; count],
            sessions: vec![0.0; self.context.session_damping.len()],
            often: vec![0.0; count],
            done: vec![false; count],
            inside: vec![0.0; self.context.session_damping.len()],
        };
        let mut all: Vec<Hits> = Vec::with_capacity(query.clauses.len());
        for clause in &query.clauses {
            let hits = self.hits(query, clause);
            if clause.required || clause.excluded {
                close(&mut open, &hits, clause.excluded);
            }
            if !clause.excluded {
                let weight = weight(count, hits.len());
                let common = hits.len() > COMMON.max(count / 16);
                self.add_words(&mut sums, &hits, weight, common);
                if !common {
                    self.add_sessions(&mut sums, &hits, weight);
                }
            }
            all.push(if clause.excluded { Hits::new() } else { hits });
        }
        let Tuning { session, time, .. } = self.tuning;
        let Context { sessions, priors, .. } = &self.context;
        let mut best: Vec<(f32, u32)> = Vec::new();
        for number in (0..count).filter(|number| open[*number] && (sums.own[*number] || sums.answers[*number])) {
            let score = sums.scores[number] + session * sums.sessions[sessions[number] as usize];
            if score > 0.0 {
                // Only its own words count more for who said them.
                best.push((if sums.own[number] { score * priors[number] } else { score }, number as u32));
            }
        }
        let dated = time > 0.0 && !query.times.is_empty();
        if dated {
            for (score, number) in &mut best {
                *score *= 1.0 + time * nearness(&query.times, self.doc(*number).1.time);
            }
        }
        let mut best = self.first(best, limit.max(CLOSELY));
        let top = best.len().min(CLOSELY);
        self.add_closeness(query, &all, &mut best[..top]);
        self.first(best, limit).into_iter().map(|(score, number)| self.explained(query, &all, score, number)).collect()
    }

    /// A document with why it was found.
    fn explained(&self, query: &Query, all: &[Hits], score: f32, number: u32) -> Found<'_> {
        let mut found = self.found(score, number);
        let mut near = Vec::new();
        self.context.visit(number, &mut |other, _| near.push(other));
        for (clause, hits) in query.clauses.iter().zip(all) {
            let has = |number: &u32| hits.binary_search_by_key(number, |hit| hit.0).is_ok();
            if has(&number) {
                found.why.words.push(clause.says());
            } else if self.tuning.near != [0.0; 4] && near.iter().any(has) {
                found.why.context.push(clause.says());
            }
        }
        found.why.time = self.tuning.time > 0.0 && nearness(&query.times, found.doc.time) > 0.5;
        found
    }

    /// Adds what a clause counts for the documents that have it, and for those near them.
    fn add_words(&self, sums: &mut Sums, hits: &Hits, weight: f32, common: bool) {
        let Tuning { k1, own, answer, near, .. } = self.tuning;
        let damping = &self.context.damping;
        let gain = |often: f32, number: u32| weight * often * (k1 + 1.0) / (often + damping[number as usize]);
        let alone = common || near == [0.0; 4];
        for (number, often) in hits {
            let often = *often as f32;
            sums.own[*number as usize] = true;
            sums.often[*number as usize] = often;
            sums.scores[*number as usize] += gain(often, *number) * if alone { 1.0 + own } else { own };
        }
        if !alone {
            let mut touched = Vec::with_capacity(2 * hits.len());
            for (number, _) in hits {
                self.context.visit(*number, &mut |near, is_answer| {
                    if is_answer && self.lengths[near as usize] <= answer {
                        sums.answers[near as usize] = true;
                    }
                    if !std::mem::replace(&mut sums.done[near as usize], true) {
                        touched.push(near);
                    }
                });
            }
            for number in touched {
                sums.done[number as usize] = false;
                let often = self.context.gather(number, &sums.often, &self.tuning);
                sums.scores[number as usize] += gain(often, number);
            }
        }
        hits.iter().for_each(|(number, _)| sums.often[*number as usize] = 0.0);
    }

    /// Adds what a clause counts for the sessions that have it.
    fn add_sessions(&self, sums: &mut Sums, hits: &Hits, weight: f32) {
        if self.tuning.session == 0.0 {
            return;
        }
        let Context { sessions, session_damping, .. } = &self.context;
        for (number, often) in hits {
            sums.inside[sessions[*number as usize] as usize] += *often as f32;
        }
        for (number, _) in hits {
            let session = sessions[*number as usize] as usize;
            let often = std::mem::take(&mut sums.inside[session]);
            if often > 0.0 {
                sums.sessions[session] += weight * often / (often + session_damping[session]);
            }
        }
    }
}

/// What a clause that `matched` of `count` documents have weighs.
pub(crate) fn weight(count: usize, matched: usize) -> f32 {
    let (count, matched) = (count as f32, matched as f32);
    ln(1.0 + (count - matched + 0.5) / (matched + 0.5))
}

/// The natural logarithm of a number above zero, to six digits: platforms' own differ in the last.
fn ln(number: f32) -> f32 {
    let bits = number.to_bits();
    let mut exponent = (bits >> 23) as i32 - 127;
    let mut rest = f32::from_bits(bits & 0x007f_ffff | 0x3f80_0000);
    if rest > std::f32::consts::SQRT_2 {
        rest *= 0.5;
        exponent += 1;
    }
    let t = (rest - 1.0) / (rest + 1.0);
    let square = t * t;
    2.0 * t * (1.0 + square * (1.0 / 3.0 + square * (0.2 + square / 7.0))) + exponent as f32 * std::f32::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn the_logarithm_is_one() {
        for number in [1e-6f32, 0.5, 1.0, 1.4, 1.42, 2.0, 2.7, 10.0, 1e5, 1e9] {
            assert!((ln(number) - number.ln()).abs() < 1e-5 * number.ln().abs().max(1.0), "{number}");
        }
    }
}
