//! What a message costs, by what it is spent on. Nothing is serialised: texts are counted where they are.

use serde_json::{Map, Value};

use super::{Counter, Overhead};
use threadkeep_core::{Content, Message, Part, Role};
use threadkeep_provider::Provider;

/// What a message costs, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// What is said: text, images, and other parts by the text in them.
    pub content: u32,
    /// What was thought, for providers that are sent it.
    pub reasoning: u32,
    /// The calls, with the marks around each.
    pub tool_calls: u32,
    /// The marks around the message: role, name, result.
    pub frame: u32,
}

impl Cost {
    /// All of it.
    pub fn total(self) -> u32 {
        self.content.saturating_add(self.reasoning).saturating_add(self.tool_calls).saturating_add(self.frame)
    }
}

/// Counts a message as `provider` would be sent it.
///
/// Exact is the count of its texts; the rest is by [`Overhead`]. Reasoning counts for `openai-responses`, `anthropic` and
/// `ollama`; the two others are not sent any. Images take what the table says, whatever their size; data in base64 is
/// never counted as text. What lies in [`Message::extra`] (signatures, encrypted reasoning) is not counted.
///
/// ```
/// use threadkeep_tokens::{Bpe, Encoding};
/// use threadkeep_context::tokens::cost;
/// use threadkeep_core::Message;
/// use threadkeep_provider::Provider;
/// let bpe = Bpe::embedded(Encoding::O200k);
/// let cost = cost(&Message::user("hello world"), Provider::OpenAiChat, &bpe);
/// assert_eq!((cost.content, cost.frame, cost.total()), (2, 4, 6));
/// ```
pub fn cost(message: &Message, provider: Provider, counter: &dyn Counter) -> Cost {
    let overhead = Overhead::of(provider);
    let mut cost = Cost { frame: overhead.message, ..Cost::default() };
    match &message.content {
        Content::Absent | Content::Null => {}
        Content::Text(text) => cost.content = counter.count(text),
        Content::Parts(parts) => parts.iter().for_each(|part| add_part(&mut cost, part, &overhead, counter)),
    }
    if let Some(name) = message.name.as_ref().filter(|_| overhead.name > 0) {
        add(&mut cost.frame, counter.count(name).saturating_add(overhead.name));
    }
    if message.role == Role::Tool {
        add(&mut cost.frame, overhead.result);
    }
    for call in &message.tool_calls {
        let texts = counter.count(call.name()).saturating_add(counter.count(call.arguments()));
        add(&mut cost.tool_calls, texts.saturating_add(overhead.call));
    }
    match provider {
        Provider::OpenAiResponses | Provider::Anthropic | Provider::Ollama => {
            let reasoning = message.reasoning.as_deref().map_or(0, |text| counter.count(text));
            add(&mut cost.reasoning, reasoning);
        }
        Provider::OpenAiChat | Provider::Gemini => cost.reasoning = 0,
    }
    cost
}

fn add(sum: &mut u32, more: u32) {
    *sum = sum.saturating_add(more);
}

fn add_part(cost: &mut Cost, part: &Part, overhead: &Overhead, counter: &dyn Counter) {
    match part.kind() {
        "image_url" | "input_image" | "image" | "output_image" => {
            add(&mut cost.content, if is_small(&part.0) { overhead.small_image } else { overhead.image });
        }
        "thinking" | "reasoning" => add(&mut cost.reasoning, strings(&part.0, counter)),
        _ => match part.as_text() {
            Some(text) => add(&mut cost.content, counter.count(text)),
            None => add(&mut cost.content, strings(&part.0, counter)),
        },
    }
}

/// Whether an image asks for low detail, in either of OpenAI's forms.
fn is_small(part: &Map<String, Value>) -> bool {
    let detail = part.get("detail").or_else(|| part.get("image_url")?.get("detail"));
    detail.and_then(Value::as_str) == Some("low")
}

/// The tokens of the text in an object of any form: all strings, but what names its kind, what is no text for the model
/// (ids, signatures), and data in base64.
fn strings(object: &Map<String, Value>, counter: &dyn Counter) -> u32 {
    let mut sum = 0;
    for (field, value) in object {
        if !matches!(field.as_str(), "type" | "id" | "signature" | "data" | "file_data" | "mime_type" | "media_type") {
            add(&mut sum, strings_of(value, counter));
        }
    }
    sum
}

fn strings_of(value: &Value, counter: &dyn Counter) -> u32 {
    match value {
        Value::String(text) if text.starts_with("data:") => 0,
        Value::String(text) => counter.count(text),
        Value::Array(values) => values.iter().map(|value| strings_of(value, counter)).fold(0, u32::saturating_add),
        Value::Object(object) => strings(object, counter),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
