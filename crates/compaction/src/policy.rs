//! The policy: when a history is to be compacted. Goes in: what a response reported, how long the history is, what was asked. Comes
//! out: a reason, or none. A request waits in [`Requests`] until it was carried out or found unnecessary.

use serde::{Deserialize, Serialize};

use crate::memory::Share;

/// The size of a context where nothing is known of the model, in tokens.
pub const MAX_CONTEXT_TOKENS: u64 = 200_000;
/// What is left for the answer where nothing is known of the model, in tokens.
pub const MAX_OUTPUT_TOKENS: u64 = 8_000;
/// The share of the input budget from which on a history is compacted early.
pub const COMPACTION_RATIO: Share = Share::of(800);
/// What is left free for miscounting, in tokens.
pub const SAFETY_MARGIN: u64 = 1_000;

/// Beginnings of models' names, with the context and the most output of each, in tokens, as looked up on 2026-11-22 (the standard
/// context, where a longer one must be asked for). The longest beginning that fits counts; what a provider's gateway puts before
/// the name, up to the last `/`, does not. What could not be confirmed is not in it.
///
/// By their makers' own pages: Claude from 4.5 on (platform.claude.com, models), Gemini (ai.google.dev and docs.cloud.google.com; Gemini 4
/// shares its context between input and output, of which one request gives 65,536), DeepSeek V4 and `deepseek-flash`
/// (api-docs.deepseek.com, pricing). By catalogues that name their makers' pages as the source: GPT (OpenAI-DotNet's reference, docs.rs/llmr,
/// vercel.com/ai-gateway, docs.oxen.ai), older Claude (docs.rs/mixtape-core), `deepseek-chat` and `deepseek-reasoner` as they
/// were at the end of 2025 (Roo-Code), Command A (openrouter.ai). Of `gpt-4`, `gpt-4.1`, `gpt-oss`, `grok-4`, `kimi-k2`, Llama 3.1 and later and
/// `mistral-large` only the context could be confirmed, or the two share it: there a quarter of it, 32,768 at most, is left for
/// the answer. Newer members of those families have more, which one can say in the options.
pub const MODELS: [(&str, u64, u64); 43] = [
    ("claude-3-5-", 200_000, 8_192),
    ("claude-3-7-", 200_000, 64_000),
    ("claude-fable-5", 1_000_000, 128_000),
    ("claude-haiku-4", 200_000, 64_000),
    ("claude-haiku-5", 1_000_000, 128_000),
    ("claude-opus-4", 200_000, 32_000),
    ("claude-opus-4-5", 200_000, 64_000),
    ("claude-opus-4-6", 1_000_000, 128_000),
    ("claude-opus-4-7", 1_000_000, 128_000),
    ("claude-opus-4-8", 1_000_000, 128_000),
    ("claude-opus-5", 1_000_000, 128_000),
    ("claude-sonnet-4", 200_000, 64_000),
    ("claude-sonnet-4-6", 1_000_000, 128_000),
    ("claude-sonnet-5", 1_000_000, 128_000),
    ("command-a-03-2025", 256_000, 8_192),
    ("deepseek-chat", 128_000, 8_192),
    ("deepseek-flash", 1_000_000, 384_000),
    ("deepseek-reasoner", 128_000, 64_000),
    ("deepseek-v4", 1_000_000, 384_000),
    ("gemini-2.0", 1_048_576, 8_192),
    ("gemini-2.5", 1_048_576, 65_535),
    ("gemini-3", 1_048_576, 65_536),
    ("gemini-4", 1_048_576, 65_536),
    ("gpt-3.5-turbo", 16_385, 4_096),
    ("gpt-4", 8_192, 2_048),
    ("gpt-4-turbo", 128_000, 4_096),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-5", 400_000, 128_000),
    ("gpt-5-chat", 128_000, 16_384),
    ("gpt-5.1-chat", 128_000, 16_384),
    ("gpt-5.2-chat", 128_000, 16_384),
    ("gpt-5.4", 1_050_000, 128_000),
    ("gpt-5.4-mini", 400_000, 128_000),
    ("gpt-5.5", 1_050_000, 128_000),
    ("gpt-5.6", 1_050_000, 128_000),
    ("gpt-oss", 131_072, 32_768),
    ("grok-4", 256_000, 32_768),
    ("kimi-k2", 256_000, 32_768),
    ("llama3.", 131_072, 32_768),
    ("mistral-large", 128_000, 32_000),
    ("o3", 200_000, 100_000),
    ("o4-mini", 200_000, 100_000),
];

/// The context and the most output of a model, in tokens; `None` for one that is not in [`MODELS`].
///
/// ```
/// use threadkeep_compaction::policy::model_limits;
/// assert_eq!(model_limits("anthropic/claude-opus-4-5-20251101"), Some((200_000, 64_000)));
/// assert_eq!(model_limits("my-own"), None);
/// ```
pub fn model_limits(model: &str) -> Option<(u64, u64)> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = MODELS.iter().filter(|(begin, ..)| name.starts_with(begin));
    fits.max_by_key(|(begin, ..)| begin.len()).map(|(_, context, output)| (*context, *output))
}

/// What is asked of the policy. What is `None` comes from elsewhere, see [`Policy::resolve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PolicyOptions {
    /// The model's context, in tokens.
    pub max_context_tokens: Option<u64>,
    /// What is left for the answer, in tokens.
    pub max_output_tokens: Option<u64>,
    /// What is left free for miscounting, in tokens.
    pub safety_margin: Option<u64>,
    /// The share of the input budget from which on a history is compacted early.
    pub compaction_ratio: Option<Share>,
    /// The number of messages (beyond the last checkpoint) above which a history is compacted.
    pub compaction_threshold: Option<u32>,
}

/// When a history is to be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The model's context, in tokens.
    pub max_context_tokens: u64,
    /// What is left for the answer, in tokens.
    pub max_output_tokens: u64,
    /// What is left free for miscounting, in tokens.
    pub safety_margin: u64,
    /// The share of the input budget from which on a history is compacted early.
    pub compaction_ratio: Share,
    /// The number of messages above which a history is compacted; `None` for any number.
    pub compaction_threshold: Option<u32>,
}

/// Why a compaction is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CompactionReason"))]
pub enum Reason {
    /// The last prompt had more tokens than the input budget.
    OverBudget,
    /// It had more than the early share of it.
    EarlyRatio,
    /// There are more messages than the threshold.
    Messages,
    /// Somebody asked for it.
    Manual,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::OverBudget, Self::EarlyRatio, Self::Messages, Self::Manual];

    /// Its name: `over-budget`, `early-ratio`, `messages` or `manual`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OverBudget => "over-budget",
            Self::EarlyRatio => "early-ratio",
            Self::Messages => "messages",
            Self::Manual => "manual",
        }
    }
}

impl Policy {
    /// The policy that holds. For each figure the first of these that says something: the call's options, the keep's, the table of
    /// models, the defaults ([`MAX_CONTEXT_TOKENS`] and its sisters).
    ///
    /// ```
    /// use threadkeep_compaction::{Policy, PolicyOptions};
    /// let keep = PolicyOptions { max_output_tokens: Some(20_000), ..PolicyOptions::default() };
    /// let policy = Policy::resolve(&PolicyOptions::default(), &keep, Some("claude-sonnet-4-5"));
    /// assert_eq!(policy.input_budget(), 200_000 - 20_000 - 1_000);
    /// ```
    pub fn resolve(call: &PolicyOptions, keep: &PolicyOptions, model: Option<&str>) -> Self {
        let (context, output) = model.and_then(model_limits).unwrap_or((MAX_CONTEXT_TOKENS, MAX_OUTPUT_TOKENS));
        Self {
            max_context_tokens: call.max_context_tokens.or(keep.max_context_tokens).unwrap_or(context),
            max_output_tokens: call.max_output_tokens.or(keep.max_output_tokens).unwrap_or(output),
            safety_margin: call.safety_margin.or(keep.safety_margin).unwrap_or(SAFETY_MARGIN),
            compaction_ratio: call.compaction_ratio.or(keep.compaction_ratio).unwrap_or(COMPACTION_RATIO),
            compaction_threshold: call.compaction_threshold.or(keep.compaction_threshold),
        }
    }

    /// The most tokens that a prompt should have: the context without what the answer and miscounting take; zero where they
    /// take all of it.
    pub fn input_budget(&self) -> u64 {
        self.max_context_tokens.saturating_sub(self.max_output_tokens.saturating_add(self.safety_margin))
    }

    /// Whether a history is to be compacted after a response: `prompt_tokens` is what the provider reported of the prompt that
    /// led to it, where it did, and `messages` how many there are that no checkpoint covers.
    pub fn reason(&self, prompt_tokens: Option<u64>, messages: u32) -> Option<Reason> {
        let budget = self.input_budget();
        let early = u128::from(budget) * u128::from(self.compaction_ratio.thousandths());
        match prompt_tokens {
            Some(tokens) if tokens > budget => return Some(Reason::OverBudget),
            Some(tokens) if u128::from(tokens) * 1000 > early => return Some(Reason::EarlyRatio),
            _ => {}
        }
        self.compaction_threshold.filter(|threshold| messages > *threshold).map(|_| Reason::Messages)
    }
}

/// The request for a compaction, if there is one. It stays until it was carried out or found unnecessary, and what was settled is
/// not asked for again by itself before something was added. What the content is, its caller says: a text that changes
/// whenever something is added, such as the leaf's id and the number of messages.
///
/// ```
/// use threadkeep_compaction::{Reason, Requests};
/// let mut requests = Requests::default();
/// assert!(requests.request(Reason::OverBudget, "leaf"));
/// requests.settle("leaf");
/// assert!(!requests.request(Reason::OverBudget, "leaf"));
/// assert!(requests.request(Reason::EarlyRatio, "next"));
/// assert_eq!(requests.pending(), Some(Reason::EarlyRatio));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Requests {
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<String>,
}

impl Requests {
    /// Asks for a compaction (`requestCompaction`). Whether one is pending now: not where the same content was settled last,
    /// unless somebody asks for it by hand.
    pub fn request(&mut self, reason: Reason, content: &str) -> bool {
        if reason == Reason::Manual || self.settled.as_deref() != Some(content) {
            // The first reason stays: it is why the request waits.
            self.pending = self.pending.or(Some(reason));
        }
        self.pending.is_some()
    }

    /// Why a compaction is wanted; `None` where none is.
    pub fn pending(&self) -> Option<Reason> {
        self.pending
    }

    /// Notes that the request was carried out on this content, or found unnecessary (`clearCompactionRequest`).
    pub fn settle(&mut self, content: &str) {
        self.pending = None;
        self.settled = Some(content.to_owned());
    }
}
