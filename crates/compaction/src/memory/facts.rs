//! Known facts, so kept that a new sentence is compared only with those that could say the same or the opposite. Facts go in one by one;
//! out come those that say the same as a sentence, and those that it contradicts. What that means is `merge`'s.
//!
//! Three indexes lead to candidates, which are then compared as `merge` says. `by_words` finds sentences of the same words.
//! `by_length` finds sentences of a few words more or fewer: a [`Mask`] for each, so that nearly all others are passed over without
//! a look at their words. `by_place` finds sentences that differ in one value only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use super::Fact;
use super::same::{contradicted, hash, is_same, may_be_same_length, places};
use super::words::Said;
use threadkeep_core::sort;

/// Facts, with what finds the ones that are like a sentence.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Those that are gone leave a hole, which is filled again.
    known: Vec<Option<Known>>,
    holes: Vec<usize>,
    by_id: HashMap<String, usize>,
    by_words: HashMap<u64, Vec<usize>>,
    by_length: BTreeMap<usize, Vec<(Mask, usize)>>,
    by_place: HashMap<u64, Vec<Valued>>,
    /// The facts that each fact superseded.
    superseded: HashMap<String, Vec<String>>,
}

#[derive(Debug, Clone)]
struct Known {
    fact: Fact,
    said: Said,
}

/// A value in a place that holds one at a time.
#[derive(Debug, Clone, Copy)]
struct Valued {
    first: u64,
    last: u64,
    at: usize,
}

/// A set of words in a few bits: three for each word.
#[derive(Debug, Clone, Copy, Default)]
struct Mask([u64; 4]);

impl Mask {
    fn of(said: &Said) -> Self {
        let mut mask = Self::default();
        for word in &said.terms {
            let hash = hash(word);
            for part in [hash, hash >> 8, hash >> 16] {
                mask.0[(part >> 6) as usize & 3] |= 1 << (part & 63);
            }
        }
        mask
    }

    /// Whether all of it may be in another. Where it says no, it is not.
    fn may_be_in(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| own & !other == 0)
    }
}

impl Facts {
    /// The fact of this id.
    pub fn get(&self, id: &str) -> Option<&Fact> {
        self.known(*self.by_id.get(id)?).map(|known| &known.fact)
    }

    /// All facts, those that are superseded too.
    pub fn iter(&self) -> impl Iterator<Item = &Fact> {
        self.known.iter().flatten().map(|known| &known.fact)
    }

    /// The ids of those that the fact of this id superseded.
    pub fn superseded_by(&self, id: &str) -> &[String] {
        self.superseded.get(id).map_or(&[], Vec::as_slice)
    }

    /// Takes a fact in; of the same id there is only the last.
    pub fn insert(&mut self, fact: Fact) {
        self.remove(&fact.id);
        if let Some(by) = &fact.superseded_by {
            self.superseded.entry(by.clone()).or_default().push(fact.id.clone());
        }
        let at = self.holes.pop().unwrap_or(self.known.len());
        self.by_id.insert(fact.id.clone(), at);
        let known = Known { said: Said::of(&fact.fact), fact };
        // Only what still holds can be said again or be contradicted.
        if known.fact.superseded_by.is_none() {
            self.by_words.entry(hash(&known.said.terms)).or_default().push(at);
            self.by_length.entry(known.said.terms.len()).or_default().push((Mask::of(&known.said), at));
            for place in places(&known.fact.fact) {
                let valued = Valued { first: place.first, last: place.last, at };
                self.by_place.entry(place.key).or_default().push(valued);
            }
        }
        match self.known.get_mut(at) {
            Some(hole) => *hole = Some(known),
            None => self.known.push(Some(known)),
        }
    }

    /// Takes the fact of this id out.
    pub fn remove(&mut self, id: &str) -> Option<Fact> {
        let at = self.by_id.remove(id)?;
        let known = self.known.get_mut(at)?.take()?;
        self.holes.push(at);
        if let Some(by) = &known.fact.superseded_by {
            drop_from(&mut self.superseded, by, |other| other == id);
        } else {
            drop_from(&mut self.by_words, &hash(&known.said.terms), |other| *other == at);
            if let Some(same) = self.by_length.get_mut(&known.said.terms.len()) {
                drop_one(same, |(_, other)| *other == at);
            }
            for place in places(&known.fact.fact) {
                drop_from(&mut self.by_place, &place.key, |valued| valued.at == at);
            }
        }
        Some(known.fact)
    }

    /// The oldest of those that hold and say the same as `said`, and for which `admits` holds.
    pub(super) fn same(&self, said: &Said, admits: &dyn Fn(&Fact) -> bool) -> Option<&Fact> {
        self.all_same(said, admits).into_iter().min_by_key(|fact| (fact.created_at, &fact.id))
    }

    fn all_same(&self, said: &Said, admits: &dyn Fn(&Fact) -> bool) -> Vec<&Fact> {
        let found = self.like(said).into_iter().filter_map(|at| self.known(at));
        found.filter(|known| admits(&known.fact) && is_same(&known.said, said)).map(|known| &known.fact).collect()
    }

    /// Those that hold, for which `admits` holds, and which the newer sentence contradicts, the oldest first.
    pub(super) fn contradicted(&self, newer: &str, said: &Said, admits: &dyn Fn(&Fact) -> bool) -> Vec<&Fact> {
        let found = self.against(newer, said).into_iter().filter_map(|at| self.known(at));
        let found = found.filter(|known| admits(&known.fact) && contradicted(&known.fact, &known.said, newer, said));
        let mut found: Vec<&Fact> = found.map(|known| &known.fact).collect();
        sort::sort_by_key(&mut found, |fact| (fact.created_at, &fact.id));
        found
    }

    /// The ids of facts that do not hold for an agent, which sees its own facts and the shared ones. Of an own fact and a shared one that
    /// contradict each other, the [stronger](Fact::strength) one holds, then the newer one. Of two that say the same, a pinned one
    /// holds, then the same rule decides. Neither is changed: for others the shared one holds. Facts that are pinned always hold.
    pub fn overruled_for(&self, agent: &str) -> HashSet<&str> {
        let rank = |fact: &Fact| (fact.strength(), fact.created_at);
        let is_shared = |fact: &Fact| fact.agent.is_none();
        let mut overruled = HashSet::new();
        let own = self.known.iter().flatten();
        let own = own.filter(|it| it.fact.agent.as_deref() == Some(agent) && it.fact.superseded_by.is_none());
        for Known { fact: own, said } in own {
            let other = self.contradicted(&own.fact, said, &is_shared).into_iter();
            let other = other.map(|shared| (shared, rank(own) >= rank(shared)));
            let same = self.all_same(said, &is_shared).into_iter();
            let same = same.map(|shared| (shared, (own.pinned, rank(own)) >= (shared.pinned, rank(shared))));
            let weaker = other.chain(same).map(|(shared, own_holds)| if own_holds { shared } else { own });
            overruled.extend(weaker.filter(|fact| !fact.pinned).map(|fact| fact.id.as_str()));
        }
        overruled
    }

    /// The places of those that may say the same.
    fn like(&self, said: &Said) -> Vec<usize> {
        let mask = Mask::of(said);
        let equal = self.by_words.get(&hash(&said.terms)).into_iter().flatten().copied();
        let length = said.terms.len();
        let near = self.by_length.range(may_be_same_length(length)).filter(|(other, _)| **other != length);
        let near = near.flat_map(|(other, all)| {
            let shorter = *other < length;
            let fits = move |other: Mask| if shorter { other.may_be_in(mask) } else { mask.may_be_in(other) };
            all.iter().filter(move |(other, _)| fits(*other)).map(|(_, at)| *at)
        });
        equal.chain(near).collect()
    }

    /// The places of those that the newer sentence may contradict.
    fn against(&self, newer: &str, said: &Said) -> Vec<usize> {
        let mut found: Vec<usize> = self.by_words.get(&hash(&said.terms)).cloned().unwrap_or_default();
        for place in places(newer) {
            let others = self.by_place.get(&place.key).into_iter().flatten();
            // Sentences that differ in a smaller part have another place in common.
            let others = others.filter(|other| other.first != place.first && other.last != place.last);
            found.extend(others.map(|other| other.at));
        }
        sort::sort(&mut found);
        found.dedup();
        found
    }

    fn known(&self, at: usize) -> Option<&Known> {
        self.known.get(at)?.as_ref()
    }
}

impl FromIterator<Fact> for Facts {
    fn from_iter<I: IntoIterator<Item = Fact>>(facts: I) -> Self {
        let mut all = Self::default();
        facts.into_iter().for_each(|fact| all.insert(fact));
        all
    }
}

fn drop_from<K: Eq + Hash, T>(lists: &mut HashMap<K, Vec<T>>, key: &K, is: impl Fn(&T) -> bool) {
    if let Some(list) = lists.get_mut(key) {
        drop_one(list, is);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

fn drop_one<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool) {
    // What came last goes first, most often.
    if let Some(at) = list.iter().rposition(is) {
        list.swap_remove(at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{FactKind, Share, contradicts};
    use super::*;

    fn fact(id: usize, text: &str) -> Fact {
        Fact {
            id: format!("sem_{id:04}"),
            created_at: id as i64,
            transcript: None,
            kind: FactKind::Other,
            fact: text.to_owned(),
            tags: Vec::new(),
            confidence: Share::of(500),
            salience: Share::of(500),
            sources: Vec::new(),
            pinned: id % 7 == 6,
            superseded_by: (id % 5 == 4).then(|| "sem_0000".to_owned()),
            agent: None,
            origin: None,
        }
    }

    #[test]
    fn a_new_sentence_is_compared_with_few_of_many_facts() {
        let texts: [fn(usize) -> String; 6] = [
            |at| format!("The port of service {at} in the old house is {at}."),
            |at| format!("The user likes thing {at}."),
            |at| format!("The user has {at} cats."),
            |at| format!("The user has 1 {}.", "x".repeat(at + 1)),
            |at| format!("The name of dog {at} is Rex."),
            |at| format!("Always run step {at} of the long list before the next one begins again."),
        ];
        for text in texts {
            // One that holds no more takes part in no index.
            let facts: Facts = (0..500).map(|at| fact(at, &text(at))).collect();
            for newer in [text(500), text(17), format!("{} indeed", text(7))] {
                let said = Said::of(&newer);
                let (like, against) = (facts.like(&said).len(), facts.against(&newer, &said).len());
                // Of "has 400 cats" each contradicts the others; without `remember` all of them hold.
                let most = if newer.contains("cats") { 500 } else { 4 };
                assert!(like <= 4 && against <= most, "{newer:?} is compared with {like} and {against} facts");
            }
        }
    }

    proptest! {
        #[test]
        fn the_indexes_find_what_a_comparison_with_every_fact_finds(
            texts in proptest::collection::vec(
                "(the (user's name|port|deadline|database) is|user (lives in|prefers|has)|port:) (not )?([A-C]|[a-c]|[1-3]|Friday|Monday|over){1,4}( [d-i]){0,5}", 1..40),
            gone in proptest::collection::vec(0usize..40, 0..10),
            newer in "(the (user's name|port|deadline|database) is|user (lives in|prefers|has)|port:) (not )?([A-C] ?|[a-c] ?|[1-3] ?|Friday |Monday |over ){1,4}( [d-i]){0,5}",
        ) {
            let mut all: Vec<Fact> = texts.iter().enumerate().map(|(id, text)| fact(id, text)).collect();
            let mut facts: Facts = all.iter().cloned().collect();
            for at in gone {
                let id = format!("sem_{at:04}");
                prop_assert_eq!(facts.remove(&id).is_some(), all.iter().any(|fact| fact.id == id));
                all.retain(|fact| fact.id != id);
            }
            let said = Said::of(&newer);
            let hold = || all.iter().filter(|fact| fact.superseded_by.is_none());
            let same = hold().find(|fact| is_same(&Said::of(&fact.fact), &said));
            prop_assert_eq!(facts.same(&said, &|_| true), same);
            let against: Vec<&Fact> = hold().filter(|fact| contradicts(&newer, &fact.fact)).collect();
            prop_assert_eq!(facts.contradicted(&newer, &said, &|_| true), against);
            prop_assert_eq!(facts.iter().count(), all.len());
        }
    }
}
