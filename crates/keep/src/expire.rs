//! Times to live: heads that got no message for longer than the settings say are removed, with what only they lead to.

use serde_json::Value;
use threadkeep_core::{Transcript, TranscriptId};
use threadkeep_store::Store;

use crate::protocol::HeadInfo;
use crate::remove::own_branch;
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// Removes the heads whose time to live is over, as [`Keep::clear`] does, and gives them. The time is the setting `ttl`, in seconds: a
    /// head's own, else its transcript's, else the keep's. It counts from the time of the head's newest node. A head without either never
    /// expires.
    ///
    /// Nothing calls this by itself: call it at the start of a program, or by a timer.
    ///
    /// # Errors
    /// `damaged`; the store's. The heads that were removed until then stay removed.
    pub async fn expire(&self) -> Result<Vec<HeadInfo>, KeepError> {
        let mut expired = Vec::new();
        for head in self.heads().await? {
            let _writing = self.writing().await;
            let found = self.at_head(&head.name, |tree, node| {
                let made = tree.get(node).and_then(|placed| placed.node.created_at);
                Ok((tree.id().clone(), node.clone(), made, own_branch(tree, &head.name, node), tree.next_seq()))
            });
            let Some((transcript, node, Some(made), own, seen)) = found.await? else { continue };
            let Some(seconds) = self.ttl(&transcript, &head.name).await?.filter(|seconds| *seconds > 0) else {
                continue;
            };
            let end = made.saturating_add_unsigned(seconds.saturating_mul(1000));
            if end > self.now() {
                continue;
            }
            let unless_grown = |tree: &Transcript| (tree.next_seq() <= seen).then(|| own.iter().cloned().collect());
            if self.remove_head(&head.name, &transcript, &unless_grown).await?.is_some() {
                expired.push(HeadInfo { name: head.name, transcript, node });
            }
        }
        Ok(expired)
    }

    /// The time to live of a head in seconds; zero for one that never expires. It reads the stored text alone: the settings' reader would
    /// come with it into the part that deletes.
    async fn ttl(&self, transcript: &TranscriptId, head: &str) -> Result<Option<u64>, KeepError> {
        for key in [keys::settings_at(head), keys::settings_of(transcript), keys::SETTINGS.to_owned()] {
            let Some(bytes) = self.inner.store.get(&key).await? else { continue };
            let found =
                serde_json::from_slice::<Value>(&bytes).ok().and_then(|mut all| Some(all.get_mut("ttl")?.take()));
            if let Some(found) = found {
                return Ok(Some(found.as_u64().unwrap_or(0)));
            }
        }
        Ok(None)
    }
}
