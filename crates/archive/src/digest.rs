//! Digests of archive bytes and of content: FNV-1a with 64 bits, the same on every machine and in every release. They tell
//! changed from unchanged and make ids where an archive has none; they are not for security.

use xxhash_rust::xxh64::xxh64;

/// Counted up whenever the same bytes are read in another way, so that they are looked at again. Ids do not depend on it.
const READING: u8 = 3;

/// A running digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(pub u64);

impl Digest {
    pub fn new() -> Self {
        // The one is from a time when ids depended on the way of reading: they stay as they were then.
        Self(0xcbf2_9ce4_8422_2325).with(&[1])
    }

    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)))
    }

    /// The digest of a conversation whose bytes have this one: of the way in which they are read, too.
    pub fn of_reading(self) -> u64 {
        self.with(&[READING]).0
    }
}

/// The digest of a conversation's bytes, from which ids can be made.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    Digest::new().with(bytes).0
}

/// A digest that only tells changed from unchanged, of as many bytes as come: XXH64, which takes eight at a time. Digests of several
/// pieces are chained by their seeds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum(pub u64);

impl Sum {
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(xxh64(bytes, self.0))
    }
}
