//! Eight bytes at a time: windows into text as numbers, and hash tables over such numbers. The tables are arrays of a fixed
//! power of two, so that an index needs no check, and are probed linearly; a key of zero is an empty place.

/// An odd number near 2^64 divided by the golden ratio: multiplying by it spreads neighbours.
pub(crate) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Eight bytes from `at`, the first one lowest, zeros behind the end of the text.
#[inline(always)]
pub(crate) fn window(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => rest.iter().rev().fold(0, |window, byte| window << 8 | u64::from(*byte)),
    }
}

/// The first `length` bytes of a window, for lengths from 1 to 8.
#[inline(always)]
pub(crate) fn first(window: u64, length: usize) -> u64 {
    window & u64::MAX >> (64 - 8 * length as u32)
}

/// The top `bits` bits of a hash of one number.
#[inline(always)]
pub(crate) fn hash(key: u64, bits: u32) -> usize {
    (key.wrapping_mul(SPREAD) >> (64 - bits)) as usize
}

/// The top `bits` bits of a hash of two numbers.
#[inline(always)]
pub(crate) fn hash_two(key: [u64; 2], bits: u32) -> usize {
    let mixed = key[0].wrapping_mul(SPREAD) ^ key[1].wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    ((mixed ^ mixed >> 31).wrapping_mul(SPREAD) >> (64 - bits)) as usize
}

/// A hash of any bytes.
#[inline]
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| {
        let sum = (sum ^ word).wrapping_mul(SPREAD);
        sum ^ sum >> 29
    };
    let sum = chunks.iter().fold(bytes.len() as u64, |sum, chunk| mix(sum, u64::from_le_bytes(*chunk)));
    if rest.is_empty() { sum } else { mix(sum, window(rest, 0)) }.wrapping_mul(SPREAD)
}

/// An array of `N` equal values on the heap.
#[inline(never)]
pub(crate) fn array<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("it was made with that length"),
    }
}

/// From a key of one or two numbers to a rank: `N` places, fewer than that many entries.
pub(crate) struct Table<K, const N: usize> {
    keys: Box<[K; N]>,
    values: Box<[u32; N]>,
}

/// What a [`Table`] can be asked by.
pub(crate) trait Key: Copy + PartialEq {
    /// What no key equals.
    const EMPTY: Self;
    fn hash(self, bits: u32) -> usize;
}

impl Key for u64 {
    const EMPTY: Self = 0;

    #[inline(always)]
    fn hash(self, bits: u32) -> usize {
        hash(self, bits)
    }
}

impl Key for [u64; 2] {
    const EMPTY: Self = [0; 2];

    #[inline(always)]
    fn hash(self, bits: u32) -> usize {
        hash_two(self, bits)
    }
}

impl<K: Key, const N: usize> Table<K, N> {
    pub(crate) fn new() -> Self {
        Self { keys: array(K::EMPTY), values: array(0) }
    }

    /// Where the key is, or where it would be.
    #[inline(always)]
    fn place(&self, key: K) -> usize {
        let mut place = key.hash(N.trailing_zeros()) % N;
        while self.keys[place] != key && self.keys[place] != K::EMPTY {
            place = (place + 1) % N;
        }
        place
    }

    pub(crate) fn insert(&mut self, key: K, value: u32) {
        let place = self.place(key);
        self.keys[place] = key;
        self.values[place] = value;
    }

    #[inline(always)]
    pub(crate) fn get(&self, key: K) -> Option<u32> {
        let place = self.place(key);
        (self.keys[place] == key).then(|| self.values[place])
    }

    /// Whether the key is at one of the two places where it most likely is. It takes no decision, and where the key is not,
    /// it may be elsewhere.
    #[inline(always)]
    pub(crate) fn has_at_hand(&self, key: K) -> bool {
        let place = key.hash(N.trailing_zeros()) % N;
        (self.keys[place] == key) | (self.keys[(place + 1) % N] == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_in_zeros() {
        let text = b"abcdefghij";
        assert_eq!(window(text, 1), u64::from_le_bytes(*b"bcdefghi"));
        assert_eq!(window(text, 7), u64::from_le_bytes(*b"hij\0\0\0\0\0"));
        assert_eq!(window(text, 10), 0);
        assert_eq!(first(window(text, 0), 3), u64::from_le_bytes(*b"abc\0\0\0\0\0"));
        assert_eq!(first(window(text, 0), 8), window(text, 0));
    }

    #[test]
    fn tables_find_what_was_put_in_and_nothing_else() {
        let mut table: Table<u64, 64> = Table::new();
        (1..=50).for_each(|key| table.insert(key * 977, key as u32));
        for key in 1..=50 {
            assert_eq!(table.get(key * 977), Some(key as u32));
            assert_eq!(table.get(key * 977 + 1), None);
            assert!(!table.has_at_hand(key * 977 + 1));
        }
    }
}
