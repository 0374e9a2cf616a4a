//! How an agent works, and the tools of its host.

use std::pin::Pin;

use serde_json::{Map, Value};
use threadkeep_compaction::PolicyOptions;
use threadkeep_compaction::memory::RememberFrom;
use threadkeep_core::MessageId;
use threadkeep_core::read::Off;
use threadkeep_provider::ToolSchema;

use crate::compact::CompactOptions;
use crate::protocol::{ContextParams, SpendingLimit};

/// A tool's answer: text or any JSON. An error is words for the model.
pub type ToolAnswer<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + 'a>>;

/// One call of a host's tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The node in whose turn it is called.
    pub node: MessageId,
}

/// The tools of a host, beside the built-in ones ([`BUILT_IN`](crate::protocol::BUILT_IN)).
pub trait Tools {
    /// What they are, for the model.
    fn schemas(&self) -> Vec<ToolSchema> {
        Vec::new()
    }

    /// Whether calling a tool twice does no harm. Where a crash leaves it open whether a call was carried out, such a tool is called
    /// again; of any other the model is told that it was interrupted.
    fn repeatable(&self, _name: &str) -> bool {
        false
    }

    /// Calls a tool. Several calls of one answer run side by side. A call that is dropped was cancelled.
    fn call(&self, call: ToolUse) -> ToolAnswer<'_>;
}

/// No tools of a host's.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Tools for NoTools {
    fn call(&self, call: ToolUse) -> ToolAnswer<'_> {
        Box::pin(std::future::ready(Err(["there is no tool ", &call.name].concat())))
    }
}

/// When a turn is ended though the model would go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The most answers of the model.
    pub steps: usize,
    /// The most tokens, prompts and answers together, as the provider counts them.
    pub tokens: Option<u64>,
    /// The longest time in milliseconds. What is being said then is cut off.
    pub millis: Option<u64>,
    /// The most tool calls in one answer. An answer with more is a failure, and none of its tools is called.
    pub calls: usize,
    /// The most bytes of one call's arguments, likewise.
    pub argument_bytes: usize,
}

impl Default for TurnLimits {
    /// 50 steps, 256 calls in an answer, 4 MiB of arguments in a call.
    fn default() -> Self {
        Self { steps: 50, tokens: None, millis: None, calls: 256, argument_bytes: 4 << 20 }
    }
}

/// How an agent works.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Its name, under which it has a mailbox.
    pub name: String,
    /// Whose messages it reads as they are; those of others begin with a line that says who writes and the number.
    pub user: String,
    /// What stands at the root of each of its transcripts; nothing does where it is empty.
    pub system_prompt: String,
    /// Which of [`BUILT_IN`](crate::protocol::BUILT_IN) it has. A turn gets two of them where it needs them: `reply` to answer another
    /// agent, and `readToolResult` where its prompt shows only the beginning of a result.
    pub built_in: Vec<String>,
    /// Its own options of prompts, over the settings of the conversation. Without a budget it is that of the model; without a policy it is
    /// `stable`; without a word on memory it has some.
    pub context: ContextParams,
    /// When its history is compacted, over the settings of the conversation and what is known of the model.
    pub policy: PolicyOptions,
    /// How it is compacted, over the settings of the conversation, or never; as the settings say without it.
    pub compact: Option<Off<CompactOptions>>,
    /// When a turn is ended.
    pub limits: TurnLimits,
    /// How much it may spend; any amount without it.
    pub spending: Option<SpendingLimit>,
    /// Whether [`Agent::catch_up`](super::Agent::catch_up) carries on turns that were interrupted. Without it they wait for
    /// [`Agent::resume`](super::Agent::resume): a model that was chosen since then is sent nothing that nobody asked for.
    pub resume: bool,
    /// How long after their dismissal messages are deleted with the branches in which they were answered, in milliseconds; never
    /// without it. See [`Keep::collect_dismissed`](crate::Keep::collect_dismissed).
    pub collect_after: Option<u64>,
    /// Whose statements it remembers, by compactions and by its tool `remember`.
    pub remember_from: RememberFrom,
}

impl AgentOptions {
    /// An agent with memory, without built-in tools and without a system prompt, the policy `stable`, and compaction when it is due, unless
    /// the settings of the keep say otherwise.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            user: "user".to_owned(),
            system_prompt: String::new(),
            built_in: Vec::new(),
            context: ContextParams::default(),
            policy: PolicyOptions::default(),
            compact: None,
            limits: TurnLimits::default(),
            spending: None,
            resume: false,
            collect_after: None,
            remember_from: RememberFrom::default(),
        }
    }
}
