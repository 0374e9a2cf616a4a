//! Ollama `/api/chat`: calls have no ids; results stand behind their calls and bear their tool's name.

use serde_json::Value;

use super::super::json::{list, string};
use super::{ORPHAN, REPEATED, Report, UNANSWERED, filled, is_base64, messages};

#[inline(never)]
pub(super) fn check(payload: &Value, report: &mut Report) {
    // Calls of the assistant message before: name, place, answered.
    let mut calls: Vec<(&str, usize, bool)> = Vec::new();
    for (at, message) in messages(payload, "messages", report).iter().enumerate() {
        let role = string(message, "role").unwrap_or_default();
        if role != "tool" {
            close(&mut calls, report);
        }
        match role {
            "system" | "user" | "assistant" => {}
            "tool" => result(message, at, &mut calls, report),
            "" => {
                report.at(at, "wrong-type", "a message is an object with a role");
                continue;
            }
            other => report.about(at, "unknown-role", other, "use system, user, assistant or tool"),
        }
        let called = message.get("tool_calls").is_some_and(|calls| !list_of(calls).is_empty());
        let has = |name: &str| message.get(name).is_some_and(|value| !value.is_null());
        match message.get("content") {
            Some(Value::String(text)) => {
                if text.is_empty()
                    && matches!(role, "user" | "assistant")
                    && !called
                    && !has("images")
                    && !has("thinking")
                {
                    report.at(at, "empty-content", "the message says nothing: leave it out");
                }
            }
            None if called => {}
            _ => report.at(at, "wrong-type", "content must be text: images go beside it, as base64"),
        }
        if message.get("images").is_some_and(|images| !images.is_null() && !images.is_array())
            || !list(message, "images").iter().all(|image| image.as_str().is_some_and(is_base64))
        {
            report.at(at, "bad-image", "images are a list of base64, without data: in front");
        }
        match message.get("tool_calls") {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if role == "assistant" => {
                list.iter().for_each(|one| call(one, at, &mut calls, report));
            }
            Some(_) => report.at(at, "misplaced-block", "tool_calls are a list in an assistant message"),
        }
    }
    close(&mut calls, report);
}

fn list_of(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn close(calls: &mut Vec<(&str, usize, bool)>, report: &mut Report) {
    for (name, at, _) in calls.drain(..).filter(|(.., answered)| !answered) {
        report.about(at, "unanswered-call", name, UNANSWERED);
    }
}

fn call<'a>(call: &'a Value, at: usize, calls: &mut Vec<(&'a str, usize, bool)>, report: &mut Report) {
    let function = call.get("function").unwrap_or(&Value::Null);
    let name = filled(function, "name");
    if name.is_none() {
        report.at(at, "nameless-call", "a call names its tool in function.name");
    }
    if !function.get("arguments").is_some_and(Value::is_object) {
        report.about(at, "bad-arguments", name.unwrap_or_default(), "arguments must be a JSON object, not text");
    }
    calls.push((name.unwrap_or_default(), at, false));
}

/// A result answers the first open call of its tool's name; without a name, the first open one.
fn result(message: &Value, at: usize, calls: &mut [(&str, usize, bool)], report: &mut Report) {
    let name = filled(message, "tool_name");
    let fits = |call: &(&str, usize, bool)| name.is_none_or(|name| name == call.0);
    match calls.iter().position(|call| fits(call) && !call.2) {
        Some(place) => calls[place].2 = true,
        None if calls.iter().any(fits) => report.about(at, "repeated-result", name.unwrap_or("result"), REPEATED),
        None => report.about(at, "orphan-result", name.unwrap_or("result"), ORPHAN),
    }
}
