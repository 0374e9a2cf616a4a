//! Rendering: from messages to the body of a provider's request. What is common to all is in [`plan`](super::plan); here are the
//! shapes.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod turns;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::json::{put, string, text};
use super::note::{Note, NoteRule, Notes};
use super::plan::{Call, Step};
use super::{Provider, RenderOptions, ids, items, plan, tools};
use threadkeep_core::Message;

/// What a conversation begins with that does not begin with the user, where the provider insists.
pub const OPENING: &str = "(The conversation goes on from an earlier point.)";

/// What a conversation ends with that ends with the assistant, where the provider insists.
pub const CLOSING: &str = "Continue.";

/// A payload, and what had to be changed for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The request's body.
    pub payload: Value,
    /// What is not as it was in the messages, in their order.
    pub notes: Vec<Note>,
}

/// Renders messages as the body of a provider's request: the same input gives the same bytes. Messages with
/// `include_in_context: false` are left out. Whatever the messages are, the payload keeps to the provider's protocol, as
/// [`validate_payload`](super::validate_payload) knows it; what was repaired for that is in the notes.
///
/// ```
/// use threadkeep_core::Message;
/// use threadkeep_provider::{Provider, RenderOptions, render};
/// let messages = [Message::system("be brief"), Message::user("hi")];
/// let messages: Vec<&Message> = messages.iter().collect();
/// let rendered = render(&messages, Provider::Anthropic, &RenderOptions::default());
/// let expected = serde_json::json!({"max_tokens": 4096, "system": "be brief",
///     "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]});
/// assert_eq!(rendered.payload, expected);
/// assert!(rendered.notes.is_empty());
/// ```
pub fn render(messages: &[&Message], provider: Provider, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let steps = plan::plan(messages, provider, &mut notes);
    let mut payload = Map::new();
    if let Some(model) = &options.model
        && (provider != Provider::Gemini || options.sdk)
    {
        put(&mut payload, "model", text(model));
    }
    let tools = tools::render(options, provider, &mut notes);
    let mut job = Job { options, notes, end: messages.len(), items: HashSet::new() };
    match provider {
        Provider::OpenAiChat => openai_chat::render(&steps, &mut job, tools, &mut payload),
        Provider::OpenAiResponses => openai_responses::render(&steps, &mut job, tools, &mut payload),
        Provider::Anthropic => anthropic::render(&steps, &mut job, tools, &mut payload),
        Provider::Gemini => gemini::render(&steps, &mut job, tools, &mut payload),
        Provider::Ollama => ollama::render(&steps, &mut job, tools, &mut payload),
    }
    Rendered { payload: Value::Object(payload), notes: job.notes.sorted() }
}

/// What renderers hand about.
struct Job<'a> {
    options: &'a RenderOptions,
    notes: Notes,
    /// The place behind the last message.
    end: usize,
    /// Hashes of the ids of the provider's own items that are sent.
    items: HashSet<u64>,
}

impl Job<'_> {
    /// The provider's own items beside a step, as the options want them.
    fn own<'a>(&mut self, step: &Step<'a>, provider: Provider, calls: &[Call<'_>]) -> items::Own<'a> {
        if !self.options.reasoning {
            return items::Own::None;
        }
        let name = |call: &Call<'_>| if provider == Provider::Gemini { call.name.to_string() } else { call.id.clone() };
        let names: Vec<String> = calls.iter().filter(|call| call.server.is_none()).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut own = items::own(step.message, provider, &names);
        if let items::Own::Whole(list) | items::Own::Before(list) = own
            && !self.are_new(list)
        {
            own = items::Own::Stale;
        }
        if matches!(own, items::Own::Stale) {
            self.notes.add(step.at, NoteRule::StaleItems);
        }
        own
    }

    /// Whether none of the items was sent before: providers refuse a second one of the same id.
    fn are_new(&mut self, list: &[Value]) -> bool {
        list.iter().filter_map(|item| string(item, "id")).all(|id| self.items.insert(ids::hash(id)))
    }

    /// Notes reasoning that is left out.
    fn reasoning_left_out(&mut self, step: &Step<'_>) {
        if step.message.reasoning.as_ref().is_some_and(|text| !text.is_empty()) {
            self.notes.add(step.at, NoteRule::Reasoning);
        }
    }

    /// Notes a speaker's name for which there is no place.
    fn name_left_out(&mut self, step: &Step<'_>) {
        if step.message.name.is_some() {
            self.notes.add(step.at, NoteRule::Name);
        }
    }
}

/// Instructions inside the conversation, as text of the user's.
fn late_system(words: &str) -> String {
    ["<system>\n", words, "\n</system>"].concat()
}
