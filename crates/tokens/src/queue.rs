//! Byte pair encoding of many short pieces side by side: each round merges one pair of every piece. A piece's next merge depends
//! on the one before and waits for slow memory; that of another piece does not, so that they wait together. As in `pieces`,
//! what decides is taken out of the loops: first all questions are written down, then a filter removes most of them.
//!
//! It is the encoding as it is defined: of all neighbours those that merge to the lowest rank come first. Each merge looks at all
//! pairs again, which is quick for 15 bytes and would not be for many; `encode` has longer pieces.

use crate::merges::{self, Merges};
use crate::table::array;
use crate::vocabulary::{NONE, Vocabulary};

/// How many pieces it holds.
pub(crate) const ROOM: usize = 1024;
/// A piece has one byte less at most.
const PARTS: usize = 16;
/// What stands where no part is: no merge has it.
const ABSENT: u32 = (1 << 18) - 1;

/// Pieces that are to be encoded. A part is named by the place of its first byte.
pub(crate) struct Queue {
    /// For each piece and part its token.
    tokens: Box<[[u32; PARTS]; ROOM]>,
    /// For each piece and part the token that it makes with the next part, above the part: the least is what comes first.
    pairs: Box<[[u32; PARTS]; ROOM]>,
    /// For each piece a bit for each part, and one for the end of the last.
    borders: Box<[u32; ROOM]>,
    number: usize,
    /// The pieces that still have something to merge.
    active: Box<[u16; ROOM]>,
    /// What do parts make with the next ones? The key of a merge each, and whose pair the answer is: the piece above the part.
    keys: Box<[u64; 2 * ROOM]>,
    owners: Box<[u32; 2 * ROOM]>,
}

fn pair(token: u32, part: usize) -> u32 {
    if token == NONE { NONE } else { token << 4 | part as u32 }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            tokens: array([0; PARTS]),
            pairs: array([0; PARTS]),
            borders: array(0),
            number: 0,
            active: array(0),
            keys: array(0),
            owners: array(0),
        }
    }

    /// Adds a piece of 1 to 15 bytes. There must be room.
    pub(crate) fn push(&mut self, vocabulary: &Vocabulary, bytes: u128, length: usize) {
        let piece = self.number % ROOM;
        let (tokens, pairs) = (&mut self.tokens[piece], &mut self.pairs[piece]);
        (*tokens, *pairs) = ([ABSENT; PARTS], [NONE; PARTS]);
        for part in 0..length % PARTS {
            let window = (bytes >> (8 * part)) as u64;
            tokens[part] = vocabulary.one(window as u8);
            pairs[part] = if part + 1 < length { pair(vocabulary.two(window), part) } else { NONE };
        }
        self.borders[piece] = (2 << (length % PARTS)) - 1;
        self.active[piece] = piece as u16;
        self.number += 1;
    }

    /// Encodes what was added, and hands out how many tokens each piece takes, in that order.
    #[inline(never)]
    pub(crate) fn encode(&mut self, merges: &Merges) -> impl Iterator<Item = usize> {
        let (number, mut active) = (self.number, self.number);
        while active > 0 {
            let mut asked;
            (active, asked) = self.merge_lowest(active);
            asked = self.sift(merges, asked);
            for (key, owner) in self.keys.iter().zip(self.owners.iter()).take(asked) {
                if let Some(token) = merges.find(*key) {
                    let (piece, part) = (*owner as usize / PARTS, *owner as usize % PARTS);
                    self.pairs[piece % ROOM][part] = pair(token, part);
                }
            }
        }
        self.number = 0;
        self.borders[..number].iter().map(|borders| borders.count_ones() as usize - 1)
    }

    /// Merges the lowest pair of each active piece. Returns how many stay active, and how many questions there are.
    #[inline(never)]
    fn merge_lowest(&mut self, active: usize) -> (usize, usize) {
        let (mut stay, mut asked) = (0, 0);
        for place in 0..active {
            let piece = self.active[place % ROOM];
            let (tokens, pairs) =
                (&mut self.tokens[usize::from(piece) % ROOM], &mut self.pairs[usize::from(piece) % ROOM]);
            let lowest = pairs.iter().fold(NONE, |lowest, pair| lowest.min(*pair));
            if lowest == NONE {
                continue;
            }
            self.active[stay % ROOM] = piece;
            stay += 1;
            let (token, part) = (lowest >> 4, (lowest % 16) as usize);
            let borders = self.borders[usize::from(piece) % ROOM];
            let behind = borders & (!1 << part);
            let after = behind & behind.wrapping_sub(1);
            let gone = behind.trailing_zeros() as usize % PARTS;
            let after = after.trailing_zeros() as usize % PARTS;
            // The last place when there is none: it holds no part.
            let before = (31_u32.wrapping_sub((borders & !(!0 << part)).leading_zeros())) as usize % PARTS;
            self.borders[usize::from(piece) % ROOM] = borders & !(1 << gone);
            tokens[part] = token;
            pairs[gone] = NONE;
            pairs[part] = NONE;
            pairs[before] = NONE;
            let keys = [merges::key(token, tokens[after]), merges::key(tokens[before], token)];
            let neighbours = [tokens[after], tokens[before]];
            for ((key, part), neighbour) in keys.into_iter().zip([part, before]).zip(neighbours) {
                self.keys[asked % (2 * ROOM)] = key;
                self.owners[asked % (2 * ROOM)] = u32::from(piece) * PARTS as u32 + part as u32;
                asked += usize::from(neighbour != ABSENT);
            }
        }
        (stay, asked)
    }

    /// Keeps the questions that may have an answer, in front; returns how many.
    #[inline(never)]
    fn sift(&mut self, merges: &Merges, asked: usize) -> usize {
        let mut kept = 0;
        for place in 0..asked {
            let (key, owner) = (self.keys[place % (2 * ROOM)], self.owners[place % (2 * ROOM)]);
            (self.keys[kept % (2 * ROOM)], self.owners[kept % (2 * ROOM)]) = (key, owner);
            kept += usize::from(merges.may_have(key));
        }
        kept
    }
}
