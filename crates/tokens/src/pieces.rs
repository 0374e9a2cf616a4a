//! How many tokens the pieces of a text take. They are looked up a block at a time, in rounds: what was found out before about
//! the same piece, which for most is in a small table that stays in the processor's own cache; then one, where the vocabulary
//! has the piece; then what encoding it gives.
//!
//! Rounds are quicker than one piece after the other, since the first two take no decision: a piece that is still unknown is
//! written to the front of the block, and one that is known is overwritten. So the processor never guesses wrong, and waits
//! for the slow memory of many pieces at a time, which is most of what counting a new text takes.

use crate::encode::Scratch;
use crate::queue::{Queue, ROOM};
use crate::table::{Key, Table, array, hash_bytes, window};
use crate::vocabulary::{Vocabulary, medium_key, short_key};

// How many pieces are remembered. Four times as many are known more often and still take longer, since they drive other tables
// out of the processor's cache.
const SHORT: usize = 1 << 12;
const MEDIUM: usize = 1 << 12;
const LONG: usize = 1 << 11;
/// The longest piece that is remembered.
const LONGEST: usize = 62;
/// As soon as there are so many pieces they are looked up together: the next ones that are found at once may be 63.
const BLOCK: usize = ROOM - 64;

/// What was learned of pieces that were met, and room to work in.
pub(crate) struct Pieces {
    /// Up to 7 bytes.
    short: Known<u64, SHORT>,
    /// Up to 15 bytes.
    medium: Known<[u64; 2], MEDIUM>,
    /// Up to [`LONGEST`] bytes: length, count, the bytes.
    long: Box<[[u8; LONGEST + 2]; LONG]>,
    /// Where the pieces of a block begin and end that have more than 7 bytes.
    longer: Box<[[usize; 2]; ROOM]>,
    /// Where the pieces of a block end.
    ends: Box<[usize; ROOM]>,
    queue: Queue,
    scratch: Scratch,
}

impl Pieces {
    pub(crate) fn new() -> Self {
        let long = array([0; LONGEST + 2]);
        Self {
            short: Known::new(),
            medium: Known::new(),
            long,
            longer: array([0; 2]),
            ends: array(0),
            queue: Queue::new(),
            scratch: Scratch::new(),
        }
    }

    pub(crate) fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }

    /// The count of a text. From a place where a piece begins, `ends` gives the ends of that piece and of those behind it: bit `n`
    /// is an end `n` bytes behind the place. Where it gives none, `next` says where that piece ends.
    #[inline(always)]
    pub(crate) fn count(
        &mut self,
        vocabulary: &Vocabulary,
        text: &[u8],
        ends: impl Fn(usize) -> u64,
        next: impl Fn(usize) -> usize,
    ) -> usize {
        let (mut at, mut count) = (0, 0);
        while at < text.len() {
            let (start, mut number) = (at, 0);
            while number < BLOCK && at < text.len() {
                let mut mask = ends(at);
                if mask == 0 {
                    at = next(at);
                    self.ends[number % ROOM] = at;
                    number += 1;
                    continue;
                }
                let first = at;
                at += mask.ilog2() as usize;
                let found = mask.count_ones() as usize;
                // Eight at a time and some too many, which the next ones overwrite: that needs fewer decisions.
                for several in (0..found).step_by(8) {
                    for place in several..several + 8 {
                        self.ends[(number + place) % ROOM] = first + mask.trailing_zeros() as usize;
                        mask &= mask.wrapping_sub(1);
                    }
                }
                number += found;
            }
            let longer = self.sort(text, start, number);
            count += self.count_longer(vocabulary, text, longer);
            count += self.count_block(vocabulary);
        }
        count
    }

    /// Puts the pieces whose ends are known where they wait for their counts; the first begins at `at`. Returns how many have
    /// more than 7 bytes.
    #[inline(never)]
    fn sort(&mut self, text: &[u8], mut at: usize, number: usize) -> usize {
        let (short, longer) = (&mut *self.short.waiting, &mut *self.longer);
        let (mut shorts, mut longers) = (0, 0);
        for place in 0..number {
            let end = self.ends[place % ROOM];
            let length = end - at;
            let is_short = length <= 7;
            short[shorts % ROOM] = short_key(window(text, at), length % 8);
            shorts += usize::from(is_short);
            longer[longers % ROOM] = [at, end];
            longers += usize::from(!is_short);
            at = end;
        }
        self.short.number = shorts;
        longers
    }

    /// The count of the first pieces in `longer`.
    #[inline(never)]
    fn count_longer(&mut self, vocabulary: &Vocabulary, text: &[u8], number: usize) -> usize {
        let mut count = 0;
        for place in 0..number {
            let [at, end] = self.longer[place % ROOM];
            if end - at <= 15 {
                self.medium.push(medium_key(text, at, end - at), true);
            } else {
                count += self.count_long(vocabulary, text, at, end);
            }
        }
        count
    }

    /// The count of the pieces of a block that have up to 15 bytes.
    #[inline(never)]
    fn count_block(&mut self, vocabulary: &Vocabulary) -> usize {
        let (short, short_strangers) = self.short.count(&vocabulary.short, vocabulary, &mut self.queue);
        let (medium, medium_strangers) = self.medium.count(&vocabulary.medium, vocabulary, &mut self.queue);
        if short_strangers + medium_strangers == 0 {
            return short + medium;
        }
        let mut counts = self.queue.encode(vocabulary.merges());
        let strangers =
            self.short.learn(short_strangers, &mut counts) + self.medium.learn(medium_strangers, &mut counts);
        short + medium + strangers
    }

    #[inline(never)]
    fn count_long(&mut self, vocabulary: &Vocabulary, text: &[u8], at: usize, end: usize) -> usize {
        let piece = text.get(at..end).unwrap_or_default();
        if vocabulary.find_long(piece).is_some() {
            return 1;
        }
        if piece.len() > LONGEST {
            return self.scratch.encode(vocabulary, text, at, end).len();
        }
        let entry = &mut self.long[(hash_bytes(piece) >> (64 - LONG.trailing_zeros())) as usize % LONG];
        let [length, count, known @ ..] = entry;
        if usize::from(*length) != piece.len() || !known.starts_with(piece) {
            // Both are at most 62.
            *length = piece.len() as u8;
            *count = self.scratch.encode(vocabulary, text, at, end).len() as u8;
            known[..piece.len()].copy_from_slice(piece);
        }
        usize::from(*count)
    }
}

/// A piece of up to 15 bytes as the key of a vocabulary's table, which leaves room for a count.
trait Piece: Key {
    /// With a count of 15 at most, for a piece without one.
    fn with_count(self, count: usize) -> Self;
    /// The piece without its count, and that count.
    fn split_count(self) -> (Self, usize);
    /// The piece's bytes, in front, and its length.
    fn bytes(self) -> (u128, usize);
}

/// Where a count is kept: in the top byte, whose lower half holds the length.
const COUNT: u32 = 60;
const LENGTH: u32 = 56;
const KEY: u64 = (1 << COUNT) - 1;

impl Piece for u64 {
    #[inline(always)]
    fn with_count(self, count: usize) -> Self {
        self | (count as u64) << COUNT
    }

    #[inline(always)]
    fn split_count(self) -> (Self, usize) {
        (self & KEY, (self >> COUNT) as usize)
    }

    fn bytes(self) -> (u128, usize) {
        (u128::from(self), (self >> LENGTH) as usize)
    }
}

impl Piece for [u64; 2] {
    #[inline(always)]
    fn with_count(self, count: usize) -> Self {
        [self[0], self[1].with_count(count)]
    }

    #[inline(always)]
    fn split_count(self) -> (Self, usize) {
        let (high, count) = self[1].split_count();
        ([self[0], high], count)
    }

    fn bytes(self) -> (u128, usize) {
        (u128::from(self[0]) | u128::from(self[1]) << 64, (self[1] >> LENGTH) as usize)
    }
}

/// Counts of the pieces that were met, for one kind of key, and those pieces of a block that wait for theirs.
struct Known<K, const N: usize> {
    /// Keys with their counts in them. A newer piece takes an older one's place.
    entries: Box<[K; N]>,
    waiting: Box<[K; ROOM]>,
    number: usize,
}

impl<K: Piece, const N: usize> Known<K, N> {
    fn new() -> Self {
        Self { entries: array(K::EMPTY), waiting: array(K::EMPTY), number: 0 }
    }

    /// Adds a piece to those that wait, if it `belongs` there.
    #[inline(always)]
    fn push(&mut self, key: K, belongs: bool) {
        self.waiting[self.number % ROOM] = key;
        self.number += usize::from(belongs);
    }

    /// The sum of what waits and is known or a token; what is neither goes on to the queue. Returns how much that is, too.
    #[inline(never)]
    fn count<const TOKENS: usize>(
        &mut self,
        tokens: &Table<K, TOKENS>,
        vocabulary: &Vocabulary,
        queue: &mut Queue,
    ) -> (usize, usize) {
        let (mut sum, mut unknown) = (0, 0);
        for place in 0..self.number {
            let key = self.waiting[place % ROOM];
            let (known, count) = self.entries[Self::place(key)].split_count();
            let is_known = known == key;
            sum += if is_known { count } else { 0 };
            self.waiting[unknown % ROOM] = key;
            unknown += usize::from(!is_known);
        }
        self.number = 0;
        let mut others = 0;
        for place in 0..unknown {
            let key = self.waiting[place % ROOM];
            let is_token = tokens.has_at_hand(key);
            let entry = &mut self.entries[Self::place(key)];
            *entry = if is_token { key.with_count(1) } else { *entry };
            sum += usize::from(is_token);
            self.waiting[others % ROOM] = key;
            others += usize::from(!is_token);
        }
        let mut strangers = 0;
        for place in 0..others {
            let key = self.waiting[place % ROOM];
            if tokens.get(key).is_some() {
                self.entries[Self::place(key)] = key.with_count(1);
                sum += 1;
            } else {
                let (bytes, length) = key.bytes();
                queue.push(vocabulary, bytes, length);
                self.waiting[strangers % ROOM] = key;
                strangers += 1;
            }
        }
        (sum, strangers)
    }

    /// Takes the counts of the first pieces that wait; returns their sum.
    fn learn(&mut self, number: usize, counts: &mut dyn Iterator<Item = usize>) -> usize {
        let mut sum = 0;
        for (place, count) in (0..number).zip(counts) {
            let key = self.waiting[place % ROOM];
            self.entries[Self::place(key)] = key.with_count(count);
            sum += count;
        }
        sum
    }

    #[inline(always)]
    fn place(key: K) -> usize {
        key.hash(N.trailing_zeros()) % N
    }
}
