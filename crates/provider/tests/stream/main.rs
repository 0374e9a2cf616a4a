//! Connections, and reading answers off all five wires.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod anthropic;
mod connection;
mod embedded;
mod faults;
mod frames;
mod gemini;
mod mutated;
mod ollama;
mod openai_chat;
mod openai_responses;
mod support;
