//! Compaction without I/O: policies, windows and checkpoints, over trees of every shape.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod entries;
mod policy;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../../../core/tests/support/transcripts.rs"]
mod transcripts;
mod trees;
