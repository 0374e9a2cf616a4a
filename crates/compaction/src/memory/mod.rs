//! What is remembered beyond a chain: episodes (what happened in a stretch of turns) and facts (what holds: preferences,
//! decisions, constraints). Plain data with its sources, so that a reader can go from each back to the messages that it came from.
//!
//! Goes in: what summarisers found, chains, records as they are stored. Comes out: records to store ([`remember`]), what of
//! them goes into a prompt ([`bundle`], [`recall`], [`build_snapshot`]), views of a chain ([`steps`], [`tool_interactions`]), and the JSON Lines
//! layout of agent memory ([`jsonl`]). Finding facts in text is a summariser's; storing is the engine's.

mod bundle;
mod change;
mod facts;
pub mod jsonl;
mod merge;
mod origin;
mod record;
mod same;
mod share;
mod snapshot;
mod turns;
mod words;

pub use bundle::{BundleLimits, MemoryBundle, bundle};
pub use change::{EpisodeEdit, FactEdit, Left, episode_without, fact_without, still_said};
pub use facts::Facts;
pub use merge::{Remembered, Whose, remember};
pub use origin::{MemoryOrigin, RememberFrom, rests_on};
pub use record::{Episode, Fact, FactKind, IMPORTED, Memory};
pub use same::{contradicts, is_same};
pub use share::Share;
pub use snapshot::{Recalled, build_snapshot, message_said, recall};
pub use turns::{
    RAW_TAIL_TURNS, Step, ToolInteraction, ToolStatus, Turn, raw_tail, steps, tool_interactions, turn_number,
};
pub use words::{Said, each_word, is_said_in, terms};
