//! Compactions that are only imagined: what the built-in rules would make of a chain, without storing it.

use threadkeep_core::checkpoint::Checkpoint;
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
        match self.drawn_up(&place.transcript, &job, options, &Extractive, counter).await {
            Err(KeepError::Refused(_)) => Ok(None),
            made => Ok(made?.0.checkpoint),
        }
    }
}
