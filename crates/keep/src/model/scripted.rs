//! A model that says what was written for it beforehand: for tests, and for a demonstration without a network. It says so in its
//! name, which the page shows.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use threadkeep_core::{Content, Message, ToolCall};
use threadkeep_provider::{Completion, Delta, Finish, Usage};

use super::http::Http;
use super::{Answer, Call, Failure, Model};

/// Makes an answer for a prompt.
pub type Script = dyn Fn(&Call<'_>) -> Result<Completion, Failure>;

/// A model whose answers are a script's. What it says arrives in pieces, as from any other.
///
/// ```
/// use threadkeep::model::{Call, Model, Scripted};
/// use threadkeep_core::Message;
/// let model = Scripted::of("scripted", [Scripted::says("Good day."), Scripted::calls("", &[("c1", "add", "{}")])]);
/// let call = Call { messages: &[], payload: &serde_json::Value::Null, tools: &[] };
/// # let answer =
/// pollster::block_on(model.call(call, &|_| {}))?;
/// # assert_eq!(answer.message, Message::assistant("Good day."));
/// # Ok::<(), threadkeep::model::Failure>(())
/// ```
pub struct Scripted {
    name: String,
    script: Box<Script>,
    pace: Option<(Rc<dyn Http>, u32)>,
}

impl Scripted {
    /// A model that answers as `script` does.
    pub fn new(name: impl Into<String>, script: impl Fn(&Call<'_>) -> Result<Completion, Failure> + 'static) -> Self {
        Self { name: name.into(), script: Box::new(script), pace: None }
    }

    /// A model that gives these answers one after the other; after the last it fails with `failed`.
    pub fn of(name: impl Into<String>, answers: impl IntoIterator<Item = Result<Completion, Failure>>) -> Self {
        let left: RefCell<VecDeque<_>> = RefCell::new(answers.into_iter().collect());
        let over = || {
            let message = "The scripted model has nothing more to say.".to_owned();
            Err(Failure { code: "failed".to_owned(), message, partial: None })
        };
        Self::new(name, move |_| left.borrow_mut().pop_front().unwrap_or_else(over))
    }

    /// The same with so many milliseconds before each piece of text, which is about a word.
    #[must_use]
    pub fn paced(self, clock: Rc<dyn Http>, ms: u32) -> Self {
        Self { pace: Some((clock, ms)), ..self }
    }

    /// An answer of nothing but text.
    pub fn says(text: &str) -> Result<Completion, Failure> {
        Ok(Completion { message: Message::assistant(text), usage: None, finish: Finish::Stop })
    }

    /// An answer that calls tools: each with its id, name and arguments.
    pub fn calls(text: &str, calls: &[(&str, &str, &str)]) -> Result<Completion, Failure> {
        let content = if text.is_empty() { Content::Null } else { text.into() };
        let mut message = Message::assistant(content);
        let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall::function(*id, *name, *arguments);
        message.tool_calls = calls.iter().map(call).collect();
        Ok(Completion { message, usage: None, finish: Finish::ToolCalls })
    }

    /// The same answer with a usage.
    pub fn with_usage(
        answer: Result<Completion, Failure>,
        prompt_tokens: u64,
        completion_tokens: u64,
    ) -> Result<Completion, Failure> {
        let usage = Some(Usage { prompt_tokens, completion_tokens, cached_tokens: None, ..Usage::default() });
        answer.map(|completion| Completion { usage, ..completion })
    }

    async fn pause(&self) {
        if let Some((clock, ms)) = &self.pace {
            clock.sleep(*ms).await;
        }
    }

    async fn asked(&self, call: Call<'_>, heard: &dyn Fn(Delta)) -> Result<Completion, Failure> {
        let answer = (self.script)(&call);
        let said = match &answer {
            Ok(completion) => Some(&completion.message),
            Err(failure) => failure.partial.as_ref(),
        };
        if let Some(message) = said {
            for piece in message.reasoning.as_deref().unwrap_or_default().split_inclusive(' ') {
                self.pause().await;
                heard(Delta::Reasoning(piece.to_owned()));
            }
            for piece in message.text().split_inclusive(' ') {
                self.pause().await;
                heard(Delta::Text(piece.to_owned()));
            }
            for (index, call) in message.tool_calls.iter().enumerate() {
                self.pause().await;
                let (name, arguments) = (call.name().to_owned(), call.arguments().to_owned());
                heard(Delta::ToolCall { index, name, arguments });
            }
        }
        answer
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        Box::pin(self.asked(call, heard))
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scripted({:?})", self.name)
    }
}
