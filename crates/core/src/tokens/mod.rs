//! Tokens: how many a text costs a model.
//!
//! Goes in: text. Comes out: a count, by whatever [`Counter`] the caller holds. Left to others: what a message is made of
//! for a given provider, and which messages a budget keeps ([`context`](crate::context)).

mod estimate;

pub use estimate::{Estimate, estimate, estimate_message};
pub use threadkeep_tokens::{Bpe, Encoding, Growing, LoadError};

/// Something that counts tokens. Every count is exact for what it counts by; the [estimate](Estimate) is the only
/// one that guesses.
pub trait Counter {
    /// How many tokens `text` takes as plain text: what spells a special token counts as the letters it is.
    fn count(&self, text: &str) -> u32;
}

/// The exact count by one of OpenAI's vocabularies.
impl Counter for Bpe {
    fn count(&self, text: &str) -> u32 {
        self.count(text)
    }
}
