//! What the tests of the wires share: reading an answer in pieces of every size, and sending it back.

use std::cell::RefCell;

use serde_json::Value;
use threadkeep_core::Message;
use threadkeep_provider::{
    Completion, Delta, Fault, Provider, Reader, ReaderOptions, RenderOptions, ToolSchema, render, validate_payload,
};

/// How often a property is tried: `PROPTEST_CASES`, or `cases`.
pub fn tries(cases: u32) -> proptest::prelude::ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    proptest::prelude::ProptestConfig {
        cases: given.unwrap_or(cases),
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::default()
    }
}

/// What was read of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub result: Result<Completion, Fault>,
    /// All text that was heard, and all reasoning.
    pub text: String,
    pub reasoning: String,
    /// The calls' names and arguments, as they were heard.
    pub calls: Vec<(String, String)>,
    pub warnings: Vec<String>,
    pub partial: Option<Message>,
}

impl Read {
    pub fn completion(&self) -> &Completion {
        self.result.as_ref().unwrap()
    }

    pub fn message(&self) -> &Message {
        &self.completion().message
    }

    pub fn fault(&self) -> &Fault {
        self.result.as_ref().unwrap_err()
    }
}

/// Reads `bytes` in pieces of `size`.
pub fn read_by(provider: Provider, bytes: &[u8], size: usize, tools: &[&str]) -> Read {
    let tools = tools.iter().map(|name| (*name).to_owned()).collect();
    let options =
        ReaderOptions { tools, ids: "test".to_owned(), who: "The server".to_owned(), ..ReaderOptions::default() };
    let mut reader = Reader::new(provider, options);
    let deltas = RefCell::new(Vec::new());
    let heard = |delta| deltas.borrow_mut().push(delta);
    let mut result = Ok(());
    for piece in bytes.chunks(size) {
        result = reader.push(piece, &heard);
        if result.is_err() || reader.is_over() {
            break;
        }
    }
    let result = result.and_then(|()| reader.finish(&heard));
    let partial = if result.is_err() { reader.partial() } else { None };
    let (mut text, mut reasoning, mut calls, mut warnings) = (String::new(), String::new(), Vec::new(), Vec::new());
    for delta in deltas.into_inner() {
        match delta {
            Delta::Text(more) => text.push_str(&more),
            Delta::Reasoning(more) => reasoning.push_str(&more),
            Delta::WasReasoning => reasoning.push_str(&std::mem::take(&mut text)),
            Delta::Warning(words) => warnings.push(words),
            Delta::Retry { .. } => panic!("a reader does not try again"),
            Delta::ToolCall { index, name, arguments } => {
                while calls.len() <= index {
                    calls.push((String::new(), String::new()));
                }
                calls[index].0 = name;
                calls[index].1.push_str(&arguments);
            }
        }
    }
    Read { result, text, reasoning, calls, warnings, partial }
}

/// Reads `answer` in pieces of many sizes, all of which must give the same, and the same as was heard.
pub fn read_with(provider: Provider, answer: &str, tools: &[&str]) -> Read {
    let whole = read_by(provider, answer.as_bytes(), usize::MAX, tools);
    for size in [1, 2, 3, 5, 7, 16, 61] {
        assert_eq!(read_by(provider, answer.as_bytes(), size, tools), whole, "in pieces of {size}");
    }
    if let Ok(completion) = &whole.result {
        let message = &completion.message;
        assert_eq!(message.text(), whole.text);
        assert_eq!(message.reasoning.as_deref().unwrap_or_default(), whole.reasoning);
        let calls: Vec<_> =
            message.tool_calls.iter().map(|c| (c.name().to_owned(), c.arguments().to_owned())).collect();
        assert_eq!(calls, whole.calls);
        let ids: std::collections::HashSet<_> = message.tool_calls.iter().map(|call| call.id()).collect();
        assert_eq!(ids.len(), calls.len(), "each call has an id of its own");
        assert!(!ids.contains(""));
    }
    whole
}

/// The same without tools.
pub fn read(provider: Provider, answer: &str) -> Read {
    read_with(provider, answer, &[])
}

/// Events as servers send them: each value is one, with its type as the event's name where it has one.
pub fn events(values: &[Value]) -> String {
    let mut all = String::new();
    for value in values {
        if let Some(name) = value.get("type").and_then(Value::as_str) {
            all.push_str(&format!("event: {name}\n"));
        }
        all.push_str(&format!("data: {value}\n\n"));
    }
    all
}

/// Sends an answer back that may be anything: the payload must be valid.
pub fn next_turn_of_anything(provider: Provider, message: &Message) {
    let mut messages = vec![Message::user("What is it?"), message.clone()];
    messages.extend(message.tool_calls.iter().map(|call| Message::tool(call.id(), "done")));
    messages.push(Message::user("Go on."));
    let messages: Vec<Message> =
        messages.iter().map(|message| Message::from_json(message.to_json()).unwrap()).collect();
    let messages: Vec<&Message> = messages.iter().collect();
    let options = RenderOptions { model: Some("m".to_owned()), ..RenderOptions::default() };
    let payload = render(&messages, provider, &options).payload;
    assert_eq!(validate_payload(&payload, provider), [], "{payload:#}\n{message:#?}");
}

/// The payload of the next turn: the answer, results for its calls, and a word of the user's. It must be valid.
pub fn next_turn(provider: Provider, message: &Message) -> Value {
    let mut messages = vec![Message::user("What is it?"), message.clone()];
    for call in &message.tool_calls {
        messages.push(Message::tool(call.id(), "done"));
    }
    if message.tool_calls.is_empty() {
        messages.push(Message::user("Go on."));
    }
    // What was read must survive being stored.
    let stored: Vec<Message> = messages.iter().map(|message| Message::from_json(message.to_json()).unwrap()).collect();
    assert_eq!(stored, messages);
    let tool =
        |name: &str| ToolSchema { name: name.to_owned(), description: None, parameters: Value::Null, strict: None };
    let tools = if message.tool_calls.is_empty() { vec![] } else { vec![tool("add"), tool("look")] };
    let options = RenderOptions { model: Some("m".to_owned()), tools, ..RenderOptions::default() };
    let messages: Vec<&Message> = messages.iter().collect();
    let rendered = render(&messages, provider, &options);
    assert_eq!(validate_payload(&rendered.payload, provider), [], "{:#}", rendered.payload);
    assert!(rendered.notes.iter().all(|note| note.rule.name() != "stale-items"), "{:?}", rendered.notes);
    rendered.payload
}
