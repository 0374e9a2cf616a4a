//! Compactions that are only imagined: what the built-in rules would make of a chain, without storing it.

use threadkeep_context::tokens::cost;
use threadkeep_core::checkpoint::{Checkpoint, summary_message};
use threadkeep_store::Store;

use super::{CompactOptions, Extractive};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// The checkpoint that the built-in rules would make of a chain, with `before` in place of the stored checkpoints. `None` if there
    /// is nothing to cover, or the summary would not be smaller. Nothing is stored.
    pub(crate) async fn imagined_checkpoint(
        &self,
        at: &str,
        options: &CompactOptions,
        before: Option<&Checkpoint>,
    ) -> Result<Option<Checkpoint>, KeepError> {
        let counter = self.counter(options.encoding)?;
        let counter = counter.as_ref();
        let place = self.request_place(at).await?;
        let (Some(job), _) = self.job(&place, at, options, Some(before), counter).await? else { return Ok(None) };
        let made = match self.summarised(&job, options, &Extractive, counter).await {
            Err(KeepError::Refused(_)) => return Ok(None),
            made => made?,
        };
        let message = summary_message(&made.statements, &job.covers, &job.window.anchor);
        let after = message.map_or(0, |message| u64::from(cost(&message, options.provider, counter).total()));
        if after >= job.before {
            return Ok(None);
        }
        Ok(self.records(&place.transcript, &job, made, after, options).0.checkpoint)
    }
}
