//! Who summarises: the trait behind which all of them are, and the one that needs no model.

use std::pin::Pin;

use threadkeep_compaction::extract::extract;
use threadkeep_compaction::strategy::tokens;
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::Spent;

/// What a summariser answers, once it does.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Answered, String>> + 'a>>;

/// A summary, and what is to be said of how it came about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answered {
    /// The summary.
    pub summary: Summary,
    /// What its caller should know, in words: that a model did not answer, and who did in its stead, say.
    pub warnings: Vec<String>,
    /// Who made it, where that was not the summariser that was asked: one that it fell back to.
    pub by: Option<&'static str>,
    /// What it took; `None` where that is one call with the material, and the summary came back.
    pub spent: Option<Spent>,
}

impl From<Summary> for Answered {
    fn from(summary: Summary) -> Self {
        Self { summary, ..Self::default() }
    }
}

/// What a compaction would send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// The name of the model that would get it.
    pub to: String,
    /// How many requests, at least: what comes of them may be summarised once more.
    pub requests: u32,
    /// How many messages of the thread are in them.
    pub messages: u32,
    /// How many tokens the requests have together.
    pub tokens: u64,
}

/// Somebody who summarises: our own rules, a model, the browser.
pub trait Summariser {
    /// Its name, as checkpoints keep it, such as `extractive`.
    fn name(&self) -> &str;

    /// The most tokens of messages that it takes at once; longer material comes in several pieces, each with what was said of
    /// those before. `None` for any number.
    fn input_tokens(&self) -> Option<u64> {
        None
    }

    /// What it would send, and to whom, if it were given this; `None` if nothing leaves the machine for it. Sends nothing.
    fn would_send(&self, _material: &Material<'_>, _counter: &dyn Counter) -> Option<Sending> {
        None
    }

    /// Summarises. An error is in words; nothing is stored then.
    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a>;
}

/// The name of [`Extractive`].
pub const EXTRACTIVE: &str = "extractive";

/// Our own summariser, which needs no model: it ranks what was said and quotes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractive;

impl Summariser for Extractive {
    fn name(&self) -> &str {
        EXTRACTIVE
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        let summary = extract(material, counter);
        Box::pin(std::future::ready(Ok(summary.into())))
    }
}

/// One call that was given so many tokens and made `summary` of them.
pub(super) fn one_call(given: u64, summary: &Summary, counter: &dyn Counter) -> Spent {
    let output = tokens(&summary.statements, counter) + u64::from(counter.count(&summary.episode));
    Spent { calls: 1, input_tokens: given, output_tokens: output }
}
