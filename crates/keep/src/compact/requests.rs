//! Requests for compactions: made after a response or by hand, kept in the store until they are carried out or found
//! unnecessary, so that a restart loses none and no content is asked about twice in a row. And the strategies of heads.

use threadkeep_compaction::{Policy, PolicyOptions, Reason, Requests};
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::{Entry, MessageId, TranscriptId};
use threadkeep_store::{Commit, Store, StoreError};

use crate::context::Chain;
use crate::hash::fnv;
use crate::json::{from_json, to_json};
use crate::keep::Write;
use crate::{Keep, KeepError, keys};

/// Where a request is kept, and what it is about.
pub(super) struct Place {
    pub(super) key: String,
    pub(super) transcript: TranscriptId,
    pub(super) leaf: MessageId,
    /// Whether it is a head's.
    pub(super) is_head: bool,
}

impl<S: Store> Keep<S> {
    /// Looks at what a response reported (`prompt_tokens` of its usage), and asks for a compaction of `at` where the policy wants
    /// one. Gives why one is pending.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn after_response(
        &self,
        at: &str,
        prompt_tokens: Option<u64>,
        policy: &Policy,
    ) -> Result<Option<Reason>, KeepError> {
        let place = self.request_place(at).await?;
        let found = self.glance(&place.transcript, |log| {
            let mut chain = Chain::new(&log.tree, &place.leaf)?;
            chain.lay(&log.tree, None, &[])?;
            let uncovered = chain.items.len().saturating_sub(chain.laid.end) as u32;
            Ok((policy.reason(prompt_tokens, uncovered), content(&place.leaf, chain.items.len())))
        });
        let (reason, content) = found.await?;
        let mut pending = None;
        self.change_request(&place.key, &mut |requests| {
            if let Some(reason) = reason {
                requests.request(reason, &content);
            }
            pending = requests.pending();
        })
        .await?;
        Ok(pending)
    }

    /// Asks for a compaction of `at` by hand.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn request_compaction(&self, at: &str) -> Result<(), KeepError> {
        let place = self.request_place(at).await?;
        self.change_request(&place.key, &mut |requests| {
            requests.request(Reason::Manual, "");
        })
        .await
    }

    /// Why a compaction of `at` is pending; `None` where none is.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn compaction_required(&self, at: &str) -> Result<Option<Reason>, KeepError> {
        let place = self.request_place(at).await?;
        Ok(self.asked_at(&place.key).await?.pending())
    }

    /// Takes a request back, as if it had been carried out on what the chain is now.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn clear_compaction_request(&self, at: &str) -> Result<(), KeepError> {
        let place = self.request_place(at).await?;
        let length = self.glance(&place.transcript, |log| Ok(log.tree.message_count(&place.leaf)?)).await?;
        self.settle_request(&place.key, &content(&place.leaf, length)).await
    }

    pub(super) async fn settle_request(&self, key: &str, content: &str) -> Result<(), KeepError> {
        self.change_request(key, &mut |requests| requests.settle(content)).await
    }

    /// Where the request for `at` is kept: with the head of that name, else with the node.
    pub(super) async fn request_place(&self, at: &str) -> Result<Place, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let is_head = self.is_head(&transcript, at).await?;
        let key = if is_head { keys::ASKED.of(None, at) } else { keys::ASKED.of(Some(&transcript), leaf.as_str()) };
        Ok(Place { key, transcript, leaf, is_head })
    }

    async fn asked_at(&self, key: &str) -> Result<Requests, KeepError> {
        let Some(bytes) = self.inner.store.get(key).await? else { return Ok(Requests::default()) };
        let corrupt = |why: String| StoreError::Corrupt { key: key.to_owned(), why };
        Ok(from_json(&bytes).map_err(|error| corrupt(error.to_string()))?)
    }

    /// Changes a request, and stores it where that changed something. Of two tabs the last one holds: the worst that comes
    /// of it is a request that is found unnecessary.
    async fn change_request(&self, key: &str, change: &mut dyn FnMut(&mut Requests)) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let before = self.asked_at(key).await?;
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            let puts = vec![(key.to_owned(), to_json(&after)?)];
            self.inner.store.commit(Commit { puts, ..Commit::default() }).await?;
        }
        Ok(())
    }

    /// How the chain at a head is compacted where a call does not say; `None` where that was not chosen, there or for a wider place: then
    /// it is as the checkpoint before was made.
    ///
    /// # Errors
    /// `missing-thread`; the store's.
    pub async fn strategy(&self, name: &str) -> Result<Option<Strategy>, KeepError> {
        self.head(name).await?.ok_or_else(|| KeepError::MissingHead(name.to_owned()))?;
        Ok(self.context_options(Some(name)).await?.compacting().and_then(|compaction| compaction.strategy))
    }

    /// Chooses how the chain at a head is compacted from now on. It is stored with the head: it moves with it, and goes with it.
    ///
    /// # Errors
    /// `missing-thread`; `damaged`; the store's.
    pub async fn set_strategy(&self, name: &str, strategy: Option<Strategy>) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        self.write_strategy(name, strategy).await?;
        // What was said last holds.
        let own = self.own_context_options(Some(name)).await?;
        self.store_settings(Some(name), &own.without_strategy()).await
    }

    /// [`Keep::set_strategy`] for a caller who holds [`Keep::writing`]; the settings of the head stay as they are.
    pub(crate) async fn write_strategy(&self, name: &str, strategy: Option<Strategy>) -> Result<(), KeepError> {
        let missing = || KeepError::MissingHead(name.to_owned());
        let transcript = self.at_head(name, |tree, _| Ok(tree.id().clone())).await?.ok_or_else(missing)?;
        let written = self.write(&transcript, |log| {
            if !log.tree.heads().contains_key(name) {
                return Err(missing());
            }
            let same = log.tree.strategy(name) == strategy;
            let entry = Entry::Strategy { name: name.to_owned(), strategy };
            Ok(Write::new(if same { Vec::new() } else { vec![entry] }, ()))
        });
        written.await?.ok_or_else(missing)
    }
}

/// What is stored once a request was carried out on `content`.
pub(super) fn settled(key: &str, content: &str) -> Result<(String, Vec<u8>), KeepError> {
    let mut requests = Requests::default();
    requests.settle(content);
    Ok((key.to_owned(), to_json(&requests)?))
}

/// The policy of a call; see [`Policy::resolve`].
pub fn policy(call: &PolicyOptions, keep: &PolicyOptions, model: Option<&str>) -> Policy {
    Policy::resolve(call, keep, model)
}

/// What names the content of a chain: it changes whenever something is added. A hash, so that what is kept of a
/// request names no node that was deleted since.
pub(super) fn content(leaf: &MessageId, messages: usize) -> String {
    let bytes = leaf.as_str().bytes().chain((messages as u64).to_le_bytes());
    format!("{:016x}", fnv(bytes))
}
