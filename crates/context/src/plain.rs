//! Options and contexts as JSON, for those outside Rust. What is not known is an error; `null` counts as not given.

use serde_json::{Map, Value};

use threadkeep_provider::Provider;

use super::compress::CompressOptions;
use super::frame::{Mode, Run};
use super::{Budget, Context, Item, Kinds, Line, Options, Policy, Preview, Previews, System, TrimOptions};

/// Why options cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no option of that name.
    #[error("there is no option {0:?}")]
    Unknown(String),
    /// An option is not what it must be.
    #[error("{option} must be {expected}")]
    Value {
        /// Its name, such as `budget.maxTokens`.
        option: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A pin names a message that is not in the history.
    #[error("pins[{at}] names no message of the history")]
    Pin {
        /// The pin's place in its list.
        at: usize,
    },
}

/// A message of a history, as options name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageRef {
    /// By its place in the history: a number.
    Index(usize),
    /// All messages of a node: its id.
    Node(String),
    /// A message of a node, by its place in it: `{"node", "index"}`.
    InNode(String, usize),
}

/// The options of `context()`, read: those that the core carries out, and those that its caller must.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// What [`build`](super::build) does. Its pins are those that are given by place; its memory is empty.
    pub options: Options,
    /// Messages to pin; see [`pins`].
    pub pins: Vec<MessageRef>,
    /// The vocabulary to count with.
    pub encoding: Option<String>,
    /// The model's name, for the payload.
    pub model: Option<String>,
    /// What is wanted of the memory, as it was given: `false` or an object.
    pub memory: Option<Value>,
    /// The checkpoint up to which to build.
    pub epoch: Option<String>,
}

fn wrong(option: &str, expected: &'static str) -> OptionError {
    OptionError::Value { option: option.to_owned(), expected }
}

const NUMBER: &str = "a whole number from 0 on";

fn number(option: &str, value: &Value) -> Result<u64, OptionError> {
    value.as_u64().ok_or_else(|| wrong(option, NUMBER))
}

fn place(option: &str, value: &Value) -> Result<usize, OptionError> {
    number(option, value).and_then(|number| usize::try_from(number).map_err(|_| wrong(option, NUMBER)))
}

fn text(option: &str, value: &Value) -> Result<String, OptionError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(option, "text"))
}

/// The fields of an object that are given.
fn fields<'a>(option: &str, value: &'a Value) -> Result<Vec<(&'a String, &'a Value)>, OptionError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => Ok(map.iter().filter(|(_, value)| !value.is_null()).collect()),
        _ => Err(wrong(option, "an object")),
    }
}

fn budget(value: &Value) -> Result<Budget, OptionError> {
    let mut budget = Budget::default();
    for (name, value) in fields("budget", value)? {
        let field = match name.as_str() {
            "maxTokens" => &mut budget.max_tokens,
            "maxContextTokens" => &mut budget.max_context_tokens,
            "maxOutputTokens" => &mut budget.max_output_tokens,
            "safetyMargin" => &mut budget.safety_margin,
            "maxMessages" => &mut budget.max_messages,
            "maxChars" => &mut budget.max_chars,
            _ => return Err(OptionError::Unknown(["budget.", name].concat())),
        };
        *field = Some(number(&["budget.", name].concat(), value)?);
    }
    Ok(budget)
}

fn provider(value: &Value) -> Result<Provider, OptionError> {
    const EXPECTED: &str = "openai-chat, openai-responses, anthropic, gemini or ollama";
    value.as_str().and_then(Provider::from_name).ok_or_else(|| wrong("provider", EXPECTED))
}

fn policy(value: &Value) -> Result<Policy, OptionError> {
    value.as_str().and_then(Policy::from_name).ok_or_else(|| wrong("policy", "newest or stable"))
}

fn mode(value: &Value) -> Result<Mode, OptionError> {
    value.as_str().and_then(Mode::from_name).ok_or_else(|| wrong("mode", "chat, agent or run"))
}

fn run(value: &Value) -> Result<Run, OptionError> {
    let mut run = Run::default();
    for (name, value) in fields("run", value)? {
        match name.as_str() {
            "directive" => run.directive = text("run.directive", value)?,
            "nodeBrief" => run.node_brief = Some(text("run.nodeBrief", value)?),
            // What a workflow says of its step is its own affair: text as it is, anything else as JSON.
            "step" => run.step = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            _ => return Err(OptionError::Unknown(["run.", name].concat())),
        }
    }
    Ok(run)
}

fn previews(value: &Value) -> Result<Previews, OptionError> {
    if *value == Value::Bool(false) {
        return Ok(Previews::Never);
    }
    let mut preview = Preview::default();
    for (name, value) in fields("toolPreview", value)? {
        let field = match name.as_str() {
            "over" => &mut preview.over,
            "keep" => &mut preview.keep,
            _ => return Err(OptionError::Unknown(["toolPreview.", name].concat())),
        };
        let option = ["toolPreview.", name].concat();
        *field = u32::try_from(number(&option, value)?).map_err(|_| wrong(&option, NUMBER))?;
    }
    Ok(Previews::Over(preview))
}

fn message_ref(value: &Value) -> Option<MessageRef> {
    let place = |value: &Value| value.as_u64().and_then(|place| usize::try_from(place).ok());
    match value {
        Value::Number(_) => place(value).map(MessageRef::Index),
        Value::String(id) => Some(MessageRef::Node(id.clone())),
        Value::Object(map) if map.len() == 2 => {
            Some(MessageRef::InNode(map.get("node")?.as_str()?.to_owned(), place(map.get("index")?)?))
        }
        _ => None,
    }
}

fn message_refs(value: &Value) -> Result<Vec<MessageRef>, OptionError> {
    const EXPECTED: &str = "a list of places, of node ids, or of { node, index }";
    let list = value.as_array().ok_or_else(|| wrong("pins", EXPECTED))?;
    let read = |(at, value): (usize, &Value)| {
        message_ref(value).ok_or_else(|| wrong(&["pins[", &at.to_string(), "]"].concat(), EXPECTED))
    };
    list.iter().enumerate().map(read).collect()
}

/// The places in a history of the messages that are pinned.
///
/// # Errors
/// [`OptionError::Pin`] for a reference that leads to no message.
pub fn pins(refs: &[MessageRef], items: &[Item]) -> Result<Vec<usize>, OptionError> {
    let mut places = Vec::with_capacity(refs.len());
    for (at, wanted) in refs.iter().enumerate() {
        let before = places.len();
        match wanted {
            MessageRef::Index(place) => places.extend(Some(*place).filter(|place| *place < items.len())),
            MessageRef::Node(id) | MessageRef::InNode(id, _) => {
                let node = |place: &usize| items[*place].node.is_some_and(|node| node.as_str() == id);
                let mut found = (0..items.len()).filter(node);
                match wanted {
                    MessageRef::InNode(_, index) => places.extend(found.nth(*index)),
                    _ => places.extend(found),
                }
            }
        }
        if places.len() == before {
            return Err(OptionError::Pin { at });
        }
    }
    Ok(places)
}

/// Reads the options of `context()`.
///
/// ```
/// use serde_json::json;
/// use threadkeep_context::{Policy, read_options};
/// let asked = read_options(&json!({"budget": {"maxTokens": 0}, "policy": "stable", "toolPreview": false}))?;
/// assert_eq!(asked.options.budget.max_tokens, Some(0));
/// assert_eq!(asked.options.policy, Policy::Stable);
/// assert!(read_options(&json!({"budgets": {}})).is_err());
/// # Ok::<(), threadkeep_context::OptionError>(())
/// ```
///
/// # Errors
/// [`OptionError`] for an unknown option or one of a wrong type.
pub fn read_options(value: &Value) -> Result<Asked, OptionError> {
    let mut asked = Asked::default();
    let options = &mut asked.options;
    let mut compress = false;
    let mut how = CompressOptions::default();
    for (name, value) in fields("options", value)? {
        let flag = || value.as_bool().ok_or_else(|| wrong(name, "true or false"));
        match name.as_str() {
            "provider" => options.provider = provider(value)?,
            "encoding" => asked.encoding = Some(text(name, value)?),
            "budget" => options.budget = budget(value)?,
            "model" => asked.model = Some(text(name, value)?),
            "policy" => options.policy = policy(value)?,
            "pins" => asked.pins = message_refs(value)?,
            "mode" => options.frame.mode = Some(mode(value)?),
            "systemPrompt" => options.frame.system_prompt = Some(text(name, value)?),
            "persona" => options.frame.persona = Some(text(name, value)?),
            "run" => options.frame.run = Some(run(value)?),
            "compressHistory" => compress = flag()?,
            "printlnHistoryLimit" => how.println_history_limit = place(name, value)?,
            "errorWindow" => how.error_window = place(name, value)?,
            "toolPreview" => options.previews = previews(value)?,
            "memory" if value.is_object() || *value == Value::Bool(false) => asked.memory = Some(value.clone()),
            "memory" => return Err(wrong(name, "an object or false")),
            "tools" => options.frame.tools = value.as_array().ok_or_else(|| wrong(name, "a list"))?.clone(),
            "epoch" => asked.epoch = Some(text(name, value)?),
            "live" => options.live = flag()?,
            _ => return Err(OptionError::Unknown(name.clone())),
        }
    }
    options.compress = compress.then_some(how);
    Ok(asked)
}

/// Reads the options of `trimMessages()`: `provider`, `budget`, `policy`, `pins` (by place) and `includeSystem` (true); `encoding`
/// is handed back.
///
/// # Errors
/// [`OptionError`] for an unknown option or one of a wrong type.
pub fn read_trim_options(value: &Value) -> Result<(TrimOptions, Option<String>), OptionError> {
    let mut options = TrimOptions::default();
    let mut encoding = None;
    for (name, value) in fields("options", value)? {
        match name.as_str() {
            "provider" => options.provider = provider(value)?,
            "encoding" => encoding = Some(text(name, value)?),
            "budget" => options.budget = budget(value)?,
            "policy" => options.policy = policy(value)?,
            "pins" => {
                let places = message_refs(value)?.into_iter().map(|pin| match pin {
                    MessageRef::Index(place) => Ok(place),
                    _ => Err(wrong("pins", "a list of places")),
                });
                options.pins = places.collect::<Result<_, _>>()?;
            }
            "includeSystem" => {
                let wanted = value.as_bool().ok_or_else(|| wrong(name, "true or false"))?;
                options.system = if wanted { System::Kept } else { System::Excluded };
            }
            _ => return Err(OptionError::Unknown(name.clone())),
        }
    }
    Ok((options, encoding))
}

fn object(fields: &mut [(&str, Value)]) -> Value {
    let mut map = Map::with_capacity(fields.len());
    for (name, value) in fields {
        map.insert((*name).to_owned(), value.take());
    }
    Value::Object(map)
}

impl Line {
    /// The line as JSON: `{node?, index, action, rule, tokensBefore, tokensAfter}`.
    pub fn to_json(&self) -> Value {
        let mut line = object(&mut [
            ("index", self.index.into()),
            ("action", self.action.name().into()),
            ("rule", self.rule.into()),
            ("tokensBefore", self.tokens_before.into()),
            ("tokensAfter", self.tokens_after.into()),
        ]);
        if let (Some(node), Value::Object(line)) = (&self.node, &mut line) {
            line.shift_insert(0, "node".to_owned(), node.as_str().into());
        }
        line
    }
}

impl Kinds {
    /// The tokens as JSON: `{system, user, assistant, reasoning, calls, results, injected, tools}`.
    pub fn to_json(&self) -> Value {
        object(&mut [
            ("system", self.system.into()),
            ("user", self.user.into()),
            ("assistant", self.assistant.into()),
            ("reasoning", self.reasoning.into()),
            ("calls", self.calls.into()),
            ("results", self.results.into()),
            ("injected", self.injected.into()),
            ("tools", self.tools.into()),
        ])
    }
}

impl Context<'_> {
    /// The context as JSON, with everything but the payload: `{messages, ledger, tokens, budget, overBudget, warnings, kinds,
    /// figures, limits}`. `budget` is the limit of tokens, `null` where there is none; `figures` and `limits` have
    /// messages and characters too.
    pub fn to_json(&self) -> Value {
        let limit = |limit: Option<u64>| limit.map_or(Value::Null, Value::from);
        let limits = &self.limits;
        object(&mut [
            ("messages", self.messages.iter().map(|message| message.to_json()).collect()),
            ("ledger", self.ledger.iter().map(Line::to_json).collect()),
            ("tokens", self.figures.tokens.into()),
            ("budget", limit(limits.tokens)),
            ("overBudget", self.over_budget.into()),
            ("warnings", self.warnings.iter().map(|warning| Value::from(*warning)).collect()),
            ("kinds", self.kinds.to_json()),
            (
                "figures",
                object(&mut [
                    ("tokens", self.figures.tokens.into()),
                    ("messages", self.figures.messages.into()),
                    ("chars", self.figures.chars.into()),
                ]),
            ),
            (
                "limits",
                object(&mut [
                    ("tokens", limit(limits.tokens)),
                    ("messages", limit(limits.messages)),
                    ("chars", limit(limits.chars)),
                ]),
            ),
        ])
    }
}
