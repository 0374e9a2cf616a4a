//! Numbers in few bits. Whole bytes for tables ([`put`], [`Bytes`]), Rice codes for postings ([`BitWriter`], [`BitReader`]): a
//! number's low bits as they are, its high bits in unary, which is short when the number of low bits suits the numbers.

/// The longest unary part; what is larger comes as 32 plain bits behind it.
const LONGEST: u32 = 20;

/// Appends a number, seven bits a byte.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number of either sign.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Reads what [`put`] writes. What ends early gives `None`.
pub struct Bytes<'a> {
    pub rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }
}

/// How many low bits suit numbers of this mean.
pub fn low_bits(sum: u64, count: u64) -> u32 {
    // The best is near log2 of 0.69 times the mean.
    (sum * 69 / 100).checked_div(count).unwrap_or_default().max(1).ilog2().min(30)
}

/// Writes bits, the first into the lowest of a byte.
#[derive(Default)]
pub struct BitWriter {
    pub out: Vec<u8>,
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `count` bits of a value that has no others, 32 at most.
    fn bits(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    /// Writes a number with so many low bits, 30 at most.
    pub fn rice(&mut self, number: u32, low: u32) {
        let high = number >> low;
        if high >= LONGEST {
            self.bits((1 << LONGEST) - 1, LONGEST);
            self.bits(u64::from(number), 32);
        } else {
            let unary = (1 << high) - 1;
            let rest = u64::from(number) & ((1 << low) - 1);
            if high + 1 + low <= 32 {
                self.bits(rest << (high + 1) | unary, high + 1 + low);
            } else {
                self.bits(unary, high + 1);
                self.bits(rest, low);
            }
        }
    }

    /// Fills the last byte up.
    pub fn end(&mut self) {
        let bytes = self.held.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
        (self.held, self.count) = (0, 0);
    }
}

/// Reads what [`BitWriter`] wrote; beyond the end there are zeros.
pub struct BitReader<'a> {
    rest: &'a [u8],
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, held: 0, count: 0 }
    }

    fn fill(&mut self) {
        if let Some((bytes, rest)) = self.rest.split_first_chunk::<4>()
            && self.count <= 32
        {
            self.held |= u64::from(u32::from_le_bytes(*bytes)) << self.count;
            self.count += 32;
            self.rest = rest;
            return;
        }
        while self.count <= 56 {
            let Some((byte, rest)) = self.rest.split_first() else {
                // Zeros are there already.
                self.count = 64;
                return;
            };
            self.held |= u64::from(*byte) << self.count;
            self.count += 8;
            self.rest = rest;
        }
    }

    fn skip(&mut self, count: u32) {
        self.held = self.held.checked_shr(count).unwrap_or_default();
        self.count = self.count.saturating_sub(count);
    }

    pub fn rice(&mut self, low: u32) -> u32 {
        if self.count < 32 {
            self.fill();
        }
        let high = self.held.trailing_ones();
        if high >= LONGEST {
            self.skip(LONGEST);
            if self.count < 32 {
                self.fill();
            }
            let number = self.held as u32;
            self.skip(32);
            return number;
        }
        self.skip(high + 1);
        if self.count < low {
            self.fill();
        }
        let number = (high << low) | (self.held as u32 & ((1 << low) - 1));
        self.skip(low);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_read_as_written(numbers in proptest::collection::vec((0u32..=u32::MAX, 0u32..=30, 0u32..32), 0..200)) {
            let mut writer = BitWriter::default();
            for (number, low, shift) in &numbers {
                writer.rice(number >> shift, *low);
            }
            writer.end();
            let mut reader = BitReader::new(&writer.out);
            for (number, low, shift) in &numbers {
                prop_assert_eq!(reader.rice(*low), number >> shift);
            }
        }

        #[test]
        fn numbers_are_read_as_written(numbers: Vec<u64>, signed: Vec<i64>) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| put(&mut out, *number));
            signed.iter().for_each(|number| put_signed(&mut out, *number));
            let mut bytes = Bytes { rest: &out };
            for number in &numbers {
                prop_assert_eq!(bytes.number(), Some(*number));
            }
            for number in &signed {
                prop_assert_eq!(bytes.signed(), Some(*number));
            }
            prop_assert_eq!(bytes.number(), None);
        }

        #[test]
        fn any_bytes_can_be_read(any: Vec<u8>, low in 0u32..=30) {
            let mut reader = BitReader::new(&any);
            for _ in 0..40 {
                reader.rice(low);
            }
        }
    }
}
