//! What can be asked of compactions, and the options of one. Who summarises comes from elsewhere: a function does not cross as JSON.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use threadkeep_compaction::PolicyOptions;
use threadkeep_compaction::memory::{Episode, Fact, RememberFrom, Share};
use threadkeep_context::MessageRef;
use threadkeep_core::checkpoint::{Checkpoint, Spent, Strategy};
use threadkeep_core::read::{self, BadRequest, maybe_above_0, object, or_default};
use threadkeep_core::{Message, MessageId};
use threadkeep_provider::{Provider, Usage};

use super::Counting;

/// One request about compactions. `at` is a head's name, or the end of the chain: a node or an alias of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum CompactionRequest {
    /// The checkpoints of a chain, the shallowest first. → a list of checkpoints
    Checkpoints {
        /// The chain.
        at: String,
    },
    /// The epochs of a chain. → a list of `{name, checkpoint, messages: {start, end}, leaf}`
    Epochs {
        /// The chain.
        at: String,
    },
    /// Undoes a compaction: prompts have the originals again, or the checkpoint before it. → the checkpoint, or null
    UndoCompaction {
        /// The chain.
        at: String,
        /// The id of the checkpoint; that which the chain uses without it.
        checkpoint: Option<String>,
    },
    /// Looks at the usage of a response. → why a compaction is pending, or null
    AfterResponse {
        /// The chain.
        at: String,
        /// What the provider reported of the prompt.
        prompt_tokens: Option<u32>,
        /// The request that was answered, if it was noted in the journal.
        request: Option<String>,
        /// What the provider reported, for the journal.
        usage: Option<Usage>,
        /// When to compact.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        policy: PolicyParams,
    },
    /// Asks for a compaction. → null
    RequestCompaction {
        /// The chain.
        at: String,
    },
    /// Takes that back. → null
    ClearCompactionRequest {
        /// The chain.
        at: String,
    },
    /// Why a compaction is pending. → a reason, or null
    CompactionRequired {
        /// The chain.
        at: String,
    },
    /// Messages at a head with what is known of each. → a list of `{id, part, thread, index, createdAt, tokens, tags?, compacted,
    /// compactedRange?, checkpoint?, message}`
    GetStored {
        /// The head's name.
        head: String,
        /// The first index; 0 without it.
        start: Option<u32>,
        /// The index after the last; all without it.
        end: Option<u32>,
    },
    /// How a head is compacted. → a name, or null
    Strategy {
        /// The head's name.
        head: String,
    },
    /// Chooses that. → null
    SetStrategy {
        /// The head's name.
        head: String,
        /// The strategy; none for that of the checkpoint before.
        strategy: Option<Strategy>,
    },
}

impl CompactionRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::CompactionRequest;
    /// assert!(CompactionRequest::read("afterResponse", r#"{"at": "main", "policy": {"model": "gpt-4o"}}"#).is_ok());
    /// assert_eq!(CompactionRequest::read("checkpoints", "{}").unwrap_err().argument, "at");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

/// When a history is to be compacted. For each figure the first of these counts: the call's, that of `open`, the model's, the default. The
/// input budget is the context less output and margin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CompactionPolicy", optional_fields))]
pub struct PolicyParams {
    /// The model's context, in tokens; 200,000 where nothing is known.
    pub max_context_tokens: Option<u32>,
    /// What is left for the answer, in tokens; 8,000 where nothing is known.
    pub max_output_tokens: Option<u32>,
    /// What is left free for miscounting, in tokens; 1,000 without it.
    pub safety_margin: Option<u32>,
    /// The share of the input budget from which on a history is compacted early, from 0 to 1; 0.8 without it.
    pub compaction_ratio: Option<Share>,
    /// The number of messages, beyond the last checkpoint, above which a history is compacted; any number without it.
    pub compaction_threshold: Option<u32>,
    /// The model's name, for its context and output; about thirty families are known.
    pub model: Option<String>,
}

impl PolicyParams {
    /// Its figures.
    pub fn figures(&self) -> PolicyOptions {
        PolicyOptions {
            max_context_tokens: self.max_context_tokens.map(u64::from),
            max_output_tokens: self.max_output_tokens.map(u64::from),
            safety_margin: self.safety_margin.map(u64::from),
            compaction_ratio: self.compaction_ratio,
            compaction_threshold: self.compaction_threshold,
        }
    }
}

/// How a chain is compacted, but for who summarises. Zero means zero, but for `keepRecent`, which begins at 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CompactParams", optional_fields))]
pub struct CompactCall {
    /// A head's name, or the end of the chain: a node or an alias of it.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub at: String,
    /// Without it: that of the settings (`Thread.setStrategy`, `Settings.set`), else that of the checkpoint before, else `summarize`.
    pub strategy: Option<Strategy>,
    /// How many turns stay raw, beside one that is still going on; 4 without it.
    pub keep_turns: Option<u32>,
    /// How many messages stay raw, in place of turns, from 1 on; rounded up to whole turns.
    #[serde(default, deserialize_with = "maybe_above_0")]
    pub keep_recent: Option<u32>,
    /// How many tokens the history is to have at most afterwards, where that can be: more turns are covered then.
    pub target_tokens: Option<u32>,
    /// How many tokens the summary may have; without it what `targetTokens` leaves, or a fifth of what it replaces.
    pub summary_tokens: Option<u32>,
    /// Whose tokens are counted; `openai-chat` without it.
    pub provider: Option<Provider>,
    /// How tokens are counted; as `Threadkeep.open` was told without it.
    pub encoding: Option<Counting>,
    /// Messages that stay raw, beside those that are marked as pinned.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub pins: Vec<MessageRef>,
    /// `true`: only says what would be done. No model is asked: `Compaction.wouldSend` says what it would be sent. The built-in
    /// summariser, which sends nothing, shows the summary that it would make.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub preview: bool,
    /// The name of the model, as the checkpoint keeps it; `model` without it.
    pub summarizer: Option<String>,
    /// The most tokens of one request to the model, at least about 700; without it 24,000, or less where the model of that name is known
    /// to take less. Longer material comes in several requests.
    pub input_tokens: Option<u32>,
    /// `false`: a model that fails is an error. Otherwise the built-in summariser stands in for it, and a warning says why. A model fails
    /// if it takes too long, or answers with nothing, with tool calls or with more than it was given.
    pub fallback: Option<bool>,
    /// The agent whose memory the episodes and facts become; without it, all share them.
    pub agent: Option<String>,
    /// Whose statements become episodes and facts: `user` and `model` without it. What tools and imported conversations say is remembered
    /// only if `tool` and `import` are named.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub remember_from: RememberFrom,
}

impl CompactCall {
    /// Reads JSON text.
    ///
    /// ```
    /// use threadkeep_protocol::CompactCall;
    /// let call = CompactCall::read(r#"{"at": "main", "strategy": "hierarchical", "keepTurns": 2}"#)?;
    /// assert_eq!(call.keep_turns, Some(2));
    /// assert_eq!(CompactCall::read(r#"{"at": "main", "keep": 2}"#).unwrap_err().argument, "keep");
    /// # Ok::<(), threadkeep_protocol::BadRequest>(())
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn read(params: &str) -> Result<Self, BadRequest> {
        read::options(params, "")
    }
}

/// What stands in for everything up to a node, for every chain on which that node is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Checkpoint"))]
#[serde(rename_all = "camelCase")]
pub struct CheckpointInfo<'a> {
    /// What is stored of it.
    #[serde(flatten)]
    pub stored: &'a Checkpoint,
    /// How many tokens fewer stand there now.
    pub tokens_saved: u64,
    /// What stands in prompts for what it covers: one message, or none.
    pub summary_messages: Vec<Message>,
}

impl<'a> From<&'a Checkpoint> for CheckpointInfo<'a> {
    fn from(stored: &'a Checkpoint) -> Self {
        let tokens_saved = stored.tokens_before.saturating_sub(stored.tokens_after);
        Self { stored, tokens_saved, summary_messages: stored.message().into_iter().collect() }
    }
}

/// Places of messages in a chain, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Places {
    start: usize,
    end: usize,
}

impl From<&Range<usize>> for Places {
    fn from(range: &Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A stretch in which a chain used one checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Epoch"))]
pub struct EpochReply<'a> {
    /// What `context` takes as `epoch`: the checkpoint's id, or `original`.
    pub name: &'a str,
    /// Its checkpoint; `null` for the original one.
    pub checkpoint: Option<CheckpointInfo<'a>>,
    /// The places of the messages that its prompts have raw, up to those that were there when it ended; `end` is out.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub messages: Places,
    /// The node that was the chain's end then.
    pub leaf: &'a MessageId,
}

/// A message as it is stored in a thread, with what is known of it. The message itself is as it was given: what is known lies
/// beside it and not in it, so that it can be appended elsewhere as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage<'a> {
    /// The node that holds it: an id of its own for what was appended to a thread.
    pub id: &'a MessageId,
    /// Its place in the node, from 0: several messages of one node share its id.
    pub part: u32,
    /// The name of the thread.
    pub thread: &'a str,
    /// Its place in the conversation, from 0.
    pub index: usize,
    /// When it was stored, such as `2026-03-01T12:00:00.000Z`; `null` where that is not known.
    // It crosses as milliseconds since 1970, of which the npm package makes the text.
    #[cfg_attr(feature = "ts", ts(rename = "timestamp", type = "string | null"))]
    pub created_at: Option<i64>,
    /// About how many tokens it takes: four characters each, and four more.
    pub tokens: u32,
    /// Whether a summary stands in for it in prompts. It is stored all the same.
    pub compacted: bool,
    /// The message.
    pub message: &'a Message,
    /// The message's own tags, where it has some.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub tags: &'a [String],
    /// The places of the messages for which that summary stands; `end` is out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional, inline))]
    pub compacted_range: Option<Places>,
    /// The checkpoint that has the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub checkpoint: Option<&'a str>,
}

/// What a compaction would send to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct WouldSend<'a> {
    /// The model's name.
    pub to: &'a str,
    /// How many requests, at least. With `hierarchical`, what comes of them may be summarised once more.
    pub requests: u32,
    /// How many messages of the thread are in them.
    pub messages: u32,
    /// How many tokens the requests have together.
    pub tokens: u64,
}

/// What a compaction did, or with `preview` would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Compaction"))]
#[serde(rename_all = "camelCase")]
pub struct CompactionReply<'a> {
    /// The checkpoint; `null` where nothing was to be done: the chain is short, or another tab was first. Also `null` in a preview
    /// with `wouldSend`.
    pub checkpoint: Option<CheckpointInfo<'a>>,
    /// What stands in prompts for the old part: one message, or none.
    pub summary_messages: &'a [Message],
    /// The places of the messages that are covered now; `end` is out. Instructions and pinned ones among them stay in prompts.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub compacted_range: Places,
    /// The tokens of the whole history before.
    pub tokens_before: u64,
    /// The tokens of the whole history now.
    pub tokens_after: u64,
    /// How many tokens fewer a prompt of the whole history has now.
    pub tokens_saved: u64,
    /// What it took.
    pub cost: Spent,
    /// The episodes that were stored with it.
    pub episodes: &'a [Episode],
    /// The facts that were stored with it.
    pub facts: &'a [Fact],
    /// What you should know: that the model failed and the built-in summariser did its work, for one.
    pub warnings: &'a [String],
    /// In a preview with a model: what it would be sent; else `null`. The summary is not known then. `tokensAfter` counts one of the
    /// size that the model would be asked for.
    pub would_send: Option<WouldSend<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read() {
        for method in CompactionRequest::methods().iter().copied() {
            let head = method.to_lowercase().ends_with("strategy") || method == "getStored";
            let of = if head { "head" } else { "at" };
            assert_eq!(CompactionRequest::read(method, "{}").unwrap_err().argument, of, "{method}");
            let params = format!(r#"{{"{of}": "main"}}"#);
            assert!(CompactionRequest::read(method, &params).is_ok(), "{method}");
        }
        let asked = r#"{"at": "a", "promptTokens": 7, "policy": {"model": "gpt-4o", "maxOutputTokens": 0, "compactionRatio": 0.5}}"#;
        let Ok(CompactionRequest::AfterResponse { prompt_tokens, policy, .. }) =
            CompactionRequest::read("afterResponse", asked)
        else {
            panic!("it is not read");
        };
        let policy = threadkeep_compaction::Policy::resolve(
            &policy.figures(),
            &PolicyOptions::default(),
            policy.model.as_deref(),
        );
        assert_eq!((prompt_tokens, policy.input_budget()), (Some(7), 127_000));
        assert_eq!(policy.compaction_ratio, Share::of(500));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("compactify", "{}", "method"),
            ("afterResponse", r#"{"at": "a", "promptTokens": -1}"#, "promptTokens"),
            ("afterResponse", r#"{"at": "a", "policy": {"ratio": 1}}"#, "policy.ratio"),
            ("afterResponse", r#"{"at": "a", "policy": {"compactionRatio": 1.5}}"#, "policy.compactionRatio"),
            ("setStrategy", r#"{"head": "a", "strategy": "forget"}"#, "strategy"),
        ] {
            assert_eq!(CompactionRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
        for (params, argument) in [
            (r#"{}"#, "at"),
            (r#"{"at": "a", "strategy": "forget"}"#, "strategy"),
            (r#"{"at": "a", "keepTurns": 1.5}"#, "keepTurns"),
            (r#"{"at": "a", "preview": "yes"}"#, "preview"),
            (r#"{"at": "a", "provider": "abacus"}"#, "provider"),
        ] {
            assert_eq!(CompactCall::read(params).unwrap_err().argument, argument, "{params}");
        }
    }
}
