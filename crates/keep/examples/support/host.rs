//! The host of a measurement: a clock that stands, and ids that are the same in every run.

use std::cell::Cell;

use threadkeep::Host;

/// A clock that stands, and randomness that counts.
#[derive(Debug, Default)]
pub struct Still(Cell<u64>);

impl Host for Still {
    fn now(&self) -> i64 {
        1_700_000_000_000
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        // The engine takes up to four numbers out of one answer, so each eighth must differ.
        for eight in bytes.chunks_exact_mut(8) {
            self.0.set(self.0.get() + 1);
            eight.copy_from_slice(&self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        bytes
    }
}
