//! The words of the material: how rare each is, and how often it was already said by what was chosen.

use super::words::{DIGIT, PAIR, Word};

/// No statement, no message.
pub(super) const NONE: u32 = u32::MAX;

/// One word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    hash: u32,
    /// In how many messages it is.
    pub messages: u32,
    last: u32,
    /// How often it is there.
    pub count: u32,
    /// In how many chosen statements it is.
    pub said: u32,
    /// The statement that was chosen last with it.
    pub picked: u32,
    /// How much it tells.
    pub weight: u32,
    /// Where it was first: the unit, and where in its text.
    pub first: (u32, u32, u32),
    /// What it is like.
    pub like: u8,
}

/// All words: a table of hashes with open addresses.
#[derive(Default)]
pub(super) struct Lexicon {
    table: Vec<u32>,
    /// The words, in the order in which they came.
    pub entries: Vec<Entry>,
}

impl Lexicon {
    /// The number of a word, which is in that message and that unit.
    pub fn add(&mut self, word: &Word, message: u32, unit: u32) -> u32 {
        if self.table.len() <= self.entries.len() * 2 {
            self.grow();
        }
        let place = self.place(word.stem);
        let number = match self.table[place] {
            NONE => {
                let number = self.entries.len() as u32;
                self.table[place] = number;
                let first = (unit, word.at.0 as u32, word.at.1 as u32);
                self.entries.push(Entry {
                    hash: word.stem,
                    messages: 0,
                    last: NONE,
                    count: 0,
                    said: 0,
                    picked: NONE,
                    weight: 0,
                    first,
                    like: word.like,
                });
                number
            }
            number => number,
        };
        let entry = &mut self.entries[number as usize];
        entry.count += 1;
        if entry.last != message {
            entry.last = message;
            entry.messages += 1;
        }
        number
    }

    fn place(&self, hash: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = hash.wrapping_mul(0x9E37_79B1) as usize >> 7 & mask;
        while self.table[place] != NONE && self.entries[self.table[place] as usize].hash != hash {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        self.table = vec![NONE; (self.table.len() * 2).max(1024)];
        for number in 0..self.entries.len() {
            let place = self.place(self.entries[number].hash);
            self.table[place] = number as u32;
        }
    }

    /// Weighs all words by how rare they are among so many messages.
    pub fn weigh(&mut self, messages: u32) {
        let all = log(messages.max(8));
        for entry in &mut self.entries {
            // A word that is there once in a long history is as likely noise as news.
            let seen = if messages > 24 { entry.messages.max(2) } else { entry.messages.max(1) };
            let rare = (all.saturating_sub(log(seen)) + 3).clamp(3, 28);
            entry.weight = match entry.like {
                like if like & PAIR != 0 => rare.div_ceil(2),
                like if like & DIGIT != 0 => rare.max(10),
                _ => rare,
            };
        }
    }
}

/// Four times the logarithm of base two, from 1 on.
fn log(number: u32) -> u32 {
    let whole = number.max(1).ilog2();
    let rest = if whole >= 2 { number >> (whole - 2) & 3 } else { number << (2 - whole) & 3 };
    whole * 4 + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_grow() {
        assert_eq!([log(0), log(1), log(2), log(4), log(6), log(8)], [0, 0, 4, 8, 10, 12]);
        assert!((1..5000).all(|number| log(number) <= log(number + 1)));
    }

    #[test]
    fn rare_words_weigh_more() {
        let mut lexicon = Lexicon::default();
        let word = |stem: u32| Word { hash: stem, stem, at: (0, 1), like: 0 };
        for message in 0..3_000 {
            lexicon.add(&word(7), message, 0);
            lexicon.add(&word(1_000 + message / 3), message, 0);
        }
        lexicon.weigh(3_000);
        assert_eq!(lexicon.entries[0].messages, 3_000);
        assert_eq!(lexicon.entries.len(), 1_001);
        assert!(lexicon.entries[0].weight < lexicon.entries[1].weight);
    }
}
