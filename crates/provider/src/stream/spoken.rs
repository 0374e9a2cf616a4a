//! What models write into their text that is not for reading: thinking between tags, and calls of tools. It is taken out here, and
//! only here, for every model whose server leaves it in.
//!
//! Thinking is known by `<think>`, `<thinking>`, `<thought>` and `[THINK]` where a line begins, and by `</think>` alone where the
//! beginning was part of the prompt: then all text before it was thinking. Calls are looked for only where tools were offered: in
//! `<tool_call>`, `<function_call>`, `<function=…>`, `<|python_tag|>`, `<|tool_call|>`, `[TOOL_CALLS]`, and, where the name is one
//! of the offered tools, in a fence of code and as an answer that is nothing but JSON. What turns out to be none stays text.

use threadkeep_core::{Content, Message, ToolCall};

use super::super::completion::Delta;
use super::super::ids::made_id;
use super::written::{self, Written};

/// A piece of text, now that it is clear what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// Thinking.
    Reasoning(String),
    /// All text until here was thinking.
    WasReasoning,
    /// A call.
    Call {
        /// The tool's name.
        name: String,
        /// Its arguments as they were written.
        arguments: String,
    },
}

/// Reads thinking and calls out of text that comes piece by piece.
///
/// ```
/// use threadkeep_provider::{Piece, Spoken};
/// let mut spoken = Spoken::new(vec!["add".to_owned()]);
/// let pieces = std::cell::RefCell::new(Vec::new());
/// for text in ["<thi", "nk>Sum.</think>\n\nWait. <tool_c", "all>{\"name\": \"add\", \"argu", "ments\": {\"a\": 1}}</tool_call>"] {
///     spoken.push(text, &mut |piece| pieces.borrow_mut().push(piece));
/// }
/// spoken.finish(&mut |piece| pieces.borrow_mut().push(piece));
/// assert_eq!(pieces.into_inner(), [
///     Piece::Reasoning("Sum.".into()),
///     Piece::Text("Wait. ".into()),
///     Piece::Call { name: "add".into(), arguments: "{\"a\":1}".into() },
/// ]);
/// ```
#[derive(Debug, Default)]
pub struct Spoken {
    tools: Vec<String>,
    /// What is not decided yet.
    held: String,
    state: State,
    /// The last character that was put out as text.
    last: Option<char>,
    /// Something other than white space was put out, or a call.
    begun: bool,
    /// In a fence that is just code.
    fenced: bool,
    /// White space is left out until something comes.
    trim: bool,
    /// Thinking was found, or an opening tag named in the text, or it comes apart from the text: a lone closing tag is just text.
    thought: bool,
    /// How many calls there are.
    calls: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum State {
    #[default]
    Text,
    Thinking(&'static str),
    /// Behind a mark for calls, which is the first part of what is held, with the mark that ends them (nothing: the answer's end).
    Call(&'static str, &'static str),
    /// In a fence that may be a call.
    Fence,
    /// The whole answer may be a call.
    Bare,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    Think(&'static str),
    Thought,
    Call(&'static str),
    Fence,
}

const MARKS: [(&str, Mark); 16] = [
    ("<think>", Mark::Think("</think>")),
    ("<thinking>", Mark::Think("</thinking>")),
    ("<thought>", Mark::Think("</thought>")),
    ("[THINK]", Mark::Think("[/THINK]")),
    ("</think>", Mark::Thought),
    ("</thinking>", Mark::Thought),
    ("[/THINK]", Mark::Thought),
    ("<tool_call>", Mark::Call("</tool_call>")),
    ("<function_call>", Mark::Call("</function_call>")),
    ("<function=", Mark::Call("</function>")),
    ("<|python_tag|>", Mark::Call("<|eom_id|>")),
    ("<|tool_call|>", Mark::Call("<|/tool_call|>")),
    ("<|tool_call_start|>", Mark::Call("<|tool_call_end|>")),
    ("[TOOL_CALLS]", Mark::Call("")),
    ("```", Mark::Fence),
    ("~~~", Mark::Fence),
];

impl Spoken {
    /// Reads text of a model that was offered tools of these names.
    pub fn new(tools: Vec<String>) -> Self {
        Self { tools, ..Self::default() }
    }

    /// The model's thinking comes apart from its text.
    pub fn reasons_apart(&mut self) {
        self.thought = true;
    }

    /// Takes a delta of the model's: text is read, everything else goes on. Calls that were written get the places behind those
    /// that came as such.
    pub fn delta(&mut self, delta: Delta, heard: &dyn Fn(Delta)) {
        match delta {
            Delta::Text(text) => self.each(heard, |spoken, out| spoken.push(&text, out)),
            Delta::Reasoning(_) => {
                self.reasons_apart();
                heard(delta);
            }
            Delta::ToolCall { index, .. } => {
                self.calls = self.calls.max(index + 1);
                heard(delta);
            }
            other => heard(other),
        }
    }

    /// The deltas are over: gives what was held back.
    pub fn last_delta(&mut self, heard: &dyn Fn(Delta)) {
        self.each(heard, |spoken, out| spoken.finish(out));
    }

    fn each(&mut self, heard: &dyn Fn(Delta), step: impl FnOnce(&mut Self, &mut dyn FnMut(Piece))) {
        let mut index = self.calls;
        step(self, &mut |piece| match piece {
            Piece::Text(text) => heard(Delta::Text(text)),
            Piece::Reasoning(text) => heard(Delta::Reasoning(text)),
            Piece::WasReasoning => heard(Delta::WasReasoning),
            Piece::Call { name, arguments } => {
                heard(Delta::ToolCall { index, name, arguments });
                index += 1;
            }
        });
        self.calls = index;
    }

    /// Takes more text.
    pub fn push(&mut self, text: &str, out: &mut dyn FnMut(Piece)) {
        self.held.push_str(text);
        while self.step(false, out) {}
    }

    /// The text is over: gives what was held back.
    pub fn finish(&mut self, out: &mut dyn FnMut(Piece)) {
        while self.step(true, out) {}
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Thinking(_) => reasoning(held, out),
            State::Text => self.text(held, out),
            State::Call(open, close) => {
                let body = held.strip_prefix(open).unwrap_or(&held);
                let body = body.trim_end().strip_suffix(close).unwrap_or(body);
                self.called(read(open, body), held.clone(), out);
            }
            State::Fence | State::Bare => {
                let offered = if self.state == State::Fence { self.in_fence(&held) } else { self.offered(&held) };
                self.called(offered, held, out);
            }
        }
        self.state = State::Text;
    }

    /// Decides about a piece of what is held; `false` when more text is needed for that.
    fn step(&mut self, last: bool, out: &mut dyn FnMut(Piece)) -> bool {
        match self.state {
            State::Text => self.in_text(last, out),
            State::Thinking(close) => {
                let Some(end) = self.held.find(close) else {
                    // What may be the closing tag's beginning is held back.
                    let keep = if last { 0 } else { overlap(&self.held, close) };
                    let rest = self.held.split_off(self.held.len() - keep);
                    reasoning(std::mem::replace(&mut self.held, rest), out);
                    return false;
                };
                let rest = self.held.split_off(end + close.len());
                let mut thought = std::mem::replace(&mut self.held, rest);
                thought.truncate(end);
                reasoning(thought, out);
                (self.state, self.trim) = (State::Text, true);
                true
            }
            State::Call(open, close) => {
                let Some(end) = self.held[open.len()..].find(close).filter(|_| !close.is_empty()) else { return false };
                let end = open.len() + end;
                let rest = self.held.split_off(end + close.len());
                let held = std::mem::replace(&mut self.held, rest);
                self.state = State::Text;
                self.called(read(open, &held[open.len()..end]), held, out);
                true
            }
            State::Fence => self.fence(out),
            State::Bare => {
                if written::begins_like_call(&self.held) == Some(false) {
                    self.give_up(out);
                    return true;
                }
                false
            }
        }
    }

    fn in_text(&mut self, last: bool, out: &mut dyn FnMut(Piece)) -> bool {
        if self.trim || !self.begun {
            let start = self.held.len() - self.held.trim_start().len();
            if start == self.held.len() && !last {
                return false;
            }
            if self.trim {
                self.held.drain(..start);
                self.trim = false;
            } else if !self.tools.is_empty() && !self.thought && self.held[start..].starts_with(['{', '[']) {
                // A mark in brackets is no JSON.
                let rest = &self.held[start..];
                if !MARKS.iter().any(|(mark, _)| rest.starts_with(mark) || mark.starts_with(rest)) {
                    self.state = State::Bare;
                    return true;
                }
            }
        }
        let mut at = 0;
        while let Some(next) = self.held[at..].find(['<', '[', '`', '~']) {
            at += next;
            let rest = &self.held[at..];
            let found = MARKS.iter().find(|(mark, _)| rest.starts_with(mark));
            if let Some((open, mark)) = found {
                if let Some(open_len) = self.enter(at, open, *mark, out) {
                    // In a state of its own, or past a tag that means nothing more.
                    self.held.drain(..open_len);
                    return true;
                }
                at += open.len();
            } else if !last && MARKS.iter().any(|(mark, _)| mark.starts_with(rest)) {
                // Perhaps a mark's beginning; white space before it waits with it.
                if !self.begun && self.held[..at].trim().is_empty() {
                    return false;
                }
                let rest = self.held.split_off(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.text(text, out);
                return false;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        let text = std::mem::take(&mut self.held);
        self.text(text, out);
        false
    }

    /// At a mark: says the text before it and goes into its state. Gives how much of what is then held is to be left out, or `None`
    /// where the mark means nothing here.
    fn enter(&mut self, at: usize, open: &'static str, mark: Mark, out: &mut dyn FnMut(Piece)) -> Option<usize> {
        let before = self.held[..at].chars().next_back().or(self.last);
        let blank = self.held[..at].trim().is_empty() && !self.begun;
        let line_start = blank || before.is_none_or(|char| char == '\n');
        if self.fenced {
            if mark == Mark::Fence && line_start {
                self.fenced = false;
            }
            return None;
        }
        let state = match mark {
            Mark::Think(close) => {
                if !line_start {
                    self.thought = true;
                    return None;
                }
                self.thought = true;
                State::Thinking(close)
            }
            Mark::Thought => {
                // In quotes it is spoken of.
                let quoted = before.is_some_and(|char| "`'\"“(".contains(char));
                if self.thought && blank {
                    // Left over from thinking that came apart.
                    (self.trim, self.held) = (true, self.held.split_off(at));
                    return Some(open.len());
                }
                if self.thought || quoted || self.calls > 0 {
                    return None;
                }
                let rest = self.held.split_off(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.text(text, out);
                out(Piece::WasReasoning);
                (self.thought, self.begun, self.trim, self.last) = (true, false, true, None);
                return Some(open.len());
            }
            Mark::Call(_) if self.tools.is_empty() || before == Some('`') => return None,
            Mark::Call(close) => State::Call(open, close),
            Mark::Fence if !line_start => return None,
            Mark::Fence if self.tools.is_empty() => {
                self.fenced = true;
                return None;
            }
            Mark::Fence => State::Fence,
        };
        let rest = self.held.split_off(at);
        let text = std::mem::replace(&mut self.held, rest);
        // White space before thinking is nobody's.
        let thinks = matches!(state, State::Thinking(_));
        if !(thinks && blank) {
            self.text(text, out);
        }
        self.state = state;
        Some(if thinks { open.len() } else { 0 })
    }

    /// In a fence: waits for its end as long as it may be a call.
    fn fence(&mut self, out: &mut dyn FnMut(Piece)) -> bool {
        let Some((opening, body)) = self.held.split_once('\n') else {
            if self.held.len() > 24 {
                self.give_up(out);
                return true;
            }
            return false;
        };
        let kind = opening.trim_start_matches(['`', '~']).trim().to_ascii_lowercase();
        let fits =
            ["", "json", "tool_call", "tool_calls", "tool", "tool_code", "function_call"].contains(&kind.as_str());
        if !fits || written::begins_like_call(body) == Some(false) {
            self.give_up(out);
            return true;
        }
        let close = ["\n", &opening[..3]].concat();
        let Some(end) = body.find(&close).map(|end| opening.len() + 1 + end + close.len()) else { return false };
        let rest = self.held.split_off(end);
        let held = std::mem::replace(&mut self.held, rest);
        self.state = State::Text;
        let found = self.in_fence(&held);
        self.called(found, held, out);
        true
    }

    /// Calls of offered tools in a fence, with or without its end.
    fn in_fence(&self, held: &str) -> Option<Vec<Written>> {
        let (opening, body) = held.split_once('\n')?;
        let body = body.trim_end();
        self.offered(body.strip_suffix(opening.get(..3)?).unwrap_or(body))
    }

    /// Calls, all of offered tools.
    fn offered(&self, body: &str) -> Option<Vec<Written>> {
        let found = written::calls(body)?;
        found.iter().all(|(name, _)| self.tools.contains(name)).then_some(found)
    }

    /// It is no call but code, or JSON: what is held is text after all.
    fn give_up(&mut self, out: &mut dyn FnMut(Piece)) {
        let fence = self.state == State::Fence;
        self.state = State::Text;
        // The mark itself is said, so that it is not found again.
        let mark = if fence { 3 } else { self.held.find(['{', '[']).map_or(0, |at| at + 1) };
        let rest = self.held.split_off(mark.min(self.held.len()));
        let text = std::mem::replace(&mut self.held, rest);
        self.text(text, out);
        self.fenced |= fence;
    }

    /// Calls were found, or what is `held` is text after all.
    fn called(&mut self, found: Option<Vec<Written>>, held: String, out: &mut dyn FnMut(Piece)) {
        let Some(found) = found else { return self.text(held, out) };
        for (name, arguments) in found {
            self.calls += 1;
            out(Piece::Call { name, arguments });
        }
        (self.begun, self.trim, self.last) = (true, true, None);
    }

    fn text(&mut self, text: String, out: &mut dyn FnMut(Piece)) {
        let Some(last) = text.chars().next_back() else { return };
        self.last = Some(last);
        self.begun |= !text.trim().is_empty();
        out(Piece::Text(text));
    }
}

fn reasoning(text: String, out: &mut dyn FnMut(Piece)) {
    if !text.is_empty() {
        out(Piece::Reasoning(text));
    }
}

/// The calls between marks.
fn read(open: &str, body: &str) -> Option<Vec<Written>> {
    // Here the mark is a part of it.
    if open == "<function=" { written::calls(&[open, body].concat()) } else { written::calls(body) }
}

/// How many bytes at the end of `text` are the beginning of `mark`.
fn overlap(text: &str, mark: &str) -> usize {
    let most = mark.len().min(text.len());
    (1..=most).rev().find(|len| text.as_bytes().ends_with(&mark.as_bytes()[..*len])).unwrap_or(0)
}

/// Takes thinking and written calls out of a finished answer's text, for models of a host's function: thinking becomes the
/// reasoning, calls become calls with ids made of `ids`, which differs from answer to answer. Says whether anything changed.
///
/// ```
/// use threadkeep_core::Message;
/// use threadkeep_provider::lift;
/// let mut message = Message::assistant("<think>easy</think>\n4");
/// assert!(lift(&mut message, &[], "seed"));
/// assert_eq!((message.text().as_ref(), message.reasoning.as_deref()), ("4", Some("easy")));
/// ```
pub fn lift(message: &mut Message, tools: &[String], ids: &str) -> bool {
    let Content::Text(text) = &message.content else { return false };
    let mut spoken = Spoken::new(tools.to_vec());
    spoken.thought = message.reasoning.as_ref().is_some_and(|text| !text.is_empty());
    let (mut said, mut thought, mut found) = (String::new(), String::new(), Vec::new());
    let mut take = |piece| match piece {
        Piece::Text(text) => said.push_str(&text),
        Piece::Reasoning(text) => thought.push_str(&text),
        Piece::WasReasoning => thought.push_str(&std::mem::take(&mut said)),
        Piece::Call { name, arguments } => found.push((name, arguments)),
    };
    spoken.push(text, &mut take);
    spoken.finish(&mut take);
    if thought.is_empty() && found.is_empty() && said == *text {
        return false;
    }
    for (name, arguments) in found {
        let same = |call: &ToolCall| call.name() == name && call.arguments() == arguments;
        // A server that understood the calls, but left them in the text as well.
        if !message.tool_calls.iter().any(same) {
            let id = made_id(ids, message.tool_calls.len());
            message.tool_calls.push(ToolCall::function(id, name, arguments));
        }
    }
    if !thought.is_empty() {
        message.reasoning.get_or_insert_default().push_str(&thought);
    }
    let silent = said.trim().is_empty() && !message.tool_calls.is_empty();
    message.content = if silent { Content::Null } else { Content::Text(said.trim_end().to_owned()) };
    true
}
