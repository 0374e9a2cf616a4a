//! Texts and their numbers: each new text gets the next number. All of them lie in one string, since a batch has tens of
//! thousands and each would be an allocation.

/// Numbers for texts, in the order in which they came.
#[derive(Default)]
pub struct Table {
    texts: String,
    /// Where each text ends.
    ends: Vec<u32>,
    hashes: Vec<u32>,
    /// One more than the number of a text, or zero; twice as many places as texts at least, a power of two.
    places: Vec<u32>,
}

impl Table {
    /// The number of a text under a mark of the caller's (texts of different marks are different), a new one if it is not
    /// there yet.
    pub fn number(&mut self, mark: u8, text: &str) -> u32 {
        if self.places.len() <= 2 * self.ends.len() {
            self.grow();
        }
        let hash = hash(mark, text);
        let place = self.place(mark, text, hash);
        if self.places[place] == 0 {
            self.texts.push(char::from(mark & 0x7f));
            self.texts.push_str(text);
            self.ends.push(self.texts.len() as u32);
            self.hashes.push(hash);
            self.places[place] = self.ends.len() as u32;
        }
        self.places[place] - 1
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a number.
    pub fn text(&self, number: u32) -> &str {
        &self.marked(number)[1..]
    }

    fn marked(&self, number: u32) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.texts[start as usize..self.ends[number as usize] as usize]
    }

    /// Where a text is, or the empty place where it belongs.
    fn place(&self, mark: u8, text: &str, hash: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while let Some(number) = self.places[place].checked_sub(1) {
            if self.hashes[number as usize] == hash {
                let (own, rest) = self.marked(number).as_bytes().split_at(1);
                if own[0] == mark & 0x7f && rest == text.as_bytes() {
                    break;
                }
            }
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let count = (4 * self.ends.len()).next_power_of_two().max(64);
        self.places.clear();
        self.places.resize(count, 0);
        for (hash, number) in self.hashes.iter().zip(1..) {
            let mut place = *hash as usize & (count - 1);
            while self.places[place] != 0 {
                place = (place + 1) & (count - 1);
            }
            self.places[place] = number;
        }
    }
}

/// Four bytes at a time: words are short, and whoever writes texts to slow his own index down may.
fn hash(mark: u8, text: &str) -> u32 {
    let mut hash = u64::from(mark) ^ 0x9e37_79b9_7f4a_7c15;
    let mut take = |piece: u32| hash = ((hash ^ u64::from(piece)).wrapping_mul(0x2545_f491_4f6c_dd1d)).rotate_left(29);
    let (pieces, rest) = text.as_bytes().as_chunks::<4>();
    pieces.iter().for_each(|piece| take(u32::from_le_bytes(*piece)));
    take(rest.iter().fold(rest.len() as u32, |piece, byte| piece << 8 | u32::from(*byte)));
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_text_has_one_number(texts in proptest::collection::vec(("\\PC{0,9}|[ab]{0,3}", 0u8..4), 0..150)) {
            let mut table = Table::default();
            let mut known: Vec<&(String, u8)> = Vec::new();
            for one in &texts {
                let number = match known.iter().position(|other| *other == one) {
                    Some(number) => number,
                    None => {
                        known.push(one);
                        known.len() - 1
                    }
                };
                prop_assert_eq!(table.number(one.1, &one.0), number as u32);
            }
            prop_assert_eq!(table.len(), known.len());
            for (number, (text, _)) in known.into_iter().enumerate() {
                prop_assert_eq!(table.text(number as u32), text.as_str());
            }
        }
    }
}
