//! OpenAI Chat Completions, and what compatible servers make of it: `data: {choices: [{delta: {…}}]}` to `data: [DONE]`, or one
//! object with `message` in place of `delta`.

use serde_json::Value;

use super::super::completion::{Delta, Finish};
use super::super::json::{kind, list, put, string};
use super::answer::{Answer, Slot};

pub(super) fn read(answer: &mut Answer, chunk: &Value, heard: &dyn Fn(Delta)) {
    // Groq puts it elsewhere; usage comes in a last chunk without choices, or in every one: the last counts.
    let groq = chunk.get("x_groq").and_then(|groq| groq.get("usage"));
    if let Some(usage) = chunk.get("usage").or(groq).filter(|usage| usage.is_object()) {
        self::usage(answer, usage, heard);
    }
    answer.known |= chunk.get("choices").is_some();
    let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0);
    let Some(choice) = list(chunk, "choices").iter().find(first) else { return };
    let said = ["delta", "message"].iter().find_map(|name| choice.get(*name).filter(|said| said.is_object()));
    if let Some(said) = said {
        self::said(answer, said, heard);
    }
    // A whole answer needs no reason to end.
    let chunk = chunk.get("object").is_some_and(|object| object == "chat.completion.chunk");
    if !chunk && choice.get("message").is_some_and(Value::is_object) {
        answer.finish.get_or_insert_default();
    }
    if let Some(reason) = string(choice, "finish_reason").filter(|reason| !reason.is_empty()) {
        // A refusal ends with "stop" too.
        let refused = reason == "stop" && answer.finish == Some(Finish::Filtered);
        answer.finish = Some(if refused { Finish::Filtered } else { finish(reason) });
    }
}

fn said(answer: &mut Answer, said: &Value, heard: &dyn Fn(Delta)) {
    // Servers that are between two names send the same under both.
    let reasoning = ["reasoning_content", "reasoning", "reasoning_text"];
    if let Some((name, text)) = reasoning.iter().find_map(|name| Some((*name, string(said, name)?))) {
        answer.think(text, heard);
        // DeepSeek wants it back with the calls that it led to, under its name.
        if name == "reasoning_content" {
            join(answer, name, text);
        }
    }
    for detail in list(said, "reasoning_details") {
        self::detail(answer, detail);
    }
    match said.get("content") {
        Some(Value::String(text)) => answer.say(text, heard),
        // Mistral's lists of parts.
        Some(Value::Array(parts)) => {
            for part in parts {
                match kind(part) {
                    "thinking" => {
                        for inner in list(part, "thinking") {
                            answer.think(string(inner, "text").unwrap_or_default(), heard);
                        }
                    }
                    _ => answer.say(string(part, "text").unwrap_or_default(), heard),
                }
            }
        }
        _ => {}
    }
    if let Some(refusal) = string(said, "refusal").filter(|text| !text.is_empty()) {
        answer.say(refusal, heard);
        answer.finish = Some(Finish::Filtered);
    }
    for call in list(said, "tool_calls") {
        self::call(answer, call, heard);
    }
    if let Some(call) = said.get("function_call").filter(|call| call.is_object()) {
        let (name, arguments) = (string(call, "name").unwrap_or_default(), arguments(call));
        let at = if answer.calls.is_empty() { answer.open(Slot::default()) } else { answer.calls.len() - 1 };
        answer.calls[at].name.push_str(name);
        answer.argue(at, &arguments, heard);
    }
}

/// A piece of a call. Which call it belongs to is said by its index; where that is missing or stands for several, by its id, and
/// where that is missing too, by whether it begins one: then it has a name, and the last call has all its arguments.
fn call(answer: &mut Answer, call: &Value, heard: &dyn Fn(Delta)) {
    let function = call.get("function").unwrap_or(call);
    let id = string(call, "id").unwrap_or_default();
    let name = string(function, "name").unwrap_or_default();
    let given = arguments(function);
    let index = call.get("index").and_then(Value::as_u64);
    let of_index = |slot: &Slot| index.is_none() || slot.index == index;
    let last = answer.calls.iter().rposition(of_index);
    let same = match last {
        // A server that has no index for its calls, but ids, may go back to an earlier one.
        _ if index.is_none() && !id.is_empty() => answer.calls.iter().position(|slot| slot.id == id),
        Some(at) => {
            let slot = &answer.calls[at];
            let other = !id.is_empty() && !slot.id.is_empty() && slot.id != id;
            let begun = !name.is_empty() && !slot.name.is_empty();
            let full = begun && id.is_empty() && is_whole(&slot.arguments);
            let anew = index.is_none() && begun && id.is_empty();
            (!other && !full && !anew).then_some(at)
        }
        None => None,
    };
    let at = same.unwrap_or_else(|| answer.open(Slot { index, ..Slot::default() }));
    let slot = &mut answer.calls[at];
    if slot.id.is_empty() {
        id.clone_into(&mut slot.id);
    }
    // Some repeat the name with each piece, and a few send it in pieces.
    if !name.is_empty() && slot.name != name && slot.arguments.is_empty() {
        slot.name.push_str(name);
    }
    if kind(call) == "custom" {
        slot.custom = true;
        if let Some(custom) = call.get("custom") {
            slot.name.push_str(string(custom, "name").unwrap_or_default());
            let input = string(custom, "input").unwrap_or_default().to_owned();
            return answer.argue(at, &input, heard);
        }
    }
    if let Some(extra) = call.get("extra_content").filter(|extra| !extra.is_null()) {
        put(&mut slot.extra, "extra_content", extra.clone());
    }
    answer.argue(at, &given, heard);
}

/// A call's arguments as text; some servers send the object itself.
pub(super) fn arguments(function: &Value) -> String {
    match function.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// OpenRouter's reasoning in pieces, which it wants back whole and in order: text that goes on is joined.
fn detail(answer: &mut Answer, detail: &Value) {
    let Some(detail) = detail.as_object() else { return };
    if !answer.chat.contains_key("reasoning_details") {
        put(&mut answer.chat, "reasoning_details", Value::Array(Vec::new()));
    }
    let Some(Value::Array(details)) = answer.chat.get_mut("reasoning_details") else { return };
    let goes_on = |last: &&mut Value| {
        let same = |name: &str| last.get(name) == detail.get(name);
        same("type") && same("index") && detail.get("type").is_some_and(|kind| kind != "reasoning.encrypted")
    };
    let Some(last) = details.last_mut().filter(goes_on).and_then(Value::as_object_mut) else {
        return details.push(Value::Object(detail.clone()));
    };
    for (name, value) in detail.iter().filter(|(_, value)| !value.is_null()) {
        match (last.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if name == "text" || name == "summary" => {
                text.push_str(more)
            }
            _ => put(last, name, value.clone()),
        }
    }
}

fn join(answer: &mut Answer, name: &str, text: &str) {
    match answer.chat.get_mut(name) {
        Some(Value::String(all)) => all.push_str(text),
        _ => put(&mut answer.chat, name, text.into()),
    }
}

fn usage(answer: &mut Answer, usage: &Value, heard: &dyn Fn(Delta)) {
    let details = usage.get("prompt_tokens_details");
    let cached = details.and_then(|details| details.get("cached_tokens")).or(usage.get("prompt_cache_hit_tokens"));
    answer.usage.prompt = answer.count(usage.get("prompt_tokens"), heard);
    answer.usage.completion = answer.count(usage.get("completion_tokens"), heard);
    answer.usage.cached = answer.count(cached, heard);
    let reasoning = usage.get("completion_tokens_details").and_then(|details| details.get("reasoning_tokens"));
    answer.usage.reasoning = answer.count(reasoning, heard);
}

pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "end_turn" | "eos" | "stop_sequence" | "completed" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => {
            Finish::Length
        }
        "content_filter" | "refusal" | "safety" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}

/// All is there: thinking goes back only with the calls that it led to.
pub(super) fn settle(answer: &mut Answer) {
    if answer.calls.is_empty() {
        answer.chat.shift_remove("reasoning_content");
    }
}
