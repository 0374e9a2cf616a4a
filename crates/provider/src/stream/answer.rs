//! An answer under way: what all wires add to, piece by piece, and what becomes of it at the end.

use serde_json::{Map, Value};
use threadkeep_core::halves::Joined;
use threadkeep_core::{Content, Message, ToolCall, halves};

use super::super::Provider;
use super::super::completion::{Completion, Delta, Finish, Usage};
use super::super::ids::made_id;
use super::super::json::put;
use super::spoken::{Piece, Spoken};

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<Slot>,
    /// The bytes of all calls' arguments.
    pub argued: u64,
    pub usage: Counts,
    pub finish: Option<Finish>,
    /// The provider said that nothing follows.
    pub over: bool,
    /// Something came that belongs to an answer.
    pub known: bool,
    /// The provider's own items, in their order: blocks, output items, parts. Null where one is missing.
    pub items: Vec<Value>,
    /// Which call an item is.
    pub item_calls: Vec<Option<usize>>,
    /// Further fields for the message as OpenAI chat has them.
    pub chat: Map<String, Value>,
    /// Reads thinking and calls out of the text, where the wire may have them there.
    pub spoken: Option<Spoken>,
    /// Distinguishes ids that are made here from those of other answers.
    pub ids: String,
    /// A warning about the usage was given.
    pub warned: bool,
    /// Halves of characters came, as marks.
    pub halved: bool,
    pub text_half: Joined,
    pub reasoning_half: Joined,
}

/// A call under way.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// Its place among the provider's calls, where it says one.
    pub index: Option<u64>,
    /// Its input is free text.
    pub custom: bool,
    /// What else belongs to it, such as a signature.
    pub extra: Map<String, Value>,
    /// Half a character at the end of the arguments.
    pub half: Joined,
}

/// What a provider counted, field by field: they may come apart.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub prompt: Option<u64>,
    pub completion: Option<u64>,
    pub cached: Option<u64>,
    pub written: Option<u64>,
    /// Of these, kept for an hour.
    pub hour: Option<u64>,
    pub reasoning: Option<u64>,
}

/// More tokens than any request has.
const ABSURD: f64 = 1e9;

impl Answer {
    /// Adds text.
    pub fn say(&mut self, text: &str, heard: &dyn Fn(Delta)) {
        if text.is_empty() {
            return;
        }
        let text = self.text_half.push(text);
        if text.is_empty() {
            return;
        }
        match self.spoken.take() {
            None => self.put_text(text.into_owned(), heard),
            Some(mut spoken) => {
                spoken.push(&text, &mut |piece| self.piece(piece, heard));
                self.spoken = Some(spoken);
            }
        }
    }

    /// Adds reasoning.
    pub fn think(&mut self, text: &str, heard: &dyn Fn(Delta)) {
        if text.is_empty() {
            return;
        }
        if let Some(spoken) = &mut self.spoken {
            spoken.reasons_apart();
        }
        let text = self.reasoning_half.push(text);
        if !text.is_empty() {
            self.reasoning.push_str(&text);
            heard(Delta::Reasoning(text.into_owned()));
        }
    }

    fn put_text(&mut self, text: String, heard: &dyn Fn(Delta)) {
        self.text.push_str(&text);
        heard(Delta::Text(text));
    }

    fn piece(&mut self, piece: Piece, heard: &dyn Fn(Delta)) {
        match piece {
            Piece::Text(text) => self.put_text(text, heard),
            Piece::Reasoning(text) => {
                self.reasoning.push_str(&text);
                heard(Delta::Reasoning(text));
            }
            Piece::WasReasoning => {
                self.reasoning.push_str(&std::mem::take(&mut self.text));
                heard(Delta::WasReasoning);
            }
            Piece::Call { name, arguments } => {
                let at = self.open(Slot { name, ..Slot::default() });
                self.argue(at, &arguments, heard);
            }
        }
    }

    /// Adds a call; gives its place.
    pub fn open(&mut self, slot: Slot) -> usize {
        self.calls.push(slot);
        self.calls.len() - 1
    }

    /// Adds to a call's arguments.
    pub fn argue(&mut self, at: usize, arguments: &str, heard: &dyn Fn(Delta)) {
        if let Some(slot) = self.calls.get_mut(at) {
            let arguments = slot.half.push(arguments);
            slot.arguments.push_str(&arguments);
            self.argued += arguments.len() as u64;
            heard(Delta::ToolCall { index: at, name: slot.name.clone(), arguments: arguments.into_owned() });
        }
    }

    /// Reads a count. One that cannot be is left out, and a warning says so once.
    pub fn count(&mut self, value: Option<&Value>, heard: &dyn Fn(Delta)) -> Option<u64> {
        let value = value.filter(|value| !value.is_null())?;
        match value.as_f64().filter(|count| (0.0..=ABSURD).contains(count) && count.fract() == 0.0) {
            Some(count) => Some(count as u64),
            None => {
                if !std::mem::replace(&mut self.warned, true) {
                    let shown: String = value.to_string().chars().take(40).collect();
                    let words = ["The provider reported a usage that cannot be (", &shown, "): it is not counted."];
                    heard(Delta::Warning(words.concat()));
                }
                None
            }
        }
    }

    /// Sets the place for an item, however far behind the others it is; `None` for one that no answer has.
    pub fn item(&mut self, index: u64) -> Option<usize> {
        let at = usize::try_from(index).ok().filter(|at| *at < 10_000)?;
        if self.items.len() <= at {
            self.items.resize(at + 1, Value::Null);
            self.item_calls.resize(at + 1, None);
        }
        Some(at)
    }

    /// Nothing follows: what was held back is said.
    pub fn flush(&mut self, heard: &dyn Fn(Delta)) {
        if let Some(rest) = self.text_half.finish() {
            self.say(rest, heard);
        }
        if let Some(rest) = self.reasoning_half.finish() {
            self.think(rest, heard);
        }
        for at in 0..self.calls.len() {
            if let Some(rest) = self.calls[at].half.finish() {
                self.argue(at, rest, heard);
            }
        }
        if let Some(mut spoken) = self.spoken.take() {
            spoken.finish(&mut |piece| self.piece(piece, heard));
        }
    }

    /// What was said, without calls, which may be half: for an answer that broke off. `None` where that is nothing.
    pub fn partial(&mut self) -> Option<Message> {
        self.flush(&|_| {});
        if self.text.trim().is_empty() && self.reasoning.trim().is_empty() {
            return None;
        }
        let mut message = Message::assistant(std::mem::take(&mut self.text));
        message.reasoning = Some(std::mem::take(&mut self.reasoning)).filter(|text| !text.is_empty());
        Some(message)
    }

    /// Makes characters whole in all that is kept as it came.
    fn mend(&mut self) {
        self.items.iter_mut().for_each(halves::mend_value);
        self.chat.values_mut().for_each(halves::mend_value);
        for slot in &mut self.calls {
            [&mut slot.id, &mut slot.name, &mut slot.arguments].into_iter().for_each(halves::mend);
            slot.extra.values_mut().for_each(halves::mend_value);
        }
        [&mut self.text, &mut self.reasoning].into_iter().for_each(halves::mend);
    }

    /// The whole answer.
    pub fn complete(mut self, provider: Provider) -> Completion {
        if self.halved {
            self.mend();
        }
        let counts = self.usage;
        let usage = match (counts.prompt, counts.completion) {
            (Some(prompt_tokens), Some(completion_tokens)) => {
                let cached_tokens = counts.cached.filter(|cached| *cached <= prompt_tokens);
                let cache_write_tokens = counts.written.filter(|written| *written <= prompt_tokens);
                let cache_hour_tokens = counts.hour.filter(|hour| cache_write_tokens.is_some_and(|all| *hour <= all));
                let reasoning_tokens = counts.reasoning.filter(|reasoning| *reasoning <= completion_tokens);
                Some(Usage {
                    prompt_tokens,
                    completion_tokens,
                    cached_tokens,
                    cache_write_tokens,
                    cache_hour_tokens,
                    reasoning_tokens,
                })
            }
            _ => None,
        };
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if !self.calls.is_empty() => Finish::ToolCalls,
            Some(Finish::ToolCalls) if self.calls.is_empty() => Finish::Stop,
            finish => finish.unwrap_or_default(),
        };
        let text = std::mem::take(&mut self.text);
        let silent = text.trim().is_empty() && !self.calls.is_empty();
        let mut message = Message::assistant(if silent { Content::Null } else { Content::Text(text) });
        message.reasoning = Some(std::mem::take(&mut self.reasoning)).filter(|text| !text.is_empty());
        let items: Vec<Value> = self.items.into_iter().filter(|item| !item.is_null()).collect();
        if !items.is_empty() {
            put(&mut message.extra, provider.name(), Value::Array(items));
        } else if !self.chat.is_empty() {
            put(&mut message.extra, Provider::OpenAiChat.name(), Value::Object(self.chat));
        }
        let mut used: Vec<String> = Vec::with_capacity(self.calls.len());
        for (at, slot) in self.calls.into_iter().enumerate() {
            let fresh = !slot.id.is_empty() && !used.contains(&slot.id);
            let id = if fresh { slot.id } else { made_id(&self.ids, at) };
            used.push(id.clone());
            let mut call = if slot.custom {
                let custom = super::super::json::texts(&[("name", &slot.name), ("input", &slot.arguments)]);
                let mut map = Map::new();
                put(&mut map, "id", Value::String(id));
                put(&mut map, "type", "custom".into());
                put(&mut map, "custom", custom);
                ToolCall(map)
            } else {
                ToolCall::function(id, slot.name, slot.arguments)
            };
            call.0.extend(slot.extra);
            message.tool_calls.push(call);
        }
        Completion { message, usage, finish }
    }
}
