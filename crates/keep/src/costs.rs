//! What requests cost: the journal's usage at the models' prices, summed up.

use std::collections::HashSet;

use threadkeep_core::date;
use threadkeep_core::sort;
use threadkeep_provider::{PRICES_OF, Price};
use threadkeep_store::Store;

use crate::protocol::{Cost, Costs, RequestRecord};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// What requests cost: those of a chain or a transcript, as [`Keep::requests`] has them, or of the whole keep. A request that
    /// several imported sessions repeat counts once.
    ///
    /// # Errors
    /// As [`Keep::requests`].
    pub async fn costs(&self, at: Option<&str>, prices: &[Price]) -> Result<Costs, KeepError> {
        let mut costs = Costs { prices_of: PRICES_OF, ..Costs::default() };
        let mut known = HashSet::new();
        let transcripts = match at {
            Some(at) => {
                sum_up(self.requests_at(at, None, prices).await?, prices, &mut known, &mut costs);
                Vec::new()
            }
            None => self.transcripts().await?,
        };
        for transcript in transcripts {
            match self.requests_of(&transcript.id, None).await {
                Ok(records) => sum_up(records, prices, &mut known, &mut costs),
                // Another tab has just deleted it.
                Err(KeepError::MissingTranscript(_)) => {}
                Err(error) => return Err(error),
            }
        }
        for sums in [&mut costs.days, &mut costs.models] {
            sort::sort_by(sums, |a, b| a.0.cmp(&b.0));
        }
        Ok(costs)
    }
}

/// What a request cost, if the model's price is known.
pub(crate) fn cost(record: &RequestRecord, prices: &[Price]) -> Option<f64> {
    let usage = record.usage.as_ref()?;
    Some(Price::among(prices, &record.model)?.cost(usage))
}

/// Adds requests to the sums, those that are known already left out.
fn sum_up(records: Vec<RequestRecord>, prices: &[Price], known: &mut HashSet<String>, costs: &mut Costs) {
    for record in records {
        if record.provider_id.as_ref().is_some_and(|id| !known.insert(id.clone())) {
            continue;
        }
        let cost = cost(&record, prices);
        let Costs { total, threads, days, models, .. } = &mut *costs;
        let readable = date::readable(record.sent_at);
        let day = readable.get(..10).unwrap_or_default();
        let sums = [of(threads, record.transcript.as_str()), of(days, day), of(models, &record.model)];
        for sum in std::iter::once(total).chain(sums) {
            sum.requests += 1;
            sum.unpriced += u32::from(cost.is_none());
            sum.usage = sum.usage.plus(record.usage.unwrap_or_default());
            sum.dollars += cost.unwrap_or_default();
        }
    }
}

/// The sum of this name. Names are few, and the one that is wanted was mostly the last.
fn of<'a>(sums: &'a mut Vec<(String, Cost)>, name: &str) -> &'a mut Cost {
    let at = sums.iter().rposition(|(known, _)| known == name).unwrap_or(sums.len());
    if at == sums.len() {
        sums.push((name.to_owned(), Cost::default()));
    }
    &mut sums[at].1
}
