//! Which lengths the tokens have that begin like a text: what looking for the longest one asks for. It is made when it is
//! first asked for, so that loading a vocabulary is quick.

use crate::table::{array, first, hash};

/// The longest token of either encoding.
pub(crate) const LONGEST: usize = 128;
/// The longest token whose length has a bit of its own in `by_six`; the bit above stands for all longer ones.
const COMMON: usize = 20;

const THREE_BITS: u32 = 16;
const SIX_BITS: u32 = 17;

/// By the first bytes of tokens their lengths.
pub(crate) struct Lengths {
    /// Bit `n`: there may be tokens of `n` bytes that begin with these three; for 3 to 5 bytes.
    by_three: Box<[u8; 1 << THREE_BITS]>,
    /// Bit `n - 6`: there may be tokens of `n` bytes that begin with these six.
    by_six: Box<[u16; 1 << SIX_BITS]>,
    /// The lengths above [`COMMON`] that occur, longest first.
    rare: Vec<u8>,
}

impl Lengths {
    /// From the first eight bytes and the length of each token.
    pub(crate) fn new(tokens: impl Iterator<Item = (u64, usize)>) -> Self {
        let mut lengths = Self { by_three: array(0), by_six: array(0), rare: Vec::new() };
        let mut rare = [false; LONGEST + 1];
        for (window, length) in tokens {
            lengths.insert(window, length);
            rare[length % rare.len()] |= length > COMMON;
        }
        lengths.rare = (0..=LONGEST as u8).rev().filter(|length| rare[usize::from(*length)]).collect();
        lengths
    }

    /// (A function of its own for the reason that [`crate::merges`] gives.)
    #[inline(never)]
    fn insert(&mut self, window: u64, length: usize) {
        match length {
            0..=2 => {}
            3..=5 => self.by_three[hash(first(window, 3), THREE_BITS)] |= 1 << length,
            _ => self.by_six[hash(first(window, 6), SIX_BITS)] |= 1 << (length.min(COMMON + 1) - 6),
        }
    }

    /// For 3 to 5 bytes, `room` at most, a bit for each length that a token may have which begins like the window.
    #[inline(always)]
    pub(crate) fn few(&self, window: u64, room: usize) -> u32 {
        if room < 3 {
            return 0;
        }
        u32::from(self.by_three[hash(first(window, 3), THREE_BITS)]) & ((2 << room.min(5)) - 1)
    }

    /// For 6 bytes to [`COMMON`], likewise, 6 being the lowest bit; and whether there may be longer ones.
    #[inline(always)]
    pub(crate) fn many(&self, window: u64, room: usize) -> (u32, bool) {
        if room < 6 {
            return (0, false);
        }
        let lengths = u32::from(self.by_six[hash(first(window, 6), SIX_BITS)]);
        (lengths & ((2 << (room.min(COMMON) - 6)) - 1), lengths >> (COMMON + 1 - 6) != 0)
    }

    /// The lengths above [`COMMON`] that occur, longest first.
    pub(crate) fn rare(&self) -> impl Iterator<Item = usize> {
        self.rare.iter().map(|length| usize::from(*length))
    }
}
