//! Options of contexts. [`ContextParams`] is what a caller writes; [`ContextOptions`] is what the engine carries out.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use threadkeep_compaction::memory::{BundleLimits, Share};
use threadkeep_context::compress::CompressOptions;
use threadkeep_context::{
    Budget, MessageRef, Mode, Only, Options, Policy, Preview, Previews, Run, Selection, System, TrimOptions,
};
use threadkeep_core::read::{self, BadRequest, Off, Plain, maybe_object, maybe_whole, object, or_default};
use threadkeep_core::{read_by_name, write_by_name};
use threadkeep_provider::{Provider, ProviderError, RenderOptions, ToolSchema};
use threadkeep_tokens::Encoding;

/// How tokens are counted: exactly, by one of OpenAI's vocabularies, or estimated at four characters a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "ts",
    derive(ts_rs::TS),
    ts(rename = "Encoding", type = "\"o200k_base\" | \"cl100k_base\" | \"estimate\"")
)]
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
write_by_name!(Counting);

/// Options of `Thread.context`. What is left out, or `null` in JSON, has its default; zero is zero.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextOptions", optional_fields))]
pub struct ContextParams {
    /// Whose payload it is, and whose messages are counted; `openai-chat` without it.
    #[cfg_attr(feature = "ts", ts(optional, type = "P"))]
    pub provider: Option<Provider>,
    /// How tokens are counted; as the keep was opened without it.
    pub encoding: Option<Counting>,
    /// How much the prompt may hold; everything without it.
    #[serde(deserialize_with = "maybe_object")]
    pub budget: Option<Budget>,
    /// The model's name, for the payload.
    pub model: Option<String>,
    /// See `TrimOptions.policy`.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub policy: Option<Policy>,
    /// Messages to keep, beside those that are pinned (`Place.pin`, or `pinned` in the message). One that is not on the chain is a warning.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub pins: Vec<MessageRef>,
    /// The mode; without one there is no banner, and neither `persona` nor `run` are used.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub mode: Option<Mode>,
    /// The system prompt. It stands in the place of the instructions with which the chain begins.
    pub system_prompt: Option<String>,
    /// Who the model is to be, in the modes agent and run.
    pub persona: Option<String>,
    /// The run, in the mode run.
    #[serde(deserialize_with = "maybe_object")]
    pub run: Option<Run>,
    /// Whether old code turns become what they defined and printed; they do not by default.
    pub compress_history: Option<bool>,
    /// How many printed texts compressed turns show at most, the newest ones; 15 without it.
    pub println_history_limit: Option<usize>,
    /// How many turns before a failed one stay whole; 1 without it, and zero for none.
    pub error_window: Option<usize>,
    /// When large tool results become previews, which `Thread.toolResult` reads back; `false` for never. Without it, results of more than
    /// 4,000 characters that the budget has no room for; the newest stay whole first. A warning and the ledger say so.
    pub tool_preview: Option<Off<Preview>>,
    /// Whether tool results before the newest user message are in the prompt; they are by default. With `false`, a short text with the
    /// path for `Thread.toolResult` stands for each. Pinned results stay whole.
    pub include_tool_results_in_context: Option<bool>,
    /// Whether messages with `isCollapsed: true` are in the prompt; they are not by default. Those of the user, and messages with calls or
    /// results, are in it anyway.
    pub include_collapsed_ui_events_in_context: Option<bool>,
    /// Leaves out messages that name another `mode`, `runId` or `workflowId`, with the results of their calls. Messages that name none stay.
    #[serde(deserialize_with = "maybe_object")]
    pub only: Option<Only>,
    /// What of the memory comes along, by relevance to the newest user message; nothing without it, but agents have it on. A user message
    /// before the newest one quotes all of it, with who said it and when. It never takes more than a quarter of the budget.
    #[cfg_attr(feature = "ts", ts(as = "Option<Off<WantedParams>>"))]
    pub memory: Option<Off<Wanted>>,
    /// The tools that the model may call. They cost tokens.
    pub tools: Option<Vec<Tool>>,
    /// Whose prompt it is: an `Epoch`'s name; that of the checkpoint that the chain uses without it.
    pub epoch: Option<String>,
    /// Whether calls at the end without a result are still running; otherwise they count as aborted.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub live: bool,
    /// Whether the request is noted in the journal: `Context.request` is its id then. Say what it took with `Thread.afterResponse`.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub record: bool,
    /// How the payload is written.
    #[serde(deserialize_with = "maybe_object")]
    pub render: Option<RenderParams>,
}

impl ContextParams {
    /// These options over wider ones: each option is taken whole from here, if it is here. What belongs to one call alone (`pins`, `epoch`,
    /// `live`, `record`) is only taken from here.
    #[must_use]
    pub fn over(self, wider: Self) -> Self {
        Self {
            provider: self.provider.or(wider.provider),
            encoding: self.encoding.or(wider.encoding),
            budget: self.budget.or(wider.budget),
            model: self.model.or(wider.model),
            policy: self.policy.or(wider.policy),
            pins: self.pins,
            mode: self.mode.or(wider.mode),
            system_prompt: self.system_prompt.or(wider.system_prompt),
            persona: self.persona.or(wider.persona),
            run: self.run.or(wider.run),
            compress_history: self.compress_history.or(wider.compress_history),
            println_history_limit: self.println_history_limit.or(wider.println_history_limit),
            error_window: self.error_window.or(wider.error_window),
            tool_preview: self.tool_preview.or(wider.tool_preview),
            include_tool_results_in_context: self
                .include_tool_results_in_context
                .or(wider.include_tool_results_in_context),
            include_collapsed_ui_events_in_context: self
                .include_collapsed_ui_events_in_context
                .or(wider.include_collapsed_ui_events_in_context),
            only: self.only.or(wider.only),
            memory: self.memory.or(wider.memory),
            tools: self.tools.or(wider.tools),
            epoch: self.epoch,
            live: self.live,
            record: self.record,
            render: self.render.or(wider.render),
        }
    }
}

/// How a payload is written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "RenderForm", optional_fields))]
pub struct RenderParams {
    /// Whether the answer shall come as a stream; without it the payload does not say.
    pub stream: Option<bool>,
    /// Whether reasoning and the provider's own items go along; they do by default.
    pub reasoning: Option<bool>,
    /// The payload's limit of the answer, in tokens; `budget.maxOutputTokens` without it.
    pub max_output_tokens: Option<u64>,
    /// Whether a prompt for Anthropic or Gemini may end with the assistant; by default a user message follows then.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub prefill: bool,
    /// For Gemini: the arguments of the SDK's `generateContent` instead of the request's body.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub sdk: bool,
}

/// A tool: as it was given, which is counted, and as it is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    given: Value,
    schema: ToolSchema,
}

threadkeep_core::in_typescript!(Tool, "ToolSchema");

impl Tool {
    /// A tool of that schema.
    pub fn of(schema: &ToolSchema) -> Self {
        Self { given: schema.to_json(), schema: schema.clone() }
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.given.serialize(serializer)
    }
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
        // All are named, so the compiler says if one has no effect.
        let ContextParams {
            provider,
            encoding,
            budget,
            model,
            policy,
            pins,
            mode,
            system_prompt,
            persona,
            run,
            compress_history,
            println_history_limit,
            error_window,
            tool_preview,
            include_tool_results_in_context,
            include_collapsed_ui_events_in_context,
            only,
            memory,
            tools,
            epoch,
            live,
            // Whoever carries the call out sees to it.
            record: _,
            render,
        } = params;
        let mut read = Self {
            encoding: encoding.unwrap_or_default(),
            pins,
            epoch,
            memory: match memory {
                Some(Off::On(wanted)) => Some(wanted),
                Some(Off::Off) | None => None,
            },
            ..Self::default()
        };
        let build = &mut read.build;
        let (budget, render) = (budget.unwrap_or_default(), render.unwrap_or_default());
        build.provider = provider.unwrap_or_default();
        build.budget = budget;
        build.policy = policy.unwrap_or_default();
        build.live = live;
        build.previews = match tool_preview {
            None => Previews::default(),
            Some(Off::Off) => Previews::Never,
            Some(Off::On(preview)) => Previews::Over(preview),
        };
        let selection = Selection::default();
        build.selection = Selection {
            tool_results: include_tool_results_in_context.unwrap_or(selection.tool_results),
            collapsed: include_collapsed_ui_events_in_context.unwrap_or(selection.collapsed),
            only: only.unwrap_or_default(),
        };
        let compress = CompressOptions::default();
        build.compress = (compress_history == Some(true)).then(|| CompressOptions {
            println_history_limit: println_history_limit.unwrap_or(compress.println_history_limit),
            error_window: error_window.unwrap_or(compress.error_window),
        });
        build.frame.mode = mode;
        build.frame.system_prompt = system_prompt;
        build.frame.persona = persona;
        build.frame.run = run;
        read.render = RenderOptions {
            model,
            max_output_tokens: render.max_output_tokens.or(budget.max_output_tokens),
            tools: Vec::new(),
            stream: render.stream,
            reasoning: render.reasoning.unwrap_or(true),
            prefill: render.prefill,
            sdk: render.sdk,
        };
        for Tool { given, schema } in tools.into_iter().flatten() {
            build.frame.tools.push(given);
            read.render.tools.push(schema);
        }
        read
    }
}

/// What of the memory a prompt has.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "WantedParams", into = "WantedParams")]
pub struct Wanted {
    /// How many episodes and facts at most.
    pub limits: BundleLimits,
    /// What they are to be about; `None` for the newest user message of the chain.
    pub query: Option<String>,
    /// Whose prompt it is: this agent's own records come along with the shared ones.
    pub agent: Option<String>,
    /// What a memory service of the caller's remembers. It stands behind our own memory, and counts like it.
    pub text: Option<String>,
    /// The most tokens that all of it may take, but for passages; a quarter of the budget without it.
    pub max_tokens: Option<u64>,
    /// The share of the budget for passages: old messages that the prompt does not have as they are.
    pub passages: Share,
}

/// What of the memory a prompt quotes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextMemory", optional_fields))]
pub struct WantedParams {
    /// The most episodes; 3 without it.
    #[serde(default, deserialize_with = "maybe_whole")]
    episodes: Option<u64>,
    /// The most facts; 20 without it.
    #[serde(default, deserialize_with = "maybe_whole")]
    facts: Option<u64>,
    /// What they are to be about; the newest user message without it.
    query: Option<String>,
    /// Whose prompt it is: this agent's own records come along with those that all share.
    agent: Option<String>,
    /// What a memory service of yours remembers: it stands after the keep's own.
    text: Option<String>,
    /// The most tokens that all of it but passages may take; a quarter of the budget without it. Whole records that do not fit are left out, and a
    /// warning says how many.
    #[serde(default, deserialize_with = "maybe_whole")]
    max_tokens: Option<u64>,
    /// The share of the budget, from 0 to 1, for passages: old messages of the thread that a checkpoint covers or the budget drops. Those
    /// that fit the query best are quoted with date and speaker, long ones in part. None without it; 0.25 is a good value.
    passages: Option<Share>,
}

impl From<WantedParams> for Wanted {
    fn from(params: WantedParams) -> Self {
        let most = |count: Option<u64>, other: usize| count.map_or(other, |count| count as usize);
        let limits = BundleLimits::default();
        let limits =
            BundleLimits { episodes: most(params.episodes, limits.episodes), facts: most(params.facts, limits.facts) };
        let WantedParams { query, agent, text, max_tokens, passages, .. } = params;
        Self { limits, query, agent, text, max_tokens, passages: passages.unwrap_or_default() }
    }
}

impl From<Wanted> for WantedParams {
    fn from(wanted: Wanted) -> Self {
        let Wanted { limits, query, agent, text, max_tokens, passages } = wanted;
        let most = |count: usize| Some(count as u64);
        let passages = Some(passages).filter(|share| *share != Share::default());
        Self { episodes: most(limits.episodes), facts: most(limits.facts), query, agent, text, max_tokens, passages }
    }
}

/// Questions beside a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct WhatIf {
    /// At which budget does the message of this place stay?
    pub survives: Option<usize>,
    /// What would this many more tokens push out?
    #[serde(deserialize_with = "maybe_whole")]
    pub more: Option<u64>,
    /// What does each message cost?
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub costs: bool,
    /// What would this policy keep?
    #[cfg_attr(feature = "ts", ts(inline))]
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

/// Options of `trimMessages`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "TrimOptions", optional_fields))]
pub struct TrimParams {
    /// Whose messages are counted, and what they must begin with; `openai-chat` without it.
    provider: Option<Provider>,
    /// How tokens are counted; `o200k_base` without it.
    encoding: Option<Counting>,
    /// How much is kept; everything without it.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    budget: Budget,
    /// Which messages go first. `newest`, the default: as many of the newest as fit. `stable`: cuts in large steps, so that requests begin
    /// alike and the provider's prompt cache keeps hitting. A step is `√(2 · 1000 · maxTokens)` tokens, or a third of what the frame
    /// leaves of the budget where that is less. Half of a step stays unused on average: a sixth of up to 18,000 tokens, a sixteenth of
    /// 100,000. It needs no memory of earlier requests.
    #[cfg_attr(feature = "ts", ts(inline))]
    policy: Option<Policy>,
    /// Places in the list, from 0, of messages to keep.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pins: Vec<usize>,
    /// `false`: system messages are left out. They are always kept otherwise.
    include_system: Option<bool>,
}
