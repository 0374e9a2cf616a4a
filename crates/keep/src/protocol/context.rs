//! Options of contexts, read from JSON, and what comes back, written as JSON. By hand, as all of the protocol is.

use serde_json::{Map, Value};
use threadkeep_compaction::memory::BundleLimits;
use threadkeep_context::{
    Action, Figures, Kinds, Ledger, Limits, Line, MessageRef, OptionError, Options, Policy, Prompt, TrimOptions,
    Warning, read_options, read_trim_options,
};
use threadkeep_core::Message;
use threadkeep_provider::{RenderOptions, ToolSchema};
use threadkeep_tokens::Encoding;

use super::BadRequest;

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

/// How a context is built. As JSON, an object with the names of [`ContextOptions::from_json`].
#[derive(Debug, Clone, PartialEq, Default)]
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

/// What of the memory a prompt has. As JSON `{episodes?, facts?, query?, text?, maxTokens?}`; 3 and 20 without.
#[derive(Debug, Clone, PartialEq, Default)]
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

impl Wanted {
    fn from_json(value: &Value) -> Checked<Self> {
        let mut fields = Fields::of(value, "options.memory")?;
        let mut limits = BundleLimits::default();
        let most = |count: Option<u64>, other: usize| count.map_or(other, |count| count as usize);
        limits.episodes = most(fields.count("episodes")?, limits.episodes);
        limits.facts = most(fields.count("facts")?, limits.facts);
        let max_tokens = fields.count("maxTokens")?;
        let mut text = |name| match fields.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => fields.bad(name, "must be a string"),
        };
        let (query, text) = (text("query")?, text("text")?);
        fields.end("episodes, facts, query, text, maxTokens")?;
        Ok(Self { limits, query, text, max_tokens })
    }
}

type Checked<T> = Result<T, BadRequest>;

fn bad<T>(argument: &str, why: &str) -> Checked<T> {
    Err(BadRequest { argument: argument.to_owned(), why: why.to_owned() })
}

/// The options of an object that have not been taken yet, and where the object stands.
pub(crate) struct Fields {
    map: Map<String, Value>,
    place: &'static str,
}

impl Fields {
    pub(crate) fn of(value: &Value, place: &'static str) -> Checked<Self> {
        match value {
            Value::Null => Ok(Self { map: Map::new(), place }),
            Value::Object(map) => Ok(Self { map: map.clone(), place }),
            _ => bad(place, "must be an object"),
        }
    }

    fn bad<T>(&self, name: &str, why: &str) -> Checked<T> {
        bad(&[self.place, ".", name].concat(), why)
    }

    /// A value; `null` counts as left out.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn count(&mut self, name: &str) -> Checked<Option<u64>> {
        match self.take(name) {
            None => Ok(None),
            // JavaScript's whole numbers go up to 2^53 - 1.
            Some(value) => match value.as_u64().filter(|count| *count < 1 << 53) {
                Some(count) => Ok(Some(count)),
                None => self.bad(name, "must be a whole number from 0 to 9007199254740991"),
            },
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Checked<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => self.bad(name, "must be true or false"),
        }
    }

    /// Options that are left are not known.
    pub(crate) fn end(&self, known: &str) -> Checked<()> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(name) => self.bad(name, &["is not known here; there are: ", known].concat()),
        }
    }
}

impl ContextOptions {
    /// Reads the options of `context()`: those of [`read_options`], and `render: {stream?, reasoning?, prefill?, sdk?}`. `null`
    /// is left out; zero is zero.
    ///
    /// ```
    /// use threadkeep::protocol::ContextOptions;
    /// use serde_json::json;
    /// let options = ContextOptions::from_json(&json!({"policy": "stable", "budget": {"maxTokens": 0}}))?;
    /// assert_eq!(options.build.budget.max_tokens, Some(0));
    /// let error = ContextOptions::from_json(&json!({"budget": {"tokens": 9}})).unwrap_err();
    /// assert_eq!(error.argument, "options.budget.tokens");
    /// # Ok::<(), threadkeep::protocol::BadRequest>(())
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn from_json(options: &Value) -> Result<Self, BadRequest> {
        let mut core = options.clone();
        let render = core.as_object_mut().and_then(|map| map.shift_remove("render")).unwrap_or_default();
        let asked = read_options(&core).map_err(of_option)?;
        let memory = match &asked.memory {
            Some(memory) if memory.is_object() => Some(Wanted::from_json(memory)?),
            _ => None,
        };
        let mut read = Self {
            memory,
            epoch: asked.epoch,
            build: asked.options,
            pins: asked.pins,
            encoding: counting(asked.encoding)?,
            ..Self::default()
        };
        // They are resolved with the others, so that one that leads nowhere is said once.
        read.build.pins.clear();
        read.render.model = asked.model;
        read.render.max_output_tokens = read.build.budget.max_output_tokens;
        for (at, tool) in read.build.frame.tools.iter().enumerate() {
            match ToolSchema::from_json(tool, at) {
                Ok(tool) => read.render.tools.push(tool),
                Err(error) => return bad("options.tools", &["is wrong: ", &error.to_string()].concat()),
            }
        }
        let mut fields = Fields::of(&render, "options.render")?;
        read.render.stream = fields.flag("stream")?;
        read.render.reasoning = fields.flag("reasoning")?.unwrap_or(true);
        read.render.prefill = fields.flag("prefill")?.unwrap_or_default();
        read.render.sdk = fields.flag("sdk")?.unwrap_or_default();
        fields.end("stream, reasoning, prefill, sdk")?;
        Ok(read)
    }
}

/// The options of `trimMessages()`, as [`read_trim_options`] reads them, and how it is to be counted.
///
/// # Errors
/// [`BadRequest`] names the first option that is not known, or not what it must be.
pub fn trim_options(options: &Value) -> Result<(TrimOptions, Counting), BadRequest> {
    let (options, encoding) = read_trim_options(options).map_err(of_option)?;
    Ok((options, counting(encoding)?))
}

fn counting(name: Option<String>) -> Checked<Counting> {
    match name.map(|name| Counting::from_name(&name)) {
        None => Ok(Counting::default()),
        Some(Some(counting)) => Ok(counting),
        Some(None) => bad("options.encoding", "must be o200k_base, cl100k_base or estimate"),
    }
}

fn of_option(error: OptionError) -> BadRequest {
    let place = |name: &str| if name == "options" { name.to_owned() } else { ["options.", name].concat() };
    let (argument, why) = match &error {
        OptionError::Unknown(name) => (place(name), "is not known here".to_owned()),
        OptionError::Value { option, expected } => (place(option), ["must be ", expected].concat()),
        OptionError::Pin { .. } => (place("pins"), error.to_string()),
    };
    BadRequest { argument, why }
}

/// A context, as the outside sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextReply {
    /// The messages of the prompt, in order.
    pub messages: Vec<Message>,
    /// The request's body.
    pub payload: Value,
    /// One line for each message of the history and of the frame, and one for the tools.
    pub ledger: Ledger,
    /// What the prompt holds; its tokens are the sum of the ledger's.
    pub figures: Figures,
    /// The limits that held.
    pub limits: Limits,
    /// Whether what must stay is over them: then no model should be called.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// The checkpoint that stands in for the old part; the lines with the rule `checkpoint` are about it.
    pub checkpoint: Option<String>,
}

impl From<Prompt<'_>> for ContextReply {
    fn from(prompt: Prompt<'_>) -> Self {
        let Prompt { context, payload, warnings } = prompt;
        Self {
            messages: context.messages.into_iter().map(std::borrow::Cow::into_owned).collect(),
            payload,
            ledger: context.ledger,
            figures: context.figures,
            limits: context.limits,
            over_budget: context.over_budget,
            kinds: context.kinds,
            warnings,
            checkpoint: None,
        }
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut map = Map::with_capacity(N);
    for (name, value) in fields {
        map.insert(name.to_owned(), value);
    }
    Value::Object(map)
}

/// The limits as JSON: `{tokens, messages, chars}`, `null` for none.
pub fn limits_json(limits: &Limits) -> Value {
    object([("tokens", limits.tokens.into()), ("messages", limits.messages.into()), ("chars", limits.chars.into())])
}

/// A warning as JSON: `{kind, rule, message, index, count}`.
pub fn warning_json(warning: &Warning) -> Value {
    object([
        ("kind", warning.kind.name().into()),
        ("rule", warning.rule.into()),
        ("message", warning.message.as_str().into()),
        ("index", warning.index.into()),
        ("count", warning.count.into()),
    ])
}

impl ContextReply {
    /// It as JSON: `{messages, payload, ledger, tokens, chars, budget, overBudget, kinds, warnings, checkpoint}`.
    pub fn to_json(&self) -> Value {
        let mut all = self.to_json_without_ledger();
        if let Value::Object(all) = &mut all {
            all.shift_insert(2, "ledger".to_owned(), self.ledger.iter().map(Line::to_json).collect());
        }
        all
    }

    /// What [`ContextReply::to_json`] writes, but for the ledger, whose lines are then not made.
    pub fn to_json_without_ledger(&self) -> Value {
        object([
            ("messages", self.messages.iter().map(Message::to_json).collect()),
            ("payload", self.payload.clone()),
            ("tokens", self.figures.tokens.into()),
            ("chars", self.figures.chars.into()),
            ("budget", limits_json(&self.limits)),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("warnings", self.warnings.iter().map(warning_json).collect()),
            ("checkpoint", self.checkpoint.clone().into()),
        ])
    }
}

/// Messages in a row to which the same was done for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkRun {
    /// How many.
    pub count: u32,
    /// What was done.
    pub action: Action,
    /// The rule that decided.
    pub rule: &'static str,
    /// Whether the prompt has them.
    pub kept: bool,
}

/// What a budget keeps of a chain, without the messages: what one step of a slider needs.
#[derive(Debug, Clone, PartialEq)]
pub struct FitReply {
    /// What became of each message of the chain, in its order; the counts add up to [`Self::length`].
    pub runs: Vec<MarkRun>,
    /// How many messages the chain has.
    pub length: usize,
    /// What the prompt holds.
    pub figures: Figures,
    /// What all of the chain would hold, without the frame.
    pub whole: Figures,
    /// The limits that held.
    pub limits: Limits,
    /// Whether what must stay is over them.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// The tokens of the frame and the tools.
    pub frame: u64,
    /// How many tokens at the beginning, the frame's included, the request before had too: the one that led to the last
    /// answer of the model, with the same options. `None` where there was none.
    pub shared: Option<u64>,
    /// For [`WhatIf::survives`]: the smallest `maxTokens` at which the message is in a prompt that is not over its budget.
    pub smallest_budget: Option<u64>,
    /// For [`WhatIf::more`]: the places of the messages that would be pushed out.
    pub pushed_out: Vec<usize>,
    /// For [`WhatIf::costs`]: what each message costs in a prompt that has it.
    pub costs: Vec<u32>,
    /// The checkpoint that stands in for the old part.
    pub checkpoint: Option<String>,
    /// For [`WhatIf::policy`]: what that policy would keep.
    pub instead: Option<Instead>,
}

/// What another policy would keep of a chain, under the same budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// Which.
    pub policy: Policy,
    /// What its prompt would hold.
    pub figures: Figures,
    /// How many messages of the chain would be in it.
    pub kept: usize,
    /// Whether what must stay is over the limits.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// As [`FitReply::shared`].
    pub shared: Option<u64>,
}

/// Questions beside a fit. As JSON `{survives?, more?, costs?, policy?}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WhatIf {
    /// At which budget does the message of this place stay?
    pub survives: Option<usize>,
    /// What would this many more tokens push out?
    pub more: Option<u64>,
    /// What does each message cost?
    pub costs: bool,
    /// What would this policy keep?
    pub policy: Option<Policy>,
}

impl WhatIf {
    /// Reads it.
    ///
    /// # Errors
    /// [`BadRequest`] names the first question that is not known, or not what it must be.
    pub fn from_json(value: &Value) -> Result<Self, BadRequest> {
        let mut fields = Fields::of(value, "whatIf")?;
        let read = Self {
            survives: fields.count("survives")?.and_then(|place| usize::try_from(place).ok()),
            more: fields.count("more")?,
            costs: fields.flag("costs")?.unwrap_or_default(),
            policy: match fields.take("policy") {
                None | Some(Value::Null) => None,
                Some(name) => match name.as_str().and_then(Policy::from_name) {
                    None => return fields.bad("policy", "must be newest or stable"),
                    policy => policy,
                },
            },
        };
        fields.end("survives, more, costs, policy")?;
        Ok(read)
    }
}

impl FitReply {
    /// It as JSON: `{runs: [[count, action, rule, kept], …], length, tokens, messages, chars, whole: {tokens, messages,
    /// chars}, budget, overBudget, kinds, frame, shared, smallestBudget, pushedOut, costs, instead: {policy, tokens,
    /// messages, chars, kept, overBudget, kinds, shared}, checkpoint}`.
    pub fn to_json(&self) -> Value {
        let run = |run: &MarkRun| {
            Value::Array(vec![run.count.into(), run.action.name().into(), run.rule.into(), run.kept.into()])
        };
        object([
            ("runs", self.runs.iter().map(run).collect()),
            ("length", self.length.into()),
            ("tokens", self.figures.tokens.into()),
            ("messages", self.figures.messages.into()),
            ("chars", self.figures.chars.into()),
            (
                "whole",
                object([
                    ("tokens", self.whole.tokens.into()),
                    ("messages", self.whole.messages.into()),
                    ("chars", self.whole.chars.into()),
                ]),
            ),
            ("budget", limits_json(&self.limits)),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("frame", self.frame.into()),
            ("shared", self.shared.into()),
            ("smallestBudget", self.smallest_budget.into()),
            ("pushedOut", self.pushed_out.iter().copied().collect()),
            ("costs", self.costs.iter().copied().collect()),
            ("checkpoint", self.checkpoint.clone().into()),
            ("instead", self.instead.as_ref().map_or(Value::Null, Instead::to_json)),
        ])
    }
}

impl Instead {
    fn to_json(&self) -> Value {
        object([
            ("policy", self.policy.name().into()),
            ("tokens", self.figures.tokens.into()),
            ("messages", self.figures.messages.into()),
            ("chars", self.figures.chars.into()),
            ("kept", self.kept.into()),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("shared", self.shared.into()),
        ])
    }
}
