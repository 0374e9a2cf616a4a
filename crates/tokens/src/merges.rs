//! Which two tokens merge to which: what encoding a piece asks for that is no token. It is made when it is first asked for,
//! so that loading a vocabulary is quick.

use crate::table::{array, hash};

const PLACE_BITS: u32 = 18;
const FILTER_BITS: u32 = 21;

/// All merges of a vocabulary.
pub(crate) struct Merges {
    /// The two ranks, plus one, above the rank that they merge to.
    places: Box<[u64; 1 << PLACE_BITS]>,
    /// A bit for the hash of each key in `places`. Most of what is asked for is not there, and this is small enough to say so
    /// without a look into slow memory.
    filter: Box<[u64; 1 << (FILTER_BITS - 6)]>,
}

/// The name of a merge of two tokens.
#[inline(always)]
pub(crate) fn key(left: u32, right: u32) -> u64 {
    (u64::from(left) << 18 | u64::from(right)) + 1
}

impl Merges {
    /// From the two halves of each token; a single byte is its own halves.
    pub(crate) fn new(halves: &[[u32; 2]]) -> Self {
        let mut merges = Self { places: array(0), filter: array(0) };
        for (token, &[left, right]) in (0..).zip(halves).skip(256) {
            merges.insert(key(left, right), token);
        }
        merges
    }

    /// (A function of its own so that a browser's compiler can make it quick while it is being called: it exchanges
    /// functions, not loops that run.)
    #[inline(never)]
    fn insert(&mut self, key: u64, token: u32) {
        let spot = hash(key, FILTER_BITS) % (1 << FILTER_BITS);
        self.filter[spot / 64] |= 1 << (spot % 64);
        let mut place = spot >> (FILTER_BITS - PLACE_BITS);
        while self.places[place] != 0 {
            place = (place + 1) % self.places.len();
        }
        self.places[place] = key << 18 | u64::from(token);
    }

    /// The token that two merge to.
    #[inline(always)]
    pub(crate) fn merged(&self, left: u32, right: u32) -> Option<u32> {
        let key = key(left, right);
        let spot = hash(key, FILTER_BITS) % (1 << FILTER_BITS);
        if self.filter[spot / 64] >> (spot % 64) & 1 != 0 { self.find(key) } else { None }
    }

    /// Whether there may be a merge of that [`key`]; often there is none then. It takes no decision, and it looks at the merges as
    /// well as at the filter, so that the memory of many questions, and of [`Self::find`] after them, is waited for at once.
    #[inline(always)]
    pub(crate) fn may_have(&self, key: u64) -> bool {
        let spot = hash(key, FILTER_BITS) % (1 << FILTER_BITS);
        (self.filter[spot / 64] >> (spot % 64) & 1 != 0) & (self.places[spot >> (FILTER_BITS - PLACE_BITS)] != 0)
    }

    /// The token that the two of a [`key`] merge to.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let mut place = hash(key, PLACE_BITS);
        loop {
            let entry = self.places[place % self.places.len()];
            if entry >> 18 == key {
                return Some((entry & 0x3_FFFF) as u32);
            }
            if entry == 0 {
                return None;
            }
            place += 1;
        }
    }
}
