//! Provider items: the fields of [`Message::extra`] that rendering reads. This is the one place that says which they are; every
//! other field of `extra` stays where it is and reaches no provider.
//!
//! | field | what it holds | who puts it there | who gets it |
//! |---|---|---|---|
//! | `anthropic` | the `content` list of a response, as it came | [`Reader`](super::Reader), or a host | Anthropic |
//! | `openai-responses` | the `output` list of a response, as it came | [`Reader`](super::Reader), or a host | OpenAI Responses |
//! | `gemini` | the `content.parts` list of a candidate, as it came | [`Reader`](super::Reader), or a host | Gemini |
//! | `openai-chat` | an object: further fields of the message, such as `reasoning_content`, `reasoning_details` or `audio` | [`Reader`](super::Reader), or a host | OpenAI Chat |
//! | `claude.thinking` | a list of `thinking` (with signature) and `redacted_thinking` blocks | the Claude archive readers | Anthropic |
//! | `claude.calls` | a list of `{id, type?, …}`: what calls have beyond the chat form; `type` is `server_tool_use` for calls that Anthropic answered itself | the Claude archive readers | Anthropic |
//! | `claude.type`, on a tool message | the result block's type, such as `web_search_tool_result` | the Claude archive readers | Anthropic |
//! | `refusal` | text, where there is no content | OpenAI | all, as text |
//! | `function_call` | `{name, arguments}`, the old form of a call | OpenAI | all, as a call |
//!
//! The reader keeps lists only where they say more than the message: thinking with signatures, encrypted reasoning, citations.
//!
//! A list either says all that the message says (the same calls in the same order, and the same words) and is then sent in its
//! place, or holds nothing but reasoning and other items, which then go before what the message says. A list that
//! does neither is stale (the message was changed after it came) and is left out: signatures would not fit it. In a tool call,
//! `extra_content.google.thought_signature` (the form of Gemini's OpenAI-compatible endpoint) is read as Gemini's signature.

use serde_json::{Map, Value};

use super::json::{field, kind, list, string};
use super::{Provider, ids};
use threadkeep_core::{Message, ToolCall};

/// What an item of a provider's own list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// Text that the message says too.
    Text,
    /// A call, with its id (Gemini: its name).
    Call(&'a str),
    /// Reasoning.
    Reasoning,
    /// Something else that only the provider understands.
    Other,
    /// Nothing of the provider's.
    Foreign,
}

/// What `item` is to `provider`.
pub(super) fn said(item: &Value, provider: Provider) -> Said<'_> {
    match provider {
        Provider::Anthropic => match kind(item) {
            "text" => Said::Text,
            // A call that lost a field, or of a tool that cannot be, would be refused, here and below.
            "tool_use" if named(item, provider) && item.get("input").is_some_and(Value::is_object) => {
                Said::Call(string(item, "id").unwrap_or_default())
            }
            "thinking" | "redacted_thinking" => Said::Reasoning,
            "server_tool_use" | "mcp_tool_use" | "compaction" => Said::Other,
            kind if kind.ends_with("_tool_result") => Said::Other,
            _ => Said::Foreign,
        },
        Provider::OpenAiResponses => match kind(item) {
            "message" if is_message(item) => Said::Text,
            "message" => Said::Foreign,
            "function_call" if named(item, provider) && string(item, "arguments").is_some() => {
                Said::Call(string(item, "call_id").unwrap_or_default())
            }
            "custom_tool_call" if named(item, provider) && string(item, "input").is_some() => {
                Said::Call(string(item, "call_id").unwrap_or_default())
            }
            "function_call" | "custom_tool_call" => Said::Foreign,
            // One that lost its id or its summary would be refused.
            "reasoning" if filled(item, "id") && item.get("summary").is_some_and(Value::is_array) => Said::Reasoning,
            "compaction" => Said::Other,
            kind if kind.ends_with("_call") || kind.ends_with("_call_output") || kind.starts_with("mcp_") => {
                Said::Other
            }
            _ => Said::Foreign,
        },
        Provider::Gemini => {
            if let Some(call) = item.get("functionCall") {
                let fits = named(call, provider) && call.get("args").is_none_or(Value::is_object);
                return if fits { Said::Call(string(call, "name").unwrap_or_default()) } else { Said::Foreign };
            }
            let text = string(item, "text");
            let others =
                ["inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"];
            let beside = string(item, "thoughtSignature").is_some_and(|signature| !signature.is_empty())
                || others.iter().any(|name| item.get(*name).is_some());
            match text {
                None if item.get("text").is_some() || !beside => Said::Foreign,
                _ if item.get("thought") == Some(&Value::Bool(true)) => Said::Reasoning,
                Some("") => Said::Reasoning,
                Some(_) => Said::Text,
                None => Said::Other,
            }
        }
        Provider::OpenAiChat | Provider::Ollama => Said::Foreign,
    }
}

/// A provider's own items beside a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Own<'a> {
    /// None.
    None,
    /// They go before what the message says.
    Before(&'a [Value]),
    /// They are all that the message says.
    Whole(&'a [Value]),
    /// They do not fit the message.
    Stale,
}

/// The items of `provider` beside an assistant's `message`, whose calls bear these ids (Gemini: names) in this order.
pub(super) fn own<'a>(message: &'a Message, provider: Provider, calls: &[&str]) -> Own<'a> {
    let Some(list) = message.extra.get(provider.name()).and_then(Value::as_array) else { return Own::None };
    if list.is_empty() {
        return Own::None;
    }
    let mut said_words = String::new();
    let mut text = false;
    let mut left = calls.iter();
    for item in list {
        match said(item, provider) {
            Said::Text => {
                text = true;
                add_words(words(item, provider), &mut said_words);
            }
            Said::Call(call) if left.next() == Some(&call) => {}
            Said::Call(_) | Said::Foreign => return Own::Stale,
            Said::Reasoning | Said::Other => {}
        }
    }
    let left = left.as_slice().len();
    let says = !message.content.is_empty();
    if left == calls.len() && !text && (left > 0 || says) {
        // Nothing but reasoning and the like.
        return Own::Before(list);
    }
    let mut own_words = String::new();
    add_words(vec![&message.text()], &mut own_words);
    if left == 0 && said_words == own_words { Own::Whole(list) } else { Own::Stale }
}

/// The texts of an item.
fn words(item: &Value, provider: Provider) -> Vec<&str> {
    match provider {
        Provider::OpenAiResponses => {
            let parts = list(item, "content").iter();
            parts.filter_map(|part| string(part, "text").or_else(|| string(part, "refusal"))).collect()
        }
        _ => string(item, "text").into_iter().collect(),
    }
}

/// Whether a message of OpenAI's is whole.
fn is_message(item: &Value) -> bool {
    let parts = list(item, "content");
    let said = |part: &Value| match kind(part) {
        "output_text" => string(part, "text").is_some(),
        "refusal" => string(part, "refusal").is_some(),
        _ => false,
    };
    string(item, "role") == Some("assistant") && !parts.is_empty() && parts.iter().all(said)
}

/// Whether the item's name is one that the provider takes.
fn named(item: &Value, provider: Provider) -> bool {
    string(item, "name").is_some_and(|name| ids::name(name, provider).is_none())
}

fn filled(item: &Value, name: &str) -> bool {
    string(item, name).is_some_and(|text| !text.is_empty())
}

/// Adds texts without their white space, since a host may have joined them in any way.
fn add_words(texts: Vec<&str>, words: &mut String) {
    for text in texts {
        words.extend(text.chars().filter(|char| !char.is_whitespace()));
    }
}

/// The object under `claude`, of the archive readers.
fn claude(message: &Message) -> Option<&Map<String, Value>> {
    message.extra.get("claude")?.as_object()
}

/// Whether a thinking block has what Anthropic wants to see again.
pub(super) fn is_signed(block: &Value) -> bool {
    match kind(block) {
        "thinking" => filled(block, "signature") && string(block, "thinking").is_some(),
        "redacted_thinking" => filled(block, "data"),
        _ => false,
    }
}

/// Signed thinking that an archive kept beside a message.
pub(super) fn claude_thinking(message: &Message) -> impl Iterator<Item = &Value> {
    let list = claude(message).and_then(|own| own.get("thinking")).and_then(Value::as_array);
    list.into_iter().flatten().filter(|block| is_signed(block))
}

/// What an archive kept of the call `id` beyond the chat form.
pub(super) fn claude_call<'a>(message: &'a Message, id: &str) -> Option<&'a Map<String, Value>> {
    let list = claude(message)?.get("calls")?.as_array()?;
    list.iter().filter_map(Value::as_object).find(|call| field(call, "id") == Some(id))
}

/// Whether Anthropic's servers answered this call, so that neither it nor its result is anyone's but Anthropic's.
pub(super) fn is_server_call(message: &Message, id: &str) -> bool {
    claude_call(message, id).and_then(|call| field(call, "type")).is_some_and(|kind| kind != "tool_use")
}

/// The type of a server-side tool's result block.
pub(super) fn server_result(message: &Message) -> Option<&str> {
    field(claude(message)?, "type").filter(|kind| kind.ends_with("_tool_result"))
}

/// Gemini's signature of a call, in the form of its OpenAI-compatible endpoint.
pub(super) fn google_signature(call: &ToolCall) -> Option<&str> {
    let signature = call.0.get("extra_content")?.get("google")?.get("thought_signature")?.as_str()?;
    Some(signature).filter(|signature| !signature.is_empty())
}
