//! Rendering and validating, for every provider.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod anthropic;
mod data;
mod failures;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;
mod found;
mod gemini;
mod generate;
mod growth;
mod mutations;
mod ollama;
mod openai_chat;
mod openai_responses;
mod plain;
mod properties;
mod schemas;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../../../core/tests/support/growth.rs"]
mod shapes;
mod support;
