//! Gemini `streamGenerateContent`: whole objects with more parts each, as events or as one list. The parts are kept where they
//! have signatures, which Gemini wants back in their places.

use serde_json::Value;

use super::super::completion::{Delta, Finish};
use super::super::http::Fault;
use super::super::json::{list, put, string};
use super::answer::{Answer, Slot};

pub(super) fn read(answer: &mut Answer, chunk: &Value, who: &str, heard: &dyn Fn(Delta)) -> Result<(), Fault> {
    answer.known |= chunk.get("candidates").is_some();
    if let Some(usage) = chunk.get("usageMetadata").filter(|usage| usage.is_object()) {
        self::usage(answer, usage, heard);
    }
    let candidate = list(chunk, "candidates").first();
    if let Some(blocked) = chunk.get("promptFeedback").and_then(|feedback| string(feedback, "blockReason"))
        && candidate.is_none()
    {
        let words = [who, " does not answer this prompt (", blocked, "). Say it in another way."];
        return Err(Fault::new("refused", words.concat()));
    }
    let Some(candidate) = candidate else { return Ok(()) };
    for part in candidate.get("content").map_or(&[][..], |content| list(content, "parts")) {
        self::part(answer, part, heard);
    }
    if let Some(reason) = string(candidate, "finishReason").filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED") {
        answer.finish = Some(match reason {
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" | "IMAGE_SAFETY" => {
                Finish::Filtered
            }
            other => Finish::Other(other.to_owned()),
        });
    }
    Ok(())
}

fn part(answer: &mut Answer, part: &Value, heard: &dyn Fn(Delta)) {
    let thought = part.get("thought") == Some(&Value::Bool(true));
    match string(part, "text") {
        Some(text) if thought => answer.think(text, heard),
        Some(text) => answer.say(text, heard),
        None => {}
    }
    if let Some(call) = part.get("functionCall") {
        let text = |name: &str| string(call, name).unwrap_or_default().to_owned();
        let mut slot = Slot { id: text("id"), name: text("name"), ..Slot::default() };
        // Where the parts go stale, the signature still goes with its call.
        if let Some(signature) = part.get("thoughtSignature") {
            let google = super::super::json::object(&[], "thought_signature", signature.clone());
            put(&mut slot.extra, "extra_content", super::super::json::object(&[], "google", google));
        }
        let arguments = call.get("args").filter(|args| !args.is_null()).map_or_else(String::new, Value::to_string);
        let at = answer.open(slot);
        answer.argue(at, &arguments, heard);
    }
    // A thousand pieces of text are one part, but what is signed stays apart.
    let plain = |part: &Value| {
        let names = part.as_object().is_some_and(|part| part.keys().all(|name| name == "text" || name == "thought"));
        names && string(part, "text").is_some()
    };
    let last = answer.items.last_mut();
    match last.filter(|last| plain(part) && plain(last) && last.get("thought") == part.get("thought")) {
        Some(last) => {
            if let Some(Value::String(text)) = last.get_mut("text") {
                text.push_str(string(part, "text").unwrap_or_default());
            }
        }
        None => answer.items.push(part.clone()),
    }
}

/// All parts are there: they go where they say nothing beyond the message.
pub(super) fn settle(answer: &mut Answer) {
    let beyond = [
        "thoughtSignature",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    ];
    let more = |part: &Value| beyond.iter().any(|name| part.get(*name).is_some());
    if !answer.items.iter().any(more) {
        answer.items.clear();
    }
}

fn usage(answer: &mut Answer, usage: &Value, heard: &dyn Fn(Delta)) {
    let prompt = answer.count(usage.get("promptTokenCount"), heard);
    let tools = answer.count(usage.get("toolUsePromptTokenCount"), heard);
    let said = answer.count(usage.get("candidatesTokenCount"), heard);
    let thought = answer.count(usage.get("thoughtsTokenCount"), heard);
    answer.usage.prompt = prompt.map(|prompt| prompt + tools.unwrap_or(0));
    // One of them is missing where there was none of it.
    answer.usage.completion = prompt.map(|_| said.unwrap_or(0) + thought.unwrap_or(0));
    answer.usage.cached = answer.count(usage.get("cachedContentTokenCount"), heard);
    answer.usage.reasoning = thought;
}
