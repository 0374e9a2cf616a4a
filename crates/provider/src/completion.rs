//! What a model answers: piece by piece while it speaks, and whole at the end.

use serde::{Deserialize, Serialize, Serializer};
use threadkeep_core::Message;

/// A piece of an answer that is under way. As JSON it is an object with the fields of one variant, such as `{"text": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Delta {
    /// More of what it says.
    Text(String),
    /// More of what it thinks before it speaks.
    Reasoning(String),
    /// Something is wrong with the answer that does not end it, such as a usage that cannot be: in words for a person.
    Warning(String),
    /// All text heard so far was reasoning: its end (`</think>`) came without a beginning. Whoever shows the text moves it; the
    /// finished [`Completion`] has it in its place.
    #[serde(serialize_with = "yes")]
    #[cfg_attr(feature = "ts", ts(untagged, type = "{ wasReasoning: true }"))]
    WasReasoning,
    /// More of a tool call.
    #[serde(untagged)]
    ToolCall {
        /// Which of the answer's calls, from 0.
        #[serde(rename = "call")]
        index: usize,
        /// The tool's name, as far as it is known.
        name: String,
        /// More of the arguments' JSON text; may be empty.
        arguments: String,
    },
    /// The request failed for a reason that passes, and is sent again.
    #[serde(untagged)]
    Retry {
        /// Which try comes next, from 2.
        attempt: u32,
        /// How long is waited before, in milliseconds.
        wait: u32,
        /// Why, in words.
        #[serde(rename = "retry")]
        reason: String,
    },
}

fn yes<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// What was said, with its tool calls, its reasoning, and what the provider wants back untouched.
    pub message: Message,
    /// What the provider counted; `None` where it did not say.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub finish: Finish,
}

/// What a provider counted for one request, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ModelUsage", optional_fields))]
pub struct Usage {
    /// The prompt, cached tokens with it.
    pub prompt_tokens: u64,
    /// The answer, reasoning with it.
    #[serde(default)]
    pub completion_tokens: u64,
    /// How many of the prompt's came from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// How many of the prompt's were written to the provider's cache, where that has a price of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// How many of these are kept for an hour, which costs more than five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hour_tokens: Option<u64>,
    /// How many of the answer's were spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// The sum of two requests. A figure that only one of them has is the sum.
    ///
    /// ```
    /// use threadkeep_provider::Usage;
    /// let one = Usage { prompt_tokens: 5, completion_tokens: 2, cached_tokens: Some(3), ..Usage::default() };
    /// let sum = one.plus(Usage { prompt_tokens: 8, ..Usage::default() });
    /// assert_eq!((sum.prompt_tokens, sum.completion_tokens), (13, 2));
    /// assert_eq!((sum.cached_tokens, sum.reasoning_tokens), (Some(3), None));
    /// ```
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            cached_tokens: both(self.cached_tokens, other.cached_tokens),
            cache_write_tokens: both(self.cache_write_tokens, other.cache_write_tokens),
            cache_hour_tokens: both(self.cache_hour_tokens, other.cache_hour_tokens),
            reasoning_tokens: both(self.reasoning_tokens, other.reasoning_tokens),
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Finish {
    /// All was said.
    #[default]
    Stop,
    /// Tools are to be called.
    ToolCalls,
    /// The limit on the answer's tokens was reached: it is cut off.
    Length,
    /// The provider held back (the rest of) the answer.
    Filtered,
    /// Another reason, in the provider's word.
    Other(String),
}

impl Finish {
    /// Its name: `stop`, `tool-calls`, `length`, `filtered`, or the provider's own word.
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool-calls",
            Self::Length => "length",
            Self::Filtered => "filtered",
            Self::Other(word) => word,
        }
    }

    /// The reason of that [name](Self::name).
    pub fn from_name(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "tool-calls" => Self::ToolCalls,
            "length" => Self::Length,
            "filtered" => Self::Filtered,
            other => Self::Other(other.to_owned()),
        }
    }
}
