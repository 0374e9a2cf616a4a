//! Prices: what providers ask for a request's tokens.
//!
//! The table is LiteLLM's `model_prices_and_context_window.json` of [`PRICES_OF`], which follows the providers' own pages. Prices
//! change; whoever knows better gives its own.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Usage;

/// The day of the table of prices, year first.
pub const PRICES_OF: &str = "2026-07-24";

/// What a model's tokens cost, in US dollars for a million.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Price {
    /// The model's name.
    pub model: String,
    /// Of the prompt.
    #[serde(deserialize_with = "price")]
    pub input: f64,
    /// Of the answer.
    #[serde(deserialize_with = "price")]
    pub output: f64,
    /// Of what came from the provider's cache; `input` without it.
    #[serde(default, deserialize_with = "maybe_price")]
    pub cache_read: Option<f64>,
    /// Of what was written to the provider's cache for five minutes; `input` without it.
    #[serde(default, deserialize_with = "maybe_price")]
    pub cache_write: Option<f64>,
    /// Of what was written to it for an hour; twice `input` without it.
    #[serde(default, deserialize_with = "maybe_price")]
    pub cache_hour: Option<f64>,
    /// From how many tokens of a prompt on the prompt costs twice as much, and the answer one and a half times.
    #[serde(default)]
    pub long_from: Option<u64>,
}

/// Name, input, output, cache read, cache write, prompt from which it costs more; 0 for none.
type Row = (&'static str, f64, f64, f64, f64, u64);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("claude-3-7-sonnet", 3.0, 15.0, 0.3, 3.75, 0),
    ("claude-3-5-sonnet", 3.0, 15.0, 0.3, 3.75, 0),
    ("claude-3-5-haiku", 0.8, 4.0, 0.08, 1.0, 0),
    ("claude-3-haiku", 0.25, 1.25, 0.03, 0.3, 0),
    ("claude-3-opus", 15.0, 75.0, 1.5, 18.75, 0),
    ("claude-opus-4", 15.0, 75.0, 1.5, 18.75, 0),
    ("claude-opus-4-1", 15.0, 75.0, 1.5, 18.75, 0),
    ("claude-opus-4-5", 5.0, 25.0, 0.5, 6.25, 0),
    ("claude-opus-4-6", 5.0, 25.0, 0.5, 6.25, 0),
    ("claude-opus-4-7", 5.0, 25.0, 0.5, 6.25, 0),
    ("claude-opus-4-8", 5.0, 25.0, 0.5, 6.25, 0),
    ("claude-opus-5", 5.0, 25.0, 0.5, 6.25, 0),
    ("claude-sonnet-4", 3.0, 15.0, 0.3, 3.75, 200_000),
    ("claude-sonnet-4-5", 3.0, 15.0, 0.3, 3.75, 200_000),
    ("claude-sonnet-4-6", 3.0, 15.0, 0.3, 3.75, 0),
    ("claude-sonnet-5", 2.0, 10.0, 0.2, 2.5, 0),
    ("claude-haiku-4-5", 1.0, 5.0, 0.1, 1.25, 0),
    ("claude-fable-5", 10.0, 50.0, 1.0, 12.5, 0),
    ("claude-mythos-5", 10.0, 50.0, 1.0, 12.5, 0),
    ("gemini-2.0-flash", 0.1, 0.4, 0.025, 0.0, 0),
    ("gemini-2.0-flash-lite", 0.075, 0.3, 0.0187, 0.0, 0),
    ("gemini-2.5-flash", 0.3, 2.5, 0.03, 0.0, 0),
    ("gemini-2.5-flash-lite", 0.1, 0.4, 0.01, 0.0, 0),
    ("gemini-2.5-pro", 1.25, 10.0, 0.125, 0.0, 200_000),
    ("gemini-3-flash", 0.5, 3.0, 0.05, 0.0, 0),
    ("gemini-3-pro", 2.0, 12.0, 0.2, 0.0, 200_000),
    ("gemini-3.1-flash-lite", 0.25, 1.5, 0.025, 0.0, 0),
    ("gemini-3.1-pro", 2.0, 12.0, 0.2, 0.0, 200_000),
    ("gemini-3.5-flash", 1.5, 9.0, 0.15, 0.0, 0),
    ("gemini-3.5-flash-lite", 0.3, 2.5, 0.03, 0.0, 0),
    ("gemini-3.6-flash", 1.5, 7.5, 0.15, 0.0, 0),
    ("gpt-4", 30.0, 60.0, 0.0, 0.0, 0),
    ("gpt-4-turbo", 10.0, 30.0, 0.0, 0.0, 0),
    ("gpt-4.1", 2.0, 8.0, 0.5, 0.0, 0),
    ("gpt-4.1-mini", 0.4, 1.6, 0.1, 0.0, 0),
    ("gpt-4.1-nano", 0.1, 0.4, 0.025, 0.0, 0),
    ("gpt-4o", 2.5, 10.0, 1.25, 0.0, 0),
    ("gpt-4o-mini", 0.15, 0.6, 0.075, 0.0, 0),
    ("gpt-5", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5-chat", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5-codex", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5-mini", 0.25, 2.0, 0.025, 0.0, 0),
    ("gpt-5-nano", 0.05, 0.4, 0.005, 0.0, 0),
    ("gpt-5-pro", 15.0, 120.0, 0.0, 0.0, 0),
    ("gpt-5.1", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5.1-chat", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5.1-codex", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5.1-codex-max", 1.25, 10.0, 0.125, 0.0, 0),
    ("gpt-5.1-codex-mini", 0.25, 2.0, 0.025, 0.0, 0),
    ("gpt-5.2", 1.75, 14.0, 0.175, 0.0, 0),
    ("gpt-5.2-chat", 1.75, 14.0, 0.175, 0.0, 0),
    ("gpt-5.2-codex", 1.75, 14.0, 0.175, 0.0, 0),
    ("gpt-5.2-pro", 21.0, 168.0, 0.0, 0.0, 0),
    ("gpt-5.3-chat", 1.75, 14.0, 0.175, 0.0, 0),
    ("gpt-5.3-codex", 1.75, 14.0, 0.175, 0.0, 0),
    ("gpt-5.4", 2.5, 15.0, 0.25, 0.0, 272_000),
    ("gpt-5.4-mini", 0.75, 4.5, 0.075, 0.0, 0),
    ("gpt-5.4-nano", 0.2, 1.25, 0.02, 0.0, 0),
    ("gpt-5.4-pro", 30.0, 180.0, 3.0, 0.0, 272_000),
    ("gpt-5.5", 5.0, 30.0, 0.5, 0.0, 272_000),
    ("gpt-5.5-pro", 30.0, 180.0, 3.0, 0.0, 272_000),
    ("gpt-5.6", 5.0, 30.0, 0.5, 6.25, 272_000),
    ("gpt-5.6-luna", 1.0, 6.0, 0.1, 1.25, 272_000),
    ("gpt-5.6-sol", 5.0, 30.0, 0.5, 6.25, 272_000),
    ("gpt-5.6-terra", 2.5, 15.0, 0.25, 3.125, 272_000),
    ("o1", 15.0, 60.0, 7.5, 0.0, 0),
    ("o1-pro", 150.0, 600.0, 0.0, 0.0, 0),
    ("o3", 2.0, 8.0, 0.5, 0.0, 0),
    ("o3-mini", 1.1, 4.4, 0.55, 0.0, 0),
    ("o3-pro", 20.0, 80.0, 0.0, 0.0, 0),
    ("o4-mini", 1.1, 4.4, 0.275, 0.0, 0),
];

/// Parts behind a name that do not change the price.
const VARIANTS: [&str; 8] = ["latest", "preview", "thinking", "customtools", "high", "medium", "low", "xhigh"];

impl Price {
    /// The price of a model. A date or `latest` behind its name, and a maker or a router before it, do not matter. `None` for a
    /// model that the table does not have.
    ///
    /// ```
    /// use threadkeep_provider::Price;
    /// assert_eq!(Price::of("claude-sonnet-4-5-20250929").unwrap().output, 15.0);
    /// assert_eq!(Price::of("anthropic/claude-opus-4.5"), Price::of("claude-opus-4-5"));
    /// assert_eq!(Price::of("gpt-5.9"), None);
    /// assert_eq!(Price::of("gpt-5-mini").unwrap().input, 0.25);
    /// ```
    pub fn of(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        // Routers write Claude's numbers with points.
        let name = if name.starts_with("claude") { name.replace('.', "-") } else { name };
        let same = |row: &&Row| {
            name.strip_prefix(row.0).is_some_and(|rest| {
                let mut parts = rest.split(['-', '@', ':']);
                // Two digits right behind a name are another model: `claude-opus-4-10` is not `claude-opus-4`.
                parts.next() == Some("")
                    && parts.enumerate().all(|(at, part)| is_variant(part, if at == 0 { 3 } else { 2 }))
            })
        };
        let (model, input, output, read, write, long) = *TABLE.iter().filter(same).max_by_key(|row| row.0.len())?;
        let given = |price: f64| Some(price).filter(|price| *price > 0.0);
        Some(Self {
            model: model.to_owned(),
            input,
            output,
            cache_read: given(read),
            cache_write: given(write),
            cache_hour: None,
            long_from: Some(long).filter(|long| *long > 0),
        })
    }

    /// The price of a model: the first of these that is its, else the table's.
    pub fn among(prices: &[Self], model: &str) -> Option<Self> {
        prices.iter().find(|price| price.model == model).cloned().or_else(|| Self::of(model))
    }

    /// What a request costs, in US dollars.
    ///
    /// ```
    /// use threadkeep_provider::{Price, Usage};
    /// let price = Price::of("claude-opus-4-5").unwrap();
    /// let usage = Usage { prompt_tokens: 1_000_000, cached_tokens: Some(900_000), completion_tokens: 10_000, ..Usage::default() };
    /// // 100,000 at 5 dollars a million, 900,000 at 50 cents, 10,000 at 25 dollars.
    /// assert!((price.cost(&usage) - 1.2).abs() < 1e-9);
    /// ```
    pub fn cost(&self, usage: &Usage) -> f64 {
        let (read, written) = (usage.cached_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
        let hour = usage.cache_hour_tokens.unwrap_or(0).min(written);
        let plain = usage.prompt_tokens.saturating_sub(read).saturating_sub(written);
        let is_long = self.long_from.is_some_and(|from| usage.prompt_tokens > from);
        let (prompt, answer) = if is_long { (2.0, 1.5) } else { (1.0, 1.0) };
        let asked = plain as f64 * self.input
            + read as f64 * self.cache_read.unwrap_or(self.input)
            + (written - hour) as f64 * self.cache_write.unwrap_or(self.input)
            + hour as f64 * self.cache_hour.unwrap_or(self.input * 2.0);
        (asked * prompt + usage.completion_tokens as f64 * self.output * answer) / 1e6
    }
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if price.is_finite() && price >= 0.0 { Ok(price) } else { Err(D::Error::custom("must be a number from 0 on")) }
}

fn maybe_price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    price(deserializer).map(Some)
}

/// Whether a part of a name is a date, a revision, or a word that does not change the price.
fn is_variant(part: &str, digits: usize) -> bool {
    part.len() >= digits && part.bytes().all(|byte| byte.is_ascii_digit()) || VARIANTS.contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_a_dated_one() {
        for row in TABLE {
            assert_eq!(Price::of(row.0).map(|price| price.input), Some(row.1), "{}", row.0);
            assert_eq!(Price::of(&format!("{}-20260101", row.0)).map(|price| price.output), Some(row.2), "{}", row.0);
            assert_eq!(TABLE.iter().filter(|other| other.0 == row.0).count(), 1, "{}", row.0);
            assert!(row.3 < row.1 && row.1 < row.2, "{}: cached is cheaper, the answer dearer", row.0);
        }
    }

    #[test]
    fn another_model_has_no_price_of_a_near_one() {
        for name in
            ["gpt-5-ultra", "claude-opus-4-9", "claude-opus-4-10", "claude-opus", "o3-mega", "llama3.3", "", "gpt-50"]
        {
            assert_eq!(Price::of(name), None, "{name}");
        }
        assert_eq!(Price::of("models/gemini-2.5-pro"), Price::of("gemini-2.5-pro-preview-05-06"));
    }

    #[test]
    fn an_hour_in_the_cache_and_long_prompts_cost_more() {
        let million = |usage: Usage| Usage { prompt_tokens: 100_000, ..usage };
        let sonnet = Price::of("claude-sonnet-4-5").unwrap();
        let write =
            |hour| million(Usage { cache_write_tokens: Some(100_000), cache_hour_tokens: hour, ..Usage::default() });
        let cost = |usage: &Usage| (sonnet.cost(usage) * 1e6).round() / 1e6;
        assert_eq!((cost(&write(None)), cost(&write(Some(100_000)))), (0.375, 0.6));
        let long = |prompt_tokens| Usage { prompt_tokens, completion_tokens: 1000, ..Usage::default() };
        assert_eq!((cost(&long(200_000)), cost(&long(200_001))), (0.615, 1.222_506));
        // What is not cached has the price of the prompt.
        let plain = Price { input: 2.0, output: 4.0, ..Price::default() };
        let usage = Usage { cached_tokens: Some(50_000), completion_tokens: 10, ..Usage::default() };
        assert!((plain.cost(&million(usage)) - 0.200_04).abs() < 1e-12);
    }
}
