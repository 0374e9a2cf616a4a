//! What-ifs: what a thread's requests would have taken with other options.

use serde::{Deserialize, Serialize};
use threadkeep_context::{Budget, Policy};
use threadkeep_core::MessageId;
use threadkeep_core::read::{self, BadRequest, Off, maybe_whole, object, or_default};
use threadkeep_provider::{Price, Provider, Usage};

use super::{ContextParams, Cost};

/// One what-if.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum WhatIfRequest {
    /// Replays a chain with other options. → a [`Simulations`]
    Simulate {
        /// A head's name or a node, for its chain.
        at: String,
        /// What is tried.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<SimulateParams>"))]
        options: Box<SimulateParams>,
    },
    /// The smallest `maxTokens` at which a node of the chain is in its prompt. → a number, or `null` if no budget brings it in
    SmallestBudget {
        /// The chain.
        at: String,
        /// The node, or an alias of it.
        node: MessageId,
        /// How its prompt is built, over what is stored for the chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
    },
    /// How a chain goes on at its own pace. → a [`Forecast`](super::Forecast)
    Forecast {
        /// The chain.
        at: String,
        /// How its prompt is built, over what is stored for the chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
    },
    /// What both policies keep of a chain. → a list of two [`PolicySide`](super::PolicySide)s
    ComparePolicies {
        /// The chain.
        at: String,
        /// How its prompts are built, over what is stored for the chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
    },
    /// How two chains differ. → a [`BranchComparison`](super::BranchComparison)
    CompareBranches {
        /// The first chain.
        at: String,
        /// The other one, of any transcript.
        other: String,
        /// How both prompts are built, over what is stored for the first chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
    },
}

impl WhatIfRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

/// Options of `Requests.simulate`. Each list holds what is tried. Every combination of them is a variant, at most 64.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "SimulateOptions", optional_fields))]
pub struct SimulateParams {
    /// Policies; that of `context` or the settings without it.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub policies: Option<Vec<Policy>>,
    /// Budgets; that of `context` or the settings without it.
    pub budgets: Option<Vec<Budget>>,
    /// Models; that of `context` or the settings without it.
    pub models: Option<Vec<SimulatedModel>>,
    /// When the history is compacted; `false` for never. Without it, as the thread was: with the checkpoints that are stored.
    pub compaction: Option<Vec<Off<SimulatedCompaction>>>,
    /// The provider's cache: an object overrides parts of the provider's rule for the model, `false` is no cache.
    pub cache: Option<Off<SimulatedCache>>,
    /// All other options of the prompts, over the settings of the thread.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
    pub context: ContextParams,
    /// Tokens before every prompt that are not in the thread, such as another program's own system prompt and tools; 0 without it.
    #[serde(deserialize_with = "maybe_whole")]
    pub beside: Option<u64>,
    /// Prices of models, before those of the table.
    pub prices: Option<Vec<Price>>,
    /// Whether each variant lists its requests; it does not by default.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub each: bool,
}

/// A model of a simulation, and the provider whose form and cache its prompts have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedModel {
    /// The model's name.
    pub model: String,
    /// Its provider.
    pub provider: Provider,
}

/// When a simulation compacts the history. The built-in rules summarise it; nothing is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedCompaction {
    /// Before a request whose prompt would have more tokens than this.
    pub above_tokens: u64,
    /// How many turns at the end stay raw; four without it.
    #[serde(default)]
    pub keep_turns: Option<u32>,
}

/// What of the rule of a provider's cache is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedCache {
    /// Whether Anthropic's cache keeps a prefix for an hour, at twice the price of the prompt; five minutes without it.
    pub hour: Option<bool>,
    /// For how many minutes a prefix stays after its last use.
    pub minutes: Option<u32>,
    /// How many tokens a prefix must have.
    #[serde(deserialize_with = "maybe_whole")]
    pub least_tokens: Option<u64>,
}

/// What the variants of a simulation take.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Simulation", optional_fields))]
pub struct Simulations {
    /// The variants: policies change last, then budgets, models, and compactions.
    pub variants: Vec<SimulatedVariant>,
    /// The day of the table of prices.
    pub prices_of: &'static str,
}

/// What one variant takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedVariant {
    /// Its policy.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub policy: Policy,
    /// Its budget.
    pub budget: Budget,
    /// Its provider.
    pub provider: Provider,
    /// Its model's name; empty if nothing names a model.
    pub model: String,
    /// Its threshold of compactions, in tokens; 0 for never. Not there if the stored checkpoints hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_above: Option<u64>,
    /// What its requests take together, and their price in US dollars.
    pub cost: Cost,
    /// How many requests are over their budget: their provider would not be asked.
    pub over_budget: u32,
    /// How many compactions the simulation made.
    pub compactions: u32,
    /// What it takes beyond the first variant: the price of another cut.
    pub beyond_first: SimulatedDifference,
    /// Its requests, if the option `each` asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Vec<SimulatedRequest>>,
}

/// What a variant takes beyond the first one. A negative figure is less than that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedDifference {
    /// Tokens of prompts.
    pub prompt_tokens: i64,
    /// Tokens that come from the provider's cache.
    pub cached_tokens: i64,
    /// Tokens that are written to it.
    pub cache_write_tokens: i64,
    /// US dollars. Not there if a price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

/// A request of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SimulatedRequest {
    /// The node at which its chain ends.
    pub node: MessageId,
    /// How many messages of that node it has.
    pub messages: usize,
    /// When the answer came, in milliseconds since 1970 (UTC). Not there if the thread does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Its tokens as they are counted here, and those of the answer.
    pub usage: Usage,
    /// Its price in US dollars. Not there if the model's price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether a compaction came before it.
    pub compacted: bool,
    /// Whether it is over its budget.
    pub over_budget: bool,
}
