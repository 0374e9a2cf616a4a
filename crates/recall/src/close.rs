//! Words of a query that are close to each other in a document count more.

use crate::clause::{Hits, positions};
use crate::index::Index;
use crate::query::{Clause, Query};
use crate::rank::weight;
use threadkeep_core::sort;

/// Words that are farther apart are not close.
const FAR: u32 = 5;
/// Positions are not read of words that more documents have.
const FREQUENT: usize = 4096;

impl Index {
    /// Adds to the scores of documents how close neighbouring words of the query are in them. `all` are the hits of each clause.
    pub(crate) fn add_closeness(&self, query: &Query, all: &[Hits], best: &mut [(f32, u32)]) {
        let is_word = |clause: &Clause| clause.slots.len() == 1 && !clause.required && !clause.excluded;
        let words: Vec<usize> = (0..all.len())
            .filter(|at| is_word(&query.clauses[*at]) && !all[*at].is_empty() && all[*at].len() <= FREQUENT)
            .collect();
        if self.tuning.closeness == 0.0 || words.len() < 2 {
            return;
        }
        let mut numbers: Vec<u32> = best.iter().map(|(_, number)| *number).collect();
        sort::sort(&mut numbers);
        let places: Vec<Hits> = words.iter().map(|at| self.places(query, *at, &numbers)).collect();
        for (at, pair) in words.windows(2).enumerate() {
            let least = weight(self.docs(), all[pair[0]].len().max(all[pair[1]].len()));
            for (score, number) in best.iter_mut() {
                let close = closeness(of(&places[at], *number), of(&places[at + 1], *number));
                *score += self.tuning.closeness * least * close / (close + self.tuning.k1);
            }
        }
    }

    /// The positions of a clause's word in some documents, ascending.
    fn places(&self, query: &Query, clause: usize, numbers: &[u32]) -> Hits {
        let mut places = Hits::new();
        for (segment, base) in self.segments().iter().zip(&self.bases) {
            let end = base + segment.docs().len() as u32;
            if numbers.partition_point(|number| number < base) == numbers.partition_point(|number| *number < end) {
                continue;
            }
            let all = positions(segment, query, &query.clauses[clause].slots[0], self.languages);
            let all = all.into_iter().map(|(doc, position)| (base + doc, position));
            places.extend(all.filter(|(number, _)| numbers.binary_search(number).is_ok()));
        }
        places
    }
}

/// The positions in one document.
fn of(places: &Hits, number: u32) -> &[(u32, u32)] {
    let from = places.partition_point(|place| place.0 < number);
    let to = places.partition_point(|place| place.0 <= number);
    &places[from..to]
}

/// The sum of `1 / distance` of all pairs of positions that are close.
fn closeness(one: &[(u32, u32)], other: &[(u32, u32)]) -> f32 {
    let mut sum = 0.0;
    for (_, at) in one {
        let from = other.partition_point(|place| place.1 + FAR < *at);
        for (_, near) in other[from..].iter().take_while(|place| place.1 <= at + FAR).filter(|place| place.1 != *at) {
            sum += 1.0 / near.abs_diff(*at) as f32;
        }
    }
    sum
}
