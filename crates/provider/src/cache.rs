//! Rules of providers' prompt caches: how long a prefix stays, and how long it must be.

use super::Provider;

/// When a provider has the beginning of a prompt in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRule {
    /// How long a prefix stays after it was written or read, in milliseconds.
    pub millis: i64,
    /// How many tokens a prefix must have.
    pub least: u64,
}

impl CacheRule {
    /// A provider's rule for a model, by its documentation as of [`PRICES_OF`](super::PRICES_OF). `hour` asks Anthropic's cache to keep
    /// for an hour what it keeps for five minutes otherwise. `None` for Ollama, which does not sell tokens.
    ///
    /// ```
    /// use threadkeep_provider::{CacheRule, Provider};
    /// let rule = CacheRule::of(Provider::Anthropic, "claude-opus-4-6", false).unwrap();
    /// assert_eq!((rule.millis, rule.least), (300_000, 4096));
    /// ```
    pub fn of(provider: Provider, model: &str, hour: bool) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| model.contains(word));
        let (minutes, least) = match provider {
            Provider::Anthropic => {
                let least = match () {
                    () if has(&["opus-4-5", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5", "haiku-4-5"]) => 4096,
                    () if has(&["haiku-3", "3-5-haiku", "3-haiku"]) => 2048,
                    () => 1024,
                };
                (if hour { 60 } else { 5 }, least)
            }
            Provider::OpenAiChat | Provider::OpenAiResponses => (5, 1024),
            Provider::Gemini => (5, if has(&["pro"]) { 4096 } else { 1024 }),
            Provider::Ollama => return None,
        };
        Some(Self { millis: minutes * 60_000, least })
    }
}
