//! Reading answers: from the bytes that a provider sends to what was said.
//!
//! Goes in: bytes in pieces of any size. Comes out: a [`Delta`] for each piece of the answer, and at the end a [`Completion`] whose
//! message, rendered for the same provider, is what it wants for the next turn. Streams and whole answers are told apart by how
//! they begin, since some servers ignore `stream`. Left to others: sending, waiting, and trying again.

mod answer;
mod anthropic;
mod frame;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod spoken;
mod written;

use serde_json::Value;

use super::completion::{Completion, Delta};
use super::http::Fault;
use super::json::kind;
use super::{Provider, http};
use crate::Message;
use answer::Answer;
pub use frame::{Frame, Frames};
pub use spoken::{Piece, Spoken, lift};

/// What a [`Reader`] must know.
#[derive(Debug, Clone, Default)]
pub struct ReaderOptions {
    /// The names of the tools that were offered. Calls are read out of text only where there are some.
    pub tools: Vec<String>,
    /// Something that differs from answer to answer, for the ids of calls that come without one.
    pub ids: String,
    /// How the provider is called in messages to people.
    pub who: String,
}

/// Reads one answer.
///
/// ```
/// use threadkeep_core::provider::{Delta, Finish, Provider, Reader, ReaderOptions};
/// let mut reader = Reader::new(Provider::OpenAiChat, ReaderOptions::default());
/// let heard = |delta: Delta| assert!(matches!(delta, Delta::Text(_)));
/// reader.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\ndata: {\"choices\"", &heard)?;
/// reader.push(b":[{\"delta\":{\"content\":\"day\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", &heard)?;
/// let completion = reader.finish(&heard)?;
/// assert_eq!((completion.message.text().as_ref(), completion.finish), ("Good day", Finish::Stop));
/// # Ok::<(), threadkeep_core::provider::Fault>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    provider: Provider,
    frames: Frames,
    answer: Answer,
    who: String,
    /// The beginning of what came, to be able to say what it was.
    head: Vec<u8>,
    bytes: u64,
}

impl Reader {
    /// A reader for an answer of `provider`.
    pub fn new(provider: Provider, options: ReaderOptions) -> Self {
        let mut answer = Answer { ids: options.ids, ..Answer::default() };
        // The others have a form for both, and their models' text is nothing but text.
        if matches!(provider, Provider::OpenAiChat | Provider::Ollama) {
            answer.spoken = Some(Spoken::new(options.tools));
        }
        let who = if options.who.is_empty() { "The provider".to_owned() } else { options.who };
        Self { provider, frames: Frames::default(), answer, who, head: Vec::new(), bytes: 0 }
    }

    /// Takes more of the answer.
    ///
    /// # Errors
    /// The provider sent an error, or something that is no answer. What was said before is in [`Reader::partial`].
    pub fn push(&mut self, bytes: &[u8], heard: &dyn Fn(Delta)) -> Result<(), Fault> {
        self.bytes += bytes.len() as u64;
        let room = 2000usize.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        for frame in self.frames.push(bytes) {
            self.frame(&frame, false, heard)?;
        }
        if self.frames.is_too_long() {
            return Err(Fault::new("bad-answer", [&self.who, " sent an event of more than 64 MB."].concat()));
        }
        Ok(())
    }

    /// Whether the provider said that all is said: nothing needs to be waited for.
    pub fn is_over(&self) -> bool {
        self.answer.over
    }

    /// Whether anything of an answer was heard.
    pub fn has_begun(&self) -> bool {
        let answer = &self.answer;
        !answer.text.is_empty() || !answer.reasoning.is_empty() || !answer.calls.is_empty()
    }

    /// The stream has ended: gives the answer.
    ///
    /// # Errors
    /// `cut-off` where it ended too early, `bad-answer` where it was none. What was said is in [`Reader::partial`].
    pub fn finish(&mut self, heard: &dyn Fn(Delta)) -> Result<Completion, Fault> {
        for frame in self.frames.finish() {
            self.frame(&frame, true, heard)?;
        }
        let done = self.answer.over || self.answer.finish.is_some();
        if !done {
            return Err(self.unfinished());
        }
        self.answer.flush(heard);
        match self.provider {
            Provider::OpenAiChat => openai_chat::settle(&mut self.answer),
            Provider::Anthropic => anthropic::settle(&mut self.answer),
            Provider::Gemini => gemini::settle(&mut self.answer),
            Provider::OpenAiResponses | Provider::Ollama => {}
        }
        Ok(std::mem::take(&mut self.answer).complete(self.provider))
    }

    /// What was said of an answer that failed: text and reasoning, without calls, which may be half. `None` where that is nothing.
    pub fn partial(&mut self) -> Option<Message> {
        self.answer.partial()
    }

    fn unfinished(&self) -> Fault {
        if self.answer.known || self.has_begun() {
            let passes = !self.has_begun();
            let words = [&self.who, " broke off in the middle of its answer: the connection ended early. Ask again."];
            return Fault { passes, ..Fault::new("cut-off", words.concat()) };
        }
        if self.bytes == 0 {
            let words = [&self.who, " sent an empty answer. Is the address right, and does the server work?"];
            return Fault { passes: true, ..Fault::new("bad-answer", words.concat()) };
        }
        self.garbage(&self.head)
    }

    fn garbage(&self, bytes: &[u8]) -> Fault {
        let shown = http_text(&String::from_utf8_lossy(bytes));
        let words = [
            &self.who,
            " sent something that is no answer of a model: ",
            &shown,
            ". Is the address right, and the kind of provider?",
        ];
        Fault::new("bad-answer", words.concat())
    }

    fn frame(&mut self, frame: &Frame, last: bool, heard: &dyn Fn(Delta)) -> Result<(), Fault> {
        let data = frame.data.trim();
        if data.is_empty() || self.answer.over {
            return Ok(());
        }
        if data == "[DONE]" {
            self.answer.over = true;
            return Ok(());
        }
        // Some servers leave out the empty line between events: then several values stand here.
        let mut values = serde_json::Deserializer::from_str(data).into_iter::<Value>();
        while let Some(value) = values.next() {
            let value = match value {
                Ok(value) => value,
                // What ends in the middle was cut, which is said in its place.
                Err(_) if last => return Ok(()),
                Err(_) if data[values.byte_offset().min(data.len())..].trim() == "[DONE]" => {
                    self.answer.over = true;
                    return Ok(());
                }
                Err(_) if frame.name == "error" => {
                    return Err(Fault::said(&self.who, 0, &Value::String(data.to_owned())));
                }
                Err(_) => return Err(self.garbage(data.as_bytes())),
            };
            self.value(&frame.name, &value, heard)?;
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &Value, heard: &dyn Fn(Delta)) -> Result<(), Fault> {
        let error = value.get("error").is_some_and(|error| !error.is_null() && error.as_str() != Some(""));
        if error || name == "error" || kind(value) == "error" || value.get("object").is_some_and(|it| it == "error") {
            return Err(Fault::said(&self.who, 0, value));
        }
        let answer = &mut self.answer;
        match self.provider {
            Provider::OpenAiChat => openai_chat::read(answer, value, heard),
            Provider::OpenAiResponses => openai_responses::read(answer, value, &self.who, heard)?,
            Provider::Anthropic => anthropic::read(answer, value, heard),
            Provider::Gemini => gemini::read(answer, value, &self.who, heard)?,
            Provider::Ollama => ollama::read(answer, value, heard),
        }
        if matches!(&self.answer.finish, Some(super::Finish::Other(reason)) if reason == "error") {
            return Err(Fault { passes: true, ..Fault::said(&self.who, 500, &Value::Null) });
        }
        Ok(())
    }
}

/// The first words of a body, for messages.
fn http_text(body: &str) -> String {
    http::page_text(body)
}
