//! What a provider counted, as agents' own sessions have it. The fields stay in [`Message::extra`](threadkeep_core::Message) as they
//! were read; here they become one shape.

use serde_json::{Map, Value};
use threadkeep_core::Node;
use threadkeep_provider::{Provider, Usage};

use super::Format;

/// A request that another program sent, as the node of its answer tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// The program.
    pub program: &'static str,
    /// Whose form the request had.
    pub provider: Provider,
    /// The provider's own id of it. Blocks of one answer repeat it.
    pub request: Option<String>,
    /// What the provider counted.
    pub usage: Usage,
    /// How it ended, in the provider's words.
    pub outcome: Option<String>,
}

/// The request whose answer this node is, if a session of Claude Code, Codex, Gemini CLI or pi says what it took.
///
/// Claude Code repeats the usage with each block of an answer, and pi and Claude Code leave cached tokens out of the input.
///
/// ```
/// use threadkeep_archive::reported;
/// use threadkeep_core::{Message, MessageId, Node};
/// let mut said = Message::assistant("Hello");
/// let usage = serde_json::json!({"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 12});
/// said.extra.insert("claude".into(), serde_json::json!({"usage": usage, "requestId": "req_1"}));
/// let node = Node::new(MessageId::new("a").unwrap(), None, vec![said]);
/// let usage = reported(&node).unwrap().usage;
/// assert_eq!((usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens), (903, Some(900), 12));
/// ```
pub fn reported(node: &Node) -> Option<Reported> {
    node.messages.iter().find_map(|message| {
        let of = |name: &str| message.extra.get(name).and_then(Value::as_object);
        of("claude").and_then(claude_code).or_else(|| of("codex").and_then(codex)).or_else(|| {
            of(Format::GeminiCli.name()).and_then(gemini_cli).or_else(|| of(Format::Pi.name()).and_then(pi))
        })
    })
}

fn claude_code(own: &Map<String, Value>) -> Option<Reported> {
    let usage = own.get("usage")?;
    let (read, written) = (count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens"));
    let hour = usage.get("cache_creation").and_then(|kept| count(kept, "ephemeral_1h_input_tokens"));
    Some(Reported {
        program: Format::ClaudeCode.name(),
        provider: Provider::Anthropic,
        request: text(own, "requestId"),
        usage: sensible(Usage {
            prompt_tokens: sum(&[count(usage, "input_tokens"), read, written]),
            completion_tokens: sum(&[count(usage, "output_tokens")]),
            cached_tokens: read,
            cache_write_tokens: written,
            cache_hour_tokens: hour.filter(|hour| *hour > 0),
            reasoning_tokens: None,
        })?,
        outcome: text(own, "stop_reason"),
    })
}

fn codex(own: &Map<String, Value>) -> Option<Reported> {
    let usage = own.get("usage")?;
    Some(Reported {
        program: Format::Codex.name(),
        provider: Provider::OpenAiResponses,
        request: None,
        usage: sensible(Usage {
            prompt_tokens: sum(&[count(usage, "input_tokens")]),
            completion_tokens: sum(&[count(usage, "output_tokens")]),
            cached_tokens: count(usage, "cached_input_tokens"),
            cache_write_tokens: count(usage, "cache_write_input_tokens").filter(|written| *written > 0),
            cache_hour_tokens: None,
            reasoning_tokens: count(usage, "reasoning_output_tokens"),
        })?,
        outcome: None,
    })
}

fn gemini_cli(own: &Map<String, Value>) -> Option<Reported> {
    let usage = own.get("tokens")?;
    let thoughts = count(usage, "thoughts");
    Some(Reported {
        program: Format::GeminiCli.name(),
        provider: Provider::Gemini,
        request: None,
        usage: sensible(Usage {
            prompt_tokens: sum(&[count(usage, "input")]),
            completion_tokens: sum(&[count(usage, "output"), thoughts]),
            cached_tokens: count(usage, "cached"),
            reasoning_tokens: thoughts,
            ..Usage::default()
        })?,
        outcome: None,
    })
}

fn pi(own: &Map<String, Value>) -> Option<Reported> {
    let usage = own.get("usage")?;
    let (read, written) = (count(usage, "cacheRead"), count(usage, "cacheWrite"));
    let api = own.get("api").and_then(Value::as_str).unwrap_or_default();
    let provider = match api {
        _ if api.starts_with("anthropic") => Provider::Anthropic,
        _ if api.starts_with("google") => Provider::Gemini,
        _ if api.starts_with("openai") && api.contains("responses") => Provider::OpenAiResponses,
        _ => Provider::OpenAiChat,
    };
    Some(Reported {
        program: Format::Pi.name(),
        provider,
        request: None,
        usage: sensible(Usage {
            prompt_tokens: sum(&[count(usage, "input"), read, written]),
            completion_tokens: sum(&[count(usage, "output")]),
            cached_tokens: read,
            cache_write_tokens: written,
            ..Usage::default()
        })?,
        outcome: text(own, "stopReason"),
    })
}

/// Counts that can be true. What was never sent, such as an answer that the program made up itself, counts nothing.
fn sensible(usage: Usage) -> Option<Usage> {
    let Usage { prompt_tokens, completion_tokens, .. } = usage;
    (prompt_tokens > 0).then(|| Usage {
        cached_tokens: usage.cached_tokens.filter(|cached| *cached <= prompt_tokens),
        cache_write_tokens: usage.cache_write_tokens.filter(|written| *written <= prompt_tokens),
        cache_hour_tokens: usage.cache_hour_tokens.filter(|hour| Some(*hour) <= usage.cache_write_tokens),
        reasoning_tokens: usage.reasoning_tokens.filter(|reasoning| *reasoning <= completion_tokens),
        ..usage
    })
}

fn sum(counts: &[Option<u64>]) -> u64 {
    counts.iter().flatten().fold(0, |sum, count| sum.saturating_add(*count))
}

fn count(usage: &Value, name: &str) -> Option<u64> {
    usage.get(name).and_then(Value::as_u64)
}

fn text(own: &Map<String, Value>, name: &str) -> Option<String> {
    own.get(name).and_then(Value::as_str).map(str::to_owned)
}
