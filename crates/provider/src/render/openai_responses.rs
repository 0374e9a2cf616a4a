//! OpenAI Responses: a list of items. Instructions before the conversation are `instructions`; a response's own items (reasoning
//! above all) go back as they came, reasoning before what it belongs to.

use serde_json::{Map, Value};

use super::super::Provider;
use super::super::items::{self, Own, Said};
use super::super::json::{field, kind, object, put, text, texts};
use super::super::note::NoteRule;
use super::super::part::Piece;
use super::super::plan::{Arguments, Call, Step, StepKind, joined, result_text};
use super::{Job, OPENING};

#[inline(never)]
pub(super) fn render(steps: &[Step<'_>], job: &mut Job<'_>, tools: Option<Value>, payload: &mut Map<String, Value>) {
    if let Some(most) = job.options.max_output_tokens {
        put(payload, "max_output_tokens", most.into());
    }
    if let Some(stream) = job.options.stream {
        put(payload, "stream", stream.into());
    }
    let mut instructions: Vec<String> = Vec::new();
    let mut input = Vec::with_capacity(steps.len() * 2);
    for step in steps {
        match &step.kind {
            StepKind::System(late) => {
                job.name_left_out(step);
                let words = joined(&step.pieces, step.at, &mut job.notes);
                if *late {
                    input.push(said(step.message.role.as_str(), Value::String(words)));
                } else {
                    instructions.push(words);
                }
            }
            StepKind::User => {
                job.name_left_out(step);
                let content = content(&step.pieces, step.at, job);
                input.push(said("user", content));
            }
            StepKind::Assistant(calls) => assistant(step, calls, job, &mut input),
        }
    }
    if input.is_empty() {
        job.notes.add(job.end, NoteRule::Opening);
        input.push(said("user", text(OPENING)));
    }
    if !instructions.is_empty() {
        put(payload, "instructions", Value::String(instructions.join("\n\n")));
    }
    if let Some(tools) = tools {
        put(payload, "tools", tools);
    }
    put(payload, "input", Value::Array(input));
}

fn said(role: &str, content: Value) -> Value {
    object(&[("role", role)], "content", content)
}

/// A user's content or a result's: one string where there is nothing but text.
fn content(pieces: &[Piece<'_>], at: usize, job: &mut Job<'_>) -> Value {
    let sent = |piece: &Piece<'_>| match piece {
        Piece::Image(image) => image.fits(Provider::OpenAiResponses),
        Piece::Own(_) => true,
        Piece::Text(_) | Piece::Other(_) => false,
    };
    if !pieces.iter().any(sent) {
        return Value::String(joined(pieces, at, &mut job.notes));
    }
    let part = |piece: &Piece<'_>| match piece {
        Piece::Image(image) if sent(piece) => {
            texts(&[("type", "input_image"), ("image_url", &image.url()), ("detail", "auto")])
        }
        Piece::Own(part) => Value::Object((*part).clone()),
        other => {
            let words = joined(std::slice::from_ref(other), at, &mut job.notes);
            object(&[("type", "input_text")], "text", Value::String(words))
        }
    };
    Value::Array(pieces.iter().map(part).collect())
}

fn assistant(step: &Step<'_>, calls: &[Call<'_>], job: &mut Job<'_>, input: &mut Vec<Value>) {
    let before = input.len();
    match job.own(step, Provider::OpenAiResponses, calls) {
        Own::Whole(list) => own(list, input),
        rest => {
            if let Own::Before(list) = rest {
                own(list, input);
            } else {
                job.reasoning_left_out(step);
            }
            job.name_left_out(step);
            if !step.pieces.is_empty() {
                let words = joined(&step.pieces, step.at, &mut job.notes);
                input.push(said("assistant", Value::String(words)));
            }
            input.extend(calls.iter().map(call));
        }
    }
    // Reasoning that nothing follows is refused.
    while input.len() > before && input.last().is_some_and(|item| kind(item) == "reasoning") {
        input.pop();
    }
    if input.len() == before {
        job.notes.add(step.at, NoteRule::EmptyMessage);
    }
    for call in calls {
        let output = match &call.answer {
            Some(answer) if answer.pieces.iter().any(|piece| !matches!(piece, Piece::Text(_))) => {
                content(&answer.pieces, answer.at, job)
            }
            _ => Value::String(result_text(call, &mut job.notes)),
        };
        let kind = if call.custom { "custom_tool_call_output" } else { "function_call_output" };
        input.push(object(&[("type", kind), ("call_id", &call.id)], "output", output));
    }
}

/// A response's own items. A call's item id goes along only where its reasoning does: the API looks for it otherwise.
fn own(list: &[Value], input: &mut Vec<Value>) {
    let reasons = list.iter().any(|item| items::said(item, Provider::OpenAiResponses) == Said::Reasoning);
    for item in list {
        let mut item = item.clone();
        if let (Value::Object(map), false) = (&mut item, reasons)
            && matches!(field(map, "type"), Some("function_call" | "custom_tool_call"))
        {
            map.shift_remove("id");
        }
        input.push(item);
    }
}

fn call(call: &Call<'_>) -> Value {
    let (kind, name, arguments) = match call.arguments {
        Arguments::Text(words) if call.custom => ("custom_tool_call", "input", words.to_owned()),
        arguments => ("function_call", "arguments", arguments.text()),
    };
    object(&[("type", kind), ("call_id", &call.id), ("name", &call.name)], name, Value::String(arguments))
}
