//! How an agent is described from outside. Its model and its tools are functions, which do not cross as JSON: here are their names.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use threadkeep_compaction::memory::{RememberFrom, Share};
use threadkeep_core::MessageId;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::read::{self, BadRequest, Off, Plain, bad, maybe_object, maybe_whole, object, or_default};
use threadkeep_provider::{Provider, ToolSchema};

use super::context::schema;
use super::{ContextParams, SpendingLimit};

/// The names of the built-in tools.
pub const BUILT_IN: [&str; 7] =
    ["reply", "send", "listMessages", "dismiss", "searchMemory", "readToolResult", "remember"];

/// An agent as it is described from outside.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentCall {
    /// Its name, under which it has a mailbox.
    pub name: String,
    /// Whose messages it reads as they are.
    pub user: Option<String>,
    /// What stands at the root of each of its transcripts.
    pub system_prompt: Option<String>,
    /// Which of [`BUILT_IN`] it has; none without it.
    pub built_in: Option<Vec<String>>,
    /// Its model; none where a connection says both.
    #[serde(default, deserialize_with = "maybe_object")]
    pub model: Option<AgentModel>,
    /// The tools of its host.
    #[serde(default, deserialize_with = "or_default")]
    pub tools: Vec<AgentTool>,
    /// Budget, policy and counting of its prompts.
    #[serde(default, deserialize_with = "object")]
    pub context: ContextParams,
    /// When and how its history is compacted.
    pub compaction: Option<Off<CompactionParams>>,
    /// When a turn is ended.
    #[serde(default, deserialize_with = "object")]
    pub limits: LimitsParams,
    /// How much it may spend.
    #[serde(default, deserialize_with = "maybe_object")]
    pub spending_limit: Option<SpendingLimit>,
    /// Whether it carries on turns that were interrupted.
    #[serde(default, deserialize_with = "or_default")]
    pub resume: bool,
    /// How long after their dismissal messages are deleted, in milliseconds.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub collect_after: Option<u64>,
    /// Whose statements it remembers, by compactions and by its tool.
    #[serde(default, deserialize_with = "or_default")]
    pub remember_from: RememberFrom,
    /// Who summarises its histories; its own model without it.
    pub summarizer: Option<Summarizer>,
    /// Whether its host has a memory service.
    #[serde(default, deserialize_with = "or_default")]
    pub service: bool,
}

/// A message that an agent may get.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentMessage {
    /// Its text.
    pub text: String,
    /// The message that it answers.
    pub reply_to: Option<MessageId>,
    /// The name of the thread that it continues.
    pub conversation: Option<String>,
}

impl AgentMessage {
    /// Reads one: JSON text.
    ///
    /// # Errors
    /// [`BadRequest`] names the first field that is not what it must be.
    pub fn read(json: &str) -> Result<Self, BadRequest> {
        read::options(json, "")
    }
}

/// Who summarises an agent's histories, if not its own model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Summarizer {
    /// The built-in rules, which ask no model.
    Rules,
    /// A function of the host.
    Function {
        /// Its name, as checkpoints keep it.
        name: String,
        /// The most tokens of messages that it takes at once.
        input_tokens: Option<u32>,
    },
}

/// A model: its name, and the form in which it wants its prompts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentModel {
    /// Its name.
    pub name: Option<String>,
    /// The form.
    pub provider: Option<Provider>,
    /// The end of the connection at which it is, where there is one: the bodies of its requests depend on it.
    pub endpoint: Option<AgentEndpoint>,
}

/// What of a connection says how the bodies of its requests are written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEndpoint {
    /// Its address.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// The model's context, in tokens.
    #[serde(default, deserialize_with = "maybe_whole")]
    pub max_context_tokens: Option<u64>,
}

/// A tool of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    /// What the model is told of it.
    pub schema: ToolSchema,
    /// Whether it may be called again after a crash.
    pub repeatable: bool,
}

impl<'de> Deserialize<'de> for AgentTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(mut given) = Plain::<Value>::deserialize(deserializer)?;
        let repeatable = given.as_object_mut().and_then(|tool| tool.shift_remove("repeatable"));
        let schema = schema(&given).map_err(D::Error::custom)?;
        Ok(Self { schema, repeatable: repeatable == Some(Value::Bool(true)) })
    }
}

/// When an agent's histories are compacted, over what the keep was opened with, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "AgentCompaction", optional_fields))]
pub struct CompactionParams {
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
    /// How many turns at the end stay raw; four without it.
    pub keep_turns: Option<u32>,
    /// What the history shall come to, in tokens.
    pub target_tokens: Option<u32>,
    /// How.
    pub strategy: Option<Strategy>,
}

/// When a turn is ended though the model would go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "AgentLimits", optional_fields))]
pub struct LimitsParams {
    /// The most answers of the model; 50 without it.
    pub steps: Option<u32>,
    /// The most tokens, prompts and answers together, as the provider counts them.
    pub tokens: Option<u32>,
    /// The longest time, in milliseconds, at most 2^31 - 1. What is being said then is cut off.
    pub millis: Option<u32>,
    /// The most tool calls in one answer; 256 without it. An answer with more is a failure, and none of its tools is called.
    pub calls: Option<u32>,
    /// The most bytes of one call's arguments; 4 MiB without it.
    pub argument_bytes: Option<u32>,
}

impl AgentCall {
    /// Reads JSON text.
    ///
    /// ```
    /// use threadkeep_protocol::AgentCall;
    /// let call = AgentCall::read(r#"{"name": "lal", "builtIn": ["searchMemory"], "limits": {"steps": 5}}"#)?;
    /// assert_eq!(call.limits.steps, Some(5));
    /// assert_eq!(AgentCall::read(r#"{"name": "lal", "builtIn": ["fly"]}"#).unwrap_err().argument, "builtIn[0]");
    /// # Ok::<(), threadkeep_protocol::BadRequest>(())
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] names the first option that is not known, or not what it must be.
    pub fn read(params: &str) -> Result<Self, BadRequest> {
        let call: Self = read::options(params, "")?;
        if call.name.is_empty() {
            return bad("name", "must not be empty");
        }
        for (at, name) in call.built_in.iter().flatten().enumerate() {
            if !BUILT_IN.contains(&name.as_str()) {
                return bad(format!("builtIn[{at}]"), format!("must be one of {}", BUILT_IN.join(", ")));
            }
        }
        for (at, AgentTool { schema, .. }) in call.tools.iter().enumerate() {
            let before = call.tools[..at].iter().any(|other| other.schema.name == schema.name);
            if before || call.built_in.iter().flatten().any(|own| *own == schema.name) {
                return bad(format!("tools[{at}]"), format!("has a name that is taken: {:?}", schema.name));
            }
        }
        Ok(call)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counting;
    use super::*;

    #[test]
    fn an_agent_is_read_and_what_is_wrong_is_named() {
        let call = AgentCall::read(
            r#"{"name": "lal", "user": "ann", "systemPrompt": "s", "model": {"name": "m", "provider": "anthropic"},
                "tools": [{"name": "t", "repeatable": true}, {"name": "u", "parameters": {}}],
                "context": {"encoding": "estimate"}, "compaction": {"maxContextTokens": 9000, "keepTurns": 2},
                "limits": {"steps": 3, "tokens": 10, "millis": 20}}"#,
        );
        let call = call.unwrap();
        let model = call.model.unwrap();
        assert_eq!((model.name.as_deref(), model.provider), (Some("m"), Some(Provider::Anthropic)));
        let own = AgentCall::read(r#"{"name": "l", "builtIn": ["send"], "tools": [{"name": "reply"}]}"#);
        assert!(own.is_ok(), "an agent without a built-in tool can have one of that name");
        let tools: Vec<_> = call.tools.iter().map(|tool| (tool.schema.name.as_str(), tool.repeatable)).collect();
        assert_eq!(tools, [("t", true), ("u", false)]);
        let Some(Off::On(compaction)) = call.compaction else { panic!("it has options") };
        assert_eq!((compaction.max_context_tokens, compaction.keep_turns), (Some(9000), Some(2)));
        assert_eq!(call.context.encoding, Some(Counting::Estimate));
        let off = AgentCall::read(r#"{"name": "l", "compaction": false}"#).unwrap();
        assert_eq!(off.compaction, Some(Off::Off));
        for (params, argument) in [
            ("{}", "name"),
            (r#"{"name": ""}"#, "name"),
            (r#"{"name": "l", "builtIn": ["reply"], "tools": [{"name": "reply"}]}"#, "tools[0]"),
            (r#"{"name": "l", "tools": [{"name": "a"}, {"name": "a"}]}"#, "tools[1]"),
            (r#"{"name": "l", "limits": {"step": 1}}"#, "limits.step"),
            (r#"{"name": "l", "context": {"budget": {"tokens": 1}}}"#, "context.budget.tokens"),
            (r#"{"name": "l", "model": {"provider": "p"}}"#, "model.provider"),
            (r#"{"name": "l", "builtIn": ["reply", "fly"]}"#, "builtIn[1]"),
            (r#"{"name": "l", "tools": [{"name": "a", "parameters": 3}]}"#, "tools[0]"),
            (r#"{"name": "l", "compaction": true}"#, "compaction"),
            (r#"{"name": "l", "compaction": {"keepTurn": 1}}"#, "compaction.keepTurn"),
            (r#"{"name": "l", "x": 1}"#, "x"),
        ] {
            assert_eq!(AgentCall::read(params).unwrap_err().argument, argument, "{params}");
        }
    }
}
