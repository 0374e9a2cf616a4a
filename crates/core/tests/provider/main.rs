//! Rendering and validating, for every provider.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod anthropic;
mod data;
mod failures;
#[path = "../support/folder.rs"]
mod folder;
mod found;
mod gemini;
mod generate;
mod mutations;
mod ollama;
mod openai_chat;
mod openai_responses;
mod plain;
mod properties;
mod schemas;
mod support;
