//! The offline demo: a model without a model. It answers from a script that says so, and shows what a turn can have: words that arrive
//! one by one, markdown, tools.

use std::rc::Rc;

use threadkeep::model::{Call, Failure, Http, Scripted};
use threadkeep_core::{Message, Role};
use threadkeep_provider::Completion;

use crate::connections::DEMO_MODEL;
use crate::format;

/// Milliseconds between two words.
const PACE: u32 = 25;

/// The model.
pub fn model(clock: Rc<dyn Http>) -> Scripted {
    Scripted::new(DEMO_MODEL, answer).paced(clock, PACE)
}

#[allow(clippy::result_large_err, reason = "the shape of a script")]
/// The answer is read off the prompt alone: the same prompt has the same answer.
fn answer(call: &Call<'_>) -> Result<Completion, Failure> {
    if let Some(last) = call.messages.last().filter(|last| last.role == Role::Tool) {
        return Scripted::says(&after_tool(last));
    }
    let asked = call.messages.iter().rfind(|message| message.role == Role::User);
    let asked = asked.map(|message| message.text().trim().to_owned()).unwrap_or_default();
    let has = |tool: &str| call.tools.iter().any(|one| one.name == tool);
    let begins = |word: &str| {
        let (first, rest) = asked.split_once(char::is_whitespace)?;
        (first.eq_ignore_ascii_case(word) && !rest.trim().is_empty()).then(|| rest.trim())
    };
    if let Some(fact) = begins("remember").filter(|_| has("remember")) {
        let arguments = serde_json::json!({ "fact": fact }).to_string();
        return Scripted::calls("", &[("call_0", "remember", &arguments)]);
    }
    if let Some(query) = begins("search").filter(|_| has("searchMemory")) {
        let arguments = serde_json::json!({ "query": query, "limit": 5 }).to_string();
        return Scripted::calls("", &[("call_0", "searchMemory", &arguments)]);
    }
    if asked.eq_ignore_ascii_case("fail") {
        let message = "The scripted model fails because it was told to.".to_owned();
        return Err(Failure { code: "failed".to_owned(), message, partial: None });
    }
    let turns = call.messages.iter().filter(|message| matches!(message.role, Role::User | Role::Assistant)).count();
    Scripted::says(&format!(
        "This is the **offline demo**: no model is asked, and nothing leaves this browser.\n\nYou said: “{}”. A real model would now see \
         {} of this branch, up to your words, and nothing of the other branches.\n\nTry this:\n\n- reply to *any* message: \
         the conversation forks there\n- edit what you said, or have it answered again: each is a branch of its own\n- say \
         `remember` and a fact, or `search` and some words: these are calls of tools\n- add a connection to talk to a model",
        format::line(&asked, 200),
        format::plural(turns as u64, "message"),
    ))
}

fn after_tool(result: &Message) -> String {
    let text = result.text();
    match (result.name.as_deref(), result.is_error) {
        (_, true) => format!("The tool failed: {}", format::line(&text, 300)),
        (Some("remember"), _) => {
            "It is remembered, for every conversation: see the *memory* at the foot of the list.".to_owned()
        }
        (Some("searchMemory"), _) => {
            let found = serde_json::from_str::<serde_json::Value>(&text).ok();
            let found = found.as_ref().and_then(|found| found.as_array()).map(Vec::as_slice).unwrap_or_default();
            let line = |hit: &serde_json::Value| {
                let words = hit.get("text").and_then(|text| text.as_str()).unwrap_or_default();
                format!("- {}", format::line(words, 120))
            };
            match found {
                [] => "Nothing that was ever said here has these words.".to_owned(),
                found => ["This was said:\n\n", &found.iter().map(line).collect::<Vec<_>>().join("\n")].concat(),
            }
        }
        _ => "The tool has answered.".to_owned(),
    }
}
