//! Options of contexts. [`ContextParams`] is what a caller writes; [`ContextOptions`] is what the engine carries out.

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;
use threadkeep_compaction::memory::BundleLimits;
use threadkeep_context::compress::CompressOptions;
use threadkeep_context::{Budget, MessageRef, Mode, Options, Policy, Preview, Previews, Run, System, TrimOptions};
use threadkeep_core::read::{self, BadRequest, Off, Plain, maybe_object, maybe_whole, object, or_default};
use threadkeep_core::read_by_name;
use threadkeep_provider::{Provider, ProviderError, RenderOptions, ToolSchema};
use threadkeep_tokens::Encoding;

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Four characters a token; needs no vocabulary.
    Estimate,
    /// Exactly, by a vocabulary that must have been loaded.
    Exact(Encoding),
}

impl Default for Counting {
    fn default() -> Self {
        Self::Exact(Encoding::O200k)
    }
}

impl Counting {
    /// Its name in options: `o200k_base`, `cl100k_base` or `estimate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Exact(encoding) => encoding.name(),
        }
    }

    /// The way of counting of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "estimate" { Some(Self::Estimate) } else { Encoding::from_name(name).map(Self::Exact) }
    }
}

read_by_name!(Counting, Counting::from_name, "o200k_base, cl100k_base or estimate");

/// The options of `context()` and `fit()`. What is left out, or `null`, has its default; zero is zero.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContextParams {
    /// Whose prompt it is.
    pub provider: Option<Provider>,
    /// How tokens are counted.
    pub encoding: Option<Counting>,
    /// How much the prompt may hold.
    #[serde(deserialize_with = "object")]
    pub budget: Budget,
    /// The model's name, for the payload.
    pub model: Option<String>,
    /// Which of the history goes first.
    pub policy: Option<Policy>,
    /// Messages that stay.
    #[serde(deserialize_with = "or_default")]
    pub pins: Vec<MessageRef>,
    /// In which mode the model is called.
    pub mode: Option<Mode>,
    /// The system prompt, in the place of the history's.
    pub system_prompt: Option<String>,
    /// Who the model is to be.
    pub persona: Option<String>,
    /// What a workflow says of its step.
    #[serde(deserialize_with = "maybe_object")]
    pub run: Option<Run>,
    /// Whether old code turns are compressed.
    #[serde(deserialize_with = "or_default")]
    pub compress_history: bool,
    /// How many outputs of code turns stay.
    pub println_history_limit: Option<usize>,
    /// How many turns before a failed one stay whole.
    pub error_window: Option<usize>,
    /// When tool results are previewed.
    pub tool_preview: Option<Off<Preview>>,
    /// What of the memory comes along.
    pub memory: Option<Off<Wanted>>,
    /// The tools that the model may call.
    #[serde(deserialize_with = "or_default")]
    pub tools: Vec<Tool>,
    /// Whose prompt it is: a checkpoint's id, or `original`.
    pub epoch: Option<String>,
    /// Whether calls at the end that have no result are still running.
    #[serde(deserialize_with = "or_default")]
    pub live: bool,
    /// How the payload is written.
    #[serde(deserialize_with = "object")]
    pub render: RenderParams,
}

/// The option `render`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RenderParams {
    /// See [`RenderOptions::stream`].
    pub stream: Option<bool>,
    /// See [`RenderOptions::reasoning`].
    pub reasoning: Option<bool>,
    /// See [`RenderOptions::prefill`].
    #[serde(deserialize_with = "or_default")]
    pub prefill: bool,
    /// See [`RenderOptions::sdk`].
    #[serde(deserialize_with = "or_default")]
    pub sdk: bool,
}

/// A tool: as it was given, which is counted, and as it is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    given: Value,
    schema: ToolSchema,
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(given) = Plain::deserialize(deserializer)?;
        let schema = schema(&given).map_err(D::Error::custom)?;
        Ok(Self { given, schema })
    }
}

/// A tool's schema, or why it is none.
pub(crate) fn schema(given: &Value) -> Result<ToolSchema, String> {
    ToolSchema::from_json(given, 0).map_err(|error| match error {
        ProviderError::Option { expected, .. } => ["must be ", expected].concat(),
        other => other.to_string(),
    })
}

/// How a context is built. As JSON it is [`ContextParams`].
///
/// ```
/// use threadkeep_protocol::ContextOptions;
/// use serde_json::json;
/// let options = ContextOptions::from_json(&json!({"policy": "stable", "budget": {"maxTokens": 0}}))?;
/// assert_eq!(options.build.budget.max_tokens, Some(0));
/// let error = ContextOptions::from_json(&json!({"budget": {"tokens": 9}})).unwrap_err();
/// assert_eq!(error.argument, "options.budget.tokens");
/// # Ok::<(), threadkeep_protocol::BadRequest>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "ContextParams")]
pub struct ContextOptions {
    /// Budget, policy, provider, frame, previews, compression. Its `pins` are places; see also [`Self::pins`].
    pub build: Options,
    /// How the payload is written.
    pub render: RenderOptions,
    /// How tokens are counted.
    pub encoding: Counting,
    /// Messages that stay.
    pub pins: Vec<MessageRef>,
    /// Whose prompt it is: a checkpoint's id, or `original` for the one without; `None` for the checkpoint that the chain uses.
    pub epoch: Option<String>,
    /// What of the memory comes along; `None` for nothing.
    pub memory: Option<Wanted>,
}

impl ContextOptions {
    /// Reads [`ContextParams`].
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn from_json(options: &Value) -> Result<Self, BadRequest> {
        read::options(&options.to_string(), "options")
    }
}

impl From<ContextParams> for ContextOptions {
    fn from(params: ContextParams) -> Self {
        let mut read = Self {
            encoding: params.encoding.unwrap_or_default(),
            pins: params.pins,
            epoch: params.epoch,
            memory: match params.memory {
                Some(Off::On(wanted)) => Some(wanted),
                Some(Off::Off) | None => None,
            },
            ..Self::default()
        };
        let build = &mut read.build;
        build.provider = params.provider.unwrap_or_default();
        build.budget = params.budget;
        build.policy = params.policy.unwrap_or_default();
        build.live = params.live;
        build.previews = match params.tool_preview {
            None => Previews::default(),
            Some(Off::Off) => Previews::Never,
            Some(Off::On(preview)) => Previews::Over(preview),
        };
        let compress = CompressOptions::default();
        build.compress = params.compress_history.then(|| CompressOptions {
            println_history_limit: params.println_history_limit.unwrap_or(compress.println_history_limit),
            error_window: params.error_window.unwrap_or(compress.error_window),
        });
        build.frame.mode = params.mode;
        build.frame.system_prompt = params.system_prompt;
        build.frame.persona = params.persona;
        build.frame.run = params.run;
        read.render = RenderOptions {
            model: params.model,
            max_output_tokens: params.budget.max_output_tokens,
            tools: Vec::with_capacity(params.tools.len()),
            stream: params.render.stream,
            reasoning: params.render.reasoning.unwrap_or(true),
            prefill: params.render.prefill,
            sdk: params.render.sdk,
        };
        for Tool { given, schema } in params.tools {
            build.frame.tools.push(given);
            read.render.tools.push(schema);
        }
        read
    }
}

/// What of the memory a prompt has.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "WantedParams")]
pub struct Wanted {
    /// How many episodes and facts at most.
    pub limits: BundleLimits,
    /// What they are to be about.
    pub query: Option<String>,
    /// What a memory service of the caller's remembers. It stands behind our own memory, and counts like it.
    pub text: Option<String>,
    /// The most tokens that all of it may take; a quarter of the budget without it.
    pub max_tokens: Option<u64>,
}

/// The option `memory`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantedParams {
    #[serde(default, deserialize_with = "maybe_whole")]
    episodes: Option<u64>,
    #[serde(default, deserialize_with = "maybe_whole")]
    facts: Option<u64>,
    query: Option<String>,
    text: Option<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    max_tokens: Option<u64>,
}

impl From<WantedParams> for Wanted {
    fn from(params: WantedParams) -> Self {
        let most = |count: Option<u64>, other: usize| count.map_or(other, |count| count as usize);
        let limits = BundleLimits::default();
        let limits =
            BundleLimits { episodes: most(params.episodes, limits.episodes), facts: most(params.facts, limits.facts) };
        Self { limits, query: params.query, text: params.text, max_tokens: params.max_tokens }
    }
}

/// Questions beside a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WhatIf {
    /// At which budget does the message of this place stay?
    pub survives: Option<usize>,
    /// What would this many more tokens push out?
    #[serde(deserialize_with = "maybe_whole")]
    pub more: Option<u64>,
    /// What does each message cost?
    #[serde(deserialize_with = "or_default")]
    pub costs: bool,
    /// What would this policy keep?
    pub policy: Option<Policy>,
}

/// The options of `trimMessages()`, as JSON text, and how it is to be counted.
///
/// # Errors
/// [`BadRequest`] names the first option that is not known, or not what it must be.
pub fn trim_options(text: &str) -> Result<(TrimOptions, Counting), BadRequest> {
    let params: TrimParams = read::options(text, "options")?;
    let system = if params.include_system == Some(false) { System::Excluded } else { System::default() };
    let options = TrimOptions {
        provider: params.provider.unwrap_or_default(),
        budget: params.budget,
        policy: params.policy.unwrap_or_default(),
        pins: params.pins,
        system,
        strict: false,
    };
    Ok((options, params.encoding.unwrap_or_default()))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct TrimParams {
    provider: Option<Provider>,
    encoding: Option<Counting>,
    #[serde(deserialize_with = "object")]
    budget: Budget,
    policy: Option<Policy>,
    #[serde(deserialize_with = "or_default")]
    pins: Vec<usize>,
    include_system: Option<bool>,
}
