//! Options of contexts, read from JSON, and what comes back, written as JSON. By hand, as all of the protocol is.

use serde_json::{Map, Value};
use threadkeep_core::context::compress::CompressOptions;
use threadkeep_core::context::{
    Action, Budget, Figures, Kinds, Limits, Line, Mode, Options, Policy, Preview, Prompt, Run, Warning,
};
use threadkeep_core::provider::{RenderOptions, ToolSchema};
use threadkeep_core::tokens::Encoding;
use threadkeep_core::{Message, MessageId, Provider};

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

/// A message that is to stay, by where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// Its place in the chain, or in the list, from 0.
    Place(usize),
    /// The node that holds it, and its place there; without one, all messages of the node.
    Node(MessageId, Option<usize>),
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
    pub pins: Vec<Pin>,
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

    fn text(&mut self, name: &str) -> Checked<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => self.bad(name, "must be a string"),
        }
    }

    /// A word, and what it stands for.
    fn word<T>(&mut self, name: &str, known: &str, read: fn(&str) -> Option<T>) -> Checked<Option<T>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_str().and_then(read) {
            Some(found) => Ok(Some(found)),
            None => self.bad(name, &["must be one of ", known].concat()),
        }
    }

    fn inner(&mut self, name: &str, place: &'static str) -> Checked<Option<Fields>> {
        self.take(name).map(|value| Self::of(&value, place)).transpose()
    }

    /// Options that are left are not known.
    pub(crate) fn end(&self, known: &str) -> Checked<()> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(name) => self.bad(name, &["is not known here; there are: ", known].concat()),
        }
    }

    fn budget(&mut self) -> Checked<Budget> {
        let Some(mut fields) = self.inner("budget", "options.budget")? else { return Ok(Budget::default()) };
        let budget = Budget {
            max_tokens: fields.count("maxTokens")?,
            max_context_tokens: fields.count("maxContextTokens")?,
            max_output_tokens: fields.count("maxOutputTokens")?,
            safety_margin: fields.count("safetyMargin")?,
            max_messages: fields.count("maxMessages")?,
            max_chars: fields.count("maxChars")?,
        };
        fields.end("maxTokens, maxContextTokens, maxOutputTokens, safetyMargin, maxMessages, maxChars")?;
        Ok(budget)
    }

    fn pins(&mut self) -> Checked<Vec<Pin>> {
        let list = match self.take("pins") {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return self.bad("pins", "must be a list"),
        };
        let place = |value: &Value| value.as_u64().and_then(|place| usize::try_from(place).ok());
        let mut pins = Vec::with_capacity(list.len());
        for value in &list {
            let node = value.get("node").and_then(Value::as_str).and_then(|id| MessageId::new(id).ok());
            let index = value.get("index").filter(|index| !index.is_null());
            pins.push(match (place(value), node, index) {
                (Some(place), ..) => Pin::Place(place),
                (None, Some(node), None) => Pin::Node(node, None),
                (None, Some(node), Some(index)) if place(index).is_some() => Pin::Node(node, place(index)),
                _ => return self.bad("pins", "must hold places (whole numbers from 0 on) or { node, index? }"),
            });
        }
        Ok(pins)
    }

    fn preview(&mut self) -> Checked<Option<Preview>> {
        match self.take("toolPreview") {
            None | Some(Value::Bool(true)) => Ok(Some(Preview::default())),
            Some(Value::Bool(false)) => Ok(None),
            Some(value) => {
                let mut fields = Self::of(&value, "options.toolPreview")?;
                let usual = Preview::default();
                let small = |count: Option<u64>, usual| count.map_or(usual, |n| u32::try_from(n).unwrap_or(u32::MAX));
                let preview = Preview {
                    over: small(fields.count("over")?, usual.over),
                    keep: small(fields.count("keep")?, usual.keep),
                };
                fields.end("over, keep")?;
                Ok(Some(preview))
            }
        }
    }

    fn run(&mut self) -> Checked<Option<Run>> {
        let Some(mut fields) = self.inner("run", "options.run")? else { return Ok(None) };
        let Some(directive) = fields.text("directive")? else { return fields.bad("directive", "is missing") };
        let run = Run { directive, node_brief: fields.text("nodeBrief")?, step: fields.text("step")? };
        fields.end("directive, nodeBrief, step")?;
        Ok(Some(run))
    }

    fn memory(&mut self) -> Checked<Vec<Message>> {
        let list = match self.take("memory") {
            None | Some(Value::Bool(false)) => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return self.bad("memory", "must be a list of messages, or false"),
        };
        let mut messages = Vec::with_capacity(list.len());
        for value in list {
            match Message::from_json(value) {
                Ok(message) => messages.push(message),
                Err(error) => return self.bad("memory", &["must hold messages: ", &error.to_string()].concat()),
            }
        }
        Ok(messages)
    }

    fn tools(&mut self) -> Checked<Vec<Value>> {
        match self.take("tools") {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => self.bad("tools", "must be a list of tools"),
        }
    }
}

const PROVIDERS: &str = "openai-chat, openai-responses, anthropic, gemini, ollama";
const KNOWN: &str = "provider, encoding, budget, policy, pins, model, mode, systemPrompt, persona, run, compressHistory, \
    printlnHistoryLimit, errorWindow, toolPreview, memory, tools, live, render";

impl ContextOptions {
    /// Reads the options of `context()`: `{provider?, encoding?, budget?: {maxTokens?, maxContextTokens?, maxOutputTokens?,
    /// safetyMargin?, maxMessages?, maxChars?}, policy?, pins?, model?, mode?, systemPrompt?, persona?, run?: {directive,
    /// nodeBrief?, step?}, compressHistory?, printlnHistoryLimit?, errorWindow?, toolPreview?: {over?, keep?} | false, memory?,
    /// tools?, live?, render?: {stream?, reasoning?, prefill?, sdk?}}`. `null` is left out; zero is zero.
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
        let mut fields = Fields::of(options, "options")?;
        let mut read = Self::default();
        let build = &mut read.build;
        build.provider = fields.word("provider", PROVIDERS, Provider::from_name)?.unwrap_or_default();
        build.budget = fields.budget()?;
        build.policy = fields.word("policy", "newest, stable", Policy::from_name)?.unwrap_or_default();
        build.preview = fields.preview()?;
        build.live = fields.flag("live")?.unwrap_or_default();
        build.frame.mode = fields.word("mode", "chat, agent, run", Mode::from_name)?;
        build.frame.system_prompt = fields.text("systemPrompt")?;
        build.frame.persona = fields.text("persona")?;
        build.frame.run = fields.run()?;
        build.frame.memory = fields.memory()?;
        build.frame.tools = fields.tools()?;
        let usual = CompressOptions::default();
        let size = |count: Option<u64>, usual| count.map_or(usual, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let compress = CompressOptions {
            println_history_limit: size(fields.count("printlnHistoryLimit")?, usual.println_history_limit),
            error_window: size(fields.count("errorWindow")?, usual.error_window),
        };
        build.compress = fields.flag("compressHistory")?.unwrap_or_default().then_some(compress);
        read.encoding =
            fields.word("encoding", "o200k_base, cl100k_base, estimate", Counting::from_name)?.unwrap_or_default();
        read.pins = fields.pins()?;
        read.render.model = fields.text("model")?;
        read.render.max_output_tokens = build.budget.max_output_tokens;
        for (at, tool) in build.frame.tools.iter().enumerate() {
            match ToolSchema::from_json(tool, at) {
                Ok(tool) => read.render.tools.push(tool),
                Err(error) => return bad("options.tools", &["is wrong: ", &error.to_string()].concat()),
            }
        }
        if let Some(mut render) = fields.inner("render", "options.render")? {
            read.render.stream = render.flag("stream")?;
            read.render.reasoning = render.flag("reasoning")?.unwrap_or(true);
            read.render.prefill = render.flag("prefill")?.unwrap_or_default();
            read.render.sdk = render.flag("sdk")?.unwrap_or_default();
            render.end("stream, reasoning, prefill, sdk")?;
        }
        fields.end(KNOWN)?;
        Ok(read)
    }

    /// Reads the options of `trimMessages()`: `{provider?, encoding?, budget?, policy?, pins?}`, the pins places in the list.
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn for_trimming(options: &Value) -> Result<Self, BadRequest> {
        let known = ["provider", "encoding", "budget", "policy", "pins"];
        let other = options.as_object().and_then(|map| map.keys().find(|name| !known.contains(&name.as_str())));
        if let Some(name) = other {
            let why = ["is not known here; there are: ", &known.join(", ")].concat();
            return bad(&["options.", name].concat(), &why);
        }
        let mut read = Self::from_json(options)?;
        for pin in std::mem::take(&mut read.pins) {
            match pin {
                Pin::Place(place) => read.build.pins.push(place),
                Pin::Node(..) => return bad("options.pins", "must hold places in the list"),
            }
        }
        Ok(read)
    }
}

/// A context, as the outside sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextReply {
    /// The messages of the prompt, in order.
    pub messages: Vec<Message>,
    /// The request's body.
    pub payload: Value,
    /// One line for each message of the history and of the frame, and one for the tools.
    pub ledger: Vec<Line>,
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

/// Tokens by what they are for, as JSON.
pub fn kinds_json(kinds: &Kinds) -> Value {
    object([
        ("system", kinds.system.into()),
        ("user", kinds.user.into()),
        ("assistant", kinds.assistant.into()),
        ("reasoning", kinds.reasoning.into()),
        ("calls", kinds.calls.into()),
        ("results", kinds.results.into()),
        ("injected", kinds.injected.into()),
        ("tools", kinds.tools.into()),
    ])
}

/// A line of the ledger as JSON: `{node?, index, action, rule, tokensBefore, tokensAfter}`.
pub fn line_json(line: &Line) -> Value {
    let mut map = Map::with_capacity(6);
    if let Some(node) = &line.node {
        map.insert("node".to_owned(), node.as_str().into());
    }
    let fields: [(&str, Value); 5] = [
        ("index", line.index.into()),
        ("action", line.action.name().into()),
        ("rule", line.rule.into()),
        ("tokensBefore", line.tokens_before.into()),
        ("tokensAfter", line.tokens_after.into()),
    ];
    map.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(map)
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
    /// It as JSON: `{messages, payload, ledger, tokens, chars, budget, overBudget, kinds, warnings}`.
    pub fn to_json(&self) -> Value {
        object([
            ("messages", self.messages.iter().map(Message::to_json).collect()),
            ("payload", self.payload.clone()),
            ("ledger", self.ledger.iter().map(line_json).collect()),
            ("tokens", self.figures.tokens.into()),
            ("chars", self.figures.chars.into()),
            ("budget", limits_json(&self.limits)),
            ("overBudget", self.over_budget.into()),
            ("kinds", kinds_json(&self.kinds)),
            ("warnings", self.warnings.iter().map(warning_json).collect()),
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
}

/// Questions beside a fit. As JSON `{survives?, more?, costs?}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WhatIf {
    /// At which budget does the message of this place stay?
    pub survives: Option<usize>,
    /// What would this many more tokens push out?
    pub more: Option<u64>,
    /// What does each message cost?
    pub costs: bool,
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
        };
        fields.end("survives, more, costs")?;
        Ok(read)
    }
}

impl FitReply {
    /// It as JSON: `{runs: [[count, action, rule, kept], …], length, tokens, messages, chars, whole: {tokens, messages,
    /// chars}, budget, overBudget, kinds, frame, shared, smallestBudget, pushedOut, costs}`.
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
            ("kinds", kinds_json(&self.kinds)),
            ("frame", self.frame.into()),
            ("shared", self.shared.into()),
            ("smallestBudget", self.smallest_budget.into()),
            ("pushedOut", self.pushed_out.iter().copied().collect()),
            ("costs", self.costs.iter().copied().collect()),
        ])
    }
}
