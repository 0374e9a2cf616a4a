//! The model of Threadkeep: what a conversation is.
//!
//! Goes in: messages, ids and times from outside. Comes out: transcripts (trees of nodes), chains, depths, turns
//! and lint findings, as plain data. Nothing here reads a clock, makes a random number, waits, or knows of wasm.
//!
//! Other crates build on this model: `threadkeep-provider` (wire forms), `threadkeep-context` (prompts), `threadkeep-compaction`
//! (summaries and memory), `threadkeep-archive` (files), `threadkeep-store` (storage) and `threadkeep` (the engine).

pub mod checkpoint;
pub mod code;
pub mod date;
pub mod depth;
pub mod entry;
pub mod halves;
pub mod id;
pub mod lint;
pub mod mend;
pub mod message;
pub mod messages;
pub mod node;
pub mod read;
pub mod sort;
pub mod text;
pub mod transcript;
mod typescript;

pub use code::{CodeTurn, CodeTurnError};
pub use entry::{Entry, InfoPatch};
pub use id::{IdError, MessageId, TranscriptId};
pub use message::{Content, Kind, Message, MessageError, Part, Role, ToolCall};
pub use messages::Messages;
pub use node::{Node, Origin};
pub use transcript::{ChainError, Info, Transcript, TranscriptError};
