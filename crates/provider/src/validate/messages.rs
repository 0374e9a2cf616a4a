//! Validating messages before they are rendered: what would have to be repaired for a provider.

use std::collections::HashMap;

use super::{Finding, MISPLACED, ORPHAN, Report, Waiting};
use crate::Provider;
use threadkeep_core::{Message, Role};

/// Checks messages as the prompt for a provider. What [`render`](super::super::render) would have to repair is a finding; its
/// index is the message's place in the list. Messages with `include_in_context: false` are passed over.
///
/// ```
/// use threadkeep_core::Message;
/// use threadkeep_provider::{Provider, validate_messages};
/// let (user, result) = (Message::user("hi"), Message::tool("call_1", "42"));
/// let findings = validate_messages(&[&user, &result], Provider::OpenAiChat);
/// assert_eq!((findings[0].index, findings[0].rule), (Some(1), "orphan-result"));
/// ```
pub fn validate_messages(messages: &[&Message], provider: Provider) -> Vec<Finding> {
    let mut report = Report::default();
    let strict = matches!(provider, Provider::Anthropic | Provider::Gemini);
    let objects = strict || provider == Provider::Ollama;
    let mut calls = Waiting::default();
    let mut spoken: Option<(usize, &Role)> = None;
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.include_in_context) {
        if message.role != Role::Tool {
            calls.close(&mut report);
        }
        match &message.role {
            Role::System | Role::Developer => {
                if strict && spoken.is_some() {
                    report.at(at, "late-system", "instructions stand before the conversation");
                }
                continue;
            }
            Role::Tool => match message.tool_call_id.as_deref().filter(|id| !id.is_empty()) {
                Some(id) => calls.result(id, at, &mut report),
                None => report.at(at, "orphan-result", ORPHAN),
            },
            Role::Other(role) => report.about(at, "unknown-role", role, "no provider knows this role"),
            Role::User | Role::Assistant => {
                let blank = message.text().trim().is_empty();
                let other = matches!(&message.content, threadkeep_core::Content::Parts(parts) if parts.iter().any(|p| p.as_text().is_none()));
                let fails = matches!(message.kind, threadkeep_core::Kind::Error { .. });
                if blank && !other && !fails && message.tool_calls.is_empty() && message.extra.is_empty() {
                    report.at(at, "empty-content", "the message says nothing: leave it out");
                }
            }
        }
        if spoken.is_none() && message.role == Role::Assistant && strict {
            report.at(at, "first-role", "the user speaks first: put a user message before it");
        }
        spoken = Some((at, &message.role));
        if message.role != Role::Assistant {
            if !message.tool_calls.is_empty() {
                report.at(at, "misplaced-block", "only the assistant calls tools");
            }
            continue;
        }
        for call in &message.tool_calls {
            if call.id().is_empty() {
                report.at(at, "bad-id", "a call has an id");
            } else {
                calls.call(call.id(), at, &mut report);
            }
            if call.name().is_empty() {
                report.about(at, "nameless-call", call.id(), "the call names no tool");
            }
            let arguments = call.arguments();
            let custom = call.0.get("type").and_then(serde_json::Value::as_str) == Some("custom");
            let object = || serde_json::from_str::<serde_json::Value>(arguments).is_ok_and(|value| value.is_object());
            if objects && !custom && !arguments.is_empty() && !object() {
                report.about(at, "bad-arguments", call.id(), "arguments are JSON text of an object");
            }
        }
    }
    calls.close(&mut report);
    match spoken {
        None => report.all("empty-prompt", super::EMPTY_PROMPT),
        Some((at, Role::Assistant)) if provider == Provider::Gemini => {
            report.at(at, "last-role", "the user speaks last: put a user message behind it");
        }
        Some(_) => {}
    }
    let mut findings = report.findings;
    // A result that stands before its call is misplaced rather than an orphan.
    let mut called: HashMap<&str, usize> = HashMap::new();
    if findings.iter().any(|finding| finding.rule == "orphan-result") {
        for (at, message) in messages.iter().enumerate() {
            called.extend(message.tool_calls.iter().map(|call| (call.id(), at)));
        }
    }
    for finding in findings.iter_mut().filter(|finding| finding.rule == "orphan-result") {
        let Some(at) = finding.index else { continue };
        let last = messages[at].tool_call_id.as_deref().and_then(|id| called.get(id));
        if last.is_some_and(|last| *last >= at) {
            *finding = Finding { index: Some(at), rule: "misplaced-result", message: MISPLACED.to_owned() };
        }
    }
    findings
}
