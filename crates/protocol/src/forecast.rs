//! Answers to what-ifs about a chain's budget, and how two prompts or branches differ.

use serde::Serialize;
use threadkeep_context::Policy;
use threadkeep_core::{Message, MessageId};

/// How a chain goes on at its own pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Forecast {
    /// The pace: the median of the tokens of its turns; 0 without a finished turn.
    pub tokens_per_turn: u64,
    /// The tokens of all of it now: the prompt without a budget.
    pub tokens: u64,
    /// The nodes that lose messages with the next turn, in the order of the chain.
    pub next_out: Vec<MessageId>,
    /// How many more turns fit before messages fall out; 0 if they do already. Not there if no limit is in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_that_fit: Option<u64>,
    /// After how many more turns a compaction is due; 0 if it is due already. Not there if the settings never compact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_until_compaction: Option<u64>,
}

/// What one policy keeps of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct PolicySide {
    /// The policy.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub policy: Policy,
    /// The tokens of its prompt.
    pub tokens: u64,
    /// How many messages of the chain its prompt has.
    pub kept: usize,
    /// How many it has not.
    pub dropped: usize,
    /// The nodes with messages that only this policy keeps.
    pub only_here: Vec<MessageId>,
    /// How many tokens at the beginning the request before had too, which a provider's cache can serve. Not there before the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_tokens: Option<u64>,
    /// Whether what must stay is over the budget.
    pub over_budget: bool,
}

/// How two lists of messages differ. A message that both have is in neither of the two lists here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct MessageDifference {
    /// How many messages at the beginning are alike.
    pub begin_alike: usize,
    /// How many messages both have, those among them.
    pub shared: usize,
    /// The messages that only the first has, in its order.
    pub only_here: Vec<Message>,
    /// The messages that only the second has, in its order.
    pub only_there: Vec<Message>,
}

/// How two branches differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct BranchComparison {
    /// Their messages, as they are stored.
    pub messages: MessageDifference,
    /// The messages of their prompts.
    pub prompts: MessageDifference,
    /// The tokens of the first prompt.
    pub tokens_here: u64,
    /// The tokens of the second prompt.
    pub tokens_there: u64,
}
