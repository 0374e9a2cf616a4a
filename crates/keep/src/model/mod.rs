//! Models: who answers a prompt. One trait, [`Model`]; behind it lie a connection to a provider, a function of the host, or a
//! script for tests and demonstrations.
//!
//! Goes in: a prompt. Comes out: deltas while the model speaks, then a [`Completion`] or a [`Failure`]. What is sent where, and
//! how an answer is read from the wire, is `threadkeep_provider`'s.

#![allow(clippy::result_large_err)] // a failure holds what was said until then; it is rare, and moved once

mod connected;
mod http;
mod patience;
mod scripted;
mod summarising;

pub use connected::Connected;
pub use http::{Body, Http, Response, Unsent, Wait};
pub use scripted::{Script, Scripted};
pub use summarising::Summarising;

use std::pin::Pin;

use serde::Deserialize;
use serde_json::Value;
use threadkeep_core::Message;
use threadkeep_provider::{Completion, Delta, Dialect, Provider, ToolSchema};

/// One prompt for a model.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The prompt in the generic form.
    pub messages: &'a [Message],
    /// The same as the body of a request in the provider's form, with the model's name, the tools, and `stream`.
    pub payload: &'a Value,
    /// The tools that it may call.
    pub tools: &'a [ToolSchema],
}

/// What a model answers, once it does. Dropping it ends the request.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Completion, Failure>> + 'a>>;

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Failure {
    /// A stable word: `unreachable`, `blocked`, `unauthorized`, `not-found`, `rate-limited`, `overloaded`, `too-long`, `refused`,
    /// `bad-answer`, `cut-off`, `stalled`, `failed`.
    pub code: String,
    /// What happened, where, and what a person can do about it. Never a key.
    pub message: String,
    /// What was said until then, where that is something.
    pub partial: Option<Message>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A model that can be asked.
pub trait Model {
    /// Its name, such as `gpt-4.1-mini`: it decides about the context's size where nobody says.
    fn name(&self) -> &str;

    /// The form in which it wants its prompt.
    fn provider(&self) -> Provider {
        Provider::OpenAiChat
    }

    /// What its endpoint wants in a request beside what its form says, if that is known: the body that is sent is then known too.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Sends a prompt. `heard` is called with each piece of the answer as it arrives.
    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a>;
}
