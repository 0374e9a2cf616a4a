//! What an agent tells those who watch it.

use serde::Serialize;
use threadkeep_core::MessageId;
use threadkeep_provider::{Delta, Usage};

use super::Mail;

/// How a turn ended: with an answer, with a failure, stopped by somebody, or by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
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

/// What happens in a turn. All but `delta` and `calling` come when it is stored.
///
/// - `began`: a turn begins, or (`resumed`) goes on that a crash or a closed tab has interrupted.
/// - `asked`: the model is asked.
/// - `delta`: a piece of the answer that is under way, which is not stored yet.
/// - `said`: the answer is stored, with its tool calls. The figures are the provider's, if it gave some.
/// - `calling`, `called`: a tool is called; its result is stored.
/// - `compacting`, `compacted`: the history is being compacted. It was, or (without a checkpoint) nothing was to be compacted, or it
///   failed (`error`) and the turn goes on.
/// - `sent`: a message was sent.
/// - `ended`: the turn is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A turn began, or went on after a restart.
    Began {
        /// The turn's node.
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
        /// The request's id in the journal; `null` where requests are not noted.
        request: Option<String>,
    },
    /// A piece of the model's answer, which is not stored yet.
    Delta {
        /// The turn's node.
        node: MessageId,
        /// The piece.
        #[serde(flatten)]
        delta: Delta,
    },
    /// The model's answer is stored.
    Said {
        /// The turn's node.
        node: MessageId,
        /// The tokens of the prompt, cached ones with them.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        prompt_tokens: Option<u64>,
        /// The tokens of the answer, reasoning with them.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        completion_tokens: Option<u64>,
        /// How many of the prompt's tokens came from the provider's cache.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        cached_tokens: Option<u64>,
        /// How many of them were written to the provider's cache, where that has a price of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        cache_write_tokens: Option<u64>,
        /// How many of the answer's tokens were spent on reasoning.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        reasoning_tokens: Option<u64>,
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
        /// How long the tool ran, in milliseconds; left out if it was not called.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        duration: Option<u64>,
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
        /// The checkpoint that was made; `null` without one.
        checkpoint: Option<String>,
        /// The tokens of the history before.
        tokens_before: u64,
        /// The tokens of the history now.
        tokens_after: u64,
        /// What went wrong, in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        error: Option<String>,
    },
    /// A message was sent.
    Sent {
        /// The message, as the agent has it.
        mail: Box<Mail>,
    },
    /// The turn is over.
    Ended {
        /// Its node.
        node: MessageId,
        /// How it ended.
        outcome: Outcome,
        /// Why it ended. An answer is `stop`, or `length` if it was cut off. Else it is `cancelled`, `limit`, `over-budget`, `bad-answer`,
        /// or the code of the model's failure, such as `rate-limited`.
        code: String,
        /// What the provider counted, summed over the turn's requests; left out if it said nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        usage: Option<Usage>,
        /// The reason in words, if it was not answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        reason: Option<String>,
    },
}

impl AgentEvent {
    /// The model's answer is stored, with what the provider counted.
    pub fn said(node: MessageId, usage: Option<Usage>) -> Self {
        Self::Said {
            node,
            prompt_tokens: usage.map(|usage| usage.prompt_tokens),
            completion_tokens: usage.map(|usage| usage.completion_tokens),
            cached_tokens: usage.and_then(|usage| usage.cached_tokens),
            cache_write_tokens: usage.and_then(|usage| usage.cache_write_tokens),
            reasoning_tokens: usage.and_then(|usage| usage.reasoning_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_piece_of_an_answer_is_beside_its_turn() {
        let node = MessageId::new("n").unwrap();
        let written = |delta| serde_json::to_value(AgentEvent::Delta { node: node.clone(), delta }).unwrap();
        for (delta, expected) in [
            (Delta::Text("a".into()), json!({"type": "delta", "node": "n", "text": "a"})),
            (Delta::Reasoning("a".into()), json!({"type": "delta", "node": "n", "reasoning": "a"})),
            (
                Delta::ToolCall { index: 1, name: "t".into(), arguments: "{".into() },
                json!({"type": "delta", "node": "n", "call": 1, "name": "t", "arguments": "{"}),
            ),
            (
                Delta::Retry { attempt: 2, wait: 50, reason: "busy".into() },
                json!({"type": "delta", "node": "n", "attempt": 2, "wait": 50, "retry": "busy"}),
            ),
            (Delta::WasReasoning, json!({"type": "delta", "node": "n", "wasReasoning": true})),
            (Delta::Warning("odd".into()), json!({"type": "delta", "node": "n", "warning": "odd"})),
        ] {
            assert_eq!(written(delta), expected);
        }
        let said = serde_json::to_value(AgentEvent::said(node, None)).unwrap();
        assert_eq!(said, json!({"type": "said", "node": "n"}));
    }
}
