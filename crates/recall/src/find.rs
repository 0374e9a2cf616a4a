//! Which documents are looked at, and what a search gives of those that it found.

use crate::build::NAME;
use crate::clause::{Hits, clause_hits};
use crate::index::Index;
use crate::query::{Clause, Query};
use crate::segment::{Doc, Segment};
use crate::why::Why;
use threadkeep_core::sort;

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
    /// Why it was found.
    pub why: Why,
}

impl Index {
    /// Closes the documents that lack a phrase or a beginning of the query, or have what it excludes.
    pub(crate) fn demand(&self, query: &Query, open: &mut [bool]) {
        for clause in query.clauses.iter().filter(|clause| clause.required || clause.excluded) {
            close(open, &self.hits(query, clause), clause.excluded);
        }
    }

    /// The documents that a clause is in, ascending, and how often.
    pub(crate) fn hits(&self, query: &Query, clause: &Clause) -> Hits {
        let mut hits = Hits::new();
        for (segment, base) in self.segments().iter().zip(&self.bases) {
            let from = hits.len();
            clause_hits(segment, query, clause, self.languages, &mut hits);
            hits[from..].iter_mut().for_each(|hit| hit.0 += base);
        }
        hits
    }

    /// The first `limit` of documents with scores, the highest first, of equal ones the first by owner and place.
    pub(crate) fn best(&self, best: Vec<(f32, u32)>, limit: usize) -> Vec<Found<'_>> {
        self.first(best, limit).into_iter().map(|(score, number)| self.found(score, number)).collect()
    }

    /// [`Index::best`] by their numbers.
    pub(crate) fn first(&self, mut best: Vec<(f32, u32)>, limit: usize) -> Vec<(f32, u32)> {
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
        sort::sort_by(&mut best, order);
        best
    }

    /// A document that was found.
    pub(crate) fn found(&self, score: f32, number: u32) -> Found<'_> {
        let (segment, doc) = self.doc(number);
        Found { owner: &segment.owners()[doc.owner as usize], doc: *doc, score, why: Why::default() }
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

    pub(crate) fn doc(&self, number: u32) -> (&Segment, &Doc) {
        let at = self.bases.partition_point(|base| *base <= number) - 1;
        // Segments without documents share a base with the next; the last of them has the document.
        let segment = &self.segments()[at];
        (segment, &segment.docs()[(number - self.bases[at]) as usize])
    }
}

/// Closes the documents that are not among `hits`, or those that are.
pub(crate) fn close(open: &mut [bool], hits: &Hits, those: bool) {
    let mut has = vec![false; open.len()];
    hits.iter().for_each(|hit| has[hit.0 as usize] = true);
    open.iter_mut().zip(has).for_each(|(open, has)| *open &= has != those);
}
