//! OpenAI Chat Completions. A content of nothing but text is one string, since many compatible servers take no lists.

use serde_json::{Map, Value};

use super::super::Provider;
use super::super::json::{object, put, text, texts};
use super::super::note::NoteRule;
use super::super::part::Piece;
use super::super::plan::{Call, Step, StepKind, failed, joined};
use super::{Job, OPENING};

/// What stands in a result for images that follow it.
const NEXT: &str = "[image: in the next message]";

#[inline(never)]
pub(super) fn render(steps: &[Step<'_>], job: &mut Job<'_>, tools: Option<Value>, payload: &mut Map<String, Value>) {
    if let Some(most) = job.options.max_output_tokens {
        put(payload, "max_completion_tokens", most.into());
    }
    if let Some(stream) = job.options.stream {
        put(payload, "stream", stream.into());
    }
    if let Some(tools) = tools {
        put(payload, "tools", tools);
    }
    let mut messages = Vec::with_capacity(steps.len() * 2);
    for step in steps {
        let mut message = Map::new();
        put(&mut message, "role", text(step.message.role.as_str()));
        match &step.kind {
            StepKind::System(_) => {
                let words = joined(&step.pieces, step.at, &mut job.notes);
                put(&mut message, "content", Value::String(words));
                name(step, job, &mut message);
                messages.push(Value::Object(message));
            }
            StepKind::User => {
                put(&mut message, "role", text("user"));
                put(&mut message, "content", content(step, job));
                name(step, job, &mut message);
                messages.push(Value::Object(message));
            }
            StepKind::Assistant(calls) => assistant(step, calls, message, job, &mut messages),
        }
    }
    if messages.is_empty() {
        job.notes.add(job.end, NoteRule::Opening);
        messages.push(texts(&[("role", "user"), ("content", OPENING)]));
    }
    put(payload, "messages", Value::Array(messages));
}

fn assistant(
    step: &Step<'_>,
    calls: &[Call<'_>],
    mut message: Map<String, Value>,
    job: &mut Job<'_>,
    messages: &mut Vec<Value>,
) {
    let words = joined(&step.pieces, step.at, &mut job.notes);
    put(&mut message, "content", if words.is_empty() { Value::Null } else { Value::String(words) });
    let own = step.message.extra.get(Provider::OpenAiChat.name()).and_then(Value::as_object);
    match own.filter(|_| job.options.reasoning) {
        Some(own) => {
            let ours = ["role", "content", "name", "tool_calls", "function_call"];
            for (name, value) in own.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
                put(&mut message, name, value.clone());
            }
        }
        None => job.reasoning_left_out(step),
    }
    name(step, job, &mut message);
    // Gemini's compatible endpoint wants its signatures back where they were.
    let google = job.options.model.as_ref().is_some_and(|model| model.contains("gemini"));
    let written: Vec<Value> = calls.iter().map(|call| self::call(call, google)).collect();
    if !written.is_empty() {
        put(&mut message, "tool_calls", Value::Array(written));
    }
    if words_missing(&message) {
        // Nothing but items of another's making: there is nothing to say here.
        job.notes.add(step.at, NoteRule::EmptyMessage);
        return;
    }
    messages.push(Value::Object(message));
    let mut images = Vec::new();
    for call in calls {
        let content = result(call, job, &mut images);
        messages.push(object(&[("role", "tool"), ("tool_call_id", &call.id)], "content", Value::String(content)));
    }
    if !images.is_empty() {
        messages.push(object(&[("role", "user")], "content", Value::Array(images)));
    }
}

/// An assistant message must have a content, calls or audio.
fn words_missing(message: &Map<String, Value>) -> bool {
    message.get("content").is_none_or(Value::is_null)
        && !["tool_calls", "audio", "refusal"].iter().any(|name| message.contains_key(*name))
}

fn call(call: &Call<'_>, google: bool) -> Value {
    let (kind, field) = if call.custom { ("custom", "input") } else { ("function", "arguments") };
    // Free text stays what it is, even where there is none.
    let arguments = match call.arguments {
        super::super::plan::Arguments::Text(text) if call.custom => text.to_owned(),
        arguments => arguments.text(),
    };
    let inner = object(&[("name", &call.name)], field, Value::String(arguments));
    let mut map = Map::new();
    put(&mut map, "id", text(&call.id));
    put(&mut map, "type", text(kind));
    put(&mut map, kind, inner);
    if let Some(signature) = call.signature.filter(|_| google) {
        let google = texts(&[("thought_signature", signature)]);
        put(&mut map, "extra_content", object(&[], "google", google));
    }
    Value::Object(map)
}

/// The text of a result; its images are added to those that follow all results.
fn result(call: &Call<'_>, job: &mut Job<'_>, images: &mut Vec<Value>) -> String {
    let Some(answer) = &call.answer else { return super::super::plan::NO_RESULT.to_owned() };
    let mut rest: Vec<Piece<'_>> = Vec::with_capacity(answer.pieces.len());
    let mut moved = false;
    for piece in &answer.pieces {
        match piece {
            Piece::Image(image) if image.fits(Provider::OpenAiChat) => {
                if images.is_empty() {
                    images.push(texts(&[("type", "text"), ("text", "Images of the tools' results:")]));
                }
                images.push(self::image(&image.url()));
                moved = true;
            }
            other => rest.push(other.clone()),
        }
    }
    if moved {
        job.notes.add(answer.at, NoteRule::MovedImage);
        rest.push(Piece::Text(NEXT.into()));
    }
    let words = joined(&rest, answer.at, &mut job.notes);
    if words.trim().is_empty() && failed(call) { "Error".to_owned() } else { words }
}

fn image(url: &str) -> Value {
    let url = texts(&[("url", url)]);
    object(&[("type", "image_url")], "image_url", url)
}

/// A user's content: one string where there is nothing but text.
fn content(step: &Step<'_>, job: &mut Job<'_>) -> Value {
    let sent = |piece: &Piece<'_>| match piece {
        Piece::Image(image) => image.fits(Provider::OpenAiChat),
        Piece::Own(_) => true,
        Piece::Text(_) | Piece::Other(_) => false,
    };
    if !step.pieces.iter().any(sent) {
        return Value::String(joined(&step.pieces, step.at, &mut job.notes));
    }
    let part = |piece: &Piece<'_>| match piece {
        Piece::Image(image) if sent(piece) => self::image(&image.url()),
        Piece::Own(part) => Value::Object((*part).clone()),
        other => {
            let words = joined(std::slice::from_ref(other), step.at, &mut job.notes);
            object(&[("type", "text")], "text", Value::String(words))
        }
    };
    Value::Array(step.pieces.iter().map(part).collect())
}

/// A speaker's name, where it is one that OpenAI takes.
fn name(step: &Step<'_>, job: &mut Job<'_>, message: &mut Map<String, Value>) {
    if let Some(name) = &step.message.name {
        let taken = |char: char| !char.is_whitespace() && !"<|\\/>".contains(char);
        let known = matches!(step.message.role.as_str(), "system" | "developer" | "user" | "assistant");
        if known && !name.is_empty() && name.len() <= 64 && name.chars().all(taken) {
            put(message, "name", text(name));
        } else {
            job.notes.add(step.at, NoteRule::Name);
        }
    }
}
