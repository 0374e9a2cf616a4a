//! Retrieval: which episodes and facts go into a prompt. Goes in: what is remembered, the current input, limits, the
//! time. Comes out: a [`MemoryBundle`], best first.
//!
//! A record's score is a whole number from 0 to 1000: **5 parts relevance, 3 parts worth, 2 parts recency**, each from 0 to 1000,
//! divided by 10. Pinned records come before all others; superseded facts never come; equal scores go by time, newer first, then by id.
//! - *Relevance*: the weight of the words that the record (text and tags) shares with the input, in thousandths of the weight of
//!   the smaller of the two. A word weighs 1, plus 1 for each halving of the number of records that have it, so that rare words
//!   tell more. Without an input it is 0 for all.
//! - *Worth*: an episode's salience; two thirds salience and a third confidence for a fact.
//! - *Recency*: 1000 · 168 / (168 + hours since it was made): half after a week.

use super::words::terms;
use super::{Episode, Fact};
use threadkeep_core::sort;

/// How much a bundle holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleLimits {
    /// The most episodes. Zero means none.
    pub episodes: usize,
    /// The most facts. Zero means none.
    pub facts: usize,
}

impl Default for BundleLimits {
    /// 3 episodes and 20 facts.
    fn default() -> Self {
        Self { episodes: 3, facts: 20 }
    }
}

/// What is remembered that fits a prompt, best first.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct MemoryBundle {
    /// The episodes.
    pub episodes: Vec<Episode>,
    /// The facts.
    pub facts: Vec<Fact>,
}

impl MemoryBundle {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty() && self.facts.is_empty()
    }
}

/// The best episodes and facts for a prompt. `query` is the current input; `now` is in milliseconds since 1970 (UTC).
///
/// ```
/// use threadkeep_compaction::memory::{BundleLimits, bundle};
/// assert!(bundle(&[], &[], Some("hi"), BundleLimits::default(), 0).is_empty());
/// ```
pub fn bundle(
    episodes: &[&Episode],
    facts: &[&Fact],
    query: Option<&str>,
    limits: BundleLimits,
    now: i64,
) -> MemoryBundle {
    let words = |text: &str, tags: &[String]| terms(&[text, " ", &tags.join(" ")].concat());
    let query = query.map(terms).unwrap_or_default();
    let current: Vec<&Fact> = facts.iter().copied().filter(|fact| fact.superseded_by.is_none()).collect();
    let of_episodes = episodes.iter().map(|episode| words(&episode.summary, &episode.tags));
    let said: Vec<Vec<String>> = of_episodes.chain(current.iter().map(|fact| words(&fact.fact, &fact.tags))).collect();
    let weights = Weights::of(&query, &said);
    let mut ranked = Vec::with_capacity(said.len());
    for (at, words) in said.iter().enumerate() {
        let (worth, made, pinned, id) = match episodes.get(at) {
            Some(it) => (u32::from(it.salience.thousandths()), it.created_at, it.pinned, &it.id),
            None => {
                let it = current[at - episodes.len()];
                let worth = 2 * u32::from(it.salience.thousandths()) + u32::from(it.confidence.thousandths());
                (worth / 3, it.created_at, it.pinned, &it.id)
            }
        };
        let score = (5 * weights.relevance(words) + 3 * worth + 2 * recency(made, now)) / 10;
        ranked.push((pinned, score, made, id, at));
    }
    sort::sort_by(&mut ranked, |a, b| (b.0, b.1, b.2).cmp(&(a.0, a.1, a.2)).then_with(|| a.3.cmp(b.3)));
    let mut bundle = MemoryBundle::default();
    for (.., at) in ranked {
        match episodes.get(at) {
            Some(episode) if bundle.episodes.len() < limits.episodes => bundle.episodes.push((*episode).clone()),
            None if bundle.facts.len() < limits.facts => bundle.facts.push(current[at - episodes.len()].clone()),
            _ => {}
        }
    }
    bundle
}

/// 1000 for now or later, half after a week.
fn recency(made: i64, now: i64) -> u32 {
    const WEEK: i64 = 168;
    let hours = (now.saturating_sub(made) / 3_600_000).max(0);
    // From 0 to 1000.
    (1000 * WEEK / WEEK.saturating_add(hours)) as u32
}

/// The words of the input with their weights, in the order of the words.
struct Weights<'a> {
    words: Vec<(&'a str, u32)>,
    sum: u32,
    records: usize,
}

impl<'a> Weights<'a> {
    fn of(query: &'a [String], said: &[Vec<String>]) -> Self {
        let mut having = vec![0; query.len()];
        for word in said.iter().flatten() {
            if let Ok(at) = query.binary_search(word) {
                having[at] += 1;
            }
        }
        let weigh = |(word, having): (&'a String, usize)| (word.as_str(), weight(having, said.len()));
        let words: Vec<_> = query.iter().zip(having).map(weigh).collect();
        Self { sum: words.iter().map(|(_, weight)| weight).sum(), words, records: said.len() }
    }

    fn relevance(&self, words: &[String]) -> u32 {
        let known = |word: &String| self.words.binary_search_by(|(known, _)| (*known).cmp(word)).ok();
        let common: Vec<u32> = words.iter().filter_map(known).map(|at| self.words[at].1).collect();
        // A word that the input does not have is taken to be one of a kind here.
        let own = (words.len() - common.len()) as u32 * weight(1, self.records);
        let common: u32 = common.iter().sum();
        let smaller = self.sum.min(common + own);
        if smaller == 0 { 0 } else { (u64::from(common) * 1000 / u64::from(smaller)) as u32 }
    }
}

/// What a word weighs that `having` of `all` records have: 1, and 1 for each halving.
fn weight(having: usize, all: usize) -> u32 {
    1 + (all.max(1) / having.max(1)).max(1).ilog2()
}
