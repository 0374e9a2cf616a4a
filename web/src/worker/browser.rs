//! The browser's own summariser as a model. Only the page has it, so the worker sends it the texts and waits for the answers.

use std::cell::RefCell;

use futures_channel::oneshot;
use threadkeep::compact::{Model, ModelRequest, Reply};
use threadkeep_core::Message;

use super::say;
use crate::wire::FromWorker;

/// Takes an answer, or why there is none.
type Taker = oneshot::Sender<Result<String, String>>;

thread_local! {
    static WAITING: RefCell<(u32, Vec<(u32, Taker)>)> = const { RefCell::new((0, Vec::new())) };
}

/// The browser's summariser, which takes so many tokens at once.
#[derive(Debug)]
pub struct OfBrowser(pub u32);

impl Model for OfBrowser {
    fn name(&self) -> &str {
        crate::epochs::BROWSER
    }

    fn input_tokens(&self) -> u32 {
        self.0
    }

    fn ask(&self, request: ModelRequest) -> Reply<'_> {
        let (taker, answer) = oneshot::channel();
        let number = WAITING.with_borrow_mut(|(last, waiting)| {
            // Whoever gave up listens no more.
            waiting.retain(|(_, taker)| !taker.is_canceled());
            *last = last.wrapping_add(1);
            waiting.push((*last, taker));
            *last
        });
        let (part, parts) = (request.part as u32, request.parts as u32);
        say(&FromWorker::Summarise { number, part, parts, text: request.text }, None);
        Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|_| Err("the page has not answered".to_owned()));
            answer.map(Message::assistant)
        })
    }
}

/// An answer has come.
pub fn answered(number: u32, answer: Result<String, String>) {
    let taker = WAITING.with_borrow_mut(|(_, waiting)| {
        let place = waiting.iter().position(|(waits, _)| *waits == number)?;
        Some(waiting.swap_remove(place).1)
    });
    if let Some(taker) = taker {
        // Whoever no longer waits is not missed.
        drop(taker.send(answer));
    }
}
