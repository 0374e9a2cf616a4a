//! Byte pair encoding of one piece, in linear time: the longest token that fits is taken, again and again; where two
//! neighbours could not stand side by side, a shorter one is tried, and what leads nowhere is not tried twice.
//! The method is that of the MIT crate `bpe` (GitHub, rust-gems); see its account of why the outcome is the encoding.

use crate::table::{array, hash};
use crate::vocabulary::Vocabulary;

const REMEMBERED: usize = 1 << 15;

/// Room to work in, kept from piece to piece.
pub(crate) struct Scratch {
    tokens: Vec<u32>,
    /// A bit for each place in the piece that no encoding goes on from.
    dead: Vec<u64>,
    /// What [`Vocabulary::can_adjoin`] has said of two tokens, in the lowest bit below the two.
    remembered: Box<[u64; REMEMBERED]>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { tokens: Vec::new(), dead: Vec::new(), remembered: array(0) }
    }

    /// The tokens of the piece `text[at..end]`, which must not be empty.
    pub(crate) fn encode(&mut self, vocabulary: &Vocabulary, text: &[u8], at: usize, end: usize) -> &[u32] {
        self.tokens.clear();
        self.dead.clear();
        let mut place = at;
        let mut token = vocabulary.longest(text, at, end);
        loop {
            let next = place + vocabulary.length(token);
            let last = self.tokens.last().copied();
            if self.is_alive(next - at) && last.is_none_or(|last| self.can_adjoin(vocabulary, last, token)) {
                self.tokens.push(token);
                if next >= end {
                    return &self.tokens;
                }
                place = next;
                token = vocabulary.longest(text, place, end);
            } else if let Some(shorter) = vocabulary.shorter(token) {
                token = shorter;
            } else {
                // Nothing that begins here works, so something else must end here than what did.
                self.bury(place - at, end - at);
                let Some(last) = self.tokens.pop() else {
                    // Every piece has an encoding; a vocabulary that passed its checksum cannot lead here.
                    debug_assert!(false, "a piece without an encoding");
                    return &self.tokens;
                };
                place -= vocabulary.length(last);
                token = last;
            }
        }
    }

    #[inline(always)]
    fn is_alive(&self, offset: usize) -> bool {
        self.dead.get(offset / 64).is_none_or(|bits| bits >> (offset % 64) & 1 == 0)
    }

    #[cold]
    fn bury(&mut self, offset: usize, length: usize) {
        if self.dead.is_empty() {
            self.dead.resize(length / 64 + 1, 0);
        }
        if let Some(bits) = self.dead.get_mut(offset / 64) {
            *bits |= 1 << (offset % 64);
        }
    }

    #[inline(always)]
    fn can_adjoin(&mut self, vocabulary: &Vocabulary, left: u32, right: u32) -> bool {
        let key = (u64::from(left) << 18 | u64::from(right)) + 1;
        let entry = &mut self.remembered[hash(key, REMEMBERED.trailing_zeros()) % REMEMBERED];
        if *entry >> 1 != key {
            *entry = key << 1 | u64::from(vocabulary.can_adjoin(left, right));
        }
        *entry & 1 != 0
    }
}
