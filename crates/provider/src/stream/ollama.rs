//! Ollama `/api/chat`: one object for each piece, `{message: {content, thinking, tool_calls}, done}`; the last has the counts.

use serde_json::Value;

use super::super::completion::Delta;
use super::super::json::{list, string};
use super::answer::{Answer, Slot};
use super::openai_chat::{arguments, finish};

pub(super) fn read(answer: &mut Answer, chunk: &Value, heard: &dyn Fn(Delta)) {
    if let Some(message) = chunk.get("message") {
        answer.known = true;
        answer.think(string(message, "thinking").unwrap_or_default(), heard);
        answer.say(string(message, "content").unwrap_or_default(), heard);
        for call in list(message, "tool_calls") {
            // Each call comes whole; newer versions give it an id.
            let function = call.get("function").unwrap_or(call);
            let name = string(function, "name").unwrap_or_default().to_owned();
            let id = string(call, "id").unwrap_or_default().to_owned();
            let at = answer.open(Slot { id, name, ..Slot::default() });
            answer.argue(at, &arguments(function), heard);
        }
    }
    if chunk.get("done") == Some(&Value::Bool(true)) {
        answer.known = true;
        // A prompt that was cached whole is not counted by older versions.
        answer.usage.prompt = answer.count(chunk.get("prompt_eval_count"), heard);
        answer.usage.completion = answer.count(chunk.get("eval_count"), heard);
        answer.finish = Some(finish(string(chunk, "done_reason").unwrap_or("stop")));
        answer.over = true;
    }
}
