//! Gemini `generateContent`: turns that alternate, as many function responses behind a turn as it has calls, and signatures
//! where they came from.

use serde_json::{Map, Value};

use super::super::Provider;
use super::super::items::Own;
use super::super::json::{object, put, string, text, texts};
use super::super::note::NoteRule;
use super::super::part::{Image, Piece};
use super::super::plan::{Call, Step, StepKind, failed, joined};
use super::turns::Turns;
use super::{CLOSING, Job, OPENING, late_system};

/// What Google documents for calls whose signature nobody has, such as those of another model.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[inline(never)]
pub(super) fn render(steps: &[Step<'_>], job: &mut Job<'_>, tools: Option<Value>, payload: &mut Map<String, Value>) {
    let mut system = Vec::new();
    let mut turns = Turns::default();
    // Which turns hold calls, and of which messages.
    let mut called: Vec<(usize, usize)> = Vec::new();
    for step in steps {
        match &step.kind {
            StepKind::System(late) => {
                let words = joined(&step.pieces, step.at, &mut job.notes);
                if *late {
                    job.notes.add(step.at, NoteRule::LateSystem);
                    turns.push(false, part(&late_system(&words)));
                } else {
                    system.push(part(&words));
                }
            }
            StepKind::User => {
                job.name_left_out(step);
                for piece in &step.pieces {
                    let part = self::piece(piece, step.at, job);
                    turns.push(false, part);
                }
            }
            StepKind::Assistant(calls) => assistant(step, calls, job, &mut turns, &mut called),
        }
    }
    sign(&mut turns, &called, job);
    if turns.list.first().is_none_or(|(assistant, _)| *assistant) {
        job.notes.add(0, NoteRule::Opening);
        turns.list.insert(0, (false, vec![part(OPENING)]));
    }
    if turns.ends_with_assistant() && !job.options.prefill {
        job.notes.add(job.end, NoteRule::Closing);
        turns.push(false, part(CLOSING));
    }
    let content = |(assistant, parts): (bool, Vec<Value>)| {
        let role = if assistant { "model" } else { "user" };
        object(&[("role", role)], "parts", Value::Array(parts))
    };
    let contents = Value::Array(turns.list.into_iter().map(content).collect());

    let mut rest = Map::new();
    if !system.is_empty() {
        put(&mut rest, "systemInstruction", object(&[], "parts", Value::Array(system)));
    }
    if let Some(tools) = tools {
        put(&mut rest, "tools", tools);
    }
    let most = job.options.max_output_tokens;
    if job.options.sdk {
        if let Some(most) = most {
            put(&mut rest, "maxOutputTokens", most.into());
        }
        put(payload, "contents", contents);
        if !rest.is_empty() {
            put(payload, "config", Value::Object(rest));
        }
    } else {
        payload.append(&mut rest);
        if let Some(most) = most {
            put(payload, "generationConfig", object(&[], "maxOutputTokens", most.into()));
        }
        put(payload, "contents", contents);
    }
}

fn part(words: &str) -> Value {
    texts(&[("text", words)])
}

fn piece(piece: &Piece<'_>, at: usize, job: &mut Job<'_>) -> Value {
    match piece {
        Piece::Image(image) if image.fits(Provider::Gemini) => match image {
            Image::Inline { mime, data } => {
                let data = texts(&[("mimeType", mime), ("data", data)]);
                object(&[], "inlineData", data)
            }
            Image::Url { url, .. } => {
                let mime = image.mime().unwrap_or_default();
                let file = texts(&[("mimeType", mime), ("fileUri", url)]);
                object(&[], "fileData", file)
            }
        },
        Piece::Own(part) => Value::Object((*part).clone()),
        other => part(&joined(std::slice::from_ref(other), at, &mut job.notes)),
    }
}

fn assistant(
    step: &Step<'_>,
    calls: &[Call<'_>],
    job: &mut Job<'_>,
    turns: &mut Turns,
    called: &mut Vec<(usize, usize)>,
) {
    let mut parts: Vec<Value> = Vec::new();
    // The ids under which the results go: those of the parts that are sent.
    let mut ids: Vec<Option<String>> = Vec::with_capacity(calls.len());
    match job.own(step, Provider::Gemini, calls) {
        Own::Whole(list) => {
            parts.extend(list.iter().filter(|part| says_something(part)).cloned());
            let calls = list.iter().filter_map(|part| part.get("functionCall"));
            ids.extend(calls.map(|call| string(call, "id").map(str::to_owned)));
        }
        rest => {
            if let Own::Before(list) = rest {
                parts.extend(list.iter().filter(|part| says_something(part)).cloned());
            } else {
                job.reasoning_left_out(step);
            }
            job.name_left_out(step);
            for piece in &step.pieces {
                let part = self::piece(piece, step.at, job);
                parts.push(part);
            }
            for call in calls {
                let (arguments, wrapped) = call.arguments.object(call.custom);
                if wrapped {
                    job.notes.add(step.at, NoteRule::WrappedArguments);
                }
                let call_ = object(&[("id", &call.id), ("name", &call.name)], "args", arguments);
                let mut map = Map::new();
                put(&mut map, "functionCall", call_);
                if let Some(signature) = call.signature.filter(|_| job.options.reasoning) {
                    put(&mut map, "thoughtSignature", text(signature));
                }
                parts.push(Value::Object(map));
                ids.push(Some(call.id.clone()));
            }
        }
    }
    if parts.is_empty() {
        job.notes.add(step.at, NoteRule::EmptyMessage);
        return;
    }
    turns.turn(true).append(&mut parts);
    if !calls.is_empty() {
        called.push((turns.list.len() - 1, step.at));
    }
    let mut media = Vec::new();
    for (call, id) in calls.iter().zip(ids) {
        let result = result(call, id, &mut media, job);
        turns.push(false, result);
    }
    for image in media {
        turns.push(false, image);
    }
}

/// Whether a part of a response holds anything: an empty text with a signature does.
fn says_something(part: &Value) -> bool {
    string(part, "text") != Some("") || part.get("thoughtSignature").is_some()
}

/// Models from Gemini 3 on want a signature at the first call of each step of the current turn, which begins with the last
/// thing that the user said.
fn sign(turns: &mut Turns, called: &[(usize, usize)], job: &mut Job<'_>) {
    if generation(job.options.model.as_deref()) < 3 {
        return;
    }
    let says = |(assistant, parts): &(bool, Vec<Value>)| {
        !assistant && parts.iter().any(|part| part.get("functionResponse").is_none())
    };
    let current = turns.list.iter().rposition(says).unwrap_or_default();
    for &(turn, at) in called.iter().filter(|(turn, _)| *turn >= current) {
        let first = turns.list[turn].1.iter_mut().find(|part| part.get("functionCall").is_some());
        if let Some(Value::Object(first)) = first
            && first.get("thoughtSignature").is_none_or(|signature| signature == "")
        {
            job.notes.add(at, NoteRule::MissingSignature);
            put(first, "thoughtSignature", text(NO_SIGNATURE));
        }
    }
}

/// The number in `gemini-3-pro` and the like; 0 where there is none.
fn generation(model: Option<&str>) -> u32 {
    let name = model.and_then(|model| model.split_once("gemini-")).map_or("", |(_, name)| name);
    name.split(['-', '.']).next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// A result; its images go behind all results of the turn.
fn result(call: &Call<'_>, id: Option<String>, media: &mut Vec<Value>, job: &mut Job<'_>) -> Value {
    let mut rest: Vec<Piece<'_>> = Vec::new();
    for piece in call.answer.iter().flat_map(|answer| &answer.pieces) {
        let at = call.answer.as_ref().map_or(0, |answer| answer.at);
        match piece {
            Piece::Image(image) if image.fits(Provider::Gemini) => media.push(self::piece(piece, at, job)),
            Piece::Own(_) => media.push(self::piece(piece, at, job)),
            other => rest.push(other.clone()),
        }
    }
    let words = match &call.answer {
        None => super::super::plan::NO_RESULT.to_owned(),
        Some(answer) => joined(&rest, answer.at, &mut job.notes),
    };
    let (name, words) = match failed(call) {
        true if words.trim().is_empty() => ("error", "Error".to_owned()),
        true => ("error", words),
        false => ("output", words),
    };
    let mut map = Map::new();
    if let Some(id) = id {
        put(&mut map, "id", Value::String(id));
    }
    put(&mut map, "name", text(&call.name));
    put(&mut map, "response", object(&[], name, Value::String(words)));
    object(&[], "functionResponse", Value::Object(map))
}
