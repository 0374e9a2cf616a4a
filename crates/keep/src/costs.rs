//! What requests cost: the journal's usage at the models' prices, summed up.

use std::collections::HashSet;

use threadkeep_core::date;
use threadkeep_provider::{PRICES_OF, Price};
use threadkeep_store::Store;

use crate::protocol::{Costs, Prices, RequestRecord};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// What requests cost: those of a chain or a transcript, as [`Keep::requests`] has them, or of the whole keep. A request that
    /// several imported sessions repeat counts once.
    ///
    /// # Errors
    /// As [`Keep::requests`].
    pub async fn costs(&self, at: Option<&str>, prices: &Prices) -> Result<Costs, KeepError> {
        let mut costs = Costs { prices_of: PRICES_OF, ..Costs::default() };
        let mut known = HashSet::new();
        if let Some(at) = at {
            sum_up(self.requests_at(at, None, prices).await?, prices, &mut known, &mut costs);
            return Ok(costs);
        }
        for transcript in self.transcripts().await? {
            match self.requests_of(&transcript.id, None).await {
                Ok(records) => sum_up(records, prices, &mut known, &mut costs),
                // Another tab has just deleted it.
                Err(KeepError::MissingTranscript(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(costs)
    }
}

/// What a request cost, if the model's price is known.
pub(crate) fn cost(record: &RequestRecord, prices: &Prices) -> Option<f64> {
    let price = prices.get(&record.model).copied().or_else(|| Price::of(&record.model))?;
    record.usage.as_ref().map(|usage| price.cost(usage))
}

/// Adds requests to the sums, those that are known already left out.
fn sum_up(records: Vec<RequestRecord>, prices: &Prices, known: &mut HashSet<String>, costs: &mut Costs) {
    for record in records {
        if record.provider_id.as_ref().is_some_and(|id| !known.insert(id.clone())) {
            continue;
        }
        let cost = cost(&record, prices);
        let Costs { total, threads, days, models, .. } = &mut *costs;
        let readable = date::readable(record.sent_at);
        let of_day = days.entry(readable.get(..10).unwrap_or_default().to_owned()).or_default();
        let of_thread = threads.entry(record.transcript.as_str().to_owned()).or_default();
        for sum in [total, of_thread, of_day, models.entry(record.model).or_default()] {
            sum.requests += 1;
            sum.unpriced += u32::from(cost.is_none());
            sum.usage = sum.usage.plus(record.usage.unwrap_or_default());
            sum.dollars += cost.unwrap_or_default();
        }
    }
}
