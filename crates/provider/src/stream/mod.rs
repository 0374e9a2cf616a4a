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
use super::{AnswerLimits, Provider, http};
use answer::Answer;
pub use frame::{Frame, Frames};
pub use spoken::{Piece, Spoken, lift};
use threadkeep_core::Message;

/// What a [`Reader`] must know.
#[derive(Debug, Clone, Default)]
pub struct ReaderOptions {
    /// The names of the tools that were offered. Calls are read out of text only where there are some.
    pub tools: Vec<String>,
    /// Something that differs from answer to answer, for the ids of calls that come without one.
    pub ids: String,
    /// How the provider is called in messages to people.
    pub who: String,
    /// How large the answer may become.
    pub limits: AnswerLimits,
}

/// Reads one answer.
///
/// ```
/// use threadkeep_provider::{Delta, Finish, Provider, Reader, ReaderOptions};
/// let mut reader = Reader::new(Provider::OpenAiChat, ReaderOptions::default());
/// let heard = |delta: Delta| assert!(matches!(delta, Delta::Text(_)));
/// reader.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\ndata: {\"choices\"", &heard)?;
/// reader.push(b":[{\"delta\":{\"content\":\"day\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", &heard)?;
/// let completion = reader.finish(&heard)?;
/// assert_eq!((completion.message.text().as_ref(), completion.finish), ("Good day", Finish::Stop));
/// # Ok::<(), threadkeep_provider::Fault>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    /// Whose answer it is; `None` until it is found out.
    provider: Option<Provider>,
    tools: Vec<String>,
    frames: Frames,
    answer: Answer,
    who: String,
    limits: AnswerLimits,
    /// The beginning of what came, to be able to say what it was.
    head: Vec<u8>,
    bytes: u64,
}

impl Reader {
    /// A reader for an answer of `provider`.
    pub fn new(provider: Provider, options: ReaderOptions) -> Self {
        let mut reader = Self::any(options);
        reader.is_of(provider);
        reader
    }

    /// A reader that finds out by the first value whose answer it is.
    ///
    /// ```
    /// use threadkeep_provider::{Reader, ReaderOptions};
    /// let mut reader = Reader::any(ReaderOptions::default());
    /// reader.push(br#"{"type": "message", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}"#, &|_| {})?;
    /// assert_eq!(reader.finish(&|_| {})?.message.text(), "Hello.");
    /// # Ok::<(), threadkeep_provider::Fault>(())
    /// ```
    pub fn any(options: ReaderOptions) -> Self {
        let who = if options.who.is_empty() { "The provider".to_owned() } else { options.who };
        Self {
            provider: None,
            tools: options.tools,
            frames: Frames::default(),
            answer: Answer { ids: options.ids, ..Answer::default() },
            who,
            limits: options.limits,
            head: Vec::new(),
            bytes: 0,
        }
    }

    fn is_of(&mut self, provider: Provider) {
        self.provider = Some(provider);
        // The others have a form for both, and their models' text is nothing but text.
        if matches!(provider, Provider::OpenAiChat | Provider::Ollama) {
            self.answer.spoken = Some(Spoken::new(std::mem::take(&mut self.tools)));
        }
    }

    /// Takes more of the answer.
    ///
    /// # Errors
    /// The provider sent an error, or something that is no answer. What was said before is in [`Reader::partial`].
    pub fn push(&mut self, bytes: &[u8], heard: &dyn Fn(Delta)) -> Result<(), Fault> {
        self.sized(bytes.len())?;
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

    /// Takes a value of the answer, as a provider's client hands it on: an event, a chunk, or a whole answer. Gives whether it is of a
    /// form that is known here.
    ///
    /// # Errors
    /// As for [`Reader::push`].
    pub fn item(&mut self, json: &str, heard: &dyn Fn(Delta)) -> Result<bool, Fault> {
        self.sized(json.len())?;
        let marked = threadkeep_core::halves::marked(json);
        self.answer.halved |= marked.is_some();
        let value: Value =
            serde_json::from_str(marked.as_deref().unwrap_or(json)).map_err(|_| self.garbage(json.as_bytes()))?;
        self.value("", &value, heard)?;
        Ok(self.provider.is_some() || kind(&value) == "ping")
    }

    /// How much of an answer came, in bytes. Comments that only keep the connection open are not counted.
    pub fn taken(&self) -> u64 {
        self.frames.taken()
    }

    /// Whether the answer could end here: the provider said why it ended, or that all is said.
    pub fn is_whole(&self) -> bool {
        self.answer.over || self.answer.finish.is_some()
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
        let Some(provider) = self.provider.filter(|_| self.is_whole()) else { return Err(self.unfinished()) };
        self.answer.flush(heard);
        self.within_limits()?;
        match provider {
            Provider::OpenAiChat => openai_chat::settle(&mut self.answer),
            Provider::Anthropic => anthropic::settle(&mut self.answer),
            Provider::Gemini => gemini::settle(&mut self.answer),
            Provider::OpenAiResponses | Provider::Ollama => {}
        }
        Ok(std::mem::take(&mut self.answer).complete(provider))
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
        let marked = threadkeep_core::halves::marked(data);
        self.answer.halved |= marked.is_some();
        let data = marked.as_deref().unwrap_or(data);
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
        if self.provider.is_none()
            && let Some(provider) = Provider::of_answer(value)
        {
            self.is_of(provider);
        }
        let Some(provider) = self.provider else { return Ok(()) };
        let answer = &mut self.answer;
        match provider {
            Provider::OpenAiChat => openai_chat::read(answer, value, heard),
            Provider::OpenAiResponses => openai_responses::read(answer, value, &self.who, heard)?,
            Provider::Anthropic => anthropic::read(answer, value, heard),
            Provider::Gemini => gemini::read(answer, value, &self.who, heard)?,
            Provider::Ollama => ollama::read(answer, value, heard),
        }
        if matches!(&self.answer.finish, Some(super::Finish::Other(reason)) if reason == "error") {
            return Err(Fault { passes: true, ..Fault::said(&self.who, 500, &Value::Null) });
        }
        self.within_limits()
    }

    /// Counts bytes of the answer.
    fn sized(&mut self, more: usize) -> Result<(), Fault> {
        self.bytes += more as u64;
        if self.bytes > self.limits.bytes {
            return Err(self.too_large(&[&self.limits.bytes.to_string(), " bytes (`limits.bytes`)"].concat()));
        }
        Ok(())
    }

    fn within_limits(&self) -> Result<(), Fault> {
        let limits = &self.limits;
        if self.answer.calls.len() as u64 > limits.calls {
            return Err(self.too_large(&[&limits.calls.to_string(), " tool calls (`limits.calls`)"].concat()));
        }
        if self.answer.argued > limits.argument_bytes {
            let most = [&limits.argument_bytes.to_string(), " bytes of arguments (`limits.argumentBytes`)"];
            return Err(self.too_large(&most.concat()));
        }
        Ok(())
    }

    fn too_large(&self, most: &str) -> Fault {
        Fault::new("bad-answer", [&self.who, " sent more than ", most, ". The answer was ended there."].concat())
    }
}

impl Provider {
    /// Whose answer a value is: an event, a chunk or a whole answer. `None` where it is no provider's.
    fn of_answer(value: &Value) -> Option<Self> {
        let has = |name: &str| value.get(name).is_some();
        let kind = kind(value);
        if value.get("choices").is_some_and(Value::is_array) {
            Some(Self::OpenAiChat)
        } else if kind.starts_with("response.") || value.get("object").is_some_and(|it| it == "response") {
            Some(Self::OpenAiResponses)
        } else if kind.starts_with("message_")
            || kind.starts_with("content_block_")
            || kind == "message" && value.get("content").is_some_and(Value::is_array)
        {
            Some(Self::Anthropic)
        } else if has("candidates") || has("usageMetadata") || has("promptFeedback") {
            Some(Self::Gemini)
        } else if has("done") && (has("message") || value["done"] == true) {
            Some(Self::Ollama)
        } else {
            None
        }
    }
}

/// The first words of a body, for messages.
fn http_text(body: &str) -> String {
    http::page_text(body)
}
