//! The engine of Threadkeep: conversation memory for LLM agents over any store.
//!
//! Goes in: inbound messages, replies, appends, archives. Comes out: nodes, chains, branches, recent messages, archives, and
//! an event after each durable change. The tree's rules are `threadkeep-core`'s, the bytes `threadkeep-store`'s; here are
//! routing, sequence numbers, the cache, heads, deletion, import and export.
//!
//! ```
//! use threadkeep::protocol::Inbound;
//! use threadkeep::{Host, Keep, Options};
//! use threadkeep_core::{Message, MessageId};
//! use threadkeep_store::MemoryStore;
//!
//! struct Test;
//! impl Host for Test {
//!     fn now(&self) -> i64 { 0 }
//!     fn random(&self) -> [u8; 32] { [7; 32] } // a real host asks the platform
//! }
//!
//! # pollster::block_on(async {
//! let keep = Keep::open(MemoryStore::new(), Test, Options::default()).await?;
//! let question = Inbound { message_id: Some(MessageId::new("m1")?), ..Inbound::new("Why is the sky blue?") };
//! let node = keep.receive(question).await?;
//! keep.extend(&node.id, vec![Message::assistant("Rayleigh scattering.")]).await?;
//! assert_eq!(keep.depth(&node.id).await?, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub mod agent;
mod answers;
mod bin;
mod case;
pub mod compact;
mod context;
mod costs;
mod damage;
mod diff;
mod draft;
mod drafts;
pub mod epochs;
mod error;
mod expire;
mod export;
mod forget;
mod forks;
mod hash;
mod heads;
mod host;
mod import;
mod journal;
mod json;
mod keep;
pub mod kernel;
mod keys;
mod locks;
mod log;
pub mod mailbox;
mod memory;
mod mend;
pub mod model;
mod name;
mod next;
mod origin;
pub mod passages;
mod path;
mod ranking;
mod records;
mod remove;
mod retrieve;
mod route;
mod search;
mod settings;
mod simulate;
pub mod traces;
mod turns;
mod undo;
mod variants;
mod views;
mod what_if;

pub use bin::Binned;
pub use case::replay_case;
pub use diff::{Diff, Piece, apply, diff};
pub use error::KeepError;
pub use forget::Forgotten;
pub use host::{Host, Source};
pub use import::Verdict;
pub use journal::{Rebuilt, SummaryRequest};
pub use keep::{Keep, Options};
pub use next::Coming;
pub use ranking::{Indexed, Passage, RankPassages, Ranking, Said};
pub use records::LONGEST_KEY;
pub use simulate::{Points, Simulated, Simulation};
pub use threadkeep_archive::Format;
pub use threadkeep_archive::secret::{Personal, masked};
pub use threadkeep_archive::share::{Secret, Sharing};
pub use threadkeep_protocol as protocol;
pub use threadkeep_protocol::{MemoryFilter, NewFact, Start};

/// The README's Rust example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
