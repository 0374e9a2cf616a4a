//! The core of Threadkeep: what a conversation is, and everything that can be decided about it without I/O.
//!
//! Goes in: messages, ids and times from outside. Comes out: transcripts (trees of nodes), chains, depths, turns,
//! lint findings and parsed archives, as plain data. Left to others: storage (`threadkeep-store`), routing, caching
//! and change events (`threadkeep`). Nothing here reads a clock, makes a random number, waits, or knows of wasm.

pub mod checkpoint;
pub mod code;
pub mod date;
pub mod depth;
pub mod entry;
pub mod halves;
pub mod id;
pub mod json;
pub mod lint;
pub mod message;
pub mod node;
pub mod transcript;

pub use code::{CodeTurn, CodeTurnError};
pub use entry::{Entry, InfoPatch};
pub use id::{IdError, MessageId, TranscriptId};
pub use message::{Content, Kind, Message, MessageError, Part, Role, ToolCall};
pub use node::{Node, Origin};
pub use transcript::{ChainError, Info, Transcript, TranscriptError};
