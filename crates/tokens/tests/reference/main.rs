//! Counts beside an independent implementation: the crate `tiktoken-rs`, a port of OpenAI's own code with the same
//! regular expressions, run natively.

#![allow(clippy::unwrap_used, reason = "tests")]

mod fixed;
mod growing;
mod loading;
mod pathological;
mod random;
mod real;
mod texts;

use std::sync::LazyLock;

use threadkeep_tokens::{Bpe, Encoding};
use tiktoken_rs::CoreBPE;

/// One encoding by both implementations.
struct Pair {
    ours: Bpe,
    theirs: CoreBPE,
}

static PAIRS: LazyLock<[Pair; 2]> = LazyLock::new(|| {
    [
        Pair { ours: Bpe::embedded(Encoding::O200k), theirs: tiktoken_rs::o200k_base().unwrap() },
        Pair { ours: Bpe::embedded(Encoding::Cl100k), theirs: tiktoken_rs::cl100k_base().unwrap() },
    ]
});

/// Both encodings give what the reference gives, token by token, and count as many.
fn check(text: &str) {
    for pair in PAIRS.iter() {
        let expected = pair.theirs.encode_ordinary(text);
        assert_eq!(pair.ours.encode(text), expected, "{:?} of {text:?}", pair.ours);
        assert_eq!(pair.ours.count(text) as usize, expected.len(), "{:?} of {text:?}", pair.ours);
    }
}
