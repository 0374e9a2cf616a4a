//! Where a clause of a query is: in which documents of a segment, how often, and at which positions.

use std::collections::HashMap;

use crate::query::{Clause, Query, Slot};
use crate::segment::{Entry, Segment};

/// Documents, each with how often something is in it or with a position.
pub(crate) type Hits = Vec<(u32, u32)>;

/// Appends the documents of a segment that a clause is in, ascending, and how often.
pub(crate) fn clause_hits(segment: &Segment, query: &Query, clause: &Clause, languages: u32, out: &mut Hits) {
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
pub(crate) fn positions(segment: &Segment, query: &Query, slot: &Slot, languages: u32) -> Hits {
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
