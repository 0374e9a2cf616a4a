//! Merging what was found into what is known. Goes in: the known facts and newly found ones. Comes out: the records that are
//! new or have changed, for the caller to store. Nothing is lost: a fact that no longer holds stays, marked with the one
//! that took its place.
//!
//! **Owners.** Facts are merged and contradicted only within one owner's: equal facts of two owners stay two.
//!
//! **Origins.** A fact of a weaker origin never supersedes one of a stronger origin: it is stored as superseded by that one. Said again by
//! a stronger origin, a fact takes the words and the sources of that one alone. Said again by a weaker origin, it stays as it is. So a fact
//! is always worth what its weakest source is worth, and nobody weakens it by repeating it.
//!
//! **Pins.** A pinned fact is never superseded. Against others it counts as the user's, who pinned it: it supersedes weaker facts against
//! it. A newer word of the user against it holds beside it, until the user decides.

use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;

use super::facts::Facts;
use super::same::is_same;
use super::words::Said;
use super::{Fact, FactKind, MemoryOrigin, Share};
use crate::summary::FoundFact;

/// Whose facts are merged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whose<'a> {
    /// The agent that owns them; none for what all share.
    pub agent: Option<&'a str>,
    /// The transcript that they came from, if any.
    pub transcript: Option<&'a TranscriptId>,
}

/// What became of found facts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Remembered {
    /// The records to be stored: new ones, and known ones that have changed.
    pub changed: Vec<Fact>,
    /// For each found fact, in order, the id of the record that holds it now; none for one without words.
    pub ids: Vec<Option<String>>,
}

/// Merges found facts, oldest first and each with its origin, into the known ones. `now` (milliseconds since 1970, UTC) and `whose` go into
/// new records, `next_id` makes their ids. Each is compared only with facts of its owner that could say the same or the opposite.
///
/// ```
/// use threadkeep_compaction::summary::FoundFact;
/// use threadkeep_compaction::memory::{Facts, MemoryOrigin, Share, Whose, remember};
/// let found = |fact: &str| (FoundFact {
///     kind: Default::default(), fact: fact.into(), tags: vec![], confidence: Share::of(500), salience: Share::of(500), sources: vec![],
/// }, MemoryOrigin::User);
/// let mut count = 0;
/// let mut next_id = || { count += 1; format!("sem_{count:04}") };
/// let all = vec![found("The deadline is Friday."), found("The deadline is Monday.")];
/// let done = remember(&Facts::default(), all, Whose::default(), 0, &mut next_id);
/// assert_eq!(done.changed[0].superseded_by.as_deref(), Some("sem_0002"));
/// ```
pub fn remember(
    known: &Facts,
    found: Vec<(FoundFact, MemoryOrigin)>,
    whose: Whose,
    now: i64,
    next_id: &mut dyn FnMut() -> String,
) -> Remembered {
    let mut merging = Merging { known, agent: whose.agent, changed: Facts::default(), order: Vec::new() };
    let mut ids = Vec::with_capacity(found.len());
    for (found, origin) in found {
        let said = Said::of(&found.fact);
        if said.terms.is_empty() && !said.denies {
            ids.push(None);
            continue;
        }
        if let Some(mut fact) = merging.same(&said) {
            ids.push(Some(fact.id.clone()));
            if repeat(&mut fact, found, origin) {
                merging.put(fact);
            }
            continue;
        }
        let (stronger, others): (Vec<Fact>, Vec<Fact>) =
            merging.contradicted(&found.fact, &said).into_iter().partition(|fact| fact.strength() > origin);
        let overruled_by = stronger.into_iter().next_back().map(|fact| fact.id);
        if let Some(again) = overruled_by.as_ref().and_then(|id| merging.overruled(id, &said)) {
            ids.push(Some(again));
            continue;
        }
        let id = next_id();
        for mut fact in others.into_iter().filter(|fact| overruled_by.is_none() && !fact.pinned) {
            fact.superseded_by = Some(id.clone());
            merging.put(fact);
        }
        ids.push(Some(id.clone()));
        merging.put(Fact { superseded_by: overruled_by, ..new_fact(found, origin, id, whose, now) });
    }
    Remembered { changed: merging.all_changed(), ids }
}

/// Known facts, with those in their place that have changed since.
struct Merging<'a> {
    known: &'a Facts,
    /// The owner.
    agent: Option<&'a str>,
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
        let owns = |fact: &Fact| fact.agent.as_deref() == self.agent;
        let is_new = |fact: &Fact| self.known.get(&fact.id).is_none();
        let as_it_was = self.known.same(said, &|fact| owns(fact) && self.changed.get(&fact.id).is_none());
        let as_it_is = self.changed.same(said, &|fact| !is_new(fact));
        let known = as_it_was.into_iter().chain(as_it_is).min_by_key(|fact| (fact.created_at, &fact.id));
        known.or_else(|| self.changed.same(said, &is_new)).cloned()
    }

    /// Facts of this owner that the sentence contradicts, the oldest first.
    fn contradicted(&self, newer: &str, said: &Said) -> Vec<Fact> {
        let owns = |fact: &Fact| fact.agent.as_deref() == self.agent;
        let as_it_was = self.known.contradicted(newer, said, &owns).into_iter();
        let as_it_was = as_it_was.filter(|fact| self.changed.get(&fact.id).is_none());
        as_it_was.chain(self.changed.contradicted(newer, said, &owns)).cloned().collect()
    }

    /// The id of a fact that says the same, and that the fact of this id has overruled already.
    fn overruled(&self, by: &str, said: &Said) -> Option<String> {
        let ids = self.known.superseded_by(by).iter().chain(self.changed.superseded_by(by));
        let facts = ids.filter_map(|id| self.changed.get(id).or_else(|| self.known.get(id)));
        facts.filter(|fact| is_same(&Said::of(&fact.fact), said)).map(|fact| fact.id.clone()).next()
    }

    /// What has changed: known facts, then new ones.
    fn all_changed(mut self) -> Vec<Fact> {
        let order = std::mem::take(&mut self.order);
        let (known, new): (Vec<String>, Vec<String>) = order.into_iter().partition(|id| self.known.get(id).is_some());
        known.into_iter().chain(new).filter_map(|id| self.changed.remove(&id)).collect()
    }
}

fn new_fact(found: FoundFact, origin: MemoryOrigin, id: String, whose: Whose, now: i64) -> Fact {
    let mut sources = Vec::with_capacity(found.sources.len());
    add_new(&mut sources, found.sources);
    Fact {
        id,
        created_at: now,
        transcript: whose.transcript.cloned(),
        kind: found.kind,
        fact: found.fact,
        tags: found.tags,
        confidence: found.confidence,
        salience: found.salience,
        sources,
        pinned: false,
        superseded_by: None,
        agent: whose.agent.map(str::to_owned),
        origin: Some(origin),
    }
}

/// Adds to a fact what a repetition of it brings. Whether anything changed.
fn repeat(fact: &mut Fact, found: FoundFact, origin: MemoryOrigin) -> bool {
    if origin < fact.worth() {
        return false;
    }
    let before = fact.clone();
    if origin > fact.worth() {
        fact.sources.clear();
        add_new(&mut fact.sources, found.sources);
        (fact.fact, fact.tags, fact.origin) = (found.fact, found.tags, Some(origin));
        fact.kind = if found.kind == FactKind::Other { fact.kind } else { found.kind };
        (fact.confidence, fact.salience) = (found.confidence, fact.salience.max(found.salience));
        return true;
    }
    fact.origin = Some(origin);
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
