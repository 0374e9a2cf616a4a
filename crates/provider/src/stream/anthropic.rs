//! Anthropic Messages: `message_start`, blocks that begin, grow and end, `message_delta`, `message_stop`; or one object of type
//! `message`. The blocks are kept as they came where they say more than the message: thinking with its signature, citations, and
//! what Anthropic's own tools did.

use serde_json::Value;

use super::super::completion::Delta;
use super::super::items::is_signed;
use super::super::json::{kind, list, put, string};
use super::answer::{Answer, Slot};
use super::openai_chat::finish;

pub(super) fn read(answer: &mut Answer, event: &Value, heard: &dyn Fn(Delta)) {
    let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
    match kind(event) {
        "message_start" => {
            answer.known = true;
            if let Some(message) = event.get("message") {
                usage(answer, message, heard);
            }
        }
        "content_block_start" => {
            if let (Some(block), Some(at)) = (event.get("content_block"), answer.item(index)) {
                begin(answer, at, block, heard);
            }
        }
        "content_block_delta" => {
            if let (Some(delta), Some(at)) = (event.get("delta"), answer.item(index)) {
                self::delta(answer, at, delta, heard);
            }
        }
        "message_delta" => {
            usage(answer, event, heard);
            if let Some(delta) = event.get("delta") {
                stop(answer, delta);
            }
        }
        "message_stop" => answer.over = true,
        // A whole answer.
        "message" => {
            answer.known = true;
            usage(answer, event, heard);
            for block in list(event, "content") {
                let at = answer.items.len();
                if let Some(at) = answer.item(at as u64) {
                    begin(answer, at, block, heard);
                }
            }
            stop(answer, event);
            answer.over = true;
        }
        _ => {}
    }
}

/// A block begins; in a whole answer it is all there.
fn begin(answer: &mut Answer, at: usize, block: &Value, heard: &dyn Fn(Delta)) {
    answer.items[at] = block.clone();
    match kind(block) {
        "text" => answer.say(string(block, "text").unwrap_or_default(), heard),
        "thinking" => answer.think(string(block, "thinking").unwrap_or_default(), heard),
        "tool_use" => {
            let text = |name: &str| string(block, name).unwrap_or_default().to_owned();
            let place = answer.open(Slot { id: text("id"), name: text("name"), ..Slot::default() });
            answer.item_calls[at] = Some(place);
            let input = block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
            answer.argue(place, &input.map(Value::to_string).unwrap_or_default(), heard);
        }
        _ => {}
    }
}

fn delta(answer: &mut Answer, at: usize, delta: &Value, heard: &dyn Fn(Delta)) {
    let (field, text) = match kind(delta) {
        "text_delta" => ("text", string(delta, "text")),
        "thinking_delta" => ("thinking", string(delta, "thinking")),
        "signature_delta" => ("signature", string(delta, "signature")),
        "input_json_delta" => {
            let json = string(delta, "partial_json").unwrap_or_default();
            match answer.item_calls[at] {
                Some(place) => answer.argue(place, json, heard),
                // A call that Anthropic answers itself: its input is gathered, and read when all is there.
                None => grow(&mut answer.items[at], "input_json", json),
            }
            return;
        }
        "citations_delta" => {
            if let (Some(citation), Some(block)) = (delta.get("citation"), answer.items[at].as_object_mut()) {
                match block.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation.clone()),
                    _ => put(block, "citations", Value::Array(vec![citation.clone()])),
                }
            }
            return;
        }
        _ => return,
    };
    let text = text.unwrap_or_default();
    grow(&mut answer.items[at], field, text);
    match field {
        "text" => answer.say(text, heard),
        "thinking" => answer.think(text, heard),
        _ => {}
    }
}

/// Adds to a block's field of text.
fn grow(block: &mut Value, field: &str, more: &str) {
    let Some(block) = block.as_object_mut() else { return };
    match block.get_mut(field) {
        Some(Value::String(text)) => text.push_str(more),
        _ => put(block, field, more.into()),
    }
}

/// All blocks are there: inputs become objects, and the blocks go where they say nothing beyond the message.
pub(super) fn settle(answer: &mut Answer) {
    let mut broken = false;
    let mut more = false;
    for (block, call) in answer.items.iter_mut().zip(&answer.item_calls) {
        let json = match call {
            Some(place) => Some(answer.calls[*place].arguments.clone()),
            None => block
                .as_object_mut()
                .and_then(|block| block.shift_remove("input_json"))
                .map(|json| json.as_str().unwrap_or_default().to_owned()),
        };
        if let (Some(json), Some(block)) = (json, block.as_object_mut()) {
            match serde_json::from_str::<Value>(&json) {
                Ok(input @ Value::Object(_)) => put(block, "input", input),
                _ if json.trim().is_empty() => {}
                _ => broken = true,
            }
        }
        let cited = !list(block, "citations").is_empty();
        more |= cited || !matches!(kind(block), "" | "text" | "tool_use");
    }
    // Blocks do not take input that is no object; what stands before the first call is good all the same.
    if broken {
        answer.items.retain(is_signed);
        more = !answer.items.is_empty();
    }
    if !more {
        answer.items.clear();
    }
}

fn stop(answer: &mut Answer, delta: &Value) {
    if let Some(reason) = string(delta, "stop_reason") {
        answer.finish = Some(finish(reason));
    }
}

/// Counts come at the beginning and at the end; those that come later replace the earlier.
fn usage(answer: &mut Answer, holder: &Value, heard: &dyn Fn(Delta)) {
    let Some(usage) = holder.get("usage").filter(|usage| usage.is_object()) else { return };
    if usage.get("input_tokens").is_some_and(|count| !count.is_null()) {
        let input = answer.count(usage.get("input_tokens"), heard);
        let written = answer.count(usage.get("cache_creation_input_tokens"), heard);
        let read = answer.count(usage.get("cache_read_input_tokens"), heard);
        // What is cached is not in `input_tokens`.
        answer.usage.prompt = input.map(|input| input + written.unwrap_or(0) + read.unwrap_or(0));
        answer.usage.cached = read;
        answer.usage.written = written;
        let kept = usage.get("cache_creation").and_then(|kept| kept.get("ephemeral_1h_input_tokens"));
        answer.usage.hour = answer.count(kept, heard).filter(|hour| *hour > 0);
    }
    if usage.get("output_tokens").is_some_and(|count| !count.is_null()) {
        answer.usage.completion = answer.count(usage.get("output_tokens"), heard);
    }
}
