//! The frame: what stands around the history in a prompt and is never stored. It is counted first, so it is inside the
//! budget. Switching the mode changes the frame and nothing else.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use threadkeep_core::read::{Plain, or_default};
use threadkeep_core::sort;
use threadkeep_core::{Message, Role, read_by_name, write_by_name};
use threadkeep_provider::Provider;

use crate::Material;
use crate::tokens::{Cost, Counter, Overhead, cost, tools_cost};

use super::budget::Figures;
use super::facts::characters;
use super::{Kinds, Line, rule};

/// In which mode the model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextMode", rename_all = "camelCase"))]
pub enum Mode {
    /// Conversation: no persona.
    Chat,
    /// An agent with a persona.
    Agent,
    /// A workflow's step: persona and run directives.
    Run,
}

impl Mode {
    /// Its name in options: `chat`, `agent` or `run`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Agent => "agent",
            Self::Run => "run",
        }
    }

    /// The mode of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Chat, Self::Agent, Self::Run].into_iter().find(|mode| mode.name() == name)
    }
}

read_by_name!(Mode, Mode::from_name, "chat, agent or run");
write_by_name!(Mode);

/// What a workflow tells the model about its step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "RunDirectives", optional_fields))]
pub struct Run {
    /// What is to be done.
    #[serde(deserialize_with = "or_default")]
    pub directive: String,
    /// What the workflow's node is for.
    pub node_brief: Option<String>,
    /// Where the workflow is: text, or anything that JSON can say.
    #[serde(deserialize_with = "text")]
    #[cfg_attr(feature = "ts", ts(optional, type = "unknown"))]
    pub step: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Plain::deserialize(deserializer)? {
        Plain(Value::Null) => None,
        Plain(Value::String(text)) => Some(text),
        Plain(other) => Some(other.to_string()),
    })
}

/// What the frame is made of. Empty texts count as absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameOptions {
    /// The mode; without one there is no banner, and neither persona nor run are used.
    pub mode: Option<Mode>,
    /// The system prompt. It stands in the place of the instructions with which the history begins.
    pub system_prompt: Option<String>,
    /// Who the model is to be; used in the modes agent and run.
    pub persona: Option<String>,
    /// The run; used in the mode run.
    pub run: Option<Run>,
    /// What is remembered, as [`Material`]: a user message quotes it before the user's newest one.
    pub memory: Vec<Material>,
    /// The schemas of the tools that the model may call: they cost tokens, though they are no messages.
    pub tools: Vec<Value>,
}

/// A message of the frame, why it is there, and what it costs.
pub(super) type Part = (Message, &'static str, Cost);

/// The frame, counted.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub(super) parts: Vec<Part>,
    tools: u32,
    reply: u32,
    /// The records that the message of the memory quotes, with their tokens.
    records: Vec<(String, u32)>,
    /// The places of the messages of the history that it quotes, ascending.
    pub(super) quoted: Vec<usize>,
}

impl Frame {
    /// Makes the messages of the frame, in the order of the prompt: what changes least comes first.
    pub fn new(options: &FrameOptions, provider: Provider, counter: &dyn Counter) -> Self {
        let mut frame = Self {
            parts: Vec::new(),
            tools: tools_cost(&options.tools, provider, counter),
            reply: Overhead::of(provider).reply,
            records: Vec::new(),
            quoted: options.memory.iter().flat_map(|it| &it.entries).filter_map(|entry| entry.place).collect(),
        };
        sort::sort(&mut frame.quoted);
        let mut add = |text: &str, rule| {
            if !text.trim().is_empty() {
                let message = Message::system(text);
                let cost = cost(&message, provider, counter);
                frame.parts.push((message, rule, cost));
            }
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        add(&text(&options.system_prompt), rule::SYSTEM_PROMPT);
        if matches!(options.mode, Some(Mode::Agent | Mode::Run)) {
            add(&text(&options.persona), rule::PERSONA);
        }
        if let Some(mode) = options.mode {
            add(&banner(mode), rule::MODE_BANNER);
        }
        if let Some(run) = options.run.as_ref().filter(|_| options.mode == Some(Mode::Run)) {
            let titled = |title: &str, text: &str| match text.trim() {
                "" => String::new(),
                _ => [title, "\n", text].concat(),
            };
            add(&titled("RUN_DIRECTIVE", &run.directive), rule::RUN_DIRECTIVE);
            add(&titled("NODE_BRIEF", &text(&run.node_brief)), rule::NODE_BRIEF);
            add(&titled("STEP_CONTEXT", &text(&run.step)), rule::STEP_CONTEXT);
        }
        if let Some(message) = Material::message(&options.memory) {
            let cost = cost(&message, provider, counter);
            frame.records = records(&options.memory, cost.total(), counter);
            frame.parts.push((message, rule::MEMORY, cost));
        }
        frame
    }

    /// The lines of the ledger for a message of the frame, which costs so many tokens. What is remembered has one for the marks around the
    /// quotes, and one for each record.
    pub(super) fn lines(&self, index: usize, rule: &'static str, tokens: u32) -> Vec<Line> {
        if rule != rule::MEMORY {
            return vec![Line::injected(index, rule, tokens)];
        }
        let said: u32 = self.records.iter().map(|(_, tokens)| tokens).sum();
        let mut lines = vec![Line::injected(index, rule, tokens.saturating_sub(said))];
        let record = |(id, tokens): &(String, u32)| Line {
            memory: Some(id.clone()),
            ..Line::injected(index, rule::MEMORY, *tokens)
        };
        lines.extend(self.records.iter().map(record));
        lines
    }

    /// The rule of a message that the prompt leaves out: that it is quoted, or else why it is left out.
    pub fn rule(&self, index: usize, left_out: &'static str) -> &'static str {
        quoted_or(&self.quoted, index, left_out)
    }

    /// The messages, in the order of the prompt.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.parts.iter().map(|(message, ..)| message)
    }

    /// The tokens of the tools' schemas.
    pub fn tools(&self) -> u32 {
        self.tools
    }

    /// The tokens with which the reply begins, where the provider counts them.
    pub fn reply(&self) -> u32 {
        self.reply
    }

    /// What it takes of the budget.
    pub fn figures(&self) -> Figures {
        let part = |(message, _, cost): &(Message, &str, Cost)| Figures {
            tokens: u64::from(cost.total()),
            messages: 1,
            chars: characters(message),
        };
        let others = Figures { tokens: u64::from(self.tools) + u64::from(self.reply), ..Figures::default() };
        self.parts.iter().map(part).fold(others, Figures::plus)
    }

    /// Adds its tokens, by what they are for.
    pub fn add_kinds(&self, kinds: &mut Kinds) {
        kinds.tools += u64::from(self.tools);
        kinds.injected += u64::from(self.reply);
        for (message, rule, cost) in &self.parts {
            let prompt = *rule == rule::SYSTEM_PROMPT && message.role == Role::System;
            let kind = match *rule {
                _ if prompt => &mut kinds.system,
                rule::MEMORY => &mut kinds.memory,
                _ => &mut kinds.injected,
            };
            *kind += u64::from(cost.total());
        }
    }
}

/// The rule of a message that is left out, given the places of those that are quoted.
pub(super) fn quoted_or(quoted: &[usize], index: usize, left_out: &'static str) -> &'static str {
    if quoted.binary_search(&index).is_ok() { rule::QUOTED } else { left_out }
}

/// The records of materials with their tokens, which together take at most `most`: a text in pieces may count for more than the whole.
fn records(materials: &[Material], most: u32, counter: &dyn Counter) -> Vec<(String, u32)> {
    let mut left = most;
    let entries = materials.iter().flat_map(|material| &material.entries);
    let record = entries.filter_map(|entry| {
        let tokens = counter.count(&entry.quoted()).min(left);
        let id = entry.record.clone()?;
        left -= tokens;
        Some((id, tokens))
    });
    record.collect()
}

/// The message that tells the model in which mode it is called, since the history can hold messages of other modes.
///
/// ```
/// use threadkeep_context::{Mode, banner};
/// assert_eq!(
///     banner(Mode::Run),
///     "MODE\n- active: run\n- note: history may include other modes; follow current instructions."
/// );
/// ```
pub fn banner(mode: Mode) -> String {
    ["MODE\n- active: ", mode.name(), "\n- note: history may include other modes; follow current instructions."]
        .concat()
}
