//! What messages and tools cost, and how counts are calibrated, as a caller sees it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod calibration;
mod costs;
mod real;
mod schemas;

use std::sync::LazyLock;

use threadkeep_tokens::{Bpe, Encoding};

/// The vocabulary that the tests count by.
static BPE: LazyLock<Bpe> = LazyLock::new(|| Bpe::embedded(Encoding::O200k));
