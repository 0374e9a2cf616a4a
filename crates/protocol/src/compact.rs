//! What can be asked of compactions, and the options of one. Who summarises comes from elsewhere: a function does not cross as JSON.

use serde::Deserialize;
use serde_json::Value;
use threadkeep_compaction::memory::Share;
use threadkeep_compaction::{Policy, PolicyOptions};
use threadkeep_context::MessageRef;
use threadkeep_core::Message;
use threadkeep_core::checkpoint::{Checkpoint, Strategy};
use threadkeep_core::read::{self, BadRequest, object, or_default};
use threadkeep_provider::Provider;

use super::Counting;

/// One request about compactions. `at` is a head's name, or the end of the chain: a node or an alias of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
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
    /// Looks at the usage of a response. → why a compaction is pending, or null
    AfterResponse {
        /// The chain.
        at: String,
        /// What the provider reported of the prompt.
        prompt_tokens: Option<u32>,
        /// When to compact.
        #[serde(default, deserialize_with = "object")]
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
        context: String,
        /// The first index; 0 without it.
        start: Option<u32>,
        /// The index after the last; all without it.
        end: Option<u32>,
    },
    /// How a head is compacted. → a name, or null
    Strategy {
        /// The head's name.
        context: String,
    },
    /// Chooses that. → null
    SetStrategy {
        /// The head's name.
        context: String,
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

/// When to compact. What is left out is what is known of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicyParams {
    /// See [`PolicyOptions::max_context_tokens`].
    pub max_context_tokens: Option<u32>,
    /// See [`PolicyOptions::max_output_tokens`].
    pub max_output_tokens: Option<u32>,
    /// See [`PolicyOptions::safety_margin`].
    pub safety_margin: Option<u32>,
    /// See [`PolicyOptions::compaction_ratio`].
    pub compaction_ratio: Option<Share>,
    /// See [`PolicyOptions::compaction_threshold`].
    pub compaction_threshold: Option<u32>,
    /// The model's name.
    pub model: Option<String>,
}

impl PolicyParams {
    /// The policy that holds.
    pub fn resolve(&self) -> Policy {
        let asked = PolicyOptions {
            max_context_tokens: self.max_context_tokens.map(u64::from),
            max_output_tokens: self.max_output_tokens.map(u64::from),
            safety_margin: self.safety_margin.map(u64::from),
            compaction_ratio: self.compaction_ratio,
            compaction_threshold: self.compaction_threshold,
        };
        Policy::resolve(&asked, &PolicyOptions::default(), self.model.as_deref())
    }
}

/// A call of `compact`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactCall {
    /// A head's name, or the end of the chain: a node or an alias of it.
    pub at: String,
    /// The strategy; without it that of the head, or of the checkpoint before.
    pub strategy: Option<Strategy>,
    /// How many turns stay raw beside the live one.
    pub keep_turns: Option<u32>,
    /// How many messages stay raw, in place of turns.
    pub keep_recent: Option<u32>,
    /// How many tokens the history is to have at most afterwards.
    pub target_tokens: Option<u32>,
    /// How many tokens the summary may have.
    pub summary_tokens: Option<u32>,
    /// Whose tokens are counted.
    pub provider: Option<Provider>,
    /// How.
    pub encoding: Option<Counting>,
    /// Messages that stay raw.
    #[serde(default, deserialize_with = "or_default")]
    pub pins: Vec<MessageRef>,
    /// Whether to say only what would be done.
    #[serde(default, deserialize_with = "or_default")]
    pub preview: bool,
    /// The name of the model that summarises, where one does.
    pub summarizer: Option<String>,
    /// The most tokens of a request to it.
    pub input_tokens: Option<u32>,
    /// `false`: a model that fails is an error.
    pub fallback: Option<bool>,
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

/// A checkpoint as JSON: what is stored of it, `tokensSaved`, and `summaryMessages`, what stands in prompts for what it covers.
pub fn checkpoint_json(checkpoint: &Checkpoint) -> Value {
    // It has string keys only, the one thing that serialising can fail on.
    let mut value = serde_json::to_value(checkpoint).unwrap_or_default();
    if let Value::Object(map) = &mut value {
        let saved = checkpoint.tokens_before.saturating_sub(checkpoint.tokens_after);
        map.insert("tokensSaved".to_owned(), saved.into());
        map.insert("summaryMessages".to_owned(), checkpoint.message().iter().map(Message::to_json).collect());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read() {
        for method in CompactionRequest::methods().iter().copied() {
            let head = method.to_lowercase().ends_with("strategy") || method == "getStored";
            let of = if head { "context" } else { "at" };
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
        let policy = policy.resolve();
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
            ("setStrategy", r#"{"context": "a", "strategy": "forget"}"#, "strategy"),
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
