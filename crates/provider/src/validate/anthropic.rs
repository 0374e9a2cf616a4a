//! Anthropic Messages: turns that alternate, a turn's results at the beginning of the next, server-side tools' results in the
//! turn itself.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::json::{kind, list, string};
use super::{MISPLACED, ORPHAN, REPEATED, REPEATED_ID, Report, UNANSWERED, filled, is_base64, is_plain, messages};

#[inline(never)]
pub(super) fn check(payload: &Value, report: &mut Report) {
    if payload.get("max_tokens").is_some_and(|most| !most.is_u64()) {
        report.all("wrong-type", "max_tokens must be a whole number");
    }
    system(payload.get("system"), report);
    let list = messages(payload, "messages", report);
    let role = |at: usize| list.get(at).and_then(|message| string(message, "role")).unwrap_or_default();
    // Calls of the turn before; and all ids so far, sorted.
    let mut calls: Vec<(&str, bool)> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for (at, message) in list.iter().enumerate() {
        match role(at) {
            "user" | "assistant" => {}
            "system" => {
                late_system(message, at, at.checked_sub(1).map_or("", role), role(at + 1), report);
                continue;
            }
            "" => {
                report.at(at, "wrong-type", "a message is an object with a role");
                continue;
            }
            other => {
                report.about(at, "unknown-role", other, "use user or assistant; instructions are the payload's system");
                continue;
            }
        }
        let assistant = role(at) == "assistant";
        if at == 0 && assistant {
            report.at(at, "first-role", "the user speaks first: put a user message before it");
        }
        if at > 0 && role(at) == role(at - 1) {
            report.at(at, "alternation", "the same side speaks twice: join the two messages");
        }
        let last = at + 1 == list.len();
        if !assistant {
            results(message, at, &mut calls, &ids, report);
        }
        // Whoever was not answered in this message is not answered.
        for (id, _) in calls.drain(..).filter(|(_, answered)| !answered) {
            report.about(at.saturating_sub(1), "unanswered-call", id, UNANSWERED);
        }
        let blocks = blocks(message, at, report);
        for block in blocks {
            self::block(block, at, assistant, report);
        }
        if assistant {
            for id in blocks.iter().filter(|block| kind(block) == "tool_use").filter_map(|block| string(block, "id")) {
                match ids.binary_search(&id) {
                    Ok(_) => report.about(at, "repeated-call-id", id, REPEATED_ID),
                    Err(place) => {
                        ids.insert(place, id);
                        calls.push((id, false));
                    }
                }
            }
            thinking(blocks, at, report);
            servers(blocks, at, last, list, report);
            if last {
                ending(message, blocks, at, report);
            }
        }
    }
    for (id, _) in calls {
        report.about(list.len().saturating_sub(1), "unanswered-call", id, UNANSWERED);
    }
}

fn system(system: Option<&Value>, report: &mut Report) {
    match system {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) => {
            for block in blocks {
                match string(block, "text") {
                    Some(text) if kind(block) == "text" && !text.trim().is_empty() => {}
                    Some(_) if kind(block) == "text" => report.all("empty-content", "a block of system says nothing"),
                    _ => report.all("wrong-type", "system must be text or a list of text blocks"),
                }
            }
        }
        Some(_) => report.all("wrong-type", "system must be text or a list of text blocks"),
    }
}

/// Newer models take instructions inside the conversation: behind the user, before the assistant or at the end.
fn late_system(message: &Value, at: usize, before: &str, after: &str, report: &mut Report) {
    if before != "user" || !matches!(after, "assistant" | "") {
        let words = "instructions stand in the payload's system; newer models take them behind a user message too";
        report.at(at, "late-system", words);
    }
    for block in blocks(message, at, report) {
        if kind(block) != "text" {
            report.about(at, "misplaced-block", kind(block), "a system message holds only text");
        }
    }
}

/// A message's blocks; none for plain text.
fn blocks<'a>(message: &'a Value, at: usize, report: &mut Report) -> &'a [Value] {
    match message.get("content") {
        Some(Value::String(text)) if text.trim().is_empty() => {
            report.at(at, "empty-content", "the message says nothing: leave it out");
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) if blocks.is_empty() => {
            report.at(at, "empty-content", "the message has no blocks: leave it out");
        }
        Some(Value::Array(_)) => {}
        _ => report.at(at, "wrong-type", "content must be text or a list of blocks"),
    }
    list(message, "content")
}

/// The results at the beginning of a user message.
fn results(message: &Value, at: usize, calls: &mut [(&str, bool)], ids: &[&str], report: &mut Report) {
    let mut other = false;
    // Of calls that share an id, the first.
    let places: HashMap<&str, usize> = calls.iter().enumerate().rev().map(|(place, (id, _))| (*id, place)).collect();
    for block in list(message, "content") {
        if kind(block) != "tool_result" {
            other = true;
            continue;
        }
        let id = string(block, "tool_use_id").unwrap_or_default();
        match places.get(id).and_then(|place| calls.get_mut(*place)) {
            Some((_, answered)) if *answered => report.about(at, "repeated-result", id, REPEATED),
            Some((_, answered)) => {
                *answered = true;
                if other {
                    report.about(at, "misplaced-result", id, "results stand before everything else in their message");
                }
            }
            None if ids.binary_search(&id).is_ok() => report.about(at, "misplaced-result", id, MISPLACED),
            None => report.about(at, "orphan-result", id, ORPHAN),
        }
    }
}

fn block(block: &Value, at: usize, assistant: bool, report: &mut Report) {
    let kind = kind(block);
    let misplaced = |side: bool| side != assistant;
    let wrong_side = match kind {
        "text" => {
            text(block, at, report);
            false
        }
        "image" => {
            image(block, at, report);
            misplaced(false)
        }
        "document" | "search_result" | "container_upload" => misplaced(false),
        "tool_result" => {
            result(block, at, report);
            misplaced(false)
        }
        "tool_use" => {
            call(block, at, report);
            misplaced(true)
        }
        "thinking" | "redacted_thinking" => {
            let proof = if kind == "thinking" { "signature" } else { "data" };
            if filled(block, proof).is_none() || (kind == "thinking" && string(block, "thinking").is_none()) {
                report.at(at, "unsigned-thinking", "send thinking as it came, with its signature, or not at all");
            }
            misplaced(true)
        }
        "server_tool_use" | "mcp_tool_use" => {
            call(block, at, report);
            misplaced(true)
        }
        kind if kind.ends_with("_tool_result") => misplaced(true),
        "compaction" | "fallback" => misplaced(true),
        other => return report.about(at, "unknown-type", other, "the API knows no block of this type"),
    };
    if wrong_side {
        report.about(at, "misplaced-block", kind, "a block of this type stands on the other side");
    }
}

fn text(block: &Value, at: usize, report: &mut Report) {
    match string(block, "text") {
        Some(text) if text.trim().is_empty() => {
            report.at(at, "empty-content", "a text block says nothing: leave it out");
        }
        Some(_) => {}
        None => report.at(at, "wrong-type", "a text block has its words in text"),
    }
}

fn image(block: &Value, at: usize, report: &mut Report) {
    let source = block.get("source").unwrap_or(&Value::Null);
    let fits = match kind(source) {
        "base64" => {
            let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
            string(source, "media_type").is_some_and(|kind| kinds.contains(&kind))
                && string(source, "data").is_some_and(is_base64)
        }
        "url" => string(source, "url").is_some_and(|url| url.starts_with("http")),
        "file" => filled(source, "file_id").is_some(),
        _ => false,
    };
    if !fits {
        report.at(at, "bad-image", "an image is jpeg, png, gif or webp in base64, an http address, or a file's id");
    }
}

fn call(block: &Value, at: usize, report: &mut Report) {
    let id = string(block, "id").unwrap_or_default();
    if !is_plain(id, 256) {
        report.about(at, "bad-id", id, "a call's id has letters, digits, _ and - only");
    }
    match string(block, "name") {
        None | Some("") => report.about(at, "nameless-call", id, "the call names no tool"),
        Some(name) if !is_plain(name, 200) => {
            report.about(at, "bad-name", name, "a tool's name has letters, digits, _ and - only");
        }
        Some(_) => {}
    }
    if !block.get("input").is_some_and(Value::is_object) {
        report.about(at, "bad-arguments", id, "input must be a JSON object, not text");
    }
}

fn result(block: &Value, at: usize, report: &mut Report) {
    let failed = block.get("is_error") == Some(&Value::Bool(true));
    let empty = match block.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                match kind(block) {
                    "text" => text(block, at, report),
                    "image" => image(block, at, report),
                    "document" | "search_result" | "tool_reference" | "browser_state" => {}
                    other => report.about(at, "misplaced-block", other, "a result takes no block of this type"),
                }
            }
            blocks.is_empty()
        }
        Some(_) => {
            report.at(at, "wrong-type", "a result's content must be text or a list of blocks");
            false
        }
    };
    if failed && empty {
        report.at(at, "empty-content", "an error must say something");
    }
}

/// Thinking comes first in a turn, and a turn does not end with it.
fn thinking(blocks: &[Value], at: usize, report: &mut Report) {
    let thinks = |block: &Value| matches!(kind(block), "thinking" | "redacted_thinking");
    if !blocks.iter().any(thinks) {
        return;
    }
    if !blocks.first().is_some_and(thinks) {
        report.at(at, "thinking-order", "a turn with thinking begins with it");
    }
    if blocks.last().is_some_and(thinks) {
        report.at(at, "thinking-order", "a turn does not end with thinking: take it out, or keep what followed");
    }
}

/// Server-side calls are answered in their own turn; a later one only where the server's code called a tool of the client's,
/// and not yet where the turn was paused.
fn servers(blocks: &[Value], at: usize, last: bool, all: &[Value], report: &mut Report) {
    let is_call = |block: &Value| matches!(kind(block), "server_tool_use" | "mcp_tool_use");
    let is_result = |block: &Value| kind(block).ends_with("_tool_result");
    let called: Vec<&str> = blocks.iter().filter(|b| is_call(b)).filter_map(|block| string(block, "id")).collect();
    let results: Vec<&str> =
        blocks.iter().filter(|b| is_result(b)).filter_map(|block| string(block, "tool_use_id")).collect();
    let waits = last || blocks.iter().any(|block| kind(block) == "tool_use");
    let (all_called, all_results): (HashSet<&str>, HashSet<&str>) =
        (called.iter().copied().collect(), results.iter().copied().collect());
    let mut seen = HashSet::new();
    for id in &called {
        if !seen.insert(*id) {
            report.about(at, "repeated-call-id", id, REPEATED_ID);
        } else if !waits && !all_results.contains(id) {
            report.about(at, "unanswered-call", id, "a server-side call stays together with its result in one message");
        }
    }
    seen.clear();
    for id in &results {
        let earlier = || {
            let blocks = all[..at].iter().flat_map(|message| list(message, "content"));
            blocks.filter(|block| is_call(block)).any(|block| string(block, "id") == Some(id))
        };
        if !seen.insert(*id) {
            report.about(at, "repeated-result", id, REPEATED);
        } else if !all_called.contains(id) && !earlier() {
            report.about(at, "orphan-result", id, ORPHAN);
        }
    }
}

/// What the assistant says last is gone on from, and must not end with white space.
fn ending(message: &Value, blocks: &[Value], at: usize, report: &mut Report) {
    let text = match message.get("content") {
        Some(Value::String(text)) => Some(text.as_str()),
        _ => blocks.last().filter(|block| kind(block) == "text").and_then(|block| string(block, "text")),
    };
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        report.at(at, "trailing-whitespace", "an assistant message at the end must not end with white space: trim it");
    }
}
