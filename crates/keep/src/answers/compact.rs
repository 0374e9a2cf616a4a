//! Answers about compactions, and the options of one.

use serde_json::Value;
use threadkeep_compaction::Reason;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_json::own_value;
use threadkeep_store::Store;

use crate::compact::{CompactOptions, Compacted, EpochInfo, Sending, Stored};
use crate::protocol::{
    CheckpointInfo, CompactCall, CompactionReply, CompactionRequest, EpochReply, Places, StoredMessage, WouldSend,
};
use crate::{Keep, KeepError};

impl From<&CompactCall> for CompactOptions {
    fn from(call: &CompactCall) -> Self {
        Self {
            strategy: call.strategy,
            tail_turns: call.keep_turns,
            keep_recent: call.keep_recent,
            target_tokens: call.target_tokens.map(u64::from),
            summary_tokens: call.summary_tokens,
            provider: call.provider.unwrap_or_default(),
            encoding: call.encoding.unwrap_or_default(),
            pins: call.pins.clone(),
            preview: call.preview,
            cancel: None,
            agent: call.agent.clone(),
            remember_from: call.remember_from.clone(),
        }
    }
}

impl<S: Store> Keep<S> {
    /// Answers one request about compactions. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn compacting(&self, request: CompactionRequest) -> Result<Value, KeepError> {
        let pending = |reason: Option<Reason>| reason.map(Reason::name).into();
        Ok(match request {
            CompactionRequest::Checkpoints { at } => self
                .checkpoints(&at)
                .await?
                .iter()
                .map(|checkpoint| own_value(&CheckpointInfo::from(checkpoint)))
                .collect(),
            CompactionRequest::Epochs { at } => self.epochs(&at).await?.iter().map(epoch_json).collect(),
            CompactionRequest::UndoCompaction { at, checkpoint } => {
                let undone = self.undo_compaction(&at, checkpoint.as_deref()).await?;
                own_value(&undone.as_ref().map(CheckpointInfo::from))
            }
            CompactionRequest::AfterResponse { at, prompt_tokens, request, usage, policy } => {
                if let Some(request) = request {
                    self.note_answer(&request, usage, "stop").await?;
                }
                let tokens = prompt_tokens.map(u64::from);
                pending(match self.policy_at(&at, &policy).await? {
                    Some(policy) => self.after_response(&at, tokens, &policy).await?,
                    None => self.compaction_required(&at).await?,
                })
            }
            CompactionRequest::RequestCompaction { at } => {
                self.request_compaction(&at).await?;
                Value::Null
            }
            CompactionRequest::ClearCompactionRequest { at } => {
                self.clear_compaction_request(&at).await?;
                Value::Null
            }
            CompactionRequest::CompactionRequired { at } => pending(self.compaction_required(&at).await?),
            CompactionRequest::GetStored { head, start, end } => {
                let (start, end) = (start.unwrap_or_default(), end.unwrap_or(u32::MAX));
                let all = self.stored(&head, start, end).await?;
                all.iter().map(|stored| stored_json(stored, &head)).collect()
            }
            CompactionRequest::Strategy { head } => self.strategy(&head).await?.map(Strategy::name).into(),
            CompactionRequest::SetStrategy { head, strategy } => {
                self.set_strategy(&head, strategy).await?;
                Value::Null
            }
        })
    }
}

fn epoch_json(epoch: &EpochInfo) -> Value {
    own_value(&EpochReply {
        name: epoch.name(),
        checkpoint: epoch.checkpoint.as_ref().map(CheckpointInfo::from),
        messages: Places::from(&epoch.messages),
        leaf: &epoch.leaf,
    })
}

fn stored_json(stored: &Stored, head: &str) -> Value {
    let covered = stored.covered.as_ref();
    own_value(&StoredMessage {
        id: &stored.node,
        part: stored.part,
        thread: head,
        index: stored.index,
        created_at: stored.created_at,
        tokens: stored.tokens,
        compacted: covered.is_some(),
        message: &stored.message,
        tags: &stored.message.tags,
        compacted_range: covered.map(|covered| Places::from(&covered.range)),
        checkpoint: covered.map(|covered| covered.checkpoint.as_str()),
    })
}

fn would_send(sending: &Sending) -> WouldSend<'_> {
    let Sending { to, requests, messages, tokens } = sending;
    WouldSend { to, requests: *requests, messages: *messages, tokens: *tokens }
}

impl Compacted {
    /// It as JSON: a [`CompactionReply`].
    pub fn to_json(&self) -> Value {
        own_value(&CompactionReply {
            checkpoint: self.checkpoint.as_ref().map(CheckpointInfo::from),
            summary_messages: &self.summary_messages,
            compacted_range: Places::from(&self.compacted_range),
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            tokens_saved: self.tokens_saved(),
            cost: self.cost,
            episodes: &self.episodes,
            facts: &self.facts,
            warnings: &self.warnings,
            would_send: self.would_send.as_ref().map(would_send),
        })
    }
}
