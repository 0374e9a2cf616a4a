//! Merging what was found into what is known. Goes in: the known facts and newly found ones. Comes out: the records that are
//! new or have changed, for the caller to store. Nothing is lost: a fact that no longer holds stays, marked with the one
//! that took its place.

use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;

use super::facts::Facts;
use super::words::Said;
use super::{Fact, FactKind, Share};
use crate::summary::FoundFact;

/// What became of found facts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Remembered {
    /// The records to be stored: new ones, and known ones that have changed.
    pub changed: Vec<Fact>,
    /// For each found fact, in order, the id of the record that holds it now; none for one without words.
    pub ids: Vec<Option<String>>,
}

/// Merges found facts, oldest first, into the known ones. `now` (milliseconds since 1970, UTC) and `transcript` go into new
/// records, `next_id` makes their ids. Each is compared only with facts that could say the same or the opposite.
///
/// ```
/// use threadkeep_compaction::summary::FoundFact;
/// use threadkeep_compaction::memory::{Facts, Share, remember};
/// let found = |fact: &str| FoundFact {
///     kind: Default::default(), fact: fact.into(), tags: vec![], confidence: Share::of(500), salience: Share::of(500), sources: vec![],
/// };
/// let mut count = 0;
/// let mut next_id = || { count += 1; format!("sem_{count:04}") };
/// let all = vec![found("The deadline is Friday."), found("The deadline is Monday.")];
/// let done = remember(&Facts::default(), all, None, 0, &mut next_id);
/// assert_eq!(done.changed[0].superseded_by.as_deref(), Some("sem_0002"));
/// ```
pub fn remember(
    known: &Facts,
    found: Vec<FoundFact>,
    transcript: Option<&TranscriptId>,
    now: i64,
    next_id: &mut dyn FnMut() -> String,
) -> Remembered {
    let mut merging = Merging { known, changed: Facts::default(), order: Vec::new() };
    let mut ids = Vec::with_capacity(found.len());
    for found in found {
        let said = Said::of(&found.fact);
        if said.terms.is_empty() && !said.denies {
            ids.push(None);
            continue;
        }
        if let Some(mut fact) = merging.same(&said) {
            ids.push(Some(fact.id.clone()));
            if repeat(&mut fact, found) {
                merging.put(fact);
            }
            continue;
        }
        let id = next_id();
        for mut fact in merging.contradicted(&found.fact, &said) {
            fact.superseded_by = Some(id.clone());
            merging.put(fact);
        }
        ids.push(Some(id.clone()));
        merging.put(new_fact(found, id, transcript, now));
    }
    Remembered { changed: merging.all_changed(), ids }
}

/// Known facts, with those in their place that have changed since.
struct Merging<'a> {
    known: &'a Facts,
    changed: Facts,
    /// The ids of `changed`, in the order in which they changed first.
    order: Vec<String>,
}

impl Merging<'_> {
    fn put(&mut self, fact: Fact) {
        if self.changed.get(&fact.id).is_none() {
            self.order.push(fact.id.clone());
        }
        self.changed.insert(fact);
    }

    /// A fact that says the same: the oldest known one, else the oldest of those that are new.
    fn same(&self, said: &Said) -> Option<Fact> {
        let is_new = |fact: &Fact| self.known.get(&fact.id).is_none();
        let as_it_was = self.known.same(said, &|fact| self.changed.get(&fact.id).is_none());
        let as_it_is = self.changed.same(said, &|fact| !is_new(fact));
        let known = as_it_was.into_iter().chain(as_it_is).min_by_key(|fact| (fact.created_at, &fact.id));
        known.or_else(|| self.changed.same(said, &is_new)).cloned()
    }

    fn contradicted(&self, newer: &str, said: &Said) -> Vec<Fact> {
        let as_it_was = self.known.contradicted(newer, said).into_iter();
        let as_it_was = as_it_was.filter(|fact| self.changed.get(&fact.id).is_none());
        as_it_was.chain(self.changed.contradicted(newer, said)).cloned().collect()
    }

    /// What has changed: known facts, then new ones.
    fn all_changed(mut self) -> Vec<Fact> {
        let order = std::mem::take(&mut self.order);
        let (known, new): (Vec<String>, Vec<String>) = order.into_iter().partition(|id| self.known.get(id).is_some());
        known.into_iter().chain(new).filter_map(|id| self.changed.remove(&id)).collect()
    }
}

fn new_fact(found: FoundFact, id: String, transcript: Option<&TranscriptId>, now: i64) -> Fact {
    let mut sources = Vec::with_capacity(found.sources.len());
    add_new(&mut sources, found.sources);
    Fact {
        id,
        created_at: now,
        transcript: transcript.cloned(),
        kind: found.kind,
        fact: found.fact,
        tags: found.tags,
        confidence: found.confidence,
        salience: found.salience,
        sources,
        pinned: false,
        superseded_by: None,
    }
}

/// Adds to a fact what a repetition of it brings. Whether anything changed.
fn repeat(fact: &mut Fact, found: FoundFact) -> bool {
    let before = fact.clone();
    let longer = Said::of(&found.fact).terms.len() > Said::of(&fact.fact).terms.len();
    let news = if longer {
        // The words of a fact are those of its first source.
        fact.fact = found.fact;
        let own = std::mem::take(&mut fact.sources);
        let mut sources = Vec::new();
        add_new(&mut sources, found.sources);
        let had = sources.iter().all(|source| own.contains(source));
        add_new(&mut sources, own);
        fact.sources = sources;
        !had
    } else {
        add_new(&mut fact.sources, found.sources)
    };
    for tag in found.tags {
        if !fact.tags.contains(&tag) {
            fact.tags.push(tag);
        }
    }
    if fact.kind == FactKind::Other {
        fact.kind = found.kind;
    }
    fact.salience = fact.salience.max(found.salience);
    let sure = fact.confidence.max(found.confidence).thousandths();
    fact.confidence = Share::of(if news { sure + (1000 - sure).div_ceil(4) } else { sure });
    *fact != before
}

/// Adds sources that are not there yet. Whether there were any.
fn add_new(sources: &mut Vec<Source>, more: Vec<Source>) -> bool {
    let before = sources.len();
    for source in more {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources.len() > before
}
