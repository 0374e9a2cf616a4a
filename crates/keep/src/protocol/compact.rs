//! What can be asked of compactions. Goes in: a method's name and the JSON text of its parameters, and for `compact` its options. Comes
//! out: requests, and plain JSON as answers. Who summarises comes from elsewhere: a function does not cross as JSON.

use serde_json::{Map, Value};
use threadkeep_compaction::memory::Share;
use threadkeep_compaction::{Policy, PolicyOptions, Reason};
use threadkeep_core::Message;
use threadkeep_core::checkpoint::{Checkpoint, Strategy};
use threadkeep_store::Store;

use super::request::{Checked, Params, bad, flag};
use super::{BadRequest, ContextOptions};
use crate::compact::{CompactOptions, Compacted, EpochInfo, Sending, Stored};
use crate::{Keep, KeepError};

/// One request about compactions. `at` is a head's name, or the end of the chain: a node or an alias of it.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionRequest {
    /// The checkpoints of a chain, the shallowest first: `checkpoints({at})`. → a list of checkpoints
    Checkpoints(String),
    /// The epochs of a chain: `epochs({at})`. → a list of `{name, checkpoint, messages: {start, end}, leaf}`
    Epochs(String),
    /// Looks at the usage of a response: `afterResponse({at, promptTokens?, policy?})`. → why a compaction is pending, or null
    AfterResponse {
        /// The chain.
        at: String,
        /// What the provider reported of the prompt.
        prompt_tokens: Option<u64>,
        /// When to compact.
        policy: Policy,
    },
    /// Asks for a compaction: `requestCompaction({at})`. → null
    Request(String),
    /// Takes that back: `clearCompactionRequest({at})`. → null
    Clear(String),
    /// Why a compaction is pending: `compactionRequired({at})`. → a reason, or null
    Required(String),
    /// Messages at a head with what is known of each: `getStored({context, start?, end?})`. → a list of `{id, part, thread, index,
    /// createdAt, tokens, tags?, compacted, compactedRange?, checkpoint?, message}`
    Stored(String, u32, u32),
    /// How a head is compacted: `strategy({context})`. → a name, or null
    Strategy(String),
    /// Chooses that: `setStrategy({context, strategy?})`. → null
    SetStrategy(String, Option<Strategy>),
}

impl CompactionRequest {
    /// The methods that are read here.
    pub const METHODS: [&str; 9] = [
        "checkpoints",
        "epochs",
        "afterResponse",
        "requestCompaction",
        "clearCompactionRequest",
        "compactionRequired",
        "getStored",
        "strategy",
        "setStrategy",
    ];

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::CompactionRequest;
    /// assert!(CompactionRequest::read("afterResponse", r#"{"at": "main", "policy": {"model": "gpt-4o"}}"#).is_ok());
    /// assert_eq!(CompactionRequest::read("checkpoints", "{}").unwrap_err().argument, "at");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let request = match method {
            "checkpoints" => Self::Checkpoints(params.text("at")?),
            "epochs" => Self::Epochs(params.text("at")?),
            "afterResponse" => Self::AfterResponse {
                at: params.text("at")?,
                prompt_tokens: params.maybe_count("promptTokens")?.map(u64::from),
                policy: policy(object(&mut params, "policy")?)?,
            },
            "requestCompaction" => Self::Request(params.text("at")?),
            "clearCompactionRequest" => Self::Clear(params.text("at")?),
            "compactionRequired" => Self::Required(params.text("at")?),
            "getStored" => Self::Stored(
                params.text("context")?,
                params.maybe_count("start")?.unwrap_or_default(),
                params.maybe_count("end")?.unwrap_or(u32::MAX),
            ),
            "strategy" => Self::Strategy(params.text("context")?),
            "setStrategy" => Self::SetStrategy(params.text("context")?, strategy(&mut params)?),
            _ => return bad("method", format!("{method:?} is not known")),
        };
        params.nothing_left()?;
        Ok(request)
    }
}

/// An object's fields; none where it is left out.
fn object(params: &mut Params, name: &str) -> Checked<Params> {
    match params.take(name) {
        None => Ok(Params::of(Map::new())),
        Some(Value::Object(map)) => Ok(Params::of(map)),
        Some(_) => bad(name, "must be an object"),
    }
}

fn policy(mut params: Params) -> Checked<Policy> {
    let mut count = |name| params.maybe_count(name);
    let tokens = |count: Option<u32>| count.map(u64::from);
    let mut asked = PolicyOptions {
        max_context_tokens: tokens(count("maxContextTokens")?),
        max_output_tokens: tokens(count("maxOutputTokens")?),
        safety_margin: tokens(count("safetyMargin")?),
        compaction_ratio: None,
        compaction_threshold: count("compactionThreshold")?,
    };
    if let Some(ratio) = params.take("compactionRatio") {
        asked.compaction_ratio = Share::read(&ratio);
        if asked.compaction_ratio.is_none() {
            return bad("compactionRatio", "must be a number from 0 to 1");
        }
    }
    let model = params.maybe_text("model")?;
    params.nothing_left()?;
    Ok(Policy::resolve(&asked, &PolicyOptions::default(), model.as_deref()))
}

pub(super) fn strategy(params: &mut Params) -> Checked<Option<Strategy>> {
    let Some(name) = params.maybe_text("strategy")? else { return Ok(None) };
    match Strategy::from_name(&name) {
        None => bad("strategy", ["must be ", Strategy::NAMES].concat()),
        strategy => Ok(strategy),
    }
}

/// A call of `compact`.
#[derive(Debug, Clone)]
pub struct CompactCall {
    /// A head's name, or the end of the chain: a node or an alias of it.
    pub at: String,
    /// How.
    pub options: CompactOptions,
    /// The name of the model that summarises, where one does.
    pub summarizer: Option<String>,
    /// The most tokens of a request to it.
    pub input_tokens: Option<u32>,
    /// Whether a model that fails is an error.
    pub strict: bool,
}

impl CompactCall {
    /// Reads `{at, strategy?, keepTurns?, keepRecent?, targetTokens?, summaryTokens?, provider?, encoding?, pins?, preview?,
    /// summarizer?, inputTokens?, fallback?}`.
    ///
    /// ```
    /// use threadkeep::protocol::CompactCall;
    /// let call = CompactCall::read(r#"{"at": "main", "strategy": "hierarchical", "keepTurns": 2}"#)?;
    /// assert_eq!(call.options.tail_turns, Some(2));
    /// assert_eq!(CompactCall::read(r#"{"at": "main", "keep": 2}"#).unwrap_err().argument, "keep");
    /// # Ok::<(), threadkeep::protocol::BadRequest>(())
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn read(params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let mut shared = Map::new();
        for name in ["provider", "encoding", "pins"] {
            shared.extend(params.take(name).map(|value| (name.to_owned(), value)));
        }
        let shared = ContextOptions::from_json(&Value::Object(shared))?;
        let call = Self {
            at: params.text("at")?,
            options: CompactOptions {
                strategy: strategy(&mut params)?,
                tail_turns: params.maybe_count("keepTurns")?,
                keep_recent: params.maybe_count("keepRecent")?,
                target_tokens: params.maybe_count("targetTokens")?.map(u64::from),
                summary_tokens: params.maybe_count("summaryTokens")?,
                provider: shared.build.provider,
                encoding: shared.encoding,
                pins: shared.pins,
                preview: flag(&mut params, "preview")?.unwrap_or_default(),
                cancel: None,
            },
            summarizer: params.maybe_text("summarizer")?,
            input_tokens: params.maybe_count("inputTokens")?,
            strict: flag(&mut params, "fallback")? == Some(false),
        };
        params.nothing_left()?;
        Ok(call)
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
            CompactionRequest::Checkpoints(at) => self.checkpoints(&at).await?.iter().map(checkpoint_json).collect(),
            CompactionRequest::Epochs(at) => self.epochs(&at).await?.iter().map(epoch_json).collect(),
            CompactionRequest::AfterResponse { at, prompt_tokens, policy } => {
                pending(self.after_response(&at, prompt_tokens, &policy).await?)
            }
            CompactionRequest::Request(at) => {
                self.request_compaction(&at).await?;
                Value::Null
            }
            CompactionRequest::Clear(at) => {
                self.clear_compaction_request(&at).await?;
                Value::Null
            }
            CompactionRequest::Required(at) => pending(self.compaction_required(&at).await?),
            CompactionRequest::Stored(context, start, end) => {
                let all = self.stored(&context, start, end).await?;
                all.iter().map(|stored| stored_json(stored, &context)).collect()
            }
            CompactionRequest::Strategy(context) => self.strategy(&context).await?.map(Strategy::name).into(),
            CompactionRequest::SetStrategy(context, strategy) => {
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

/// A checkpoint as JSON: what is stored of it, `tokensSaved`, and `summaryMessages`, what stands in prompts for what it covers.
pub fn checkpoint_json(checkpoint: &Checkpoint) -> Value {
    let mut value = json(checkpoint);
    if let Value::Object(map) = &mut value {
        let saved = checkpoint.tokens_before.saturating_sub(checkpoint.tokens_after);
        map.insert("tokensSaved".to_owned(), saved.into());
        map.insert("summaryMessages".to_owned(), checkpoint.message().iter().map(Message::to_json).collect());
    }
    value
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read() {
        for method in CompactionRequest::METHODS {
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
        assert_eq!((prompt_tokens, policy.input_budget()), (Some(7), 127_000));
        assert_eq!(policy.compaction_ratio, Share::of(500));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("compactify", "{}", "method"),
            ("afterResponse", r#"{"at": "a", "promptTokens": -1}"#, "promptTokens"),
            ("afterResponse", r#"{"at": "a", "policy": {"ratio": 1}}"#, "ratio"),
            ("afterResponse", r#"{"at": "a", "policy": {"compactionRatio": 1.5}}"#, "compactionRatio"),
            ("setStrategy", r#"{"context": "a", "strategy": "forget"}"#, "strategy"),
        ] {
            assert_eq!(CompactionRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
        for (params, argument) in [
            (r#"{}"#, "at"),
            (r#"{"at": "a", "strategy": "forget"}"#, "strategy"),
            (r#"{"at": "a", "keepTurns": 1.5}"#, "keepTurns"),
            (r#"{"at": "a", "preview": "yes"}"#, "preview"),
            (r#"{"at": "a", "provider": "abacus"}"#, "options.provider"),
        ] {
            assert_eq!(CompactCall::read(params).unwrap_err().argument, argument, "{params}");
        }
    }
}
