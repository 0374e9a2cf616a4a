//! How much an agent may spend.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use threadkeep_provider::Price;

/// How much an agent may spend on its model. Before a request is sent, its prompt is priced by its counted tokens, as if no cache had
/// any of it. What the journal says was spent comes on top. If both are more than the limit, the request is not sent, and the turn ends with
/// the code `spending-limit`. So does a turn whose settings switch the journal off.
///
/// An answer has no price before it came, so the last one can exceed the limit. A summary by the agent's own model counts
/// too: beyond the limit, the built-in rules summarise. A limit per turn stops a loop of tools; one per day stops all turns of the agent
/// together, also after a restart.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SpendingLimit {
    /// The most US dollars.
    #[serde(deserialize_with = "dollars")]
    pub dollars: f64,
    /// For what: a turn, or all turns of the agent on one day (UTC).
    #[cfg_attr(feature = "ts", ts(inline))]
    pub per: SpendingSpan,
    /// Prices of models, before those of the table. A model without a price needs one here.
    #[serde(default)]
    pub prices: Option<Vec<Price>>,
}

/// For what a spending limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum SpendingSpan {
    /// One turn.
    Turn,
    /// All turns of the agent on one day (UTC).
    Day,
}

impl SpendingLimit {
    /// The price of a model: the caller's, else the table's.
    pub fn price(&self, model: &str) -> Option<Price> {
        Price::among(self.prices.as_deref().unwrap_or_default(), model)
    }
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let dollars = f64::deserialize(deserializer)?;
    if dollars.is_finite() && dollars >= 0.0 {
        Ok(dollars)
    } else {
        Err(D::Error::custom("must be a number from 0 on"))
    }
}
