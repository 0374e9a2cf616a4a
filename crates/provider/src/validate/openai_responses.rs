//! OpenAI Responses: outputs behind their calls (others may stand between), reasoning right before what it belongs to.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::json::{kind, string};
use super::{EMPTY_PROMPT, ORPHAN, REPEATED, REPEATED_ID, Report, UNANSWERED, filled, is_image_url, is_plain};

/// Calls that the client answers with an item of the same name and `_output`.
const CALLS: [&str; 5] = ["function_call", "custom_tool_call", "computer_call", "shell_call", "apply_patch_call"];

/// Items that the API makes or takes beside those and whatever ends with `_call` or `_call_output`, of which new ones come;
/// they stand for themselves.
const OTHERS: [&str; 12] = [
    "item_reference",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "tool_search_output",
    "additional_tools",
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "program",
    "program_output",
];

/// A call: its item's type, its id, its place, and whether it is answered.
type Call<'a> = (&'a str, &'a str, usize, bool);

#[inline(never)]
pub(super) fn check(payload: &Value, report: &mut Report) {
    // What came before may lie with the API.
    let continued =
        ["previous_response_id", "conversation"].iter().any(|name| payload.get(name).is_some_and(|v| !v.is_null()));
    match payload.get("instructions") {
        None | Some(Value::Null | Value::String(_) | Value::Array(_)) => {}
        Some(_) => report.all("wrong-type", "instructions must be text"),
    }
    let items = match payload.get("input") {
        Some(Value::String(text)) if !text.is_empty() => return,
        Some(Value::Array(items)) if !items.is_empty() => items,
        _ if continued || payload.get("prompt").is_some_and(Value::is_object) => return,
        Some(Value::String(_) | Value::Array(_)) => return report.all("empty-prompt", EMPTY_PROMPT),
        _ => return report.all("wrong-type", "input must be text or a list of items"),
    };
    let mut calls: Vec<Call<'_>> = Vec::new();
    // Of items; and of calls, with their places among the calls.
    let (mut ids, mut seen): (HashSet<&str>, HashMap<&str, usize>) = (HashSet::new(), HashMap::new());
    for (at, item) in items.iter().enumerate() {
        if let Some(id) = filled(item, "id").filter(|_| kind(item) != "item_reference")
            && !ids.insert(id)
        {
            report.about(at, "repeated-item", id, "an item of this id is there already: take one of them out");
        }
        match kind(item) {
            "" | "message" => message(item, at, report),
            "reasoning" => reasoning(item, items.get(at + 1), at, report),
            kind if CALLS.contains(&kind) => call(item, kind, at, &mut calls, &mut seen, report),
            kind if kind.strip_suffix("_output").is_some_and(|call| CALLS.contains(&call)) => {
                output(item, kind, at, continued, (&seen, &mut calls), report);
            }
            kind if OTHERS.contains(&kind) || kind.ends_with("_call") || kind.ends_with("_call_output") => {}
            other => report.about(at, "unknown-type", other, "the API knows no item of this type"),
        }
    }
    for (kind, id, at, answered) in &calls {
        // A shell may be the API's own.
        if !answered && *kind != "shell_call" {
            report.about(*at, "unanswered-call", id, UNANSWERED);
        }
    }
    reasons(items, report);
}

fn message(item: &Value, at: usize, report: &mut Report) {
    let role = string(item, "role").unwrap_or_default();
    let kinds: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
        "" => return report.at(at, "wrong-type", "an item has a type, or a role as a message"),
        other => return report.about(at, "unknown-role", other, "use system, developer, user or assistant"),
    };
    content(item.get("content"), kinds, at, report);
}

/// Text, or parts of these types.
fn content(given: Option<&Value>, kinds: &[&str], at: usize, report: &mut Report) {
    let parts = match given {
        Some(Value::String(_)) => return,
        Some(Value::Array(parts)) if !parts.is_empty() => parts,
        Some(Value::Array(_)) => return report.at(at, "empty-content", "a content list has parts"),
        _ => return report.at(at, "wrong-type", "the content must be text or a list of parts"),
    };
    for part in parts {
        let kind = kind(part);
        if !kinds.contains(&kind) {
            report.about(at, "unknown-type", kind, "this item takes no part of this type");
            continue;
        }
        let filled = match kind {
            "refusal" => string(part, "refusal").is_some(),
            "input_text" | "output_text" => string(part, "text").is_some(),
            "input_image" if string(part, "file_id").is_none() => {
                if !string(part, "image_url").is_some_and(is_image_url) {
                    report.at(at, "bad-image", "image_url is an http address or a data: URL of an image in base64");
                }
                true
            }
            _ => true,
        };
        if !filled {
            report.about(at, "wrong-type", kind, "the part has no text");
        }
    }
}

/// A reasoning item belongs to what the model said next.
fn reasoning(item: &Value, next: Option<&Value>, at: usize, report: &mut Report) {
    if filled(item, "id").is_none() || !item.get("summary").is_some_and(Value::is_array) {
        report.at(at, "wrong-type", "a reasoning item has an id and a summary list");
    }
    let follows = next.is_some_and(|next| match kind(next) {
        "" | "message" => string(next, "role") == Some("assistant"),
        kind => !kind.ends_with("_output") && kind != "item_reference",
    });
    if !follows {
        let words = "what the model said after this reasoning is missing: take the reasoning out with it";
        report.at(at, "lone-reasoning", words);
    }
}

fn call<'a>(
    item: &'a Value,
    kind: &'a str,
    at: usize,
    calls: &mut Vec<Call<'a>>,
    seen: &mut HashMap<&'a str, usize>,
    report: &mut Report,
) {
    let id = string(item, "call_id").unwrap_or_default();
    if id.is_empty() || id.chars().count() > 64 {
        report.about(at, "bad-id", id, "a call_id has 1 to 64 characters");
    }
    match seen.entry(id) {
        Entry::Occupied(_) => report.about(at, "repeated-call-id", id, REPEATED_ID),
        Entry::Vacant(place) => {
            place.insert(calls.len());
            calls.push((kind, id, at, false));
        }
    }
    let input = match kind {
        "function_call" => "arguments",
        "custom_tool_call" => "input",
        _ => return,
    };
    match string(item, "name") {
        None | Some("") => report.about(at, "nameless-call", id, "the call names no tool"),
        Some(name) if !is_plain(name, 64) => {
            report.about(at, "bad-name", name, "a tool's name has up to 64 letters, digits, _ and -");
        }
        Some(_) => {}
    }
    if string(item, input).is_none() {
        report.about(at, "bad-arguments", id, "arguments are JSON as text, not an object");
    }
}

fn output(
    item: &Value,
    kind: &str,
    at: usize,
    continued: bool,
    (seen, calls): (&HashMap<&str, usize>, &mut [Call<'_>]),
    report: &mut Report,
) {
    let id = string(item, "call_id").unwrap_or_default();
    let called = kind.strip_suffix("_output").unwrap_or(kind);
    let call = seen.get(id).and_then(|place| calls.get_mut(*place)).filter(|(kind, ..)| *kind == called);
    match call {
        Some((.., answered)) if *answered => report.about(at, "repeated-result", id, REPEATED),
        Some((.., answered)) => *answered = true,
        None if continued => {}
        None => report.about(at, "orphan-result", id, ORPHAN),
    }
    if matches!(called, "function_call" | "custom_tool_call") {
        content(item.get("output"), &["input_text", "input_image", "input_file"], at, report);
    }
}

/// A call that bears its item's id is looked up by the API, with its reasoning. Where the model reasons (there is reasoning in
/// the input), such a call without any in its step has lost it, or cannot prove that there was none.
fn reasons(items: &[Value], report: &mut Report) {
    if !items.iter().any(|item| kind(item) == "reasoning") {
        return;
    }
    let mut reasoned = false;
    for (at, item) in items.iter().enumerate() {
        match kind(item) {
            "reasoning" => reasoned = true,
            "" | "message" if string(item, "role") == Some("assistant") => {}
            "" | "message" => reasoned = false,
            kind if kind.ends_with("_output") => reasoned = false,
            "function_call" | "custom_tool_call" if !reasoned => {
                if let Some(id) = filled(item, "id") {
                    let words =
                        "the call's reasoning item is missing: put it before the call, or leave the call's id out";
                    report.about(at, "call-without-reasoning", id, words);
                }
            }
            _ => {}
        }
    }
}
