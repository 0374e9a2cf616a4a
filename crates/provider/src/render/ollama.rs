//! Ollama `/api/chat`: content is text, images are base64 beside it, calls have no ids, results bear their tool's name.

use serde_json::{Map, Value};

use super::super::Provider;
use super::super::json::{object, put, text, texts};
use super::super::note::NoteRule;
use super::super::part::{Image, Piece};
use super::super::plan::{Call, Step, StepKind, failed, joined};
use super::{Job, OPENING};

#[inline(never)]
pub(super) fn render(steps: &[Step<'_>], job: &mut Job<'_>, tools: Option<Value>, payload: &mut Map<String, Value>) {
    if let Some(stream) = job.options.stream {
        put(payload, "stream", stream.into());
    }
    if let Some(most) = job.options.max_output_tokens {
        put(payload, "options", object(&[], "num_predict", most.into()));
    }
    if let Some(tools) = tools {
        put(payload, "tools", tools);
    }
    let mut messages = Vec::with_capacity(steps.len() * 2);
    for step in steps {
        job.name_left_out(step);
        let (role, calls): (_, &[Call<'_>]) = match &step.kind {
            StepKind::System(_) => ("system", &[]),
            StepKind::User => ("user", &[]),
            StepKind::Assistant(calls) => ("assistant", calls),
        };
        let mut message = said(role, &step.pieces, step.at, job);
        let thinks = step.message.reasoning.as_ref().filter(|text| !text.is_empty() && role == "assistant");
        if let Some(reasoning) = thinks.filter(|_| job.options.reasoning) {
            put(&mut message, "thinking", text(reasoning));
        }
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| self::call(call, step.at, job)).collect();
            put(&mut message, "tool_calls", Value::Array(calls));
        }
        let silent = message.get("content").and_then(Value::as_str).is_none_or(str::is_empty);
        if silent && message.len() <= 2 {
            job.notes.add(step.at, NoteRule::EmptyMessage);
            continue;
        }
        messages.push(Value::Object(message));
        for call in calls {
            messages.push(result(call, job));
        }
    }
    if messages.is_empty() {
        job.notes.add(job.end, NoteRule::Opening);
        messages.push(texts(&[("role", "user"), ("content", OPENING)]));
    }
    put(payload, "messages", Value::Array(messages));
}

/// A message with its text and images.
fn said(role: &str, pieces: &[Piece<'_>], at: usize, job: &mut Job<'_>) -> Map<String, Value> {
    let mut images = Vec::new();
    let mut rest = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Image(image @ Image::Inline { data, .. }) if image.fits(Provider::Ollama) => images.push(text(data)),
            other => rest.push(other.clone()),
        }
    }
    let mut message = Map::new();
    put(&mut message, "role", text(role));
    put(&mut message, "content", Value::String(joined(&rest, at, &mut job.notes)));
    if !images.is_empty() {
        put(&mut message, "images", Value::Array(images));
    }
    message
}

fn call(call: &Call<'_>, at: usize, job: &mut Job<'_>) -> Value {
    let (arguments, wrapped) = call.arguments.object(call.custom);
    if wrapped {
        job.notes.add(at, NoteRule::WrappedArguments);
    }
    let function = object(&[("name", &call.name)], "arguments", arguments);
    object(&[], "function", function)
}

fn result(call: &Call<'_>, job: &mut Job<'_>) -> Value {
    let mut message = match &call.answer {
        Some(answer) => said("tool", &answer.pieces, answer.at, job),
        None => Map::from_iter([
            ("role".to_owned(), text("tool")),
            ("content".to_owned(), text(super::super::plan::NO_RESULT)),
        ]),
    };
    let silent = message.get("content").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty());
    if silent && failed(call) {
        put(&mut message, "content", text("Error"));
    }
    put(&mut message, "tool_name", text(&call.name));
    Value::Object(message)
}
