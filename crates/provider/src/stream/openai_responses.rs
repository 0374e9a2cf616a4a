//! OpenAI Responses: events for items that begin, grow and end, and at last the whole response, which counts; or one object of
//! type `response`. The items are kept where there is reasoning to give back.

use serde_json::{Map, Value};

use super::super::completion::{Delta, Finish};
use super::super::http::Fault;
use super::super::json::{kind, list, put, string};
use super::answer::{Answer, Slot};

pub(super) fn read(answer: &mut Answer, event: &Value, who: &str, heard: &dyn Fn(Delta)) -> Result<(), Fault> {
    let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
    let delta = string(event, "delta").unwrap_or_default();
    if event.get("object").is_some_and(|object| object == "response") {
        return whole(answer, event, who, heard);
    }
    match kind(event) {
        "response.output_text.delta" => answer.say(delta, heard),
        "response.refusal.delta" => {
            answer.say(delta, heard);
            answer.finish = Some(Finish::Filtered);
        }
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => answer.think(delta, heard),
        // Between two parts of a summary.
        "response.reasoning_summary_part.added" if !answer.reasoning.is_empty() => answer.think("\n\n", heard),
        "response.output_item.added" => {
            if let Some(item) = event.get("item") {
                begin(answer, at, item, heard);
            }
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let place = answer.item(at).and_then(|at| answer.item_calls[at]);
            if let Some(place) = place {
                answer.argue(place, delta, heard);
            }
        }
        "response.output_item.done" => {
            if let Some(item) = event.get("item") {
                end(answer, at, item, heard);
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
            if let Some(response) = event.get("response") {
                return whole(answer, response, who, heard);
            }
        }
        "response.created" | "response.in_progress" => {}
        _ => return Ok(()),
    }
    answer.known = true;
    Ok(())
}

/// An item begins. A call gets its place.
fn begin(answer: &mut Answer, at: u64, item: &Value, heard: &dyn Fn(Delta)) {
    let custom = kind(item) == "custom_tool_call";
    if !custom && kind(item) != "function_call" {
        return;
    }
    let Some(at) = answer.item(at).filter(|at| answer.item_calls[*at].is_none()) else { return };
    let text = |name: &str| string(item, name).unwrap_or_default().to_owned();
    let place = answer.open(Slot { id: text("call_id"), name: text("name"), custom, ..Slot::default() });
    answer.item_calls[at] = Some(place);
    answer.argue(place, &text(if custom { "input" } else { "arguments" }), heard);
}

/// An item is complete; what it says that was not heard before is heard now.
fn end(answer: &mut Answer, at: u64, item: &Value, heard: &dyn Fn(Delta)) {
    begin(answer, at, item, heard);
    let Some(at) = answer.item(at) else { return };
    answer.items[at] = item.clone();
    if let Some(place) = answer.item_calls[at] {
        let field = if answer.calls[place].custom { "input" } else { "arguments" };
        let all = string(item, field).unwrap_or_default();
        match all.strip_prefix(answer.calls[place].arguments.as_str()) {
            Some("") => {}
            Some(rest) => answer.argue(place, rest, heard),
            // The end counts.
            None => all.clone_into(&mut answer.calls[place].arguments),
        }
    }
}

fn whole(answer: &mut Answer, response: &Value, who: &str, heard: &dyn Fn(Delta)) -> Result<(), Fault> {
    answer.known = true;
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        answer.usage.prompt = answer.count(usage.get("input_tokens"), heard);
        answer.usage.completion = answer.count(usage.get("output_tokens"), heard);
        let details = usage.get("input_tokens_details");
        answer.usage.cached = answer.count(details.and_then(|details| details.get("cached_tokens")), heard);
        let reasoning = usage.get("output_tokens_details").and_then(|details| details.get("reasoning_tokens"));
        answer.usage.reasoning = answer.count(reasoning, heard);
    }
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Err(Fault::said(who, 0, error));
    }
    for (at, item) in list(response, "output").iter().enumerate() {
        end(answer, at as u64, item, heard);
    }
    // What was not streamed.
    if answer.text.is_empty() {
        let all = texts(&answer.items, "message", "content");
        answer.say(&all.concat(), heard);
    }
    if answer.reasoning.is_empty() {
        let mut all = texts(&answer.items, "reasoning", "summary");
        all.extend(texts(&answer.items, "reasoning", "content"));
        answer.think(&all.join("\n\n"), heard);
    }
    let reason = response.get("incomplete_details").and_then(|details| string(details, "reason"));
    answer.finish = match (string(response, "status"), reason) {
        (Some("incomplete"), Some("max_output_tokens")) => Some(Finish::Length),
        (Some("incomplete"), Some("content_filter")) => Some(Finish::Filtered),
        (Some("incomplete"), reason) => Some(Finish::Other(reason.unwrap_or("incomplete").to_owned())),
        (Some("failed" | "cancelled"), _) => return Err(Fault::said(who, 500, &Value::Null)),
        _ => answer.finish.take().or(Some(Finish::Stop)),
    };
    answer.over = true;
    settle(answer);
    Ok(())
}

/// The texts in a field of all items of a kind.
fn texts(items: &[Value], of: &str, field: &str) -> Vec<String> {
    let parts = items.iter().filter(|item| kind(item) == of).flat_map(|item| list(item, field));
    parts.filter_map(|part| string(part, "text").or(string(part, "refusal"))).map(str::to_owned).collect()
}

/// Items go back only with reasoning that can be read again: nothing is kept at OpenAI, so that what is not encrypted would be
/// looked for there in vain. Fields that only answers have stay behind.
fn settle(answer: &mut Answer) {
    let sealed = |item: &Value| string(item, "encrypted_content").is_some_and(|text| !text.is_empty());
    answer.items.retain(|item| !item.is_null() && (kind(item) != "reasoning" || sealed(item)));
    let plain = |item: &Value| matches!(kind(item), "message" | "function_call" | "custom_tool_call");
    if answer.items.iter().all(plain) {
        answer.items.clear();
    }
    for item in &mut answer.items {
        let Value::Object(map) = item else { continue };
        if map.get("type").is_some_and(|kind| kind == "reasoning") {
            let kept = ["type", "id", "summary", "content", "encrypted_content"];
            let mut clean = Map::new();
            for (name, value) in map.iter().filter(|(name, value)| kept.contains(&name.as_str()) && !value.is_null()) {
                put(&mut clean, name, value.clone());
            }
            *map = clean;
        }
    }
}
