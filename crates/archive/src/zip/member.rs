//! One member of a zip: compressed bytes in, inflated pieces out, with its limits and its checksum.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use rawzip::ZipVerification;

use super::super::Code;

/// How many inflated bytes are handed on at once.
const PIECE: usize = 64 * 1024;

/// Up to this size, a member may grow as it likes.
const FREE: u64 = 1 << 20;

pub(super) struct Inflater {
    /// `None` for a member that is stored as it is.
    state: Option<Box<InflateState>>,
    out: Vec<u8>,
    crc: Crc,
    packed: u64,
    inflated: u64,
    expected: ZipVerification,
}

/// What came of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// More compressed bytes are needed.
    More,
    /// The member is complete.
    End,
    /// Whoever takes the pieces wants no more.
    Enough,
    /// Damaged.
    Bad,
    /// It has grown past the allowed ratio, or past what the zip says.
    Bomb,
    /// It has grown past what is left of the total.
    Full,
}

impl Inflater {
    /// For a member of `size` inflated bytes.
    pub fn new(stored: bool, crc: u32, size: u64) -> Self {
        let state = (!stored).then(|| InflateState::new_boxed(DataFormat::Raw));
        let out = if stored { Vec::new() } else { vec![0; PIECE] };
        let expected = ZipVerification { crc, uncompressed_size: size };
        Self { state, out, crc: Crc::new(), packed: 0, inflated: 0, expected }
    }

    /// Inflated bytes so far.
    pub fn inflated(&self) -> u64 {
        self.inflated
    }

    /// Takes compressed bytes. `allowed` bytes may still come out; `take` gets the pieces, and says whether it wants more.
    pub fn push(&mut self, mut bytes: &[u8], ratio: u64, allowed: u64, take: &mut dyn FnMut(&[u8]) -> bool) -> Step {
        self.packed += bytes.len() as u64;
        let start = self.inflated;
        let Some(state) = &mut self.state else {
            self.inflated += bytes.len() as u64;
            self.crc.update(bytes);
            return match () {
                () if self.inflated - start > allowed => Step::Full,
                () if !take(bytes) => Step::Enough,
                () if self.inflated >= self.expected.uncompressed_size => Step::End,
                () => Step::More,
            };
        };
        loop {
            let result = inflate(state, bytes, &mut self.out, MZFlush::None);
            bytes = &bytes[result.bytes_consumed..];
            let piece = &self.out[..result.bytes_written];
            self.inflated += piece.len() as u64;
            self.crc.update(piece);
            if self.inflated - start > allowed {
                return Step::Full;
            }
            let grown = self.inflated > FREE && self.inflated / self.packed.max(1) > ratio;
            if grown || self.inflated > self.expected.uncompressed_size {
                return Step::Bomb;
            }
            if !piece.is_empty() && !take(piece) {
                return Step::Enough;
            }
            match result.status {
                Ok(MZStatus::StreamEnd) => return Step::End,
                Ok(_) if result.bytes_written == 0 && bytes.is_empty() => return Step::More,
                Ok(_) => {}
                Err(MZError::Buf) => return Step::More,
                Err(_) => return Step::Bad,
            }
        }
    }

    /// What is wrong with a complete member.
    pub fn trouble(&self) -> Option<(Code, &'static str)> {
        let found = ZipVerification { crc: !self.crc.sum, uncompressed_size: self.inflated };
        let wrong = self.expected.valid(found).is_err();
        wrong.then_some((Code::Checksum, "its data do not match their checksum: it is damaged"))
    }
}

/// CRC-32. The tables of the usual crates are 16 KB that no compressor makes smaller, a good part of what a page may load;
/// this one is made when it is needed.
struct Crc {
    table: Box<[u32; 256]>,
    sum: u32,
}

impl Crc {
    fn new() -> Self {
        let mut table = Box::new([0; 256]);
        for (byte, entry) in (0u32..).zip(table.iter_mut()) {
            *entry = (0..8).fold(byte, |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 });
        }
        Self { table, sum: !0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let at = (self.sum as u8) ^ byte;
            self.sum = self.table[usize::from(at)] ^ (self.sum >> 8);
        }
    }
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").field("inflated", &self.inflated).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zip() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let mut crc = Crc::new();
        bytes.chunks(777).for_each(|piece| crc.update(piece));
        assert_eq!(!crc.sum, rawzip::crc32(&bytes));
        assert_eq!(!Crc::new().sum, 0);
    }
}
