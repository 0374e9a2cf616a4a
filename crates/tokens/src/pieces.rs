//! How many tokens one piece of text takes: what was found out before about the same piece, which for most is in a small
//! table that stays in the processor's own cache; else one, when the vocabulary has the piece; else what encoding it gives.

use crate::encode::Scratch;
use crate::table::{array, hash, hash_bytes, hash_two, window};
use crate::vocabulary::{NONE, Vocabulary, medium_key, short_key};

const SHORT: usize = 1 << 13;
const MEDIUM: usize = 1 << 12;
const LONG: usize = 1 << 12;
/// The longest piece that is remembered.
const LONGEST: usize = 62;
/// Where a count of at most 15 is kept in the top byte of a key, whose lower half holds the length.
const COUNT: u32 = 60;
const KEY: u64 = (1 << COUNT) - 1;

/// Counts of pieces that were met. A newer piece takes an older one's place.
pub(crate) struct Cache {
    /// Up to 7 bytes: the key of the vocabulary's table with the count in it.
    short: Box<[u64; SHORT]>,
    /// Up to 15 bytes, likewise.
    medium: Box<[[u64; 2]; MEDIUM]>,
    /// Up to 62 bytes: length, count, the bytes.
    long: Box<[[u8; LONGEST + 2]; LONG]>,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self { short: array(0), medium: array([0; 2]), long: array([0; LONGEST + 2]) }
    }
}

/// The count of the piece `text[at..end]`, which must not be empty.
#[inline(always)]
pub(crate) fn count(
    vocabulary: &Vocabulary,
    cache: &mut Cache,
    scratch: &mut Scratch,
    text: &[u8],
    at: usize,
    end: usize,
) -> usize {
    match end - at {
        length @ 0..=7 => {
            let key = short_key(window(text, at), length);
            let entry = &mut cache.short[hash(key, SHORT.trailing_zeros()) % SHORT];
            if *entry & KEY != key {
                let count = if vocabulary.has_short(key) { 1 } else { merge(vocabulary, text, at, end) };
                *entry = key | (count as u64) << COUNT;
            }
            (*entry >> COUNT) as usize
        }
        length @ 8..=15 => {
            let key = medium_key(text, at, length);
            let entry = &mut cache.medium[hash_two(key, MEDIUM.trailing_zeros()) % MEDIUM];
            if entry[0] != key[0] || entry[1] & KEY != key[1] {
                let count = if vocabulary.has_medium(key) { 1 } else { merge(vocabulary, text, at, end) };
                *entry = [key[0], key[1] | (count as u64) << COUNT];
            }
            (entry[1] >> COUNT) as usize
        }
        _ => count_long(vocabulary, cache, scratch, text, at, end),
    }
}

/// How many tokens a piece of 2 to 15 bytes takes, by merging as the encoding is defined: the pair of neighbours of the
/// lowest rank first. For so few bytes that is quicker than the linear way, since it looks into small tables only.
#[inline(never)]
fn merge(vocabulary: &Vocabulary, text: &[u8], at: usize, end: usize) -> usize {
    let length = (end - at) % 16;
    // A bit for each place at which a part begins, and one for the end of the last.
    let mut borders: u32 = (2 << length) - 1;
    let next = |borders: u32, part: usize| part + 1 + (borders >> (part + 1)).trailing_zeros() as usize;
    let rank = |from: usize, to: usize| vocabulary.rank(text, at + from, at + to);
    // By the place of a part the rank of what it makes with the next one.
    let mut ranks: [u32; 16] = std::array::from_fn(|part| if part + 2 <= length { rank(part, part + 2) } else { NONE });
    loop {
        let (mut best, mut lowest) = (0, NONE);
        for (part, rank) in ranks.iter().enumerate().take(length) {
            if *rank < lowest {
                (best, lowest) = (part, *rank);
            }
        }
        if lowest == NONE {
            return borders.count_ones() as usize - 1;
        }
        let gone = next(borders, best);
        borders &= !(1 << gone);
        ranks[gone % 16] = NONE;
        let end = next(borders, best);
        ranks[best] = if end < length { rank(best, next(borders, end)) } else { NONE };
        let before = borders & ((1 << best) - 1);
        if before != 0 {
            let before = before.ilog2() as usize;
            ranks[before % 16] = rank(before, end);
        }
    }
}

#[inline(never)]
fn count_long(
    vocabulary: &Vocabulary,
    cache: &mut Cache,
    scratch: &mut Scratch,
    text: &[u8],
    at: usize,
    end: usize,
) -> usize {
    let piece = text.get(at..end).unwrap_or_default();
    if vocabulary.find_long(piece).is_some() {
        return 1;
    }
    if piece.len() > LONGEST {
        return scratch.encode(vocabulary, text, at, end).len();
    }
    let entry = &mut cache.long[(hash_bytes(piece) >> (64 - LONG.trailing_zeros())) as usize % LONG];
    let [length, count, known @ ..] = entry;
    if usize::from(*length) != piece.len() || !known.starts_with(piece) {
        // Both are at most 62.
        *length = piece.len() as u8;
        *count = scratch.encode(vocabulary, text, at, end).len() as u8;
        known[..piece.len()].copy_from_slice(piece);
    }
    usize::from(*count)
}
