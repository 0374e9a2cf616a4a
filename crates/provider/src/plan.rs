//! What all renderers share: messages become steps, every call has its result behind it, every id is the provider's and
//! used once, and what says nothing is gone. A renderer then only writes shapes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::interrupted::{self, Partial};
use super::note::{NoteRule, Notes};
use super::part::{Piece, pieces};
use super::{Provider, ids, items};
use threadkeep_core::{Content, Message, Role, ToolCall};

/// What a call without a result gets as one.
pub(super) const NO_RESULT: &str = "The call was cancelled: there is no result.";

/// One step of a conversation.
#[derive(Debug)]
pub(super) struct Step<'a> {
    /// The message's place in what came in.
    pub at: usize,
    pub message: &'a Message,
    pub pieces: Vec<Piece<'a>>,
    pub kind: StepKind<'a>,
}

#[derive(Debug)]
pub(super) enum StepKind<'a> {
    /// Instructions; `true` inside the conversation.
    System(bool),
    User,
    Assistant(Vec<Call<'a>>),
}

/// A call and its answer.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The id for the provider.
    pub id: String,
    /// The name for the provider.
    pub name: Cow<'a, str>,
    pub arguments: Arguments<'a>,
    /// Its input is free text.
    pub custom: bool,
    /// Anthropic's servers answered it: what the call has beyond the chat form.
    pub server: Option<&'a Map<String, Value>>,
    /// Gemini's signature.
    pub signature: Option<&'a str>,
    pub answer: Option<Answer<'a>>,
}

/// A call's result.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub at: usize,
    pub message: &'a Message,
    pub pieces: Vec<Piece<'a>>,
}

/// A call's arguments: as the model wrote them, or as an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arguments<'a> {
    Text(&'a str),
    Value(&'a Value),
}

impl Arguments<'_> {
    /// As JSON text; nothing is `{}`.
    pub fn text(self) -> String {
        match self {
            Self::Text(text) if text.trim().is_empty() => "{}".to_owned(),
            Self::Text(text) => text.to_owned(),
            Self::Value(value) => value.to_string(),
        }
    }

    /// As a JSON object, and whether it had to be wrapped: what is no object becomes the field `arguments` of one (free
    /// text for a custom tool: `input`).
    pub fn object(self, custom: bool) -> (Value, bool) {
        let (value, name) = match self {
            Self::Text(text) if custom => (Value::String(text.to_owned()), "input"),
            Self::Text(text) if text.trim().is_empty() => return (Value::Object(Map::new()), false),
            Self::Text(text) => match serde_json::from_str(text) {
                Ok(value) => (value, "arguments"),
                Err(_) => (Value::String(text.to_owned()), "arguments"),
            },
            Self::Value(value) => (value.clone(), "arguments"),
        };
        match value {
            Value::Object(_) => (value, false),
            Value::Null => (Value::Object(Map::new()), false),
            other => (super::json::object(&[], name, other), !custom),
        }
    }
}

/// A message's results and calls by the hashes of their ids.
struct Index {
    results: Vec<(u64, usize)>,
    calls: Vec<(u64, usize)>,
}

impl Index {
    fn new(messages: &[&Message]) -> Self {
        let mut index = Self { results: Vec::new(), calls: Vec::new() };
        for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.include_in_context) {
            match (&message.role, given_id(message)) {
                (Role::Tool, Some(id)) => index.results.push((ids::hash(id), at)),
                (Role::Assistant, _) => {
                    index.calls.extend(message.tool_calls.iter().map(|call| (ids::hash(call.id()), at)));
                }
                _ => {}
            }
        }
        sort(&mut index.results);
        sort(&mut index.calls);
        index
    }

    /// The places of `id`'s results after the call at `at`, before the next call of that id.
    fn results(&self, id: &str, at: usize) -> &[(u64, usize)] {
        let hash = ids::hash(id);
        let next = self.calls.partition_point(|entry| *entry <= (hash, at));
        let end = self.calls.get(next).filter(|(other, _)| *other == hash).map_or(usize::MAX, |(_, next)| *next);
        let first = self.results.partition_point(|entry| *entry <= (hash, at));
        let last = self.results.partition_point(|entry| *entry < (hash, end));
        &self.results[first..last.max(first)]
    }
}

/// Sorts by heap: as good as the library's here, at a tenth of its code.
fn sort(list: &mut [(u64, usize)]) {
    let sink = |list: &mut [(u64, usize)], mut at: usize| {
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < list.len() && list[child] < list[child + 1] {
                child += 1;
            }
            if child >= list.len() || list[at] >= list[child] {
                return;
            }
            list.swap(at, child);
            at = child;
        }
    };
    for at in (0..list.len() / 2).rev() {
        sink(list, at);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        sink(&mut list[..end], 0);
    }
}

fn given_id(message: &Message) -> Option<&str> {
    message.tool_call_id.as_deref().filter(|id| !id.is_empty())
}

/// Reads messages into steps.
pub(super) fn plan<'a>(messages: &[&'a Message], provider: Provider, notes: &mut Notes) -> Vec<Step<'a>> {
    let mut plan = Plan {
        provider,
        messages,
        index: Index::new(messages),
        taken: vec![None; messages.len()],
        used: HashSet::new(),
        tried: HashMap::new(),
        steps: Vec::with_capacity(messages.len()),
        open: None,
        spoken: false,
        last: messages.iter().rposition(|message| message.include_in_context).unwrap_or_default(),
        last_other: 0,
    };
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.include_in_context) {
        plan.message(at, message, notes);
    }
    plan.finish(notes)
}

struct Plan<'a, 'b> {
    provider: Provider,
    messages: &'b [&'a Message],
    index: Index,
    /// The message whose call a result answers.
    taken: Vec<Option<usize>>,
    /// Hashes of the ids that are used.
    used: HashSet<u64>,
    /// How many other forms of an id were tried; by the hash of the id.
    tried: HashMap<u64, usize>,
    steps: Vec<Step<'a>>,
    /// The last step with calls.
    open: Option<usize>,
    /// The conversation has begun.
    spoken: bool,
    /// The last message's place.
    last: usize,
    /// The place of the last message that is no result.
    last_other: usize,
}

impl<'a> Plan<'a, '_> {
    fn message(&mut self, at: usize, message: &'a Message, notes: &mut Notes) {
        match &message.role {
            Role::Tool => return self.result(at, message, notes),
            Role::Other(role) if role == "function" => return self.result(at, message, notes),
            _ => self.last_other = at,
        }
        let broken = interrupted::partial(message);
        let mut said = match broken {
            Some(Partial::Nothing) => Vec::new(),
            Some(Partial::Text(text)) => vec![Piece::Text(Cow::Borrowed(text))],
            Some(Partial::Content) | None => pieces(message, self.provider),
        };
        let kind = match &message.role {
            Role::System | Role::Developer => StepKind::System(self.spoken),
            Role::Assistant => StepKind::Assistant(self.calls(at, message, notes)),
            Role::User => StepKind::User,
            Role::Other(_) | Role::Tool => {
                notes.add(at, NoteRule::UnknownRole);
                StepKind::User
            }
        };
        // Whitespace says nothing either; Anthropic refuses it as text.
        said.retain(|piece| !is_blank_text(piece));
        let silent = said.is_empty()
            && match &kind {
                StepKind::Assistant(calls) => calls.is_empty() && (broken.is_some() || !self.has_items(message)),
                _ => true,
            };
        if silent && broken.is_some() {
            return self.interrupted(at, notes);
        }
        if silent {
            notes.add(at, NoteRule::EmptyMessage);
            return;
        }
        self.spoken |= !matches!(kind, StepKind::System(_));
        if matches!(&kind, StepKind::Assistant(calls) if !calls.is_empty()) {
            self.open = Some(self.steps.len());
        }
        self.steps.push(Step { at, message, pieces: said, kind });
        if broken.is_some() {
            self.interrupted(at, notes);
        }
    }

    /// Says on the user's side that the reply at `at` was interrupted; once for several in a row that say nothing.
    fn interrupted(&mut self, at: usize, notes: &mut Notes) {
        notes.add(at, NoteRule::Interrupted);
        let mark = interrupted::interruption();
        if self.steps.last().is_some_and(|step| std::ptr::eq(step.message, mark)) {
            return;
        }
        self.spoken = true;
        self.steps.push(Step { at, message: mark, pieces: pieces(mark, self.provider), kind: StepKind::User });
    }

    /// Whether the provider has items of its own here that are more than reasoning.
    fn has_items(&self, message: &Message) -> bool {
        let list = message.extra.get(self.provider.name()).and_then(Value::as_array);
        let mut said = list.into_iter().flatten().map(|item| items::said(item, self.provider));
        said.any(|said| !matches!(said, items::Said::Reasoning | items::Said::Foreign))
    }

    fn calls(&mut self, at: usize, message: &'a Message, notes: &mut Notes) -> Vec<Call<'a>> {
        let mut calls = Vec::with_capacity(message.tool_calls.len());
        for (n, call) in message.tool_calls.iter().enumerate() {
            let server = items::is_server_call(message, call.id());
            let answer = self.answer(at, call, notes);
            if server && !self.keeps_server_call(at, answer.as_ref()) {
                notes.add(at, NoteRule::ForeignItem);
                continue;
            }
            let (name, arguments, custom) = read(call);
            let id = self.id(at, n, call.id(), notes);
            calls.push(Call {
                id,
                name: self.name(at, name, notes),
                arguments,
                custom,
                server: if server { items::claude_call(message, call.id()) } else { None },
                signature: items::google_signature(call),
                answer,
            });
        }
        // OpenAI's old form of a call.
        if calls.is_empty()
            && let Some(call) = message.extra.get("function_call").filter(|call| call.is_object())
        {
            let name = super::json::string(call, "name").unwrap_or_default();
            let arguments = call.get("arguments").map_or(Arguments::Text(""), arguments);
            let (id, name) = (self.id(at, 0, "", notes), self.name(at, name, notes));
            calls.push(Call { id, name, arguments, custom: false, server: None, signature: None, answer: None });
        }
        calls
    }

    /// Whether a call that Anthropic answered itself can be sent: to Anthropic, with its result in the shape it came in; or
    /// without one where the turn was paused there.
    fn keeps_server_call(&self, at: usize, answer: Option<&Answer<'a>>) -> bool {
        self.provider == Provider::Anthropic
            && match answer {
                Some(answer) => {
                    items::server_result(answer.message).is_some() && server_content(answer.message).is_some()
                }
                None => at == self.last,
            }
    }

    /// Takes the first result of a call; the others are left out.
    fn answer(&mut self, at: usize, call: &ToolCall, notes: &mut Notes) -> Option<Answer<'a>> {
        let mut first = None;
        let server = items::is_server_call(self.messages[at], call.id());
        for &(_, place) in self.index.results(call.id(), at) {
            let message = self.messages[place];
            if self.taken[place].is_some() || given_id(message) != Some(call.id()) {
                continue;
            }
            self.taken[place] = Some(at);
            match first {
                None => first = Some(Answer { at: place, message, pieces: self.said(message) }),
                // What server-side tools leave behind is silent.
                Some(_) if server => {}
                Some(_) => notes.add(place, NoteRule::RepeatedResult),
            }
        }
        first
    }

    fn said(&self, message: &'a Message) -> Vec<Piece<'a>> {
        let mut said = pieces(message, self.provider);
        said.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        said
    }

    /// A result. One with an id was taken by its call; one without belongs to the last calls: to one of its tool's name, or
    /// else to the first.
    fn result(&mut self, at: usize, message: &'a Message, notes: &mut Notes) {
        if let Some(by) = self.taken[at] {
            if by < self.last_other {
                notes.add(at, NoteRule::MovedResult);
            }
            return;
        }
        let answer = Answer { at, message, pieces: self.said(message) };
        let open = if given_id(message).is_some() { None } else { self.open };
        if let Some(step) = open.and_then(|open| self.steps.get_mut(open))
            && let StepKind::Assistant(calls) = &mut step.kind
        {
            let waits = |call: &Call<'_>| call.answer.is_none() && call.server.is_none();
            let named = calls.iter().position(|call| waits(call) && message.name.as_deref() == Some(&call.name));
            if let Some(place) = named.or_else(|| calls.iter().position(waits)) {
                calls[place].answer = Some(answer);
                if step.at < self.last_other {
                    notes.add(at, NoteRule::MovedResult);
                }
                return;
            }
        }
        notes.add(at, NoteRule::OrphanResult);
        self.orphan(answer);
    }

    /// A result of nothing, as text of the user's.
    fn orphan(&mut self, answer: Answer<'a>) {
        let Answer { at, message, pieces } = answer;
        let name: String =
            message.name.as_deref().unwrap_or("unknown").chars().filter(|c| !"<>\"&".contains(*c)).collect();
        let mut said = vec![Piece::Text(Cow::Owned(["<tool_result name=\"", &name, "\">"].concat()))];
        said.extend(pieces.into_iter().filter(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty())));
        said.push(Piece::Text(Cow::Borrowed("</tool_result>")));
        self.spoken = true;
        self.last_other = at;
        self.steps.push(Step { at, message, pieces: said, kind: StepKind::User });
    }

    fn id(&mut self, at: usize, n: usize, given: &str, notes: &mut Notes) -> String {
        let base = if given.is_empty() {
            ["call_", &at.to_string(), "_", &n.to_string()].concat()
        } else {
            ids::id(given, self.provider)
        };
        let mut id = base.clone();
        // Forms that were taken once stay taken, so that the search goes on where it ended.
        let tried = self.tried.entry(ids::hash(&base)).or_insert(1);
        while !self.used.insert(ids::hash(&id)) {
            *tried += 1;
            id = ids::another(&base, *tried, self.provider);
        }
        if id != given {
            notes.add(at, NoteRule::MappedId);
        }
        id
    }

    fn name(&self, at: usize, name: &'a str, notes: &mut Notes) -> Cow<'a, str> {
        match ids::name(name, self.provider) {
            None => Cow::Borrowed(name),
            Some(mapped) => {
                notes.add(at, NoteRule::MappedName);
                Cow::Owned(mapped)
            }
        }
    }

    fn finish(self, notes: &mut Notes) -> Vec<Step<'a>> {
        for step in &self.steps {
            if let StepKind::Assistant(calls) = &step.kind
                && calls.iter().any(|call| call.answer.is_none() && call.server.is_none())
            {
                notes.add(step.at, NoteRule::UnansweredCall);
            }
        }
        self.steps
    }
}

/// A call's name, arguments and whether these are free text.
fn read(call: &ToolCall) -> (&str, Arguments<'_>, bool) {
    let kind = call.0.get("type").and_then(Value::as_str).unwrap_or("function");
    let inner = call.0.get(kind).and_then(Value::as_object);
    // Some write the name and the arguments into the call itself.
    let inner = inner.or_else(|| call.0.get("function")?.as_object()).unwrap_or(&call.0);
    let name = super::json::field(inner, "name").unwrap_or_default();
    let given = inner.get("arguments").or_else(|| inner.get("input")).map_or(Arguments::Text(""), arguments);
    (name, given, kind == "custom" && matches!(given, Arguments::Text(_)))
}

fn arguments(value: &Value) -> Arguments<'_> {
    value.as_str().map_or(Arguments::Value(value), Arguments::Text)
}

/// The content of a server-side tool's result as Anthropic wrote it: a list of blocks, or one object (which the archive
/// readers keep as text).
pub(super) fn server_content(message: &Message) -> Option<Value> {
    match &message.content {
        Content::Parts(parts) => Some(Value::Array(parts.iter().map(|part| Value::Object(part.0.clone())).collect())),
        Content::Text(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

/// The texts of pieces, joined by a newline; words for what is no text.
pub(super) fn joined(pieces: &[Piece<'_>], at: usize, notes: &mut Notes) -> String {
    let mut all = String::new();
    for piece in pieces {
        if !all.is_empty() {
            all.push('\n');
        }
        match piece {
            Piece::Text(text) => all.push_str(text),
            Piece::Image(image) => {
                notes.add(at, NoteRule::Image);
                all.push_str(&image.words());
            }
            Piece::Own(part) => {
                notes.add(at, NoteRule::Part);
                let kind = super::json::field(part, "type").unwrap_or("part");
                all.push_str(&["[", kind, "]"].concat());
            }
            Piece::Other(words) => {
                notes.add(at, NoteRule::Part);
                all.push_str(words);
            }
        }
    }
    all
}

/// The text of a result: its pieces, or words where it has none.
pub(super) fn result_text(call: &Call<'_>, notes: &mut Notes) -> String {
    match &call.answer {
        None => NO_RESULT.to_owned(),
        Some(answer) => {
            let text = joined(&answer.pieces, answer.at, notes);
            if text.trim().is_empty() && failed(call) { "Error".to_owned() } else { text }
        }
    }
}

/// Whether the result says that the call failed. A call without a result did.
pub(super) fn failed(call: &Call<'_>) -> bool {
    let fails = |message: &Message| message.is_error || matches!(message.kind, threadkeep_core::Kind::Error { .. });
    call.answer.as_ref().is_none_or(|answer| fails(answer.message))
}

fn is_blank_text(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Text(text) if text.trim().is_empty())
}

/// Whether a message's content is nothing that the provider is sent. White space is nothing.
pub fn is_blank(message: &Message, provider: Provider) -> bool {
    pieces(message, provider).iter().all(is_blank_text)
}
