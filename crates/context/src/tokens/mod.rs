//! Tokens: how many a text costs a model, and how many a message does.
//!
//! Goes in: text, messages and tool schemas, with whatever [`Counter`] the caller holds. Comes out: counts; for messages by
//! what they are spent on ([`Cost`]). Exact counting is the crate `threadkeep-tokens`, compiled for speed;
//! what is around the text is by [`Overhead`]; how far a count was off is learned by [`Calibration`]. Left to
//! others: which messages a budget keeps (the rest of the crate).

mod calibration;
mod cost;
mod estimate;
mod overhead;
mod schema;

pub use calibration::{Calibration, Factor, reported_input};
pub use cost::{Cost, cost};
pub use estimate::{Estimate, estimate, estimate_message};
pub use overhead::Overhead;
pub use schema::tools_cost;
use threadkeep_tokens::Bpe;

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
