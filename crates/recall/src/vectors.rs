//! Vectors beside the index: what a model makes of documents, so that those that mean the same are near each other. Goes in:
//! vectors as signed bytes, in blocks of one owner's each. Comes out: the documents nearest to a query's vector, by the
//! cosine of the angle between them, and the documents that have no vector yet. Who makes vectors, and where blocks are
//! stored, is the caller's business.

use crate::bits::{Bytes, put};
use crate::context::NONE;
use crate::find::{Filter, Found};
use crate::index::Index;
use crate::query::Query;
use crate::segment::{Damaged, Doc};
use threadkeep_core::sort;

const MAGIC: &[u8] = b"TKV1";
/// The most numbers of a vector.
pub const LONGEST_VECTOR: usize = 16_384;

/// Vectors of some documents of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// Whose documents they are.
    pub owner: String,
    /// What made them: vectors of different models have nothing to do with each other.
    pub model: String,
    /// How many numbers a vector has.
    pub length: usize,
    /// Where the documents are: sequence number and place.
    pub places: Vec<(u64, u32)>,
    /// Their vectors, one behind the other, each number as a signed byte.
    pub values: Vec<u8>,
}

impl Block {
    /// Reads what [`Block::write`] writes.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn read(bytes: &[u8]) -> Result<Self, Damaged> {
        Self::parse(bytes).ok_or(Damaged)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Bytes { rest: bytes.strip_prefix(MAGIC)? };
        let mut text = || {
            let length = reader.small()? as usize;
            String::from_utf8(reader.take(length)?.to_vec()).ok()
        };
        let (owner, model) = (text()?, text()?);
        let length = reader.small()? as usize;
        let mut places = Vec::new();
        for _ in 0..reader.small()? {
            places.push((reader.number()?, reader.small()?));
        }
        let fits = (1..=LONGEST_VECTOR).contains(&length) && reader.rest.len() == length.checked_mul(places.len())?;
        fits.then(|| Self { owner, model, length, places, values: reader.rest.to_vec() })
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for text in [&self.owner, &self.model] {
            put(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        put(&mut out, self.length as u64);
        put(&mut out, self.places.len() as u64);
        for (seq, index) in &self.places {
            put(&mut out, *seq);
            put(&mut out, u64::from(*index));
        }
        out.extend_from_slice(&self.values);
        out
    }
}

impl Index {
    /// For each vector of `blocks`, in their order, the number of its document, which is [`crate::NO_DOC`] where there is none. Good
    /// until the index or the blocks change.
    pub fn line_up<'a>(&self, blocks: impl IntoIterator<Item = &'a Block>) -> Vec<u32> {
        let mut known: Vec<(&str, u64, u32, u32)> = Vec::with_capacity(self.docs());
        for (segment, base) in self.segments().iter().zip(&self.bases) {
            for (doc, number) in segment.docs().iter().zip(*base..) {
                known.push((segment.owners()[doc.owner as usize].as_str(), doc.seq, doc.index, number));
            }
        }
        sort::sort(&mut known);
        let mut numbers = Vec::new();
        for block in blocks {
            for (seq, index) in &block.places {
                let place = (block.owner.as_str(), *seq, *index);
                let found = known.binary_search_by(|(owner, seq, index, _)| (*owner, *seq, *index).cmp(&place));
                numbers.push(found.map_or(NONE, |at| known[at].3));
            }
        }
        numbers
    }

    /// The documents with words that none of `lined` (from [`Index::line_up`]) is of, those that were added last first, and
    /// how many there are; `most` are listed. Only those for which `wanted` holds.
    pub fn without_vector(
        &self,
        lined: &[u32],
        most: usize,
        wanted: &dyn Fn(&Doc) -> bool,
    ) -> (Vec<(&str, Doc)>, usize) {
        let mut has = vec![false; self.docs()];
        lined.iter().filter(|number| **number != NONE).for_each(|number| has[*number as usize] = true);
        let (mut listed, mut count) = (Vec::new(), 0);
        for (segment, base) in self.segments().iter().zip(&self.bases).rev() {
            for (at, doc) in segment.docs().iter().enumerate().rev() {
                if doc.words > 0 && !has[*base as usize + at] && wanted(doc) {
                    count += 1;
                    if listed.len() < most {
                        listed.push((segment.owners()[doc.owner as usize].as_str(), *doc));
                    }
                }
            }
        }
        (listed, count)
    }

    /// The documents nearest to `vector`, at most `limit`, the nearest first; those at a right angle or beyond are left out, and
    /// those that `query` does not allow (its phrases, beginnings and exclusions). `lined` is [`Index::line_up`] of these
    /// blocks. Blocks of vectors of another length are passed over.
    pub fn nearest<'a>(
        &self,
        blocks: impl IntoIterator<Item = &'a Block>,
        lined: &[u32],
        vector: &[i8],
        query: &Query,
        filter: &Filter<'_>,
        limit: usize,
    ) -> Vec<Found<'_>> {
        let mut open = vec![true; self.docs()];
        self.demand(query, &mut open);
        self.pass(filter, &mut open);
        let own = product(vector, vector).max(1) as f32;
        let mut best: Vec<(f32, u32)> = Vec::new();
        let mut lined = lined.iter();
        for block in blocks {
            let numbers = lined.by_ref().take(block.places.len());
            if block.length != vector.len() {
                numbers.for_each(drop);
                continue;
            }
            for (values, number) in block.values.chunks_exact(block.length).zip(numbers) {
                if *number == NONE || !open[*number as usize] {
                    continue;
                }
                let (mut dot, mut square) = (0i32, 1i32);
                for (a, b) in values.iter().zip(vector) {
                    let a = i32::from(*a as i8);
                    dot += a * i32::from(*b);
                    square += a * a;
                }
                if dot > 0 {
                    // The square root is exact on every platform.
                    best.push((dot as f32 / (square as f32 * own).sqrt(), *number));
                }
            }
        }
        self.best(best, limit)
    }
}

fn product(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// What a document counts that is nearest in meaning, where the best one by words counts 1. A greater share gained up to 5 points on long
/// messages, and lost up to 3 on short ones: this one lost nowhere. docs/dev/search.md has the figures.
const MEANING: f32 = 0.1;

/// One ranking of two, by words and by vectors: the sum of both scores, those of each list brought to a scale from 0 to 1. Scores stay those
/// of words where there are any: the best by words alone keeps its own. Of equal sums the one that comes first by words is first.
pub fn fuse<'a>(words: Vec<Found<'a>>, near: Vec<Found<'a>>, limit: usize) -> Vec<Found<'a>> {
    let best = words.first().map_or(1.0, |found| found.score);
    // The cosines of a model may all be high: the last of the list is the zero.
    let (high, low) = (near.first().map_or(1.0, |found| found.score), near.last().map_or(0.0, |found| found.score));
    let mut fused = words;
    for mut found in near {
        let share = if high > low { (found.score - low) / (high - low) } else { 1.0 };
        let (score, meaning) = (best * MEANING * share, found.score.clamp(0.0, 1.0));
        let same = |other: &&mut Found<'a>| {
            (other.owner, other.doc.seq, other.doc.index) == (found.owner, found.doc.seq, found.doc.index)
        };
        match fused.iter_mut().find(same) {
            Some(known) => {
                known.score += score;
                known.why.meaning = meaning;
            }
            None => {
                found.score = score;
                found.why.meaning = meaning;
                fused.push(found);
            }
        }
    }
    fused.retain(|found| found.score > 0.0);
    // Stable, so that what came first stays first.
    sort::sort_by(&mut fused, |a, b| b.score.total_cmp(&a.score));
    fused.truncate(limit);
    fused
}
