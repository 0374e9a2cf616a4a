//! A vocabulary in memory: tokens by their bytes, bytes by token, and how each token is merged from two.
//!
//! The asset holds, for an encoding with `n` tokens, the 256 single bytes in the order of their ranks; then for every other
//! token, by rank, the ranks of the two tokens whose merge it is: all low bytes of the left ranks, all middle bytes, all
//! high bytes, and the same for the right ranks (planes pack better than records); then the tables of
//! [`Classes`]. It is made by `cargo xtask vocabulary`.

use std::sync::OnceLock;

use crate::Encoding;
use crate::classes::Classes;
use crate::lengths::{LONGEST, Lengths};
use crate::merges::Merges;
use crate::table::{Table, array, first, hash_bytes, window};

/// Why a vocabulary was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not the length that the asset of this encoding has: cut off, still packed, or of another encoding.
    #[error("the vocabulary of {encoding} has {found} bytes, which is not its length")]
    Length {
        /// The encoding's name.
        encoding: &'static str,
        /// How many bytes there were.
        found: usize,
    },
    /// The length is right and the content is not.
    #[error("the vocabulary is damaged")]
    Damaged,
}

/// No token.
pub(crate) const NONE: u32 = u32::MAX;

/// A vocabulary's tables. A token is named by its rank.
pub(crate) struct Vocabulary {
    /// The bytes of all tokens, one behind the other, and where each begins; one entry more for the end.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// The two tokens that each is merged from; a single byte is its own halves.
    halves: Vec<[u32; 2]>,
    one: Box<[u32; 256]>,
    two: Box<[u32; 0x1_0000]>,
    /// Up to 7 bytes: the bytes with the length in the top byte.
    pub(crate) short: Table<u64, { 1 << 18 }>,
    /// Up to 15 bytes, likewise.
    pub(crate) medium: Table<[u64; 2], { 1 << 17 }>,
    /// Longer ones by the hash of their bytes.
    long: Table<u64, { 1 << 14 }>,
    merges: OnceLock<Merges>,
    lengths: OnceLock<Lengths>,
}

/// The key of up to 7 bytes.
#[inline(always)]
pub(crate) fn short_key(low: u64, length: usize) -> u64 {
    low & ((1 << (8 * length)) - 1) | (length as u64) << 56
}

/// The key of 8 to 15 bytes at `at`.
#[inline(always)]
pub(crate) fn medium_key(text: &[u8], at: usize, length: usize) -> [u64; 2] {
    let high = if length == 8 { 0 } else { first(window(text, at + 8), length - 8) };
    [window(text, at), high | (length as u64) << 56]
}

/// The key in `long`, which must not be zero.
#[inline]
fn long_key(bytes: &[u8]) -> u64 {
    hash_bytes(bytes) | 1
}

/// Reads an asset.
///
/// # Errors
/// It is not that encoding's asset, byte by byte (as far as a 64-bit checksum tells).
pub(crate) fn read(encoding: Encoding, asset: &[u8]) -> Result<(Vocabulary, Classes), LoadError> {
    let merges = encoding.len() - 256;
    let wrong_length = LoadError::Length { encoding: encoding.name(), found: asset.len() };
    let (singles, rest) = asset.split_first_chunk::<256>().ok_or(wrong_length)?;
    let (planes, classes) = rest.split_at_checked(6 * merges).ok_or(wrong_length)?;
    let classes = Classes::read(classes).ok_or(wrong_length)?;
    if checksum(asset) != encoding.checksum() {
        return Err(LoadError::Damaged);
    }
    let mut vocabulary = Vocabulary::of_bytes(singles, encoding.len());
    let plane = |number: usize| planes.get(number * merges..(number + 1) * merges).unwrap_or_default();
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(plane);
    let number = |low: u8, middle: u8, high: u8| u32::from_le_bytes([low, middle, high, 0]);
    let left = a.iter().zip(b).zip(c).map(|((low, middle), high)| number(*low, *middle, *high));
    let right = d.iter().zip(e).zip(f).map(|((low, middle), high)| number(*low, *middle, *high));
    for (left, right) in left.zip(right) {
        vocabulary.merge(left, right).ok_or(LoadError::Damaged)?;
    }
    vocabulary.index();
    Ok((vocabulary, classes))
}

/// The checksum by which an asset is known: quick, and no defence against malice.
pub fn checksum(bytes: &[u8]) -> u64 {
    hash_bytes(bytes)
}

impl Vocabulary {
    /// The tokens of one byte, in that order.
    fn of_bytes(singles: &[u8; 256], capacity: usize) -> Self {
        let mut starts = Vec::with_capacity(capacity + 1);
        starts.extend(0..=256);
        let mut halves = Vec::with_capacity(capacity);
        halves.extend((0..256).map(|token| [token; 2]));
        let mut bytes = Vec::with_capacity(capacity * 7);
        bytes.extend_from_slice(singles);
        Self {
            bytes,
            starts,
            halves,
            one: array(NONE),
            two: array(NONE),
            short: Table::new(),
            medium: Table::new(),
            long: Table::new(),
            merges: OnceLock::new(),
            lengths: OnceLock::new(),
        }
    }

    /// Adds the token of the next rank; `None` when its halves are not there yet, or it gets too long.
    #[inline(never)]
    fn merge(&mut self, left: u32, right: u32) -> Option<()> {
        let start = *self.starts.last()? as usize;
        let end = self.append(start, self.range(left)?);
        let end = self.append(end, self.range(right)?);
        if end - start > LONGEST {
            return None;
        }
        self.starts.push(u32::try_from(end).ok()?);
        self.halves.push([left, right]);
        Some(())
    }

    /// Copies bytes of earlier tokens to `end`, and returns the new end. Eight at a time, since most are fewer, and a call for
    /// each copy costs more than what is written too much (the next token overwrites it).
    #[inline]
    fn append(&mut self, end: usize, from: std::ops::Range<usize>) -> usize {
        for offset in (0..from.len()).step_by(8) {
            let copied = window(&self.bytes, from.start + offset).to_le_bytes();
            let to = end + offset;
            if self.bytes.len() < to + 8 {
                self.bytes.resize(2 * to + 8, 0);
            }
            if let Some(place) = self.bytes.get_mut(to..to + 8) {
                place.copy_from_slice(&copied);
            }
        }
        end + from.len()
    }

    /// Fills the tables that find tokens by their bytes.
    fn index(&mut self) {
        self.bytes.truncate(self.starts.last().map_or(0, |end| *end as usize));
        for token in 0..self.halves.len() as u32 {
            self.index_one(token);
        }
    }

    /// Puts one token into the tables. (As [`Self::merge`], it is a function of its own so that a browser's
    /// compiler can make it quick while the vocabulary is being loaded: it exchanges functions, not loops that run.)
    #[inline(never)]
    fn index_one(&mut self, token: u32) {
        let Some(range) = self.range(token) else { return };
        let (start, length) = (range.start, range.len());
        let low = window(&self.bytes, start);
        match length {
            1 => self.one[(low & 0xFF) as usize] = token,
            2 => self.two[(low & 0xFFFF) as usize] = token,
            _ => {}
        }
        match length {
            0..=7 => self.short.insert(short_key(low, length), token),
            8..=15 => self.medium.insert(medium_key(&self.bytes, start, length), token),
            _ => self.long.insert(long_key(&self.bytes[range]), token),
        }
    }

    fn range(&self, token: u32) -> Option<std::ops::Range<usize>> {
        let token = token as usize;
        Some(*self.starts.get(token)? as usize..*self.starts.get(token + 1)? as usize)
    }

    /// How many bytes a token has.
    #[inline(always)]
    pub(crate) fn length(&self, token: u32) -> usize {
        self.range(token).map_or(0, |range| range.len())
    }

    /// The token that `text[at..end]` is.
    #[inline]
    pub(crate) fn find(&self, text: &[u8], at: usize, end: usize) -> Option<u32> {
        self.find_from(text, at, end - at, window(text, at))
    }

    /// As [`Self::find`], with the window at `at` at hand.
    #[inline(always)]
    fn find_from(&self, text: &[u8], at: usize, length: usize, low: u64) -> Option<u32> {
        match length {
            0 => None,
            1..=7 => self.short.get(short_key(low, length)),
            8..=15 => self.medium.get(medium_key(text, at, length)),
            _ => self.find_long(text.get(at..at + length)?),
        }
    }

    /// The token of 16 bytes or more that these are.
    pub(crate) fn find_long(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > LONGEST {
            return None;
        }
        let token = self.long.get(long_key(bytes))?;
        (self.bytes.get(self.range(token)?) == Some(bytes)).then_some(token)
    }

    /// All merges, made at the first call.
    pub(crate) fn merges(&self) -> &Merges {
        self.merges.get_or_init(|| Merges::new(&self.halves))
    }

    fn lengths(&self) -> &Lengths {
        let token = |range: &[u32]| (window(&self.bytes, range[0] as usize), (range[1] - range[0]) as usize);
        self.lengths.get_or_init(|| Lengths::new(self.starts.windows(2).map(token)))
    }

    /// The token of one byte.
    #[inline(always)]
    pub(crate) fn one(&self, byte: u8) -> u32 {
        self.one[usize::from(byte)]
    }

    /// The token of the first two bytes of a window, or [`NONE`].
    #[inline(always)]
    pub(crate) fn two(&self, window: u64) -> u32 {
        self.two[(window & 0xFFFF) as usize]
    }

    /// The longest token that `text[at..end]` begins with; the range must not be empty.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8], at: usize, end: usize) -> u32 {
        let (low, room, lengths) = (window(text, at), end - at, self.lengths());
        let (mut many, rare) = lengths.many(low, room);
        if rare && let Some(token) = self.longest_rare(text, at, room) {
            return token;
        }
        while many != 0 {
            let bit = many.ilog2();
            if let Some(token) = self.find_from(text, at, bit as usize + 6, low) {
                return token;
            }
            many ^= 1 << bit;
        }
        let mut few = lengths.few(low, room);
        while few != 0 {
            let length = few.ilog2();
            if let Some(token) = self.short.get(short_key(low, length as usize)) {
                return token;
            }
            few ^= 1 << length;
        }
        match self.two(low) {
            token if room >= 2 && token != NONE => token,
            _ => self.one((low & 0xFF) as u8),
        }
    }

    /// The longest token of a rare length.
    #[inline(never)]
    fn longest_rare(&self, text: &[u8], at: usize, room: usize) -> Option<u32> {
        let lengths = self.lengths().rare().filter(|length| *length <= room);
        lengths.filter_map(|length| self.find_long(text.get(at..at + length)?)).next()
    }

    /// The longest token that `token` begins with, itself aside; `None` for a single byte.
    #[inline]
    pub(crate) fn shorter(&self, token: u32) -> Option<u32> {
        let range = self.range(token)?;
        (range.len() > 1).then(|| self.longest(&self.bytes, range.start, range.end - 1))
    }

    /// Whether byte pair encoding can leave `left` and `right` side by side: undoes their merges, latest first, and looks
    /// at each step for a merge across the border that would have come before.
    pub(crate) fn can_adjoin(&self, mut left: u32, mut right: u32) -> bool {
        // Merges of this rank and above come too late to matter.
        let mut limit = NONE;
        let merges = self.merges();
        loop {
            if merges.merged(left, right).is_some_and(|token| token < limit) {
                return false;
            }
            // The later of the two merges is undone; of equal ones the right, since merging goes from left to right. A
            // single byte cannot be undone, so the other side's turn comes; when both are bytes, nothing was found.
            let halves = |token: u32| self.halves.get(token as usize).copied().unwrap_or([token; 2]);
            let (left_half, right_half) = (halves(left)[1], halves(right)[0]);
            let undo_left = if left > right { left_half != left } else { right_half == right };
            if undo_left {
                if left_half == left {
                    return true;
                }
                (limit, left) = (left, left_half);
            } else {
                if right_half == right {
                    return true;
                }
                (limit, right) = (right + 1, right_half);
            }
        }
    }
}
