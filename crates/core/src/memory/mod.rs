//! What is remembered beyond a chain: episodes (what happened in a stretch of turns) and facts (what holds: preferences,
//! decisions, constraints). Plain data with its sources, so that a reader can go from each back to the messages that it came from.

mod record;
mod share;

pub use record::{Episode, Fact, FactKind, Source};
pub use share::Share;
