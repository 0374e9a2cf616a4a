//! Anthropic Messages: turns that alternate and begin with the user, all results of a turn's calls in the one user message
//! behind it, signed thinking first and unchanged, no empty text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::items::{self, Own};
use super::super::json::{kind, list, object, put, string, text, texts};
use super::super::note::NoteRule;
use super::super::part::{Image, Piece};
use super::super::plan::{Call, NO_RESULT, Step, StepKind, failed, joined, server_content};
use super::super::{Provider, RenderOptions};
use super::turns::Turns;
use super::{CLOSING, Job, OPENING, late_system};

#[inline(never)]
pub(super) fn render(steps: &[Step<'_>], job: &mut Job<'_>, tools: Option<Value>, payload: &mut Map<String, Value>) {
    put(payload, "max_tokens", job.options.max_output_tokens.unwrap_or(RenderOptions::MAX_TOKENS).into());
    if let Some(stream) = job.options.stream {
        put(payload, "stream", stream.into());
    }
    let mut system = Vec::new();
    let mut turns = Turns::default();
    for (n, step) in steps.iter().enumerate() {
        match &step.kind {
            StepKind::System(late) => {
                let words = joined(&step.pieces, step.at, &mut job.notes);
                if *late {
                    job.notes.add(step.at, NoteRule::LateSystem);
                    turns.push(false, block(&late_system(&words)));
                } else {
                    system.push(block(&words));
                }
            }
            StepKind::User => {
                job.name_left_out(step);
                for piece in &step.pieces {
                    let block = self::piece(piece, step.at, job);
                    turns.push(false, block);
                }
            }
            StepKind::Assistant(calls) => assistant(step, calls, n + 1 == steps.len(), job, &mut turns),
        }
    }
    ends(&mut turns, job);
    match system.as_slice() {
        [] => {}
        [one] => put(payload, "system", one["text"].clone()),
        _ => put(payload, "system", Value::Array(system)),
    }
    if let Some(tools) = tools {
        put(payload, "tools", tools);
    }
    let message = |(assistant, blocks): (bool, Vec<Value>)| {
        let role = if assistant { "assistant" } else { "user" };
        object(&[("role", role)], "content", Value::Array(blocks))
    };
    put(payload, "messages", Value::Array(turns.list.into_iter().map(message).collect()));
}

fn block(words: &str) -> Value {
    texts(&[("type", "text"), ("text", words)])
}

/// A piece of a user's message or of a result.
fn piece(piece: &Piece<'_>, at: usize, job: &mut Job<'_>) -> Value {
    match piece {
        Piece::Image(image) if image.fits(Provider::Anthropic) => {
            let source = match image {
                Image::Inline { mime, data } => texts(&[("type", "base64"), ("media_type", mime), ("data", data)]),
                Image::Url { url, .. } => texts(&[("type", "url"), ("url", url)]),
            };
            object(&[("type", "image")], "source", source)
        }
        Piece::Own(part) => Value::Object((*part).clone()),
        other => block(&joined(std::slice::from_ref(other), at, &mut job.notes)),
    }
}

fn assistant(step: &Step<'_>, calls: &[Call<'_>], last: bool, job: &mut Job<'_>, turns: &mut Turns) {
    let mut blocks = Vec::new();
    match job.own(step, Provider::Anthropic, calls) {
        Own::Whole(list) => own(list, last, &mut blocks),
        rest => {
            if let Own::Before(list) = rest {
                own(list, last, &mut blocks);
            } else if job.options.reasoning {
                blocks.extend(items::claude_thinking(step.message).cloned());
            }
            if blocks.is_empty() {
                job.reasoning_left_out(step);
            }
            // An image cannot stand here; everything becomes text.
            for piece in &step.pieces {
                let words = joined(std::slice::from_ref(piece), step.at, &mut job.notes);
                blocks.push(block(&words));
            }
            for call in calls {
                let (input, wrapped) = call.arguments.object(call.custom);
                if wrapped {
                    job.notes.add(step.at, NoteRule::WrappedArguments);
                }
                self::call(call, input, &mut blocks);
            }
        }
    }
    if blocks.is_empty() {
        job.notes.add(step.at, NoteRule::EmptyMessage);
        return;
    }
    turns.turn(true);
    let thought = turns.thinks;
    // Thinking comes first in a turn; what is joined to a turn without any goes to its front.
    let thinks = |block: &Value| matches!(kind(block), "thinking" | "redacted_thinking");
    turns.thinks |= blocks.iter().any(thinks);
    let turn = turns.turn(true);
    if !thought {
        let first = blocks.iter().position(|block| !thinks(block)).unwrap_or(blocks.len());
        turn.splice(0..0, blocks.drain(..first));
    }
    turn.append(&mut blocks);
    for call in calls.iter().filter(|call| call.server.is_none()) {
        let result = result(call, job);
        turns.push(false, result);
    }
}

/// A call; behind one that Anthropic's servers answered, its result.
fn call(call: &Call<'_>, input: Value, blocks: &mut Vec<Value>) {
    let mut map = Map::new();
    let kind = call.server.and_then(|server| server.get("type")).and_then(Value::as_str).unwrap_or("tool_use");
    put(&mut map, "type", text(kind));
    put(&mut map, "id", text(&call.id));
    put(&mut map, "name", text(&call.name));
    put(&mut map, "input", input);
    for (name, value) in
        call.server.into_iter().flatten().filter(|(name, _)| *name == "caller" || *name == "server_name")
    {
        put(&mut map, name, value.clone());
    }
    blocks.push(Value::Object(map));
    if let (Some(_), Some(answer)) = (call.server, &call.answer) {
        let kind = items::server_result(answer.message).unwrap_or_default();
        let content = server_content(answer.message).unwrap_or_default();
        blocks.push(object(&[("type", kind), ("tool_use_id", &call.id)], "content", content));
    }
}

/// A response's own blocks: without empty text, unsigned thinking, and server-side calls that lost their result or the
/// reverse (a paused turn's last call waits for its result).
fn own(given: &[Value], last: bool, blocks: &mut Vec<Value>) {
    let is_result = |block: &Value| kind(block).ends_with("_tool_result");
    let is_call = |block: &Value| matches!(kind(block), "server_tool_use" | "mcp_tool_use");
    let results = given.iter().filter(|block| is_result(block)).filter_map(|block| string(block, "tool_use_id"));
    let calls = given.iter().filter(|block| is_call(block)).map(|block| string(block, "id").unwrap_or_default());
    let (results, calls): (HashSet<&str>, HashSet<&str>) = (results.collect(), calls.collect());
    let answered = |block: &Value| results.contains(string(block, "id").unwrap_or_default());
    let called = |block: &Value| string(block, "tool_use_id").is_some_and(|id| calls.contains(id));
    let kept = given.iter().enumerate().filter(|(n, block)| match kind(block) {
        "text" => string(block, "text").is_some_and(|text| !text.trim().is_empty()),
        "thinking" | "redacted_thinking" => items::is_signed(block),
        _ if is_call(block) => answered(block) || (last && n + 1 == given.len()),
        _ if is_result(block) => called(block),
        _ => true,
    });
    blocks.extend(kept.map(|(_, block)| block.clone()));
}

fn result(call: &Call<'_>, job: &mut Job<'_>) -> Value {
    let mut map = Map::new();
    put(&mut map, "type", text("tool_result"));
    put(&mut map, "tool_use_id", text(&call.id));
    let blank = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if text.trim().is_empty());
    match &call.answer {
        None => put(&mut map, "content", text(NO_RESULT)),
        Some(answer) => {
            let filled: Vec<&Piece<'_>> = answer.pieces.iter().filter(|piece| !blank(piece)).collect();
            match filled.as_slice() {
                // Anthropic refuses an error that says nothing.
                [] if failed(call) => put(&mut map, "content", text("Error")),
                [] => {}
                [Piece::Text(words)] => put(&mut map, "content", text(words)),
                several => {
                    let blocks = several.iter().map(|piece| self::piece(piece, answer.at, job)).collect();
                    put(&mut map, "content", Value::Array(blocks));
                }
            }
        }
    }
    if failed(call) {
        put(&mut map, "is_error", Value::Bool(true));
    }
    Value::Object(map)
}

/// Makes sure of the first and last turn.
fn ends(turns: &mut Turns, job: &mut Job<'_>) {
    // A turn cannot end with thinking; one that is nothing else goes.
    let thinks = |block: &Value| matches!(kind(block), "thinking" | "redacted_thinking");
    let mut kept = Turns::default();
    for (assistant, mut blocks) in std::mem::take(&mut turns.list) {
        while assistant && blocks.last().is_some_and(thinks) {
            blocks.pop();
        }
        if !blocks.is_empty() {
            kept.turn(assistant).append(&mut blocks);
        }
    }
    *turns = kept;
    if turns.list.first().is_none_or(|(assistant, _)| *assistant) {
        job.notes.add(0, NoteRule::Opening);
        turns.list.insert(0, (false, vec![block(OPENING)]));
    }
    let paused = |block: &Value| matches!(kind(block), "server_tool_use" | "mcp_tool_use");
    if !turns.ends_with_assistant() || turns.list.last().is_some_and(|(_, blocks)| blocks.last().is_some_and(paused)) {
        return;
    }
    if !job.options.prefill {
        job.notes.add(job.end, NoteRule::Closing);
        turns.push(false, block(CLOSING));
    } else if let Some(last) = turns.turn(true).last_mut()
        && kind(last) == "text"
        && list(last, "citations").is_empty()
    {
        let words = string(last, "text").unwrap_or_default().trim_end().to_owned();
        last["text"] = Value::String(words);
    }
}
