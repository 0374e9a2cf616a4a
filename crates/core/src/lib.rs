//! The core of Threadkeep (under construction).

pub mod archive;
pub mod id;

pub use id::{IdError, MessageId, TranscriptId};
