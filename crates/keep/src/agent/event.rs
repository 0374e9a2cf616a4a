//! What an agent tells those who watch it.

use serde_json::{Map, Value};
use threadkeep_core::MessageId;
use threadkeep_provider::{Delta, Usage};

use crate::mailbox::Mail;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With an answer.
    Answered,
    /// With a failure: of the model, or because the prompt would not fit.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// A limit was reached.
    Limited,
}

impl Outcome {
    /// Its name: `answered`, `failed`, `cancelled` or `limited`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Limited => "limited",
        }
    }
}

/// Something that happens in a turn. All but [`AgentEvent::Delta`] and [`AgentEvent::Calling`] come after it is durable.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// A turn began, or went on after a restart.
    Began {
        /// Its node.
        node: MessageId,
        /// Whether it had begun before.
        resumed: bool,
    },
    /// The model is asked.
    Asked {
        /// The turn's node.
        node: MessageId,
        /// How many tokens the prompt has, as we count them.
        tokens: u64,
    },
    /// A piece of the model's answer, which is not stored yet.
    Delta {
        /// The turn's node.
        node: MessageId,
        /// The piece.
        delta: Delta,
    },
    /// The model's answer is stored.
    Said {
        /// The turn's node.
        node: MessageId,
        /// What the provider counted, where it did.
        usage: Option<Usage>,
    },
    /// A tool is called.
    Calling {
        /// The turn's node.
        node: MessageId,
        /// The call's id.
        call: String,
        /// The tool's name.
        name: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// A tool's result is stored.
    Called {
        /// The turn's node.
        node: MessageId,
        /// The call's id.
        call: String,
        /// The tool's name.
        name: String,
        /// The result, or why there is none.
        result: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The history is being compacted.
    Compacting {
        /// The turn's node.
        node: MessageId,
    },
    /// It was, or it was found that nothing is to be compacted, or it failed.
    Compacted {
        /// The turn's node.
        node: MessageId,
        /// The checkpoint that was made.
        checkpoint: Option<String>,
        /// Tokens of the history before and after.
        tokens: (u64, u64),
        /// What went wrong, in words; the turn goes on.
        error: Option<String>,
    },
    /// A message was sent.
    Sent(Box<Mail>),
    /// The turn is over.
    Ended {
        /// Its node.
        node: MessageId,
        /// How.
        outcome: Outcome,
        /// Why, in words, where it was not answered.
        reason: Option<String>,
    },
}

impl AgentEvent {
    /// It as JSON: `{type, node, …}` with the fields of the variant; the type is the variant's name in small letters.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| drop(map.insert(name.to_owned(), value));
        let kind = match self {
            Self::Began { node, resumed } => {
                put("node", node.as_str().into());
                put("resumed", (*resumed).into());
                "began"
            }
            Self::Asked { node, tokens } => {
                put("node", node.as_str().into());
                put("tokens", (*tokens).into());
                "asked"
            }
            Self::Delta { node, delta } => {
                put("node", node.as_str().into());
                match delta {
                    Delta::Text(text) => put("text", text.as_str().into()),
                    Delta::Reasoning(text) => put("reasoning", text.as_str().into()),
                    Delta::ToolCall { index, name, arguments } => {
                        put("call", (*index).into());
                        put("name", name.as_str().into());
                        put("arguments", arguments.as_str().into());
                    }
                    Delta::Retry { attempt, wait, reason } => {
                        put("attempt", (*attempt).into());
                        put("wait", (*wait).into());
                        put("retry", reason.as_str().into());
                    }
                    Delta::WasReasoning => put("wasReasoning", true.into()),
                    Delta::Warning(warning) => put("warning", warning.as_str().into()),
                }
                "delta"
            }
            Self::Said { node, usage } => {
                put("node", node.as_str().into());
                if let Some(usage) = usage {
                    put("promptTokens", usage.prompt_tokens.into());
                    put("completionTokens", usage.completion_tokens.into());
                    if let Some(cached) = usage.cached_tokens {
                        put("cachedTokens", cached.into());
                    }
                }
                "said"
            }
            Self::Calling { node, call, name, arguments } => {
                put("node", node.as_str().into());
                put("call", call.as_str().into());
                put("name", name.as_str().into());
                put("arguments", arguments.as_str().into());
                "calling"
            }
            Self::Called { node, call, name, result, is_error } => {
                put("node", node.as_str().into());
                put("call", call.as_str().into());
                put("name", name.as_str().into());
                put("result", result.as_str().into());
                put("isError", (*is_error).into());
                "called"
            }
            Self::Compacting { node } => {
                put("node", node.as_str().into());
                "compacting"
            }
            Self::Compacted { node, checkpoint, tokens, error } => {
                put("node", node.as_str().into());
                put("checkpoint", checkpoint.as_deref().into());
                put("tokensBefore", tokens.0.into());
                put("tokensAfter", tokens.1.into());
                if let Some(error) = error {
                    put("error", error.as_str().into());
                }
                "compacted"
            }
            Self::Sent(mail) => {
                put("mail", mail.to_json());
                "sent"
            }
            Self::Ended { node, outcome, reason } => {
                put("node", node.as_str().into());
                put("outcome", outcome.name().into());
                if let Some(reason) = reason {
                    put("reason", reason.as_str().into());
                }
                "ended"
            }
        };
        put("type", kind.into());
        Value::Object(map)
    }
}
