//! OpenAI Chat Completions: results right behind the message with their calls, in any order.

use serde_json::Value;

use super::super::json::{kind, string};
use super::{Report, Waiting, filled, is_image_url, is_plain, messages};

#[inline(never)]
pub(super) fn check(payload: &Value, report: &mut Report) {
    let mut calls = Waiting::default();
    // OpenAI's old form: one call, one answer behind it.
    let mut function: Option<&str> = None;
    for (at, message) in messages(payload, "messages", report).iter().enumerate() {
        let role = string(message, "role").unwrap_or_default();
        if !matches!(role, "tool") {
            calls.close(report);
        }
        match role {
            "tool" => {
                match filled(message, "tool_call_id") {
                    Some(id) => calls.result(id, at, report),
                    None => {
                        report.at(at, "orphan-result", "a tool message names the call that it answers in tool_call_id")
                    }
                }
                texts(message, at, &["text"], report);
            }
            "function" => {
                if function.is_none() || function != filled(message, "name") {
                    report.at(at, "orphan-result", "a function message follows the function_call that it answers");
                }
            }
            "assistant" => assistant(message, at, &mut calls, report),
            "user" => user(message, at, report),
            "system" | "developer" => texts(message, at, &["text"], report),
            "" => report.at(at, "wrong-type", "a message is an object with a role"),
            other => report.about(at, "unknown-role", other, "use system, developer, user, assistant or tool"),
        }
        function = message.get("function_call").and_then(|call| filled(call, "name"));
    }
    calls.close(report);
}

/// A content of text: a string, or parts of these types.
fn texts(message: &Value, at: usize, kinds: &[&str], report: &mut Report) {
    match message.get("content") {
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) if parts.is_empty() => report.at(at, "empty-content", "a content list has parts"),
        Some(Value::Array(parts)) => {
            for part in parts {
                match kind(part) {
                    kind if !kinds.contains(&kind) => {
                        report.about(at, "unknown-type", kind, "a message of this role takes only text parts");
                    }
                    "refusal" if string(part, "refusal").is_some() => {}
                    _ if string(part, "text").is_some() => {}
                    _ => report.at(at, "wrong-type", "a text part has its words in text"),
                }
            }
        }
        _ => report.at(at, "wrong-type", "content must be text or a list of parts"),
    }
}

fn assistant<'a>(message: &'a Value, at: usize, calls: &mut Waiting<'a>, report: &mut Report) {
    let given = |name: &str| message.get(name).is_some_and(|value| !value.is_null());
    if given("content") {
        texts(message, at, &["text", "refusal"], report);
    } else if !["tool_calls", "function_call", "audio", "refusal"].iter().any(|name| given(name)) {
        report.at(at, "empty-content", "an assistant message without calls must have a content");
    }
    match message.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.is_empty() => {
            report.at(at, "wrong-type", "tool_calls must have a call in it: leave the field out where there is none");
        }
        Some(Value::Array(list)) => list.iter().for_each(|one| call(one, at, calls, report)),
        Some(_) => report.at(at, "wrong-type", "tool_calls must be a list"),
    }
}

fn call<'a>(call: &'a Value, at: usize, calls: &mut Waiting<'a>, report: &mut Report) {
    let id = string(call, "id").unwrap_or_default();
    if id.is_empty() || id.chars().count() > 40 {
        report.about(at, "bad-id", id, "a call's id has 1 to 40 characters");
    }
    calls.call(id, at, report);
    let (inner, input) = match kind(call) {
        "function" => (call.get("function"), "arguments"),
        "custom" => (call.get("custom"), "input"),
        other => return report.about(at, "unknown-type", other, "a call is of type function or custom"),
    };
    let Some(inner) = inner.filter(|inner| inner.is_object()) else {
        return report.at(at, "wrong-type", "a call has its name and arguments in an object named as its type");
    };
    match string(inner, "name") {
        None | Some("") => report.about(at, "nameless-call", id, "the call names no tool"),
        Some(name) if !is_plain(name, 64) => {
            report.about(at, "bad-name", name, "a tool's name has up to 64 letters, digits, _ and -");
        }
        Some(_) => {}
    }
    if string(inner, input).is_none() {
        report.about(at, "bad-arguments", id, "arguments are JSON as text, not an object");
    }
}

fn user(message: &Value, at: usize, report: &mut Report) {
    let Some(Value::Array(parts)) = message.get("content") else { return texts(message, at, &[], report) };
    if parts.is_empty() {
        report.at(at, "empty-content", "a content list has parts");
    }
    for part in parts {
        match kind(part) {
            "text" if string(part, "text").is_some() => {}
            "text" => report.at(at, "wrong-type", "a text part has its words in text"),
            "image_url" => {
                let url = part.get("image_url").and_then(|image| string(image, "url"));
                if !url.is_some_and(is_image_url) {
                    report.at(at, "bad-image", "image_url.url is an http address or a data: URL of an image in base64");
                }
            }
            kind @ ("input_audio" | "file") => {
                if !part.get(kind).is_some_and(Value::is_object) {
                    report.about(at, "wrong-type", kind, "the part's data is an object named as its type");
                }
            }
            other => report.about(at, "unknown-type", other, "a user's part is text, image_url, input_audio or file"),
        }
    }
}
