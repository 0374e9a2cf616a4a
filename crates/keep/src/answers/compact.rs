//! Answers about compactions, and the options of one.

use serde_json::{Map, Value};
use threadkeep_compaction::Reason;
use threadkeep_core::Message;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_store::Store;

use crate::compact::{CompactOptions, Compacted, EpochInfo, Sending, Stored};
use crate::protocol::{CompactCall, CompactionRequest, checkpoint_json};
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
            CompactionRequest::Checkpoints { at } => self.checkpoints(&at).await?.iter().map(checkpoint_json).collect(),
            CompactionRequest::Epochs { at } => self.epochs(&at).await?.iter().map(epoch_json).collect(),
            CompactionRequest::AfterResponse { at, prompt_tokens, policy } => {
                let tokens = prompt_tokens.map(u64::from);
                pending(self.after_response(&at, tokens, &policy.resolve()).await?)
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
            CompactionRequest::GetStored { context, start, end } => {
                let (start, end) = (start.unwrap_or_default(), end.unwrap_or(u32::MAX));
                let all = self.stored(&context, start, end).await?;
                all.iter().map(|stored| stored_json(stored, &context)).collect()
            }
            CompactionRequest::Strategy { context } => self.strategy(&context).await?.map(Strategy::name).into(),
            CompactionRequest::SetStrategy { context, strategy } => {
                self.set_strategy(&context, strategy).await?;
                Value::Null
            }
        })
    }
}

fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut map = Map::with_capacity(N);
    for (name, value) in fields {
        map.insert(name.to_owned(), value);
    }
    Value::Object(map)
}

/// A record of ours as JSON, by way of text: so it is written by the code that stores it.
fn json(record: &impl serde::Serialize) -> Value {
    // Records have string keys only, the one thing that serialising can fail on.
    threadkeep_core::json::to_text(record).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn range(range: &std::ops::Range<usize>) -> Value {
    map([("start", range.start.into()), ("end", range.end.into())])
}

fn epoch_json(epoch: &EpochInfo) -> Value {
    map([
        ("name", epoch.name().into()),
        ("checkpoint", epoch.checkpoint.as_ref().map_or(Value::Null, checkpoint_json)),
        ("messages", range(&epoch.messages)),
        ("leaf", epoch.leaf.as_str().into()),
    ])
}

fn stored_json(stored: &Stored, context: &str) -> Value {
    let mut value = map([
        ("id", stored.node.as_str().into()),
        ("part", stored.part.into()),
        ("thread", context.into()),
        ("index", stored.index.into()),
        ("createdAt", stored.created_at.into()),
        ("tokens", stored.tokens.into()),
        ("compacted", stored.covered.is_some().into()),
        ("message", stored.message.to_json()),
    ]);
    if let Value::Object(map) = &mut value {
        if !stored.message.tags.is_empty() {
            map.insert("tags".to_owned(), stored.message.tags.clone().into());
        }
        if let Some(covered) = &stored.covered {
            map.insert("compactedRange".to_owned(), range(&covered.range));
            map.insert("checkpoint".to_owned(), covered.checkpoint.as_str().into());
        }
    }
    value
}

fn sending_json(sending: &Sending) -> Value {
    map([
        ("to", sending.to.as_str().into()),
        ("requests", sending.requests.into()),
        ("messages", sending.messages.into()),
        ("tokens", sending.tokens.into()),
    ])
}

impl Compacted {
    /// It as JSON: `{checkpoint, summaryMessages, compactedRange: {start, end}, tokensBefore, tokensAfter, tokensSaved,
    /// cost: {calls, inputTokens, outputTokens}, episodes, facts, warnings, wouldSend: {to, requests, messages, tokens} | null}`.
    pub fn to_json(&self) -> Value {
        let cost = map([
            ("calls", self.cost.calls.into()),
            ("inputTokens", self.cost.input_tokens.into()),
            ("outputTokens", self.cost.output_tokens.into()),
        ]);
        map([
            ("checkpoint", self.checkpoint.as_ref().map_or(Value::Null, checkpoint_json)),
            ("summaryMessages", self.summary_messages.iter().map(Message::to_json).collect()),
            ("compactedRange", range(&self.compacted_range)),
            ("tokensBefore", self.tokens_before.into()),
            ("tokensAfter", self.tokens_after.into()),
            ("tokensSaved", self.tokens_saved().into()),
            ("cost", cost),
            ("episodes", self.episodes.iter().map(json).collect()),
            ("facts", self.facts.iter().map(json).collect()),
            ("warnings", self.warnings.iter().map(String::as_str).collect()),
            ("wouldSend", self.would_send.as_ref().map_or(Value::Null, sending_json)),
        ])
    }
}
