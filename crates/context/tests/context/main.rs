//! Contexts end to end: histories and budgets in, prompts and their accounts out.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop

mod common;
mod data;
mod fit;
mod frame;
mod groups;
mod growth;
mod importance;
mod plain;
mod properties;
#[path = "../../../archive/tests/support/readers.rs"]
mod readers;
mod rules;
mod select;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../../../core/tests/support/growth.rs"]
mod shapes;
#[path = "../../../core/tests/support/transcripts.rs"]
mod transcripts;
