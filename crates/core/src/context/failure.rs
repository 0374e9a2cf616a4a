//! Failures: a message that records one says in a prompt what the model had written and that it failed, so that "continue"
//! has something to continue.

use crate::{Content, Kind, Message, Part};

use super::preview::with_content;

/// The message as a prompt shows it; `None` for one that records no failure.
pub fn shown(message: &Message) -> Option<Message> {
    let Kind::Error { code, reason } = &message.kind else { return None };
    let content = match &message.content {
        Content::Parts(parts) if parts.iter().any(|part| part.as_text().is_none()) => {
            let block = Part::text(error_text("", code, reason));
            Content::Parts(parts.iter().cloned().chain([block]).collect())
        }
        content => Content::Text(error_text(&content.text(), code, reason)),
    };
    Some(with_content(message, content))
}

/// What is said in a message that records a failure: what the model had written until then, and an `LLM_ERROR` block.
///
/// ```
/// use threadkeep_core::context::failure::error_text;
/// assert_eq!(
///     error_text("Half an ans", "LLM_ERROR", "timeout"),
///     "Half an ans\n\nLLM_ERROR\n- reason: timeout\n- note: the answer above is incomplete"
/// );
/// assert_eq!(error_text("", "overloaded", "HTTP 529"), "LLM_ERROR\n- code: overloaded\n- reason: HTTP 529");
/// ```
pub fn error_text(partial: &str, code: &str, reason: &str) -> String {
    let mut out = String::with_capacity(partial.len() + reason.len() + 80);
    let partial = partial.trim_end();
    if !partial.is_empty() {
        out.push_str(partial);
        out.push_str("\n\n");
    }
    out.push_str("LLM_ERROR");
    if code != "LLM_ERROR" {
        out.push_str("\n- code: ");
        out.push_str(code);
    }
    out.push_str("\n- reason: ");
    out.push_str(reason);
    if !partial.is_empty() {
        out.push_str("\n- note: the answer above is incomplete");
    }
    out
}
