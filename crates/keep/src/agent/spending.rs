//! The limit on what an agent spends: what was spent, summaries with it, is added up from the journal. A request that would exceed the limit is
//! not sent.

use threadkeep_provider::Usage;
use threadkeep_store::Store;

use super::how::How;
use super::turn::Turn;
use super::{AgentOptions, By};
use crate::KeepError;
use crate::compact::CompactOptions;
use crate::journal::read;
use crate::protocol::{BadRequest, RequestRecord, SpendingLimit, SpendingSpan};

/// Milliseconds.
const DAY: i64 = 86_400_000;

impl AgentOptions {
    /// Checks that the spending limit can be kept for a model: its price must be known.
    ///
    /// # Errors
    /// [`BadRequest`] names the option `spendingLimit.prices`.
    pub fn check_spending(&self, model: &str) -> Result<(), BadRequest> {
        match &self.spending {
            Some(limit) if limit.price(model).is_none() => Err(BadRequest {
                argument: "spendingLimit.prices".to_owned(),
                why: ["must have the price of ", model, ", which is not in the table of prices"].concat(),
            }),
            _ => Ok(()),
        }
    }
}

impl<S: Store> Turn<'_, S> {
    /// Why a request of so many tokens would exceed the spending limit; `None` if it may be sent.
    pub(super) async fn over_spending(&self, tokens: u64, has_journal: bool) -> Result<Option<String>, KeepError> {
        let Some(limit) = &self.agent.options.spending else { return Ok(None) };
        let model = self.agent.model.name();
        let Some(price) = limit.price(model) else {
            let why = ["the price of ", model, " is not known: name it in spendingLimit.prices. Nothing was sent"];
            return Ok(Some(why.concat()));
        };
        if !has_journal {
            let why =
                "the journal is off, so nobody adds up what was spent: switch it on in the settings. Nothing was sent";
            return Ok(Some(why.to_owned()));
        }
        let next = price.cost(&Usage { prompt_tokens: tokens, ..Usage::default() });
        let spent = self.spent(limit).await?;
        if spent + next <= limit.dollars {
            return Ok(None);
        }
        let (next, spent, most) = (words(next), words(spent), words(limit.dollars));
        let span = if limit.per == SpendingSpan::Turn { "turn" } else { "day" };
        Ok(Some(format!(
            "the next request costs about {next} dollars, and {spent} were spent: together more than the limit of {most} dollars per \
             {span}. Nothing was sent. Raise spendingLimit.dollars, or shorten the prompt"
        )))
    }

    /// Who summarises within the spending limit: the built-in rules if the agent's own model would exceed it. A summariser that is given has
    /// no known price, and counts nothing.
    pub(super) async fn affordable(&self, options: &CompactOptions, how: &How) -> Result<By, KeepError> {
        let by = how.by.clone();
        if self.agent.options.spending.is_none() || !matches!(by, By::Model(_)) {
            return Ok(by);
        }
        let preview = CompactOptions { preview: true, ..options.clone() };
        let tokens = match self.agent.memory.compact(&self.node, &preview, by.clone()).await {
            Ok(done) => done.would_send.map_or(0, |sending| sending.tokens),
            Err(error @ KeepError::Store(_)) => return Err(error),
            // The compaction itself fails likewise, and says so.
            Err(_) => return Ok(by),
        };
        let is_over = self.over_spending(tokens, how.journal.is_some()).await?.is_some();
        Ok(if is_over { By::Rules } else { by })
    }

    /// What was spent within the limit's span, in US dollars.
    async fn spent(&self, limit: &SpendingLimit) -> Result<f64, KeepError> {
        let keep = &self.agent.keep;
        let today = keep.now().div_euclid(DAY) * DAY;
        let mut transcripts = vec![self.transcript.clone()];
        if limit.per == SpendingSpan::Day {
            // A turn that began yesterday can send today.
            let is_recent = |at: i64| at >= today - DAY;
            let others = keep.transcripts().await?.into_iter().filter(|it| it.id != self.transcript);
            let others = others.filter(|it| it.info.updated_at.is_none_or(is_recent));
            transcripts.extend(others.map(|it| it.id));
        }
        let is_ours = |record: &RequestRecord| {
            record.agent.as_deref() == Some(self.agent.options.name.as_str())
                && match limit.per {
                    SpendingSpan::Turn => record.node == self.node,
                    SpendingSpan::Day => record.sent_at >= today,
                }
        };
        let mut dollars = 0.0;
        for transcript in &transcripts {
            for (key, bytes) in keep.noted(transcript).await? {
                let record: RequestRecord = read(&key, &bytes)?;
                if is_ours(&record) {
                    dollars += paid(&record, limit);
                }
            }
        }
        Ok(dollars)
    }
}

/// What a request cost. One whose answer is awaited, or never came, counts with its counted tokens.
fn paid(record: &RequestRecord, limit: &SpendingLimit) -> f64 {
    let counted = Usage { prompt_tokens: record.tokens, ..Usage::default() };
    limit.price(&record.model).map_or(0.0, |price| price.cost(&record.usage.unwrap_or(counted)))
}

/// Dollars with four digits after the point. The formatter of fractions would be four kilobytes of the module.
fn words(dollars: f64) -> String {
    let parts = (dollars * 10_000.0).round() as u64;
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}
