//! Reading answers off the wires.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod openai_chat;
mod support;
