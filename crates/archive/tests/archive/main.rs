//! Archives end to end, as a caller sees them: files in, items out, and the logs applied to transcripts.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop

mod agents;
mod chatgpt;
mod claude;
mod common;
mod compactions;
mod data;
mod detection;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;
mod formats;
mod gemini;
mod hostile;
mod memory;
mod openai;
mod own;
mod pieces;
mod trees;
mod write;
mod zip;
