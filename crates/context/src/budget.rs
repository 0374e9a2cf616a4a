//! Budgets: how much a prompt may hold, and the arithmetic of its input limit.

use serde::{Deserialize, Serialize};
use threadkeep_core::{read_by_name, write_by_name};

/// How much something holds, in the three units of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Figures {
    /// Tokens, as the provider's messages are counted. Those of a prompt are the sum of the ledger's.
    pub tokens: u64,
    /// Messages.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub messages: u64,
    /// Characters of content and calls, in UTF-16 units as JavaScript's `length` counts them.
    pub chars: u64,
}

impl Figures {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            messages: self.messages.saturating_add(other.messages),
            chars: self.chars.saturating_add(other.chars),
        }
    }

    /// What is left of it without `other`, never below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            messages: self.messages.saturating_sub(other.messages),
            chars: self.chars.saturating_sub(other.chars),
        }
    }
}

/// What a prompt may hold. Each limit is a whole number from 0 on; zero is a limit of zero, and what is left out does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Budget {
    /// The input budget itself, in tokens. It takes precedence over the three fields that follow.
    pub max_tokens: Option<u64>,
    /// The model's context window, in tokens.
    pub max_context_tokens: Option<u64>,
    /// What of the window is reserved for the answer, in tokens; zero where absent. Without a window it limits nothing. It is also the
    /// payload's limit of the answer.
    pub max_output_tokens: Option<u64>,
    /// What of the window is left free for miscounting, in tokens; zero where absent. Without a window it limits nothing.
    pub safety_margin: Option<u64>,
    /// The most messages, the frame's included.
    pub max_messages: Option<u64>,
    /// The most characters (UTF-16 units, as `length` counts), the frame's included.
    pub max_chars: Option<u64>,
}

/// The limits that a budget comes to; `null` for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Limits {
    /// Tokens of input.
    pub tokens: Option<u64>,
    /// Messages.
    pub messages: Option<u64>,
    /// Characters.
    pub chars: Option<u64>,
    /// Whether the window is smaller than what is reserved of it: then nothing can be sent, not even nothing.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub underflow: bool,
}

impl Budget {
    /// A budget of so many tokens of input.
    pub fn tokens(max_tokens: u64) -> Self {
        Self { max_tokens: Some(max_tokens), ..Self::default() }
    }

    /// The limits: `max_tokens` where it is given, else `max_context_tokens − max_output_tokens − safety_margin`, else
    /// none. Where the subtraction falls below zero, the limit is zero and every prompt is over it.
    ///
    /// ```
    /// use threadkeep_context::Budget;
    /// let window = Budget {
    ///     max_context_tokens: Some(200_000),
    ///     max_output_tokens: Some(8_000),
    ///     safety_margin: Some(2_000),
    ///     ..Budget::default()
    /// };
    /// assert_eq!(window.limits().tokens, Some(190_000));
    /// assert_eq!(Budget { max_tokens: Some(0), ..window }.limits().tokens, Some(0));
    /// assert!(Budget { max_output_tokens: Some(200_000), ..window }.limits().underflow);
    /// ```
    pub fn limits(&self) -> Limits {
        let reserved = self.max_output_tokens.unwrap_or(0).saturating_add(self.safety_margin.unwrap_or(0));
        let (tokens, underflow) = match (self.max_tokens, self.max_context_tokens) {
            (Some(tokens), _) => (Some(tokens), false),
            (None, Some(window)) => (Some(window.saturating_sub(reserved)), window < reserved),
            (None, None) => (None, false),
        };
        Limits { tokens, messages: self.max_messages, chars: self.max_chars, underflow }
    }
}

impl Limits {
    /// Whether `figures` stay within.
    pub fn hold(&self, figures: Figures) -> bool {
        let within = |limit: Option<u64>, figure: u64| limit.is_none_or(|limit| figure <= limit);
        !self.underflow
            && within(self.tokens, figures.tokens)
            && within(self.messages, figures.messages)
            && within(self.chars, figures.chars)
    }
}

/// Which of the history a budget keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextPolicy", rename_all = "camelCase"))]
pub enum Policy {
    /// As many of the newest groups as fit: a suffix.
    #[default]
    Newest,
    /// A suffix that is cut in large steps, so that consecutive requests begin alike and the provider's prompt cache
    /// keeps hitting. It begins at the first point of a grid over the history at which it fits: a cut moves only when a
    /// step's worth has been added, and knows nothing of earlier requests. Under a limit of tokens a step is the smaller of
    /// `√(2 · 1000 · limit)` and a third of what the frame leaves of the limit, of which the first three binary digits
    /// count; for messages the same with 4, for characters with 4000, in place of 1000 (about what a request adds).
    ///
    /// So what it cuts beyond [`Policy::Newest`] is never more than a third of the limit (and the user's message that
    /// opened it), and half a step on average: a sixth of up to 18,000 tokens, a twelfth of 50,000, a sixteenth of 100,000.
    Stable,
}

impl Policy {
    /// Its name in options: `newest` or `stable`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Stable => "stable",
        }
    }

    /// The policy of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Newest, Self::Stable].into_iter().find(|policy| policy.name() == name)
    }
}

read_by_name!(Policy, Policy::from_name, "newest or stable");
write_by_name!(Policy);
