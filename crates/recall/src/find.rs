//! Ranks documents for a query: BM25 over stems, where a short message also counts for what it answers.
//!
//! A clause weighs `ln(1 + (N - n + 0.5) / (n + 0.5))`, where `n` of `N` documents have it; in a document that has it `f`
//! times, `f (k1 + 1) / (f + k1 (1 - b + b · length / mean length))` of that. Single floats and the four operations only, so
//! that every platform ranks alike.

use std::collections::HashMap;

use crate::build::NAME;
use crate::index::{Index, NONE};
use crate::query::{Clause, Query, Slot};
use crate::segment::{Doc, Entry, Segment};

/// Says of a document, given its owner, whether it is looked at.
pub type Picks<'a> = dyn Fn(&str, &Doc) -> bool + 'a;

/// Which documents are looked at. What is left out does not limit.
#[derive(Default, Clone, Copy)]
pub struct Filter<'a> {
    /// A bit for each role; zero for all.
    pub roles: u8,
    /// A bit for each kind; zero for all.
    pub kinds: u8,
    /// From this time on, in seconds since 1970.
    pub since: Option<i64>,
    /// Before this time, in seconds since 1970.
    pub until: Option<i64>,
    /// Only what calls, or answers, the tool of this name.
    pub name: Option<&'a str>,
    /// Only documents of owners for which this holds.
    pub owner: Option<&'a dyn Fn(&str) -> bool>,
    /// Only documents for which this holds.
    pub doc: Option<&'a Picks<'a>>,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// Its owner.
    pub owner: &'a str,
    /// The document.
    pub doc: Doc,
    /// How well it fits; above zero.
    pub score: f32,
}

/// The figures of the ranking. `examples/recall` measured them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// How much it counts that a word comes again: from 0 up.
    pub k1: f32,
    /// How much length counts against a document: from 0 to 1.
    pub b: f32,
    /// A message of no more words than this also counts for what it answers.
    pub short: u32,
    /// How much of the score of what it answers a short message gets.
    pub context: f32,
    /// How much of the score of its answer a message gets that was found itself: what was asked about is what was answered.
    pub answer: f32,
    /// By how much a message of the user counts more: people look for what they said, and assistants repeat it.
    pub user: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75, short: 60, context: 0.4, answer: 0.2, user: 1.5 }
    }
}

type Hits = Vec<(u32, u32)>;

impl Index {
    /// The documents that fit best, at most `limit`, best first.
    pub fn find(&self, query: &Query, filter: &Filter<'_>, limit: usize) -> Vec<Found<'_>> {
        self.find_with(query, filter, limit, &Tuning::default())
    }

    /// [`Index::find`] with other figures.
    pub fn find_with(&self, query: &Query, filter: &Filter<'_>, limit: usize, tuning: &Tuning) -> Vec<Found<'_>> {
        let count = self.docs();
        let mut scores = vec![0f32; count];
        // Required and excluded clauses that a document passed; those that fail one are out.
        let mut open = vec![true; count];
        let mean = (self.words as f32 / count.max(1) as f32).max(1.0);
        let mut hits = Hits::new();
        for clause in &query.clauses {
            hits.clear();
            for (segment, base) in self.segments().iter().zip(&self.bases) {
                let from = hits.len();
                clause_hits(segment, query, clause, self.languages, &mut hits);
                hits[from..].iter_mut().for_each(|hit| hit.0 += base);
            }
            if clause.excluded {
                hits.iter().for_each(|hit| open[hit.0 as usize] = false);
                continue;
            }
            if clause.required {
                let mut has = vec![false; count];
                hits.iter().for_each(|hit| has[hit.0 as usize] = true);
                open.iter_mut().zip(&has).for_each(|(open, has)| *open &= has);
            }
            let weight = weight(count, hits.len());
            for (doc, often) in &hits {
                let often = *often as f32;
                let length = self.lengths[*doc as usize] as f32;
                let damped = tuning.k1 * (1.0 - tuning.b + tuning.b * length / mean);
                scores[*doc as usize] += weight * often * (tuning.k1 + 1.0) / (often + damped);
            }
        }
        self.add_neighbours(&mut scores, tuning);
        self.pass(filter, &mut open);
        let mut best: Vec<(f32, u32)> = Vec::new();
        for (number, (score, open)) in scores.iter().zip(&open).enumerate() {
            if *open && *score > 0.0 {
                best.push((*score, number as u32));
            }
        }
        self.best(best, limit)
    }

    /// Closes the documents that lack a phrase or a beginning of the query, or have what it excludes.
    pub(crate) fn demand(&self, query: &Query, open: &mut [bool]) {
        for clause in query.clauses.iter().filter(|clause| clause.required || clause.excluded) {
            let mut has = vec![false; open.len()];
            for (segment, base) in self.segments().iter().zip(&self.bases) {
                let mut hits = Hits::new();
                clause_hits(segment, query, clause, self.languages, &mut hits);
                hits.iter().for_each(|hit| has[(base + hit.0) as usize] = true);
            }
            open.iter_mut().zip(has).for_each(|(open, has)| *open &= has != clause.excluded);
        }
    }

    /// The first `limit` of documents with scores, the highest first, of equal ones the first by owner and place.
    pub(crate) fn best(&self, mut best: Vec<(f32, u32)>, limit: usize) -> Vec<Found<'_>> {
        let order = |a: &(f32, u32), b: &(f32, u32)| {
            let key = |number| {
                let (segment, doc) = self.doc(number);
                (segment.owners()[doc.owner as usize].as_str(), doc.seq, doc.index)
            };
            b.0.total_cmp(&a.0).then_with(|| key(a.1).cmp(&key(b.1)))
        };
        if best.len() > limit && limit > 0 {
            best.select_nth_unstable_by(limit - 1, order);
        }
        best.truncate(limit);
        best.sort_unstable_by(order);
        let found = |(score, number)| {
            let (segment, doc) = self.doc(number);
            Found { owner: &segment.owners()[doc.owner as usize], doc: *doc, score }
        };
        best.into_iter().map(found).collect()
    }

    /// Short messages get a share of the score of what they answer, those that were found one of their answer's.
    fn add_neighbours(&self, scores: &mut [f32], tuning: &Tuning) {
        let own = scores.to_vec();
        // The best answer's, and one addition after the other, so that the order of documents makes no difference.
        let mut answers = vec![0f32; own.len()];
        for (number, before) in self.before.iter().enumerate().filter(|(_, before)| **before != NONE) {
            let answer = &mut answers[*before as usize];
            if own[number] > *answer {
                *answer = own[number];
            }
        }
        for (number, score) in scores.iter_mut().enumerate() {
            let before = self.before[number];
            if self.lengths[number] <= tuning.short && before != NONE {
                *score += tuning.context * own[before as usize];
            }
            if own[number] > 0.0 {
                *score += tuning.answer * answers[number];
            }
            if self.users[number] {
                *score *= tuning.user;
            }
        }
    }

    /// Closes the documents that the filter leaves out.
    pub(crate) fn pass(&self, filter: &Filter<'_>, open: &mut [bool]) {
        for (segment, base) in self.segments().iter().zip(&self.bases) {
            let base = *base as usize;
            let open = &mut open[base..base + segment.docs().len()];
            if let Some(name) = filter.name {
                let mut named = vec![false; open.len()];
                let mut hits = Hits::new();
                if let Some(entry) = segment.entry(&[NAME.encode_utf8(&mut [0; 4]), name].concat()) {
                    segment.read_docs(entry, &mut hits);
                }
                hits.iter().for_each(|hit| named[hit.0 as usize] = true);
                open.iter_mut().zip(named).for_each(|(open, named)| *open &= named);
            }
            let owners: Option<Vec<bool>> =
                filter.owner.map(|is| segment.owners().iter().map(|owner| is(owner)).collect());
            let Filter { roles, kinds, since, until, .. } = *filter;
            if roles == 0 && kinds == 0 && owners.is_none() && since.or(until).is_none() && filter.doc.is_none() {
                continue;
            }
            for (open, doc) in open.iter_mut().zip(segment.docs()).filter(|(open, _)| **open) {
                *open = (filter.roles == 0 || filter.roles & (1 << doc.role) != 0)
                    && (filter.kinds == 0 || filter.kinds & (1 << doc.kind) != 0)
                    && filter.since.is_none_or(|since| doc.time != 0 && doc.time >= since)
                    && filter.until.is_none_or(|until| doc.time != 0 && doc.time < until)
                    && owners.as_ref().is_none_or(|owners| owners[doc.owner as usize])
                    && filter.doc.is_none_or(|is| is(&segment.owners()[doc.owner as usize], doc));
            }
        }
    }

    fn doc(&self, number: u32) -> (&Segment, &Doc) {
        let at = self.bases.partition_point(|base| *base <= number) - 1;
        // Segments without documents share a base with the next; the last of them has the document.
        let segment = &self.segments()[at];
        (segment, &segment.docs()[(number - self.bases[at]) as usize])
    }
}

/// What a clause that `matched` of `count` documents have weighs.
fn weight(count: usize, matched: usize) -> f32 {
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

/// Appends the documents of a segment that a clause is in, ascending, and how often.
fn clause_hits(segment: &Segment, query: &Query, clause: &Clause, languages: u32, out: &mut Hits) {
    let mut slots = clause.slots.iter();
    let Some(first) = slots.next() else { return };
    if clause.slots.len() == 1 {
        let entries = entries(segment, query, first, languages);
        let from = out.len();
        for entry in &entries {
            segment.read_docs(*entry, out);
        }
        if entries.len() > 1 {
            out[from..].sort_unstable();
            // One line a document, the counts added up.
            let mut end = from;
            for at in from..out.len() {
                if end > from && out[end - 1].0 == out[at].0 {
                    out[end - 1].1 += out[at].1;
                } else {
                    out[end] = out[at];
                    end += 1;
                }
            }
            out.truncate(end);
        }
        return;
    }
    // Documents and positions at which the clause could begin, fewer with each word.
    let mut begins: Hits = positions(segment, query, first, languages);
    // A word that comes again in the phrase is read once.
    let mut read = HashMap::from([((first.word.as_str(), first.prefix), begins.clone())]);
    for slot in slots {
        if begins.is_empty() {
            return;
        }
        let next = read.entry((slot.word.as_str(), slot.prefix));
        let next = next.or_insert_with(|| positions(segment, query, slot, languages));
        let offset = slot.offset - first.offset;
        let mut at = 0;
        begins.retain(|(doc, position)| {
            let wanted = (*doc, position + offset);
            while next.get(at).is_some_and(|hit| *hit < wanted) {
                at += 1;
            }
            next.get(at) == Some(&wanted)
        });
    }
    for run in begins.chunk_by(|a, b| a.0 == b.0) {
        out.push((run[0].0, run.len() as u32));
    }
}

/// The documents and positions of a word, ascending.
fn positions(segment: &Segment, query: &Query, slot: &Slot, languages: u32) -> Hits {
    let mut hits = Hits::new();
    let entries = entries(segment, query, slot, languages);
    for entry in &entries {
        segment.read_positions(*entry, &mut hits);
    }
    hits.sort_unstable();
    hits.dedup();
    hits
}

/// The entries of all terms that a word means.
fn entries(segment: &Segment, query: &Query, slot: &Slot, languages: u32) -> Vec<Entry> {
    let own = query.terms(slot, languages);
    let mut entries: Vec<_> = own.iter().filter_map(|term| segment.entry(term)).collect();
    if slot.prefix {
        let begin = slot.folded();
        let mut take = |term: &[u8], entry| {
            if !own.iter().any(|own| own.as_bytes() == term) {
                entries.push(entry);
            }
        };
        for stem in slot.stems() {
            if let Some(entry) = segment.entry(&stem) {
                take(stem.as_bytes(), entry);
            }
        }
        let mut walk = segment.walk_from(begin.as_bytes());
        while let Some(entry) = walk.next() {
            if walk.term.starts_with(begin.as_bytes()) {
                take(&walk.term, entry);
            } else if walk.term.as_slice() > begin.as_bytes() {
                break;
            }
        }
    }
    entries
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
