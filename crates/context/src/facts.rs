//! Facts: what is known of each message once it was read, so that whatever follows reads no text. A message that a prompt
//! shows differently (a preview, a recorded failure, calls without ids) is made here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use threadkeep_core::sort;
use threadkeep_core::{Content, Kind, Message, Part, Role, ToolCall};
use threadkeep_provider::{INTERRUPTED as INTERRUPTED_WORDS, Partial, Provider, interruption, is_blank, partial};

use crate::tokens::{Cost, Counter, cost};

use super::importance::{UNSAID as UNSAID_IMPORTANCE, hundredths};
use super::item::History;
use super::preview::{FOLDER, length, preview, with_content};
use super::{Action, Item, Preview, Previews, Replacement, Selection, rule};

/// The id that stands for "none given".
pub(super) const NO_ID: u32 = 0;
/// Marks the call of a tool that the model's own server runs, in [`Facts::refs`].
pub(super) const SERVER: u32 = 1 << 31;
/// No such thing.
pub(super) const NONE: u32 = u32::MAX;

/// Who a message is from, as far as grouping cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    System,
    User,
    Assistant,
    Tool,
    Other,
}

/// What is known of one message.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub who: Who,
    pub flags: u16,
    /// How important it says that it is; see [`importance`].
    pub importance: u8,
    /// The calls in it, as a range of [`Facts::refs`].
    pub calls: (u32, u32),
    /// The calls that it answers, as a range of [`Facts::refs`].
    pub answers: (u32, u32),
    /// As it is stored.
    pub before: Cost,
    /// As a prompt shows it.
    pub cost: Cost,
    pub chars: u32,
    /// The message that a prompt shows instead, in [`Facts::made`]; else [`NONE`].
    pub made: u32,
    /// What making it was, and why.
    pub mark: Option<(Action, &'static str)>,
    /// The preview that can stand for it, in [`Facts::shorts`]; else [`NONE`].
    pub short: u32,
}

/// A preview that stands for a large result where the whole does not fit.
#[derive(Debug, Clone)]
pub(super) struct Short {
    pub message: Message,
    pub cost: Cost,
    pub chars: u32,
}

/// Not to be in prompts.
pub(super) const HIDDEN: u16 = 1;
/// Marked as pinned.
pub(super) const PINNED: u16 = 2;
/// A message in which there is nothing.
pub(super) const EMPTY: u16 = 4;
/// An assistant's message in which there is only reasoning.
pub(super) const THOUGHT: u16 = 8;
/// It says something of its own: it is more than results, and no summary.
pub(super) const SPEAKS: u16 = 16;
/// Its answers are parts of its content.
pub(super) const IN_PARTS: u16 = 32;

/// It calls a function in OpenAI's old form.
pub(super) const OLD_CALL: u16 = 64;
/// It is the result of such a call.
pub(super) const OLD_RESULT: u16 = 128;

/// It is a reply that was interrupted: a mark says so behind it.
pub(super) const INTERRUPTED: u16 = 256;
/// It is an interrupted reply of which there is nothing: the mark stands in its place.
pub(super) const UNSAID: u16 = 512;

impl Fact {
    pub fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// How messages are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub provider: Provider,
    pub previews: Previews,
    pub selection: &'a Selection,
}

/// All that is known of a history's messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub list: Vec<Fact>,
    /// Call ids, as numbers; calls perhaps with [`SERVER`].
    pub refs: Vec<u32>,
    pub made: Vec<Message>,
    pub shorts: Vec<Short>,
    ids: HashMap<Arc<str>, u32>,
    /// The ids by their numbers, counted from 1.
    names: Vec<Arc<str>>,
    /// The ids of calls that read a full output back: their results are not previewed again.
    read_back: HashSet<u32>,
    /// The ids of calls that the selection leaves out, with the reason: their results go with them.
    refused: HashMap<u32, (Action, &'static str)>,
}

impl Facts {
    /// How many different call ids there are, "none" included.
    pub fn ids(&self) -> usize {
        self.ids.len() + 1
    }

    /// Reads the messages after those that are known.
    pub fn read(&mut self, items: &dyn History, replaced: &[Replacement], reading: Reading, counter: &dyn Counter) {
        for index in self.list.len()..items.len() {
            let Some(item) = items.item(index) else { break };
            let other = replaced.binary_search_by_key(&index, |other| other.index).ok().map(|at| &replaced[at]);
            let fact = self.fact(index, &item, other, reading, counter);
            self.list.push(fact);
        }
    }

    /// The id of a number.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.get(id.checked_sub(1)? as usize).map(|name| &**name)
    }

    fn id(&mut self, id: &str) -> u32 {
        if id.is_empty() {
            return NO_ID;
        }
        if let Some(known) = self.ids.get(id) {
            return *known;
        }
        let (name, next): (Arc<str>, u32) = (id.into(), self.names.len() as u32 + 1);
        self.ids.insert(Arc::clone(&name), next);
        self.names.push(name);
        next
    }

    fn fact(
        &mut self,
        index: usize,
        item: &Item,
        replaced: Option<&Replacement>,
        reading: Reading,
        counter: &dyn Counter,
    ) -> Fact {
        let stored = item.message;
        let summary = replaced.is_some_and(|other| other.action == Action::Summarised);
        let out = item.out.or_else(|| if summary { None } else { self.refused(stored, reading.selection) });
        if out.is_some() && stored.include_in_context {
            let before = item.cost.unwrap_or_else(|| cost(stored, reading.provider, counter));
            let none = (self.refs.len() as u32, self.refs.len() as u32);
            let (who, chars, made, mark) = (Who::Other, 0, NONE, out);
            let (calls, answers, cost, short) = (none, none, before, NONE);
            let importance = UNSAID_IMPORTANCE;
            return Fact { who, importance, flags: HIDDEN, calls, answers, before, cost, chars, made, mark, short };
        }
        let mut made = replaced.map(|other| other.message.clone());
        let mut mark = replaced.map(|other| (other.action, other.rule));
        let shown = broken(stored).filter(|_| !summary);
        let interrupted = shown.is_some();
        if let Some(shown) = shown {
            made = Some(shown);
            mark = Some((Action::Kept, rule::LLM_ERROR));
        }
        if let Some(named) = named_calls(made.as_ref().unwrap_or(stored), index) {
            made = Some(named);
            mark = mark.or(Some((Action::Repaired, rule::CALL_ID)));
        }
        let (calls, answers) = self.calls_and_answers(made.as_ref().unwrap_or(stored));
        let free = !stored.pinned
            && replaced.is_none()
            && !self.refs[answers.0 as usize..].iter().any(|id| self.read_back.contains(id));
        let mut short = NONE;
        match reading.previews {
            Previews::Over(options) if free => {
                if let Some(made_short) = preview(made.as_ref().unwrap_or(stored), options) {
                    made = Some(made_short);
                    mark = Some((Action::Previewed, rule::TOOL_RESULT_PREVIEW));
                }
            }
            Previews::WhenNeeded if free => {
                if let Some(message) = preview(made.as_ref().unwrap_or(stored), Preview::default()) {
                    let cost = cost(&message, reading.provider, counter);
                    let chars = u32::try_from(characters(&message)).unwrap_or(u32::MAX);
                    short = self.shorts.len() as u32;
                    self.shorts.push(Short { message, cost, chars });
                }
            }
            _ => {}
        }
        let message = made.as_ref().unwrap_or(stored);
        let before = item.cost.unwrap_or_else(|| cost(stored, reading.provider, counter));
        let after = if made.is_some() { cost(message, reading.provider, counter) } else { before };
        let who = match &message.role {
            Role::System | Role::Developer => Who::System,
            Role::User => Who::User,
            Role::Assistant => Who::Assistant,
            Role::Tool => Who::Tool,
            Role::Other(_) => Who::Other,
        };
        let unsaid = interrupted && message.role == Role::User;
        let who = if unsaid { Who::Other } else { who };
        let flag = |condition: bool, flag: u16| if condition { flag } else { 0 };
        let nothing = match who {
            Who::Assistant => calls.0 == calls.1 && says_nothing(message),
            Who::Tool => false,
            _ => is_blank(message, reading.provider),
        };
        let thought = nothing && who == Who::Assistant && thinks(message);
        let flags = flag(!stored.include_in_context, HIDDEN)
            | flag(stored.pinned || summary, PINNED)
            | flag(nothing && !thought, EMPTY)
            | flag(thought, THOUGHT)
            | flag(who != Who::Tool && !matches!(message.kind, Kind::Summary { .. }) && speaks(message), SPEAKS)
            | flag(interrupted && !unsaid, INTERRUPTED)
            | flag(unsaid, UNSAID)
            | flag(who != Who::Tool && answers.0 < answers.1, IN_PARTS)
            | flag(who == Who::Assistant && message.extra.get("function_call").is_some_and(Value::is_object), OLD_CALL)
            | flag(message.role.as_str() == "function", OLD_RESULT);
        let chars = u32::try_from(characters(message)).unwrap_or(u32::MAX);
        let made = made.map_or(NONE, |message| {
            self.made.push(message);
            self.made.len() as u32 - 1
        });
        let importance = hundredths(stored);
        Fact { who, flags, importance, calls, answers, before, cost: after, chars, made, mark, short }
    }

    /// Why the selection leaves a message out, if it does. A result is left out with its call, whatever it says itself.
    fn refused(&mut self, message: &Message, selection: &Selection) -> Option<(Action, &'static str)> {
        if message.role == Role::Tool {
            let id = self.known(message.tool_call_id.as_deref().filter(|id| !id.is_empty())?)?;
            return self.refused.get(&id).copied();
        }
        let refused = selection.refuses(message);
        for call in &message.tool_calls {
            let id = self.id(call.id());
            match refused {
                Some(why) => drop(self.refused.insert(id, why)),
                None => drop(self.refused.remove(&id)),
            }
        }
        refused
    }

    /// The calls in a message that it does not answer itself, and the calls of other messages that it answers.
    fn calls_and_answers(&mut self, message: &Message) -> ((u32, u32), (u32, u32)) {
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        match message.role {
            Role::Assistant => {
                for call in &message.tool_calls {
                    let id = self.id(call.id());
                    if call.arguments().contains(FOLDER) {
                        self.read_back.insert(id);
                    }
                    calls.push(if is_servers(message, call.id()) { id | SERVER } else { id });
                }
            }
            Role::Tool => answers.push(self.id(message.tool_call_id.as_deref().unwrap_or_default())),
            _ => {}
        }
        if let Content::Parts(parts) = &message.content
            && message.role != Role::Tool
        {
            for part in parts {
                if let Some(id) = called(&part.0).filter(|_| message.role == Role::Assistant) {
                    let id = self.id(id);
                    if !calls.contains(&id) {
                        calls.push(if part.kind() == "tool_use" { id } else { id | SERVER });
                    }
                } else if let Some(id) = answered(&part.0) {
                    let id = self.id(id);
                    match calls.iter().position(|call| *call & !SERVER == id) {
                        // A server's tool: call and result are in one message.
                        Some(at) => drop(calls.remove(at)),
                        None => answers.push(id),
                    }
                }
            }
        }
        let start = self.refs.len() as u32;
        self.refs.extend(&calls);
        let middle = self.refs.len() as u32;
        self.refs.extend(&answers);
        ((start, middle), (middle, self.refs.len() as u32))
    }

    /// The number of an id that was read before.
    pub fn known(&self, id: &str) -> Option<u32> {
        self.ids.get(id).copied()
    }
}

/// What a prompt shows of a message that records a failure; `None` for one that records none. Of an assistant's it is what the
/// model wrote, or the mark that it was interrupted where that is nothing.
fn broken(message: &Message) -> Option<Message> {
    match partial(message) {
        Some(Partial::Nothing) if message.tool_calls.is_empty() => Some(interruption().clone()),
        Some(Partial::Nothing) => Some(with_content(message, Content::Null)),
        Some(Partial::Text(text)) => Some(with_content(message, Content::Text(text.to_owned()))),
        Some(Partial::Content) => Some(with_content(message, message.content.clone())),
        None if matches!(message.kind, Kind::Error { .. }) => {
            let mut made = with_content(message, message.content.clone());
            made.is_error |= message.role == Role::Tool;
            Some(made)
        }
        None => None,
    }
}

type Object = serde_json::Map<String, Value>;

fn text<'a>(object: &'a Object, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Value::as_str)
}

/// Whether the model's own server ran a call, as the readers of Claude's archives note it: it can do without a result
/// where the turn was paused.
fn is_servers(message: &Message, id: &str) -> bool {
    let calls = message.extra.get("claude").and_then(|claude| claude.get("calls")).and_then(Value::as_array);
    let mut noted = calls.into_iter().flatten().filter_map(Value::as_object);
    let noted = noted.find(|call| text(call, "id") == Some(id));
    noted.and_then(|call| text(call, "type")).is_some_and(|kind| kind != "tool_use")
}

/// The id of the call that a content part makes: Anthropic's `tool_use`, `server_tool_use` and `mcp_tool_use`.
fn called(part: &Object) -> Option<&str> {
    let kind = text(part, "type")?;
    if kind == "tool_use" || kind.ends_with("_tool_use") { text(part, "id").filter(|id| !id.is_empty()) } else { None }
}

/// Whether a content part is a result, with an id or without.
fn is_result(kind: &str) -> bool {
    kind.ends_with("tool_result")
}

/// The id of the call that a content part answers: Anthropic's `tool_result`, `web_search_tool_result` and their like.
pub(super) fn answered(part: &Object) -> Option<&str> {
    let kind = text(part, "type")?;
    if is_result(kind) { text(part, "tool_use_id") } else { None }
}

/// Gives calls without an id one, and leaves out calls whose id another call of the message has; `None` where all is well.
fn named_calls(message: &Message, index: usize) -> Option<Message> {
    if message.role != Role::Assistant {
        return None;
    }
    let parts = if let Content::Parts(parts) = &message.content { parts.as_slice() } else { &[] };
    let in_parts = parts.iter().filter_map(|part| called(&part.0));
    let mut ids: Vec<&str> = message.tool_calls.iter().map(ToolCall::id).chain(in_parts).collect();
    sort::sort(&mut ids);
    if ids.first() != Some(&"") && ids.windows(2).all(|pair| pair[0] != pair[1]) {
        return None;
    }
    let mut made = with_content(message, Content::Null);
    made.tool_calls.clear();
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, call) in message.tool_calls.iter().enumerate() {
        if call.id().is_empty() {
            let mut call = call.clone();
            call.0.insert("id".to_owned(), format!("call_{index}_{at}").into());
            made.tool_calls.push(call);
        } else if seen.insert(call.id()) {
            made.tool_calls.push(call.clone());
        }
    }
    made.content = match &message.content {
        Content::Parts(_) => {
            let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
            for part in parts {
                let id = called(&part.0);
                if id.is_none_or(|id| !seen.contains(&id)) {
                    kept.push(part.clone());
                }
                seen.extend(id);
            }
            Content::Parts(kept)
        }
        content => content.clone(),
    };
    Some(made)
}

/// Whether there is something in a message beside answers to calls.
pub(super) fn speaks(message: &Message) -> bool {
    match &message.content {
        // A mark that was stored with the messages of a prompt is still nobody's words.
        Content::Text(text) => text != INTERRUPTED_WORDS,
        Content::Parts(parts) => parts.is_empty() || parts.iter().any(|part| !is_result(part.kind())),
        _ => true,
    }
}

/// Whether an assistant's message without calls has nothing that a provider could be sent, reasoning apart.
fn says_nothing(message: &Message) -> bool {
    let content = match &message.content {
        Content::Absent | Content::Null => true,
        Content::Text(text) => text.trim().is_empty(),
        Content::Parts(parts) => parts.iter().all(|part| match part.kind() {
            "text" => part.as_text().unwrap_or_default().trim().is_empty(),
            kind => is_thought(kind),
        }),
    };
    // Fields in which providers put an answer that is not content.
    let elsewhere = ["refusal", "audio", "function_call", "output", "items", "openai"];
    content && elsewhere.iter().all(|field| message.extra.get(*field).is_none_or(Value::is_null))
}

fn is_thought(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking" | "reasoning")
}

/// Whether there is reasoning in it.
fn thinks(message: &Message) -> bool {
    let parts = match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| is_thought(part.kind())),
        _ => false,
    };
    let signed = message.extra.get("claude").and_then(|claude| claude.get("thinking")).is_some();
    parts || signed || message.reasoning.as_ref().is_some_and(|text| !text.trim().is_empty())
}

/// How many characters a message has: its texts, and its calls' names and arguments. Pictures count as none.
pub(super) fn characters(message: &Message) -> u64 {
    let content = match &message.content {
        Content::Absent | Content::Null => 0,
        Content::Text(text) => length(text),
        Content::Parts(parts) => parts.iter().map(|part| part_characters(&part.0)).sum(),
    };
    let calls: u64 = message.tool_calls.iter().map(|call| length(call.name()) + length(call.arguments())).sum();
    content + calls
}

fn part_characters(part: &Object) -> u64 {
    let said = text(part, "text").map_or(0, length);
    let inner = match part.get("content") {
        Some(Value::String(text)) => length(text),
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_object).map(part_characters).sum(),
        _ => 0,
    };
    said + inner + part.get("input").map_or(0, |input| length(&input.to_string()))
}
