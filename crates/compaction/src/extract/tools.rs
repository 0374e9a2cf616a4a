//! Tool groups as lines: `name(arguments) → ok: first words of the result`. Goes in: the messages. Comes out: one line for each
//! message with calls, and one for each result whose call is not there.

use serde_json::Value;

use super::cues;
use crate::summary::Piece;
use threadkeep_core::{Content, Kind, Message, Part, Role};

/// A tool group as a line.
pub(super) struct Line {
    /// The line.
    pub text: String,
    /// The message with the calls, and those that answer them.
    pub pieces: Vec<u32>,
    /// Whether a call of it failed.
    pub failed: bool,
}

/// How much of an argument and of a result is quoted, in bytes; how long a line may become.
const ARGUMENT: usize = 72;
const RESULT: usize = 150;
const LINE: usize = 340;
/// How much of a call is quoted, its name and arguments, and how much where a line holds several.
const CALL: usize = 260;
const CALL_OF_MANY: usize = 120;

struct Call {
    id: String,
    shown: String,
    answer: Option<(bool, String)>,
}

struct Group {
    calls: Vec<Call>,
    pieces: Vec<u32>,
}

/// The lines of all tool groups, in the order of their first messages.
pub(super) fn lines(pieces: &[Piece]) -> Vec<Line> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let (at, message) = (at as u32, piece.message);
        if !message.include_in_context {
            continue;
        }
        let calls = calls(message);
        if !calls.is_empty() {
            groups.push(Group { calls, pieces: vec![at] });
        }
        answers(message, &mut |id, failed, text| answer(&mut groups, at, id, failed, text));
    }
    groups.into_iter().map(line).collect()
}

fn calls(message: &Message) -> Vec<Call> {
    let call = |id: &str, name: &str, arguments: &str| Call {
        id: id.to_owned(),
        shown: [name, "(", arguments, ")"].concat(),
        answer: None,
    };
    let mut found: Vec<Call> = Vec::new();
    if let Kind::CodeTurn(turn) = &message.kind {
        let mut made = call("", "code", &clip(turn.program(), ARGUMENT));
        made.answer = Some((turn.failed().unwrap_or(false), clip(&turn.output().join(" "), RESULT)));
        found.push(made);
    }
    for made in &message.tool_calls {
        found.push(call(made.id(), made.name(), &arguments(made.arguments())));
    }
    if let Some(old) = message.extra.get("function_call") {
        found.push(call("", text(old.get("name")), &arguments(text(old.get("arguments")))));
    }
    for part in parts(message).iter().filter(|part| part.kind().ends_with("tool_use")) {
        if !found.iter().any(|call| call.id == text(part.0.get("id"))) {
            let input = part.0.get("input").map(of_object).unwrap_or_default();
            found.push(call(text(part.0.get("id")), text(part.0.get("name")), &input));
        }
    }
    found
}

/// Calls `each` with every result in a message: the call's id, whether it failed, the result.
fn answers(message: &Message, each: &mut dyn FnMut(&str, bool, &str)) {
    if message.role == Role::Tool || message.role.as_str() == "function" {
        let text = message.text();
        each(message.tool_call_id.as_deref().unwrap_or_default(), message.is_error || failed(&text), &text);
        return;
    }
    for part in parts(message).iter().filter(|part| part.kind().ends_with("tool_result")) {
        let said = match part.0.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => list.iter().map(|part| text(part.get("text"))).collect::<Vec<_>>().join(" "),
            _ => String::new(),
        };
        let error = part.0.get("is_error") == Some(&Value::Bool(true)) || failed(&said);
        each(text(part.0.get("tool_use_id")), error, &said);
    }
}

fn answer(groups: &mut Vec<Group>, at: u32, id: &str, failed: bool, text: &str) {
    let shown = Some((failed, clip(if failed { from_error(text) } else { text }, RESULT)));
    // Whole turns come, so that a call is never far from its result.
    let open = groups.iter_mut().rev().take(64).find_map(|group| {
        let call = group.calls.iter().position(|call| call.id == id && call.answer.is_none())?;
        Some((group, call))
    });
    match open {
        Some((group, call)) => {
            group.calls[call].answer = shown;
            if group.pieces.last() != Some(&at) {
                group.pieces.push(at);
            }
        }
        None => groups.push(Group {
            calls: vec![Call { id: id.to_owned(), shown: "result".to_owned(), answer: shown }],
            pieces: vec![at],
        }),
    }
}

fn line(group: Group) -> Line {
    let mut text = String::new();
    let mut failed = false;
    let count = group.calls.len();
    for (at, call) in group.calls.iter().enumerate() {
        if at > 0 {
            text.push_str("; ");
        }
        if text.len() > LINE && at + 1 < count {
            text.push_str(&format!("and {} more calls", count - at));
            break;
        }
        let shown = begin(&call.shown, if count > 1 { CALL_OF_MANY } else { CALL });
        text.push_str(shown);
        if shown.len() < call.shown.len() {
            text.push_str("…)");
        }
        text.push_str(" → ");
        match &call.answer {
            None => text.push_str("no result"),
            Some((error, said)) => {
                failed |= error;
                text.push_str(if *error { "error" } else { "ok" });
                if !said.is_empty() {
                    text.push_str(": ");
                    text.push_str(if count > 1 { begin(said, RESULT / 2) } else { said });
                }
            }
        }
    }
    failed |= group.calls.iter().any(|call| call.answer.as_ref().is_some_and(|(error, _)| *error));
    Line { text, pieces: group.pieces, failed }
}

fn parts(message: &Message) -> &[Part] {
    if let Content::Parts(parts) = &message.content { parts } else { &[] }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn arguments(given: &str) -> String {
    match serde_json::from_str::<Value>(given) {
        Ok(value @ Value::Object(_)) => of_object(&value),
        _ => clip(given, ARGUMENT),
    }
}

/// The first three short values of an object; those that name a place or a command without their field's name.
fn of_object(value: &Value) -> String {
    const PLAIN: [&str; 9] = ["path", "file_path", "command", "cmd", "query", "pattern", "url", "name", "id"];
    let mut out = String::new();
    let mut shown = 0;
    for (field, value) in value.as_object().into_iter().flatten() {
        let value = match value {
            Value::String(text) => clip(text, ARGUMENT),
            Value::Null | Value::Object(_) | Value::Array(_) => continue,
            other => other.to_string(),
        };
        if shown == 3 {
            out.push_str(", …");
            break;
        }
        if shown > 0 {
            out.push_str(", ");
        }
        if !PLAIN.contains(&field.as_str()) {
            out.push_str(field);
            out.push_str(": ");
        }
        out.push_str(&value);
        shown += 1;
    }
    out
}

/// Whether a result says of itself that it is a failure.
fn failed(text: &str) -> bool {
    let start = begin(text.trim_start(), 120).to_ascii_lowercase();
    let begins = ["error", "{\"error\"", "traceback", "fatal", "panic", "<tool_use_error", "failed", "exception"];
    let exit =
        start.find("exit code").and_then(|at| start[at + 9..].trim_start_matches([':', ' ', '=']).chars().next());
    begins.iter().any(|word| start.starts_with(word)) || exit.is_some_and(|digit| ('1'..='9').contains(&digit))
}

/// A failed result from the first line on that speaks of a failure.
fn from_error(text: &str) -> &str {
    let mut at = 0;
    for line in begin(text, 8_000).split_inclusive('\n') {
        let speaks = ["rror", "ailed", "xception", "panic", "fatal", "not found", "denied"]
            .iter()
            .any(|word| line.contains(word));
        if speaks && !line.trim_start().starts_with("Traceback") {
            return &text[at..];
        }
        at += line.len();
    }
    text
}

/// The first `most` bytes of a text, ending between characters.
fn begin(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The first words of a text in one line, `…` behind them where there are more.
fn clip(text: &str, most: usize) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        let room = most.saturating_sub(out.len());
        if word.len() > room {
            // A path that is too long says most at its end.
            let cut = if cues::is_path(word) && word.len() < most * 2 && room > 20 {
                let mut from = word.len() - room + 3;
                while !word.is_char_boundary(from) {
                    from += 1;
                }
                ["…", &word[from..]].concat()
            } else {
                [begin(word, if out.is_empty() { room } else { 0 }), "…"].concat()
            };
            out.push_str(&cut);
            break;
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_end_between_characters_and_say_so() {
        assert_eq!(clip("one\n  two", 20), "one two");
        assert_eq!(clip("one two three", 8), "one two …");
        assert_eq!(clip("äöü", 3), "ä…");
        assert_eq!(clip("", 3), "");
    }

    #[test]
    fn failures_are_known_by_what_they_say() {
        for text in ["Error: no", "  {\"error\": 1}", "Exit code 2\nx", "exit code: 101"] {
            assert!(failed(text), "{text}");
        }
        for text in ["ok", "no errors", "exit code 0", ""] {
            assert!(!failed(text), "{text}");
        }
        assert_eq!(from_error("Traceback (most\n  File x\nKeyError: 'a'\n"), "KeyError: 'a'\n");
    }
}
