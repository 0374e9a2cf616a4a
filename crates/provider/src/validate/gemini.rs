//! Gemini `generateContent`, as the API's body or the SDK's arguments: turns that alternate, behind each turn with calls one
//! with as many responses.

use serde_json::Value;

use super::super::json::{list, string};
use super::{ORPHAN, REPEATED, Report, UNANSWERED, filled, gemini_generation, is_base64, messages};

/// What a part can hold.
const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

#[inline(never)]
pub(super) fn check(payload: &Value, report: &mut Report) {
    let config = payload.get("config").unwrap_or(payload);
    system(config.get("systemInstruction"), report);
    let contents = messages(payload, "contents", report);
    let role = |at: usize| match contents[at].get("role") {
        None => "user",
        Some(role) => role.as_str().unwrap_or_default(),
    };
    // Calls of the turn before: name, id, answered.
    let mut calls: Vec<(&str, Option<&str>, bool)> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        match role(at) {
            "user" | "model" => {}
            "system" => report.at(at, "late-system", "instructions are the payload's systemInstruction"),
            other => report.about(at, "unknown-role", other, "use user or model"),
        }
        let model = role(at) == "model";
        if at == 0 && model {
            report.at(at, "first-role", "the user speaks first: put a user content before it");
        }
        if at > 0 && role(at) == role(at - 1) {
            report.at(at, "alternation", "the same side speaks twice: join the two contents");
        }
        if at + 1 == contents.len() && model {
            report.at(at, "last-role", "the user speaks last: put a user content behind it");
        }
        let parts = list(content, "parts");
        if !content.get("parts").is_some_and(Value::is_array) {
            report.at(at, "wrong-type", "a content has a list of parts");
        } else if parts.is_empty() {
            report.at(at, "empty-content", "a content has parts: leave it out where there is nothing to say");
        }
        parts.iter().for_each(|part| self::part(part, at, model, report));
        responses(parts, at, &mut calls, report);
        for (name, ..) in calls.drain(..).filter(|(.., answered)| !answered) {
            report.about(at.saturating_sub(1), "unanswered-call", name, UNANSWERED);
        }
        if model {
            let called = parts.iter().filter_map(|part| part.get("functionCall"));
            for call in called {
                let id = filled(call, "id");
                if id.is_some() && calls.iter().any(|(_, other, _)| *other == id) {
                    report.about(at, "repeated-call-id", id.unwrap_or_default(), super::REPEATED_ID);
                    continue;
                }
                calls.push((string(call, "name").unwrap_or_default(), id, false));
            }
        }
    }
    for (name, ..) in calls {
        report.about(contents.len().saturating_sub(1), "unanswered-call", name, UNANSWERED);
    }
    signatures(payload, contents, report);
}

fn system(system: Option<&Value>, report: &mut Report) {
    match system {
        None | Some(Value::Null | Value::String(_) | Value::Array(_)) => {}
        Some(content) => {
            let parts = list(content, "parts");
            if parts.is_empty() || !parts.iter().all(|part| filled(part, "text").is_some()) {
                report.all("wrong-type", "systemInstruction is a content with parts of text");
            }
        }
    }
}

fn part(part: &Value, at: usize, model: bool, report: &mut Report) {
    let held: Vec<&str> = DATA.iter().copied().filter(|name| part.get(*name).is_some()).collect();
    let kind = match held.as_slice() {
        [one] => *one,
        [] if part.get("thoughtSignature").is_some() => return,
        [] => {
            return report.at(at, "unknown-type", "a part holds text, inlineData, fileData, functionCall or the like");
        }
        _ => return report.at(at, "wrong-type", "a part holds one thing: make several of it"),
    };
    match kind {
        "text" => match string(part, "text") {
            Some("") if part.get("thoughtSignature").is_none() => {
                report.at(at, "empty-content", "a text part says nothing: leave it out");
            }
            Some(_) => {}
            None => report.at(at, "wrong-type", "text must be a string"),
        },
        "inlineData" => {
            let data = &part["inlineData"];
            if filled(data, "mimeType").is_none() || !string(data, "data").is_some_and(is_base64) {
                report.at(at, "bad-image", "inlineData has a mimeType, and data in base64");
            }
        }
        "fileData" if filled(&part["fileData"], "fileUri").is_none() => {
            report.at(at, "bad-image", "fileData has a fileUri");
        }
        "functionCall" | "functionResponse" => {
            let call = kind == "functionCall";
            if call != model {
                let rule = if call { "misplaced-block" } else { "misplaced-result" };
                report.at(at, rule, "calls are the model's, responses the user's");
            }
            let inner = &part[kind];
            match string(inner, "name") {
                None | Some("") => report.at(at, "nameless-call", "a call and its response name their function"),
                Some(name) if !is_name(name) => {
                    let words = "a function's name begins with a letter or _ and has letters, digits, _ . : and - only";
                    report.about(at, "bad-name", name, words);
                }
                Some(_) => {}
            }
            let fields = inner.get(if call { "args" } else { "response" });
            if !(fields.is_some_and(Value::is_object) || call && fields.is_none()) {
                report.at(at, "bad-arguments", "args and response are JSON objects");
            }
        }
        _ => {}
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-');
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= 128 && name.bytes().all(taken)
}

/// Responses answer the calls of the turn before: by id where there is one, or else the first open one of their name.
fn responses(parts: &[Value], at: usize, calls: &mut [(&str, Option<&str>, bool)], report: &mut Report) {
    for response in parts.iter().filter_map(|part| part.get("functionResponse")) {
        let name = string(response, "name").unwrap_or_default();
        let id = filled(response, "id");
        let fits = |call: &(&str, Option<&str>, bool)| match (call.1, id) {
            (Some(call), Some(id)) => call == id,
            _ => call.0 == name,
        };
        match calls.iter().position(|call| fits(call) && !call.2) {
            Some(place) => {
                if calls[place].0 != name {
                    report.about(at, "bad-name", name, "a response bears the name of the function that was called");
                }
                calls[place].2 = true;
            }
            None if calls.iter().any(fits) => report.about(at, "repeated-result", name, REPEATED),
            None => report.about(at, "orphan-result", name, ORPHAN),
        }
    }
}

/// In the current turn (since the user last said something), the first call of each step bears the model's signature, for
/// models from Gemini 3 on: where the payload names the model, as the SDK's arguments do.
fn signatures(payload: &Value, contents: &[Value], report: &mut Report) {
    if gemini_generation(payload) < 3 {
        return;
    }
    let says = |part: &Value| part.get("functionResponse").is_none();
    let is_model = |content: &Value| string(content, "role") == Some("model");
    let start = contents.iter().rposition(|content| !is_model(content) && list(content, "parts").iter().any(says));
    let steps = contents.iter().enumerate().skip(start.unwrap_or_default());
    let first = |content: &'_ Value| {
        list(content, "parts")
            .iter()
            .find(|part| part.get("functionCall").is_some())
            .map(|p| filled(p, "thoughtSignature").is_some())
    };
    let steps: Vec<(usize, bool)> = steps
        .filter(|(_, content)| is_model(content))
        .filter_map(|(at, content)| Some((at, first(content)?)))
        .collect();
    for (at, _) in steps.iter().filter(|(_, signed)| !signed) {
        let words = "the first functionCall of a step needs the thoughtSignature that came with it";
        report.at(*at, "missing-signature", words);
    }
}
