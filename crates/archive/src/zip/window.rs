//! A stretch of a file that was supplied, for a parser that reads at offsets. A read outside of it fails, and is remembered,
//! so that the stretch can be widened and the parser run again.

use std::cell::Cell;
use std::io;

use rawzip::ReaderAt;

#[derive(Debug)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// The length of the file.
    len: u64,
    /// The lowest offset that was looked for in vain.
    missed: Cell<Option<u64>>,
}

impl Window {
    /// Nothing yet, before `start`, of a file of `len` bytes.
    pub fn at(start: u64, len: u64) -> Self {
        Self { start, bytes: Vec::new(), len, missed: Cell::new(None) }
    }

    /// These bytes from `start` on.
    pub fn of(start: u64, bytes: &[u8], len: u64) -> Self {
        Self { start, bytes: bytes.to_vec(), len, missed: Cell::new(None) }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.missed.get().is_none()
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn missed(&self) -> Option<u64> {
        self.missed.get()
    }

    pub fn miss_at(&mut self, at: u64) {
        self.missed.set(Some(at));
    }

    pub fn forget_miss(&mut self) {
        self.missed.set(None);
    }

    /// Adds the bytes just before it.
    pub fn prepend(&mut self, bytes: &[u8]) {
        self.start = self.start.saturating_sub(bytes.len() as u64);
        self.bytes.splice(0..0, bytes.iter().copied());
    }
}

impl ReaderAt for Window {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.len {
            return Ok(0);
        }
        let from = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        match from.and_then(|from| self.bytes.get(from..)).filter(|here| !here.is_empty()) {
            Some(here) => {
                let count = here.len().min(buffer.len());
                buffer[..count].copy_from_slice(&here[..count]);
                Ok(count)
            }
            None => {
                let lowest = self.missed.get().map_or(offset, |missed| missed.min(offset));
                if offset < self.start {
                    self.missed.set(Some(lowest));
                }
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }
}
