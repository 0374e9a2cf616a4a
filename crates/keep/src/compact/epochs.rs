//! The checkpoints of a chain, and the stretches of it in which each held.

use std::ops::Range;

use threadkeep_core::MessageId;
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::transcript::Epoch;
use threadkeep_store::Store;

use crate::{Keep, KeepError};

/// An epoch of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochInfo {
    /// Its checkpoint; `None` for the original one.
    pub checkpoint: Option<Checkpoint>,
    /// The places of the messages that its prompts have raw, up to those that were there when it ended.
    pub messages: Range<usize>,
    /// The node that was the chain's end then.
    pub leaf: MessageId,
}

impl EpochInfo {
    /// Its name in the option `epoch`: the checkpoint's id, or `original`.
    pub fn name(&self) -> &str {
        self.checkpoint.as_ref().map_or("original", |checkpoint| &checkpoint.id)
    }
}

impl From<Epoch<'_>> for EpochInfo {
    fn from(epoch: Epoch) -> Self {
        let (start, end) = (epoch.start, epoch.end.max(epoch.start));
        Self { checkpoint: epoch.checkpoint.cloned(), messages: start..end, leaf: epoch.leaf }
    }
}

impl<S: Store> Keep<S> {
    /// The checkpoints whose anchors are on the chain that ends at `at`, the shallowest anchor first; the last is the one that
    /// the chain uses.
    ///
    /// # Errors
    /// `missing-node`; those of a chain; the store's.
    pub async fn checkpoints(&self, at: &str) -> Result<Vec<Checkpoint>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let chain = log.tree.chain(&leaf)?;
            Ok(log.tree.checkpoints_on(&chain).into_iter().map(|(_, _, checkpoint)| checkpoint.clone()).collect())
        });
        found.await
    }

    /// The epochs of the chain that ends at `at`, the original one first. [`Keep::context`] with an epoch's leaf and
    /// checkpoint gives the prompt as it was then.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn epochs(&self, at: &str) -> Result<Vec<EpochInfo>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found =
            self.glance(&transcript, |log| Ok(log.tree.epochs(&leaf)?.into_iter().map(EpochInfo::from).collect()));
        found.await
    }
}
