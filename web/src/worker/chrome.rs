//! The browser's own model (Chrome's built-in one) as a model. Only the page has it, so the worker sends it the conversation and hears
//! the answer piece by piece. It is offered no tools.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use serde_json::{Map, Value};
use threadkeep::model::{Answer, Call, Failure, Model};
use threadkeep_core::{Message, Role};
use threadkeep_provider::{Completion, Delta, Finish};

use super::say;
use crate::connections::CHROME;
use crate::wire::FromWorker;

/// A piece of an answer: more text, its end, or why there is none.
type Piece = Result<Option<String>, String>;

/// Somebody who waits for an answer.
struct Waiting {
    number: u32,
    pieces: Vec<Piece>,
    waker: Option<Waker>,
}

thread_local! {
    static WAITING: RefCell<(u32, Vec<Waiting>)> = const { RefCell::new((0, Vec::new())) };
}

/// The browser's own model.
#[derive(Debug)]
pub struct Chrome;

/// An answer that is under way. Where it is dropped before its end, the browser is told.
struct Asked(u32);

impl Asked {
    fn new(messages: String) -> Self {
        let number = WAITING.with_borrow_mut(|(last, waiting)| {
            *last = last.wrapping_add(1);
            waiting.push(Waiting { number: *last, pieces: Vec::new(), waker: None });
            *last
        });
        say(&FromWorker::Prompt { number, messages }, None);
        Self(number)
    }

    async fn next(&self) -> Vec<Piece> {
        poll_fn(|context| {
            WAITING.with_borrow_mut(|(_, waiting)| {
                let Some(one) = waiting.iter_mut().find(|one| one.number == self.0) else {
                    return Poll::Ready(Vec::new());
                };
                if one.pieces.is_empty() {
                    one.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(std::mem::take(&mut one.pieces))
            })
        })
        .await
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        WAITING.with_borrow_mut(|(_, waiting)| waiting.retain(|one| one.number != self.0));
        say(&FromWorker::StopPrompt(self.0), None);
    }
}

/// The page has heard a piece.
pub fn heard(number: u32, piece: Piece) {
    let waker = WAITING.with_borrow_mut(|(_, waiting)| {
        let one = waiting.iter_mut().find(|one| one.number == number)?;
        one.pieces.push(piece);
        one.waker.take()
    });
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The conversation as the browser takes it: roles and texts.
fn written(messages: &[Message]) -> String {
    let one = |message: &Message| {
        let role = match message.role {
            Role::System | Role::Developer => "system",
            Role::Assistant => "assistant",
            _ => "user",
        };
        let fields = [("role", role), ("content", &message.text())].map(|(name, text)| (name.to_owned(), text.into()));
        Value::Object(Map::from_iter(fields))
    };
    let spoken = messages.iter().filter(|message| !message.text().trim().is_empty());
    Value::Array(spoken.map(one).collect()).to_string()
}

impl Model for Chrome {
    fn name(&self) -> &str {
        CHROME
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        let messages = written(call.messages);
        Box::pin(async move {
            let asked = Asked::new(messages);
            let mut said = String::new();
            loop {
                for piece in asked.next().await {
                    match piece {
                        Ok(Some(text)) => {
                            said.push_str(&text);
                            heard(Delta::Text(text));
                        }
                        Ok(None) => {
                            let message = Message::assistant(said);
                            return Ok(Completion { message, usage: None, finish: Finish::Stop });
                        }
                        Err(why) => {
                            let partial = (!said.is_empty()).then(|| Message::assistant(said));
                            let message = ["The browser's own model gave no answer: ", &why].concat();
                            return Err(Failure { code: "failed".to_owned(), message, partial });
                        }
                    }
                }
            }
        })
    }
}
